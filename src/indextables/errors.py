"""Every error that indextables raises on purpose.

```
IndexTablesError
├── ConfigError (ValueError)        an option's name or value
├── SchemaError (ValueError)        a column's name or type
├── LayoutError (ValueError)        a partition layout that cannot be
├── PredicateError                  a condition that cannot be read or used
│   ├── CastInvalidInputError       a row's value that cannot be converted, found while rows are compared
│   └── ReplaceWhereError           those that a replaceWhere may raise; conditions of scans raise some of them too
│       ├── InvalidPredicateError
│       ├── UnsupportedOperatorError
│       ├── PartitionColumnNotFoundError
│       ├── TypeMismatchError
│       ├── NonPartitionedTableError
│       ├── OverlappingPredicatesError  two replacements in one commit that may concern the same row
│       └── RowsOutsideError        new rows that a replacement would not replace
├── ExpressionError                 an SQL expression of an UPDATE or a MERGE that cannot be read or evaluated
├── MergeError                      a MERGE whose clauses contradict each other
│   └── MergeCardinalityError       several source rows that would change one row of the table
├── StatementError                  SQL text that cannot be read
├── UnsupportedStatementError       a statement of Spark's that a table of ours does not support
├── UnsupportedSparkError (ImportError)  a PySpark that is too old, or none
├── MissingPackageError (ImportError)  an optional package that is not installed
├── WorkerEnvironmentError          a Python of Spark's that does not start, lacks a package, or has another version of it
├── SearchQueryError                a search that cannot be parsed, or that the index cannot evaluate
├── StorageError                    bytes that could not be read or written
│   ├── NotFoundError
│   │   ├── SplitNotFoundError      a split of a version that was deleted by a vacuum (PURGE)
│   │   └── UncommittedSplitsLostError  new splits that were deleted before they could be committed
│   ├── AlreadyExistsError
│   ├── AccessDeniedError
│   ├── NotDurableError             a file that was written, and that a crash may take away
│   ├── UnsafePathError             a path that would leave the table
│   ├── UnsafeStoreError            an object store that would overwrite a commit
│   ├── FileReplacedError           a file that is another one than the one that was read before
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
│   ├── RestoreError                a version that cannot be restored, because some of its files are gone
│   └── VersionNotFoundError        a version that never was, or is no more
├── StreamError                     a stream that cannot go on by itself
│   ├── ChangedRowsError            a commit that removed rows, which a stream of added rows cannot tell
│   └── StreamSchemaError           columns that changed while a stream was running
└── ConflictError                   another writer was first, and it matters
    └── CommitRetriesExhaustedError another writer was first, again and again
```

The message contains what happened, to what, and what to do about it. The facts in it are attributes too, required by the
constructor, so that a program need not parse the message:

>>> error = VersionNotFoundError("version 9 does not exist", table="logs", version=9, earliest=0, latest=4)
>>> error.latest
4
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, dataclass_transform

_NOT_OF_USERS = (__file__.removesuffix("errors.py"), sys.prefix, sys.base_prefix)
"""Where code lies that is not the user's: that of this package, and what is installed."""


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class _Facts:
    """The annotations of a class of errors are its facts: keyword arguments, required where they have no default."""

    def __init_subclass__(cls) -> None:
        dataclass(kw_only=True, eq=False, repr=False)(cls)


class IndexTablesError(_Facts, Exception):
    """The root: catch this to catch everything that the package raises on purpose."""

    message: str = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _unpickle, (type(self), self.args, self.__dict__)

    def _render_traceback_(self) -> list[str]:
        """What notebooks show: the lines of the user's code, and the message. `traceback.print_last()` prints all."""
        import traceback  # noqa: PLC0415 - IPython alone calls this

        frames = traceback.extract_tb(self.__traceback__)
        own = [frame for frame in frames if not frame.filename.startswith(_NOT_OF_USERS)]
        return [*"".join(traceback.format_list(own)).splitlines(), f"{type(self).__name__}: {self}"]


def _unpickle(cls: type[IndexTablesError], args: tuple[Any, ...], state: dict[str, Any]) -> IndexTablesError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


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


class ReplaceWhereError(PredicateError):
    pass


class InvalidPredicateError(ReplaceWhereError):
    pass


class UnsupportedOperatorError(ReplaceWhereError):
    operator: str


class PartitionColumnNotFoundError(ReplaceWhereError):
    column: str
    available_columns: Sequence[str]


class TypeMismatchError(ReplaceWhereError):
    column: str
    expected_type: str
    actual_type: str


class CastInvalidInputError(PredicateError):
    value: str
    expected_type: str


class NonPartitionedTableError(ReplaceWhereError):
    table: str


class OverlappingPredicatesError(ReplaceWhereError):
    other: str


class RowsOutsideError(ReplaceWhereError):
    """`rows` is how many there were; `examples` are the values of the first few in the columns of the predicate."""

    rows: int
    examples: Sequence[Mapping[str, object]]


class ExpressionError(IndexTablesError):
    """`columns` are the names that exist."""

    expression: str
    reason: str
    columns: Sequence[str] = ()


class MergeError(IndexTablesError):
    reason: str


class MergeCardinalityError(MergeError):
    """`rows` is how many rows of the table are concerned; `keys` are the values of the first few of them."""

    rows: int
    keys: Sequence[Mapping[str, object]]


class StatementError(IndexTablesError):
    """`position` counts characters of `statement` from zero."""

    statement: str
    reason: str
    position: int


class UnsupportedSparkError(IndexTablesError, ImportError):
    """`found` is None where PySpark is not installed."""

    found: str | None
    needed: str


class MissingPackageError(IndexTablesError, ImportError):
    package: str


class WorkerEnvironmentError(IndexTablesError):
    """`python` is the interpreter; `host` is where it runs, None where that is not known."""

    python: str
    host: str | None


class UnsupportedStatementError(IndexTablesError):
    """`statement` is what it is called, such as `ALTER TABLE ... DROP COLUMN`."""

    table: str
    statement: str


class SearchQueryError(IndexTablesError):
    """The mistake is in `query` from `position` to before `end`, counted from zero; both are None where it is all of it.

    `fields` are the columns that can be searched.
    """

    query: str
    reason: str
    position: int | None = None
    end: int | None = None
    field: str | None = None
    fields: Sequence[str] = ()


class StorageError(IndexTablesError):
    path: str


class NotFoundError(StorageError):
    pass


class SplitNotFoundError(NotFoundError):
    """`version` is the version of the table that needs it, if it is known."""

    version: int | None


class UncommittedSplitsLostError(NotFoundError):
    """`paths` are the splits that are gone, `path` is the first of them."""

    table: str
    paths: Sequence[str]


class AlreadyExistsError(StorageError):
    pass


class AccessDeniedError(StorageError):
    pass


class FileReplacedError(StorageError):
    pass


class NotDurableError(StorageError):
    """Others may have seen the file already, so it is neither taken back nor written again."""


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


class CorruptLogError(LogError):
    version: int


class UnsupportedProtocolError(LogError):
    version: int
    required: int
    supported: int


class RestoreError(LogError):
    """`version` is the one that was to be restored; `paths` are the files that it needs and that are gone."""

    version: int
    paths: Sequence[str]


class VersionNotFoundError(LogError):
    """`version` is None where a timestamp did not lead to one; `earliest` and `latest` are the versions that can be read."""

    version: int | None
    earliest: int
    latest: int


class StreamError(IndexTablesError):
    table: str
    version: int


class ChangedRowsError(StreamError):
    """`operation` is that of the commit, such as OVERWRITE."""

    operation: str


class StreamSchemaError(StreamError):
    """`columns` are those that were added, widened or removed."""

    columns: Sequence[str]


class ConflictError(IndexTablesError):
    """`version` and `operation` name the commit that was there first; `paths` the splits that both touched."""

    table: str
    version: int
    operation: str
    reason: str
    paths: Sequence[str]


class CommitRetriesExhaustedError(ConflictError):
    attempts: int
