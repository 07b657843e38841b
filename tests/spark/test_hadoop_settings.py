"""Credentials where Spark's users have them: in the session, in the cluster's configuration, in Hadoop's configuration.

A proxy sees who signed the requests of the driver, the planning process and the tasks.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import AccessDeniedError, ConfigError, TableNotFoundError
from indextables.spark.environment.session_settings import settings_of
from tests.stores.proxy import Proxy, proxied
from tests.stores.servers import ACCOUNT, ACCOUNT_KEY, SECRET, Server, sas_token
from tests.stores.token_server import ASSERTION, CLIENT, TENANT, TokenServer, token_server
from tests.tiers import slow, slow_after

HADOOP_OAUTH = "org.apache.hadoop.fs.azurebfs.oauth2"
HOST = f"{ACCOUNT}.dfs.core.windows.net"
SCHEMA = pa.schema({"id": pa.int64()})
ASSUMED_ROLE = "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider"
PROVIDER = "fs.s3a.aws.credentials.provider"


@contextmanager
def in_session(spark: Any, settings: Mapping[str, str]) -> Iterator[None]:
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            spark.conf.unset(key)


@contextmanager
def in_session_for_hadoop(spark: Any, settings: Mapping[str, str]) -> Iterator[None]:
    with in_session(spark, {f"spark.hadoop.{key}": value for key, value in settings.items()}):
        yield


@contextmanager
def in_hadoops_configuration(spark: Any, settings: Mapping[str, str]) -> Iterator[None]:
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    before = {key: configuration.get(key) for key in settings}
    for key, value in settings.items():
        configuration.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            configuration.unset(key) if value is None else configuration.set(key, value)


WAYS = [in_session, in_session_for_hadoop, in_hadoops_configuration]


class Signers:
    """Who signed the requests to a store, as (access key, session token)."""

    def __init__(self, proxy: Proxy) -> None:
        self.seen: set[tuple[str | None, str | None]] = set()
        proxy.saw = lambda headers: self.seen.add(
            (_access_key(headers.get("authorization")), headers.get("x-amz-security-token"))
        )

    def take(self) -> set[tuple[str | None, str | None]]:
        seen, self.seen = self.seen, set()
        return seen


def _access_key(authorization: str | None) -> str | None:
    return authorization and authorization.partition("Credential=")[2].partition("/")[0]


@pytest.fixture
def signers(s3: Server, spark: Any) -> Iterator[Signers]:
    """The store is behind a proxy, and the session knows where it is."""
    with (
        proxied(s3) as proxy,
        in_session(spark, {"spark.indextables.s3.endpoint": proxy.server.options["s3.endpoint"]}),
    ):
        yield Signers(proxy)


def keys(name: str, token: str | None = None, *, bucket: str | None = None) -> dict[str, str]:
    start = "fs.s3a." if bucket is None else f"fs.s3a.bucket.{bucket}."
    own = {f"{start}access.key": name, f"{start}secret.key": SECRET}
    return own if token is None else {**own, f"{start}session.token": token}


def rows_of(spark: Any) -> Any:
    return spark.createDataFrame([("mon", 1), ("tue", 2)], "day string, id int")


def write_and_read(spark: Any, place: str) -> None:
    rows_of(spark).write.format("indextables").save(place)
    assert sorted(row.id for row in spark.read.format("indextables").load(place).collect()) == [1, 2]


def use(spark: Any, place: str) -> None:
    """Every way to a table: writes, reads, SQL, the catalog, IndexTable, and compaction on executors."""
    for _ in range(2):
        rows_of(spark).write.format("indextables").partitionBy("day").mode("append").save(place)
    frame = spark.read.format("indextables").load(place)
    assert sorted(row.id for row in frame.collect()) == [1, 1, 2, 2]
    assert frame.filter("id = 2").toPandas().shape == (2, 2)
    try:
        spark.sql(f"CREATE TABLE kept USING indextables LOCATION '{place}'")
        spark.sql("INSERT INTO kept VALUES ('wed', 3)")
        assert spark.sql("SELECT count(*) AS n, max(id) AS m FROM kept WHERE day <> 'mon'").first()[:] == (3, 3)
    finally:
        spark.sql("DROP TABLE IF EXISTS kept")
    table = IndexTable.open(place, spark=spark)
    assert sorted(row.id for row in table.scan(where="id > 1").to_spark(spark).collect()) == [2, 2, 3]
    merged = table.merge_splits(spark=spark, where="day = 'mon'")
    assert (merged.splits_before, merged.splits_after) == (2, 1)
    assert spark.sql(f"MERGE SPLITS '{place}'").first().splits_before == 2
    assert spark.sql(f"DESCRIBE INDEXTABLES HISTORY '{place}'").count() == 5


class TestS3:
    @pytest.mark.parametrize("way", slow_after(1, WAYS, "every place of credentials of Hadoop"))
    def test_keys_reach_all_processes(self, spark: Any, s3: Server, signers: Signers, way: Any) -> None:
        with way(spark, keys("hadoops", "t0ken")):
            use(spark, s3.new_table())
        assert signers.take() == {("hadoops", "t0ken")}

    def test_the_settings_of_hadoops_client(self, spark: Any, s3: Server) -> None:
        endpoint = s3.options["s3.endpoint"].removeprefix("http://")
        where = {
            "fs.s3a.endpoint": endpoint,
            "fs.s3a.connection.ssl.enabled": "false",
            "fs.s3a.endpoint.region": "eu-x-1",
        }
        with in_hadoops_configuration(spark, {**where, **keys("hadoops")}):
            write_and_read(spark, s3.new_table().replace("s3://", "s3a://"))

    def test_the_first_source_decides(self, spark: Any, s3: Server, signers: Signers) -> None:
        """The order that docs/stores.md has, from the last to the first."""
        place = s3.new_table()
        ours = {"spark.indextables.s3.accessKey": "7", "spark.indextables.s3.secretKey": SECRET}
        options = {"s3.accessKey": "8", "s3.secretKey": SECRET}

        def load(**given: str) -> set[tuple[str | None, str | None]]:
            spark.read.format("indextables").options(**given).load(place)
            return signers.take()

        with in_hadoops_configuration(spark, keys("1", "of-the-cluster")):
            rows_of(spark).write.format("indextables").save(place)
            assert signers.take() == {("1", "of-the-cluster")}
            with in_session_for_hadoop(spark, keys("2")):
                assert load() == {("2", None)}, "never with the token of another source"
                with in_session(spark, keys("3", "of-the-session")):
                    assert load() == {("3", "of-the-session")}
                    with in_hadoops_configuration(spark, keys("4", bucket="tables")):
                        assert load() == {("4", None)}
                        with in_session_for_hadoop(spark, keys("5", bucket="tables")):
                            assert load() == {("5", None)}
                            with in_session(spark, keys("6", bucket="tables")):
                                assert load() == {("6", None)}
                                with in_session(spark, ours):
                                    assert load() == {("7", None)}
                                    assert load(**options) == {("8", None)}
                            assert load(**options) == {("8", None)}
            assert load() == {("1", "of-the-cluster")}, "nothing is cached"

    def test_a_key_without_the_other_is_refused(self, spark: Any, s3: Server, signers: Signers) -> None:
        with (
            in_hadoops_configuration(spark, keys("whole", "token")),
            in_session(spark, {"fs.s3a.access.key": "half"}),
            pytest.raises(ConfigError, match="go together, and fs.s3a.secret.key is missing; set them in one place"),
        ):
            spark.read.format("indextables").load(s3.new_table())
        assert signers.take() == set()

    @pytest.mark.parametrize(
        ("providers", "signed"),
        [
            ("org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider", ("mine", "token")),
            ("org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider", ("mine", None)),
            ("org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider", (None, None)),
            ("com.amazonaws.auth.EnvironmentVariableCredentialsProvider", ("environment", None)),
            (" software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider\n", ("environment", None)),
            (
                f"org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider,\n {ASSUMED_ROLE}",
                ("mine", None),
            ),
        ],
    )
    def test_credential_providers(  # noqa: PLR0917 - fixtures and the columns of a table
        self,
        spark: Any,
        s3: Server,
        signers: Signers,
        monkeypatch: pytest.MonkeyPatch,
        providers: str,
        signed: tuple[str | None, str | None],
    ) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "environment")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        with (
            in_session(spark, {**keys("mine", "token"), PROVIDER: providers}),
            pytest.raises((TableNotFoundError, AccessDeniedError)),
        ):
            IndexTable.open(s3.new_table(), spark=spark)
        assert signers.take() == {signed}

    @pytest.mark.parametrize(
        "provider",
        [ASSUMED_ROLE, "com.example.SimpleAWSCredentialsProvider"],
    )
    def test_other_providers_are_refused_by_name(
        self, spark: Any, s3: Server, signers: Signers, monkeypatch: pytest.MonkeyPatch, provider: str
    ) -> None:
        place = s3.new_table()
        with in_hadoops_configuration(spark, {PROVIDER: provider}):
            with pytest.raises(ConfigError, match=f"from {provider} .fs.s3a.aws.credentials.provider.") as caught:
                rows_of(spark).write.format("indextables").save(place)
            assert (caught.value.key, caught.value.value) == (PROVIDER, provider)
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "environment")
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
            with in_session(spark, {"spark.indextables.s3.credentialType": "environment"}):
                IndexTable.create(place, SCHEMA, spark=spark)
            with in_session(
                spark, {f"fs.s3a.bucket.tables.{PROVIDER[7:]}": "com.amazonaws.auth.InstanceProfileCredentialsProvider"}
            ):
                assert IndexTable.open(place, spark=spark).count() == 0
        assert signers.take() == {("environment", None)}

    def test_where_a_bucket_is(self, spark: Any) -> None:
        def of(bucket: str, **settings: str) -> dict[str, str]:
            with in_session(spark, {f"fs.s3a.{key.replace('_', '.')}": value for key, value in settings.items()}):
                found = settings_of(spark, f"s3a://{bucket}/t")
            return {key.removeprefix("spark.indextables.s3."): value for key, value in found.items()}

        assert of("b") == of("b", endpoint="s3.amazonaws.com") == {}
        assert of("b", endpoint="minio:9000") == {"endpoint": "https://minio:9000"}
        assert of("b", endpoint="http://minio:9000", path_style_access="false") == {
            "endpoint": "http://minio:9000",
            "pathStyleAccess": "false",
        }
        assert of("b", endpoint="s3.eu-west-1.amazonaws.com") == {
            "endpoint": "https://s3.eu-west-1.amazonaws.com",
            "region": "eu-west-1",
        }
        own = {"bucket_b_endpoint": "here", "endpoint": "there", "bucket_b_connection_ssl_enabled": "false"}
        assert of("b", **own, endpoint_region="sdk") == {"endpoint": "http://here"}
        assert of("c", **own) == {"endpoint": "https://there"}
        assert settings_of(spark, "/local/t") == settings_of(spark, "gs://bucket/t") == {}


@slow("every place of credentials of Hadoop")
def test_the_configuration_of_a_cluster(s3: Server, tmp_path: Path) -> None:
    """Each way to configure a cluster has a bucket with a key of its own; one JVM has them all."""
    buckets = ("site", "defaults", "submit", "builder", "others")
    own = {bucket: keys(f"of-{bucket}", bucket=bucket) for bucket in buckets}
    for bucket in buckets:
        make_bucket(s3, bucket)
    (tmp_path / "core-site.xml").write_text(site({**own["site"], **keys("of-all", "token")}))
    defaults, submit, builder = (for_spark(own[bucket]) for bucket in ("defaults", "submit", "builder"))
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in defaults.items()))
    arguments = " ".join(f"--conf {key}={value}" for key, value in submit.items())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {"HADOOP_CONF_DIR": str(tmp_path), "SPARK_CONF_DIR": str(tmp_path)}
    environment |= {"PYSPARK_SUBMIT_ARGS": f"{arguments} {environment['PYSPARK_SUBMIT_ARGS']}"}  # see tests/quick.py
    environment |= {"PYSPARK_PYTHON": sys.executable}
    with proxied(s3) as proxy:
        signers = Signers(proxy)
        where = for_spark({"fs.s3a.endpoint": proxy.server.options["s3.endpoint"]})
        given = json.dumps({"buckets": buckets, "settings": {**builder, **where}})
        command = [sys.executable, "-m", "tests.spark.cluster_configuration", given]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr.replace(SECRET, "***")
    assert json.loads(done.stdout.splitlines()[-1]) == [1, 2]
    others = {(f"of-{bucket}", None) for bucket in ("site", "defaults", "submit", "builder")}
    assert signers.take() == {("of-all", "token"), *others}


def for_spark(settings: Mapping[str, str]) -> dict[str, str]:
    return {f"spark.hadoop.{key}": value for key, value in settings.items()}


def site(settings: Mapping[str, str]) -> str:
    properties = (f"<property><name>{k}</name><value>{v}</value></property>" for k, v in settings.items())
    return f"<configuration>{''.join(properties)}</configuration>"


def make_bucket(s3: Server, name: str) -> None:
    connection = HTTPConnection("127.0.0.1", s3.port)
    connection.request("PUT", f"/{name}", headers={"Content-Length": "0"})
    assert connection.getresponse().status == 200
    connection.close()


class TestAzure:
    @pytest.mark.parametrize("way", slow_after(1, WAYS, "every place of credentials of Hadoop"))
    def test_an_account_key_reaches_all_processes(self, spark: Any, azure: Server, way: Any) -> None:
        with reached(spark, azure), way(spark, {f"fs.azure.account.key.{HOST}": ACCOUNT_KEY}):
            write_and_read(spark, azure.new_table())

    @pytest.mark.parametrize(
        "settings",
        [
            {"fs.azure.account.key": ACCOUNT_KEY},
            {f"fs.azure.account.key.{ACCOUNT}.blob.core.windows.net": ACCOUNT_KEY},
            {f"fs.azure.account.key.{ACCOUNT}": ACCOUNT_KEY, "fs.azure.account.key": "b3RoZXI="},
            {f"fs.azure.account.auth.type.{HOST}": "SharedKey", f"fs.azure.account.key.{HOST}": ACCOUNT_KEY},
            {f"fs.azure.sas.tables.{ACCOUNT}.blob.core.windows.net": f"?{sas_token()}"},
            {"fs.azure.account.auth.type": "SAS", f"fs.azure.sas.fixed.token.tables.{HOST}": sas_token()},
            {
                f"fs.azure.account.auth.type.{HOST}": "SAS",
                "fs.azure.account.auth.type": "OAuth",
                "fs.azure.sas.fixed.token": sas_token(),
                f"fs.azure.account.key.{HOST}": "b3RoZXI=",
            },
        ],
    )
    def test_keys_and_sas_tokens(self, spark: Any, azure: Server, settings: Mapping[str, str]) -> None:
        with reached(spark, azure), in_hadoops_configuration(spark, settings):
            table = IndexTable.create(azure.new_table(), SCHEMA, spark=spark)
            assert spark.read.format("indextables").load(table.path).collect() == []

    def test_an_account_by_setting_has_its_keys(self, spark: Any, azure: Server) -> None:
        account = {"spark.indextables.azure.accountName": ACCOUNT}
        place = azure.new_table().replace(f"abfss://tables@{HOST}", "az://tables")
        own = {
            f"fs.azure.account.key.{HOST}": ACCOUNT_KEY,
            "fs.azure.account.key.other.dfs.core.windows.net": "b3RoZXI=",
        }
        with reached(spark, azure), in_session(spark, account), in_hadoops_configuration(spark, own):
            assert IndexTable.create(place, SCHEMA, spark=spark).count() == 0
            found = settings_of(spark, "abfss://tables@other.dfs.core.windows.net/t")
            assert found["spark.indextables.azure.accountKey"] == "b3RoZXI="
            assert "spark.indextables.azure.accountKey" not in settings_of(spark, "abfss://tables@third/t")

    def test_a_service_principal_gets_its_tokens(self, spark: Any, azure_oauth: tuple[Server, TokenServer]) -> None:
        server, tokens = azure_oauth
        tokens.requests.clear()
        own = {
            f"fs.azure.account.auth.type.{HOST}": "OAuth",
            f"fs.azure.account.oauth.provider.type.{HOST}": f"{HADOOP_OAUTH}.ClientCredsTokenProvider",
            f"fs.azure.account.oauth2.client.id.{HOST}": CLIENT,
            f"fs.azure.account.oauth2.client.secret.{HOST}": SECRET,
            f"fs.azure.account.oauth2.client.endpoint.{HOST}": f"{tokens.address}/{TENANT}/oauth2/token",
            f"fs.azure.account.key.{HOST}": "b3RoZXI=",
        }
        with reached(spark, server), in_session(spark, own):
            use(spark, server.new_table())
        assert {(path, form["client_id"], form["client_secret"]) for path, form in tokens.requests} == {
            (f"/{TENANT}/oauth2/v2.0/token", CLIENT, SECRET)
        }
        assert len(tokens.requests) > 1, "tasks get their own"

    def test_our_service_principal_comes_first(self, spark: Any, azure_oauth: tuple[Server, TokenServer]) -> None:
        server, _ = azure_oauth
        others = {f"fs.azure.account.key.{HOST}": "b3RoZXI=", "fs.azure.account.auth.type": "Custom"}
        with in_hadoops_configuration(spark, others):
            with in_session(spark, {f"spark.indextables.{key}": value for key, value in server.options.items()}):
                write_and_read(spark, server.new_table())
            rows_of(spark).write.format("indextables").options(**server.options).save(server.new_table())

    def test_identities_of_pods_and_machines(
        self, spark: Any, azure_oauth: tuple[Server, TokenServer], tmp_path: Path
    ) -> None:
        server, tokens = azure_oauth
        (tmp_path / "token").write_text(ASSERTION)
        common = {"fs.azure.account.auth.type": "OAuth", "fs.azure.account.oauth2.client.id": CLIENT}
        pod = {
            "fs.azure.account.oauth.provider.type": f"{HADOOP_OAUTH}.WorkloadIdentityTokenProvider",
            "fs.azure.account.oauth2.msi.tenant": TENANT,
            "fs.azure.account.oauth2.msi.authority": f"{tokens.address}/",
            "fs.azure.account.oauth2.token.file": str(tmp_path / "token"),
        }
        tokens.requests.clear()
        with reached(spark, server), in_hadoops_configuration(spark, {**common, **pod}):
            rows_of(spark).write.format("indextables").save(server.new_table())
        assert {form["client_assertion"] for _, form in tokens.requests} == {ASSERTION}
        with token_server() as identities, reached(spark, server):
            machine = {
                "fs.azure.account.oauth.provider.type": f"{HADOOP_OAUTH}.MsiTokenProvider",
                "fs.azure.account.oauth2.msi.endpoint": f"{identities.address}/metadata/identity/oauth2/token",
            }
            with in_hadoops_configuration(spark, {**common, **machine}):
                rows_of(spark).write.format("indextables").save(server.new_table())
            assert {asked["client_id"] for _, asked in identities.requests} == {CLIENT}

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"fs.azure.account.auth.type": "Custom"}, "from Custom .fs.azure.account.auth.type."),
            (
                {"fs.azure.account.keyprovider": "com.example.Vault"},
                "from com.example.Vault .fs.azure.account.keyprovider.",
            ),
            (
                {"fs.azure.account.auth.type": "SAS", "fs.azure.sas.token.provider.type": "com.example.Sas"},
                "from com.example.Sas .fs.azure.sas.token.provider.type.",
            ),
            (
                {
                    "fs.azure.account.auth.type": "OAuth",
                    "fs.azure.account.oauth.provider.type": f"{HADOOP_OAUTH}.UserPasswordTokenProvider",
                },
                f"from {HADOOP_OAUTH}.UserPasswordTokenProvider .fs.azure.account.oauth.provider.type.",
            ),
            ({"fs.azure.account.auth.type": "OAuth"}, "from no provider .fs.azure.account.oauth.provider.type."),
            (
                {
                    "fs.azure.account.auth.type": "OAuth",
                    "fs.azure.account.oauth.provider.type": f"{HADOOP_OAUTH}.ClientCredsTokenProvider",
                    "fs.azure.account.oauth2.client.id": CLIENT,
                    f"fs.azure.account.oauth2.client.secret.{HOST}": SECRET,
                },
                "have no fs.azure.account.oauth2.client.id, or not in the place of the others",
            ),
            (
                {
                    "fs.azure.account.auth.type": "OAuth",
                    "fs.azure.account.oauth.provider.type": f"{HADOOP_OAUTH}.ClientCredsTokenProvider",
                    "fs.azure.account.oauth2.client.id": CLIENT,
                    "fs.azure.account.oauth2.client.secret": SECRET,
                    "fs.azure.account.oauth2.client.endpoint": "https://login/token",
                },
                "client.endpoint is 'https://login/token', but must be https://login.microsoftonline.com/<tenant>/oauth2/token",
            ),
        ],
    )
    def test_what_cannot_be_used_is_refused_by_name(
        self, spark: Any, settings: Mapping[str, str], message: str
    ) -> None:
        place = f"abfss://tables@{HOST}/t"
        with in_hadoops_configuration(spark, settings):
            for attempt in (
                lambda: spark.read.format("indextables").load(place),
                lambda: rows_of(spark).write.format("indextables").save(place),
                lambda: spark.sql(f"CHECKPOINT INDEXTABLES '{place}'"),
            ):
                with pytest.raises(ConfigError, match=message) as caught:
                    attempt()
                assert SECRET not in f"{caught.value} {vars(caught.value)}"


@contextmanager
def reached(spark: Any, server: Server) -> Iterator[None]:
    """The session knows where the server is; it has no credentials of ours."""
    known = ("azure.endpoint", "store.caCertificates")
    with in_session(spark, {f"spark.indextables.{key}": server.options[key] for key in known if key in server.options}):
        yield


def test_spark_hides_the_secrets_of_hadoops_client(spark: Any) -> None:
    secrets = (
        f"fs.azure.account.key.{HOST}",
        f"fs.azure.sas.tables.{ACCOUNT}.blob.core.windows.net",
        f"fs.azure.sas.fixed.token.tables.{HOST}",
        f"fs.azure.account.oauth2.client.secret.{HOST}",
        "fs.s3a.bucket.tables.secret.key",
    )
    with in_session(spark, dict.fromkeys(secrets, SECRET)):
        shown = {row.key: row.value for row in spark.sql("SET").collect()}
    assert {shown[key] for key in secrets} == {"*********(redacted)"}


def test_hadoops_configuration_is_read_at_once(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few calls to the JVM for a table in a store, however many settings there are, and none for a local one."""
    client, calls = spark.sparkContext._gateway._gateway_client, []
    send = client.send_command

    def counted(command: str, *args: Any, **options: Any) -> Any:
        if not command.startswith("m\n"):  # what Python has no use for any more
            calls.append(command)
        return send(command, *args, **options)

    def count(place: str) -> int:
        calls.clear()
        settings_of(spark, place)
        return len(calls)

    settings_of(spark, "s3://tables/t")  # classes and methods are looked up once
    monkeypatch.setattr(client, "send_command", counted)
    local, store = count("/local/t"), count("s3://tables/t")
    assert local < store <= local + 6
    many = {f"fs.s3a.bucket.b{number}.access.key": "a" for number in range(30)}
    with in_hadoops_configuration(spark, many), in_session(spark, many):
        assert (count("/local/t"), count("s3://tables/t")) == (local, store)
