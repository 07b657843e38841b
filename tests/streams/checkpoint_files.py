"""What Spark's checkpoint of a query says: offsets of batches that were begun, and which of them were finished."""

import json
from pathlib import Path
from typing import Any


def batches_begun(checkpoint: str) -> list[int]:
    return _numbers(Path(checkpoint, "offsets"))


def batches_finished(checkpoint: str) -> list[int]:
    return _numbers(Path(checkpoint, "commits"))


def query_id(checkpoint: str) -> str | None:
    """The id of the query, None where Spark has not yet written it."""
    file = Path(checkpoint, "metadata")
    return str(json.loads(file.read_text())["id"]) if file.exists() else None


def offsets(checkpoint: str) -> list[dict[str, Any]]:
    """The offset of the only source at the end of each batch, from the first batch on."""
    return [json.loads(_last_line(Path(checkpoint, "offsets", str(number)))) for number in batches_begun(checkpoint)]


def forget_last_commit(checkpoint: str) -> int:
    """Deletes the record that the last batch was finished, as if the driver had died before; gives its number."""
    last = batches_finished(checkpoint)[-1]
    for name in (str(last), f".{last}.crc"):
        Path(checkpoint, "commits", name).unlink(missing_ok=True)
    return last


def _numbers(directory: Path) -> list[int]:
    return sorted(int(file.name) for file in directory.glob("*") if file.name.isdigit())


def _last_line(file: Path) -> str:
    return file.read_text().splitlines()[-1]
