"""Answers come up: which splits to open, and what is in them."""
