"""Settings: one typed object with its defaults in place.

Every setting has a key under `spark.indextables.`, which may be left out, in any letter case. It is looked for in the
options of the call, then in the session, then in the table's properties; the first that has it decides.

>>> Config.resolve({"CHECKPOINT.interval": "25"}, {"spark.indextables.checkpoint.interval": "50"}).checkpoint_interval
25
>>> Config.resolve({"checkpoint.intervall": "25"})
Traceback (most recent call last):
indextables.errors.ConfigError: there is no setting 'checkpoint.intervall'; did you mean 'spark.indextables...interval'?
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from decimal import Decimal
from typing import Any, Self

from indextables.errors import ConfigError
from indextables.nearest import nearest

PREFIX = "spark.indextables."
READ_OPTIONS = ("versionAsOf", "timestampAsOf", "where", "query", "timeZone", "caseSensitive")
"""What a read from Spark may be asked beside settings."""
_DURATION = re.compile(r"\s*([0-9]+)\s*(d|days?|h|hours?|min|minutes?|s|seconds?)\s*", re.IGNORECASE)
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)\s*", re.IGNORECASE)
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def positive_integer(text: str) -> int:
    if not re.fullmatch(r"\s*[0-9]+\s*", text) or int(text) == 0:
        raise ValueError("a whole number above zero")
    return int(text)


def natural_number(text: str) -> int:
    if not re.fullmatch(r"\s*[0-9]+\s*", text):
        raise ValueError("a whole number, zero or more")
    return int(text)


def whole_number(text: str) -> int:
    if not re.fullmatch(r"\s*-?[0-9]+\s*", text):
        raise ValueError("a whole number")
    return int(text)


def not_negative(text: str) -> int:
    if whole_number(text) < 0:
        raise ValueError("a whole number from zero up")
    return int(text)


def boolean(text: str) -> bool:
    """True or false, in any letter case.

    >>> boolean("TRUE"), boolean(" false ")
    (True, False)
    """
    try:
        return {"true": True, "false": False}[text.strip().lower()]
    except KeyError:
        raise ValueError("true or false") from None


def size(text: str) -> int:
    """A number of bytes: K, M, G and T are powers of 1024.

    >>> size("512K"), size("1.5g"), size(" 104857600 ")
    (524288, 1610612736, 104857600)
    """
    match = _SIZE.fullmatch(text)
    number = Decimal(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ") if match else Decimal(0)
    if match is None or (not match[2] and "." in match[1]) or not 1 <= number < 2**63:
        raise ValueError("a size from 1 byte up, such as 104857600, 512K, 100M or 1.5G")
    return int(number)


def text(given: str) -> str:
    return given


def names(text: str) -> tuple[str, ...]:
    """Columns, separated by commas.

    >>> names("tenant, level")
    ('tenant', 'level')
    """
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts):
        raise ValueError("the names of columns, separated by commas")
    return parts


def row_count(text: str) -> int:
    if not re.fullmatch(r"\s*[0-9]+\s*", text):
        raise ValueError("a number of rows")
    return int(text)


def overwrite_mode(text: str) -> str:
    if text.strip().lower() not in {"static", "dynamic"}:
        raise ValueError("static or dynamic")
    return text.strip().lower()


def duration(text: str) -> timedelta:
    """A span of time.

    >>> duration("7 days"), duration("36h")
    (datetime.timedelta(days=7), datetime.timedelta(days=1, seconds=43200))
    """
    match = _DURATION.fullmatch(text)
    if not match:
        raise ValueError("a number of days, hours, minutes or seconds, such as '7 days' or '12h'")
    return timedelta(**{_UNITS[match[2][0].lower()]: int(match[1])})


def span(given: timedelta | str | None, *, of: str) -> timedelta | None:
    """A span of time, or the text of one, that a user gave as `of`.

    >>> span("12h", of="older_than"), span(None, of="older_than")
    (datetime.timedelta(seconds=43200), None)
    """
    if given is None or isinstance(given, timedelta):
        return given
    try:
        return duration(str(given))
    except ValueError as error:
        raise ConfigError(f"{of} is {given!r}, but must be {error}", key=of, value=str(given)) from None


def part_size(text: str) -> int:
    if size(text) < 5 * 1024**2:
        raise ValueError("a size from 5M up, the least that S3 accepts")
    return size(text)


def _setting(
    key: str, default: Any, parse: Callable[[str], Any], doc: str, *, short: str | None = None, secret: bool = False
) -> Any:
    """A setting; a `secret` one is never shown."""
    facts = {"key": PREFIX + key, "parse": parse, "doc": doc, "short": short, "secret": secret}
    return field(default=default, repr=not secret, metadata=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    cache_directory: str | None = _setting(
        "cache.directory",
        None,
        text,
        "Where search indexes are unpacked; by default under the system's temporary files.",
    )
    cache_max_size: int = _setting(
        "cache.maxSize", 10 * 1024**3, size, "How much of the disk unpacked search indexes may take, on each machine."
    )
    checkpoint_interval: int = _setting(
        "checkpoint.interval", 10, positive_integer, "A checkpoint of the log is written every so many versions."
    )
    commit_max_retries: int = _setting(
        "commit.maxRetries", 30, positive_integer, "How often a commit is tried again after another writer was first."
    )
    log_retention: timedelta = _setting(  # noqa: RUF009 - it is a dataclass field
        "log.retention", timedelta(days=30), duration, "How long old versions of the log are kept for time travel."
    )
    tombstone_retention: timedelta = _setting(  # noqa: RUF009
        "tombstone.retention",
        timedelta(days=7),
        duration,
        "How long a checkpoint remembers the splits that were removed.",
    )
    target_records: int = _setting(
        "optimizeWrite.targetRecordsPerSplit",
        1_000_000,
        positive_integer,
        "A split is closed at so many rows.",
        short="targetRecordsPerSplit",
    )
    optimize_write: bool = _setting(
        "optimizeWrite.enabled",
        default=True,
        parse=boolean,
        doc="Spark's rows are arranged before they are written: by partition, in splits of even size. Otherwise they are "
        "written as they come.",
    )
    cluster_by: tuple[str, ...] = _setting(
        "optimizeWrite.clusterBy", (), names, "Columns by which the rows of a split are sorted."
    )
    auto_size: bool = _setting(
        "autoSize.enabled",
        default=False,
        parse=boolean,
        doc="A split gets as many rows as fill the size that it should have, going by the newest splits of the table.",
    )
    target_split_size: int | None = _setting(
        "autoSize.targetSplitSize", None, size, "The size that a split should have, such as 100M; needed by autoSize."
    )
    input_row_count: int | None = _setting(
        "autoSize.inputRowCount",
        None,
        row_count,
        "How many rows are written, where it is known: those of a table without partitions are then not counted.",
    )
    partition_by: str | None = _setting(
        "partitionBy", None, text, "The layout of a new table, such as `region, day(ts), bucket(16, user_id)`."
    )
    replace_where: str | None = _setting(
        "replaceWhere",
        None,
        text,
        "An overwrite replaces only the rows that satisfy this condition, or one of several in a JSON array.",
    )
    partition_overwrite_mode: str | None = _setting(
        "partitionOverwriteMode",
        None,
        overwrite_mode,
        "With `dynamic`, an overwrite replaces only partitions that it has rows for.",
    )
    merge_target_size: int = _setting(
        "merge.targetSize", 128 * 1024**2, size, "The size that small splits are merged to, such as 100M."
    )
    merge_max_records: int = _setting(
        "merge.maxRecordsPerSplit",
        4_000_000,
        positive_integer,
        "A merged split has at most so many rows: its index is built in memory.",
    )
    merge_max_sources: int | None = _setting(
        "merge.maxSourceSplitsPerMerge", None, positive_integer, "At most so many splits are merged into one."
    )
    merge_max_groups_per_commit: int = _setting(
        "merge.maxGroupsPerCommit",
        100,
        positive_integer,
        "A merge commits when so many groups of splits are merged, or when merge.commitInterval is over.",
    )
    merge_commit_interval: timedelta = _setting(  # noqa: RUF009
        "merge.commitInterval",
        timedelta(seconds=30),
        duration,
        "A merge commits the groups that are merged once so much time has passed since its last commit.",
    )
    merge_on_write: bool = _setting(
        "mergeOnWrite.enabled",
        default=False,
        parse=boolean,
        doc="After a write, small splits of the partitions that it touched are merged where there are many.",
    )
    merge_on_write_min_splits: int = _setting(
        "mergeOnWrite.minSplits",
        10,
        positive_integer,
        "A write merges the small splits of a partition where there are so many of them.",
    )
    purge_min_retention: timedelta = _setting(  # noqa: RUF009
        "purge.minRetention",
        timedelta(days=7),
        duration,
        "A purge keeps files that are younger: readers of older versions and writers at work may need them.",
    )
    temp_directory: str | None = _setting(
        "indexWriter.tempDirectoryPath",
        None,
        text,
        "Where a writer keeps what does not fit into memory, and builds splits.",
    )
    write_buffer: int = _setting(
        "indexWriter.bufferSize", 256 * 1024**2, size, "Rows that wait for their split go to disk beyond so many bytes."
    )
    merge_schema: bool = _setting(
        "mergeSchema",
        default=False,
        parse=boolean,
        doc="Columns that the table does not have are added to it by an append.",
    )
    txn_app_id: str | None = _setting(
        "txnAppId", None, text, "The application whose batch this is; a batch is written once."
    )
    txn_version: int | None = _setting(
        "txnVersion", None, whole_number, "The number of the batch, together with txnAppId."
    )
    read_parallelism: int = _setting(
        "read.parallelism", 8, positive_integer, "So many splits are read at once without Spark."
    )
    read_partition_bytes: int = _setting(
        "read.maxPartitionBytes", 128 * 1024**2, size, "One Spark task reads splits of about so many bytes together."
    )
    read_open_cost: int = _setting(
        "read.openCostInBytes", 4 * 1024**2, size, "Opening a split counts as so many bytes when tasks are packed."
    )
    read_min_partitions: int = _setting(
        "read.minPartitions", 8, positive_integer, "A scan gets so many Spark tasks or more, where splits are many."
    )
    driver_copy_rows: int = _setting(
        "replaceWhere.driverRows",
        100_000,
        natural_number,
        "A `replaceWhere` from Spark lets executors copy the rows that stay, if the splits that it cuts through have "
        "more rows; see [replacing](replace.md).",
    )
    read_driver_rows: int = _setting(
        "read.driverRows",
        1_000,
        natural_number,
        "Spark's driver itself reads what a search finds, if its indexes are in the local cache and no more rows are found; "
        "0: executors read always.",
    )
    coalesce: bool = _setting(
        "coalesce.enabled",
        default=False,
        parse=boolean,
        doc="Small partitions share splits and a directory; see [coalescing](coalescing.md).",
    )
    coalesce_columns: tuple[str, ...] = _setting(
        "coalesce.columns",
        (),
        names,
        "The partition fields in which partitions may differ and share a split: the last ones of the layout. By default "
        "the last one.",
    )
    coalesce_min_rows: int = _setting(
        "coalesce.minRows", 100_000, positive_integer, "A partition with fewer rows is small."
    )
    coalesce_min_size: int | None = _setting(
        "coalesce.minSize",
        None,
        size,
        "A partition of fewer bytes is small, going by the newest splits of the table; while it has none, minRows decides.",
    )
    coalesce_max_tuples: int = _setting(
        "coalesce.maxTuples",
        10_000,
        positive_integer,
        "The log lists so many partitions of a shared split; one that holds more cannot be pruned by them.",
    )
    s3_endpoint: str | None = _setting(
        "s3.endpoint",
        None,
        text,
        "The address of a store that speaks S3, such as `http://minio:9000`; AWS if not given.",
    )
    s3_region: str | None = _setting("s3.region", None, text, "The region of the bucket.")
    s3_access_key: str | None = _setting("s3.accessKey", None, text, "The name of an access key.", secret=True)
    s3_secret_key: str | None = _setting("s3.secretKey", None, text, "The secret of the access key.", secret=True)
    s3_session_token: str | None = _setting(
        "s3.sessionToken", None, text, "What temporary credentials have in addition.", secret=True
    )
    s3_path_style: bool = _setting(
        "s3.pathStyleAccess",
        default=True,
        parse=boolean,
        doc="The bucket is in the path of a request, not in the name of the host.",
    )
    s3_streaming_threshold: int = _setting(
        "s3.streamingThreshold", 100 * 1024**2, size, "A smaller file is sent in one request, in any object store."
    )
    s3_multipart_threshold: int = _setting(
        "s3.multipartThreshold", 100 * 1024**2, size, "The same; the smaller of the two decides."
    )
    s3_part_size: int = _setting(
        "s3.partSize", 64 * 1024**2, part_size, "A larger file is sent in parts of this size, in any object store."
    )
    s3_max_concurrency: int = _setting(
        "s3.maxConcurrency", 4, positive_integer, "So many parts are sent at once, and are in memory."
    )
    azure_account_name: str | None = _setting(
        "azure.accountName", None, text, "The storage account, where the location does not name it."
    )
    azure_account_key: str | None = _setting("azure.accountKey", None, text, "A key of the account.", secret=True)
    azure_tenant_id: str | None = _setting("azure.tenantId", None, text, "The directory of a service principal.")
    azure_client_id: str | None = _setting("azure.clientId", None, text, "The application of a service principal.")
    azure_client_secret: str | None = _setting(
        "azure.clientSecret", None, text, "The secret of a service principal.", secret=True
    )
    azure_sas_token: str | None = _setting("azure.sasToken", None, text, "A shared access signature.", secret=True)
    azure_endpoint: str | None = _setting(
        "azure.endpoint", None, text, "The address of the blob service, where it is not the usual one."
    )
    store_timeout: timedelta = _setting(  # noqa: RUF009
        "store.requestTimeout", timedelta(minutes=2), duration, "A request to an object store may take so long."
    )
    store_max_retries: int = _setting(
        "store.maxRetries", 10, not_negative, "How often a request that an object store failed to answer is sent again."
    )
    single_writer: bool = _setting(
        "commit.unsafeSingleWriter",
        default=False,
        parse=boolean,
        doc="Writes to an object store that cannot create a file only if it is not there. Two writers at once lose data.",
    )
    typemap: Mapping[str, str] = field(default_factory=dict)
    coalesce_rules: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.txn_app_id is None) != (self.txn_version is None):
            missing = "txnVersion" if self.txn_version is None else "txnAppId"
            raise ConfigError(f"txnAppId and txnVersion go together, and {missing} is missing", key=missing, value=None)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown to anybody."""
        values = (getattr(self, setting.name) for setting in fields(self) if setting.metadata.get("secret"))
        return tuple(value for value in values if value)

    @classmethod
    def resolve(cls, *sources: Mapping[str, str], properties: Mapping[str, str] | None = None) -> Self:
        """The settings that the sources give, the first source first, then the table's properties, then the defaults.

        Properties may also hold a user's own keys, which are left alone if they do not start with `spark.indextables.`.
        """
        given: dict[str, Any] = {}
        for name, key, value in _settings_in(properties or {}, lenient=True):
            _set(given, name, key, value)
        for source in reversed(sources):
            for name, key, value in _settings_in(source, lenient=False):
                _set(given, name, key, value)
        return cls(**given)


_FAMILIES = {"indexing.typemap.": "typemap", "coalesce.rule.": "coalesce_rules"}  # the rest of a key is the user's
_BY_KEY = {
    key.removeprefix(PREFIX).lower(): setting
    for setting in fields(Config)
    if setting.metadata
    for key in (setting.metadata["key"], setting.metadata["short"])
    if key
}
_LAST_WORDS = Counter(key.rpartition(".")[2] for key in _BY_KEY)
_BY_LAST_WORD = {word: of for key, of in _BY_KEY.items() if _LAST_WORDS[word := key.rpartition(".")[2]] == 1}
_BY_NAME = {setting.name: setting for setting in fields(Config)}


_SECRET = re.compile(
    r"(secret|password|token|signature|(access|account|secret|api|private|sas)[._-]?key)s?$", re.IGNORECASE
)


def is_secret(key: str) -> bool:
    """Whether a key, one of ours or not, says that its value is nobody's business.

    >>> [is_secret(key) for key in ("azure.accountKey", "fs.s3a.secret.key", "s3.sessionToken", "tokenizer")]
    [True, True, True, False]
    """
    return _SECRET.search(key.strip()) is not None


def canonical(source: Mapping[str, str]) -> dict[str, str]:
    """The same settings under their full keys, checked.

    >>> canonical({"TARGETrecordsPerSplit": "5", "indexing.typemap.Message": "text"})
    {'spark.indextables.optimizeWrite.targetRecordsPerSplit': '5', 'spark.indextables.indexing.typemap.message': 'text'}
    """
    found = zip(_settings_in(source, lenient=False), source.values(), strict=True)
    return {_full_key(name, rest): str(given) for (name, rest, _), given in found}


def property_key(key: str) -> str:
    """The key under which a table keeps a property: the full key of a setting, and a user's own key as it is.

    >>> property_key("TARGETrecordsPerSplit"), property_key("owner.team")
    ('spark.indextables.optimizeWrite.targetRecordsPerSplit', 'owner.team')
    """
    short = key.strip()[len(PREFIX) :] if key.strip().lower().startswith(PREFIX) else key.strip()
    family = next((start for start in _FAMILIES if short.lower().startswith(start)), None)
    if family:
        return _full_key(_FAMILIES[family], short[len(family) :])
    setting = _BY_KEY.get(short.lower())
    return key if setting is None else _full_key(setting.name, "")


def _full_key(name: str, rest: str) -> str:
    family = next((start for start, of in _FAMILIES.items() if of == name), None)
    return f"{PREFIX}{family}{rest.lower()}" if family else str(_BY_NAME[name].metadata["key"])


def _set(given: dict[str, Any], name: str, key: str, value: Any) -> None:
    if name in _FAMILIES.values():
        given.setdefault(name, {})[key] = value
    else:
        given[name] = value


def _settings_in(source: Mapping[str, str], *, lenient: bool) -> Iterator[tuple[str, str, Any]]:
    """The settings of one source: the name in Config, the rest of the key for a family of settings, the parsed value."""
    for key, given in source.items():
        short = key.strip()[len(PREFIX) :] if key.strip().lower().startswith(PREFIX) else key.strip()
        family = next((start for start in _FAMILIES if short.lower().startswith(start)), None)
        if family:
            yield _FAMILIES[family], short[len(family) :], str(given)
        elif short.lower() in _BY_KEY:
            setting = _BY_KEY[short.lower()]
            yield setting.name, "", _parsed(setting.metadata, key, str(given))
        elif not lenient or key.strip().lower().startswith(PREFIX):
            raise _unknown(key, short, str(given))


def _parsed(metadata: Mapping[str, Any], key: str, given: str) -> Any:
    try:
        return metadata["parse"](given)
    except ValueError as error:
        raise ConfigError(f"{metadata['key']} is {given!r}, but must be {error}", key=key, value=given) from None


def _unknown(key: str, short: str, given: str) -> ConfigError:
    meant = nearest(short, [*_BY_KEY, *_BY_LAST_WORD, *READ_OPTIONS])
    setting = _BY_KEY.get(meant or "") or _BY_LAST_WORD.get(meant or "")
    secret = is_secret(key) or (setting is not None and setting.metadata["secret"])
    name = meant if setting is None else setting.metadata["key"]
    hint = f"; did you mean {name!r}?" if name else ""
    if setting is None and meant and meant.lower() == short.lower():
        hint = "; it is an option of reads from Spark, and an argument of its own elsewhere"
    return ConfigError(f"there is no setting {key!r}{hint}", key=key, value=None if secret else given)


def markdown() -> str:
    """The page `docs/configuration.md`.

    >>> print(markdown().splitlines()[0])
    # Configuration
    """
    rows = [_row(setting.metadata, setting.default) for setting in fields(Config) if setting.metadata]
    return "\n".join([*_INTRODUCTION, *sorted(rows, key=str.lower), ""])


_INTRODUCTION = [
    "# Configuration",
    "",
    "<!-- written by `make docs` from src/indextables/config.py -->",
    "",
    "A setting is looked for in the options of the call, then in the Spark session, then in the table's properties; the",
    "first that has it decides. Keys may be written in any letter case, and `spark.indextables.` may be left out (except in",
    "the session). A key that does not exist is refused.",
    "",
    "```python",
    "import pyarrow as pa",
    "from indextables import IndexTable",
    "",
    'df = spark.createDataFrame([("mon", "disk full")], "day string, message string")',
    'df.write.format("indextables").option("targetRecordsPerSplit", "500000").save("logs")  # one write',
    'spark.conf.set("spark.indextables.optimizeWrite.enabled", "false")  # the session',
    'schema = pa.schema({"day": pa.string()})',
    'IndexTable.create("days", schema, properties={"spark.indextables.checkpoint.interval": "50"})  # the table',
    "```",
    "",
    "| key | default | meaning |",
    "|---|---|---|",
    f"| `{PREFIX}indexing.typemap.<column>` | `string` | How a column of strings is indexed: `text`, `string` or `none`. |",
    f"| `{PREFIX}coalesce.rule.<value>` | | The group, such as `small`, whose splits a partition shares, however large. |",
]


def _row(metadata: Mapping[str, Any], default: Any) -> str:
    key = f"`{metadata['key']}`" + (f" or `{metadata['short']}`" if metadata["short"] else "")
    return f"| {key} | {_shown(default)} | {metadata['doc']} |"


def _shown(default: Any) -> str:
    match default:
        case None | ():
            return ""
        case bool():
            return f"`{str(default).lower()}`"
        case timedelta():
            return f"`{default.days} days`" if default.days else f"`{default.seconds} s`"
        case _:
            return f"`{default}`"
