"""A directory of JSON files that a stream reads one by one."""

import json
from pathlib import Path

SCHEMA = "id LONG, p STRING, message STRING"
ROWS = 60  # of one file
_PARTITIONS = 3


class JsonInput:
    """Files with ascending ids; each appears at once, as a whole."""

    def __init__(self, directory: Path) -> None:
        self.path, self._draft = directory / "input", directory / "draft.json"
        self.path.mkdir(parents=True)
        self._files = 0

    @property
    def ids(self) -> range:
        return range(self._files * ROWS)

    def add_files(self, count: int) -> None:
        for number in range(self._files, self._files + count):
            rows = (
                {"id": id_, "p": f"p{id_ % _PARTITIONS}", "message": f"line {id_}"}
                for id_ in range(number * ROWS, (number + 1) * ROWS)
            )
            self._draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
            self._draft.rename(self.path / f"{number:06}.json")
        self._files += count
