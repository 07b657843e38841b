"""Table inspection: health, layout advice, listings of splits and partitions."""
