"""A table made of data: its first version has the columns and the rows, so that bad data leaves no table behind."""

from collections.abc import Mapping

from indextables.errors import SchemaError, TableExistsError
from indextables.log import Snapshot, TransactionLog
from indextables.write.input_data import Data, batches_of, peeked
from indextables.write.job_planning import plan_job
from indextables.write.overwrite import OverwriteResolver
from indextables.write.write_job import Mode, write_and_commit
from indextables.write.write_progress import OnProgress, ProgressCounter


def write_new_table(
    log: TransactionLog,
    data: Data,
    *,
    mode: Mode,
    settings: Mapping[str, str],
    properties: Mapping[str, str],
    overwrite: OverwriteResolver,
    progress: OnProgress | None,
) -> Snapshot:
    """The table after its first commit; where another writer was first, the mode decides."""
    rows = peeked(batches_of(data))
    if rows.schema is None or not len(rows.schema):
        raise _no_columns()
    try:
        job = plan_job(
            log.table,
            rows.schema,
            mode=mode,
            sources=[settings],
            overwrite=overwrite,
            properties=properties,
            log=log,
            by_value=True,
        )
    except TableExistsError:
        if mode is not Mode.IGNORE:
            raise
        return log.snapshot()
    counter = ProgressCounter(progress, rows.num_rows)
    return write_and_commit(job, rows.batches, log=log, snapshot=None, counter=counter)


def _no_columns() -> SchemaError:
    return SchemaError(
        "the data is empty, so the columns of the new table are not known; give data with columns, such as an empty "
        "pyarrow.Table, or create the table with IndexTable.create(path, schema)",
        column=None,
    )
