"""SQL statements as text: what is ours in them, found by tokens; the rest is left to Spark as it was written."""

from indextables.statements.command_parser import recognised, rewritten
from indextables.statements.command_values import (
    AddColumn,
    Alteration,
    Checkpoint,
    Command,
    Describe,
    DropPartitions,
    EvolveLayout,
    MergeSplits,
    Prewarm,
    Purge,
    Statement,
    Subject,
    Table,
    TableAt,
    TableName,
    TablePath,
    WidenColumn,
)

__all__ = [
    "AddColumn",
    "Alteration",
    "Checkpoint",
    "Command",
    "Describe",
    "DropPartitions",
    "EvolveLayout",
    "MergeSplits",
    "Prewarm",
    "Purge",
    "Statement",
    "Subject",
    "Table",
    "TableAt",
    "TableName",
    "TablePath",
    "WidenColumn",
    "recognised",
    "rewritten",
]
