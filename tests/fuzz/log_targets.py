"""Version files and checkpoints: replaced in a table that is then opened and queried in every way."""

import io
import json
import re
import zlib
from functools import cache, partial
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from indextables import IndexTable
from indextables.storage import open_store
from tests.fuzz.mutations import mutate_bytes, mutate_json, odd_value, to_json
from tests.fuzz.sample_table import LOCATION, put_table, sample_table
from tests.fuzz.target import Target, attempt

_STATE = b"indextables.snapshot"
_CHECKPOINT = "_transaction_log/{:018}.checkpoint.parquet"


def _generate_version(rng: Random) -> bytes:
    """The number of a version and the text that takes its place."""
    number = rng.randrange(_latest() + 1)
    lines = sample_table().version(number).splitlines()
    if rng.random() < 0.15:
        return b"%d\n" % number + _portable(mutate_bytes(rng, b"\n".join(lines) + b"\n"))
    actions = [json.loads(line) for line in lines]
    if rng.random() < 0.15:
        actions.insert(rng.randrange(len(actions) + 1), _other_line(rng))
    at = rng.randrange(len(actions))
    match rng.randrange(8):
        case 0:
            del actions[at]
        case 1:
            actions.insert(rng.randrange(len(actions) + 1), actions[at])
        case 2:
            other = _other_line(rng)
            actions[at] = (
                {**actions[at], **other} if isinstance(other, dict) and isinstance(actions[at], dict) else other
            )
        case _:
            actions[at] = mutate_json(rng, actions[at])
    text = b"\n".join(map(to_json, actions)) + b"\n"
    if rng.random() < 0.01:
        text = re.sub(rb":[0-9]+", b":" + b"9" * 5000, text, count=1)
    if rng.random() < 0.02:
        text = text.replace(b'"operation"', b'"x":' + b"[" * 3000 + b"]" * 3000 + b',"operation"', 1)
    return b"%d\n" % number + _portable(text)


def _other_line(rng: Random) -> Any:
    """A line of another version."""
    lines = sample_table().version(rng.randrange(_latest() + 1)).splitlines()
    line = json.loads(rng.choice(lines))
    return mutate_json(rng, line) if rng.random() < 0.3 else line


@cache
def _latest() -> int:
    return max(int(key.removesuffix(".json")[-18:]) for key in sample_table().files if key.endswith(".json"))


def _portable(text: bytes) -> bytes:
    """The text with marks in the place of the names of splits, which differ from process to process."""
    for number, path in enumerate(sample_table().splits):
        text = text.replace(path.encode(), b"<split %d>" % number)
    return text


def _local(text: bytes) -> bytes:
    for number, path in enumerate(sample_table().splits):
        text = text.replace(b"<split %d>" % number, path.encode())
    return text


def _run_version(data: bytes, *, every: bool = False) -> None:
    number, _, text = data.partition(b"\n")
    put_table({f"_transaction_log/{int(number):018}.json": _local(text)})
    _use_table(data, every=every)


def _use_table(data: bytes, *, every: bool) -> None:
    """Opens the table and asks every question, or some, which depend on the input; each on its own may be refused."""
    rng = Random(zlib.crc32(data))
    version = rng.choice((0, _latest() // 2, _latest()))
    attempt(lambda: IndexTable.open(LOCATION, version=version))
    if every or rng.random() < 0.2:
        attempt(lambda: IndexTable.open(LOCATION, timestamp="2030-01-01"))
    table = attempt(lambda: IndexTable.open(LOCATION))
    if table is not None:
        for question in _QUESTIONS if every else rng.sample(_QUESTIONS, 3):
            attempt(lambda question=question: question(table))


_QUESTIONS = (
    lambda table: table.history(),
    lambda table: (table.splits(), table.partitions(), table.partition_names()),
    lambda table: table.detail(),
    lambda table: (table.schema, table.layout, table.fields, repr(table)),
    lambda table: table.count(),
    lambda table: table.scan(where="day = 'mon' AND n > 3").to_arrow(),
    lambda table: table.count("ts < TIMESTAMP '1970-01-01T20:00:00Z' OR born IS NULL"),
    lambda table: table.scan(where="level = 'INFO' AND price < 9 AND ratio > 1").count(),
    lambda table: table.scan().group_by("day").count(),
    lambda table: (table.scan().min("n"), table.scan().max("ts")),
    lambda table: table.scan().group_by("day").count(),
    lambda table: table.report(),
    lambda table: table.search("message:disk AND NOT level:INFO", limit=3),
    lambda table: table.health(),
    lambda table: table.drop_partitions("level = 'INFO'", dry_run=True),
    lambda table: table.merge_splits(dry_run=True),
    lambda table: table.purge(dry_run=True),
)


def _generate_checkpoint(rng: Random) -> bytes:
    """A Parquet file for the place of the newest checkpoint."""
    data = _checkpoint()
    kind = rng.random()
    if kind < 0.3:
        return mutate_bytes(rng, data)
    with pq.ParquetFile(io.BytesIO(data)) as file:
        groups = [file.read_row_group(number) for number in range(file.num_row_groups)]
        state = json.loads(file.metadata.metadata[_STATE])
    for field in ("checksum", "versionChecksum"):  # what is behind them is to be reached
        state.pop(field, None)
    if kind < 0.8:
        state = mutate_json(rng, state)
    if kind > 0.6:
        groups = _mutate_tables(rng, groups)
    sink = io.BytesIO()
    schema = groups[0].schema.with_metadata({_STATE: to_json(state)} if rng.random() < 0.98 else None)
    with pq.ParquetWriter(sink, schema, write_page_checksum=True) as writer:
        for group in groups:
            writer.write_table(group.cast(schema))
    return sink.getvalue()


def _mutate_tables(rng: Random, groups: list[pa.Table]) -> list[pa.Table]:
    name = rng.choice(groups[0].schema.names)
    match rng.randrange(6):
        case 0:
            return [group.drop_columns([name]) for group in groups]
        case 1:
            return [group.set_column(group.schema.get_field_index(name), name, _nulls(group, name)) for group in groups]
        case 2:
            return groups[:-1] or groups
        case 3:
            return [*groups, rng.choice(groups)]
        case 4:
            column = [odd_value(rng)] * max(map(len, groups))
            return [_with(group, name, column[: len(group)]) for group in groups]
        case _:
            return [pa.concat_tables([group, group.slice(0, 1)]) for group in groups]


def _nulls(group: pa.Table, name: str) -> pa.Array:
    return pa.nulls(len(group), group.schema.field(name).type)


def _with(group: pa.Table, name: str, values: list[Any]) -> pa.Table:
    for kind in (group.schema.field(name).type, pa.string(), None):
        try:
            column = pa.array(values if kind != pa.string() else list(map(repr, values)), kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            continue
        if not pa.types.is_null(column.type) and not pa.types.is_nested(column.type):
            return group.set_column(group.schema.get_field_index(name), name, column)
    return group


@cache
def _checkpoint() -> bytes:
    """The checkpoint of the newest version."""
    location = "memory://fuzz/checkpoint"
    put_table({}, location)
    IndexTable.open(location).checkpoint()
    return open_store(location).read(_CHECKPOINT.format(_latest())).to_pybytes()


def _run_checkpoint(data: bytes, *, every: bool = False) -> None:
    """With the versions that could stand in for it, or without."""
    latest = _latest()
    alone = zlib.crc32(data) % 4
    gone = {f"_transaction_log/{number:018}.json": None for number in range(latest + 1)} if alone else {}
    put_table({_CHECKPOINT.format(latest): data, **gone})
    _use_table(data, every=every)


VERSION = Target("version", _generate_version, _run_version, partial(_run_version, every=True))
CHECKPOINT = Target("checkpoint", _generate_checkpoint, _run_checkpoint, partial(_run_checkpoint, every=True))
