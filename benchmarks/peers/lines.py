"""The rows that all systems hold: log lines over 30 days, the same for the same number of rows and the same seed.

Messages have twelve words of a vocabulary whose frequencies follow Zipf's law. Some words are planted in a known number of
rows, and no other word contains them, so that a search for the word and `LIKE '%word%'` find the same rows.
"""

from collections.abc import Iterator
from functools import cache, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PLANTED = "kestrel"  # in 1,333 rows of 2,000,000
RARE = "axolotl"  # in RARE_ROWS rows, however many there are
RARE_ROWS = 3
COMMON = "retry"  # one of the first words of the vocabulary: in about a tenth of the rows
BY_HITS = {1: "quasar", 10: "pulsar", 100: "nebula", 1_000: "meteor", 10_000: "comet", 100_000: "galaxy"}
DAYS = 30
CHUNK = 250_000
_WORDS = 12
_VOCABULARY = 24_000
_DAY = 86_400_000_000
_START = 20_454 * _DAY  # 2026-01-01T00:00Z
_JITTER = 2_000_000
_FAMILIAR = (  # noqa: SIM905 - words in a sentence
    "request failed for user connection closed by peer timeout after retry accepted session opened from port error "
    "reading response invalid token received disconnect worker started queue full cache miss write ahead snapshot"
).split()
_SYLLABLES = (  # noqa: SIM905 - likewise
    "ba be bi bo bra ca ce cho co cra da de di do dra fa fe fi fo ga ge gi go gra ha he hi ho ja jo ka ke ki la le li lo "
    "ma me mi mo na ne ni no pa pe pi po pra qua ra re ri ro sa se sha si so sta ta te ti to tra va ve vi vo wa we xi za ze"
).split()
_LEVELS = ("INFO", "WARN", "ERROR", "DEBUG"), (0.78, 0.12, 0.07, 0.03)
_STATUS = (
    (200, 201, 204, 301, 304, 400, 401, 403, 404, 429, 500, 503),
    (0.7, 0.06, 0.05, 0.03, 0.05, 0.02, 0.02, 0.01, 0.03, 0.01, 0.01, 0.01),
)


@lru_cache(maxsize=1)
def lines(rows: int, seed: int = 7) -> pa.Table:
    """All rows in memory; the last table is kept."""
    return pa.concat_tables(chunks(rows, seed)).combine_chunks()


def chunks(rows: int, seed: int = 7) -> Iterator[pa.Table]:
    planted = _planted_rows(rows, seed)
    for start in range(0, rows, CHUNK):
        yield _chunk(start, min(rows, start + CHUNK), rows, seed, planted)


def planted_hits(rows: int) -> int:
    return max(1, round(1_333 * rows / 2_000_000))


def hit_counts(rows: int) -> dict[int, str]:
    """The planted words by the number of their rows; the most frequent ones are not planted in small tables."""
    return {hits: word for hits, word in BY_HITS.items() if hits <= rows // 20}


@cache
def vocabulary() -> list[str]:
    """Words in the order of their frequency: those of log lines, and invented ones that can be pronounced."""
    random, reserved = np.random.default_rng(20), {PLANTED, RARE, *BY_HITS.values()}
    words = dict.fromkeys(_FAMILIAR)
    while len(words) < _VOCABULARY:
        for picks in random.choice(_SYLLABLES, (_VOCABULARY, 4)):
            words.setdefault("".join(picks[: random.integers(2, 5)]))
    return [word for word in words if not any(name in word for name in reserved)][:_VOCABULARY]


def _planted_rows(rows: int, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng([seed, rows])
    wanted = {PLANTED: planted_hits(rows), RARE: min(RARE_ROWS, rows)}
    wanted |= {word: hits for hits, word in hit_counts(rows).items()}
    return {word: np.sort(random.choice(rows, hits, replace=False)) for word, hits in wanted.items()}


def _chunk(start: int, stop: int, rows: int, seed: int, planted: dict[str, np.ndarray]) -> pa.Table:
    random, count = np.random.default_rng([seed, start]), stop - start
    ts = _times(random, start, stop, rows)
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us", "UTC")),
            "level": _picked(random, *_LEVELS, count),
            "service": _named(random.integers(0, 20, count), "service-{}", 20),
            "tenant": _named(_skewed(random, 1_000, count), "tenant-{:04}", 1_000),
            "status": _picked(random, *_STATUS, count).cast(pa.int32()),
            "latency": pa.array(random.lognormal(3, 1.2, count).astype(np.int32)),
            "trace_id": _hexadecimal(random.integers(0, 256, (count, 16), np.uint8)),
            "message": _messages(random, start, stop, planted),
            "date": pa.array((ts // _DAY).astype(np.int32), pa.date32()),
        }
    )


def _times(random: np.random.Generator, start: int, stop: int, rows: int) -> np.ndarray:
    """Microseconds that ascend but for two seconds of jitter, within the 30 days."""
    even = np.arange(start, stop) * (DAYS * _DAY // rows)
    return _START + np.clip(even + random.integers(-_JITTER, _JITTER, stop - start), 0, DAYS * _DAY - 1)


def _messages(random: np.random.Generator, start: int, stop: int, planted: dict[str, np.ndarray]) -> pa.Array:
    words = pa.array([*vocabulary(), *planted])
    numbers = _skewed(random, _VOCABULARY, (stop - start, _WORDS))
    for position, (rows, number) in enumerate(zip(planted.values(), range(_VOCABULARY, len(words)), strict=True)):
        numbers[rows[(rows >= start) & (rows < stop)] - start, position] = number
    return pc.binary_join_element_wise(*(words.take(pa.array(column)) for column in numbers.T), " ")


def _skewed(random: np.random.Generator, kinds: int, shape: int | tuple[int, ...]) -> np.ndarray:
    """Numbers below `kinds` of which the n-th has a share of about 1/n, as Zipf and Mandelbrot found it in texts."""
    shares = 1 / (np.arange(kinds) + 2.7) ** 1.05
    return np.searchsorted(np.cumsum(shares / shares.sum()), random.random(shape)).clip(max=kinds - 1)


def _picked(random: np.random.Generator, values: tuple[object, ...], shares: tuple[float, ...], count: int) -> pa.Array:
    return pa.array(values).take(pa.array(random.choice(len(values), count, p=shares)))


def _named(numbers: np.ndarray, pattern: str, kinds: int) -> pa.Array:
    return pa.array([pattern.format(kind) for kind in range(kinds)]).take(pa.array(numbers))


def _hexadecimal(values: np.ndarray) -> pa.Array:
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    text = np.stack([digits[values >> 4], digits[values & 15]], axis=-1)
    width = 2 * values.shape[1]
    offsets = np.arange(len(values) + 1, dtype=np.int32) * width
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(offsets), pa.py_buffer(text.tobytes()))
