"""The verb that serves the search page."""

from typing import TYPE_CHECKING, Annotated

import typer

from indextables.cli.arguments import Json, Settings, open_table

if TYPE_CHECKING:
    from indextables.serve.server import Bound


def serve(
    paths: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Paths of tables.")],
    *,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port to listen on; 0 picks a free one.")
    ] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="COLUMN", help="The time column. Default: a timestamp or date column."),
    ] = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Serve a local web page to search tables.

    Prints the address of the page with its access token, opens it in a browser,
    and runs until Ctrl-C. With --json, prints the address and the token as JSON.
    /view.json and /view.csv in place of / in the address of a view are its rows.

    Examples:
      indextables serve logs
      indextables serve logs s3://bucket/events --port 8080 --no-open
    """
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
        note = f"{host} is not a loopback address. Rows and the access token are sent unencrypted"
        typer.echo(f"warning: {note}; prefer an SSH tunnel to a loopback address", err=True)
    bound = bind_server(tables, host=host, port=port, time=time)
    run(bound, announce=announce, open_browser=None if no_open else webbrowser.open)
