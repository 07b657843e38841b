"""Data goes down: rows to splits."""
