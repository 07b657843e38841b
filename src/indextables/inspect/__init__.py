"""Keeping tables healthy: files that nobody needs, what is out of shape, which layout would suit."""
