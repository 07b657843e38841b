"""A server in a thread, requests to it, and rows that are hard to show."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa

from indextables import IndexTable
from indextables.serve.server import Bound, bind_server

START = datetime(2024, 1, 31, 12, tzinfo=UTC)
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "level": pa.string(),
        "host": pa.string(),
        "ok": pa.bool_(),
        "status": pa.int32(),
        "big": pa.int64(),
        "price": pa.decimal128(10, 2),
        "ratio": pa.float64(),
        "raw": pa.binary(),
        "message": pa.string(),
    }
)
MESSAGES = [
    "disk full on /var",
    "connection reset by peer",
    "😀 disk is fine",
    '<script>alert("disk")</script>',
    "=cmd|' /C calc'!A0",
    None,
]
Row = dict[str, Any]


def made_rows(first: int, count: int) -> list[Row]:
    """Rows, some of which have the same time, and some none."""
    return [
        {
            "ts": None if n % 17 == 0 else START + timedelta(minutes=n - n % 3),
            "level": [None, "INFO", "WARN", "ERROR", "INFO"][n % 5],
            "host": f"web-{n % 7}",
            "ok": [True, False, None][n % 3],
            "status": [200, 404, 500][n % 3],
            "big": 2**60 + n if n % 2 else n,
            "price": Decimal(n) / 4,
            "ratio": [0.5, float("nan"), float("inf"), None][n % 4],
            "raw": bytes([n % 256]),
            "message": MESSAGES[n % len(MESSAGES)],
        }
        for n in range(first, first + count)
    ]


class Client:
    """Requests to a server, with its token."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound

    def fetch(self, path: str, *, method: str = "GET", token: bool = True, **headers: str) -> tuple[int, Any, bytes]:
        access = self.bound.access
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent.setdefault("Authorization", f"Bearer {access.token}")
        connection = http.client.HTTPConnection("127.0.0.1", access.port, timeout=60)
        try:
            connection.request(method, path, headers=sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path: str, **parameters: Any) -> Any:
        pairs = [(key.rstrip("_"), value) for key, value in parameters.items() if value is not None]
        status, _, body = self.fetch(f"{path}?{urlencode(pairs, doseq=True)}")
        assert status == 200, body
        return json.loads(body)

    def error(self, path: str, **parameters: Any) -> tuple[int, Any]:
        status, _, body = self.fetch(f"{path}?{urlencode(parameters, doseq=True)}")
        return status, json.loads(body)["error"]


@contextmanager
def running(*tables: IndexTable, **options: Any) -> Iterator[Client]:
    bound = bind_server(tables, **options)
    thread = Thread(target=bound.run)
    thread.start()
    try:
        yield Client(bound)
    finally:
        bound.server.should_exit = True
        thread.join()
