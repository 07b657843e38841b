"""`indextables serve`: a local web page to search tables."""
