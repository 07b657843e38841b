"""The time by the clock of a store. The age of a file is the difference to the time that the same clock gave it."""

import logging
from datetime import datetime, timedelta
from uuid import uuid4

from indextables.errors import StorageError
from indextables.log.clock import utc_now
from indextables.log.log_files import DIRECTORY
from indextables.storage import Store
from indextables.storage.local import TEMPORARY

_RESOLUTION = timedelta(seconds=2)  # S3 rounds the times of files down to seconds, and so do some file systems
logger = logging.getLogger(__name__)


def store_now(store: Store) -> datetime:
    """The time that the store gives to a file that is written now.

    The file is deleted again; if that fails, it is a leftover like that of a killed writer. Where this machine's clock
    agrees, it is the answer, because it is finer.
    """
    key = f"{DIRECTORY}/{TEMPORARY}{uuid4().hex}"
    store.put(key, b"")
    try:
        modified = store.head(key).modified
    finally:
        store.discard([key])
    here = utc_now()
    return here if timedelta(0) <= here - modified <= _RESOLUTION else modified


def store_now_or_local(store: Store) -> datetime:
    """As `store_now`; this machine's time, with a warning, where nothing can be written."""
    try:
        return store_now(store)
    except StorageError as error:
        logger.warning("the clock of %s is not known, this machine's is used instead: %s", store.location, error)
        return utc_now()
