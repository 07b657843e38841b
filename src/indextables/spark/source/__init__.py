"""The data source, through Spark's public Python interface alone."""
