"""Storage: one interface to local disk, memory, S3, Azure and Google Cloud."""

from indextables.storage.location import Location
from indextables.storage.open_store import open_store
from indextables.storage.store import Entry, Store
from indextables.storage.traffic import Traffic

__all__ = ["Entry", "Location", "Store", "Traffic", "open_store"]
