"""The protocol versions that this release supports."""

from indextables.errors import UnsupportedProtocolError
from indextables.log.actions import READER_VERSION, WRITER_VERSION, Protocol


def refuse_newer_reader(protocol: Protocol, *, table: str, version: int) -> None:
    """Raises an UnsupportedProtocolError for a table that only a newer release can read."""
    _refuse_newer("read", protocol.min_reader_version, READER_VERSION, table=table, version=version)


def refuse_newer_writer(protocol: Protocol, *, table: str, version: int) -> None:
    """Raises an UnsupportedProtocolError for a table that only a newer release can write."""
    _refuse_newer("written", protocol.min_writer_version, WRITER_VERSION, table=table, version=version)


def _refuse_newer(verb: str, required: int, supported: int, *, table: str, version: int) -> None:
    if required > supported:
        raise UnsupportedProtocolError(
            f"{table} can only be {verb} by releases that support protocol {required}; this one supports {supported}: "
            "upgrade indextables",
            table=table,
            version=version,
            required=required,
            supported=supported,
        )
