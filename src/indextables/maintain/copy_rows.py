"""Rows of splits, read in order to be rewritten.

>>> from indextables.config import Config
>>> from indextables.log import TransactionLog
>>> from indextables.table import IndexTable
>>> from indextables.write.pipeline import write_rows
>>> table = IndexTable.create("memory://docs/copy", pa.schema({"day": pa.string(), "n": pa.int64()}), partition_by="day")
>>> table.append(pa.table({"day": ["mon", "mon", "tue"], "n": [1, None, 3]}))
1
>>> log = TransactionLog.open("memory://docs/copy")
>>> snapshot, opener = log.snapshot(), SplitOpener.of(log.store, Config())
>>> schema = snapshot.metadata.arrow_schema()
>>> rows = rows_of(opener, refs_to(snapshot.splits, snapshot.metadata), schema, unless=lambda rows: pc.equal(rows["n"], 1))
>>> adds = write_rows(plan_copy(snapshot, Config()), rows, log.store)
>>> [(add.partition_values, add.num_records) for add in adds]
[({'day': 'mon'}, 1), ({'day': 'tue'}, 1)]
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.log import Snapshot
from indextables.log.actions import Metadata
from indextables.predicate import Literal
from indextables.read.opener import SplitOpener, SplitRef
from indextables.read.scan_plan import tasks_for
from indextables.read.scan_spec import ScanSpec
from indextables.read.split_scan import matching_rows
from indextables.write.sizing import sized
from indextables.write.write_plan import WritePlan, plan_write

RowTest: TypeAlias = Callable[[pa.RecordBatch], pa.BooleanArray]
"""True, false or unknown (null) for each row of a batch."""


def refs_to(splits: pa.Table, metadata: Metadata) -> list[SplitRef]:
    """References to the splits in a splits table, sufficient to open them; they travel to executors."""
    return [task.split for task in tasks_for(splits, pa.nulls(len(splits), pa.uint8()), metadata)]


def rows_of(
    opener: SplitOpener, splits: Iterable[SplitRef], schema: pa.Schema, *, unless: RowTest | None = None
) -> Iterator[pa.RecordBatch]:
    """The columns of a schema, which is the table's or a part of it: one split after the other, in the order of the rows.

    With `unless`, those rows for which it is not true: false or unknown. Not more than a few row groups are in memory at a
    time. `write_rows(plan_copy(...), rows_of(...), store)` makes splits of them.
    """
    scan_spec = ScanSpec(schema, {}, Literal(value=True), {}, tuple(schema.names), {})
    for split in splits:
        for batch in matching_rows(opener.open(split), scan_spec, all_rows_match=True):
            left = batch if unless is None else batch.filter(pc.invert(pc.fill_null(unless(batch), fill_value=False)))
            if left.num_rows:
                yield left


def plan_copy(snapshot: Snapshot, config: Config, *, spec_id: int | None = None) -> WritePlan:
    """How rows of the table are rewritten: by its current layout, or by that of another spec."""
    config = replace(config, write=replace(config.write, typemap={}))
    plan = plan_write(snapshot.metadata, sized(config, snapshot))
    if spec_id in (None, plan.spec_id):
        return plan
    return replace(plan, spec_id=spec_id, coalescing=None)  # coalescing is planned for the current layout only
