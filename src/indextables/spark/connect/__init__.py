"""Spark Connect: a client without a JVM, which plans on the messages of Connect's protocol."""
