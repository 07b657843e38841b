"""No table inside another one."""

from pathlib import Path
from shutil import copytree
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import NestedTableError, TableExistsError
from indextables.write.job_planning import plan_job
from indextables.write.write_job import Mode, abort_job, commit_job, write_task
from tests.stores.servers import Server

SCHEMA = pa.schema({"p": pa.string(), "n": pa.int64()})
ROWS = pa.table({"p": ["a"], "n": [1]}, SCHEMA)


@pytest.fixture(params=["local", "memory", "s3", "azure"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, str]]:
    match request.param:
        case "local":
            return str(tmp_path / "t"), {}
        case "memory":
            return f"memory://{uuid4().hex}/t", {}
        case cloud:
            server: Server = request.getfixturevalue(cloud)
            return server.new_table(), dict(server.options)


@pytest.mark.parametrize(("first", "second"), [("a", "a/p=x/b"), ("a/p=x/b", "a")])
def test_a_table_inside_or_around_another_one_is_refused(
    place: tuple[str, dict[str, str]], first: str, second: str
) -> None:
    root, options = place
    IndexTable.create(f"{root}/{first}", SCHEMA, options=options)
    where = "inside" if len(second) > len(first) else "around"
    with pytest.raises(NestedTableError, match=f"would lie {where} the table at {root}/{first};") as caught:
        IndexTable.create(f"{root}/{second}", SCHEMA, options=options)
    assert (caught.value.table, caught.value.other) == (f"{root}/{second}", f"{root}/{first}")
    for mode in Mode:
        with pytest.raises(NestedTableError):
            plan_job(f"{root}/{second}", SCHEMA, mode=mode, sources=[options])
    with pytest.raises(TableExistsError, match="already"):
        IndexTable.create(f"{root}/{first}", SCHEMA, options=options)
    beside = IndexTable.create(f"{root}/{first}2", SCHEMA, options=options)
    assert beside.append(ROWS) == 1


def test_a_table_inside_another_one_by_a_link_is_refused(tmp_path: Path) -> None:
    outer = IndexTable.create(tmp_path / "outer", SCHEMA)
    Path(outer.path, "sub").mkdir()
    (tmp_path / "link").symlink_to(Path(outer.path, "sub"))
    with pytest.raises(NestedTableError, match=f"inside the table at {outer.path};"):
        IndexTable.create(tmp_path / "link" / "t", SCHEMA)


@pytest.mark.parametrize(
    "spelling", ["{}/outer/p=a/t/", "{}/outer/../outer/t", "{}/./outer//t", "file://{}/outer/t", "FILE:{}/outer/t"]
)
def test_a_table_inside_another_one_is_refused_however_it_is_spelt(tmp_path: Path, spelling: str) -> None:
    IndexTable.create(tmp_path / "outer", SCHEMA)
    with pytest.raises(NestedTableError):
        IndexTable.create(spelling.format(tmp_path), SCHEMA)


def test_a_table_inside_another_one_by_another_scheme_is_refused(s3: Server) -> None:
    place, options = s3.new_table(), dict(s3.options)
    IndexTable.create(place, SCHEMA, options=options)
    for scheme in ("s3a", "S3", "S3A"):
        with pytest.raises(NestedTableError):
            IndexTable.create(f"{scheme}{place.removeprefix('s3')}/sub/", SCHEMA, options=options)


def test_a_table_around_another_one_by_a_linked_root_is_refused(tmp_path: Path) -> None:
    IndexTable.create(tmp_path / "outer" / "inner", SCHEMA)
    (tmp_path / "link").symlink_to(tmp_path / "outer")
    with pytest.raises(NestedTableError):
        IndexTable.create(tmp_path / "link", SCHEMA)


def test_a_table_whose_first_versions_were_cleaned_up_is_a_table(tmp_path: Path) -> None:
    options = {"checkpoint.interval": "2", "log.retention": "0s"}
    table = IndexTable.create(tmp_path / "t", SCHEMA, options=options)
    for _ in range(4):
        table.append(ROWS)
    assert not Path(table.path, "_transaction_log", f"{0:018}.json").exists()
    with pytest.raises(TableExistsError):
        IndexTable.create(table.path, SCHEMA)
    assert IndexTable.open(table.path).count() == 4


def test_what_is_no_table_may_be_inside(tmp_path: Path) -> None:
    (tmp_path / "t" / "notes" / "_transaction_log").mkdir(parents=True)
    (tmp_path / "t" / "notes" / "_transaction_log" / "_put_if_absent").touch()
    (tmp_path / "t" / "loop").symlink_to(tmp_path)
    assert IndexTable.create(tmp_path / "t", SCHEMA).version == 0


def test_a_job_that_is_aborted_leaves_copies_of_its_table_alone(tmp_path: Path) -> None:
    job = plan_job(tmp_path / "t", SCHEMA, mode=Mode.APPEND)
    commit_job(job, [])
    failed = plan_job(tmp_path / "t", SCHEMA, mode=Mode.APPEND)
    write_task(failed, ROWS.to_batches(), task=0)
    copytree(tmp_path / "t", tmp_path / "copy")
    copytree(tmp_path / "copy", tmp_path / "t" / "copy")
    (tmp_path / "t" / "link").symlink_to(tmp_path / "copy")
    assert len(abort_job(failed)) == 1
    assert len(list((tmp_path / "copy").glob("*.split"))) == 1
    assert len(list((tmp_path / "t" / "copy").glob("*.split"))) == 1
