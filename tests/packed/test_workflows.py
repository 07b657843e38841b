"""The files for the forge are well-formed, and what they call is there."""

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FORGE = ROOT / ".github"
FILES = sorted(FORGE.rglob("*.yml"))
WORKFLOWS = sorted((FORGE / "workflows").glob("*.yml"))


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def steps_of(path: Path) -> list[dict[str, Any]]:
    return list(chain.from_iterable(job.get("steps", []) for job in loaded(path)["jobs"].values()))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_yaml(path: Path) -> None:
    assert isinstance(loaded(path), dict)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_targets_that_there_are(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {target for step in steps_of(path) for target in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))}
    assert called
    assert called <= targets


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_have_exact_versions(path: Path) -> None:
    used = [step["uses"] for step in steps_of(path) if "uses" in step]
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", action)] == []


def test_the_matrix_has_the_supported_versions() -> None:
    matrix = loaded(FORGE / "workflows" / "test.yml")["jobs"]["test"]["strategy"]["matrix"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    classified = [line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert matrix["python"] == classified
    assert project["requires-python"] == f">={matrix['python'][0]}"
    assert project["optional-dependencies"]["spark"] == [f"pyspark>={matrix['pyspark'][0]}"]


def test_forms_ask_for_something() -> None:
    for path in (FORGE / "ISSUE_TEMPLATE").glob("*.yml"):
        if path.name != "config.yml":
            form = loaded(path)
            assert {"name", "description", "body"} <= form.keys()
            assert any(field.get("validations", {}).get("required") for field in form["body"])
