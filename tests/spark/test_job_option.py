"""A write job as an option: the same job comes out, without secrets in the text, and nothing else is believed."""

import zlib
from base64 import b64decode, b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, ConflictError
from indextables.layout import Coalescing
from indextables.maintain.replace_where import resolve_overwrite
from indextables.spark.options import JOB
from indextables.spark.source.data_source import IndexTablesDataSource
from indextables.spark.source.job_option import decode_job, encode_job
from indextables.spark.source.spark_types import spark_schema
from indextables.write.job_planning import plan_job
from indextables.write.write_job import Mode, WriteJob
from tests.stores.servers import SECRET

SCHEMA = pa.schema(
    {
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "cost": pa.decimal128(9, 2),
        "app": pa.string(),
        "n": pa.int32(),
    }
)
CONDITIONS = [
    "day = '2024-01-31'",
    "at >= '2024-01-31 12:00:00' AND NOT (app IN ('a', 'b') OR app IS NULL)",
    "cost BETWEEN 1.5 AND 22.25 AND n <=> 7",
    "[\"day = '2024-01-31'\", \"day = '2024-02-01'\"]",
]


def planned(path: Path, mode: Mode = Mode.APPEND, **settings: str) -> WriteJob:
    options = {"partitionBy": "day, at, cost, n, app", **settings}
    schema = SCHEMA.append(pa.field("message", pa.string()))
    return plan_job(path, schema, mode=mode, sources=[options], overwrite=resolve_overwrite)


def decoded(job: WriteJob, **options: str) -> WriteJob:
    found = decode_job({JOB: encode_job(job), **options})
    assert found is not None
    return found


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"partitionOverwriteMode": "dynamic", "optimizeWrite.clusterBy": "n, app", "indexing.typemap.message": "text"},
        *({"replaceWhere": condition} for condition in CONDITIONS),
    ],
)
def test_every_kind_of_overwrite_comes_out_as_it_was(tmp_path: Path, settings: dict[str, str]) -> None:
    job = planned(tmp_path, Mode.OVERWRITE, **settings)
    assert decoded(job) == job


def test_everything_that_a_commit_and_a_task_need_comes_out(tmp_path: Path) -> None:
    coalesce = {"coalesce.enabled": "true", "coalesce.rule.a": "logs", "txnAppId": "app", "txnVersion": "7"}
    job = planned(tmp_path, Mode.OVERWRITE, replaceWhere=CONDITIONS[1], **coalesce)
    assert isinstance(job.plan.coalescing, Coalescing)
    job = replace(
        job,
        plan=replace(job.plan, coalescing=replace(job.plan.coalescing, large=frozenset({("2024", None), ("", "x")}))),
        metrics={"repartitionTimeMs": 5},
        speculative=True,
    )
    assert decoded(job) == job


def test_secrets_are_not_in_the_text_and_come_from_the_other_options(tmp_path: Path) -> None:
    secret = {"s3.accessKey": "name", "s3.secretKey": SECRET}
    job = planned(tmp_path, **secret, **{"s3.region": "somewhere"})
    content = zlib.decompress(b64decode(encode_job(job)))
    assert (SECRET.encode() in content, b"somewhere" in content) == (False, True)
    assert decoded(job).plan.config.store.s3_secret_key is None
    assert decoded(job, **secret) == job


@pytest.mark.parametrize(
    "text", ["", "{}", "no base64!", b64encode(zlib.compress(b"\x80")).decode(), b64encode(b"x").decode()]
)
def test_a_text_that_is_no_job_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="indextables.internal.job cannot be read"):
        decode_job({JOB: text})


def test_planning_twice_gives_one_job(tmp_path: Path) -> None:
    """Spark may ask for a writer more than once; each has the id that the driver gave to the job."""
    job = planned(tmp_path)
    assert job.input_schema is not None
    source, columns = (
        IndexTablesDataSource({"path": str(tmp_path), JOB: encode_job(job)}),
        spark_schema(job.input_schema),
    )
    jobs = [source.writer(columns, overwrite=False)._job for _ in range(2)]
    assert jobs == [job, job]


def test_a_job_is_for_one_table_one_mode_and_one_schema(tmp_path: Path) -> None:
    job = planned(tmp_path)
    assert job.input_schema is not None
    columns = spark_schema(job.input_schema)

    def writer(path: Path, schema: Any, *, overwrite: bool) -> Any:
        return IndexTablesDataSource({"path": str(path), JOB: encode_job(job)}).writer(schema, overwrite=overwrite)

    for path, overwrite in [(tmp_path / "other", False), (tmp_path, True)]:
        with pytest.raises(ConfigError, match="has a write to"):
            writer(path, columns, overwrite=overwrite)
    for schema in (spark_schema(SCHEMA), spark_schema(job.input_schema.set(4, pa.field("n", pa.int64())))):
        with pytest.raises(Exception, match="SchemaError|was not planned for"):
            writer(tmp_path, schema, overwrite=False)


def test_a_job_of_a_large_table_is_small(tmp_path: Path) -> None:
    """With ten thousand large partitions, too, what Spark keeps of an option stays readable."""
    job = planned(tmp_path, Mode.OVERWRITE, replaceWhere=CONDITIONS[0], **{"coalesce.enabled": "true"})
    assert job.plan.coalescing is not None
    large = frozenset((f"2024-01-{n % 31:02}", None, "1.00", str(n % 7), f"customer-{n:05}") for n in range(10_000))
    many = replace(job, plan=replace(job.plan, coalescing=replace(job.plan.coalescing, large=large)))
    sizes = [len(encode_job(one)) for one in (job, many)]
    assert sizes[0] < 4_000
    assert max(sizes) < 400_000


def test_an_overwrite_is_committed_on_the_version_that_it_was_planned_on(spark: Any, tmp_path: Path) -> None:
    """Rows that come while Spark counts those of the frame were not there when the overwrite was planned."""
    from pyspark.sql.functions import arrow_udf  # noqa: PLC0415

    path = tmp_path / "table"
    IndexTable.create(path, pa.schema({"id": pa.int64(), "p": pa.int64()}), partition_by="p")

    @arrow_udf("bigint")  # type: ignore[call-overload]
    def append_once(ids: pa.Array) -> pa.Array:
        table = IndexTable.open(path)
        if table.version == 0:
            table.append(pa.table({"id": [100], "p": [0]}))
        return ids

    frame = spark.range(4, numPartitions=1).withColumn("p", append_once("id"))
    with pytest.raises(ConflictError, match="version 1 of .* was taken by APPEND"):
        frame.write.format("indextables").mode("overwrite").save(str(path))
    table = IndexTable.open(path)
    assert (table.version, table.scan(columns=["id"]).to_arrow()["id"].to_pylist()) == (1, [100])
    assert len(list(path.rglob("*.split"))) == 1
