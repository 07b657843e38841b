"""The door to Spark's internals: the only package that touches the JVM, Catalyst and private attributes."""
