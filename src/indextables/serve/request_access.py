"""Who may ask: requests need the token, the host that was bound, and a page of this server as their origin.

A page of any other site can send requests to a server on this machine. It does not know the token; the browser does not
send the cookie with its requests; and a name of its own that it points to this machine (DNS rebinding) is not in `Host`.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_REFUSAL_PAGE = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>indextables</title>"
    "<h1>Open the printed address</h1>"
    "<p>This page needs the token of its server. Open the address that <code>indextables serve</code> has printed; "
    'it ends with the token. If you have opened it in this browser already, <a href="">load this page again</a>.'
)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ANY_ADDRESS = ("0.0.0.0", "::", "")  # noqa: S104 - compared with, not bound


@dataclass(frozen=True, slots=True)
class Access:
    """The token of a server, and the host and port that it is bound to."""

    token: str
    host: str
    port: int

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies of one host are sent to all of its ports."""
        return f"indextables-{self.port}"

    def is_own_host(self, host: str) -> bool:
        """Whether a Host header names this server.

        >>> access = Access("secret", "127.0.0.1", 8000)
        >>> [access.is_own_host(host) for host in ("localhost:8000", "127.0.0.1:8000", "evil.example:8000", "localhost")]
        [True, True, False, False]
        """
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return self.port == 80 and name == "" and port in self._names()  # noqa: PLR2004 - http's own port
        return name.lower() in self._names() or (self.host in ANY_ADDRESS and _is_address(name))

    def _names(self) -> set[str]:
        own = f"[{self.host}]" if ":" in self.host else self.host
        return {*_LOOPBACK, own.lower()}

    def is_token(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def has_token(self, headers: Headers) -> bool:
        """Whether the cookie or the Authorization header has the token."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.is_token(given.strip())
        return self.is_token(_cookies(headers).get(self.cookie))


def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _cookies(headers: Headers) -> Mapping[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


class AccessMiddleware:
    """Refuses requests that may not be answered, and adds the security headers to every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _secured(message["headers"])
            await send(message)

        answer = self._refusal(scope) or self._app
        await answer(scope, receive, send_secured)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if not self._access.is_own_host(headers.get("host", "")):
            return PlainTextResponse("this server has another name", status_code=421)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("only GET and HEAD", status_code=405, headers={"allow": "GET, HEAD"})
        is_page = scope["path"] == "/"
        if is_page and (answer := self._with_token(scope)) is not None:
            return answer
        if not is_page and _is_foreign(headers):
            return _refused("a request of another site is not answered", 403)
        if not self._access.has_token(headers):
            return HTMLResponse(_REFUSAL_PAGE, 401) if is_page else _refused("the token is missing or wrong", 401)
        return None

    def _with_token(self, scope: Scope) -> Response | None:
        """The token in the address becomes a cookie, and the address loses it."""
        given = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in given if name == "token"]
        if not tokens:
            return None
        if len(tokens) > 1 or not self._access.is_token(tokens[0]):
            return HTMLResponse(_REFUSAL_PAGE, 401)
        rest = urlencode([pair for pair in given if pair[0] != "token"])
        answer = RedirectResponse("/" + (f"?{rest}" if rest else ""), status_code=303)
        answer.set_cookie(self._access.cookie, self._access.token, httponly=True, samesite="strict", path="/")
        return answer


def _is_foreign(headers: Headers) -> bool:
    """Whether a browser says that a page of another origin sends the request."""
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and origin != f"http://{headers.get('host', '')}"


def _refused(message: str, status: int) -> Response:
    hint = "open the address that indextables serve has printed, or send its token as Authorization: Bearer TOKEN"
    return JSONResponse({"error": {"message": message, "position": None, "hint": hint}}, status)


def _secured(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    given = {name.lower() for name, _ in headers}
    own = {"cache-control": "no-store", **SECURITY_HEADERS}
    return [*headers, *((k.encode(), v.encode()) for k, v in own.items() if k.encode() not in given)]
