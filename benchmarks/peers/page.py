"""docs/benchmarks.md, from the figures of a run: `python -m benchmarks.peers --render out.json`."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.peers.lines import PLANTED, planted_hits
from benchmarks.peers.measure import Run
from benchmarks.peers.tables import (
    SERIES,
    behind_table,
    ratios_of,
    read_table,
    s3_table,
    scaling_table,
    series_of,
    small_table,
    table,
    write_table,
)

_INTRODUCTION = """\
# Benchmarks

<!-- written by `make bench` from benchmarks/peers; reasons are in benchmarks/peers/reasons.py -->

indextables beside what you might use instead, on the same rows, on one machine, in one run.

```sh
make bench              # 200,000 rows, minutes
make bench SIZE=full    # 2,000,000 rows and more, about an hour
python -m benchmarks.peers --rows 2000000 --only write,top20 --repetitions 5 --json out.json
python -m benchmarks.peers --render out.json    # this page again, from the figures of a run
```
"""

_NOT_FULL = """\
**These figures are of a run of size `{size}`: {rows:,} rows.** Costs per split weigh more there than in large
tables. Take them as an example of what is measured.
"""

_METHOD = """\
## How it is measured

- **A ratio is the peer's time over ours**: above 1, indextables is faster. It is computed within each
  repetition; shown are the median and, in parentheses, the lowest and the highest.
- Systems take turns within each repetition, and the one that begins changes. Answers are compared each time:
  rows, checksums of their messages, sums of columns.
- **Rows**: log lines over 30 days, with `ts`, `level`, `service`, `tenant`, `status`, `latency`, a unique
  `trace_id`, a `message` of twelve words (24,000 words, frequencies by Zipf's law) and `date`. The word
  *{word}* is planted in {hits:,} of {rows:,} rows. Tables are partitioned by `date` into 30, except Lance's,
  which has no partitions.
- **indextables** indexes all columns, `message` by its words. **Lance** has a full-text index on `message` with
  positions and without stemming, and where it says so a BTREE index on `trace_id`. **Parquet** is zstd in row
  groups of 131,072 rows, written and scanned by pyarrow. **Parquet and bare tantivy** adds one index of
  `message` alone, fed row by row; its searches return document numbers, not rows. Spark runs as `local[2]`.
- **Warm**: the table is open, and the question was asked before; lookups have another id each time. **Cold**: a
  fresh process with an empty index cache; libraries are loaded, then opening and asking are timed. The
  operating system has the files in memory in both.
"""

_S3 = """\
## On S3

Requests and megabytes read, counted by the server (moto on loopback), for opening the table and asking, with an
empty index cache; and for asking again. Times on loopback say little and are only in the JSON file.
"""

_REPLACEMENTS = """\
## Replacing one partition of a hundred

`replaceWhere` and dynamic overwrite of a part of a table of {rows:,} rows, beside an overwrite of all of them with the
same result; CPU seconds of the process, medians of five.
"""

_BEHIND = """\
## Where a peer is ahead

All rows above in which the median ratio is below 1, cold or warm, worst first. The ratios are measured; the
reasons follow from how the systems work, and are not measured on their own.
"""

_SCALING = {
    "scaling-rows": "The same questions to more and more rows",
    "scaling-splits": "The same rows in more and more splits (Lance: fragments), without partitions",
    "scaling-hits": "All rows of words that are planted more and more often",
}


def render(run: Run, docs: Path) -> Path:
    """Writes the page and its pictures; gives the path of the page."""
    from benchmarks.peers.plots import draw

    pictures = docs / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    page = docs / "benchmarks.md"
    page.write_text("\n\n".join(part.strip("\n") for part in _parts(run, draw(run, pictures))) + "\n")
    return page


def summary(run: Run) -> str:
    """The tables of what was measured, for a terminal."""
    return "\n\n".join(part for part in _results(run) if part)


def _parts(run: Run, pictures: dict[str, str]) -> Iterator[str]:
    yield _INTRODUCTION
    if run.size != "full":
        yield _NOT_FULL.format(size=run.size, rows=run.rows)
    yield _METHOD.format(word=PLANTED, hits=planted_hits(run.rows), rows=run.rows)
    if "ratios" in pictures:
        yield f"![Ratios of all peers, warm](pictures/{pictures['ratios']})"
    yield from _results(run)
    yield from _replacements(run)
    yield from _scaling(run, pictures)
    if any(ratios_of(run)):
        yield _BEHIND
        yield behind_table(run)
    yield "## Machine and versions"
    yield table(["", ""], (run.machine | run.versions).items())
    yield f"Measured until {run.finished}, size `{run.size}`, seed {run.seed}."


def _results(run: Run) -> Iterator[str]:
    sections = {
        "## Reads, warm": read_table(run, "warm"),
        "## Reads, cold": read_table(run, "cold"),
        _S3: s3_table(run),
        "## Writes and bytes": write_table(run),
        "## Many small splits and partitions": small_table(run),
    }
    for heading, rows in sections.items():
        if rows.count("\n") > 1:  # more than the head
            yield heading.strip()
            yield rows


def _replacements(run: Run) -> Iterator[str]:
    found = run.replacements
    if found is not None:
        yield _REPLACEMENTS.format(rows=found.rows)
        shares = found.shares()
        rows = [(name, f"{spent:.2f}", f"{shares[name]:.1%}") for name, spent in found.seconds.items()]
        yield table(["operation", "CPU seconds", "of an overwrite"], rows)


def _scaling(run: Run, pictures: dict[str, str]) -> Iterator[str]:
    present = {series: found for series in SERIES if (found := series_of(run, series))}
    if present:
        yield "## Scaling"
    for series, found in present.items():
        yield f"### By {SERIES[series]}"
        yield f"{_SCALING[series]}; milliseconds, warm."
        yield f"![{_SCALING[series]}](pictures/{pictures[series]})"
        yield scaling_table(series, found)
