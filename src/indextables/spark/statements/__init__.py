"""SQL statements about tables in the session's catalog."""
