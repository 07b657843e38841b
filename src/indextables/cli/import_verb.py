"""The command `import`: files of rows to a table. Imports are lazy."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
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
from indextables.config import AUTO_TEXT, NO_TEXT, PREFIX, Config, canonical, is_secret
from indextables.errors import ConfigError, LayoutError, TableNotFoundError
from indextables.kernels import sum_of
from indextables.log.table_paths import refuse_file
from indextables.nearest import nearest
from indextables.plural import agreeing, pluralize
from indextables.schema import normalize, type_name
from indextables.search.field_rules import STRING, TEXT
from indextables.search.text_choice import SAMPLE_ROWS, text_columns_of
from indextables.storage import Location
from indextables.table import IndexTable
from indextables.write.commit_metrics import split_metrics
from indextables.write.input_data import InputRows, sampled
from indextables.write.job_planning import plan_job
from indextables.write.overwrite import refuse_contradictory_options
from indextables.write.text_columns import TEXT_SETTING, with_default_text
from indextables.write.write_job import Mode, TaskResult, WriteJob, commit_job, open_log, write_task
from indextables.write.write_progress import OnProgress, ProgressCounter

if TYPE_CHECKING:
    from indextables.cli.import_files import FileOptions, ImportedRows
    from indextables.cli.input_files import InputFile
    from indextables.cli.log_patterns import LogPattern
    from indextables.cli.log_reader import UnmatchedLines
    from indextables.log.snapshot import Snapshot

_REPLACING = ("--overwrite", "--overwrite-schema")
_SHOWN_FILES = 3  # in a command


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
            help="Format of log lines: combined (or nginx), common, logback, log4j, python, iso, syslog, or a regular "
            "expression with named groups.",
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
            help="Columns of a new table to index as text (words), separated by commas; auto chooses them by a sample of "
            "the rows, none chooses none. Can be repeated. Default: auto.",
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
    texts = parse_names(text)
    layout = ", ".join(partition_by or ())
    settings = Config.resolve(options, properties={} if table is None else table.properties).write
    is_new = table is None or settings.overwrite_schema
    if table is not None and not is_new and (layout or texts):
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
        is_chosen = False
        if is_new:
            options, is_chosen = _with_text(options, texts, rows)
            if table is None or layout:
                options[f"{PREFIX}partitionBy"] = layout
        sample, data = sampled(InputRows(rows.schema, rows.batches), SAMPLE_ROWS)
        with _timestamp_advice(layout, sample):
            job = plan_job(
                path,
                rows.schema,
                mode=Mode.ERROR if table is None else Mode.OVERWRITE if overwrite else Mode.APPEND,
                sources=[options],
                overwrite=resolve_overwrite,
                by_value=True,
                texts=lambda: [] if sample is None else text_columns_of(sample),
            )
        count = len(inputs.files)
        source = inputs.files[0].name if count == 1 else pluralize(count, "file")
        done = _Import(path, job, source, count, inputs.left_out)
        if dry_run:
            _show_plan(done, sum(batch.num_rows for batch in data.batches), rows, as_json=as_json)
        else:
            _run(done, data.batches, rows, as_json=as_json)
        if kept is not None and kept.count and not as_json:
            typer.echo(kept.note(), err=True)
        if inputs.left_out and not as_json:
            typer.echo(note_on_left_out(inputs.left_out), err=True)
    if is_new and not layout and rows.path_columns and not as_json:
        words = context.meta[WORDS] if len(files) <= _SHOWN_FILES else []
        typer.echo(_note_on_paths(rows.path_columns, words, dry_run=dry_run), err=True)
    if is_chosen and not as_json and (note := _note_on_text(done, dry_run=dry_run)) is not None:
        typer.echo(note, err=True)


def _bad_lines_file(given: Path, first: "InputFile") -> Path:
    """A name beside the first file or directory that was given."""
    if not given.exists():  # a glob, or standard input
        return Path(f"{first.name.replace(' ', '-')}.bad")
    return Path(f"{given if given.name not in {'', '..'} else given.resolve()}.bad")


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

    @property
    def text_columns(self) -> list[str]:
        return [name for name, rule in self.job.plan.rules.items() if rule.type == TEXT]

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
def _timestamp_advice(layout: str, sample: pa.Table | None) -> Iterator[None]:
    """Inside, a layout by days of a column of texts that look like times is refused with how to make them timestamps."""
    try:
        yield
    except LayoutError as error:
        from indextables.cli.timestamp_columns import timestamp_advice
        from indextables.layout.layout import Layout
        from indextables.layout.transforms import Calendar

        by_time = [field for field in Layout.parse(layout).fields if isinstance(field.transform, Calendar)]
        sources = {field.name: field.source.lower() for field in by_time}
        schema = () if sample is None else sample.schema
        named = [field for field in schema if field.name.lower() == sources.get(error.field or "")]
        texts = [field.name for field in named if field.type == pa.string()]
        advice = None if sample is None or not texts else timestamp_advice(texts[0], sample[texts[0]].combine_chunks())
        if advice is None:
            raise
        raise LayoutError(f"{str(error).partition(';')[0]}; {advice}", field=error.field) from None


def _show_plan(planned: _Import, count: int, rows: "ImportedRows", *, as_json: bool) -> None:
    """What an import would do; every value has been looked at, as the import would."""
    would = {Mode.ERROR: "create", Mode.OVERWRITE: "overwrite"}.get(planned.job.mode, "append")
    columns = {field.name: type_name(field.type) for field in normalize(rows.schema)}
    plan = {"table": planned.table, "would": would, "files": planned.files, "rows": count, "columns": columns}
    show_metrics({**plan, **(_details(planned, rows) if as_json else {})}, as_json=as_json)
    if not as_json:
        _note_unmatched_lines(rows)


def _run(planned: _Import, batches: Iterable[pa.RecordBatch], rows: "ImportedRows", *, as_json: bool) -> None:
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
        **({"text_columns": done.text_columns} if done.text_columns else {}),
    }


def _unmatched_lines(rows: "ImportedRows") -> dict[str, Any]:
    """How many lines of log files did not match their pattern, or only in part, for JSON; empty for other files."""
    if rows.log is None:
        return {}
    lines = rows.log.unmatched
    return {
        "unmatched_lines": {"added_to_row_before": lines.added, "left_out": lines.left_out},
        "partly_matched_lines": {"count": lines.partial, "first": lines.first_partial},
    }


def _note_unmatched_lines(rows: "ImportedRows") -> None:
    if rows.log is None:
        return
    unmatched = rows.log.unmatched
    if unmatched.lines:
        typer.echo(_note_on_lines(unmatched, str(rows.log.pattern)), err=True)
    if unmatched.partial:
        typer.echo(_note_on_partial_lines(unmatched, rows.log.pattern), err=True)


def _note_on_lines(unmatched: "UnmatchedLines", pattern: str) -> str:
    lines, (added, left_out) = pluralize(unmatched.lines, "line"), (unmatched.added, unmatched.left_out)
    if added and left_out:
        what = f"{lines} did not match {pattern} ({added:,} added to the row before, {left_out:,} left out)"
    elif added:
        what = f"{lines} did not match {pattern} and {agreeing(added, 'was', 'were')} added to the row before"
    else:
        what = f"{lines} did not match {pattern} and {agreeing(left_out, 'was', 'were')} left out"
    return f"note: {what}; the first is {unmatched.first}. If it is a row, describe such lines with --pattern"


def _note_on_partial_lines(unmatched: "UnmatchedLines", pattern: "LogPattern") -> str:
    count, columns = unmatched.partial, pattern.recognized_by
    begins, it = agreeing(count, "begins", "begin"), agreeing(count, "its row", "their rows")
    return (
        f"note: {pluralize(count, 'line')} {begins} with a time, but did not match the rest of {pattern}: "
        f"{', '.join(columns)} {agreeing(len(columns), 'is', 'are')} null in {it}; the first is {unmatched.first_partial}"
    )


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


def _with_text(
    options: Mapping[str, str], texts: Sequence[str] | None, rows: "ImportedRows"
) -> tuple[dict[str, str], bool]:
    """The options under full keys, with the text columns of a new table; and whether these are chosen, not named."""
    settings = canonical(options)
    if texts is not None:
        settings[TEXT_SETTING] = ", ".join(texts) or NO_TEXT
    after = with_default_text(settings, _text_of_log(rows) or AUTO_TEXT)
    return after, after != settings or after.get(TEXT_SETTING, "").strip().lower() == AUTO_TEXT


def _text_of_log(rows: "ImportedRows") -> str | None:
    """The column of log files that is searched by its words."""
    text = None if rows.log is None else rows.log.pattern.text
    return text if text in rows.schema.names and rows.schema.field(text).type == pa.string() else None


def _note_on_text(done: _Import, *, dry_run: bool) -> str | None:
    """Which columns are searched by their words, though none was named, and how to change that."""
    texts, path = done.text_columns, quote(done.table)
    others = [name for name, rule in done.job.plan.rules.items() if rule.type == STRING]
    if texts:
        is_or_would_be = "would be" if dry_run else agreeing(len(texts), "is", "are")
        note = f"note: {', '.join(texts)} {is_or_would_be} indexed as text, to be searched by words"
        command = f"indextables set-indexing {path} {' '.join(quote(f'{name}=string') for name in texts)}"
    elif others:
        note = "note: no column is indexed as text, because none looks like it, so searches compare whole values"
        column = others[0] if len(others) == 1 else "COLUMN"
        command = f"indextables set-indexing {path} {quote(f'{column}=text')}"
    else:
        return None
    return f"{note}; to change it, {'import with --text COLUMNS or --text none' if dry_run else f'run: {command}'}"


def _written(job: WriteJob, rows: Iterable[pa.RecordBatch], progress: OnProgress) -> tuple["Snapshot", dict[str, int]]:
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
