"""Bounds of the columns of each split, from partition values and statistics, for `predicate.judge`.

A partition value is pulled back to the range of source values that it stands for; statistics are ranges already. So
pruning does not depend on layouts, nor on the spec that a split was written with.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from indextables.layout import Bucket, Identity, PartitionField, Transform
from indextables.log.actions import Metadata
from indextables.log.splits import partition_terms, statistic
from indextables.predicate import Bounds, ColumnBounds, ColumnImage
from indextables.predicate.bounds import Fact
from indextables.predicate.file_flags import Flag


def bounds_of_splits(
    columns: Iterable[str], splits: pa.Table, metadata: Metadata, *, statistics: bool = True
) -> Bounds:
    """The bounds of some columns from partition values and, optionally, statistics; one array element per split."""
    return Bounds(len(splits), {c: tuple(_facts(c, splits, metadata, statistics=statistics)) for c in columns})


def _facts(column: str, splits: pa.Table, metadata: Metadata, *, statistics: bool) -> Iterator[Fact]:
    fields = {term: field for term, field in partition_terms(metadata).items() if field.source == column}
    for term, field in fields.items():
        value, known = partition_value(splits, term)
        yield _from_partition(value, known, field, metadata)
        if isinstance(field.transform, Identity) and pc.all(known).as_py():
            return  # the value itself is known everywhere: nothing can be added
    if statistics:
        yield from _from_statistics(splits, column)


def partition_value(splits: pa.Table, term: str) -> tuple[pa.Array, pa.BooleanArray]:
    """The partition value of each split under a term, and whether it is known; a known null is the null partition."""
    given = pc.struct_field(splits["partition"], [term])
    value, malformed = pc.struct_field(given, ["value"]), pc.struct_field(given, ["malformed"])
    return value.combine_chunks(), pc.and_(given.is_valid(), malformed.is_null()).combine_chunks()


def only_nulls(splits: pa.Table, column: str) -> pa.BooleanArray:
    """Whether a column is known to have no value at all; it may have been added to the table later."""
    nulls = statistic(splits, "null_count", column)
    if nulls is None:
        return pa.repeat(pa.scalar(value=False), len(splits))
    return pc.fill_null(pc.equal(nulls, splits["num_records"]), fill_value=False).combine_chunks()


def partition_text(splits: pa.Table, field: PartitionField) -> tuple[pa.Array, pa.BooleanArray]:
    """The same as text; one that is not of its type is shown as it is, and not known."""
    value, known = partition_value(splits, field.term)
    malformed = pc.struct_field(splits["partition"], [field.term, "malformed"]).combine_chunks()
    return pc.coalesce(malformed, field.transform.to_text(value)), known


def _from_partition(value: pa.Array, known: pa.BooleanArray, field: PartitionField, metadata: Metadata) -> Fact:
    if isinstance(field.transform, Bucket):
        return ColumnImage(field.transform.apply, value, known)
    source = metadata.arrow_schema().field(field.source).type
    lower, upper, upper_inclusive = _range(value, field.transform, source)
    unknown = pc.invert(known)
    return ColumnBounds(
        lower=lower,
        upper=upper,
        upper_inclusive=upper_inclusive,
        may_be_null=pc.or_(unknown, value.is_null()),
        may_be_value=pc.or_(unknown, value.is_valid()),
        may_be_nan=pc.or_(unknown, pc.fill_null(pc.is_nan(value), fill_value=False))
        if pa.types.is_floating(source)
        else False,
    )


def _range(value: pa.Array, transform: Transform, source: pa.DataType) -> tuple[pa.Array, pa.Array, Flag]:
    """The source values that partition values stand for; one and the same array where they stand for themselves."""
    if isinstance(transform, Identity):
        return value, value, True
    encoded = value.dictionary_encode()
    preimage = transform.preimage(encoded.dictionary, source)
    inclusive = _spread_flag(encoded, preimage.upper_inclusive)
    return _spread(encoded, preimage.lower), _spread(encoded, preimage.upper), inclusive


def _spread(encoded: pa.DictionaryArray, distinct: pa.Array) -> pa.DictionaryArray:
    """The bound of each split, kept once per distinct partition value."""
    return pa.DictionaryArray.from_arrays(encoded.indices, distinct)


def _spread_flag(encoded: pa.DictionaryArray, distinct: pa.BooleanArray) -> Flag:
    if pc.all(distinct).as_py() is not False:
        return True
    return pc.fill_null(distinct.take(encoded.indices), fill_value=True)


def _from_statistics(splits: pa.Table, column: str) -> Iterator[ColumnBounds]:
    nulls = statistic(splits, "null_count", column)
    if nulls is None:
        return
    all_null = pc.equal(nulls, splits["num_records"])
    yield ColumnBounds(
        lower=statistic(splits, "min", column),
        upper=statistic(splits, "max", column),
        may_be_null=pc.fill_null(pc.not_equal(nulls, 0), fill_value=True).combine_chunks(),
        may_be_value=pc.fill_null(pc.invert(all_null), fill_value=True).combine_chunks(),
    )
