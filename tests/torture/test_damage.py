"""A short sweep; `make torture` runs a long one."""

from pathlib import Path

from tests.tiers import tries
from tests.torture.damage import sweep


def test_damage_is_never_a_wrong_answer(tmp_path: Path) -> None:
    found = sweep(tmp_path, trials=tries(39, 156))
    assert not found.failures, "\n".join(found.failures)
