"""The arguments of a compaction, validated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from indextables.config import Config
from indextables.errors import ConfigError
from indextables.log import Snapshot
from indextables.maintain.bin_packing import Limits
from indextables.maintain.partition_predicate import read_condition
from indextables.predicate import Predicate
from indextables.schema import column_named


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """The arguments of a compaction. `touching`: only partitions with one of these splits.

    `deleted_rows`: only splits with deleted rows, which are written again without them; all of these, whatever their size.
    """

    limits: Limits
    where: Predicate | None = None
    cluster_by: tuple[str, ...] = ()
    rewrite_layout: bool = False
    coalesce: bool = False
    deleted_rows: bool = False
    max_dest_splits: int | None = None
    touching: frozenset[str] | None = None


def limits_of(config: Config) -> Limits:
    return Limits(
        target_size=config.maintenance.merge_target_size,
        max_records=config.maintenance.merge_max_records,
        max_sources=config.maintenance.merge_max_sources,
    )


def merge_request(
    snapshot: Snapshot,
    config: Config,
    *,
    table: str,
    where: str | Predicate | None = None,
    cluster_by: str | Sequence[str] | None = None,
    rewrite_layout: bool = False,
    coalesce: bool = False,
    deleted_rows: bool = False,
    max_dest_splits: int | None = None,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
) -> MergeRequest:
    """The request, checked: the condition names partition columns only, and columns to sort by are there."""
    if max_dest_splits is not None and max_dest_splits < 1:
        raise ConfigError(
            f"max_dest_splits is {max_dest_splits}; it must be above zero",
            key="max_dest_splits",
            value=str(max_dest_splits),
        )
    if deleted_rows and coalesce:
        raise ConfigError(
            "deleted_rows merges splits as they are shared; let small partitions share splits in a merge of its own",
            key="coalesce",
            value="true",
        )
    condition = None
    if where is not None:
        condition = read_condition(
            where, snapshot.metadata, table=table, time_zone=time_zone, case_sensitive=case_sensitive
        )
    columns = (
        config.write.cluster_by if cluster_by is None else [cluster_by] if isinstance(cluster_by, str) else cluster_by
    )
    schema = snapshot.metadata.arrow_schema()
    return MergeRequest(
        limits=replace(limits_of(config), every_split=deleted_rows),
        where=condition.predicate if condition else None,
        cluster_by=tuple(column_named(schema, column) for column in columns),
        rewrite_layout=rewrite_layout,
        coalesce=coalesce,
        deleted_rows=deleted_rows,
        max_dest_splits=max_dest_splits,
    )
