"""Progress of writes without Spark: a callback hears of rows that were read and of splits that are finished."""

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.write.write_progress import WriteProgress

ROWS = pa.table({"day": ["mon", "tue", "wed"] * 100, "n": range(300)})


def write(table: IndexTable, how: str, data: pa.Table | pa.RecordBatchReader, heard: list[WriteProgress]) -> None:
    match how:
        case "append":
            table.append(data, progress=heard.append)
        case "overwrite":
            table.overwrite(data, progress=heard.append)
        case _:
            table.replace_where(data, "day > 'a'", progress=heard.append)


@pytest.mark.parametrize("how", ["append", "overwrite", "replace_where"])
@pytest.mark.parametrize("counted", [True, False])
def test_a_callback_hears_of_all_rows_and_splits(how: str, *, counted: bool) -> None:
    table = IndexTable.create(f"memory://progress/{how}-{counted}", ROWS.schema, partition_by="day")
    heard: list[WriteProgress] = []
    batches = ROWS.to_batches(max_chunksize=70)
    data = pa.Table.from_batches(batches) if counted else pa.RecordBatchReader.from_batches(ROWS.schema, batches)
    write(table, how, data, heard)
    read, written, splits = ([getattr(one, name) for one in heard] for name in ("rows_read", "rows_written", "splits"))
    assert [read, written, splits] == [sorted(read), sorted(written), sorted(splits)]
    assert 70 in read
    assert heard[-1] == WriteProgress(300, 300, 3, 300 if counted else None)


def test_an_error_of_the_callback_ends_the_write() -> None:
    table = IndexTable.create("memory://progress/stopped", ROWS.schema)

    def stop(_: WriteProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.append(ROWS, progress=stop)
    assert (table.refresh().version, table.count()) == (0, 0)
