"""Tables in tantivy's memory, and the rows that a query finds there."""

from collections.abc import Mapping

import pyarrow as pa
import tantivy

from indextables.search import FieldRule, Query, compile_query, documents, tantivy_schema


def index_of(table: pa.Table, rules: Mapping[str, FieldRule]) -> tantivy.Index:
    """An index of one segment, in which the document is the row."""
    index = tantivy.Index(tantivy_schema(table.schema, rules))
    writer = index.writer(heap_size=15_000_000, num_threads=1)
    for batch in table.to_batches():
        for line in documents(batch, rules):
            writer.add_json(line)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    assert index.searcher().num_segments <= 1
    return index


def found(query: Query, index: tantivy.Index) -> list[int]:
    return [row for row, _ in scored(query, index)]


def scored(query: Query, index: tantivy.Index) -> list[tuple[int, float]]:
    searcher = index.searcher()
    hits = searcher.search(compile_query(query, index), limit=max(searcher.num_docs, 1)).hits
    return sorted((address.doc, score) for score, address in hits)
