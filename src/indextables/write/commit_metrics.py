"""What a commit records of the splits that it adds."""

from collections.abc import Sequence

from indextables.log.actions import Add


def split_metrics(adds: Sequence[Add]) -> dict[str, int]:
    return {
        "numAddedSplits": len(adds),
        "numAddedRows": sum(add.num_records or 0 for add in adds),
        "numAddedBytes": sum(add.size for add in adds),
    }


def partition_count(adds: Sequence[Add]) -> int:
    """The partitions that splits have rows of, as far as the log lists them."""
    return len({partition for add in adds for partition in _partitions(add)})


def _partitions(add: Add) -> list[tuple[str | None, ...]]:
    common, shared = tuple(add.partition_values.values()), add.logical_partitions
    return [common] if shared is None else [(*common, *values) for values in shared.tuples]


def copy_metrics(adds: Sequence[Add]) -> dict[str, int]:
    """The metrics of new splits whose rows, or some of them, were in the table before: no number of added rows."""
    return {name: metric for name, metric in split_metrics(adds).items() if name != "numAddedRows"}
