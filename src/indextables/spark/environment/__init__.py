"""What surrounds a query of Spark: the settings of its session and of the cluster, and the Python of its workers."""
