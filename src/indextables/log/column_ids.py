"""Column ids: which column of the table a column of a split is, whatever its name was when the split was written.

A split has the names that its columns had when it was written, and its doc mapping says which ids they have. The columns of
the table have the ids of the current doc mapping. So a rename gives another doc mapping, and no split is written again:

```
doc mapping 0   {"msg": 1, "level": 2}        splits of versions 1 to 7
doc mapping 1   {"message": 1, "level": 2}    current: the column `message` is `msg` in older splits
```

A table has ids from the first rename or drop on. Before that, a column is found by its name. Ids are never used again: a
column that is added under the name of a dropped one is another column, and null in older splits.
"""

from collections.abc import Collection, Iterable, Mapping

from msgspec import structs

from indextables.log.actions import DocMapping, Metadata

_CACHED = "_renamed_columns"


def column_ids(metadata: Metadata) -> Mapping[str, int]:
    """The ids of the table's columns by name; none before the first rename or drop."""
    current = metadata.current_doc_mapping_id
    mapping = next((m for m in metadata.doc_mappings if m.doc_mapping_id == current), None)
    ids = {} if mapping is None else mapping.column_ids
    return {name: ids[name] for name in metadata.arrow_schema().names if name in ids}


def renamed_columns(metadata: Metadata) -> Mapping[int | None, Mapping[str, str]]:
    """For each doc mapping, the columns of its splits that have other names now: the stored name, and the current one.

    A dropped column keeps its name, unless another column has it now: then it gets one that no column has. Computed once for
    a version of the metadata; empty for a table whose splits all have the current names.
    """
    known: Mapping[int | None, Mapping[str, str]] | None = metadata.__dict__.get(_CACHED)
    if known is None:
        names = {number: name for name, number in column_ids(metadata).items()}
        found = {m.doc_mapping_id: _renamed(m.column_ids, names) for m in metadata.doc_mappings} if names else {}
        known = metadata.__dict__[_CACHED] = {number: renamed for number, renamed in found.items() if renamed}
    return known


def stored_name(column: str, mapping: DocMapping, metadata: Metadata) -> str | None:
    """The name of a column in the splits of a doc mapping; None where the mapping does not list it."""
    renamed = renamed_columns(metadata).get(mapping.doc_mapping_id)
    if renamed is None:
        return column if column in mapping.fields else None
    return next((name for name in mapping.fields if renamed.get(name, name) == column), None)


def other_columns(before: Metadata, after: Metadata) -> list[str]:
    """The names that both have, but of different columns: one was dropped, and another got its name."""
    renamed = renamed_columns(after).get(before.current_doc_mapping_id, {})
    return [name for name in column_ids(after) if name in renamed]


def with_column_ids(metadata: Metadata) -> Metadata:
    """The metadata with an id for each column; those that it has stay.

    The doc mappings that are there get the ids of the columns that they list; one that is not complete may be that of
    splits with any column.
    """
    if metadata.max_column_id is not None:
        return metadata
    columns = metadata.arrow_schema().names
    listed = [name for mapping in metadata.doc_mappings for name in mapping.fields]
    ids = {name: number for number, name in enumerate(dict.fromkeys([*columns, *listed]), 1)}
    mappings = [
        structs.replace(m, column_ids={name: ids[name] for name in (m.fields if m.complete else [*columns, *m.fields])})
        for m in metadata.doc_mappings
    ]
    return structs.replace(metadata, doc_mappings=mappings, max_column_id=len(ids))


def ids_for(
    columns: Iterable[str], metadata: Metadata, *, known: Collection[str] | None = None
) -> tuple[Mapping[str, int], int | None]:
    """The ids for columns of the next schema, by name, and the highest id: new columns get new ones, if there are any.

    Those of the table keep theirs; with `known`, only these do, and others of the same names are new columns.
    """
    highest = metadata.max_column_id
    if highest is None:
        return {}, None
    ids = dict[str, int]()
    for name in columns:
        own = column_ids(metadata).get(name) if known is None or name in known else None
        highest = highest + 1 if own is None else highest
        ids[name] = highest if own is None else own
    return ids, highest


def _renamed(stored: Mapping[str, int], names: Mapping[int, str]) -> dict[str, str]:
    """The stored names that are not the current ones, and the current ones."""
    taken = {*names.values(), *stored}
    columns = {name.lower() for name in names.values()}
    current = {name: names.get(number) or _free(name, number, columns, taken) for name, number in stored.items()}
    return {name: now for name, now in current.items() if now != name}


def _free(name: str, number: int, columns: set[str], taken: set[str]) -> str:
    """The name of a dropped column, changed if a column of the table has it, in any letter case: Spark ignores that."""
    if name.lower() not in columns:
        return name
    name = f"{name} (dropped column {number})"
    while name in taken:
        name += "'"
    return name
