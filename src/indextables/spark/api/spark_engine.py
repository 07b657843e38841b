"""What a scan and a compaction without Spark need of it: `indextables.engine.Engine`."""

from indextables.spark.api.dataframe_reader import frame_of as dataframe
from indextables.spark.write.distributed_compaction import on_executors as compaction_runner

__all__ = ["compaction_runner", "dataframe"]
