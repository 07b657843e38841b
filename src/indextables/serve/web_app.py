"""The web application: routes, downloads as JSON and CSV, and errors as JSON."""

import csv
import io
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from importlib.resources import files
from typing import Any

import msgspec
import pyarrow as pa
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from indextables.errors import (
    ConfigError,
    IndexTablesError,
    PredicateError,
    SchemaError,
    SearchQueryError,
    StorageError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.redaction import redacted
from indextables.serve.api_answers import Api, shown_columns
from indextables.serve.json_values import cells, utf16_offset
from indextables.serve.query_threads import Cancellation, QueryEndedError, QueryThreads, TooManyQueriesError
from indextables.serve.request_access import Access, AccessMiddleware
from indextables.serve.served_tables import ServedTables
from indextables.serve.view_rows import page_of, rows_at
from indextables.serve.view_state import MAX_DOWNLOAD, Parameters, parse_state

logger = logging.getLogger(__name__)
_WORD = re.compile(r"\w+")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}
_STATUS: list[tuple[type[Exception], int]] = [
    (TooManyQueriesError, 503),
    (QueryEndedError, 504),
    (TableNotFoundError, 404),
    (VersionNotFoundError, 404),
    (SearchQueryError, 400),
    (PredicateError, 400),
    (ConfigError, 400),
    (SchemaError, 400),
    (StorageError, 502),
    (IndexTablesError, 400),
]


def web_app(tables: ServedTables, access: Access, threads: QueryThreads) -> Starlette:
    """The application that serves some tables."""
    api, page = Api(tables), _page_files()

    def answers(method: Callable[[Parameters, Cancellation], Any]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            result = await threads.run(lambda query: method(request.query_params, query), _gone(request))
            return _json(result)

        return _guarded(endpoint)

    async def index(_request: Request) -> Response:
        return _page_file(page, "index.html")

    async def page_file(request: Request) -> Response:
        return _page_file(page, request.path_params["name"])

    def download(kind: str) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            rows = await threads.run(lambda query: _rows(api, request.query_params, query), _gone(request))
            pieces = (json_pieces if kind == "json" else csv_pieces)(rows)
            kinds = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
            disposition = {"content-disposition": f'attachment; filename="view.{kind}"'}
            return StreamingResponse(pieces, media_type=kinds[kind], headers=disposition)

        return _guarded(endpoint)

    methods = [api.table, api.hits, api.count, api.histogram, api.facets, api.complete]
    methods += [api.check, api.advice, api.row, api.context, api.snippets]
    routes = [
        Route("/", index),
        Route("/page/{name}", page_file),
        Route("/api/tables", answers(api.list_tables)),
        *(Route(f"/api/{method.__name__}", answers(method)) for method in methods),
        Route("/view.json", download("json")),
        Route("/view.csv", download("csv")),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(AccessMiddleware, access=access)],
        exception_handlers={IndexTablesError: _error, HTTPException: _http_error, OSError: _error},
    )


def _rows(api: Api, given: Parameters, query: Cancellation) -> Any:
    shown, state = api.shown(given), parse_state(given, max_size=MAX_DOWNLOAD)
    view = shown.view(state, check=query.check)
    page = page_of(view, state.sort, offset=state.offset, size=state.size)
    return rows_at(view, page.ids, shown_columns(state, shown.schema))


def _gone(request: Request) -> Callable[[], Any]:
    """Waits until the client has closed the connection."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return gone


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def _error(_request: Request, error: Exception) -> Response:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    text = error.reason if isinstance(error, SearchQueryError | PredicateError) else str(error)
    return _failure(redacted(text), status, position=_span(error), parameter=_parameter(error))


async def _http_error(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _failure("there is nothing at this address", status)


def _failure(message: str, status: int, **facts: object) -> Response:
    return _json({"error": {"message": message, "position": None, "hint": None, **facts}}, status)


def _guarded(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint whose unexpected errors are logged, and answered without their details."""

    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (IndexTablesError, HTTPException, OSError):
            raise
        except Exception as error:  # whatever it is, the answer says no more
            logger.exception("a request to %s failed", request.url.path)
            message = f"the server could not answer: {type(error).__name__}; its log has the details"
            return _failure(message, 500)

    return guarded


def _span(error: Exception) -> tuple[int, int] | None:
    """The place of a mistake in the search or the condition, as JavaScript counts."""
    end: int | None = None
    match error:
        case SearchQueryError(query=text, position=int(start)):
            end = error.end
        case PredicateError(predicate=text, position=int(start)):
            word = _WORD.match(text, start)
            end = word and word.end()
        case _:
            return None
    end = start + 1 if end is None else end
    return utf16_offset(text, start), utf16_offset(text, min(len(text), end))


def _parameter(error: Exception) -> str | None:
    match error:
        case SearchQueryError():
            return "q"
        case PredicateError():
            return "where"
        case ConfigError(key=key):
            return key
        case _:
            return None


def _page_files() -> dict[str, bytes]:
    """The files of the page, by name; a name that is not among them has no file."""
    with suppress(FileNotFoundError, NotADirectoryError):
        folder = files("indextables.serve").joinpath("page")
        known = [file for file in folder.iterdir() if file.is_file() and _suffix(file.name) in _TYPES]
        return {file.name: file.read_bytes() for file in known}
    return {}


def _suffix(name: str) -> str:
    return "." + name.rpartition(".")[2]


def _page_file(page: dict[str, bytes], name: str) -> Response:
    if name not in page:
        raise HTTPException(404)
    return Response(page[name], media_type=_TYPES[_suffix(name)], headers={"cache-control": "no-cache"})


_ROWS_A_PIECE = 1_000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def json_pieces(rows: pa.Table) -> Iterator[bytes]:
    """The rows as a JSON array of objects."""
    yield b"["
    for number, piece in enumerate(_pieces(rows)):
        yield (b",\n" if number else b"") + b",\n".join(map(msgspec.json.encode, piece))
    yield b"]\n"


def csv_pieces(rows: pa.Table) -> Iterator[bytes]:
    r"""The rows as CSV with a header.

    A spreadsheet takes a text that begins with `=`, `+`, `-` or `@` for a formula, so an apostrophe is put before it.

    >>> print(b"".join(csv_pieces(pa.table({"text": ["=1+1", "a,b", None], "n": [-1, 2, None]}))).decode())
    text,n
    '=1+1,-1
    "a,b",2
    ,
    """
    yield _lines([[_inert(name) for name in rows.column_names]])
    texts = [bool(pa.types.is_string(field.type)) for field in rows.schema]
    for piece in _pieces(rows):
        yield _lines(
            [_inert(value) if is_text else value for value, is_text in zip(row.values(), texts, strict=True)]
            for row in piece
        )


def _pieces(rows: pa.Table) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(rows), _ROWS_A_PIECE):
        some = rows.slice(start, _ROWS_A_PIECE)
        columns = [cells(column) for column in some.columns]
        yield [dict(zip(some.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _lines(rows: Iterable[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
