"""A view as a file: JSON or CSV."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa

from indextables.serve.json_values import cells

_ROWS_A_PIECE = 1_000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def json_pieces(rows: pa.Table) -> Iterator[bytes]:
    """The rows as a JSON array of objects."""
    yield b"["
    for number, piece in enumerate(_pieces(rows)):
        yield (b",\n" if number else b"") + b",\n".join(map(msgspec.json.encode, piece))
    yield b"]\n"


def csv_pieces(rows: pa.Table) -> Iterator[bytes]:
    r"""The rows as CSV with a header.

    A spreadsheet takes a text that begins with `=`, `+`, `-` or `@` for a formula, so an apostrophe is put before it.

    >>> print(b"".join(csv_pieces(pa.table({"text": ["=1+1", "a,b", None], "n": [-1, 2, None]}))).decode())
    text,n
    '=1+1,-1
    "a,b",2
    ,
    """
    yield _lines([[_inert(name) for name in rows.column_names]])
    texts = [bool(pa.types.is_string(field.type)) for field in rows.schema]
    for piece in _pieces(rows):
        yield _lines(
            [_inert(value) if is_text else value for value, is_text in zip(row.values(), texts, strict=True)]
            for row in piece
        )


def _pieces(rows: pa.Table) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(rows), _ROWS_A_PIECE):
        some = rows.slice(start, _ROWS_A_PIECE)
        columns = [cells(column) for column in some.columns]
        yield [dict(zip(some.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _lines(rows: Iterable[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
