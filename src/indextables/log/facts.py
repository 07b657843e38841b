"""What the log knows of the rows of each split, for judging predicates.

A partition value is pulled back to the range of source values that it stands for; statistics are ranges already. So
whoever judges need not know of layouts, nor of the spec that a split was written under.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from indextables.layout import Bucket, PartitionField
from indextables.log.actions import Metadata
from indextables.log.splits import partition_terms
from indextables.predicate import Bounds, ColumnBounds, ColumnImage
from indextables.predicate.bounds import Fact


def facts_about(columns: Iterable[str], splits: pa.Table, metadata: Metadata) -> Bounds:
    """All that partition values and statistics say of some columns, one array element per split."""
    terms = partition_terms(metadata)
    known = {
        column: (
            *(
                _from_partition(splits, term, field, metadata)
                for term, field in terms.items()
                if field.source == column
            ),
            *_from_statistics(splits, column),
        )
        for column in columns
    }
    return Bounds(len(splits), known)


def _from_partition(splits: pa.Table, term: str, field: PartitionField, metadata: Metadata) -> Fact:
    given = pc.struct_field(splits["partition"], [term])
    value, malformed = pc.struct_field(given, ["value"]), pc.struct_field(given, ["malformed"])
    known = pc.and_(given.is_valid(), malformed.is_null()).combine_chunks()
    if isinstance(field.transform, Bucket):
        return ColumnImage(field.transform.apply, value, known)
    encoded = value.combine_chunks().dictionary_encode()
    source = metadata.arrow_schema().field(field.source).type
    range_of = field.transform.preimage(encoded.dictionary, source)
    return ColumnBounds(
        lower=_spread(encoded, range_of.lower),
        upper=_spread(encoded, range_of.upper),
        upper_inclusive=_flag(encoded, range_of.upper_inclusive),
        may_be_null=pc.or_(pc.invert(known), value.combine_chunks().is_null()),
        may_be_value=pc.or_(pc.invert(known), value.combine_chunks().is_valid()),
        may_be_nan=pc.invert(known) if pa.types.is_floating(source) else False,
    )


def _spread(encoded: pa.DictionaryArray, distinct: pa.Array) -> pa.DictionaryArray:
    """The bound of each split, kept once per distinct partition value."""
    return pa.DictionaryArray.from_arrays(encoded.indices, distinct)


def _flag(encoded: pa.DictionaryArray, distinct: pa.BooleanArray) -> bool | pa.BooleanArray:
    if pc.all(distinct).as_py() is not False:
        return True
    return pc.fill_null(distinct.take(encoded.indices), fill_value=True)


def _from_statistics(splits: pa.Table, column: str) -> Iterator[ColumnBounds]:
    if "min" not in splits.schema.names or column not in {field.name for field in splits.schema.field("min").type}:
        return
    nulls = pc.struct_field(splits["null_count"], [column])
    all_null = pc.equal(nulls, splits["num_records"])
    yield ColumnBounds(
        lower=pc.struct_field(splits["min"], [column]),
        upper=pc.struct_field(splits["max"], [column]),
        may_be_null=pc.fill_null(pc.not_equal(nulls, 0), fill_value=True).combine_chunks(),
        may_be_value=pc.fill_null(pc.invert(all_null), fill_value=True).combine_chunks(),
    )
