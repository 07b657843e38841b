"""SQL statements as text: what is ours in them, found by tokens; the rest is left to Spark as it was written."""

from indextables.statement.reading import recognised, rewritten
from indextables.statement.values import Checkpoint, Command, Describe, Statement, Subject, TableAt

__all__ = ["Checkpoint", "Command", "Describe", "Statement", "Subject", "TableAt", "recognised", "rewritten"]
