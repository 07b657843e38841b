"""The transaction log: versions, snapshots, checkpoints and commits."""

from indextables.log.log import TransactionLog
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Operation, Transaction

__all__ = ["Operation", "Snapshot", "Transaction", "TransactionLog"]
