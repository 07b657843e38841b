"""Verbs that keep a table in good shape; its rows stay as they are. Each loads what it needs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from indextables.cli.arguments import (
    ON_PARTITIONS,
    DryRun,
    Json,
    Settings,
    Table,
    Where,
    open_table,
    parse_names,
    parse_settings,
)
from indextables.cli.output import commands_on, facts, show_json, show_metrics, show_report, show_with_commands
from indextables.config import duration_argument
from indextables.errors import IndexTablesError
from indextables.log.table_paths import refuse_file
from indextables.storage import Location
from indextables.table import IndexTable

UNFINISHED = 3
"""The exit code of a verb that has done its work and leaves something to do."""


def health(
    path: Table,
    *,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with code 3 if there are findings.")] = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Show metrics of a table, and findings with their fixes.

    Example:
      indextables health logs --exit-code
    """
    found = open_table(path, option).health()
    show_with_commands(found, path, as_json=as_json)
    if exit_code and not found.healthy:
        raise typer.Exit(UNFINISHED)


def erasure(
    path: Table,
    *,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with code 3 if such files are left.")] = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Show which files still hold deleted rows, and the steps that remove them."""
    found = open_table(path, option).erasure()
    show_with_commands(found, path, as_json=as_json, erased=found.erased, empty=found.empty)
    if exit_code and not found.empty:
        raise typer.Exit(UNFINISHED)


def check(
    path: Table,
    *,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also read splits, and compare their rows with the log and the indexes.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="N", min=1, help="Read N splits. Default: 100. Implies --deep."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Read all splits and the words of all rows. Implies --deep.")
    ] = False,
    all_versions: Annotated[
        bool, typer.Option("--all-versions", help="Also check the splits of older versions.")
    ] = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Check a table for damage and suggest repairs, without writing anything.

    Exits with code 3 if there are errors.
    """
    from indextables.cli.progress import parts_checked
    from indextables.inspect.table_check import DEFAULT_SAMPLE

    if sample is not None and everything:
        raise typer.BadParameter("--sample and --all exclude each other")
    refuse_file(Location.parse(path))
    with parts_checked() as progress:
        result = IndexTable.check_path(
            path,
            deep=deep or everything or sample is not None,
            sample=None if everything else sample or DEFAULT_SAMPLE,
            all_versions=all_versions,
            progress=progress,
            options=parse_settings(option),
        )
    show_with_commands(result, path, as_json=as_json, ok=result.ok)
    if not result.ok:
        raise typer.Exit(UNFINISHED)


def report(
    path: Table,
    *,
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="The file to write.")] = Path("report.html"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Write an HTML report about a table. With --json, print its data instead.

    Example:
      indextables report logs --output logs.html
    """
    found = open_table(path, option).report()
    if as_json:
        show_json(facts(found, commands_on(path)))
        return
    from indextables.report import html

    _write(output, html(found, commands_on(path)), replace=force)
    typer.echo(f"written: {output}")


def advise(
    path: Table,
    queries: Annotated[list[str] | None, typer.Argument(metavar="SQL", help="Queries or SQL conditions.")] = None,
    *,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", metavar="FILE", help="A file with one query per line. Can be repeated."),
    ] = None,
    expected_rows: Annotated[
        int | None,
        typer.Option(
            "--expected-rows", metavar="N", help="Advise on a table of N rows, of which the present ones are a sample."
        ),
    ] = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Recommend a layout for a set of queries, and explain why.

    Example:
      indextables advise logs "tenant = 'a' AND ts >= '2024-01-31'"
    """
    given = [*(queries or ()), *(line for each in file or () for line in _lines(each))]
    if not given:
        raise IndexTablesError("there are no queries to advise on; give some, or use --file with one query per line")
    advice, format_step = open_table(path, option).advise(given, expected_rows=expected_rows), commands_on(path)
    if as_json:
        show_json({**facts(advice), "commands": [format_step(step) for step in advice.steps]})
    else:
        typer.echo(advice.render(format_step))


def merge(
    path: Table,
    *,
    where: Annotated[str | None, ON_PARTITIONS] = None,
    target_size: Annotated[
        str | None, typer.Option("--target-size", metavar="SIZE", help="Target size of merged splits: 100M.")
    ] = None,
    max_dest_splits: Annotated[
        int | None, typer.Option("--max-dest-splits", metavar="N", help="Write at most N merged splits.")
    ] = None,
    max_source_splits_per_merge: Annotated[
        int | None,
        typer.Option("--max-source-splits-per-merge", metavar="N", help="Merge at most N splits into one."),
    ] = None,
    cluster_by: Annotated[
        list[str] | None,
        typer.Option(
            "--cluster-by", metavar="COLUMNS", help="Sort the rows of merged splits by these columns. Can be repeated."
        ),
    ] = None,
    rewrite_layout: Annotated[
        bool, typer.Option("--rewrite-layout", help="Also rewrite splits of older layouts in the current one.")
    ] = False,
    coalesce: Annotated[bool, typer.Option("--coalesce", help="Let small partitions share splits.")] = False,
    deleted_rows: Annotated[
        bool,
        typer.Option("--deleted-rows", help="Rewrite all splits that have deleted rows, and only these."),
    ] = False,
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Compact a table: merge small splits into larger ones.

    Exits with code 3 if some splits could not be merged.

    Examples:
      indextables merge logs
      indextables merge logs --where "day = '2024-01-31'" --target-size 200M --dry-run
    """
    from indextables.cli.progress import groups_merged

    table = open_table(path, option)
    with groups_merged() as progress:
        result = table.merge_splits(
            where=where,
            target_size=target_size,
            max_dest_splits=max_dest_splits,
            max_source_splits_per_merge=max_source_splits_per_merge,
            cluster_by=parse_names(cluster_by),
            rewrite_layout=rewrite_layout,
            coalesce=coalesce,
            deleted_rows=deleted_rows,
            dry_run=dry_run,
            progress=progress,
        )
    show_report(result, as_json=as_json)
    if not result.splits_before and not as_json:
        _show_findings(table, path)
    if result.conflicts or result.damaged:
        raise typer.Exit(UNFINISHED)


def _show_findings(table: IndexTable, path: str) -> None:
    """What else could be done where there was nothing to merge, such as partitions that could share splits."""
    for finding in table.health().findings:
        typer.echo(finding.render(commands_on(path)))


def reindex(
    path: Table,
    *,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="COLUMN",
            help="Reindex only splits whose index of this column is old. Can be repeated.",
        ),
    ] = None,
    where: Annotated[str | None, ON_PARTITIONS] = None,
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Rebuild the indexes of splits that were written before set-indexing.

    Exits with code 3 if some splits could not be reindexed.

    Example:
      indextables reindex logs --column message
    """
    from indextables.cli.progress import groups_merged

    table = open_table(path, option)
    with groups_merged("splits reindexed") as progress:
        result = table.reindex(parse_names(column), where=where, dry_run=dry_run, progress=progress)
    show_report(result, as_json=as_json)
    if result.conflicts or result.damaged:
        raise typer.Exit(UNFINISHED)


def purge(
    path: Table,
    *,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="SPAN", help="Keep files needed within this time: '30 days', '12h'."),
    ] = None,
    log_retention: Annotated[
        str | None,
        typer.Option("--log-retention", metavar="SPAN", help="Keep log files for this time, instead of log.retention."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Allow a retention below purge.minRetention.")] = False,
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Vacuum a table: delete files that no version within the retention needs.

    The default retention is 7 days.

    Example:
      indextables purge logs --older-than '30 days' --dry-run
    """
    result = open_table(path, option).purge(
        older_than=duration_argument(older_than, name="--older-than"),
        log_retention=duration_argument(log_retention, name="--log-retention"),
        force=force,
        dry_run=dry_run,
    )
    show_report(result, as_json=as_json)


def checkpoint(path: Table, *, option: Settings = None, as_json: Json = False) -> None:
    """Write a checkpoint of the transaction log, so that the table opens faster."""
    show_metrics(facts(open_table(path, option).checkpoint()), as_json=as_json)


def prewarm(path: Table, *, where: Where = None, option: Settings = None, as_json: Json = False) -> None:
    """Load search indexes into the cache of this machine."""
    show_metrics(facts(open_table(path, option).prewarm(where)), as_json=as_json)


def _write(file: Path, text: str, *, replace: bool) -> None:
    try:
        with file.open("w" if replace else "x", encoding="utf-8") as opened_file:
            opened_file.write(text)
    except FileExistsError:
        raise IndexTablesError(f"the file {file} exists; choose another --output, or use --force") from None
    except OSError as error:
        raise IndexTablesError(f"the report cannot be written to {file}: {error}") from error


def _lines(file: Path) -> Iterator[str]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise IndexTablesError(f"the queries in {file} cannot be read: {error}") from error
    return (line.strip() for line in text.splitlines() if line.strip())
