"""Scans: which splits to open, and the rows, counts and aggregates in them."""
