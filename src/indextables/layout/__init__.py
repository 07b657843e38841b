"""Where a row belongs."""

from indextables.layout.layout import Layout, PartitionField
from indextables.layout.transforms import Bucket, Calendar, Identity, Preimage, Transform, Truncate, Void

__all__ = [
    "Bucket",
    "Calendar",
    "Identity",
    "Layout",
    "PartitionField",
    "Preimage",
    "Transform",
    "Truncate",
    "Void",
]
