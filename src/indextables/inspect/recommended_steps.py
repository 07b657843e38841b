"""A recommended call on a table, as a value that is rendered as Python or as a shell command.

>>> step = Step("merge_splits", options={"rewrite_layout": True, "cluster_by": ("tenant", "n")})
>>> str(step)
"table.merge_splits(rewrite_layout=True, cluster_by=['tenant', 'n'])"
>>> str(Step("purge", options={"older_than": "0 days", "force": True}))
"table.purge(older_than='0 days', force=True)"
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Step:
    """A method of `IndexTable`, its positional argument if any, and its options; it prints as Python."""

    method: str
    subject: str | None = None
    options: Mapping[str, bool | str | tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        subject = () if self.subject is None else (f'"{self.subject}"',)
        options = (f"{name}={list(v) if isinstance(v, tuple) else v!r}" for name, v in self.options.items())
        return f"table.{self.method}({', '.join((*subject, *options))})"


StepFormat: TypeAlias = Callable[[Step], str]
"""Renders a step: as Python (`str`), or as a shell command."""
