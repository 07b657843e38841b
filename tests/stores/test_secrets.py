"""What is secret stays so, without Spark; tests/spark/test_stores.py is about Spark, tests/conftest.py about every test."""

import logging
import pickle
import traceback

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config, is_secret
from indextables.errors import ConfigError, StorageError
from indextables.storage import Location, open_store
from indextables.write.job_planning import plan_job
from indextables.write.write_job import Mode
from tests.stores.proxy import Fault, always, proxied
from tests.stores.servers import SECRET, Server

SCHEMA = pa.schema({"id": pa.int64()})
SECRETS = [
    "s3.accessKey",
    "s3.secretKey",
    "s3.sessionToken",
    "azure.accountKey",
    "azure.clientSecret",
    "azure.sasToken",
]
SIGNATURE = "p1anted%2BSignature%3D"


@pytest.mark.parametrize("key", SECRETS)
def test_a_config_does_not_show_them(key: str) -> None:
    config = Config.resolve({key: SECRET})
    assert (SECRET in repr(config), config.secrets, is_secret(key)) == (False, (SECRET,), True)


@pytest.mark.parametrize("key", [*SECRETS, "spark.hadoop.fs.s3a.secret.key", "db.password"])
def test_a_table_does_not_keep_them(key: str) -> None:
    with pytest.raises(ConfigError, match="would be kept in the table's log") as caught:
        IndexTable.create("memory://secrets/t", SCHEMA, properties={key: SECRET})
    assert SECRET not in f"{caught.value} {vars(caught.value)}"
    assert list(open_store("memory://secrets/t").list()) == []


def test_a_misspelt_key_does_not_tell_its_value() -> None:
    with pytest.raises(ConfigError, match="did you mean 's3.secretKey'") as caught:
        Config.resolve({"s3.secretsKey": SECRET})
    assert caught.value.value is None


def test_a_job_does_not_show_them(s3: Server) -> None:
    job = plan_job(s3.new_table(), SCHEMA, mode=Mode.APPEND, sources=[s3.options])
    assert SECRET not in repr(job)
    assert pickle.loads(pickle.dumps(job)).plan.config.store.s3_secret_key == SECRET


def test_errors_and_logs_do_not_tell_them(s3: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with proxied(s3, always(Fault.ERROR, "PUT", ".split")) as proxy:
        table = IndexTable.create(s3.new_table(), SCHEMA, options={**proxy.server.options, "store.maxRetries": "0"})
        with pytest.raises(StorageError) as caught:
            table.append(pa.table({"id": [1]}))
    told = "\n".join([*traceback.format_exception(caught.value), caplog.text, repr(table), repr(table._log.store)])
    assert "500" in told
    assert SECRET not in told


def test_a_signature_in_an_address_is_not_told(azure: Server) -> None:
    token = f"sv=2024-08-04&ss=b&sig={SIGNATURE}"
    options = {"azure.endpoint": azure.options["azure.endpoint"], "azure.sasToken": token, "store.maxRetries": "0"}
    store = open_store(azure.new_table(), Config.resolve(options))
    with pytest.raises(StorageError) as caught:
        store.read("x")
    told = "".join(traceback.format_exception(caught.value))
    assert "p1anted" not in told


@pytest.mark.parametrize(
    "place", [f"s3://key:{SECRET}@bucket/t", f"s3a://{SECRET}@bucket/t", f"abfss://c:{SECRET}@a.b.c/t"]
)
def test_a_location_has_none(place: str) -> None:
    with pytest.raises(StorageError, match="no credentials") as caught:
        Location.parse(place)
    assert SECRET not in f"{caught.value} {vars(caught.value)}"


def test_keys_go_together() -> None:
    with pytest.raises(ConfigError, match="s3.secretKey is missing"):
        open_store("s3://bucket/t", Config.resolve({"s3.accessKey": "a"}))


def test_given_keys_are_not_mixed_with_the_environments(s3: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-somebody-else")
    with proxied(s3) as proxy:
        sent: list[str] = []
        proxy.saw = lambda headers: sent.append(headers.get("x-amz-security-token", ""))
        open_store(s3.new_table(), Config.resolve(proxy.server.options)).put("x", b"")
    assert sent == [""]
