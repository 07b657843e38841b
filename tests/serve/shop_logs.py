"""Log lines of a small web shop: an ordinary afternoon with half an hour in which payments fail."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from indextables import IndexTable

START = datetime(2026, 3, 14, 9, tzinfo=UTC)
HOURS = 6
SERVICES = np.array(["gateway", "catalog", "checkout", "payments", "search", "mailer"])
HOSTS = np.array([f"web-{number:02}" for number in range(1, 9)])
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "level": pa.string(),
        "service": pa.string(),
        "host": pa.string(),
        "status": pa.int32(),
        "duration_ms": pa.float64(),
        "trace_id": pa.string(),
        "message": pa.string(),
    }
)
_TRACE = """{message}
java.net.SocketTimeoutException: connect timed out
    at com.shop.payments.BankClient.connect(BankClient.java:{line})
    at com.shop.payments.Authorization.request(Authorization.java:88)
    at com.shop.checkout.OrderService.pay(OrderService.java:214)
    ... 17 more"""
_LINES = {
    "DEBUG": ["cache hit for product {n}", "session {t} refreshed", "pool has {k} idle connections"],
    "INFO": [
        "GET /products/{n} 200 in {d} ms",
        "order {n} accepted, {k} items",
        "search for 'wool socks' returned {k} products",
        "mail to customer {n} delivered",
        "user {n} logged in from 10.0.{k}.{k}",
    ],
    "WARN": [
        "slow query: {d} ms on table orders",
        "retry {k} of payment {n} after {d} ms",
        "disk 91% full on /var/log",
    ],
    "ERROR": [
        "payment {n} failed: connection timeout after {d} ms",
        "connection reset by peer while reading order {n}",
    ],
    "FATAL": ["out of memory: worker {k} was killed"],
}
_STATUS = {"DEBUG": None, "INFO": 200, "WARN": 200, "ERROR": 504, "FATAL": 500}
_ORDINARY, _BURST = [0.16, 0.76, 0.06, 0.0195, 0.0005], [0.08, 0.40, 0.12, 0.395, 0.005]


def lines(count: int, *, seed: int = 7) -> pa.Table:
    """So many lines in the order of time."""
    random = np.random.default_rng(seed)
    busy = 1 + 0.35 * np.sin(np.linspace(0, 2 * np.pi, 72))
    busy[44:50] *= 1.9
    slots = random.choice(72, count, p=busy / busy.sum())
    seconds = np.sort((slots + random.random(count)) * HOURS * 3600 / 72)
    in_burst = (seconds > 13_200) & (seconds < 15_000)
    kinds = list(_LINES)
    levels = np.where(in_burst, random.choice(kinds, count, p=_BURST), random.choice(kinds, count, p=_ORDINARY))
    services = np.where(in_burst & np.isin(levels, ["ERROR", "FATAL"]), "payments", random.choice(SERVICES, count))
    durations = np.round(random.gamma(2, 40, count) * np.where(levels == "ERROR", 30, 1), 1)
    numbers = random.integers(10_000, 99_999, (count, 2)).tolist()
    traces = [f"{value:016x}" for value in random.integers(0, 2**63, count).tolist()]
    rows = zip(levels.tolist(), durations.tolist(), numbers, traces, strict=True)
    return pa.table(
        {
            "ts": pa.array([START + timedelta(seconds=second) for second in seconds.tolist()], SCHEMA.field("ts").type),
            "level": levels.tolist(),
            "service": services.tolist(),
            "host": random.choice(HOSTS, count).tolist(),
            "status": pa.array([_STATUS[level] for level in levels.tolist()], pa.int32()),
            "duration_ms": durations,
            "trace_id": traces,
            "message": [_message(*row) for row in rows],
        },
        schema=SCHEMA,
    )


def _message(level: str, duration: float, numbers: list[int], trace: str) -> str:
    n, other = numbers
    choices = _LINES[level]
    text = choices[other % len(choices)].format(n=n, k=other % 9 + 1, d=int(duration), t=trace[:6])
    return _TRACE.format(message=text, line=120 + other % 40) if level == "ERROR" and other % 3 == 0 else text


def shop_table(path: Path | str, count: int, *, commits: int = 4) -> IndexTable:
    """A table that has grown by appends, hour after hour."""
    table = IndexTable.create(path, SCHEMA, fields={"message": "text"})
    made, size = lines(count), -(-count // commits)
    for number in range(commits):
        table.append(made.slice(number * size, size))
    return table


def number_of(table: IndexTable, where: str | None = None, *, query: str | None = None) -> str:
    """The number of rows that are found, as the page writes it."""
    return f"{table.count(where, query=query):,}"
