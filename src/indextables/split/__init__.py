"""One file: rows as Parquet, a search index beside them, and what is known of both."""
