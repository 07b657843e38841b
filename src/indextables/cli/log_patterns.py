"""Patterns of log lines: regular expressions whose named groups are columns, and some that have a name.

| name | lines |
|---|---|
| `combined` or `nginx` | access logs of Apache and nginx, with referrer and user agent |
| `common` | access logs without them |
| `logback` | `2024-05-01 10:00:00,123 [thread] LEVEL logger - message` |
| `log4j` | `2024-05-01 10:00:00,123 LEVEL [thread] logger - message` |
| | `24/05/01 10:00:00 LEVEL logger: message`, as Spark and Hadoop write |
| `python` | `2024-05-01 10:00:00,123 - logger - LEVEL - message` |
| `iso` | `2024-05-01 10:00:00,123 LEVEL message` |
| `syslog` | `May  1 10:00:00 host program[pid]: message`, or with an ISO 8601 timestamp |
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.cli.timestamp_columns import TimestampColumn
from indextables.errors import ConfigError
from indextables.kernels import sum_of
from indextables.nearest import nearest

_QUOTED = r'(?:\\.|[^"\\])*'
_ACCESS = (
    r'(?P<host>\S+) \S+ (?P<user>\S+) \[(?P<ts>[^\]]+)\] "(?P<request>(?:(?P<method>[A-Z]+) (?P<path>\S+)(?: [^" ]+)?)|'
    + _QUOTED
    + r')" (?P<status>\d{3}|-) (?P<bytes>\d+|-)'
)
_ISO_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?"
_LEVEL = (
    "(?i:trace|debug|verbose|info|information|notice|warn|warning|err|error|severe|crit|critical|alert|emerg|emergency|"
    "fatal|panic)"
)
_SPARK_TIME = r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d"
_THREAD = r"\[(?P<thread>(?:[^\[\]]|\[[^\]]*\])*)\]"
_SYSLOG_TIME = r"[A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d"
EXAMPLE = r"'(?P<ts>\S+) (?P<level>\w+) (?P<message>.*)'"


@dataclass(frozen=True, slots=True)
class LogPattern:
    """A regular expression for whole lines.

    `name` is that of a pattern that has one.
    Lines that do not match are added to the column `continued` of the row before; None if they are left out. `text` is
    searched by its words. `dash_is_null` if `-` means that there is no value. A line may match in part: it is a row, and
    has no value in the columns `recognized_by`.
    """

    regex: str
    columns: Sequence[str]
    text: str | None
    continued: str | None
    timestamp: TimestampColumn | None = None
    dash_is_null: bool = False
    name: str | None = None
    recognized_by: Sequence[str] = ()

    def __str__(self) -> str:
        return "the pattern" if self.name is None else f"the pattern {self.name!r}"

    def match(self, lines: pa.Array) -> pa.StructArray:
        """The groups of each line, null where it does not match."""
        return pc.extract_regex(lines, self.regex)

    def recognized(self, lines: pa.Array) -> int:
        """How many lines match in full."""
        groups = self.match(lines)
        return sum_of(self.in_full(pa.RecordBatch.from_struct_array(groups.filter(groups.is_valid()))))

    def in_full(self, rows: pa.RecordBatch) -> pa.Array:
        """Whether the line of each row matched in full, not in part."""
        if not self.recognized_by:
            return pa.repeat(pa.scalar(value=True), len(rows))
        texts = pc.binary_join_element_wise(*map(rows.column, self.recognized_by), "", null_handling="replace")
        return pc.not_equal(texts, "")

    def nulls(self, column: str) -> Sequence[str]:
        """The texts of a column that mean that there is no value."""
        if self.dash_is_null:
            return ("-", "")
        return ("",) if self.recognized_by and column != self.continued else ()


def _access(name: str, regex: str, *columns: str) -> LogPattern:
    names = ("host", "user", "ts", "request", "method", "path", "status", "bytes", *columns)
    time = TimestampColumn("ts", ("ts",), "%d/%b/%Y:%H:%M:%S %z")
    return LogPattern(_whole(regex), names, "request", None, time, dash_is_null=True, name=name)


def _whole(regex: str) -> str:
    return f"^(?:{regex})$"


def _with_message(name: str, regex: str, *columns: str, time: str | None = None, by: Sequence[str] = ()) -> LogPattern:
    """A pattern of lines whose message may go on in the next lines."""
    at = TimestampColumn("ts", ("ts",), time)
    return LogPattern(_whole(regex), (*columns, "message"), "message", "message", at, name=name, recognized_by=by)


PATTERNS = {
    "combined": _access(
        "combined", f'{_ACCESS} "(?P<referrer>{_QUOTED})" "(?P<agent>{_QUOTED})".*', "referrer", "agent"
    ),
    "common": _access("common", _ACCESS),
    "logback": _with_message(
        "logback",
        rf"(?P<ts>{_ISO_TIME}) +(?:{_THREAD} +(?P<level>{_LEVEL}) +(?P<logger>\S+) +- ?)?(?P<message>.*)",
        *("ts", "thread", "level", "logger"),
        by=("thread", "level", "logger"),
    ),
    "log4j": _with_message(
        "log4j",
        rf"(?P<ts>{_ISO_TIME}|{_SPARK_TIME}) +(?:(?P<level>{_LEVEL}) +(?:{_THREAD} +)?"
        r"(?:(?P<logger>\S+?)(?: +-|:)(?: |$)|-(?: |$))?)?(?P<message>.*)",
        *("ts", "level", "thread", "logger"),
        time="%y/%m/%d %H:%M:%S",
        by=("thread", "logger"),
    ),
    "python": _with_message(
        "python",
        rf"(?P<ts>{_ISO_TIME}) +(?:- +(?:(?P<logger>\S+) +- +)?(?P<level>{_LEVEL}) +-(?: |$))?(?P<message>.*)",
        *("ts", "logger", "level"),
        by=("logger", "level"),
    ),
    "iso": _with_message(
        "iso",
        rf"\[?(?P<ts>{_ISO_TIME})\]?:? +(?:[\[(]?(?P<level>{_LEVEL})[\])]?:? +)?(?P<message>.*)",
        *("ts", "level"),
        by=("level",),
    ),
    "syslog": _with_message(
        "syslog",
        rf"(?:<\d+>)?(?P<ts>{_ISO_TIME}|{_SYSLOG_TIME}) (?P<host>\S+) "
        r"(?P<program>[^:\[\s]+)(?:\[(?P<pid>\d+)\])?: ?(?P<message>.*)",
        *("ts", "host", "program", "pid"),
        time="%b %d %H:%M:%S",
    ),
}
_MORE_GENERAL = ("iso", "syslog")  # than log4j
_ALIASES = {"nginx": "combined"}


def parse_pattern(text: str) -> LogPattern:
    r"""A pattern by its name, or a regular expression with named groups.

    >>> parse_pattern(r"(?<level>\w+): (?<message>.*)").columns
    ['level', 'message']
    >>> parse_pattern("syslg")
    Traceback (most recent call last):
    indextables.errors.ConfigError: 'syslg' is neither a pattern ... did you mean 'syslog'? ...
    """
    if (name := _ALIASES.get(text, text)) in PATTERNS:
        return PATTERNS[name]
    regex = re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", text)
    names = re.findall(r"\(\?P<([^>]+)>", regex)
    if not names:
        meant = nearest(text, [*PATTERNS, *_ALIASES])
        hint = f"did you mean {meant!r}? Write" if meant else "write"
        raise ConfigError(
            f"{text!r} is neither a pattern that has a name ({', '.join(PATTERNS)}) nor a regular expression with named "
            f"groups; {hint} --pattern NAME, or --pattern {EXAMPLE}",
            key="--pattern",
            value=text,
        )
    text_column = next((name for name in names if name.lower() in {"message", "msg", "content"}), names[-1])
    pattern = LogPattern(_whole(regex), names, text_column, names[-1])
    _refuse_invalid(pattern, text)
    return pattern


def _refuse_invalid(pattern: LogPattern, text: str) -> None:
    twice = [name for name in pattern.columns if [n.lower() for n in pattern.columns].count(name.lower()) > 1]
    if twice:
        raise ConfigError(f"the pattern has two groups called {twice[0]!r}; rename one", key="--pattern", value=text)
    try:
        pattern.match(pa.array([""]))
    except pa.ArrowInvalid as error:
        raise ConfigError(
            f"--pattern {text!r} is not a regular expression that can be used: {error}; groups have names or are "
            "(?:...), and there is no look-ahead (RE2)",
            key="--pattern",
            value=text,
        ) from error


def detect_pattern(lines: pa.Array) -> LogPattern | None:
    """The pattern that has a name and matches most of the lines in full.

    It matches at least half of them, or a tenth if lines that do not match may belong to the row before. Lines of log4j
    also match more general patterns, so these are chosen only if a tenth of their lines are not of log4j.

    >>> detect_pattern(pa.array(["2024-05-01 10:00:00 INFO ready"])).name
    'iso'
    >>> detect_pattern(pa.array(["2024-05-01 10:00:00 INFO dfs.DataNode: ready"])).name
    'log4j'
    """
    matches = {name: pattern.recognized(lines) for name, pattern in PATTERNS.items()}
    best = max(matches, key=lambda name: matches[name])
    if best in _MORE_GENERAL and matches["log4j"] * 10 >= matches[best] * 9:
        best = "log4j"
    enough = 2 if PATTERNS[best].continued is None else 10
    return PATTERNS[best] if matches[best] * enough >= len(lines) > 0 else None
