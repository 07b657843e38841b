"""Which credentials reach a store, without Spark: one kind, from one source. Spark is in tests/spark/test_credentials.py."""

import base64
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.errors import AccessDeniedError, ConfigError, StorageError
from indextables.storage import open_store
from tests.stores.proxy import proxied
from tests.stores.servers import ACCOUNT_KEY, SECRET, Server
from tests.stores.token_server import ASSERTION, CLIENT, TENANT, TokenServer, token_server

SCHEMA = pa.schema({"id": pa.int64()})
OAuth = tuple[Server, TokenServer]
PRINCIPAL = ("azure.tenantId", "azure.clientId", "azure.clientSecret", "azure.authorityHost")


def put(server: Server, options: Mapping[str, str]) -> None:
    open_store(server.new_table(), Config.resolve({**options, "store.maxRetries": "0"})).put("x", b"1")


def without(server: Server, *keys: str) -> dict[str, str]:
    return {key: value for key, value in server.options.items() if key not in keys}


class TestServicePrincipal:
    def test_a_table_is_written_and_read_with_its_token(self, azure_oauth: OAuth) -> None:
        server, tokens = azure_oauth
        tokens.requests.clear()
        options = {**server.options, "store.requestTimeout": "61s"}  # a client of its own, which has no token yet
        table = IndexTable.create(server.new_table(), SCHEMA, options=options)
        table.append(pa.table({"id": [1, 2]}))
        assert IndexTable.open(table.path, options=options).count("id > 1") == 1
        asked = {"client_id": CLIENT, "client_secret": SECRET, "grant_type": "client_credentials"}
        asked["scope"] = "https://storage.azure.com/.default"
        assert tokens.requests == [(f"/{TENANT}/oauth2/v2.0/token", asked)], "one token for all requests"

    @pytest.mark.parametrize("key", ["azure.clientSecret", "azure.clientId", "azure.tenantId"])
    def test_one_that_is_not_known_is_refused_by_the_token_server(self, azure_oauth: OAuth, key: str) -> None:
        server, _ = azure_oauth
        with pytest.raises(AccessDeniedError, match="unknown client or secret") as caught:
            put(server, {**server.options, key: "somebody-else"})
        assert SECRET not in str(caught.value)

    @pytest.mark.parametrize("key", ["azure.clientId", "azure.tenantId"])
    def test_its_settings_go_together(self, azure_oauth: OAuth, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AZURE_CLIENT_ID", CLIENT)
        monkeypatch.setenv("AZURE_TENANT_ID", TENANT)
        with pytest.raises(ConfigError, match=f"go together, and {key} is missing"):
            put(azure_oauth[0], without(azure_oauth[0], key))

    def test_a_key_of_the_environment_does_not_come_before_it(
        self, azure_oauth: OAuth, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", base64.b64encode(b"of-somebody-else").decode())
        monkeypatch.setenv("AZURE_STORAGE_TOKEN", "of-somebody-else")
        put(azure_oauth[0], azure_oauth[0].options)

    def test_a_missing_secret_is_named_before_any_request(self, azure_oauth: OAuth) -> None:
        server, tokens = azure_oauth
        tokens.requests.clear()
        for left_out in (["azure.clientSecret"], ["azure.clientSecret", "azure.clientId"]):
            missing = " and ".join(sorted(left_out))
            with pytest.raises(ConfigError, match=f"azure.tenantId is given, and {missing} is missing") as refused:
                put(server, without(server, *left_out))
            assert refused.value.key == "azure.clientSecret"
        assert tokens.requests == []

    def test_a_part_of_it_may_come_from_the_environment(
        self, azure_oauth: OAuth, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server, _ = azure_oauth
        monkeypatch.setenv("AZURE_CLIENT_SECRET", server.options["azure.clientSecret"])
        put(server, without(server, "azure.clientSecret"))

    def test_it_may_come_from_the_environment(self, azure_oauth: OAuth, monkeypatch: pytest.MonkeyPatch) -> None:
        server, tokens = azure_oauth
        names = ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_AUTHORITY_HOST")
        for name, key in zip(names, PRINCIPAL, strict=True):
            monkeypatch.setenv(name, server.options[key])
        tokens.requests.clear()
        put(server, without(server, *PRINCIPAL))
        assert [form["client_id"] for _, form in tokens.requests] == [CLIENT]

    def test_tokens_are_requested_over_tls_only(self) -> None:
        with pytest.raises(
            ConfigError, match="azure.authorityHost is 'http://login', but must be an address that begins"
        ):
            Config.resolve({"azure.authorityHost": "http://login"})


class TestOtherIdentities:
    def test_a_workload_identity(self, azure_oauth: OAuth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        server, tokens = azure_oauth
        (tmp_path / "token").write_text(ASSERTION)
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", base64.b64encode(b"of-somebody-else").decode())
        tokens.requests.clear()
        options = without(server, "azure.clientSecret")
        put(server, {**options, "azure.federatedTokenFile": str(tmp_path / "token")})
        assert [form["client_assertion"] for _, form in tokens.requests] == [ASSERTION]

    def test_a_managed_identity(self, azure_oauth: OAuth) -> None:
        server, _ = azure_oauth
        with token_server() as machine:
            put(
                server,
                {
                    **without(server, *PRINCIPAL),
                    "azure.credentialType": "managedIdentity",
                    "azure.clientId": CLIENT,
                    "azure.msiEndpoint": f"{machine.address}/metadata/identity/oauth2/token",
                },
            )
            assert [(path, asked["client_id"]) for path, asked in machine.requests] == [
                ("/metadata/identity/oauth2/token", CLIENT)
            ]

    def test_the_type_decides_between_two(self, azure: Server) -> None:
        both = {**azure.options, "azure.sasToken": "sv=2024-08-04&sig=bm9uZQ%3D%3D"}
        put(azure, both)
        put(azure, {**both, "azure.credentialType": "AccountKey"})
        with pytest.raises(AccessDeniedError):
            put(azure, {**both, "azure.credentialType": "sasToken"})
        with pytest.raises(ConfigError, match="must be one of accountKey, clientSecret, sasToken"):
            put(azure, {**both, "azure.credentialType": "kerberos"})
        with pytest.raises(ConfigError, match="azure.credentialType is accountKey, and azure.accountKey is missing"):
            put(azure, {**without(azure, "azure.accountKey"), "azure.credentialType": "accountKey"})


class TestOneSource:
    @pytest.mark.parametrize("type_", [None, "environment"])
    def test_s3_keys_of_the_environment(self, s3: Server, monkeypatch: pytest.MonkeyPatch, type_: str | None) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-environment")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-environment")
        options = (
            without(s3, "s3.accessKey", "s3.secretKey") if type_ is None else {**s3.options, "s3.credentialType": type_}
        )
        assert sent(s3, options) == {"of-the-environment"}

    def test_s3_without_a_signature(self, s3: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-environment")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-environment")
        assert sent(s3, {**without(s3, "s3.accessKey", "s3.secretKey"), "s3.credentialType": "anonymous"}) == {None}

    def test_the_first_source_that_has_any_has_all(self) -> None:
        session = {"s3.accessKey": "a", "s3.secretKey": "b", "s3.sessionToken": "c", "s3.region": "eu"}
        session |= {"azure.accountKey": "k", "azure.accountName": "logs"}
        options = {"s3.accessKey": "x", "s3.secretKey": "y", "azure.sasToken": "t"}
        store = Config.resolve(options, session).store
        assert (store.s3_access_key, store.s3_secret_key, store.s3_session_token, store.s3_region) == (
            "x",
            "y",
            None,
            "eu",
        )
        assert (store.azure_sas_token, store.azure_account_key, store.azure_account_name) == ("t", None, "logs")

    def test_an_account_key_comes_before_the_environment(self, azure: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AZURE_STORAGE_TOKEN", "of-somebody-else")
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", ACCOUNT_KEY[::-1])
        put(azure, azure.options)


class TestCertificateAuthorities:
    def test_a_server_of_an_authority_that_is_not_known_is_refused(self, azure_oauth: OAuth) -> None:
        with pytest.raises(StorageError, match="error sending request"):
            put(azure_oauth[0], without(azure_oauth[0], "store.caCertificates"))

    def test_the_file_must_be_there(self) -> None:
        with pytest.raises(ConfigError, match="store.caCertificates is '/no/file', which cannot be read: No such file"):
            open_store("s3://bucket/t", Config.resolve({"store.caCertificates": "/no/file"}))


def sent(s3: Server, options: Mapping[str, str]) -> set[str | None]:
    """The access keys that requests were signed with."""
    found: set[str | None] = set()
    with proxied(s3) as proxy:
        proxy.saw = lambda headers: found.add(access_key(headers.get("authorization")))
        put(s3, {**options, "s3.endpoint": proxy.server.options["s3.endpoint"]})
    return found


def access_key(authorization: str | None) -> str | None:
    return authorization and authorization.partition("Credential=")[2].partition("/")[0]
