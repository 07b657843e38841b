"""The verb that serves the search page."""

from typing import TYPE_CHECKING, Annotated

import typer

from indextables.cli.arguments import Json, Settings, open_table

if TYPE_CHECKING:
    from indextables.serve.server import Bound


def serve(
    paths: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Where the tables are.")],
    *,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to bind.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 is a free one.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the page in a browser.")] = False,
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="COLUMN", help="The time column; a timestamp or a date is chosen otherwise."),
    ] = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Search tables in a browser, on a local web page; until Ctrl-C."""
    import sys
    import webbrowser

    import msgspec

    from indextables.serve.server import bind_server, is_loopback
    from indextables.serve.server import serve as run

    def announce(bound: "Bound") -> None:
        line = msgspec.json.encode({"address": bound.address, "token": bound.access.token}).decode()
        typer.echo(line if as_json else bound.address)
        sys.stdout.flush()

    tables = [open_table(path, option) for path in paths]
    if not is_loopback(host):
        note = f"{host} is not a loopback address: the page is sent without encryption, and the token with it"
        typer.echo(f"warning: {note}; a tunnel to a loopback address is safer", err=True)
    bound = bind_server(tables, host=host, port=port, time=time)
    run(bound, announce=announce, open_browser=None if no_open else webbrowser.open)
