"""Search operators in texts that Spark parses by itself: `df.filter("message INDEXQUERY 'disk'")`, `selectExpr`, `expr`."""

import re
from collections.abc import Callable
from typing import Any

from pyspark.sql import functions

from indextables.spark.frames.class_hooks import ClassHooks
from indextables.statements import rewrite_statement

_OPERATOR = re.compile(r"\b(?:INDEXQUERY|TEXTSEARCH)\b", re.IGNORECASE)


def hook_texts(hooks: ClassHooks, frames: type) -> None:
    """Makes the methods of a class of frames that take texts, and `functions.expr`, understand the operators."""
    for name in ("filter", "where", "selectExpr"):
        hooks.hook(frames, name, _with_functions)
    hooks.hook(functions, "expr", _with_functions)


def _with_functions(original: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return original(*map(_rewritten, args), **{name: _rewritten(value) for name, value in options.items()})


def _rewritten(value: Any) -> Any:
    """A text with functions in the places of operators; lists of texts, too. Anything else as it is."""
    if isinstance(value, list):
        return [_rewritten(one) for one in value]
    if isinstance(value, str) and _OPERATOR.search(value):
        return rewrite_statement(value, prefix="").text
    return value
