"""What a scan and a compaction without Spark need of it: `indextables.engine.Engine`."""

from typing import Any

from indextables.maintain.compact import Runner
from indextables.spark.api.dataframe_reader import frame_of as dataframe
from indextables.spark.api.session_kind import connect, is_remote
from indextables.spark.source.options import settings_of as session_settings
from indextables.spark.write.distributed_compaction import on_executors

__all__ = ["compaction_runner", "dataframe", "session_settings"]


def compaction_runner(session: Any, table: str) -> Runner:
    """Runs each group of splits in a task, by classic Spark or over Spark Connect."""
    runner: Runner = connect().on_remote_executors(session) if is_remote(session) else on_executors(session, table)
    return runner
