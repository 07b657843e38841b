import pytest

from indextables.errors import StatementError
from indextables.statement import Checkpoint, Command, Describe, Subject, recognised


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("CHECKPOINT INDEXTABLES '/a'", Checkpoint("/a")),
        ("checkpoint indextable `s3://b/c`;", Checkpoint("s3://b/c")),
        ("DESCRIBE INDEXTABLES '/a'", Describe("/a", Subject.COLUMNS)),
        ("DESC INDEXTABLES HISTORY '/a'", Describe("/a", Subject.HISTORY)),
        ("DESCRIBE INDEXTABLES TRANSACTION /* the */ LOG '/a'", Describe("/a", Subject.LOG)),
        ("describe indextable partitions '/a b'", Describe("/a b", Subject.PARTITIONS)),
        ("DESCRIBE INDEXTABLES SPLITS '/a'", Describe("/a", Subject.SPLITS)),
    ],
)
def test_commands(text: str, command: Command) -> None:
    assert recognised(text) == command


@pytest.mark.parametrize(
    "text",
    ["SELECT 1", "DESCRIBE indextables", "DESCRIBE indextables splits", "DESCRIBE TABLE indextables", "-- INDEXTABLES", "'"],
)  # fmt: skip
def test_other_statements_are_sparks(text: str) -> None:
    assert recognised(text) is None


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("CHECKPOINT INDEXTABLES", 22),
        ("CHECKPOINT INDEXTABLES logs", 22),
        ("CHECKPOINT INDEXTABLES '/a' NOW", 28),
        ("DESCRIBE INDEXTABLES SPLIT '/a'", 21),
    ],
)
def test_a_command_that_cannot_be_read_names_the_place(text: str, position: int) -> None:
    with pytest.raises(StatementError) as error:
        recognised(text)
    assert error.value.position == position
