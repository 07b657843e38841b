"""The names of partitions as SHOW PARTITIONS prints them: `date=2024-01-01/app=web`."""

import re
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from indextables.inspect.listing import list_partitions
from indextables.layout.partition_paths import NULL
from indextables.log.snapshot import Snapshot

ANY = "*"
_SPECIAL = re.compile(r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]""")  # what Spark escapes in such names


def partition_names(snapshot: Snapshot) -> pa.Table:
    """One row per partition, logical ones too, with its values as text, by name.

    A value that the log does not list, of partitions that share a split, is `*`. Partitions of older layouts have the
    fields of those.
    """
    listed = list_partitions(snapshot)
    specs = {spec: layout for spec, layout in snapshot.metadata.layouts.items() if layout.fields}
    parts = [_names(listed.filter(pc.equal(listed["spec_id"], spec)), layout.names) for spec, layout in specs.items()]
    names = pa.concat_tables(parts) if parts else pa.table({"partition": pa.array([], pa.string())})
    return names.group_by("partition", use_threads=False).aggregate([]).sort_by("partition")


def with_values(names: pa.Table, values: Mapping[str, str | None]) -> pa.Table:
    """The partitions that have these values, by field in any letter case; None is null. `*` has every value."""
    for name, value in values.items():
        text = re.escape(_escape(value) if value else NULL)
        wanted = rf"(^|/)(?i:{re.escape(_escape(name))})=({text}|\*)(/|$)"
        names = names.filter(pc.match_substring_regex(names["partition"], wanted))
    return names


def _names(listed: pa.Table, names: tuple[str, ...]) -> pa.Table:
    if not len(listed):
        return pa.table({"partition": pa.array([], pa.string())})
    partition, complete = listed["partition"].combine_chunks(), listed["complete"].combine_chunks()
    components = [_component(name, pc.struct_field(partition, [name]), complete) for name in names]
    return pa.table({"partition": pc.binary_join_element_wise(*components, "/")})


def _component(name: str, texts: pa.Array, complete: pa.BooleanArray) -> pa.Array:
    """`name=text` of each partition, each distinct text escaped once."""
    encoded = texts.dictionary_encode()
    values = pa.array([_escape(text) if text else NULL for text in encoded.dictionary.to_pylist()], pa.string())
    shown = pc.coalesce(values.take(encoded.indices), pc.if_else(complete, NULL, ANY))
    return pc.binary_join_element_wise(_escape(name), shown, "=")


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda special: f"%{ord(special[0]):02X}", text)
