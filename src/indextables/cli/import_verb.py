"""The command `import`: files of rows to a table. Imports are lazy."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import typer

from indextables.cli.arguments import (
    WORDS,
    Columns,
    DryRun,
    Json,
    Settings,
    Table,
    parse_names,
    parse_settings,
    parse_types,
)
from indextables.cli.output import show_metrics
from indextables.config import Config, is_secret
from indextables.errors import ConfigError, LayoutError, TableNotFoundError
from indextables.kernels import sum_of
from indextables.log.table_paths import refuse_file
from indextables.nearest import nearest
from indextables.plural import agreeing, pluralize
from indextables.schema import normalize, type_name
from indextables.search.field_rules import STRING, TEXT
from indextables.storage import Location
from indextables.table import IndexTable
from indextables.write.commit_metrics import split_metrics
from indextables.write.job_planning import plan_job
from indextables.write.overwrite import refuse_contradictory_options
from indextables.write.write_job import Mode, TaskResult, WriteJob, commit_job, open_log, write_task
from indextables.write.write_progress import OnProgress, ProgressCounter

if TYPE_CHECKING:
    from indextables.cli.import_files import FileOptions, ImportedRows
    from indextables.cli.input_files import InputFile
    from indextables.cli.log_reader import UnmatchedLines
    from indextables.log.snapshot import Snapshot

_REPLACING = ("--overwrite", "--overwrite-schema")
_SHOWN_FILES = 3  # in a command
_SAMPLE = 1000  # rows that show which column is prose
_WORDS = 3  # of prose, on average
_DISTINCT = 0.05  # of the rows, at least


def import_(
    context: typer.Context,
    path: Table,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="CSV, JSON lines, Parquet, Arrow (Feather), ORC or log files, compressed or not; directories and globs of "
            "such files; - reads standard input.",
        ),
    ],
    *,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAME", help="csv, tsv, json, parquet, arrow, orc or log. Default: by file extension."
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="PATTERN",
            help="Format of log lines: combined (or nginx), common, logback, iso, syslog, or a regular expression with "
            "named groups.",
        ),
    ] = None,
    timestamp: Annotated[
        list[str] | None,
        typer.Option(
            "--timestamp",
            metavar="NAME=COLUMNS",
            help="Build a timestamp from columns: 'ts=date+time', 'ts=time as %d/%b/%Y:%H:%M:%S %z'. Can be repeated.",
        ),
    ] = None,
    partition_by: Annotated[
        list[str] | None,
        typer.Option(
            "--partition-by",
            "-p",
            metavar="LAYOUT",
            help="Layout of a new table: 'tenant, day(ts)'. Can be repeated.",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text",
            metavar="COLUMNS",
            help="Columns of a new table to index as text (words), separated by commas. Can be repeated.",
        ),
    ] = None,
    columns: Columns = None,
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=TYPE",
            help="Type of a column in CSV, JSON lines or logs: 'price=decimal(10,2)'. Can be repeated.",
        ),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", metavar="MARK", help="Delimiter of CSV files: ';'.")
    ] = None,
    bad: Annotated[
        str,
        typer.Option(
            "--bad-lines",
            metavar="stop|skip",
            help="What happens at lines of CSV and JSON lines that cannot be read: stop, or skip them and keep them in a "
            "file.",
        ),
    ] = "stop",
    bad_file: Annotated[
        Path | None,
        typer.Option(
            "--bad-lines-file",
            metavar="FILE",
            help="Where bad lines are kept. Default: FILE.bad beside the first file.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the rows of the table.")] = False,
    merge_schema: Annotated[
        bool,
        typer.Option(
            "--merge-schema",
            help="Add new columns to the table; columns missing from a file are null in its rows.",
        ),
    ] = False,
    overwrite_schema: Annotated[
        bool,
        typer.Option("--overwrite-schema", help="With --overwrite, also replace the columns, layout and field types."),
    ] = False,
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    r"""Import files into a table, and create it if it does not exist.

    Directories are read with all directories below them. Those of a Hive
    layout (country=NO/day=2024-01-01) are columns of their files.

    Examples:
      indextables import logs app.csv --text message --partition-by 'day(ts)'
      indextables import logs access.log --pattern combined
      indextables import orders orders/ --partition-by country,day
      indextables import logs jobs.log --pattern '(?P<ts>\S+) (?P<job>\w+): (?P<message>.*)'
      zcat *.jsonl.gz | indextables import logs - --format json
    """
    from indextables.cli.bad_lines import bad_lines
    from indextables.cli.input_files import input_files, note_on_left_out

    refuse_file(Location.parse(path))
    schema_options = {"mergeSchema": merge_schema, "overwriteSchema": overwrite_schema}
    options = {**parse_settings(option), **{key: "true" for key, given in schema_options.items() if given}}
    refuse_contradictory_options(options, overwrites=overwrite)
    read = _file_options(format_, delimiter, pattern, timestamp)
    table = _existing(path, options)
    fields = dict.fromkeys(parse_names(text) or (), TEXT)
    layout = ", ".join(partition_by or ())
    settings = Config.resolve(options, properties={} if table is None else table.properties).write
    is_new = table is None or settings.overwrite_schema
    if table is not None and not is_new and (layout or fields):
        raise _not_new(table, "--partition-by" if layout else "--text")
    _refuse_bad_lines_options(bad, bad_file)
    with (
        input_files(files, read.format) as inputs,
        bad_lines(bad_file or _bad_lines_file(files[0], inputs.files[0]), keep=not dry_run)
        if bad == "skip"
        else nullcontext() as kept,
    ):
        read = replace(read, bad=kept)
        from indextables.cli.import_files import rows_in
        from indextables.maintain.replace_where import resolve_overwrite

        rows = rows_in(
            inputs.files,
            parse_names(columns),
            table=None if table is None or is_new else table.schema,
            merge_schema=settings.merge_schema,
            named=parse_types(type_),
            options=read,
        )
        if is_new and not fields:
            fields = _text_of_log(rows)
        new = {f"indexing.typemap.{column}": kind for column, kind in fields.items()}
        if table is None or layout:
            new["partitionBy"] = layout
        with _timestamp_advice(layout, rows):
            job = plan_job(
                path,
                rows.schema,
                mode=Mode.ERROR if table is None else Mode.OVERWRITE if overwrite else Mode.APPEND,
                sources=[{**options, **(new if is_new else {})}],
                overwrite=resolve_overwrite,
                by_value=True,
            )
        first, batches = _peeked(rows.batches)
        count = len(inputs.files)
        source = inputs.files[0].name if count == 1 else pluralize(count, "file")
        done = _Import(path, job, source, count, inputs.left_out)
        if dry_run:
            _show_plan(done, sum(batch.num_rows for batch in batches), rows, as_json=as_json)
        else:
            _run(done, batches, rows, as_json=as_json)
        if kept is not None and kept.count and not as_json:
            typer.echo(kept.note(), err=True)
        if inputs.left_out and not as_json:
            typer.echo(note_on_left_out(inputs.left_out), err=True)
    if is_new and not layout and rows.path_columns and not as_json:
        words = context.meta[WORDS] if len(files) <= _SHOWN_FILES else []
        typer.echo(_note_on_paths(rows.path_columns, words, dry_run=dry_run), err=True)
    if table is None and not as_json and _has_only_exact_strings(job):
        typer.echo(_note_on_text(path, first, dry_run=dry_run), err=True)


def _bad_lines_file(given: Path, first: "InputFile") -> Path:
    """A name beside the first file or directory that was given."""
    return Path(f"{given if given.exists() else first.name.replace(' ', '-')}.bad")


def _refuse_bad_lines_options(bad: str, file: Path | None) -> None:
    if bad not in {"stop", "skip"}:
        raise ConfigError(f"{bad!r} is not known; use stop or skip", key="--bad-lines", value=bad)
    if file is not None and bad != "skip":
        raise ConfigError(
            "no bad lines are kept without --bad-lines skip; add it", key="--bad-lines-file", value=str(file)
        )


@dataclass(frozen=True, slots=True)
class _Import:
    """A planned import; `source` is what its files are called."""

    table: str
    job: WriteJob
    source: str
    files: int
    left_out: Sequence[str]

    def sentence(self, after: "Snapshot", added: dict[str, int]) -> str:
        """What was done; for a table that existed before, also what it holds now, from its log."""
        rows, splits = pluralize(added["numAddedRows"], "row"), pluralize(added["numAddedSplits"], "split")
        if self.job.mode is Mode.OVERWRITE:
            return (
                f"replaced the rows of {self.table} with {rows} from {self.source} ({splits}, version {after.version})"
            )
        place = f"imported {rows} from {self.source} into"
        if self.job.mode is Mode.ERROR:
            return f"{place} the new table {self.table} ({splits}, version {after.version})"
        return f"{place} {self.table}{_now_has(after)}, version {after.version})"


def _now_has(after: "Snapshot") -> str:
    from indextables.log.splits import live_rows

    counts, splits = live_rows(after.splits), pluralize(after.splits.num_rows, "split")
    rows = "" if counts.null_count else f", which now has {pluralize(sum_of(counts), 'row')}"
    return f"{rows} ({splits}"


def _file_options(
    format_: str | None, delimiter: str | None, pattern: str | None, timestamp: Sequence[str] | None
) -> "FileOptions":
    from indextables.cli.import_files import FileOptions
    from indextables.cli.input_files import FORMATS
    from indextables.cli.log_patterns import parse_pattern
    from indextables.cli.timestamp_columns import parse_timestamps

    if delimiter is not None and len(delimiter) != 1:
        raise ConfigError("the delimiter is one character", key="--delimiter", value=delimiter)
    if format_ is not None and format_ not in FORMATS:
        meant = nearest(format_, FORMATS)
        hint = f"did you mean {meant!r}? Use" if meant else "use"
        raise ConfigError(
            f"{format_!r} is not a format of files; {hint} {', '.join(FORMATS)}", key="--format", value=format_
        )
    return FileOptions(
        format=format_ or ("log" if pattern is not None else None),
        delimiter=delimiter,
        pattern=None if pattern is None else parse_pattern(pattern),
        timestamps=parse_timestamps(timestamp),
    )


@contextmanager
def _timestamp_advice(layout: str, rows: "ImportedRows") -> Iterator[None]:
    """Inside, a layout by days of a column of texts that look like times is refused with how to make them timestamps."""
    try:
        yield
    except LayoutError as error:
        from indextables.cli.timestamp_columns import timestamp_advice
        from indextables.layout.layout import Layout
        from indextables.layout.transforms import Calendar

        by_time = [field for field in Layout.parse(layout).fields if isinstance(field.transform, Calendar)]
        sources = {field.name: field.source.lower() for field in by_time}
        columns = [field for field in rows.schema if field.name.lower() == sources.get(error.field or "")]
        first = next(iter(rows.batches), None) if columns and columns[0].type == pa.string() else None
        advice = None if first is None else timestamp_advice(columns[0].name, first.column(columns[0].name))
        if advice is None:
            raise
        raise LayoutError(f"{str(error).partition(';')[0]}; {advice}", field=error.field) from None


def _peeked(batches: pa.RecordBatchReader) -> tuple[pa.RecordBatch | None, pa.RecordBatchReader]:
    """The first batch, and all of them."""
    rest = iter(batches)
    first = next(rest, None)
    everything = chain([] if first is None else [first], rest)
    return first, pa.RecordBatchReader.from_batches(batches.schema, everything)


def _show_plan(planned: _Import, count: int, rows: "ImportedRows", *, as_json: bool) -> None:
    """What an import would do; every value has been looked at, as the import would."""
    would = {Mode.ERROR: "create", Mode.OVERWRITE: "overwrite"}.get(planned.job.mode, "append")
    columns = {field.name: type_name(field.type) for field in normalize(rows.schema)}
    plan = {"table": planned.table, "would": would, "files": planned.files, "rows": count, "columns": columns}
    show_metrics({**plan, **(_details(planned, rows) if as_json else {})}, as_json=as_json)
    if not as_json:
        _note_unmatched_lines(rows)


def _run(planned: _Import, batches: pa.RecordBatchReader, rows: "ImportedRows", *, as_json: bool) -> None:
    from indextables.cli.progress import rows_imported

    with rows_imported() as progress:
        after, added = _written(planned.job, batches, progress)
    if as_json:
        found = {"table": planned.table, "version": after.version, "files": planned.files}
        found |= {"rows": added["numAddedRows"], "splits": added["numAddedSplits"]}
        show_metrics({**found, **_details(planned, rows)}, as_json=True)
        return
    typer.echo(planned.sentence(after, added))
    _note_unmatched_lines(rows)


def _details(done: _Import, rows: "ImportedRows") -> dict[str, Any]:
    """What is said in notes, for JSON."""
    return {
        **_unmatched_lines(rows),
        **({} if rows.bad is None else {"bad_lines": rows.bad.facts()}),
        **({"path_columns": list(rows.path_columns)} if rows.path_columns else {}),
        **({"files_left_out": list(done.left_out)} if done.left_out else {}),
    }


def _unmatched_lines(rows: "ImportedRows") -> dict[str, Any]:
    """How many lines of log files did not match their pattern, for JSON; empty for other files."""
    if rows.log is None:
        return {}
    lines = rows.log.unmatched
    return {"unmatched_lines": {"added_to_row_before": lines.added, "left_out": lines.left_out}}


def _note_unmatched_lines(rows: "ImportedRows") -> None:
    if rows.log is not None and rows.log.unmatched.lines:
        typer.echo(_note_on_lines(rows.log.unmatched, str(rows.log.pattern)), err=True)


def _note_on_lines(unmatched: "UnmatchedLines", pattern: str) -> str:
    lines, (added, left_out) = pluralize(unmatched.lines, "line"), (unmatched.added, unmatched.left_out)
    if added and left_out:
        what = f"{lines} did not match {pattern} ({added:,} added to the row before, {left_out:,} left out)"
    elif added:
        what = f"{lines} did not match {pattern} and {agreeing(added, 'was', 'were')} added to the row before"
    else:
        what = f"{lines} did not match {pattern} and {agreeing(left_out, 'was', 'were')} left out"
    return f"note: {what}; the first is {unmatched.first}. If it is a row, describe such lines with --pattern"


def _note_on_paths(columns: Sequence[str], words: Sequence[str], *, dry_run: bool) -> str:
    """How to partition a new table by the columns of a Hive layout; the command is given again, if its words are known."""
    layout = ["--partition-by", ",".join(columns)]
    again = layout if dry_run else [*layout, *(word for word in _REPLACING if word not in words)]
    how = f"run: indextables {join([*map(_without_secret, words), *again])}" if words else f"add {join(again)}"
    come, them = agreeing(len(columns), "comes", "come"), agreeing(len(columns), "it", "them")
    return f"note: {', '.join(columns)} {come} from the paths of the files; to partition the table by {them}, {how}"


def _without_secret(word: str) -> str:
    key, mark, _ = word.rpartition("=")
    return f"{key}{mark}***" if any(is_secret(part.removeprefix("-o")) for part in key.split("=")) else word


def _text_of_log(rows: "ImportedRows") -> dict[str, str]:
    """The column of log files that is searched by its words."""
    text = None if rows.log is None else rows.log.pattern.text
    is_text = text is not None and text in rows.schema.names and rows.schema.field(text).type == pa.string()
    return {text: TEXT} if text is not None and is_text else {}


def _has_only_exact_strings(job: WriteJob) -> bool:
    kinds = {rule.type for rule in job.plan.rules.values()}
    return STRING in kinds and TEXT not in kinds


def _note_on_text(path: str, first: pa.RecordBatch | None, *, dry_run: bool) -> str:
    """Which column should be searched by its words, and how."""
    column = None if first is None else _prose_column(first)
    note = "note: no column is indexed as text, so searches compare whole values"
    if dry_run:
        return f"{note}; --text {quote(column or 'COLUMN')} makes a column searchable by its words"
    if column is None:
        return f"{note}; `indextables set-indexing {quote(path)} COLUMN=text` makes a column searchable by its words"
    command = f"indextables set-indexing {quote(path)} {quote(f'{column}=text')}"
    return f"{note}; {column!r} looks like text; to search it by its words, run: {command}"


def _prose_column(rows: pa.RecordBatch) -> str | None:
    """The column of strings that has most words; None where none has many different values of several words.

    >>> _prose_column(pa.record_batch({"level": ["INFO", "WARN"], "text": ["the disk is full", "all is well"]}))
    'text'
    """
    sample = rows.slice(0, _SAMPLE)
    words = {field.name: _words(sample.column(field.name)) for field in rows.schema if pa.types.is_string(field.type)}
    best = max(words, key=lambda name: words[name], default=None)
    return best if best is not None and words[best] >= _WORDS else None


def _words(texts: pa.Array) -> float:
    """The average number of words; 0 where few values are repeated, as those of an enumeration are."""
    texts = texts.drop_null()
    if not len(texts) or len(texts.unique()) < max(2, _DISTINCT * len(texts)):
        return 0.0
    spaces = pc.count_substring_regex(pc.utf8_trim_whitespace(texts), r"\s+")
    return float(pc.mean(spaces).as_py() or 0) + 1


def _written(job: WriteJob, rows: pa.RecordBatchReader, progress: OnProgress) -> tuple["Snapshot", dict[str, int]]:
    """The table after a write, and the metrics of what it added; a failure leaves no files."""
    from indextables.maintain.compact_on_write import merge_after_write

    log = open_log(job)
    result = TaskResult(adds=[])
    if not job.already_committed:
        result = write_task(job, rows, task=0, store=log.store, counter=ProgressCounter(progress))
    after = commit_job(job, [result], log=log)
    return merge_after_write(log, after, job.plan.config), split_metrics(result.adds)


def _not_new(table: IndexTable, option: str) -> ConfigError:
    words = sorted(name for name, rule in table.fields.items() if rule.type == TEXT)
    return ConfigError(
        f"there is a table at {table.path} already, with the layout {str(table.layout) or 'none'!r} and the text columns "
        f"{', '.join(words) or 'none'!r}; --partition-by and --text are for new tables; `indextables evolve` changes the "
        "layout, and `indextables set-indexing` how columns are indexed",
        key=option,
        value=None,
    )


def _existing(path: str, options: dict[str, str]) -> IndexTable | None:
    try:
        return IndexTable.open(path, options=options)
    except TableNotFoundError:
        return None
