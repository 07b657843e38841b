"""Why a peer is ahead, by operation and peer: the only part of the page that is written by hand.

Reasons come from how the systems work; they are not measured on their own. One that no longer matters is never
shown, because only rows in which we are behind are; a row without a reason says so.
"""

_LANCE, _BTREE, _DUCKDB = "Lance", "Lance, BTREE on trace_id", "DuckDB over Parquet"
_PARQUET, _DELTA, _TANTIVY, _SPARK = "Parquet", "delta-rs", "Parquet and bare tantivy", "Spark's Parquet"

_NO_INDEX = "It has no index."
_ONE_INDEX = (
    "It has one index over the whole table. Here each split has its own, and every one that may match is asked."
)
_RANDOM_ACCESS = "Its file format is made for reading single rows; here they lie in compressed pages of Parquet."
_ONE_FILE = "It reads one file, or few, for the whole table. Here each of the 30 splits is opened and read on its own."
_SMALL_PAGES = (
    "It reads its files in C++ threads; here each split costs some Python. Pages are also smaller, so that few rows can be "
    "fetched for a search ([decision 21](decisions/0021-exact-indexes-and-pages.md))."
)
_LOWER_BOUND = "It returns document numbers of one index that stays open, and no rows: a lower bound for any search."
_SCAN_OF_ONE_COLUMN = (
    "It scans one column, which is cheap as long as the table is small: the cost of a scan grows with the rows, that of a "
    "search with the splits."
)
_LOOKUP = (
    "A random id prunes no large split: the index of each is asked, from Python. Small splits are scanned unless their "
    "term filter excludes the id."
)
_ALL_COLUMNS = "Here unique ids are indexed too, and each of the 30 splits has its own indexes."

REASONS = {
    ("write", _LANCE): f"It indexes one column and has no partitions. {_ALL_COLUMNS}",
    ("write", _BTREE): f"It indexes two columns and has no partitions. {_ALL_COLUMNS}",
    ("write", _TANTIVY): f"It indexes one column into one index, and does not wait for the disk. {_ALL_COLUMNS}",
    ("write", _PARQUET): _NO_INDEX,
    ("write", _DELTA): _NO_INDEX,
    ("spark-write", _SPARK): f"{_NO_INDEX} Its rows do not leave the JVM; ours go to Python workers.",
    ("partitions", _PARQUET): _NO_INDEX,
    ("partitions", _DELTA): _NO_INDEX,
    ("bytes", _PARQUET): _NO_INDEX,
    ("bytes", _DELTA): _NO_INDEX,
    ("bytes", _TANTIVY): f"It indexes one column. {_ALL_COLUMNS}",
    ("bytes", _LANCE): f"It indexes one column. {_ALL_COLUMNS}",
    ("bytes", _BTREE): f"It indexes two columns. {_ALL_COLUMNS}",
    ("bytes in Spark", _SPARK): _NO_INDEX,
    ("top20", _LANCE): f"{_ONE_INDEX} {_RANDOM_ACCESS}",
    ("top20-common", _LANCE): f"{_ONE_INDEX} {_RANDOM_ACCESS}",
    ("top20", _TANTIVY): _LOWER_BOUND,
    ("top20-common", _TANTIVY): _LOWER_BOUND,
    ("hits", _LANCE): f"{_ONE_INDEX} {_RANDOM_ACCESS}",
    ("hits", _DUCKDB): _SCAN_OF_ONE_COLUMN,
    ("lookup", _LANCE): f"It scans one column and fetches the row. {_LOOKUP}",
    ("lookup", _BTREE): f"Its sorted index spans the table. {_LOOKUP}",
    ("lookup", _DUCKDB): f"It scans one column and fetches the row. {_LOOKUP}",
    ("scan-numbers", _PARQUET): _SMALL_PAGES,
    ("scan-text", _PARQUET): _SMALL_PAGES,
    ("scan-numbers", _LANCE): _ONE_FILE,
    ("scan-text", _LANCE): _ONE_FILE,
    ("small-splits", _LANCE): _ONE_INDEX,
    ("spark-hits", _SPARK): _SCAN_OF_ONE_COLUMN,
    ("spark-lookup", _SPARK): f"It scans one column. {_LOOKUP}",
}
