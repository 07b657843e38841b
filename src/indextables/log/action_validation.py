"""The door of the log: what is decoded from a version file or a checkpoint is checked here once, and trusted after.

msgspec has checked the types and ranges of single fields. Here is what it cannot know: that actions exclude each other,
that a schema and layouts make sense, that references lead somewhere, and that counts agree.

Fields and actions of newer releases are none of its business, and neither are statistics and partition values that cannot
be read: these are unknown (see `splits`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import IndexTablesError
from indextables.layout import Layout, Void
from indextables.log.actions import (
    Action,
    Add,
    CommitInfo,
    DeletionVector,
    Metadata,
    Protocol,
    Remove,
    ReplaceWhere,
    Txn,
)
from indextables.log.column_ids import column_ids
from indextables.schema import refuse_ambiguous_names
from indextables.storage.location import checked_key

_ONCE: dict[type, str] = {CommitInfo: "commitInfo", Protocol: "protocol", Metadata: "metaData"}
_ON_PATHS = frozenset({Add, Remove})
_MAX_DEPTH = 64
"""Of JSON whose structure is not known, such as parameters of an operation; it is written again."""
_REQUIRED = ("path", "spec_id", "size", "modification_time")
_COUNTS = ("size", "num_records")


class InvalidActionError(ValueError):
    """An action that contradicts others or itself; `position` counts the actions of its version from zero."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position


def check_actions(actions: Sequence[Action], *, root: object) -> None:
    """Raises an InvalidActionError where the actions of a version cannot be, whatever came before them."""
    for kind, count in Counter(map(type, actions)).items():
        if count > 1 and kind in _ONCE:
            second = [position for position, action in enumerate(actions) if type(action) is kind][1]
            raise InvalidActionError(second, f"there is a second {_ONCE[kind]} in this version")
    paths = [action.path for action in actions if type(action) in _ON_PATHS]  # type: ignore[union-attr]
    if len(set(paths)) < len(paths):
        _refuse_twice("the path", ((n, a.path) for n, a in enumerate(actions) if isinstance(a, Add | Remove)))
    _check_vectors(actions)
    _refuse_twice("the application", ((n, a.app_id) for n, a in enumerate(actions) if type(a) is Txn))
    position = 0
    try:
        for position, action in enumerate(actions):  # noqa: B007 - for the error
            _check(action, root)
    except (IndexTablesError, ValueError) as error:
        raise InvalidActionError(position, str(error)) from error


def check_references(adds: Iterable[Add], metadata: Metadata) -> None:
    """Raises a ValueError where a split names a spec or a mapping that the table does not have."""
    specs, mappings = metadata.layouts.keys(), _mapping_ids(metadata)
    for add in adds:
        if add.spec_id not in specs:
            raise ValueError(f"the split {add.path} has the spec {add.spec_id}, and the table has none of this number")
        if add.doc_mapping_id not in mappings:
            raise ValueError(
                f"the split {add.path} has the doc mapping {add.doc_mapping_id}, and the table has none of this number"
            )


def check_change(before: Metadata, after: Metadata) -> None:
    """Raises a ValueError where a change of metadata would leave splits without their spec or mapping.

    The source of a partition field may get another name, and the field of a dropped column becomes void until a restore
    brings the column back.
    """
    lost = [spec_id for spec_id, layout in before.layouts.items() if not _is_kept(layout, after.layouts.get(spec_id))]
    if lost:
        raise ValueError(f"its metaData changes or leaves out the spec {lost[0]}; specs are only added")
    kept = {mapping.doc_mapping_id: mapping.column_ids for mapping in after.doc_mappings}
    gone = [mapping.doc_mapping_id for mapping in before.doc_mappings if mapping.doc_mapping_id not in kept]
    if gone:
        raise ValueError(f"its metaData leaves out the doc mapping {gone[0]}; doc mappings are only added")
    for mapping in before.doc_mappings:
        if mapping.column_ids and mapping.column_ids != kept[mapping.doc_mapping_id]:
            raise ValueError(f"its metaData changes the column ids of the doc mapping {mapping.doc_mapping_id}")
    if (before.max_column_id or 0) > (after.max_column_id or 0):
        raise ValueError(f"its metaData has the highest column id {after.max_column_id}, below {before.max_column_id}")


def _is_kept(before: Layout, after: Layout | None) -> bool:
    if after is None or before.names != after.names:
        return False
    pairs = zip(before.fields, after.fields, strict=True)
    return all(Void() in (old.transform, new.transform) or old.transform == new.transform for old, new in pairs)


def check_rows(splits: pa.Table, metadata: Metadata, *, sealed: bool = False) -> None:
    """Raises a ValueError where the live splits of a checkpoint cannot be.

    Those that are `sealed` by a checksum are what was written; that no path is there twice takes long to find out.
    """
    for name in _REQUIRED:
        if splits[name].null_count:
            raise ValueError(f"a split has no {name}")
    for name in _COUNTS:
        least = pc.min(splits[name]).as_py()
        if least is not None and least < 0:
            raise ValueError(f"a split has the {name} {least}")
    if not sealed and pc.count_distinct(splits["path"]).as_py() != len(splits):
        raise ValueError("a split is there twice")
    known = {"spec_id": metadata.layouts.keys(), "doc_mapping_id": _mapping_ids(metadata)}
    for name, numbers in known.items():
        unknown = {*pc.unique(splits[name]).to_pylist()} - numbers
        if unknown:
            raise ValueError(f"a split has the {name} {min(unknown)}, and the table has none of this number")


def check_metadata(metadata: Metadata) -> None:
    """Raises a ValueError or an IndexTablesError where a table cannot have this metadata."""
    _refuse_deep(metadata.schema)
    if not isinstance(metadata.schema.get("fields"), list):
        raise ValueError("its schema has no list of fields")  # noqa: TRY004 - it is the value of a file
    schema = metadata.arrow_schema()
    refuse_ambiguous_names(schema.names)
    _refuse_twice("the spec", enumerate(spec.spec_id for spec in metadata.partition_specs))
    _refuse_twice("the doc mapping", enumerate(mapping.doc_mapping_id for mapping in metadata.doc_mappings))
    for layout in metadata.layouts.values():
        _check_names(layout)
    if metadata.current_spec_id not in metadata.layouts:
        raise ValueError(f"its current spec is {metadata.current_spec_id}, and there is no spec of this number")
    _check_types(metadata.layouts[metadata.current_spec_id], schema)
    if metadata.current_doc_mapping_id not in _mapping_ids(metadata):
        raise ValueError(
            f"its current doc mapping is {metadata.current_doc_mapping_id}, and there is no mapping of this number"
        )
    if metadata.max_column_id is not None:
        _check_column_ids(metadata, schema.names)


def _check_column_ids(metadata: Metadata, columns: list[str]) -> None:
    if column_ids(metadata).keys() != set(columns):
        raise ValueError("its current doc mapping lacks the id of a column")
    for mapping in metadata.doc_mappings:
        _refuse_twice("the column id", enumerate(mapping.column_ids.values()))
        if max(mapping.column_ids.values(), default=0) > (metadata.max_column_id or 0):
            raise ValueError(f"the doc mapping {mapping.doc_mapping_id} has a column id above the highest one")


def _mapping_ids(metadata: Metadata) -> set[int | None]:
    """The doc mappings that a split may refer to; None is no mapping."""
    return {None, *(mapping.doc_mapping_id for mapping in metadata.doc_mappings)}


def _check(action: Action, root: object) -> None:
    match action:
        case Add():
            checked_key(action.path, root=root)
            nulls = action.null_counts
            if nulls and action.num_records is not None and max(nulls.values()) > action.num_records:
                raise ValueError(f"the split {action.path} has more nulls than rows")
        case Remove():
            checked_key(action.path, root=root)
        case DeletionVector():
            checked_key(action.path, root=root)
            if action.file is not None:
                checked_key(action.file, root=root)
            _refuse_incomplete(action)
        case Metadata():
            check_metadata(action)
        case CommitInfo():
            _refuse_deep(action.operation_parameters)
            _refuse_deep(action.operation_metrics)
        case ReplaceWhere():
            _refuse_deep(action.operation_metrics)


def _check_vectors(actions: Sequence[Action]) -> None:
    """A split has one deletion vector, and none in the version that removes it."""
    vectors = [(n, action.path) for n, action in enumerate(actions) if type(action) is DeletionVector]
    if not vectors:
        return
    _refuse_twice("the deletion vector of", vectors)
    removed = {action.path for action in actions if type(action) is Remove}
    for position, path in vectors:
        if path in removed:
            raise InvalidActionError(position, f"the split {path} is removed and has a deletion vector")


def _refuse_incomplete(vector: DeletionVector) -> None:
    in_file = (vector.file, vector.offset, vector.length)
    if vector.cardinality and vector.bitmap is None and None in in_file:
        raise ValueError(f"the deletion vector of {vector.path} has neither a bitmap nor the place of one in a file")


def _check_names(layout: Layout) -> None:
    _refuse_twice("the partition field", enumerate(layout.names))
    _refuse_twice("the partition term", enumerate(field.term for field in layout.fields if field.transform != Void()))


def _check_types(layout: Layout, schema: pa.Schema) -> None:
    """A column that the current spec names has a type that suits the transform, if it is there.

    Those of other specs may be gone, or have had another type before the schema was replaced.
    """
    for field in layout.fields:
        number = schema.get_field_index(field.source)
        if number >= 0:
            field.transform.result_type(schema.field(number).type)


def _refuse_twice(what: str, numbered: Iterable[tuple[int, Any]]) -> None:
    named = list(numbered)
    if len({name for _, name in named}) == len(named):
        return
    seen = set()
    for position, name in named:
        if name in seen:
            raise InvalidActionError(position, f"{what} {name!r} is there twice")
        seen.add(name)


def _refuse_deep(value: Any) -> None:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise ValueError(f"it is nested more than {_MAX_DEPTH} deep")


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
