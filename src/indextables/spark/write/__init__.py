"""What a distributed write does besides writing splits: repartitioning and copying rows."""
