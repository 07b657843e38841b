"""One file: rows as Parquet, a search index beside them, and what is known of both."""

from indextables.split.index_cache import CacheUse, SplitCache
from indextables.split.reader import SplitReader
from indextables.split.statistics import Statistics
from indextables.split.writer import SplitOptions, SplitSummary, write_split

__all__ = ["CacheUse", "SplitCache", "SplitOptions", "SplitReader", "SplitSummary", "Statistics", "write_split"]
