"""The command `indextables`. Each verb calls the library and hands what it gives to a renderer."""

import os
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from indextables.arrow_features import skip_pandas_import
from indextables.cli import export_verb, import_verb, inspect_verbs, maintain_verbs, sql_verb, write_verbs
from indextables.cli.arguments import WORDS
from indextables.errors import IndexTablesError
from indextables.redaction import redacted
from indextables.release import __version__

_UsageError: Any = typer.BadParameter.__base__
_ONE_ARGUMENT_MORE = {
    "search": "Put a search of several words in quotes: search TABLE 'disk AND full'",
    "count": "Put the condition after --where, and a search after --query",
    "restore": "The version is given as --version N",
    "sql": "Put the query in double quotes; it names its tables itself, as in FROM 'logs'",
}


class _Verbs(TyperGroup):
    """Errors come out as one sentence; with `--debug`, as they are."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            error.message = redacted(error.message)  # arguments are quoted in it
            raise
        except BrokenPipeError:  # who read has read enough
            raise
        except (IndexTablesError, OSError) as error:
            if ctx.params["debug"]:
                raise
            typer.secho(
                f"error: {redacted(str(error))}", err=True, fg=None if "NO_COLOR" in os.environ else typer.colors.RED
            )
            raise typer.Exit(1) from None


class _Verb(TyperCommand):
    """An option that has one value may be given once: of two values, one would be lost in silence."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[WORDS] = [str(self.name), *args]
        try:
            _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        except _UsageError as error:
            if self.name == "search" and "No such option" in error.format_message():
                ctx.fail(f"{error.format_message()}. A search that begins with - follows --: search TABLE -- '-word'")
            raise
        for option in self.params:
            once = isinstance(option, TyperOption) and not (option.multiple or option.is_flag)
            if once and given.count(option) > 1:
                ctx.fail(f"{option.opts[0]} is given {given.count(option)} times; give it once")
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            if self.name in _ONE_ARGUMENT_MORE and "unexpected extra" in error.format_message():
                ctx.fail(f"{error.format_message()}. {_ONE_ARGUMENT_MORE[self.name]}")
            raise


def demo(
    lines: Annotated[int, typer.Option("--lines", metavar="N", min=1_000, help="Generate N log lines.")] = 2_000_000,
) -> None:
    """Take a tour with generated log lines. Needs PySpark and Java.

    Asks each question of the table and of plain Parquet files, and keeps the
    table for `indextables serve`.
    """
    from indextables.demo import main as tour

    tour(lines)


app = typer.Typer(
    cls=_Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Searchable lakehouse tables. Exit codes: 0 success, 1 failure, 2 usage error, 3 findings or work left.",
)
VERBS: dict[str, list[Callable[..., None]]] = {
    "Look": [
        inspect_verbs.search,
        sql_verb.sql,
        inspect_verbs.serve,
        inspect_verbs.count,
        inspect_verbs.tail,
        export_verb.export,
        inspect_verbs.info,
        inspect_verbs.schema,
        inspect_verbs.explain,
        inspect_verbs.partitions,
        inspect_verbs.splits,
        inspect_verbs.history,
    ],
    "Write": [
        import_verb.import_,
        write_verbs.update,
        write_verbs.delete,
        write_verbs.drop_partitions,
        write_verbs.restore,
        write_verbs.evolve,
        write_verbs.add_column,
        write_verbs.widen_column,
        write_verbs.rename_column,
        write_verbs.drop_column,
        write_verbs.set_indexing,
        write_verbs.set_properties,
        write_verbs.unset_properties,
    ],
    "Upkeep": [
        maintain_verbs.health,
        maintain_verbs.erasure,
        maintain_verbs.check,
        maintain_verbs.report,
        maintain_verbs.advise,
        maintain_verbs.merge,
        maintain_verbs.reindex,
        maintain_verbs.purge,
        maintain_verbs.checkpoint,
        maintain_verbs.prewarm,
    ],
    "Learn": [demo],
}
for kind, verbs in VERBS.items():
    for verb in verbs:
        name = verb.__name__.rstrip("_").replace("_", "-")
        app.command(name, cls=_Verb, short_help=(verb.__doc__ or "").split("\n")[0], rich_help_panel=kind)(verb)


ALIASES: dict[str, Callable[..., None]] = {"compact": maintain_verbs.merge, "vacuum": maintain_verbs.purge}
for alias, original in ALIASES.items():
    app.command(alias, cls=_Verb, help=f"Alias of `{original.__name__}`.", rich_help_panel="Upkeep")(original)


def _print_release(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


_Release = typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_release)


@app.callback()
def _options(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[bool, _Release] = False,
) -> None: ...


def main() -> None:
    skip_pandas_import()
    app(prog_name="indextables")
