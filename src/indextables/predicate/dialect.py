"""Spark's SQL as sqlglot reads it, with the operator INDEXQUERY and its other name TEXTSEARCH."""

from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import TokenType


class Dialect(Spark):
    class Tokenizer(Spark.Tokenizer):
        # sqlglot reads 'O''Brien' as two literals; Spark 4 reads one quote.
        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012  (sqlglot's own shape)
        COMMANDS = set()  # noqa: RUF012  (the rest of EXPLAIN, SHOW and others is tokens too)
        # INDEXQUERY takes the place of sqlite's GLOB, an infix operator that Spark does not have.
        KEYWORDS = {  # noqa: RUF012
            **{word: token for word, token in Spark.Tokenizer.KEYWORDS.items() if token != TokenType.GLOB},
            "INDEXQUERY": TokenType.GLOB,
            "TEXTSEARCH": TokenType.GLOB,
        }
