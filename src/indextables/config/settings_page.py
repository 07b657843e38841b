"""The page `docs/configuration.md`."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from indextables.config.keys import SETTINGS
from indextables.config.setting import PREFIX


def markdown() -> str:
    """The page `docs/configuration.md`.

    >>> print(markdown().splitlines()[0])
    # Configuration
    """
    rows = [_row(setting.metadata, setting.default) for setting in SETTINGS]
    return "\n".join([*_INTRODUCTION, *sorted(rows, key=str.lower), ""])


_INTRODUCTION = [
    "# Configuration",
    "",
    "<!-- written by `make docs` from src/indextables/config/ -->",
    "",
    "A setting is looked up in the options of the call, then in the Spark session, then in Hadoop's configuration, then",
    "in the table's properties; the first one wins. Keys are case-insensitive. In options and properties the prefix",
    "`spark.indextables.` is optional; in the session and in Hadoop's configuration, `spark.` is.",
    "",
    "Unknown keys are refused, with a suggestion. Tables may have properties of your own, such as `owner.team`; a key",
    "that is one or two letters away from a setting is refused there, too. Settings of object stores (`s3.*`, `azure.*`,",
    "`store.*`, `commit.unsafeSingleWriter`), `overwriteSchema`, `txnAppId` and `txnVersion` cannot be properties.",
    "",
    "What a session says of columns (`indexing.typemap.*`, `indexing.exact.*`, `optimizeWrite.clusterBy`) is for the",
    "tables that have these columns. In an option, a column that is not there is an error. `spark.read` accepts settings of",
    "writes, so that both may have the same options, and logs a warning that they have no effect on a read.",
    "",
    "```python",
    "import pyarrow as pa",
    "from indextables import IndexTable",
    "",
    'df = spark.createDataFrame([("mon", "disk full")], "day string, message string")',
    'df.write.format("indextables").option("targetRecordsPerSplit", "500000").save("logs")  # one write',
    'spark.conf.set("spark.indextables.optimizeWrite.enabled", "false")  # the session',
    'schema = pa.schema({"day": pa.string()})',
    'IndexTable.create("days", schema, properties={"spark.indextables.checkpoint.interval": "50"})  # the table',
    "```",
    "",
    "| key | default | meaning |",
    "|---|---|---|",
    (
        f"| `{PREFIX}indexing.typemap.<column>` | `string` | "
        "How a string column is indexed: `text` (words), `string` (exact values) or `none`. Columns of other types: "
        "`none`, or the name of their type (`i64`, `f64`, `bytes`). |"
    ),
    (
        f"| `{PREFIX}indexing.exact.<column>` | `auto` | "
        "The exact index of a column: `dictionary` (values that repeat), `hash` (identifiers), `none`, or `auto`, which "
        "chooses for each split from its values. |"
    ),
    (
        f"| `{PREFIX}coalesce.rule.<value>` | | "
        "The group of partitions, such as `small`, with which a partition shares splits, whatever its size. |"
    ),
]


def _row(metadata: Mapping[str, Any], default: Any) -> str:
    key = f"`{metadata['key']}`" + (f" or `{metadata['short']}`" if metadata["short"] else "")
    return f"| {key} | {_shown(default)} | {metadata['doc']} |"


def _shown(default: Any) -> str:
    match default:
        case None | ():
            return ""
        case bool():
            return f"`{str(default).lower()}`"
        case timedelta():
            return f"`{default.days} days`" if default.days else f"`{default.seconds} s`"
        case _:
            return f"`{default}`"
