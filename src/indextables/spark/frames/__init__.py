"""`spark.read`, `df.write` and their relatives for batches and streams, tables of the catalog, and INSERT."""
