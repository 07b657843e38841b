"""Hostile inputs: whatever is read from a log, a split, a text or a shell, errors are IndexTablesErrors."""
