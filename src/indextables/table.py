"""IndexTable: a table without Spark.

>>> import pyarrow as pa
>>> table = IndexTable.create("memory://docs/logs", pa.schema({"day": pa.string(), "message": pa.string()}),
...                           partition_by="day", fields={"message": "text"})
>>> table.append(pa.table({"day": ["mon", "mon", "tue"], "message": ["disk full", "all is well", "full again"]}))
1
>>> table.count("day = 'mon'")
2
>>> table.search("message:full", columns=["day"]).column_names
['day', '_score']

Methods import their modules on first use, so that opening a table is fast.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, cast

from indextables.config import Config, canonical, duration_argument
from indextables.display.progress_bar import shown_progress
from indextables.engine import engine
from indextables.errors import IndexTablesError, TableNotFoundError
from indextables.log import Snapshot, TransactionLog
from indextables.log.table_paths import missing_table_errors
from indextables.read.scan_output import ScanOutput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import timedelta

    import pyarrow as pa

    from indextables.inspect.erasure import ErasureReport
    from indextables.inspect.health import Health
    from indextables.inspect.layout_advice import Advice
    from indextables.inspect.listing import TableDetail
    from indextables.inspect.table_check import CheckProgress, CheckResult
    from indextables.inspect.workload import QueryInput
    from indextables.layout import Layout
    from indextables.log.log import CheckpointResult
    from indextables.maintain.alter import Change, LayoutChange
    from indextables.maintain.compact import MergeProgress, MergeResult
    from indextables.maintain.delete_rows import DeleteResult
    from indextables.maintain.drop_partitions import DropResult
    from indextables.maintain.merge_into import MergeBuilder, MergeIntoResult
    from indextables.maintain.merge_source import MergeSource
    from indextables.maintain.reindex import ReindexResult
    from indextables.maintain.restore import RestoreResult
    from indextables.maintain.update_rows import UpdateResult
    from indextables.maintain.vacuum import PurgeResult
    from indextables.predicate import Predicate
    from indextables.query import TableReference
    from indextables.read.local_indexes import PrewarmResult
    from indextables.read.opener import SplitOpener
    from indextables.read.scan import Scan
    from indextables.read.scan_plan import Explanation
    from indextables.read.sort_order import OrderBy
    from indextables.report import Report
    from indextables.schema import SchemaInput
    from indextables.search import FieldRule, FieldsInput
    from indextables.split import CacheUse
    from indextables.storage import Traffic
    from indextables.write.input_data import Data
    from indextables.write.write_job import Mode
    from indextables.write.write_progress import WriteProgress


class IndexTable(ScanOutput):
    """A table at a version. Writes through this handle advance it; commits of others are visible after `refresh()`.

    Threads may share a handle: it moves forward only. A handle is iterable, and libraries read all rows of it as of a scan:
    `len(table)`, `table.to_pandas()`, `polars.DataFrame(table)`. It is true in conditions, also where the table is empty.
    """

    def __init__(
        self,
        log: TransactionLog,
        snapshot: Snapshot | None = None,
        *,
        options: Mapping[str, str] | None = None,
        pinned: bool = False,
    ) -> None:
        if snapshot is None:
            raise TypeError(
                f"open a table with IndexTable.open({log!r:.80}), or make one with IndexTable.create or .write"
            )
        self._log = log.for_table(snapshot.metadata.id)
        self._snapshot = snapshot
        self._options = dict(options or {})
        self._pinned = pinned
        self._moving = Lock()

    @classmethod
    def create(
        cls,
        path: str | Path,
        schema: SchemaInput,
        *,
        partition_by: str | Sequence[str] | None = None,
        fields: FieldsInput | None = None,
        properties: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
        spark: Any = None,
        or_replace: bool = False,
    ) -> Self:
        """A new, empty table with the columns of a schema, which may be a mapping of names to types.

        Types are those of Arrow, or names of SQL. `partition_by` is text such as `"region, day(ts)"` or a list of such
        terms; `fields` is how columns are indexed: `text`, `string` or `none`; a list names columns that are text. `spark`
        is a session whose settings and credentials are used besides the options. With `or_replace`, a table that is there
        becomes this one in a new version: the older ones keep their columns and rows.

        >>> IndexTable.create("memory://docs/created", {"ts": "timestamp", "message": "string"}, fields=["message"])
        IndexTable('memory://docs/created', version=0)
        >>> IndexTable.create("memory://docs/created", {"id": "long"}, or_replace=True)
        IndexTable('memory://docs/created', version=1)
        """
        from indextables.maintain.alter import parsed_layout
        from indextables.schema import schema_from_input
        from indextables.search import fields_from_input
        from indextables.write.job_planning import create_table
        from indextables.write.text_columns import new_field_rules

        options = _with_session(options, spark, path)
        columns = schema_from_input(schema)
        config = Config.resolve(options, properties=properties).for_columns(columns.names)
        log = TransactionLog.open(path, config)
        layout = parsed_layout(config.write.partition_by or "" if partition_by is None else partition_by)
        chosen = new_field_rules(config, None, table=log.table, layout=layout)
        rules = {**chosen, **fields_from_input(fields)}
        snapshot = create_table(
            log, columns, layout=layout, fields=rules, properties=properties or {}, replace_existing=or_replace
        )
        return cls(log, snapshot, options=options)

    @classmethod
    def write(
        cls,
        path: str | Path,
        data: Data,
        *,
        mode: str = "errorifexists",
        partition_by: str | Sequence[str] | None = None,
        text: str | Sequence[str] | None = None,
        fields: FieldsInput | None = None,
        properties: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
        spark: Any = None,
        progress: Callable[[WriteProgress], object] | None = None,
    ) -> Self:
        """Writes data to a table, which is made if it is not there, in one commit; gives the table.

        `data` is a DataFrame of pandas (without its index) or Polars, a relation of DuckDB, Arrow data, a dataset of Arrow
        (`pyarrow.dataset.dataset("orders", partitioning="hive")`), a list of dicts or a dict of columns. `mode` is what
        happens to a table that is there: `errorifexists`, `append`, `overwrite` or `ignore`, as in Spark.

        `text` names the columns that are searched by their words: `"title, body"` or a list. With `"auto"`, the default
        where `fields` and `options` name none, they are chosen by a sample of the rows; `[]` or `"none"` chooses none. See
        `create` for the other arguments. They describe a new table; an existing one must agree with those that are given.

        >>> lines = [{"day": "mon", "message": "disk full"}, {"day": "tue", "message": "all is well"}]
        >>> table = IndexTable.write("memory://docs/written", lines, partition_by="day")
        >>> table.count(query="disk")
        1
        >>> IndexTable.write("memory://docs/written", {"day": ["wed"], "message": ["disk failed"]}, mode="append")
        IndexTable('memory://docs/written', version=1)
        """
        from indextables.maintain.alter import parsed_layout
        from indextables.maintain.replace_where import resolve_overwrite
        from indextables.write.job_planning import current_snapshot
        from indextables.write.new_table import parse_mode, refuse_other_properties, write_new_table, write_settings
        from indextables.write.write_job import Mode, refuse_existing

        how = parse_mode(mode)
        options = _with_session(options, spark, path)
        layout = None if partition_by is None else parsed_layout(partition_by)
        settings = write_settings(options, layout=layout, fields=fields, text=text)
        log = TransactionLog.open(path, Config.resolve(settings, properties=properties))
        snapshot = current_snapshot(log)
        if snapshot is None:
            with shown_progress(progress) as callback:
                after = write_new_table(
                    log,
                    data,
                    mode=how,
                    settings=settings,
                    properties=properties or {},
                    overwrite=resolve_overwrite,
                    progress=callback,
                )
            return cls(log, after, options=options)
        table = cls(log, snapshot, options=options)
        if how is Mode.ERROR:
            raise refuse_existing(table.path)
        if how is not Mode.IGNORE:
            refuse_other_properties(properties or {}, snapshot.metadata.properties, table=table.path)
            table._write(data, snapshot, settings, how, progress)
        return table

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        version: int | None = None,
        timestamp: datetime | date | str | None = None,
        options: Mapping[str, str] | None = None,
        spark: Any = None,
    ) -> Self:
        """Opens a table: the current version, or that of a version number or a timestamp (UTC if it has no zone).

        `spark` is a session whose settings and credentials are used besides the options.
        """
        _refuse_both(version, timestamp)
        options = _with_session(options, spark, path)
        log = TransactionLog.open(path, Config.resolve(options))
        at = _parse_timestamp(timestamp)
        with missing_table_errors(log.store):
            snapshot = log.snapshot(version, timestamp=at)
        return cls(log, snapshot, options=options, pinned=version is not None or timestamp is not None)

    @property
    def path(self) -> str:
        return self._log.table

    @property
    def version(self) -> int:
        return self._snapshot.version

    @property
    def schema(self) -> pa.Schema:
        return self._snapshot.metadata.arrow_schema()

    @property
    def layout(self) -> Layout:
        metadata = self._snapshot.metadata
        return metadata.layouts[metadata.current_spec_id]

    @property
    def properties(self) -> dict[str, str]:
        return dict(self._snapshot.metadata.properties)

    @property
    def fields(self) -> dict[str, FieldRule]:
        """The field rule of each column."""
        return self._rules

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return True

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, in batches; `scan` selects some of them."""
        return self.scan().to_batches()

    def to_arrow(self) -> pa.Table:
        """All rows, in memory.

        >>> table = IndexTable.write("memory://docs/all_rows", {"day": ["mon", "tue"], "n": [1, 2]})
        >>> len(table), table.to_arrow()["n"].to_pylist()
        (2, [1, 2])
        """
        return self.scan().to_arrow()

    def to_reader(self) -> pa.RecordBatchReader:
        """All rows as a stream of Arrow's, which can be read once."""
        return self.scan().to_reader()

    def __repr__(self) -> str:
        return f"IndexTable({self.path!r}, version={self.version})"

    def _repr_html_(self) -> str:
        """What the table is, for notebooks; from the log."""
        from indextables.report.report_data import column_facts
        from indextables.report.report_sections import damage_output, table_output

        facts = column_facts(self.schema, self._rules)
        try:
            return table_output(self.health(), str(self.layout), facts)
        except IndexTablesError as error:  # a cell's output is no place for a traceback
            return damage_output(self.path, facts, str(error))

    def append(
        self,
        data: Data,
        *,
        options: Mapping[str, str] | None = None,
        progress: Callable[[WriteProgress], object] | None = None,
    ) -> int:
        """Adds rows; gives the new version, or the old one where there was nothing to add.

        `progress` is called for each batch that was read and each split that was written.
        """
        from indextables.write.write_job import Mode

        return self._write(data, self._writable(), options, Mode.APPEND, progress)

    def overwrite(
        self,
        data: Data,
        *,
        options: Mapping[str, str] | None = None,
        progress: Callable[[WriteProgress], object] | None = None,
    ) -> int:
        """Replaces all rows, or with `replaceWhere` or `partitionOverwriteMode` some; gives the new version.

        With `overwriteSchema`, the columns become those of the data, and the layout that of `partitionBy`.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/overwritten", {"day": pa.string(), "n": pa.int32()}, partition_by="day")
        >>> table.overwrite(pa.table({"n": ["one"]}), options={"overwriteSchema": "true", "partitionBy": ""})
        1
        >>> table.schema.types, table.at(version=0).schema.names
        ([DataType(string)], ['day', 'n'])
        """
        from indextables.write.write_job import Mode

        return self._write(data, self._verified(), options, Mode.OVERWRITE, progress)

    def replace_where(
        self,
        data: Data | Sequence[tuple[Data, str | Predicate]],
        predicate: str | Predicate | None = None,
        *,
        options: Mapping[str, str] | None = None,
        progress: Callable[[WriteProgress], object] | None = None,
    ) -> int:
        """Replaces the rows that satisfy a condition on partition columns by others that satisfy it too.

        Pairs of data and condition are replaced together, in one commit. Gives the new version.

        >>> import pyarrow as pa
        >>> schema = pa.schema({"day": pa.string(), "n": pa.int64()})
        >>> table = IndexTable.create("memory://docs/replaced", schema, partition_by="day")
        >>> table.append(pa.table({"day": ["mon", "tue", "wed"], "n": [1, 2, 3]}))
        1
        >>> table.replace_where(pa.table({"day": ["mon"], "n": [9]}), "day IN ('mon', 'tue')")
        2
        >>> sorted(table.scan(columns=["n"]).to_arrow()["n"].to_pylist())
        [3, 9]
        """
        from indextables.maintain.replace_where import replace_where
        from indextables.write.input_data import batches_of
        from indextables.write.overwrite import refuse_contradictory_options

        refuse_contradictory_options({**(options or {}), "replaceWhere": "given"}, overwrites=True)
        config = self._config(options)
        pairs = [(batches_of(rows, self.schema), where) for rows, where in _pairs(data, predicate)]
        log = self._log.configured(config)
        with shown_progress(progress) as callback:
            after = replace_where(log, self._verified(), pairs, config, progress=callback)
        return self._after_write(after, config)

    def drop_partitions(
        self, where: str | Predicate, *, dry_run: bool = False, time_zone: str = "UTC", case_sensitive: bool = False
    ) -> DropResult:
        """Deletes the rows that satisfy a condition on partition columns; a dry run only reports.

        `time_zone` applies to times without a zone in the condition; with `case_sensitive`, column names are case-sensitive.
        """
        from indextables.maintain.drop_partitions import drop_partitions

        config = self._config(None)
        log = self._log.configured(config)
        after, dropped = drop_partitions(
            log, self._verified(), where, config, dry_run=dry_run, time_zone=time_zone, case_sensitive=case_sensitive
        )
        self._advance(after)
        return dropped

    def delete(
        self,
        where: str | Predicate | None = None,
        *,
        query: str | None = None,
        dry_run: bool = False,
        time_zone: str = "UTC",
        case_sensitive: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> DeleteResult:
        """Deletes the rows that satisfy a condition and a search; a dry run only reports. `where="true"` deletes all.

        A row for which the condition is unknown (NULL) stays. See `drop_partitions` for `time_zone` and `case_sensitive`.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/deleted", {"mail": pa.string(), "n": pa.int64()})
        >>> table.append(pa.table({"mail": ["a@x.org", "b@x.org", None, "d@x.org"], "n": [1, 2, 3, 4]}))
        1
        >>> print(table.delete("mail = 'b@x.org'"))
        1 row deleted (version 2): 1 deletion vector
        >>> table.count()
        3
        """
        from indextables.maintain.delete_rows import delete_rows
        from indextables.statements.row_changes import Delete

        config = self._config(options)
        after, result = delete_rows(
            self._log.configured(config),
            self._verified(),
            config,
            Delete(where=where, query=query),
            dry_run=dry_run,
            time_zone=time_zone,
            case_sensitive=case_sensitive,
        )
        self._advance(after)
        return result

    def restore(
        self,
        version: int | None = None,
        timestamp: datetime | date | str | None = None,
        *,
        dry_run: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> int:
        """Makes the table what it was at a version or a time: rows, columns, layout and properties. Gives the new version.

        A restore is a commit like others, so another one undoes it. Where the table is as it was, there is none. Files of
        the old version that a vacuum has deleted are a RestoreError. A dry run checks that, and gives the version that
        would be the new one; `restore_plan` says what would change.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/restored", {"n": pa.int64()})
        >>> table.append(pa.table({"n": [1, 2, 3]}))
        1
        >>> table.delete("n > 1").rows
        2
        >>> table.restore(version=1)
        3
        >>> table.count()
        3
        """
        return self._restore(version, timestamp, dry_run=dry_run, options=options).version

    def restore_plan(self, version: int | None = None, timestamp: datetime | date | str | None = None) -> RestoreResult:
        """What a restore would change; see `restore`. A RestoreError where files are gone."""
        return self._restore(version, timestamp, dry_run=True, options=None)

    def _restore(
        self,
        version: int | None,
        timestamp: datetime | date | str | None,
        *,
        dry_run: bool,
        options: Mapping[str, str] | None,
    ) -> RestoreResult:
        from indextables.maintain.restore import restore

        _refuse_both(version, timestamp)
        if version is None and timestamp is None:
            raise IndexTablesError("give the version or the timestamp that is to be restored; history() lists them")
        at = _parse_timestamp(timestamp)
        self._verified()
        log = self._log.configured(self._config(options))
        after, result = restore(log, version=version, timestamp=at, dry_run=dry_run)
        if not dry_run:
            self._advance(after)
        return result

    def update(
        self,
        updates: Mapping[str, str],
        where: str | Predicate | None = None,
        *,
        query: str | None = None,
        dry_run: bool = False,
        time_zone: str = "UTC",
        case_sensitive: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> UpdateResult:
        """Gives columns of the rows that satisfy a condition and a search, or of all rows, new values; in one commit.

        `updates` maps columns to SQL expressions, which see the old row. See `delete` for the other arguments.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/updated", {"name": pa.string(), "n": pa.int64()})
        >>> table.append(pa.table({"name": ["ann", "bob"], "n": [1, 2]}))
        1
        >>> print(table.update({"n": "n * 10", "name": "upper(name)"}, "n > 1"))
        1 row updated (version 2): 1 split rewritten (1 row copied), 1 split added
        >>> sorted(zip(*table.scan().to_arrow().to_pydict().values()))
        [('BOB', 20), ('ann', 1)]
        """
        from indextables.maintain.update_rows import update_rows
        from indextables.statements.row_changes import Update, assignments_of

        config = self._config(options)
        after, result = update_rows(
            self._log.configured(config),
            self._verified(),
            config,
            Update(assignments=assignments_of(updates), where=where, query=query),
            dry_run=dry_run,
            time_zone=time_zone,
            case_sensitive=case_sensitive,
        )
        self._after_write(after, config)
        return result

    def merge(
        self,
        source: MergeSource | IndexTable,
        on: str,
        *,
        source_alias: str = "s",
        target_alias: str = "t",
        merge_schema: bool = False,
        time_zone: str = "UTC",
        case_sensitive: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> MergeBuilder:
        """Merges rows of a source into this table (MERGE INTO); `execute` of the builder runs it, in one commit.

        `source` is data as `append` takes it, a table, a scan, or a DataFrame of Spark, which is collected. `on` is SQL; a
        null matches nothing. With `merge_schema`, columns that only the source has are added to the table.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/merged", {"id": pa.int64(), "name": pa.string()})
        >>> table.append(pa.table({"id": [1, 2], "name": ["ann", "bob"]}))
        1
        >>> news = pa.table({"id": [2, 3], "name": ["Bob", "Cleo"]})
        >>> merge = table.merge(news, "t.id = s.id").when_matched_update_all().when_not_matched_insert_all()
        >>> result = merge.execute()
        >>> result.rows_updated, result.rows_inserted, result.version
        (1, 1, 2)
        >>> sorted(table.scan(columns=["name"]).to_arrow()["name"].to_pylist())
        ['Bob', 'Cleo', 'ann']
        """
        from indextables.maintain.merge_into import MergeBuilder, merge_into
        from indextables.statements.row_changes import Merge

        rows = source.scan() if isinstance(source, IndexTable) else source

        def run(merge: Merge) -> MergeIntoResult:
            config = self._config(options)
            log, before = self._log.configured(config), self._verified()
            after, result = merge_into(
                log, before, config, merge, rows, time_zone=time_zone, case_sensitive=case_sensitive
            )
            self._after_write(after, config)
            return result

        return MergeBuilder(Merge(on=on, alias=target_alias, source_alias=source_alias, merge_schema=merge_schema), run)

    def scan(
        self,
        *,
        where: str | Predicate | None = None,
        query: str | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        order_by: OrderBy | None = None,
        offset: int = 0,
    ) -> Scan:
        """A lazy scan of the rows that satisfy a condition (SQL, or built in Python) and a search.

        `order_by` is text such as `"level, ts desc nulls last"`, or a list of such terms; nulls are sorted as in Spark SQL.
        With a limit, only the splits are read that can have one of the first rows. `offset` skips rows of the order.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/ordered", {"ts": pa.int64(), "message": pa.string()})
        >>> table.append(pa.table({"ts": [3, 1, 2], "message": ["c", "a", "b"]}))
        1
        >>> table.scan(order_by="ts desc", limit=2).to_arrow()["message"].to_pylist()
        ['c', 'b']
        """
        from indextables.read.ordered_scan import OrderedScan
        from indextables.read.scan import Scan, refuse_offset_without_order
        from indextables.read.scan_spec import build_scan_spec
        from indextables.read.sort_order import parse_order_by

        scan_spec = build_scan_spec(self._snapshot, self._rules, where=where, query=query, columns=columns)
        parallelism, options = self._config(None).read.parallelism, self._options
        if order_by is None:
            refuse_offset_without_order(offset)
            return Scan(self._snapshot, scan_spec, self._opener, limit=limit, parallelism=parallelism, options=options)
        return OrderedScan(
            self._snapshot,
            scan_spec,
            self._opener,
            order=parse_order_by(order_by, scan_spec.schema),
            offset=offset,
            limit=limit,
            parallelism=parallelism,
            options=options,
        )

    def incremental_scan(
        self,
        after: int,
        *,
        where: str | Predicate | None = None,
        query: str | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        ignore_deletes: bool = False,
        skip_change_commits: bool = False,
    ) -> Scan:
        """A lazy scan of the rows that were added after a version, as far as the version of this handle.

        A compaction adds no rows. A commit that removed rows is an error, unless it is skipped: `ignore_deletes` skips those
        that only removed rows, `skip_change_commits` all of them with the rows that they added.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/tail", pa.schema({"message": pa.string()}))
        >>> table.append(pa.table({"message": ["old"]}))
        1
        >>> seen = table.version
        >>> table.append(pa.table({"message": ["new", "newer"]}))
        2
        >>> table.incremental_scan(seen, where="message LIKE 'newe%'").to_arrow()["message"].to_pylist()
        ['newer']
        """
        from indextables.read.appended_splits import ChangePolicy
        from indextables.read.incremental_scan import scan_appended

        return scan_appended(
            self._log,
            self._snapshot,
            self._rules,
            self._opener,
            after=after,
            where=where,
            query=query,
            columns=columns,
            limit=limit,
            parallelism=self._config(None).read.parallelism,
            policy=ChangePolicy(ignore_deletes=ignore_deletes, skip_change_commits=skip_change_commits),
        )

    def count(self, where: str | Predicate | None = None, *, query: str | None = None) -> int:
        """The number of rows; from the log, where its statistics suffice."""
        return self.scan(where=where, query=query, columns=[]).count()

    def explain(
        self,
        where: str | Predicate | None = None,
        *,
        query: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Explanation:
        """What a scan would prune and read; the same as `scan(...).explain()`.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/explained", {"day": pa.string(), "n": pa.int64()}, partition_by="day")
        >>> table.append(pa.table({"day": ["mon", "tue"], "n": [1, 2]}))
        1
        >>> table.explain("day = 'mon'")
        Explanation("day = 'mon'", splits=2, pruned=1, opened=1, bytes=...)
        """
        return self.scan(where=where, query=query, columns=columns).explain()

    def search(
        self,
        query: str,
        *,
        where: str | Predicate | None = None,
        columns: Sequence[str] | None = None,
        limit: int = 10,
        order_by: OrderBy | None = None,
        offset: int = 0,
        highlight: bool = False,
    ) -> pa.Table:
        """The rows that match best, best first, with their `_score`; or the first ones in another order, see `scan`.

        `offset` skips rows: the second page of ten hits has `offset=10`. `highlight` adds a column `_highlight`: a struct of
        the text columns that the search looks in, as HTML with `<em>` around the words found; a field is null where
        no word was found.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/newest", {"ts": pa.int64(), "message": pa.string()},
        ...                           fields={"message": "text"})
        >>> table.append(pa.table({"ts": [1, 2, 3], "message": ["disk full", "all well", "disk ok"]}))
        1
        >>> table.search("disk", order_by="ts desc", columns=["message"]).column("message").to_pylist()
        ['disk ok', 'disk full']
        >>> table.search("disk", highlight=True, limit=1)["_highlight"].to_pylist()
        [{'message': '<em>disk</em> full'}]
        """
        from indextables.read.scan import shown_as_hits
        from indextables.read.sort_order import parse_order_by
        from indextables.read.top_hits import refuse_highlight_column, search_sorted, search_top, with_highlights

        scan = self.scan(where=where, query=query, columns=columns)
        if highlight:
            refuse_highlight_column(scan.scan_spec)
        if order_by is None:
            rows = search_top(scan, limit, offset=offset)
        else:
            rows = search_sorted(scan, parse_order_by(order_by, self.schema), limit, offset=offset)
        rows = with_highlights(rows, scan.scan_spec) if highlight else rows
        return shown_as_hits(rows, scan.scan_spec)

    @classmethod
    def sql(
        cls,
        text: str,
        *,
        tables: Mapping[str, IndexTable | str | Path | Data] | None = None,
        limit: int | None = None,
        time_zone: str = "UTC",
        options: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """Runs a query (SELECT) without Spark, in DuckDB's SQL with INDEXQUERY; see docs/sql.md.

        A table is named by its path in single quotes, or by a name in `tables`: of a table, a path, or data as `write`
        takes it, which is read into memory. `limit` is how many rows of the result are returned at most. `time_zone` applies
        to times without a zone; `options` are for the tables at paths.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/queried", {"level": pa.string(), "message": pa.string()},
        ...                           fields={"message": "text"})
        >>> table.append(pa.table({"level": ["WARN", "ERROR", "ERROR"], "message": ["disk slow", "disk full", "timeout"]}))
        1
        >>> found = IndexTable.sql("SELECT level, count(*) AS n FROM logs WHERE message INDEXQUERY 'disk' GROUP BY ALL "
        ...                        "ORDER BY level", tables={"logs": table})
        >>> found.to_pylist()
        [{'level': 'ERROR', 'n': 1}, {'level': 'WARN', 'n': 1}]
        """
        from indextables.display.notebooks import shown_as_grid
        from indextables.query import DuckDBSession
        from indextables.write.input_data import table_of

        _refuse_same_names(tables or {})
        known = {
            name.lower(): given if isinstance(given, IndexTable | str | Path) else table_of(given)
            for name, given in (tables or {}).items()
        }
        with DuckDBSession(time_zone=time_zone) as session:
            found = session.query(
                text, lambda reference: cls._named(reference, known, options), names=known, limit=limit
            )
        return shown_as_grid(found)

    @classmethod
    def _named(
        cls,
        reference: TableReference,
        known: Mapping[str, IndexTable | str | Path | pa.Table],
        options: Mapping[str, str] | None,
    ) -> Scan | pa.Table:
        """The rows of the table that a query names."""
        given = reference.name if reference.is_path else known.get(reference.name.lower())
        if given is None:
            raise TableNotFoundError(
                f"there is no table called {reference.name!r}; write its path in single quotes, as in FROM "
                f"'{reference.name}', or name it (tables={{{reference.name!r}: path}}, --table {reference.name}=PATH)",
                table=reference.name,
            )
        is_now = reference.version is None and reference.timestamp is None
        if not isinstance(given, IndexTable | str | Path):
            if not is_now:
                raise IndexTablesError(f"{reference.name!r} is data in memory, which has no versions; name it alone")
            return given
        table = given if isinstance(given, IndexTable) else cls.open(given, options=options)
        return (table if is_now else table.at(reference.version, reference.timestamp)).scan()

    def prewarm(self, where: str | Predicate | None = None) -> PrewarmResult:
        """Unpacks the indexes of the splits that may match a condition into the local cache."""
        from indextables.read.local_indexes import prewarm

        return prewarm(self.scan(where=where, columns=[]))

    @property
    def traffic(self) -> Traffic:
        """The requests of this handle to the store so far."""
        return self._log.store.traffic

    @property
    def cache(self) -> CacheUse:
        """Statistics of the local cache of indexes."""
        return self._opener.cache.use

    def at(self, version: int | None = None, timestamp: datetime | date | str | None = None) -> IndexTable:
        """The table as it was; such a handle never moves and cannot write."""
        _refuse_both(version, timestamp)
        snapshot = self._log.snapshot(version, timestamp=_parse_timestamp(timestamp))
        return IndexTable(self._log, snapshot, options=self._options, pinned=True)

    def refresh(self) -> Self:
        """Moves this handle to the newest version."""
        if not self._pinned:
            before = self._snapshot
            newest = self._log.snapshot()
            with self._moving:
                if self._snapshot is before or newest.version > self._snapshot.version:
                    self._snapshot = newest
        return self

    def evolve_layout(self, layout: str | Sequence[str]) -> LayoutChange:
        """Lays out what is written from now on another way; `""` means no partitioning.

        Splits that are there stay as they are, each read by the layout that it was written under:
        `merge_splits(rewrite_layout=True)` moves them.
        """
        from indextables.maintain.alter import layout_change, parsed_layout
        from indextables.write.write_plan import with_layout

        wanted = parsed_layout(layout)
        self._alter(lambda metadata: with_layout(metadata, wanted), {"partitionBy": str(wanted)})
        return layout_change(self._snapshot)

    def add_column(self, name: str, kind: str | pa.DataType, *, field: str | None = None) -> int:
        """Adds a column, null in existing rows; `field` is how a string is indexed. Returns the new version."""
        from indextables.maintain.alter import with_column
        from indextables.schema import parse_type

        arrow = parse_type(kind) if isinstance(kind, str) else kind
        return self._alter(
            lambda metadata: with_column(metadata, name, arrow, field), {"addColumn": name, "type": str(kind)}
        )

    def add_columns(self, columns: SchemaInput) -> int:
        """Adds columns in one commit, null in all rows that are there. Gives the new version."""
        from indextables.maintain.alter import with_columns
        from indextables.schema import schema_from_input

        added = schema_from_input(columns)
        return self._alter(lambda metadata: with_columns(metadata, added), {"addColumns": ", ".join(added.names)})

    def widen_column(self, name: str, kind: str | pa.DataType) -> int:
        """Gives a column a wider type: integers up to `long`, `float` to `double`. Gives the new version."""
        from indextables.maintain.alter import with_wider_column
        from indextables.schema import parse_type

        arrow = parse_type(kind) if isinstance(kind, str) else kind
        return self._alter(
            lambda metadata: with_wider_column(metadata, name, arrow), {"widenColumn": name, "type": str(kind)}
        )

    def widen_columns(self, columns: SchemaInput) -> int:
        """Gives columns wider types in one commit. Gives the new version."""
        from indextables.maintain.alter import with_wider_columns
        from indextables.schema import schema_from_input

        wider = schema_from_input(columns)
        types = dict(zip(wider.names, wider.types, strict=True))
        return self._alter(lambda metadata: with_wider_columns(metadata, types), {"widenColumns": ", ".join(types)})

    def rename_column(self, old: str, new: str) -> int:
        """Renames a column; no split is written again. Gives the new version.

        Older versions of the table keep the old name, and so do the files of older splits.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/renamed", {"msg": pa.string(), "n": pa.int64()})
        >>> table.append(pa.table({"msg": ["disk full"], "n": [1]}))
        1
        >>> table.rename_column("msg", "message")
        2
        >>> table.scan(where="message LIKE 'disk%'").to_arrow().to_pylist()
        [{'message': 'disk full', 'n': 1}]
        """
        from indextables.maintain.rename_drop import with_renamed_column

        return self._alter_columns(
            lambda metadata: with_renamed_column(metadata, old, new), {"renameColumn": old, "to": new}
        )

    def drop_column(self, name: str, *, dry_run: bool = False) -> int:
        """Drops a column; no split is written again. Gives the new version; with `dry_run`, the one that there is.

        Its values stay in the files of the splits until these are rewritten and purged. A column that is added under the
        same name later is another one: it is null in the rows that are there.
        """
        return self.drop_columns([name], dry_run=dry_run)

    def drop_columns(self, names: Sequence[str], *, missing_ok: bool = False, dry_run: bool = False) -> int:
        """Drops columns in one commit. Gives the new version."""
        from indextables.maintain.rename_drop import without_columns

        return self._alter_columns(
            lambda metadata: without_columns(metadata, names, missing_ok=missing_ok),
            {"dropColumns": ", ".join(names)},
            dry_run=dry_run,
        )

    def set_indexing(self, fields: FieldsInput) -> int:
        """Changes how columns are indexed: `text`, `string` or `none`, as in `create`. Gives the new version.

        It applies to every search from now on. New splits are indexed so at once; splits that are there keep their index
        until `reindex` or a compaction rewrites them, and are searched by the values of the column, which takes longer.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/indexing", {"message": pa.string()})
        >>> table.append(pa.table({"message": ["disk full", "all is well"]}))
        1
        >>> table.count(query="message:disk")
        0
        >>> table.set_indexing({"message": "text"})
        2
        >>> table.count(query="message:disk")
        1
        """
        from indextables.maintain.alter import with_indexing
        from indextables.search import fields_from_input

        rules = fields_from_input(fields)
        named = ", ".join(f"{column}={rule}" for column, rule in rules.items())
        return self._alter(lambda metadata: with_indexing(metadata, rules), {"setIndexing": named})

    def reindex(
        self,
        columns: str | Sequence[str] | None = None,
        *,
        where: str | Predicate | None = None,
        dry_run: bool = False,
        time_zone: str = "UTC",
        case_sensitive: bool = False,
        spark: Any = None,
        progress: Callable[[MergeProgress], object] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> ReindexResult:
        """Indexes splits anew whose columns, or some of them, are indexed in another way than the table says.

        Their rows stay as they are, and so do all splits whose index is current. `where` selects partitions; see
        `drop_partitions` for `time_zone` and `case_sensitive`. With a Spark session, executors do the work, and its
        settings and credentials are used where there are no options. A dry run only reports.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/reindexed", {"message": pa.string()})
        >>> table.append(pa.table({"message": ["disk full", "all is well"]}))
        1
        >>> table.set_indexing({"message": "text"})
        2
        >>> result = table.reindex()
        >>> result.reindexed, result.rows, result.version
        (1, 2, 3)
        >>> table.reindex().reindexed
        0
        """
        from indextables.maintain.compact import run_in_process
        from indextables.maintain.reindex import plan_only, reindex, reindex_request

        config = Config.resolve(
            options or {}, _with_session(self._options, spark, self.path), properties=self.properties
        )
        snapshot = self._verified()
        request = reindex_request(
            snapshot, columns, table=self.path, where=where, time_zone=time_zone, case_sensitive=case_sensitive
        )
        log = self._log.configured(config)
        if dry_run:
            return plan_only(log, snapshot, request, config)
        run = run_in_process if spark is None else engine("spark").compaction_runner(spark, self.path)
        with shown_progress(progress) as callback:
            after, result = reindex(log, snapshot, request, config, run=run, progress=callback)
        self._advance(after)
        return result

    def set_properties(self, properties: Mapping[str, str]) -> int:
        """Sets properties of the table: settings of writes and reads, and keys of your own. Gives the new version.

        A setting is checked, and kept under its full key.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/properties", {"n": pa.int64()})
        >>> table.set_properties({"targetRecordsPerSplit": "500000", "owner": "web"})
        1
        >>> table.properties["spark.indextables.optimizeWrite.targetRecordsPerSplit"]
        '500000'
        """
        from indextables.maintain.alter import with_properties

        return self._alter(lambda metadata: with_properties(metadata, properties), {"set": ", ".join(properties)})

    def unset_properties(self, *keys: str | Iterable[str], missing_ok: bool = False) -> int:
        """Removes properties of the table, in any spelling of their keys, or a list of them. Gives the new version."""
        from indextables.maintain.alter import without_properties

        gone = [key for given in keys for key in ([given] if isinstance(given, str) else given)]
        return self._alter(
            lambda metadata: without_properties(metadata, gone, missing_ok=missing_ok), {"unset": ", ".join(gone)}
        )

    def merge_splits(
        self,
        *,
        where: str | Predicate | None = None,
        target_size: int | str | None = None,
        max_dest_splits: int | None = None,
        max_source_splits_per_merge: int | None = None,
        cluster_by: str | Sequence[str] | None = None,
        rewrite_layout: bool = False,
        coalesce: bool = False,
        deleted_rows: bool = False,
        dry_run: bool = False,
        time_zone: str = "UTC",
        case_sensitive: bool = False,
        spark: Any = None,
        progress: Callable[[MergeProgress], object] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> MergeResult:
        """Compaction: merges small splits to the target size, with the same rows; see docs/upkeep.md.

        `where` selects partitions; see `drop_partitions` for `time_zone` and `case_sensitive`. `cluster_by` sorts
        the rows of merged splits. `rewrite_layout` also moves splits of older layouts to the current one. `coalesce` lets
        small partitions share splits, as writes with `coalesce.enabled` do. `deleted_rows` merges only splits with deleted
        rows, large and single ones too, so that these rows are in no split of the table any more. With a Spark session,
        executors rewrite them, and its settings and credentials are used where there are no options.
        """
        from indextables.maintain.compact import merge, plan_only, run_in_process
        from indextables.maintain.compaction_request import merge_request

        given = {"merge.targetSize": target_size, "merge.maxSourceSplitsPerMerge": max_source_splits_per_merge}
        own = {**(options or {}), **{key: str(v) for key, v in given.items() if v is not None}}
        config = Config.resolve(own, _with_session(self._options, spark, self.path), properties=self.properties)
        config = config.for_columns(self.schema.names)
        snapshot = self._verified()
        request = merge_request(
            snapshot,
            config,
            table=self.path,
            where=where,
            cluster_by=cluster_by,
            rewrite_layout=rewrite_layout,
            coalesce=coalesce,
            deleted_rows=deleted_rows,
            max_dest_splits=max_dest_splits,
            time_zone=time_zone,
            case_sensitive=case_sensitive,
        )
        if dry_run:
            return plan_only(snapshot, request, config)
        run = run_in_process if spark is None else engine("spark").compaction_runner(spark, self.path)
        log = self._log.configured(config)
        with shown_progress(progress) as callback:
            after, result = merge(log, snapshot, request, config, run=run, progress=callback)
        self._advance(after)
        return result

    compact = merge_splits
    """Another name of `merge_splits`."""

    def purge(
        self,
        *,
        older_than: timedelta | str | None = None,
        log_retention: timedelta | str | None = None,
        dry_run: bool = False,
        force: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> PurgeResult:
        """Vacuum: deletes files that no version within the retention needs: 7 days by default.

        `older_than` may be a text, such as `30 days` or `12h`. Files of the log are kept for `log.retention`, or for the
        `log_retention` that is given here: a checkpoint is written then, and what is older than that goes.

        Less than `purge.minRetention` has to be forced. A dry run lists what would go.
        """
        from indextables.maintain.vacuum import purge

        self._writable()
        config = self._config(options)
        retention = duration_argument(older_than, name="older_than")
        return purge(
            self._log.configured(config),
            config,
            older_than=retention,
            log_retention=duration_argument(log_retention, name="log_retention"),
            dry_run=dry_run,
            force=force,
        )

    vacuum = purge
    """Another name of `purge`."""

    def health(self) -> Health:
        """Metrics of the table, and findings, each with a fix; no split is opened."""
        from indextables.inspect.health import health

        return health(self._log, self._snapshot, self._config(None))

    def erasure(self) -> ErasureReport:
        """Which files still hold rows that are not in the table any more, and which files of the log tell of them.

        It is empty once such rows are gone from disk; it prints the steps that are left. See docs/erasure.md.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/erased", {"mail": pa.string()})
        >>> table.append(pa.table({"mail": [f"{name}@x.org" for name in "abcdefgh"]}))
        1
        >>> table.delete("mail = 'b@x.org'").rows
        1
        >>> [(file.kind.value, file.deleted_rows) for file in table.erasure().files]
        [('deleted-rows', 1)]
        >>> table.merge_splits(deleted_rows=True).deleted_rows
        1
        >>> purged = table.purge(older_than="0 days", log_retention="0 days", force=True)
        >>> table.erasure().empty
        True
        """
        from indextables.inspect.erasure import erasure_report

        return erasure_report(self._log)

    def check(
        self,
        *,
        deep: bool = False,
        sample: int | None = 100,
        all_versions: bool = False,
        progress: Callable[[CheckProgress], object] | None = None,
    ) -> CheckResult:
        """Checks the log and the files of the table for damage, as it is now (fsck); see docs/upkeep.md. It writes nothing.

        With `deep`, as many splits as `sample` says are read and compared with the log and their indexes; None is all of
        them. With `all_versions`, the splits of older versions are checked too. `check_path` is for tables that cannot be
        opened.

        >>> import pyarrow as pa
        >>> table = IndexTable.create("memory://docs/checked", {"n": pa.int64()})
        >>> table.append(pa.table({"n": [1, 2]}))
        1
        >>> print(table.check(deep=True))
        memory://docs/checked at version 1
          log         2 versions and 0 checkpoints with ...
          splits      1 with ...; 1 of them opened, with 2 rows
        <BLANKLINE>
        no findings
        """
        return _check(
            self._log.configured(self._config(None)),
            deep=deep,
            sample=sample,
            all_versions=all_versions,
            progress=progress,
        )

    @classmethod
    def check_path(
        cls,
        path: str | Path,
        *,
        deep: bool = False,
        sample: int | None = 100,
        all_versions: bool = False,
        progress: Callable[[CheckProgress], object] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> CheckResult:
        """Checks the table at a path like `check`, also where it is too damaged to be opened."""
        log = TransactionLog.open(path, Config.resolve(options or {}))
        return _check(log, deep=deep, sample=sample, all_versions=all_versions, progress=progress)

    def report(self) -> Report:
        """The data of an HTML report (`indextables.report.html`); no split is opened."""
        from indextables.report import report

        return report(self._log, self._snapshot, self._config(None), self._rules)

    def advise(self, queries: Iterable[QueryInput], *, expected_rows: int | None = None) -> Advice:
        """The layout that suits some queries (SQL or conditions, each with its weight if known); print it to see why.

        With `expected_rows`, it is for a table of this size, of which the present rows are a sample.
        """
        from indextables.inspect.column_profile import profile
        from indextables.inspect.layout_advisor import advise, columns_of
        from indextables.inspect.layout_findings import layout_findings
        from indextables.inspect.workload import read_workload

        workload = read_workload(queries, self.schema)
        known = profile(self._snapshot, columns_of(self.layout, workload), self._opener)
        if expected_rows is not None:
            return replace(advise(workload, known.with_rows(expected_rows), self.layout), present_rows=known.rows)
        findings = layout_findings(self._snapshot, self._config(None))
        return advise(workload, known, self.layout, findings=tuple(findings))

    def _alter(self, change: Change, parameters: Mapping[str, str]) -> int:
        from indextables.maintain.alter import alter

        log = self._log.configured(self._config(None))
        return self._advance(alter(log, self._writable(), change, parameters))

    def _alter_columns(self, change: Change, parameters: Mapping[str, str], *, dry_run: bool = False) -> int:
        from indextables.maintain.rename_drop import alter_columns, checked_change

        snapshot = self._writable()
        if dry_run:
            checked_change(snapshot, change, table=self.path)
            return self.version
        return self._advance(alter_columns(self._log.configured(self._config(None)), snapshot, change, parameters))

    def history(self) -> pa.Table:
        """The commits of the table, newest first: version, timestamp, operation, parameters, metrics."""
        from indextables.display.notebooks import shown_as_grid

        return shown_as_grid(self._log.history(), hidden=("read_version", "txn_id", "engine"))

    def splits(self) -> pa.Table:
        """The data files of this version: path, rows, bytes, partition, bounds."""
        from indextables.display.notebooks import shown_as_grid
        from indextables.inspect.listing import list_splits

        return shown_as_grid(list_splits(self._snapshot))

    def partitions(self) -> pa.Table:
        """The partitions of this version, with their splits, rows and bytes, and the directories that they are in."""
        from indextables.display.notebooks import shown_as_grid
        from indextables.inspect.listing import list_partitions

        return shown_as_grid(list_partitions(self._snapshot))

    def partition_names(self) -> pa.Table:
        """The partitions of this version as SHOW PARTITIONS prints them: `date=2024-01-01/app=web`."""
        from indextables.display.notebooks import shown_as_grid
        from indextables.inspect.listing import partition_names

        return shown_as_grid(partition_names(self._snapshot))

    def detail(self) -> TableDetail:
        """The table in one row, from the log: its id, location, layout, splits, rows, bytes and properties."""
        from indextables.inspect.listing import table_detail

        return table_detail(self._snapshot, self.path)

    def checkpoint(self) -> CheckpointResult:
        """Writes a checkpoint of this version; commits do so every `checkpoint.interval` versions."""
        return self._log.configured(self._config(None)).checkpoint(self._snapshot)

    @property
    def _rules(self) -> dict[str, FieldRule]:
        from indextables.write.write_plan import current_rules

        return current_rules(self._snapshot.metadata)

    @property
    def _opener(self) -> SplitOpener:
        from indextables.read.opener import SplitOpener

        return SplitOpener.of(self._log.store, self._config(None))

    def _config(self, options: Mapping[str, str] | None) -> Config:
        return Config.resolve(options or {}, self._options, properties=self.properties)

    def _writable(self) -> Snapshot:
        if self._pinned:
            raise IndexTablesError(f"{self!r} shows the past and cannot be written; open the table without a version")
        return self._snapshot

    def _verified(self) -> Snapshot:
        """The snapshot for a rewrite, after a check that the path still has the table that was opened."""
        self._log.verify_table(self._writable())
        return self._snapshot

    def _write(
        self,
        data: Data,
        snapshot: Snapshot,
        options: Mapping[str, str] | None,
        mode: Mode,
        progress: Callable[[WriteProgress], object] | None,
    ) -> int:
        """Plans a job on the snapshot, and runs it here."""
        from indextables.maintain.replace_where import resolve_overwrite
        from indextables.write.input_data import batches_of, peeked
        from indextables.write.job_planning import plan_on
        from indextables.write.overwrite import refuse_contradictory_options
        from indextables.write.text_columns import texts_of
        from indextables.write.write_job import Mode, write_and_commit
        from indextables.write.write_progress import ProgressCounter

        refuse_contradictory_options(options or {}, overwrites=mode is Mode.OVERWRITE)
        config = self._config(options)
        log = self._log.configured(config)
        replaces_schema = mode is Mode.OVERWRITE and config.write.overwrite_schema
        rows = peeked(batches_of(data, None if replaces_schema else self.schema))
        texts, rows = texts_of(rows, config) if replaces_schema else (None, rows)
        job = plan_on(
            log, snapshot, rows.schema, config, mode=mode, overwrite=resolve_overwrite, by_value=True, texts=texts
        )
        with shown_progress(progress) as callback:
            counter = ProgressCounter(callback, rows.num_rows)
            after = write_and_commit(job, rows.batches, log=log, snapshot=snapshot, counter=counter)
        return self._after_write(after, config)

    def _after_write(self, snapshot: Snapshot, config: Config) -> int:
        from indextables.maintain.compact_on_write import merge_after_write

        if snapshot.version > self._snapshot.version:
            snapshot = merge_after_write(self._log.configured(config), snapshot, config)
        return self._advance(snapshot)

    def _advance(self, snapshot: Snapshot) -> int:
        """Moves this handle to a version that it has committed, unless another thread has moved it further."""
        with self._moving:
            if snapshot.version > self._snapshot.version:
                self._snapshot = snapshot
        return snapshot.version


def _check(
    log: TransactionLog,
    *,
    deep: bool,
    sample: int | None,
    all_versions: bool,
    progress: Callable[[CheckProgress], object] | None,
) -> CheckResult:
    from indextables.inspect.table_check import check_table

    with shown_progress(progress) as callback:
        return check_table(
            log.store,
            deep=deep,
            sample=sample,
            all_versions=all_versions,
            parallelism=log.config.read.parallelism,
            progress=callback or (lambda _: None),
        )


def _refuse_same_names(tables: Mapping[str, object]) -> None:
    """Tables of a query are named in any letter case."""
    seen: dict[str, str] = {}
    for name in tables:
        if seen.setdefault(name.lower(), name) != name:
            raise IndexTablesError(f"the tables {seen[name.lower()]!r} and {name!r} have the same name but for case")


def _pairs(
    data: Data | Sequence[tuple[Data, str | Predicate]], predicate: str | Predicate | None
) -> Sequence[tuple[Data, str | Predicate]]:
    """Data with the condition that it satisfies: one pair, or those that were given."""
    if predicate is not None:
        return [(cast("Data", data), predicate)]
    pairs = data if isinstance(data, list | tuple) else []
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):  # noqa: PLR2004 - a pair
        raise IndexTablesError("give data and a condition, or a list of pairs of data and condition")
    return cast("Sequence[tuple[Data, str | Predicate]]", pairs)


def _with_session(options: Mapping[str, str] | None, spark: Any, path: str | Path) -> dict[str, str]:
    """The options, and the settings of the session, if there is one, where there is no option."""
    given = dict(options or {})
    if spark is None:
        return given
    session = canonical(engine("spark").session_settings(spark, str(path), given))
    return {**session, **canonical(given)}


def _refuse_both(version: int | None, timestamp: object) -> None:
    if version is not None and timestamp is not None:
        raise IndexTablesError("give a version or a timestamp, not both")
    if version is not None and not isinstance(version, int):
        raise IndexTablesError(f"{version!r} is not a version; they are numbered 0, 1, 2 and so on")


def _parse_timestamp(given: datetime | date | str | None) -> datetime | None:
    """Parses a timestamp; a date is midnight in UTC."""
    try:
        match given:
            case None | datetime():
                return given
            case date():
                return datetime.combine(given, time(), UTC)
            case str():
                return datetime.fromisoformat(given)
    except ValueError:
        pass
    raise IndexTablesError(f"{given!r} is not a timestamp; write it like 2024-01-31T12:00:00Z")
