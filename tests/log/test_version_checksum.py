"""Version files and checkpoints verify themselves, and each other."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from indextables.errors import CorruptLogError, IndexTablesError, TableReplacedError
from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.actions import Txn
from indextables.log.log_files import checkpoint_key, commit_key
from tests.log.hand_written import edit_version
from tests.log.samples import add, append, created, paths
from tests.tiers import tries

VERSIONS = 5


@pytest.fixture
def log(tmp_path: Path) -> TransactionLog:
    """Five versions of which the last one has two adds and a txn."""
    log = TransactionLog.open(tmp_path / "t")
    created(log)
    for number in range(1, VERSIONS - 1):
        append(log, add(f"a{number}.split"))
    last = Transaction(
        operation=Operation.APPEND,
        snapshot=log.snapshot(),
        adds=[add("b.split"), add("c.split")],
        txn=Txn(app_id="loader", version=7),
    )
    log.commit(last)
    return log


def version_file(log: TransactionLog, number: int) -> Path:
    return Path(log.table, commit_key(number))


def fresh(log: TransactionLog) -> TransactionLog:
    return TransactionLog.open(log.table)


def damage(file: Path, change: Callable[[bytes], bytes]) -> None:
    file.write_bytes(change(file.read_bytes()))


@pytest.mark.parametrize("number", range(VERSIONS))
def test_no_flipped_bit_goes_unnoticed(log: TransactionLog, number: int) -> None:
    """In any version, the newest among them: not even one in the name of a field, or of an action."""
    file = version_file(log, number)
    content = file.read_bytes()
    for position in random.Random(number).sample(range(8 * len(content)), tries(50, 250)):
        flipped = bytearray(content)
        flipped[position // 8] ^= 1 << position % 8
        file.write_bytes(flipped)
        with pytest.raises(CorruptLogError, match=f"version {number} of .* is damaged") as caught:
            fresh(log).snapshot()
        assert caught.value.version == number
        with pytest.raises(IndexTablesError):
            _ = fresh(log).history() if position < 8 * content.index(b"\n") else fresh(log).snapshot()


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_a_file_that_was_cut_at_the_end_of_a_line(log: TransactionLog, lines: int) -> None:
    damage(version_file(log, 4), lambda content: b"".join(content.splitlines(keepends=True)[:lines]))
    with pytest.raises(CorruptLogError, match=f"version 4 of .* it has {lines - 1} of its 3 actions"):
        fresh(log).snapshot()


def test_lines_in_another_order(log: TransactionLog) -> None:
    damage(version_file(log, 4), lambda content: b"".join([*(c := content.splitlines(keepends=True))[:2], c[3], c[2]]))
    with pytest.raises(CorruptLogError, match="version 4 of .* are not the ones that were written"):
        fresh(log).snapshot()


def test_the_file_of_another_version(log: TransactionLog) -> None:
    shutil.copy(version_file(log, 2), version_file(log, 3))
    with pytest.raises(CorruptLogError, match="version 3 of .* it is the file of version 2"):
        fresh(log).snapshot()


def test_a_version_of_another_history(log: TransactionLog, tmp_path: Path) -> None:
    """Two copies of a table went on separately; a version of one does not fit into the other."""
    other = TransactionLog.open(shutil.copytree(log.table, tmp_path / "copy"))
    append(log, add("ours.split"))
    append(other, add("theirs.split"))
    append(other, add("next.split"))
    shutil.copy(version_file(other, 6), version_file(log, 6))
    with pytest.raises(CorruptLogError, match="version 6 of .* one of the two was replaced"):
        fresh(log).snapshot()
    with pytest.raises(CorruptLogError, match="version 6 of .* one of the two was replaced"):
        append(log, add("more.split"))
    assert "ours.split" in paths(fresh(log).snapshot(5))


def test_a_version_that_lost_its_checksum_is_noticed_by_the_next(log: TransactionLog) -> None:
    sealed = version_file(log, 4).read_bytes()
    edit_version(log.table, 3, lambda lines: None)
    version_file(log, 4).write_bytes(sealed)
    with pytest.raises(CorruptLogError, match="version 4 of .* and version 3 has none"):
        fresh(log).snapshot()


def test_versions_of_other_writers_are_not_verified(log: TransactionLog) -> None:
    """Those without checksums may be edited, and versions with checksums follow them."""
    expected = paths(log.snapshot())
    edit_version(log.table, 3, lambda lines: [line for line in lines if "commitInfo" not in line])
    assert paths(fresh(log).snapshot()) == expected
    append(fresh(log), add("next.split"))
    append(fresh(log), add("after.split"))
    assert paths(fresh(log).snapshot()) == expected | {"next.split", "after.split"}
    damage(version_file(log, 6), lambda content: content.replace(b"after", b"other"))
    with pytest.raises(CorruptLogError, match="version 6 of .* checksum differs"):
        fresh(log).snapshot()


def test_history_verifies_the_first_lines(log: TransactionLog) -> None:
    damage(version_file(log, 2), lambda content: content.replace(b'"operation":"APPEND"', b'"operation":"OPPEND"'))
    with pytest.raises(CorruptLogError, match="version 2 of .* first line is not the one that was written"):
        fresh(log).history()


def test_no_flipped_bit_of_a_checkpoint_goes_unnoticed(log: TransactionLog, caplog: pytest.LogCaptureFixture) -> None:
    """The state comes from the versions then, and where they are gone, there is none."""
    expected = paths(log.snapshot())
    log.checkpoint()
    file = Path(log.table, checkpoint_key(4))
    content = file.read_bytes()
    copy = Path(shutil.copytree(log.table, f"{log.table}-alone"))
    for version in copy.glob("_transaction_log/*.json"):
        version.unlink()
    for position in random.Random(0).sample(range(8 * len(content)), 150):
        flipped = bytearray(content)
        flipped[position // 8] ^= 1 << position % 8
        file.write_bytes(flipped)
        caplog.clear()
        assert paths(fresh(log).snapshot()) == expected
        assert "is damaged" in caplog.text
        (copy / checkpoint_key(4)).write_bytes(flipped)
        with pytest.raises(CorruptLogError, match="the checkpoint .* is damaged"):
            TransactionLog.open(copy).snapshot()


def test_a_checkpoint_of_another_history_is_passed_over(
    log: TransactionLog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = TransactionLog.open(shutil.copytree(log.table, tmp_path / "copy"))
    append(log, add("ours.split"))
    append(log, add("next.split"))
    append(other, add("theirs.split"))
    other.checkpoint()
    shutil.copy(Path(other.table, checkpoint_key(5)), Path(log.table, checkpoint_key(5)))
    assert paths(fresh(log).snapshot()) >= {"ours.split", "next.split"}
    assert "checkpoint 5 of" in caplog.text


def test_a_checkpoint_of_another_history_is_passed_over_as_the_newest_one(log: TransactionLog, tmp_path: Path) -> None:
    other = TransactionLog.open(shutil.copytree(log.table, tmp_path / "copy"))
    append(log, add("ours.split"))
    append(other, add("theirs.split"))
    other.checkpoint()
    shutil.copy(Path(other.table, checkpoint_key(5)), Path(log.table, checkpoint_key(5)))
    assert paths(fresh(log).snapshot()) >= {"ours.split"}


def test_a_damaged_version_does_not_matter_where_its_checkpoint_is_there(log: TransactionLog) -> None:
    expected = paths(log.snapshot())
    log.checkpoint()
    damage(version_file(log, 4), lambda content: content[: len(content) // 2])
    assert paths(fresh(log).snapshot()) == expected


def test_a_newest_version_that_was_deleted_is_missed_by_who_has_read_it(log: TransactionLog) -> None:
    """Once: who goes on from there reads the older state, as every new reader does."""
    assert log.snapshot().version == 4
    version_file(log, 4).unlink()
    with pytest.raises(TableReplacedError, match="version 4 of .*, which was read before, is gone, .* version 3"):
        log.snapshot()
    assert log.snapshot().version == 3


def test_first_lines_may_be_long(log: TransactionLog) -> None:
    parameters = {"predicate": " OR ".join(f"id = {n}" for n in range(20_000))}
    log.commit(
        Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=[add("l.split")], parameters=parameters)
    )
    assert "l.split" in paths(fresh(log).snapshot())
    assert fresh(log).history()["version"][0].as_py() == 5
