"""The answers of the API: what a request asks for, as values that become JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from time import perf_counter
from typing import Any

import pyarrow as pa

from indextables.errors import ConfigError, TableNotFoundError
from indextables.read.search_suggestions import Suggestion, suggest
from indextables.schema import column_named, type_name
from indextables.search.match_spans import MatchSpans
from indextables.serve.code_snippets import snippets
from indextables.serve.computed_cache import ComputedCache
from indextables.serve.json_values import MAX_SHOWN, cells, utf16_offset
from indextables.serve.neighbouring_rows import neighbours
from indextables.serve.query_completion import complete
from indextables.serve.query_threads import Cancellation
from indextables.serve.served_tables import ServedTables, TableVersion
from indextables.serve.view import View
from indextables.serve.view_rows import RowId, page_of, rows_at
from indextables.serve.view_state import Parameters, ViewState, parse_state, whole_number
from indextables.serve.view_summaries import facet, time_histogram, time_range

_MAX_VERSION = 2**62
_ANSWERS = 128
_SAMPLE = 10_000  # rows in which words of a search without hits are looked for
_MAX_BUCKETS, _MAX_NEIGHBOURS, _MAX_FACETS = 500, 100, 20
_MAX_SERIES = 7  # values that get a colour of their own
Answer = dict[str, Any]


class Api:
    """The answers about some tables."""

    def __init__(self, tables: ServedTables) -> None:
        self.tables = tables
        self._answers = ComputedCache(_ANSWERS)

    def list_tables(self, _given: Parameters, _query: Cancellation) -> list[Answer]:
        return [{"id": served.id, "name": served.name, "path": served.path} for served in self.tables.by_id.values()]

    def table(self, given: Parameters, _query: Cancellation) -> Answer:
        served = self.tables.named(given.get("table"))
        latest = served.latest(refresh=True)
        shown = served.at(_version(given)) if _version(given) is not None else latest
        splits = shown.table.splits()
        ends = time_range(shown.view(ViewState()))
        return {
            "id": served.id,
            "name": served.name,
            "path": served.path,
            "version": shown.version,
            "latest": latest.version,
            "versions": served.versions(),
            "rows": shown.table.count(),
            "bytes": sum(splits["size"].to_pylist()),
            "splits": len(splits),
            "layout": str(shown.table.layout) or None,
            "columns": [
                {"name": f.name, "type": type_name(f.type), "indexed": shown.indexed[f.name]} for f in shown.schema
            ],
            "timeColumn": None if shown.time is None else shown.time.name,
            "timeRange": None if ends is None or shown.time is None else shown.time.texts(list(ends)),
            "levelColumn": shown.level_column,
            "textColumns": shown.text_columns,
            "facetColumns": shown.facet_columns,
        }

    def hits(self, given: Parameters, query: Cancellation) -> Answer:
        shown, state = self.shown(given), parse_state(given)
        return self._timed(("hits", shown, state), lambda: self._hits(shown, state, query))

    def _hits(self, shown: TableVersion, state: ViewState, query: Cancellation) -> Answer:
        view = shown.view(state, check=query.check)
        columns = shown_columns(state, shown.schema)
        page = page_of(view, state.sort, offset=state.offset, size=state.size)
        rows = rows_at(view, page.ids, columns)
        return {
            "version": shown.version,
            "columns": columns,
            "rows": row_answers(view, page.ids, rows, page.scores),
            "total": view.known_count(),
            "more": page.more,
            "footer": asdict(view.footer(len(page.ids))),
        }

    def count(self, given: Parameters, query: Cancellation) -> Answer:
        shown, state = self.shown(given), parse_state(given).rows_only

        def answer() -> Answer:
            view = shown.view(state, check=query.check)
            total = view.count()
            return {"version": shown.version, "total": total, "footer": asdict(view.footer(total))}

        return self._timed(("count", shown, state), answer)

    def histogram(self, given: Parameters, query: Cancellation) -> Answer:
        shown, state = self.shown(given), parse_state(given).rows_only
        wanted = whole_number(given, "buckets", default=80, least=1, most=_MAX_BUCKETS)
        by = _breakdown(shown, given.get("by"))
        return self._timed(
            ("histogram", shown, state, wanted, by), lambda: _histogram(shown, state, wanted, by, check=query.check)
        )

    def facets(self, given: Parameters, query: Cancellation) -> Answer:
        shown, state = self.shown(given), parse_state(given).rows_only
        named = [column_named(shown.schema, name) for name in given.getlist("column")] or shown.facet_columns
        columns = list(dict.fromkeys(named))[:_MAX_FACETS]

        def answer() -> Answer:
            return {
                "version": shown.version,
                "facets": [_facet(shown, state, column, check=query.check) for column in columns],
            }

        return self._timed(("facets", shown, state, tuple(columns)), answer)

    def complete(self, given: Parameters, query: Cancellation) -> Answer:
        text = given.get("text") or ""
        cursor = whole_number(given, "cursor", default=2 * len(text), most=1_000_000)
        return complete(self.shown(given), text, cursor, check=query.check)

    def check(self, given: Parameters, query: Cancellation) -> Answer:
        """The state is read and bound as for a query; what is wrong with it is raised."""
        self.shown(given).view(parse_state(given), check=query.check)
        return {"ok": True}

    def row(self, given: Parameters, query: Cancellation) -> Answer:
        shown = self.shown(given)
        view = shown.view(ViewState(query=parse_state(given).query), check=query.check)
        everything = shown.view(ViewState(), check=query.check)
        row = _row_id(everything, given)
        rows = rows_at(everything, [row], shown.schema.names)
        [answer] = row_answers(everything, [row], rows, None, spans=view.scan.scan_spec.match_spans, longest=None)
        return {"version": shown.version, "columns": shown.schema.names, "row": answer}

    def context(self, given: Parameters, query: Cancellation) -> Answer:
        """The rows before and after a row, by time; by their place in the split where there is no time."""
        shown, state = self.shown(given), parse_state(given)
        view = shown.view(ViewState(), check=query.check)
        row, n = _row_id(view, given), whole_number(given, "n", default=5, least=1, most=_MAX_NEIGHBOURS)
        before, after = neighbours(view, row, n)
        columns = shown_columns(state, shown.schema)
        searched = shown.view(ViewState(query=state.query), check=query.check)
        spans = searched.scan.scan_spec.match_spans

        def answers(ids: list[RowId]) -> list[Answer]:
            return row_answers(view, ids, rows_at(view, ids, columns), None, spans=spans)

        return {
            "version": shown.version,
            "columns": columns,
            "before": answers(before),
            "row": answers([row])[0],
            "after": answers(after),
        }

    def advice(self, given: Parameters, query: Cancellation) -> Answer:
        """For a search without hits: the columns that were searched, and a search that finds one of its words."""
        shown, state = self.shown(given), parse_state(given).rows_only
        spec = shown.view(state, check=query.check).scan.scan_spec
        miss = suggest(spec, lambda names: shown.table.scan(columns=names, limit=_SAMPLE).to_arrow())
        searched = [{"column": name, "indexed": how} for name, how in spec.search_columns.items()]
        if miss is None:
            return {"searched": searched, "nearMiss": None}
        if isinstance(miss, Suggestion):
            return {"searched": searched, "nearMiss": {"query": miss.query, "reason": miss.reason}}
        found = {"column": miss.column, "word": miss.word, "found": miss.found, "isWhole": miss.is_whole}
        return {"searched": searched, "nearMiss": {**found, "query": miss.query}}

    def snippets(self, given: Parameters, _query: Cancellation) -> Answer:
        shown, state = self.shown(given), parse_state(given)
        is_pinned = _version(given) is not None
        return snippets(shown, state, version=shown.version if is_pinned else None)

    def shown(self, given: Parameters) -> TableVersion:
        """The version of the table that a request is about."""
        return self.tables.named(given.get("table")).at(_version(given))

    def _timed(self, key: tuple[object, ...], answer: Callable[[], Answer]) -> Answer:
        """An answer with the milliseconds that it took: those of this request, which may find it computed."""
        started = perf_counter()
        known = self._answers.get(key, answer)
        ms = round((perf_counter() - started) * 1000, 1)
        footer = {"footer": {**known["footer"], "ms": ms}} if "footer" in known else {}
        return {**known, **footer, "ms": ms, "timing": {"ms": ms}}


def _version(given: Parameters) -> int | None:
    number = whole_number(given, "version", default=-1, most=_MAX_VERSION)
    return None if number < 0 else number


def shown_columns(state: ViewState, schema: pa.Schema) -> list[str]:
    if state.columns is None:
        return list(schema.names)
    return list(dict.fromkeys(column_named(schema, name) for name in state.columns))


def row_answers(
    view: View,
    ids: Sequence[RowId],
    rows: pa.Table,
    scores: Sequence[float] | None,
    *,
    spans: MatchSpans | None = None,
    longest: int | None = MAX_SHOWN,
) -> list[Answer]:
    """Rows as JSON has them; values that are longer than `longest` are cut, and named in `cut`."""
    spans = spans or view.scan.scan_spec.match_spans
    columns = {name: cells(rows[name]) for name in rows.column_names}
    answers = []
    for position, row in enumerate(ids):
        values = {name: column[position] for name, column in columns.items()}
        cut = [name for name, value in values.items() if longest and isinstance(value, str) and len(value) > longest]
        values.update({name: values[name][:longest] for name in cut})
        answers.append(
            {
                "id": {"split": view.tasks[row.task].split.path, "row": row.row},
                "values": values,
                "score": None if scores is None else scores[position],
                "highlights": _highlights(spans, values),
                **({"cut": cut} if cut else {}),
            }
        )
    return answers


def _highlights(spans: MatchSpans, values: Mapping[str, Any]) -> dict[str, list[tuple[int, int]]]:
    found = {name: spans.in_value(name, text) for name, text in values.items() if isinstance(text, str)}
    return {
        name: [(utf16_offset(values[name], start), utf16_offset(values[name], end)) for start, end in places]
        for name, places in found.items()
        if places
    }


def _breakdown(shown: TableVersion, named: str | None) -> str | None:
    """The column by whose values hits are counted: the level column unless another one is named; none for an empty name."""
    if named is None or named == "":
        return shown.level_column if named is None else None
    column = column_named(shown.schema, named)
    if column not in shown.facet_columns and shown.table.count():
        known = ", ".join(shown.facet_columns) or "none"
        reason = f"hits are not broken down by {column!r}: its values hardly repeat; columns whose values do: {known}"
        raise ConfigError(reason, key="by", value=named)
    return column


def _histogram(
    shown: TableVersion, state: ViewState, wanted: int, by: str | None, *, check: Callable[[], None]
) -> Answer:
    view, time = shown.view(state, check=check), shown.time
    none: Answer = {"version": shown.version, "column": None, "interval": None, "from": None, "to": None}
    none |= {"by": by, "series": [], "buckets": []}
    if time is None:
        return none
    start = None if state.start is None else time.parse(state.start, parameter="from")
    end = None if state.end is None else time.parse(state.end, parameter="to")
    found = time_histogram(view, start=start, end=end, wanted=wanted, by=by)
    if found is None:
        return {**none, "column": time.name}
    texts = time.texts(found.buckets.edges)
    return {
        **none,
        "column": time.name,
        "interval": found.buckets.seconds,
        "from": texts[0],
        "to": texts[-1],
        "series": [] if by is None else _series(found.parts, shown.schema.field(by)),
        "buckets": [{"start": text, "count": count} for text, count in zip(texts, found.counts.tolist(), strict=False)],
    }


def _series(parts: Mapping[Any, Any], field: pa.Field) -> list[Answer]:
    """The counts of the most frequent values, bucket by bucket, and of the rows without a value."""
    ranked = sorted(parts, key=lambda value: (value is None, -parts[value].sum(), str(value)))
    chosen = [value for value in ranked if value is not None][:_MAX_SERIES] + ([None] if None in parts else [])
    values = cells(pa.array(chosen, field.type))
    return [{"value": shown, "counts": parts[value].tolist()} for shown, value in zip(values, chosen, strict=True)]


def _facet(shown: TableVersion, state: ViewState, column: str, *, check: Callable[[], None]) -> Answer:
    """A facet shows the values that could be chosen too, so the values chosen in its own column do not limit it."""
    found = facet(shown.view(state.without_included(column), check=check), column)
    values = cells(pa.array([value for value, _ in found.values], shown.schema.field(column).type))
    return {
        "column": column,
        "values": [{"value": value, "count": count} for value, (_, count) in zip(values, found.values, strict=True)],
        "other": found.other,
        "missing": found.missing,
    }


def _row_id(view: View, given: Parameters) -> RowId:
    """The row that a request names, which is one of the table: its split is looked up among those of the version."""
    path, number = given.get("split"), whole_number(given, "row", default=0, most=2**40)
    task = next((place for place, task in enumerate(view.tasks) if task.split.path == path), None)
    if task is None:
        raise TableNotFoundError("this version of the table has no such split", table=str(path)[:200])
    reader = view.open(view.tasks[task])
    if number >= reader.num_rows or not reader.live[number]:
        raise ConfigError(f"the split has no row {number}", key="row", value=str(number))
    return RowId(task, number)
