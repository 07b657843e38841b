"""A write job as the text of an option: how it gets from the driver's session to the process in which Spark plans.

Spark gives a Python data source nothing but options, and creates it in a process without a session. The driver's session
has planned the write by then, so the job itself is the option. Anybody can set an option: the text is decoded into values
of known types, never into code, and it contains no secrets. Those travel as the settings that they are, whose names make
Spark redact them.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import msgspec
import pyarrow as pa

from indextables.config import Config, StoreConfig
from indextables.errors import ConfigError
from indextables.maintain.replace_where import DynamicOverwrite, ReplaceWhereOverwrite
from indextables.maintain.row_replacement import FoundRowsOverwrite
from indextables.spark.options import JOB, settings_in
from indextables.write.overwrite import FullOverwrite, Overwrite
from indextables.write.write_job import WriteJob

_SECRETS = tuple(setting.name for setting in fields(StoreConfig) if setting.metadata.get("secret"))
_KINDS = FullOverwrite | ReplaceWhereOverwrite | DynamicOverwrite | FoundRowsOverwrite
_UNREADABLE = (ValueError, TypeError, zlib.error, msgspec.MsgspecError, pa.ArrowException)


def encode_job(job: WriteJob) -> str:
    """The job without its secrets, as text."""
    config = _with_secrets(job.plan.config, StoreConfig())
    content = msgspec.msgpack.encode(replace(job, plan=replace(job.plan, config=config)), enc_hook=_encoded)
    return b64encode(zlib.compress(content)).decode()


def decode_job(options: Mapping[str, str]) -> WriteJob | None:
    """The job in the options of a write, with the secrets that are among them; None where there is no job."""
    text = options.get(JOB)
    if text is None:
        return None
    try:
        content = zlib.decompress(b64decode(text, validate=True))
        job = msgspec.msgpack.decode(content, type=WriteJob, dec_hook=_decoded)
    except _UNREADABLE as error:
        raise ConfigError(
            f"the option {JOB} cannot be read; indextables sets it for a write of its own, so leave it out",
            key=JOB,
            value=None,
        ) from error
    config = _with_secrets(job.plan.config, Config.resolve(settings_in(options)).store)
    return replace(job, plan=replace(job.plan, config=config))


def _with_secrets(config: Config, store: StoreConfig) -> Config:
    """The same settings, with the secrets of others."""
    secrets: dict[str, Any] = {name: getattr(store, name) for name in _SECRETS}
    return replace(config, store=replace(config.store, **secrets))


def _encoded(value: Any) -> Any:
    """What msgspec does not know: Arrow's types and values, as Arrow's own bytes."""
    match value:
        case pa.Schema():
            return value.serialize().to_pybytes()
        case pa.DataType():
            return pa.schema({"value": value}).serialize().to_pybytes()
        case pa.Scalar():
            sink = pa.BufferOutputStream()
            batch = pa.record_batch({"value": pa.repeat(value, 1)})
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            return sink.getvalue().to_pybytes()
        case _:
            raise NotImplementedError(f"a {type(value).__name__} is not a part of a write job")


def _decoded(kind: Any, value: Any) -> Any:
    if kind is pa.Schema:
        return pa.ipc.read_schema(pa.py_buffer(value))
    if kind is pa.DataType:
        return pa.ipc.read_schema(pa.py_buffer(value)).field(0).type
    if kind is pa.Scalar:
        return pa.ipc.open_stream(value).read_all()["value"][0]
    if kind is Overwrite:
        return msgspec.convert(value, _KINDS, dec_hook=_decoded)
    raise NotImplementedError(f"a {kind} is not a part of a write job")
