"""Where a row belongs."""

from indextables.layout.group import Group, group
from indextables.layout.layout import Layout, PartitionField
from indextables.layout.paths import directory, escape, unescape
from indextables.layout.transforms import Bucket, Calendar, Identity, Preimage, Transform, Truncate, Void

__all__ = [
    "Bucket",
    "Calendar",
    "Group",
    "Identity",
    "Layout",
    "PartitionField",
    "Preimage",
    "Transform",
    "Truncate",
    "Void",
    "directory",
    "escape",
    "group",
    "unescape",
]
