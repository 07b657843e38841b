"""A token server on loopback, as Microsoft Entra ID and a machine's identity service are to Azure storage.

It issues tokens to those that it knows, and records the requests. Azurite verifies the issuer, the audience and the lifetime
of a token, not its signature, and accepts tokens over TLS only.
"""

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

TENANT, CLIENT = "11111111-2222-3333-4444-555555555555", "66666666-7777-8888-9999-000000000000"
SECRET = "an0therPlanted5ecretOfTheTests"  # of whoever has one; tests/conftest.py looks for it in all output
ASSERTION = "a-service-account-of-kubernetes"
_RESOURCE = "https://storage.azure.com"
_DAY = timedelta(days=1)


class Certificates:
    """An authority of our own, and the certificate that it gave to 127.0.0.1."""

    def __init__(self, directory: Path) -> None:
        self.authority, self.certificate, self.key = (directory / name for name in ("ca.pem", "cert.pem", "key.pem"))
        root, host = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        issuer = _name("authority of the tests")
        of_root = _builder(issuer, issuer, root).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        of_host = _builder(_name("127.0.0.1"), issuer, host).add_extension(address, critical=False)
        self.authority.write_bytes(of_root.sign(root, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        self.certificate.write_bytes(of_host.sign(root, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        self.key.write_bytes(
            host.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
    )


class TokenServer:
    """`requests` are what was asked: the path of each, and its parameters."""

    def __init__(self, certificates: Certificates | None) -> None:
        self.requests: list[tuple[str, Mapping[str, str]]] = []
        self._http = _Listener(("127.0.0.1", 0), _Handler)
        self._http.tokens = self
        self._scheme = "http" if certificates is None else "https"
        if certificates is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificates.certificate, certificates.key)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextmanager
def token_server(certificates: Certificates | None = None) -> Iterator[TokenServer]:
    """With certificates over TLS, as Entra ID; without, as the identity service of a machine."""
    server = TokenServer(certificates)
    try:
        yield server
    finally:
        server.close()


class _Listener(ThreadingHTTPServer):
    tokens: TokenServer
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that does not trust us hangs up."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def tokens(self) -> TokenServer:
        return self.server.tokens  # type: ignore[attr-defined,no-any-return]

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        """The token of a service principal: by its secret, or by an assertion of a workload."""
        form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self.tokens.requests.append((self.path, form))
        known = (form.get("client_secret"), form.get("client_assertion")) in {(SECRET, None), (None, ASSERTION)}
        scope = form.get("scope") == f"{_RESOURCE}/.default"
        if self.path != f"/{TENANT}/oauth2/v2.0/token" or form.get("client_id") != CLIENT or not known or not scope:
            self._answer(401, {"error": "invalid_client", "error_description": "unknown client or secret"})
            return
        self._answer(200, {"token_type": "Bearer", "expires_in": 3600, "access_token": _token()})

    def do_GET(self) -> None:
        """The token of a machine's identity."""
        address = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(address.query).items()}
        self.tokens.requests.append((address.path, asked))
        if self.headers.get("Metadata") != "true" or asked.get("resource") != _RESOURCE:
            self._answer(400, {"error": "invalid_request"})
            return
        expires = str(int(time.time()) + 3600)
        self._answer(200, {"token_type": "Bearer", "expires_on": expires, "access_token": _token()})

    def _answer(self, status: int, content: Mapping[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _token() -> str:
    now = int(time.time())
    claims = {"aud": _RESOURCE, "iss": f"https://sts.windows.net/{TENANT}/", "appid": CLIENT}
    parts = ({"alg": "HS256", "typ": "JWT"}, {**claims, "iat": now, "nbf": now - 60, "exp": now + 3600})
    text = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*text, "signature"])
