"""Splits: Parquet files with an embedded search index, and their statistics."""

from indextables.split.index_cache import CacheUse, SplitCache
from indextables.split.reader import SplitReader
from indextables.split.statistics import Statistics
from indextables.split.word_index import WordIndexBuilders
from indextables.split.writer import SplitOptions, SplitSummary, write_split

__all__ = [
    "CacheUse",
    "SplitCache",
    "SplitOptions",
    "SplitReader",
    "SplitSummary",
    "Statistics",
    "WordIndexBuilders",
    "write_split",
]
