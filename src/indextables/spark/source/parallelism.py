"""How many tasks a session runs at once, as far as it says."""

from typing import Any


def default_parallelism(session: Any) -> int:
    """The number of cores of the application; over Spark Connect, which does not tell, the number of shuffle partitions."""
    context = getattr(session, "sparkContext", None)
    if context is not None:
        return int(context.defaultParallelism)
    given = session.conf.get("spark.default.parallelism", None)
    return int(given or session.conf.get("spark.sql.shuffle.partitions"))
