"""DuckDB's SQL as sqlglot reads it, with the operator INDEXQUERY and its other name TEXTSEARCH."""

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from indextables.errors import StatementError
from indextables.redaction import redacted

SearchOperator = exp.Overlaps
"""The node of `x INDEXQUERY 'q'`, which takes the place of an operator that DuckDB does not have."""
SEARCH_FUNCTIONS = frozenset({"indexquery", "textsearch", "indexqueryall"})


class SearchDialect(DuckDB):
    class Tokenizer(DuckDB.Tokenizer):
        KEYWORDS = {  # noqa: RUF012 - sqlglot's own shape
            **{word: token for word, token in DuckDB.Tokenizer.KEYWORDS.items() if token != TokenType.OVERLAPS},
            "INDEXQUERY": TokenType.OVERLAPS,
            "TEXTSEARCH": TokenType.OVERLAPS,
        }

    class Parser(DuckDBParser):
        FUNC_TOKENS = {*DuckDBParser.FUNC_TOKENS, TokenType.OVERLAPS}  # noqa: RUF012


def tokens_of_query(text: str) -> list[Token]:
    return list(SearchDialect().tokenize(text))


def query_tree(text: str) -> exp.Query:
    """The syntax tree of a query; anything else is a StatementError."""
    try:
        trees = SearchDialect().parse(text)
    except ParseError as error:
        facts = next(iter(error.errors), {})
        raise invalid(text, f"{facts.get('highlight', '')!r} is not expected here", _position(text, facts)) from None
    except TokenError:
        raise invalid(text, "a quote or a comment is not closed") from None
    except RecursionError:
        raise invalid(text, "it is nested too deep") from None
    match [tree for tree in trees if tree is not None]:
        case [exp.Query() as tree]:
            return tree
        case [_, _, *_]:
            raise invalid(text, "it is more than one statement; run one at a time")
        case [exp.Copy(args={"kind": False})]:
            hint = (
                "`indextables export TABLE FILE` writes rows of a table to a file, `sql --csv` prints those of a query"
            )
            raise invalid(text, f"a query writes no file; {hint}")
        case _:
            raise invalid(text, "only queries are run here: SELECT, WITH ... SELECT, FROM")


def invalid(text: str, reason: str, position: int | None = None) -> StatementError:
    where = "" if position is None else f" at position {position}"
    return StatementError(
        f"the query {redacted(text)!r} cannot be run{where}: {reason}",
        statement=redacted(text),
        reason=reason,
        position=position or 0,
    )


def _position(text: str, facts: dict[str, object]) -> int | None:
    line, column, near = facts.get("line"), facts.get("col"), str(facts.get("highlight", ""))
    if not isinstance(line, int) or not isinstance(column, int):
        return None
    before = sum(map(len, text.splitlines(keepends=True)[: line - 1]))
    return before + max(column - len(near), 0)
