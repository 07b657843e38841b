"""Table inspection: health, checks for damage, layout advice, listings of splits and partitions."""
