"""Settings of writes: split sizes, layout, coalescing, commits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from indextables.config.setting import (
    boolean,
    names,
    names_or,
    natural_number,
    one_of,
    positive_integer,
    row_count,
    setting,
    setting_family,
    size,
    size_or_zero,
    text,
    whole_number,
)
from indextables.errors import ConfigError

AUTO_TEXT, NO_TEXT = "auto", "none"
"""The values of `indexing.text` that are no names of columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteConfig:
    commit_max_retries: int = setting(
        "commit.maxRetries", 30, positive_integer, "How often a commit is retried after another writer committed first."
    )
    target_records: int = setting(
        "optimizeWrite.targetRecordsPerSplit",
        1_000_000,
        positive_integer,
        "The number of rows of a full split. A split of a repartitioned Spark write may have up to a tenth more, one with "
        "more than 1 GiB of rows, uncompressed, has fewer.",
        short="targetRecordsPerSplit",
    )
    optimize_write: bool = setting(
        "optimizeWrite.enabled",
        default=True,
        parse=boolean,
        doc="Repartitions the rows of a Spark write by partition, so that splits have even sizes. Otherwise rows are "
        "written by the tasks that have them.",
    )
    collect_size: int = setting(
        "streaming.collectSize",
        256 * 1024,
        size_or_zero,
        "A task of a streaming write with at most so many bytes of rows leaves them to the driver, which writes the rows of "
        "all such tasks together; 0 for never.",
    )
    cluster_by: tuple[str, ...] = setting(
        "optimizeWrite.clusterBy", (), names, "Columns by which the rows of each split are sorted."
    )
    persist_input: str = setting(
        "optimizeWrite.persistInput",
        "auto",
        one_of("auto", "always", "never", expected="auto, always or never"),
        "Whether the rows of a Spark write are kept on the executors' disks between the count and the write, so that they "
        "are computed once: `auto` (if Spark would have to do more than read columns of files to count them), `always` or "
        "`never`; see [writing](writing.md#rows-are-computed-once).",
    )
    auto_size: bool = setting(
        "autoSize.enabled",
        default=False,
        parse=boolean,
        doc="Chooses the number of rows of a split from `autoSize.targetSplitSize` and the newest splits of the table.",
    )
    target_split_size: int | None = setting(
        "autoSize.targetSplitSize", None, size, "The target size of a split, such as 100M; required by autoSize."
    )
    input_row_count: int | None = setting(
        "autoSize.inputRowCount",
        None,
        row_count,
        "The number of rows of the write, if it is known: the rows of an unpartitioned table are then not counted.",
    )
    partition_by: str | None = setting(
        "partitionBy", None, text, "The layout of a new table, such as `region, day(ts), bucket(16, user_id)`."
    )
    replace_where: str | None = setting(
        "replaceWhere",
        None,
        text,
        "An overwrite replaces only the rows that satisfy this condition, or one of several in a JSON array.",
    )
    partition_overwrite_mode: str | None = setting(
        "partitionOverwriteMode",
        None,
        one_of("static", "dynamic", expected="static or dynamic"),
        "With `dynamic`, an overwrite replaces only the partitions that it has rows for.",
    )
    temp_directory: str | None = setting(
        "indexWriter.tempDirectoryPath",
        None,
        text,
        "The local directory in which a writer spills rows and builds splits.",
    )
    buffer_size: int = setting(
        "indexWriter.bufferSize",
        256 * 1024**2,
        size,
        "The size of the write buffer; rows beyond it are spilled to disk.",
    )
    merge_schema: bool = setting(
        "mergeSchema",
        default=False,
        parse=boolean,
        doc="An append adds columns that the table does not have (schema evolution).",
    )
    overwrite_schema: bool = setting(
        "overwriteSchema",
        default=False,
        parse=boolean,
        doc="An overwrite replaces the columns, the layout and the field types of the table together with its rows. It "
        "is an option of one write; see [replacing](replace.md#another-schema).",
    )
    txn_app_id: str | None = setting(
        "txnAppId", None, text, "The application ID of an idempotent write; each batch is written once."
    )
    txn_version: int | None = setting(
        "txnVersion", None, whole_number, "The batch number of an idempotent write, together with txnAppId."
    )
    driver_copy_rows: int = setting(
        "replaceWhere.driverRows",
        100_000,
        natural_number,
        "In an overwrite from Spark that replaces a part of some splits, executors copy the rows that stay if they are more "
        "than this; see [replacing](replace.md).",
    )
    coalesce: bool = setting(
        "coalesce.enabled",
        default=False,
        parse=boolean,
        doc="Small partitions share splits and a directory; see [coalescing](coalescing.md).",
    )
    coalesce_columns: tuple[str, ...] = setting(
        "coalesce.columns",
        (),
        names,
        "The partition fields whose values may share a split: the last ones of the layout. By default the last one.",
    )
    coalesce_min_rows: int = setting(
        "coalesce.minRows", 100_000, positive_integer, "A partition with fewer rows is small."
    )
    coalesce_min_size: int | None = setting(
        "coalesce.minSize",
        None,
        size,
        "A partition below this size is small, estimated from the newest splits of the table; without any, minRows applies.",
    )
    coalesce_max_tuples: int = setting(
        "coalesce.maxTuples",
        10_000,
        positive_integer,
        "How many partitions of a shared split the log lists; a split with more cannot be pruned by them.",
    )
    term_filter_bytes: int = setting(
        "indexing.termFilter.maxBytes",
        4096,
        natural_number,
        "The maximum size of the term filter that the log keeps of a split, by which a search for rare words opens few of "
        "many small splits. Columns whose terms do not fit are left out; 0 writes no filters. "
        "See [search](search.md#many-small-splits).",
    )
    text: str | tuple[str, ...] | None = setting(
        "indexing.text",
        None,
        names_or(AUTO_TEXT, NO_TEXT),
        "The columns of a new table that are indexed by their words, such as `title, body`; `auto` chooses them by a sample "
        "of the rows, `none` names none. Where nothing is given, `IndexTable.write` and `indextables import` choose, and "
        "Spark does not. The `indexing.typemap` of a column wins. See [search](search.md#which-columns-are-text).",
        short="text",
    )
    typemap: Mapping[str, str] = setting_family("indexing.typemap.")
    exact: Mapping[str, str] = setting_family("indexing.exact.")
    coalesce_rules: Mapping[str, str] = setting_family("coalesce.rule.")
    session_defaults: frozenset[tuple[str, str]] = frozenset()
    """The fields, with the columns where these are part of the key, whose values a session has for columns of any table."""

    @property
    def field_rules(self) -> dict[str, str]:
        """The rules of columns that `indexing.text` and `indexing.typemap` name; the latter wins, in any letter case."""
        texts = self.text if isinstance(self.text, tuple) else ()
        typed = {name.lower() for name in self.typemap}
        return {**{name: "text" for name in texts if name.lower() not in typed}, **self.typemap}

    def __post_init__(self) -> None:
        if (self.txn_app_id is None) != (self.txn_version is None):
            missing = "txnVersion" if self.txn_version is None else "txnAppId"
            raise ConfigError(f"txnAppId and txnVersion go together, and {missing} is missing", key=missing, value=None)

    def for_columns(self, names: Iterable[str]) -> Self:
        """The settings for a table with these columns: what a session says of others is left out.

        >>> defaults = frozenset({("typemap", "message"), ("cluster_by", "")})
        >>> config = WriteConfig(typemap={"message": "text"}, cluster_by=("id", "day"), session_defaults=defaults)
        >>> config.for_columns(["ID"]) == WriteConfig(cluster_by=("id",))
        True
        """
        if not self.session_defaults:
            return self
        known = {name.lower() for name in names}

        def kept(field: str, rules: Mapping[str, str]) -> dict[str, str]:
            defaults = {column for name, column in self.session_defaults if name == field}
            return {c: rule for c, rule in rules.items() if c.lower() in known or c.lower() not in defaults}

        cluster_by, text = self.cluster_by, self.text
        if ("cluster_by", "") in self.session_defaults:
            cluster_by = tuple(column for column in cluster_by if column.lower() in known)
        if ("text", "") in self.session_defaults and isinstance(text, tuple):
            text = tuple(column for column in text if column.lower() in known)
        return replace(
            self,
            typemap=kept("typemap", self.typemap),
            exact=kept("exact", self.exact),
            cluster_by=cluster_by,
            text=text,
            session_defaults=frozenset(),
        )
