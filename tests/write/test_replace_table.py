"""A table that is replaced by another definition of it, and who else writes to it at the time."""

from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConflictError
from indextables.write.job_planning import plan_job
from indextables.write.write_job import Mode, commit_job, write_task


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Version 1, with two rows."""
    schema = pa.schema({"day": pa.string(), "n": pa.int64(), "message": pa.string()})
    table = IndexTable.create(
        tmp_path / "t", schema, partition_by="day", fields=["message"], properties={"team": "a", "mergeSchema": "true"}
    )
    table.append(pa.table({"day": ["mon", "tue"], "n": [1, 2], "message": ["disk full", "well"]}, schema))
    return table


def test_nothing_of_the_definition_before_is_kept(table: IndexTable) -> None:
    job = plan_job(
        table.path,
        table.schema,
        mode=Mode.OVERWRITE,
        sources=[{"partitionBy": "n"}],
        properties={"owner.team": "b"},
        replace_table=True,
    )
    commit_job(job, [write_task(job, table.scan().to_arrow().to_batches(), task=0)])
    assert (table.refresh().version, str(table.layout), table.properties) == (2, "n", {"owner.team": "b"})
    assert str(table.fields["message"]) == "string"
    assert (table.count(), table.at(version=1).count(query="message:disk")) == (2, 1)
    assert table.history()["operation"].to_pylist() == ["REPLACE TABLE", "APPEND", "CREATE TABLE"]
    assert table.check(deep=True).ok


def test_the_same_definition_is_a_commit_of_its_own(table: IndexTable) -> None:
    for version in (2, 3):
        job = plan_job(table.path, table.schema, mode=Mode.OVERWRITE, properties=table.properties, replace_table=True)
        assert commit_job(job, []).version == version
    assert (table.refresh().count(), table.schema.names) == (0, ["day", "n", "message"])


def test_a_replacement_and_an_append_at_the_same_time_conflict(table: IndexTable) -> None:
    """Whoever commits second fails, and no row is lost."""
    rows = table.scan().to_arrow()
    replacement = plan_job(table.path, table.schema, mode=Mode.OVERWRITE, replace_table=True)
    append = plan_job(table.path, table.schema, mode=Mode.APPEND)
    written = write_task(append, rows.to_batches(), task=0)
    table.append(rows)
    with pytest.raises(ConflictError):
        commit_job(replacement, [])
    commit_job(plan_job(table.path, table.schema.remove(1), mode=Mode.OVERWRITE, replace_table=True), [])
    with pytest.raises(ConflictError):
        commit_job(append, [written])
    assert (table.refresh().version, table.count(), table.at(version=2).count()) == (3, 0, 4)
    assert table.check(deep=True).ok
