"""How many examples a law gets: those of the profile (`tests/conftest.py`), or a share of them where each costs much."""

from hypothesis import settings


def share(of: int, *, steps: int | None = None) -> settings:
    """The settings of a law that gets one in so many examples; `steps` bounds those of a stateful one."""
    chosen = settings(max_examples=max(1, settings().max_examples // of))
    return settings(chosen, stateful_step_count=steps) if steps else chosen


each_writes_tables = share(5)
"""Several tables are written and read for each example, where other laws compute in memory."""

is_full = settings().max_examples > settings.get_profile("default").max_examples
"""Whether a law that is not made of examples tries everything: in `make laws`, and not in `make test`."""
