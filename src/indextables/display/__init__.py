"""HTML for people: the parts of the report and of what notebooks show. Text from data is escaped where it becomes a part."""
