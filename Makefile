.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SIZE ?= small
SCENARIO ?= all
WORKERS ?= 3
RUNS ?= 10
LAWS ?= tests/laws
PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
JAVA = export JAVA_HOME="$$(scripts/java-home)" &&

help: ## list what make can do
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml
	@scripts/make-venv "$(PYTHON)" "$(VENV)" $(if $(PYSPARK),"pyspark==$(PYSPARK).*")
	@$(JAVA) $(BIN)/python -m tests.class_archive 2>/dev/null || echo "no archive of Java's classes: tests start slower"
	@touch $@

setup: $(READY) ## create .venv with everything that the project needs; PYTHON=python3.13 PYSPARK=4.1 for other versions

demo: $(READY) ## a tour: two million log lines, searched beside plain Parquet, in three minutes
	@$(JAVA) PYSPARK_PYTHON="$(abspath $(BIN))/python" $(BIN)/python -m indextables.demo 2> >(grep -v -e WARN -e log4j -e "log level" >&2)

test: $(READY) ## the tests of every change: unit, laws, doctests, pages, Spark; WORKERS=4 for more processes
	@$(JAVA) scripts/run-tests $(WORKERS)

test-all: $(READY) ## the slow tests too: more seeds, kills, faults, pairs; the demo, the notebook, a cluster
	@$(JAVA) scripts/run-tests $(WORKERS) --all

repeat: $(READY) ## the tests of every change ten times, modules in random order, two of the runs on busy cores; RUNS=3
	@$(JAVA) scripts/repeat-tests $(RUNS) $(WORKERS)

connect: $(READY) ## the tests over Spark Connect alone
	@$(JAVA) $(BIN)/python -m pytest tests --connect

slowest: $(READY) ## where the time of the last `make test` went, by folder, by file and by test
	@$(BIN)/python -m tests.slowest

unit: $(READY) ## the tests that need no JVM
	@$(BIN)/python -m pytest $(PARALLEL) -m "not spark"

laws: $(READY) ## the laws with 20,000 examples each, for hours; goes on where it was stopped; LAWS=tests/laws/test_planner.py
	@export HYPOTHESIS_PROFILE=full && $(JAVA) $(BIN)/python -m pytest $(LAWS) --all --resume -n 2

torture: $(READY) ## many processes, hundreds of SIGKILLs and faults, the final state checked each time
	@$(BIN)/python -m tests.torture

packed: $(READY) ## the transcript of docs/cluster.md: a packed environment on a standalone cluster, a table in S3
	@$(JAVA) $(BIN)/python -m tests.packed.packed_environment

matrix: $(READY) ## suites on versions of Python and PySpark, and docs/versions.md; VERSIONS="4.1 3.13" for some of them
	@$(JAVA) $(BIN)/python scripts/matrix.py $(VERSIONS)
	@test -n "$(VERSIONS)" || $(BIN)/python scripts/matrix.py --page

package: $(READY) ## the wheel and the sdist in dist/: built, checked, installed in a new environment, tried; SPARK=1 with Spark
	@$(JAVA) $(BIN)/python scripts/package.py $(if $(SPARK),--spark)

lowest: $(READY) ## the tests with the oldest supported versions of all dependencies; TESTS="tests/split" for some of them
	@$(JAVA) $(BIN)/python scripts/lowest.py $(TESTS)

licences: $(READY) ## write docs/licences.md again: the licences of all dependencies
	@$(BIN)/python scripts/licences.py

cluster: $(READY) ## a Spark cluster on loopback: every operation, changing inputs, executors killed; KILLS=10 for some kills
	@$(JAVA) $(BIN)/python -m tests.cluster $(if $(KILLS),--kills $(KILLS)) $(if $(ONLY),--only $(ONLY))

streams: $(READY) ## streams whose drivers are killed or paused, chains, replays, standing queries; SCENARIO=kills KILLS=8 MINUTES=2
	@$(JAVA) $(BIN)/python -m tests.streams $(filter-out all,$(SCENARIO)) $(if $(KILLS),--kills $(KILLS)) $(if $(MINUTES),--minutes $(MINUTES))

check: $(READY) ## ruff, ruff format, mypy strict
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(READY) ## let ruff format and mend the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(READY) ## write the generated pages again and build the site into site/
	@$(BIN)/python -c "from indextables.config import markdown; print(markdown(), end='')" > docs/configuration.md
	@$(BIN)/python -c "from indextables.cli.reference_page import markdown; print(markdown(), end='')" > docs/cli.md
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --clean
	@echo "built: open site/index.html, or $(BIN)/python -m http.server -d site for its search too"

load: $(READY) ## many versions, splits and columns, huge cells, steady use; SCENARIO=appends SIZE=full for the long runs
	@$(BIN)/python -m benchmarks.load $(SCENARIO) --size $(SIZE)

bench: $(READY) ## compare with other systems and write docs/benchmarks.md; SIZE=full takes about an hour
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	@$(JAVA) $(BIN)/python -m benchmarks.peers --size $(SIZE) --json benchmarks/results/$(SIZE).json --page

clean: ## remove what the other commands made
	rm -rf $(VENV) .matrix .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help setup demo test test-all repeat slowest connect unit laws torture matrix packed package lowest licences cluster streams check format docs load bench clean
