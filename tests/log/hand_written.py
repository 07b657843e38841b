"""Logs as other writers may have written them: edited by hand, and without checksums."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Lines = list[dict[str, Any]]
CHECKSUMS = ("version", "previousChecksum", "numActions", "actionsChecksum", "checksum")


def edit_version(table: str | Path, number: int, edit: Callable[[Lines], Lines | None]) -> Path:
    """Edits the actions of one version, in place or by a new list, and takes the checksums of all versions away."""
    edited = None
    for file in Path(table, "_transaction_log").glob("*.json"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line in lines:
            for field in CHECKSUMS:
                line.get("commitInfo", {}).pop(field, None)
        if int(file.stem) == number:
            lines, edited = edit(lines) or lines, file
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert edited is not None
    return edited


def edit_adds(table: str | Path, number: int, edit: Callable[[dict[str, Any]], object]) -> Path:
    """Edits all adds of one version in place."""

    def each(lines: Lines) -> None:
        for line in lines:
            if "add" in line:
                edit(line["add"])

    return edit_version(table, number, each)


def edit_checkpoint(file: Path, edit: Callable[[pa.Table], pa.Table]) -> None:
    """Edits the rows of a checkpoint, and takes its checksums away."""
    rows = edit(pq.read_table(file))
    state = json.loads(rows.schema.metadata[b"indextables.snapshot"])
    kept = {key: value for key, value in state.items() if key not in {"checksum", "versionChecksum"}}
    pq.write_table(rows.replace_schema_metadata({"indextables.snapshot": json.dumps(kept)}), file)
