"""A scan whose rows come in an order of columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from indextables.log.snapshot import Snapshot
from indextables.read.opener import SplitOpener
from indextables.read.scan import Scan, refuse_limit
from indextables.read.scan_plan import SplitTask
from indextables.read.scan_spec import SCORE, ScanSpec
from indextables.read.sort_order import Order, columns_of, sorted_positions
from indextables.read.top_n import top_n, visit_order


class OrderedScan(Scan):
    """The rows of a scan in an order, without the first `offset` of them.

    With a limit, only the splits are read that can have one of these rows; without one, all rows are sorted in memory.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        scan_spec: ScanSpec,
        opener: SplitOpener,
        *,
        order: Order,
        offset: int = 0,
        limit: int | None = None,
        parallelism: int = 8,
        options: Mapping[str, str] | None = None,
    ) -> None:
        refuse_limit(offset, key="offset")
        super().__init__(snapshot, scan_spec, opener, limit=limit, parallelism=parallelism, options=options)
        self.order = order
        self.offset = offset

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in their order."""
        if self._limit is None:
            rows = self._sorted().slice(self.offset)
        else:
            scored = SCORE in self.scan_spec.search_results
            rows = top_n(self, self.order, self._limit, offset=self.offset, scored=scored)
        return iter(rows.to_batches())

    def _preview(self, tasks: Sequence[SplitTask], most: int) -> Iterable[pa.RecordBatch]:  # noqa: ARG002 - all or none
        first = OrderedScan(
            self.snapshot, self.scan_spec, self.opener, order=self.order, offset=self.offset, limit=most
        )
        return first.to_batches()

    def _sorted(self) -> pa.Table:
        names = tuple(dict.fromkeys((*self.scan_spec.columns, *columns_of(self.order))))
        scan = self._in_no_order(replace(self.scan_spec, columns=names))
        parts = scan.rows_of(self.logged(visit_order(self.plan, self.order)))
        rows = pa.Table.from_batches((batch for batches in parts for batch in batches), scan.schema)
        return rows.take(sorted_positions(rows, self.order)).select(self.schema.names)

    def with_columns(self, columns: tuple[str, ...]) -> Scan:
        """A scan of all rows with other output columns, in no order."""
        return self._in_no_order(replace(self.scan_spec, columns=columns, search_results={}))

    def _in_no_order(self, spec: ScanSpec) -> Scan:
        scan = Scan(self.snapshot, spec, self.opener, parallelism=self._parallelism, options=self.options)
        scan.opened_splits = self.opened_splits
        return scan
