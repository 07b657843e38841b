"""Rows that are in the table already, written again: replaced, dropped, copied."""
