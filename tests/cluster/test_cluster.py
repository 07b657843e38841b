"""A real cluster: the steps and some kills of `make cluster`, in a process of their own, because the driver is another one.

Executors are lost while they write, after they have written, and with shuffle files that others need: Spark's checksums of
shuffles are on or off, the table is partitioned or not. Spark computes the lost rows again, in another order.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import slow

pytestmark = [pytest.mark.spark, slow("a cluster of its own, with kills")]
ROOT = Path(__file__).parents[2]
LONG_ENOUGH = 1800  # seconds, for a cluster to start and to recover on a busy machine


def test_operations_and_kills_on_a_cluster() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.cluster", "--short", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LONG_ENOUGH,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = json.loads(ended.stdout.splitlines()[-1])
    assert (report["violations"], report["killed"]) == ([], 3)
    assert [case["found"] for case in report["kills"]] == [case["expected"] for case in report["kills"]]
    assert sum(case["stage_retries"] for case in report["kills"]) > 0, "no shuffle file was lost"
    assert {name for _, name, _ in report["steps"]} >= {"search", "merge", "replace_where", "stream"}
