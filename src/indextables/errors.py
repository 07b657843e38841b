"""Every error that indextables raises on purpose.

```
IndexTablesError
├── ConfigError (ValueError)        an option's name or value
├── SchemaError (ValueError)        a column's name or type
├── LayoutError (ValueError)        a partition layout that cannot be
├── PredicateError                  a condition that cannot be read or used
│   ├── InvalidPredicateError
│   ├── UnsupportedOperatorError
│   ├── PartitionColumnNotFoundError
│   ├── TypeMismatchError
│   ├── CastInvalidInputError       a row's value that cannot be converted, found while rows are compared
│   ├── NonPartitionedTableError
│   ├── OverlappingPredicatesError  two replacements in one commit that may concern the same row
│   └── RowsOutsideError            new rows that a replacement would not replace
├── StatementError                  SQL text that cannot be read
├── UnsupportedStatementError       a statement of Spark's that a table of ours does not support
├── SearchQueryError                a search that cannot be read, or that the index cannot answer
├── StorageError                    bytes that could not be read or written
│   ├── NotFoundError
│   │   └── SplitGoneError          a split that a version needs, after a purge
│   ├── AlreadyExistsError
│   ├── AccessDeniedError
│   ├── UnsafePathError             a path that would leave the table
│   ├── UnsafeStoreError            an object store that would overwrite a commit
│   ├── DamagedSplitError           a split whose bytes are not what was written
│   ├── UnsupportedSplitError       a split written by a newer release
│   └── OversizedSplitError         more rows than one search index holds
├── TableNotFoundError              no table at this path
│   └── TableReplacedError          another table at this path than the one that was opened
├── TableExistsError                a table where none was expected
│   └── NestedTableError            a new table inside another one, or around one
├── LogError
│   ├── CorruptLogError             a gap, a broken line, a damaged checkpoint
│   ├── UnsupportedProtocolError    a table written for a newer release
│   └── VersionNotFoundError        a version that never was, or is no more
└── ConflictError                   another writer was first, and it matters
    └── CommitRetriesExhaustedError another writer was first, again and again
```

The message says what happened, to what, and what to do about it. The facts in it are attributes too, named in the
annotations of each class, so that a program need not read prose:

>>> error = VersionNotFoundError("version 9 does not exist", version=9, earliest=0, latest=4)
>>> error.latest
4
"""

from collections.abc import Mapping, Sequence
from inspect import get_annotations


class IndexTablesError(Exception):
    """The root: catch this to catch everything that the package raises on purpose."""

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        unknown = facts.keys() - _declared_facts(type(self))
        if unknown:
            raise TypeError(f"{type(self).__name__} has no fact named {', '.join(sorted(unknown))}")
        self.__dict__.update(facts)


def _declared_facts(error: type) -> set[str]:
    return {name for base in error.__mro__ for name in get_annotations(base)}


class ConfigError(IndexTablesError, ValueError):
    key: str
    value: str | None


class SchemaError(IndexTablesError, ValueError):
    column: str | None


class LayoutError(IndexTablesError, ValueError):
    field: str | None


class PredicateError(IndexTablesError):
    """`position` counts characters of `predicate` from zero; `columns` are the names that exist."""

    predicate: str
    reason: str
    position: int | None = None
    columns: Sequence[str] = ()


class InvalidPredicateError(PredicateError):
    pass


class UnsupportedOperatorError(PredicateError):
    operator: str


class PartitionColumnNotFoundError(PredicateError):
    column: str
    available_columns: Sequence[str]


class TypeMismatchError(PredicateError):
    column: str
    expected_type: str
    actual_type: str


class CastInvalidInputError(PredicateError):
    value: str
    expected_type: str


class NonPartitionedTableError(PredicateError):
    table: str


class OverlappingPredicatesError(PredicateError):
    other: str


class RowsOutsideError(PredicateError):
    """`rows` is how many there were; `examples` are the values of the first few in the columns of the predicate."""

    rows: int
    examples: Sequence[Mapping[str, object]]


class StatementError(IndexTablesError):
    """`position` counts characters of `statement` from zero."""

    statement: str
    reason: str
    position: int


class UnsupportedStatementError(IndexTablesError):
    """`statement` is what it is called, such as `ALTER TABLE ... DROP COLUMN`."""

    table: str
    statement: str


class SearchQueryError(IndexTablesError):
    """`position` counts characters of `query` from zero; `fields` are the columns that can be searched."""

    query: str
    reason: str
    position: int | None = None
    field: str | None = None
    fields: Sequence[str] = ()


class StorageError(IndexTablesError):
    path: str


class NotFoundError(StorageError):
    pass


class SplitGoneError(NotFoundError):
    """`version` is the version of the table that needs it, if it is known."""

    version: int | None


class AlreadyExistsError(StorageError):
    pass


class AccessDeniedError(StorageError):
    pass


class UnsafePathError(StorageError):
    pass


class UnsafeStoreError(StorageError):
    pass


class DamagedSplitError(StorageError):
    """`reason` is what was wrong with it."""

    reason: str


class UnsupportedSplitError(StorageError):
    required: int
    supported: int


class OversizedSplitError(StorageError):
    rows: int


class TableNotFoundError(IndexTablesError):
    table: str


class TableReplacedError(TableNotFoundError):
    """`table_id` is that of the table that was opened; `found_id` is that of the one that is there, where it is known."""

    table_id: str
    found_id: str | None


class TableExistsError(IndexTablesError):
    table: str


class NestedTableError(TableExistsError):
    """`other` is the table that is there."""

    other: str


class LogError(IndexTablesError):
    table: str
    version: int | None


class CorruptLogError(LogError):
    pass


class UnsupportedProtocolError(LogError):
    required: int
    supported: int


class VersionNotFoundError(LogError):
    """`earliest` and `latest` are the versions that can be read."""

    earliest: int
    latest: int


class ConflictError(IndexTablesError):
    """`version` and `operation` name the commit that was there first; `paths` the splits that both touched."""

    table: str
    version: int
    operation: str
    reason: str
    paths: Sequence[str]


class CommitRetriesExhaustedError(ConflictError):
    attempts: int
