"""Batches that an application numbers (`txnAppId`, `txnVersion`), so that each is committed once."""

from indextables.config import Config
from indextables.log import Snapshot
from indextables.log.actions import Txn
from indextables.log.clock import now


def is_committed(snapshot: Snapshot, config: Config) -> bool:
    """Whether the table has this batch, or a later one of the same application."""
    last = snapshot.txns.get(config.write.txn_app_id) if config.write.txn_app_id is not None else None
    return last is not None and config.write.txn_version is not None and last.version >= config.write.txn_version


def txn_of(config: Config) -> Txn | None:
    """The action that records the batch; None where the write is not numbered."""
    if config.write.txn_app_id is None or config.write.txn_version is None:
        return None
    return Txn(app_id=config.write.txn_app_id, version=config.write.txn_version, last_updated=now())
