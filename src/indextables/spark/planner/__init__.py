"""The query planner: a small plan language and the rules on it. It knows no JVM."""
