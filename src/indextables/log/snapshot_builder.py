"""Snapshots from the files of a log: the newest checkpoint that can be used, and the versions after it, all verified."""

import logging
from collections.abc import Sequence

from indextables.errors import CorruptLogError
from indextables.log.checkpoint import read_checkpoint
from indextables.log.log_files import LogFiles
from indextables.log.snapshot import Snapshot, initial
from indextables.log.stray_files import is_of_other_history
from indextables.log.version_file import Version, read_versions, verify_order, verify_references
from indextables.storage import Store

logger = logging.getLogger(__name__)


def build_snapshot(store: Store, files: LogFiles, version: int) -> Snapshot:
    """The snapshot at a version, or a CorruptLogError that names what is missing or damaged."""
    for number in sorted((n for n in files.checkpoints if n <= version), reverse=True):
        try:
            start = read_checkpoint(store, files.checkpoints[number].key, number)
        except CorruptLogError as damage:
            if number == files.earliest:
                raise
            logger.warning("%s; an older state is used instead", damage)
            continue
        versions = read_versions(store, files, number + 1, version)
        stranger = is_of_other_history(store, start, versions, files)
        if not stranger or (number == files.earliest and versions):  # `advance_snapshot` says what does not fit
            return advance_snapshot(store, start, versions)
        logger.warning(
            "checkpoint %d of %s is of another table; an older state is used instead", number, store.location
        )
    first, *later = read_versions(store, files, 0, version)
    start = initial(str(store.location), [first])
    verify_references(store, start.metadata, [first])
    return advance_snapshot(store, start, later)


def advance_snapshot(store: Store, start: Snapshot, versions: Sequence[Version]) -> Snapshot:
    """A snapshot with later versions applied to it. Those that were committed to another table change nothing."""
    strays = [version.number for version in versions if not version.belongs_to(start.metadata.id)]
    if strays:
        logger.warning("versions %s of %s are of another table, and are passed over", strays, store.location)
    verify_order(store, start.checksum, versions, table_id=start.metadata.id)
    verify_references(store, start.metadata, versions)
    return start.advanced(versions)
