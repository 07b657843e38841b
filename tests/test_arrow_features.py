"""What is asked of pyarrow: with pandas, whenever it is imported."""

import subprocess
import sys

START = "import sys, pyarrow as pa; from indextables.arrow_features import skip_pandas_import as skip; skip(); skip()"
MISSING = (
    "pa.array(pd.Series([1.0, None]), from_pandas=None).null_count"  # NaN is null in a Series, and a number in a list
)


def printed(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", f"{START}; {program}"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_arrays_are_made_without_pandas() -> None:
    assert printed("pa.array([1]); pa.scalar(None); print('pandas' in sys.modules)") == ["False"]


def test_pandas_that_is_imported_later_is_known_to_pyarrow() -> None:
    assert printed(f"pa.array([1]); import pandas as pd; print({MISSING})") == ["1"]
    assert printed("print(len(pa.table({'a': [1, 2]}).to_pandas()))") == ["2"]
    assert printed(f"pa.array([1]).to_pandas(); import pandas as pd; print({MISSING})") == ["1"]
    program = "frame = pd.DataFrame({'a': ['x', None]}); print(pa.Table.from_pandas(frame)['a'].null_count)"
    assert printed(f"import pandas as pd; {program}") == ["1"]


def test_pandas_that_is_there_already_stays() -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import pandas as pd; {START}; print({MISSING})"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1"]
