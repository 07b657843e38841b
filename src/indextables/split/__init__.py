"""One file: rows as Parquet, a search index beside them, and what is known of both."""

from indextables.split.index_cache import CacheUse, SplitCache
from indextables.split.reader import SplitReader
from indextables.split.statistics import Statistics
from indextables.split.writer import SplitFacts, SplitOptions, write_split

__all__ = ["CacheUse", "SplitCache", "SplitFacts", "SplitOptions", "SplitReader", "Statistics", "write_split"]
