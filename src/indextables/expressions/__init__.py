"""SQL expressions of Spark's dialect, checked, and evaluated by DuckDB over Arrow tables."""

from indextables.expressions.evaluator import Evaluator, Failing
from indextables.expressions.expression import Expression, Relation, Scope

__all__ = ["Evaluator", "Expression", "Failing", "Relation", "Scope"]
