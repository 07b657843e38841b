"""Writing: a job is planned, its tasks turn rows into splits, and one commit adds them to the table."""
