"""Files with columns and types of their own: Parquet, Arrow IPC (Feather), ORC."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.cli.file_reader import Reader, in_columns, named, names_in, read_errors
from indextables.cli.input_files import InputFile
from indextables.errors import IndexTablesError
from indextables.write.dataframe_input import columns_without_index

Batches: TypeAlias = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
_ARROW_FILE = b"ARROW1"


@dataclass(frozen=True, slots=True)
class ColumnarReader(Reader):
    """`format` is one of `parquet`, `arrow` and `orc`."""

    format: str

    def columns(self, file: InputFile) -> pa.Schema:
        name, open_ = _FORMATS[self.format]
        with read_errors(file, name), open_(file.path) as (found, _):
            schema = named(found)
        return pa.schema([_plain(schema.field(name)) for name in columns_without_index(schema)])

    def batches(self, file: InputFile, wanted: pa.Schema, *, strict: bool) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        own = names_in(self.columns(file).names, wanted)
        name, open_ = _FORMATS[self.format]
        with read_errors(file, name), open_(file.path) as (_, batches):
            for batch in batches(list(own.values())):
                yield in_columns(batch, own, wanted)


def _plain(field: pa.Field) -> pa.Field:
    """A column of categories has the type of its values."""
    return field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field


@contextmanager
def _parquet(path: Path) -> Iterator[tuple[pa.Schema, Batches]]:
    with pq.ParquetFile(path) as opened:
        yield opened.schema_arrow, lambda columns: opened.iter_batches(columns=list(columns))


@contextmanager
def _arrow(path: Path) -> Iterator[tuple[pa.Schema, Batches]]:
    """Both forms of Arrow IPC: files, which Feather also writes, and streams."""
    with pa.memory_map(str(path)) as content:
        is_file = content.read(len(_ARROW_FILE)) == _ARROW_FILE
        content.seek(0)
        if is_file:
            opened = pa.ipc.open_file(content)
            numbers = range(opened.num_record_batches)
            yield opened.schema, lambda columns: (opened.get_batch(n).select(list(columns)) for n in numbers)
        else:
            stream = pa.ipc.open_stream(content)
            yield stream.schema, lambda columns: (batch.select(list(columns)) for batch in stream)


@contextmanager
def _orc(path: Path) -> Iterator[tuple[pa.Schema, Batches]]:
    try:
        from pyarrow import orc
    except ImportError as error:
        raise IndexTablesError(
            f"{path} is ORC, which this build of pyarrow cannot read; convert it to Parquet"
        ) from error
    opened = orc.ORCFile(path)
    stripes = range(opened.nstripes)
    yield opened.schema, lambda columns: (opened.read_stripe(n, columns=list(columns)) for n in stripes)


_FORMATS: dict[str, tuple[str, Callable[[Path], AbstractContextManager[tuple[pa.Schema, Batches]]]]] = {
    "parquet": ("Parquet", _parquet),
    "arrow": ("Arrow IPC", _arrow),
    "orc": ("ORC", _orc),
}
