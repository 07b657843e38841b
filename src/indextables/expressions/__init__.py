"""SQL expressions of Spark's dialect, checked, and evaluated by DuckDB over Arrow tables."""

from indextables.expressions.evaluator import CompiledExpression, Evaluator
from indextables.expressions.expression import Expression, Relation, Scope

__all__ = ["CompiledExpression", "Evaluator", "Expression", "Relation", "Scope"]
