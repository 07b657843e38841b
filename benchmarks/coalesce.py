"""Many small partitions, with and without coalescing: splits, directories, bytes of log, and what a query opens.

`python -m benchmarks.coalesce [rows] [apps] [days] [picture.svg]`; the sizes of apps follow Zipf's law.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indextables import IndexTable

ON = {"coalesce.enabled": "true", "coalesce.minRows": "1000"}
OFF = {"coalesce.enabled": "false"}
ABSENT = "app-absent"


def run(rows: int = 100_000, apps: int = 500, days: int = 10, picture: str | None = None) -> dict[str, Any]:
    data = skewed(rows, apps, days)
    results = {"rows": rows, "apps": apps, "days": days}
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        for kind, options in (("plain", OFF), ("coalesced", ON)):
            results[kind] = measured(Path(name, kind), data, options, apps)
    if picture:
        Path(picture).write_text(drawn(results))
    return results


def skewed(rows: int, apps: int, days: int) -> pa.Table:
    """Log lines of apps of which the n-th has a share of 1/n, on any of some days."""
    random = Random(7)
    names = [_app(number) for number in range(apps)]
    weights = [1 / (number + 1) for number in range(apps)]
    return pa.table(
        {
            "day": [f"2024-01-{random.randint(1, days):02}" for _ in range(rows)],
            "app": random.choices(names, weights, k=rows),
            "n": range(rows),
            "message": [f"request {number % 997} served from cache" for number in range(rows)],
        }
    )


def measured(place: Path, data: pa.Table, options: Mapping[str, str], apps: int) -> dict[str, Any]:
    table = IndexTable.create(place, data.schema, partition_by="day, app", fields={"message": "text"}, options=options)
    started = process_time()
    table.append(data)
    return {"CPU seconds to write": round(process_time() - started, 1), **described(place, data, apps)}


def described(place: Path, data: pa.Table, apps: int) -> dict[str, Any]:
    """What a table is on disk, and what it costs to ask it for an app."""
    started = process_time()
    table = IndexTable.open(place)
    opening = process_time() - started
    asked = {"a large app": _app(0), "a small app": _app(apps - 1), "an absent app": ABSENT}
    return {
        "CPU seconds to open": round(opening, 2),
        "splits": table.splits().num_rows,
        "directories": len({path.parent for path in place.rglob("*.split")}),
        "bytes of log": sum(file.stat().st_size for file in (place / "_transaction_log").iterdir()),
        "bytes of splits": sum(file.stat().st_size for file in place.rglob("*.split")),
        "queries": {title: queried(table, app, data) for title, app in asked.items()},
    }


def queried(table: IndexTable, app: str, data: pa.Table) -> dict[str, int]:
    """Counted from the log, which takes no request, and read; the benchmark stops where either is wrong."""
    where = f"app = '{app}'"
    before = table.traffic.requests
    counted, requests = table.count(where), table.traffic.requests - before
    started = process_time()
    scan = table.scan(where=where)
    found = scan.to_arrow().num_rows
    reading = process_time() - started
    expected = pc.sum(pc.equal(data["app"], app)).as_py()
    if not counted == found == expected:
        raise AssertionError(f"{where} has {expected} rows; {counted} were counted and {found} found")
    return {
        "requests to count": requests,
        "CPU milliseconds to read": round(1000 * reading),
        "splits opened": scan.explain().opened,
        "bytes of splits opened": scan.explain().bytes,
        "rows in row groups read": sum(_rows_read(Path(table.path, task.split.path), app) for task in scan.plan.tasks),
        "rows": expected,
    }


def _rows_read(split: Path, app: str) -> int:
    """The rows of the row groups whose bounds leave room for an app."""
    metadata = pq.read_metadata(split)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    bounds = [(group.column(1).statistics, group.num_rows) for group in groups]
    return sum(rows for stats, rows in bounds if stats.min <= app <= stats.max)


def _app(number: int) -> str:
    return f"app-{number:04}"


def drawn(results: Mapping[str, Any]) -> str:
    """The figures as bars, one pair for each."""
    pairs = {"splits": _both(results, "splits"), "CPU seconds to write": _both(results, "CPU seconds to write")}
    pairs["MB of log"] = tuple(round(size / 1e6, 1) for size in _both(results, "bytes of log"))
    pairs["MB of splits"] = tuple(round(size / 1e6, 1) for size in _both(results, "bytes of splits"))
    for title in ("a large app", "a small app"):
        opened = tuple(results[kind]["queries"][title]["splits opened"] for kind in ("plain", "coalesced"))
        pairs[f"splits opened for {title}"] = opened
    rows = [_pair(name, values, top=70 + 58 * number) for number, (name, values) in enumerate(pairs.items())]
    title = (
        f"{results['rows']:,} lines of {results['apps']:,} apps on {results['days']} days, partitioned by day and app"
    )
    style = "svg{color-scheme:light dark}text{font:13px system-ui,sans-serif;fill:#1f2328}.t{font-size:15px;font-weight:600}"
    style += ".card{fill:#fff}.plain{fill:#c7cdd6}.coalesced{fill:#2a7f62}"
    style += "@media (prefers-color-scheme:dark){text{fill:#e6e9ef}.card{fill:#1e2129}"
    style += ".plain{fill:#6b7482}.coalesced{fill:#5cb694}}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{80 + 58 * len(pairs)}" role="img">',
            f"<title>{title}</title><style>{style}</style>",
            '<rect class="card" width="100%" height="100%" rx="8"/>',
            f'<text class="t" x="16" y="28">{title}</text>',
            '<rect class="plain" x="16" y="42" width="12" height="12"/><text x="34" y="53">a directory for each</text>',
            '<rect class="coalesced" x="190" y="42" width="12" height="12"/><text x="208" y="53">small ones share</text>',
            *rows,
            "</svg>\n",
        ]
    )


def _both(results: Mapping[str, Any], name: str) -> tuple[float, ...]:
    return tuple(results[kind][name] for kind in ("plain", "coalesced"))


def _pair(name: str, values: tuple[float, ...], *, top: int) -> str:
    longest = max(values) or 1
    bars = [
        f'<rect class="{kind}" x="224" y="{top + 20 * row}" width="{max(2, round(430 * value / longest))}" height="16"/>'
        f'<text x="{232 + max(2, round(430 * value / longest))}" y="{top + 13 + 20 * row}">{value:,}</text>'
        for row, (kind, value) in enumerate(zip(("plain", "coalesced"), values, strict=True))
    ]
    return f'<text x="16" y="{top + 23}">{name}</text>' + "".join(bars)


if __name__ == "__main__":
    *sizes, last = [*sys.argv[1:], ""] if not sys.argv[-1].endswith(".svg") else sys.argv[1:]
    print(json.dumps(run(*map(int, sizes), picture=last or None), indent=2))
