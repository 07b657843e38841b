"""Writes and compactions by executors: repartitioning, the tasks, the commit on the driver."""
