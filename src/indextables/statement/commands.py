"""Commands of our own, which Spark's parser does not know.

| command | gives |
|---|---|
| `CHECKPOINT INDEXTABLES '/path'` | the version that can now be read from one file |
| `DESCRIBE INDEXTABLES [HISTORY | TRANSACTION LOG | PARTITIONS | SPLITS] '/path'` | what the log knows, as rows |
"""

from sqlglot.tokenizer_core import Token, TokenType

from indextables.errors import StatementError
from indextables.statement.tokens import end_of, tokens_of, word
from indextables.statement.values import Checkpoint, Command, Describe, Subject

_OURS = ("INDEXTABLES", "INDEXTABLE")
_SUBJECTS = {subject.value: subject for subject in Subject}


def recognised(text: str) -> Command | None:
    tokens = tokens_of(text)
    if tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    match [word(token) for token in tokens]:
        case ["CHECKPOINT", ours, *_] if ours in _OURS:
            return Checkpoint(_path(text, tokens, 2))
        case ["DESCRIBE" | "DESC", ours, *words, ""] if ours in _OURS:  # DESCRIBE of a table of this name has no path
            subject = _SUBJECTS.get(" ".join(words))
            if subject is None:
                expected = ", ".join(name for name in _SUBJECTS if name)
                raise _invalid(text, f"expected is one of {expected}, or the path", tokens[2].start)
            return Describe(_path(text, tokens, 2 + len(words)), subject)
        case _:
            return None


def _path(text: str, tokens: list[Token], place: int) -> str:
    """The path, which is the last thing that a command says."""
    if place >= len(tokens) or word(tokens[place]):
        raise _invalid(text, "the path of a table, in quotes, is expected", end_of(tokens[place - 1]))
    if place + 1 < len(tokens):
        raise _invalid(text, "nothing is expected after the path", tokens[place + 1].start)
    return tokens[place].text


def _invalid(text: str, reason: str, position: int) -> StatementError:
    return StatementError(
        f"the command {text!r} cannot be read at position {position}: {reason}",
        statement=text,
        reason=reason,
        position=position,
    )
