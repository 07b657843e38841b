"""Which tests run over Spark Connect: those of this directory, its page, and modules for classic Spark that apply too.

Tests in these modules that do not apply are listed with the reason; `docs/connect.md` has the same as a table for users.
"""

from pathlib import Path

HERE = Path(__file__).parent
SHARED = (
    "spark/test_conditions.py",
    "spark/test_read.py",
    "spark/test_read_differential.py",
    "spark/test_score.py",
    "spark/test_search_positions.py",
    "docs/test_pages.py",
)
NOT_OVER_CONNECT = {
    "test_read.py::test_a_schema_that_the_table_has_not_is_refused": "its reader is that of classic Spark",
    "test_read.py::test_a_relative_path_is_that_of_this_process": "relative paths are those of the server",
    "test_score.py::test_a_statement_has_the_scores_of_a_search[in a union]": "the score stands where the table is searched",
    "test_score.py::test_a_statement_has_the_scores_of_a_search[in a common table expression]": "the same",
    "test_score.py::test_rows_of_other_formats_have_no_score": "Spark refuses a function that the server does not know",
    "test_score.py::test_a_function_of_the_user_keeps_its_name": "functions of the server are not looked up",
}


BREADTH = "spark/test_read_differential.py"  # in the second tier; `test_queries.py` has queries of each kind


def is_of_connect(path: Path) -> bool:
    """Whether a module has tests of Spark Connect alone."""
    return path.is_relative_to(HERE)


def runs_over_connect(path: Path) -> bool:
    return is_of_connect(path) or any(path.as_posix().endswith(f"tests/{name}") for name in SHARED)


def why_not_over_connect(nodeid: str) -> str | None:
    """The reason why a test does not run over Spark Connect; None if it does."""
    if "test_pages.py" in nodeid:
        return None if "docs/connect.md" in nodeid else "a page for classic Spark"
    return next((reason for test, reason in NOT_OVER_CONNECT.items() if test in nodeid), None)
