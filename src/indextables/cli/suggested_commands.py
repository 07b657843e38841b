"""Recommended steps as shell commands."""

from shlex import join

from indextables.inspect.recommended_steps import Step, StepFormat

_VERBS = {"merge_splits": "merge", "evolve_layout": "evolve"}


def commands_on(table: str) -> StepFormat:
    """Renders steps as shell commands on a table.

    >>> format_step = commands_on("my logs")
    >>> format_step(Step("evolve_layout", "month(ts)"))
    "indextables evolve 'my logs' 'month(ts)'"
    >>> format_step(Step("merge_splits", options={"rewrite_layout": True, "cluster_by": ("tenant", "n")}))
    "indextables merge 'my logs' --rewrite-layout --cluster-by tenant,n"
    """

    def format_step(step: Step) -> str:
        subject = [] if step.subject is None else [step.subject]
        options = [word for name, value in step.options.items() for word in _words(name, value)]
        return join(["indextables", _VERBS.get(step.method, step.method), table, *subject, *options])

    return format_step


def _words(name: str, value: bool | str | tuple[str, ...]) -> list[str]:  # noqa: FBT001 - a value of an option
    flag = f"--{name.replace('_', '-')}"
    match value:
        case bool():
            return [flag] if value else []
        case str():
            return [flag, value]
        case _:
            return [flag, ",".join(value)]
