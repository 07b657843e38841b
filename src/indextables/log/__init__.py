"""The memory of a table: its transaction log."""

from indextables.log.log import TransactionLog
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Operation, Transaction

__all__ = ["Operation", "Snapshot", "Transaction", "TransactionLog"]
