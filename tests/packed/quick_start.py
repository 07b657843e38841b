"""The quick start of docs/index.md, run by a Python that has only the package: `python -m tests.packed.quick_start`.

Its commands are run by a shell, as a reader runs them. The blocks that need Spark are left out where PySpark is not
installed.
"""

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import indextables
from tests.docs.page import ROOT, Block, blocks_of, run_block, run_in_shell

PAGE = ROOT / "docs" / "index.md"


def needs_spark(block: Block) -> bool:
    return block.kind == "sql" or "spark" in block.names


def run() -> int:
    """Runs the page in the current directory; the number of blocks that were run."""
    has_spark, names, count = find_spec("pyspark") is not None, dict[str, Any](__name__="page"), 0
    for block in blocks_of(PAGE):
        if needs_spark(block) and not has_spark:
            continue
        count += run_block(block, names, f"{PAGE.name}:{block.line}", shell=run_in_shell)
    return count


if __name__ == "__main__":
    assert Path(indextables.__file__).is_relative_to(sys.prefix), f"{indextables.__file__} is not of {sys.prefix}"
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        print(f"ran {run()} blocks of {PAGE.name} with indextables {indextables.__version__} in a new environment")
