"""Layouts: partition specs, transforms, partition paths, coalescing."""

from indextables.layout.coalesce import Coalescing, Texts, coalesced_columns
from indextables.layout.group_rows import Group, group
from indextables.layout.layout import Layout, PartitionField
from indextables.layout.partition_paths import directory, escape, unescape
from indextables.layout.transforms import Bucket, Calendar, Identity, Preimage, Transform, Truncate, Void

__all__ = [
    "Bucket",
    "Calendar",
    "Coalescing",
    "Group",
    "Identity",
    "Layout",
    "PartitionField",
    "Preimage",
    "Texts",
    "Transform",
    "Truncate",
    "Void",
    "coalesced_columns",
    "directory",
    "escape",
    "group",
    "unescape",
]
