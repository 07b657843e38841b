"""Something to do to a table, as a value: how it is said is for whoever says it.

>>> step = Step("merge_splits", options={"rewrite_layout": True, "cluster_by": ("tenant", "n")})
>>> str(step)
"table.merge_splits(rewrite_layout=True, cluster_by=['tenant', 'n'])"
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Step:
    """A method of `IndexTable`, what it is about if anything, and its other arguments; it prints as Python."""

    method: str
    subject: str | None = None
    options: Mapping[str, bool | tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        subject = () if self.subject is None else (f'"{self.subject}"',)
        options = (f"{name}={list(v) if isinstance(v, tuple) else v!r}" for name, v in self.options.items())
        return f"table.{self.method}({', '.join((*subject, *options))})"


StepFormat: TypeAlias = Callable[[Step], str]
"""How a step is said: in Python (`str`), or as a command."""
