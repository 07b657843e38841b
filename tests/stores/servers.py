"""Real servers on loopback, each with one bucket or container: S3 as moto has it, Azure as Azurite has it."""

import base64
import hashlib
import hmac
import re
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPSConnection
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlencode
from uuid import uuid4

from tests.stores.token_server import CLIENT, SECRET, TENANT, Certificates, TokenServer, token_server

ACCOUNT = "devstoreaccount1"  # the one that every Azurite has, with its key
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_AZURITE = (
    *("--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence"),
    *("--skipApiVersionCheck", "--disableTelemetry", "--silent"),
)
_UNTIL_STDIN_ENDS = 'exec 3<&0; "$@" & served=$!; { cat <&3; kill $served; } > /dev/null 2>&1 & wait $served'
_ADDRESS = re.compile(r"https?://127\.0\.0\.1:(\d+)")


@dataclass(frozen=True, slots=True)
class Server:
    """`root` is where tables may be; `options` are what a user would give to reach it."""

    port: int
    root: str
    options: Mapping[str, str] = field(repr=False)

    def new_table(self) -> str:
        return f"{self.root}/my table {uuid4().hex}"

    def at(self, port: int) -> "Server":
        """The same server behind a proxy on another port."""
        moved = {key: value.replace(f":{self.port}", f":{port}") for key, value in self.options.items()}
        return Server(port, self.root, moved)


@contextmanager
def s3_server() -> Iterator[Server]:
    with _running([sys.executable, "-m", "tests.stores.s3_server"]) as port:
        _put(HTTPConnection("127.0.0.1", port), "/tables", {})
        yield Server(
            port,
            "s3://tables",
            {
                "s3.endpoint": f"http://127.0.0.1:{port}",
                "s3.region": "us-east-1",
                "s3.accessKey": "tests",
                "s3.secretKey": SECRET,
            },
        )


@contextmanager
def azure_server() -> Iterator[Server]:
    with _running([str(_azurite()), *_AZURITE]) as port:
        _make_container(port)
        yield Server(
            port,
            f"abfss://tables@{ACCOUNT}.dfs.core.windows.net",
            {"azure.endpoint": f"http://127.0.0.1:{port}/{ACCOUNT}", "azure.accountKey": ACCOUNT_KEY},
        )


@contextmanager
def azure_oauth_server(directory: Path) -> Iterator[tuple[Server, TokenServer]]:
    """Azurite over TLS, which accepts the tokens of a service principal, and the server that issues them."""
    certificates = Certificates(directory)
    own = ["--oauth", "basic", "--cert", str(certificates.certificate), "--key", str(certificates.key)]
    with _running([str(_azurite()), *_AZURITE, *own]) as port, token_server(certificates) as tokens:
        _make_container(port, ssl.create_default_context(cafile=certificates.authority))
        options = {
            "azure.endpoint": f"https://127.0.0.1:{port}/{ACCOUNT}",
            "azure.authorityHost": tokens.address,
            "azure.tenantId": TENANT,
            "azure.clientId": CLIENT,
            "azure.clientSecret": SECRET,
            "store.caCertificates": str(certificates.authority),
        }
        yield Server(port, f"abfss://tables@{ACCOUNT}.dfs.core.windows.net", options), tokens


def sas_token() -> str:
    """A SAS token for the account, signed with its key."""
    own = {"sp": "rwdlac", "ss": "b", "srt": "sco", "se": "2099-01-01T00:00:00Z", "sv": "2018-11-09"}
    lines = [ACCOUNT, own["sp"], own["ss"], own["srt"], "", own["se"], "", "", own["sv"], ""]
    return urlencode({**own, "sig": _signature("\n".join(lines))})


def missing(kind: str) -> str | None:
    """Why there is no such server here."""
    if kind == "s3" and find_spec("moto") is None:
        return "there is no moto; `make setup` installs it"
    if kind == "azure" and _azurite() is None:
        return "there is no Azurite; `make setup` installs it where npm is"
    return None


def _azurite() -> Path | None:
    found = shutil.which("azurite-blob", path=Path(sys.prefix, "node/node_modules/.bin")) or shutil.which(
        "azurite-blob"
    )
    return None if found is None else Path(found)


@contextmanager
def _running(command: Sequence[str]) -> Iterator[int]:
    """The port of a server, which ends with this process, however that ends."""
    sh = ["sh", "-c", _UNTIL_STDIN_ENDS, "sh", *command]
    with subprocess.Popen(
        sh, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said: list[str] = []
        for line in process.stdout:
            said.append(line)
            if address := _ADDRESS.search(line):
                break
        else:
            raise AssertionError(f"{command[0]} did not start: {''.join(said)}")
        drain = threading.Thread(target=process.stdout.read, daemon=True)
        drain.start()
        try:
            yield int(address[1])
        finally:
            process.stdin.close()
            process.wait()
            drain.join()


def _make_container(port: int, context: ssl.SSLContext | None = None) -> None:
    tls = HTTPSConnection("127.0.0.1", port, context=context)
    connection = HTTPConnection("127.0.0.1", port) if context is None else tls
    _put(connection, f"/{ACCOUNT}/tables?restype=container", _signed(f"/{ACCOUNT}/tables\nrestype:container"))


def _put(connection: HTTPConnection, path: str, headers: Mapping[str, str]) -> None:
    connection.request("PUT", path, headers={"Content-Length": "0", **headers})
    answer = connection.getresponse()
    assert answer.status in {200, 201}, answer.read()
    connection.close()


def _signed(resource: str) -> dict[str, str]:
    """The headers of a PUT without content, signed with the key of the account."""
    own = {"x-ms-date": datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"), "x-ms-version": "2021-08-06"}
    lines = ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in own.items()), f"/{ACCOUNT}{resource}"]
    return {**own, "Authorization": f"SharedKey {ACCOUNT}:{_signature(chr(10).join(lines))}"}


def _signature(text: str) -> str:
    digest = hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()
