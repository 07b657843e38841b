"""SQL text: our commands, search operators and paths in it, found by tokens; the rest is left to Spark."""

from indextables.statements.command_parser import parse_command, rewrite_statement
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
    "parse_command",
    "rewrite_statement",
]
