"""The arguments of `IndexTable.write` as settings, and a new table made of data.

The first version of a new table has the columns and the rows, so that bad data leaves no table behind.
"""

import logging
from collections.abc import Mapping, Sequence

from indextables.config import NO_TEXT, PREFIX, Config, canonical, property_key
from indextables.errors import ConfigError, SchemaError, TableExistsError
from indextables.events import log_event
from indextables.layout import Layout
from indextables.log import Snapshot, TransactionLog
from indextables.nearest import nearest
from indextables.search import FieldRule, FieldsInput, fields_from_input
from indextables.write.dataframe_input import path_columns_of
from indextables.write.input_data import Data, batches_of, peeked
from indextables.write.job_planning import plan_job
from indextables.write.overwrite import OverwriteResolver
from indextables.write.text_columns import TEXT_SETTING, texts_of, with_default_text
from indextables.write.write_job import Mode, write_and_commit
from indextables.write.write_plan import property_texts
from indextables.write.write_progress import OnProgress, ProgressCounter

logger = logging.getLogger(__name__)
_MODES = {**{str(mode): mode for mode in Mode}, "error": Mode.ERROR, "default": Mode.ERROR}


def parse_mode(text: str) -> Mode:
    """The mode of a name of Spark's, in any letter case.

    >>> parse_mode("errorIfExists")
    <Mode.ERROR: 'errorifexists'>
    >>> parse_mode("overwritten")
    Traceback (most recent call last):
    indextables.errors.ConfigError: 'overwritten' is not a mode; did you mean 'overwrite'? ...
    """
    mode = _MODES.get(text.strip().lower()) if isinstance(text, str) else None
    if mode is None:
        meant = nearest(str(text), _MODES)
        hint = f"did you mean {meant!r}? Use" if meant else "use"
        raise ConfigError(f"{text!r} is not a mode; {hint} one of {', '.join(Mode)}", key="mode", value=str(text))
    return mode


def write_settings(
    options: Mapping[str, str],
    *,
    layout: Layout | None,
    fields: FieldsInput | None,
    text: str | Sequence[str] | None,
) -> dict[str, str]:
    """The options of a write together with its arguments; a ConfigError where they contradict each other.

    Where neither names a text column, text columns are chosen from the data of a new table.
    """
    settings = canonical(options)
    if text is not None and TEXT_SETTING in settings:
        raise ConfigError(
            f"indexing.text is {settings[TEXT_SETTING]!r} in the options, and text is {text!r} as an argument; "
            "give one of them",
            key=TEXT_SETTING,
            value=settings[TEXT_SETTING],
        )
    texts = Config.resolve({"text": text}).write.text if isinstance(text, str) else tuple(text or ())
    is_word = isinstance(texts, str)
    rules = {
        f"indexing.typemap.{column}": str(rule)
        for column, rule in fields_from_input(fields, () if is_word else texts).items()
    }
    arguments = canonical(rules if layout is None else {**rules, "partitionBy": str(layout)})
    for key in arguments.keys() & settings.keys():
        if not _same(key, arguments[key], settings[key]):
            raise ConfigError(
                f"{key.removeprefix(PREFIX)} is {settings[key]!r} in the options, and {arguments[key]!r} as an argument; "
                "give one of them",
                key=key,
                value=settings[key],
            )
    if text is not None:
        return {**settings, **arguments, TEXT_SETTING: str(texts) if is_word else NO_TEXT}
    return with_default_text({**settings, **arguments})


def _same(key: str, argument: str, option: str) -> bool:
    if key == f"{PREFIX}partitionBy":
        return Layout.parse(argument) == Layout.parse(option)
    return FieldRule.parse(argument) == FieldRule.parse(option)


def refuse_other_properties(properties: Mapping[str, str], present: Mapping[str, str], *, table: str) -> None:
    """Raises a ConfigError where properties of a write are not among those of the table that is there."""
    own = {property_key(key): text for key, text in present.items()}
    for key, text in property_texts(properties).items():
        if own.get(property_key(key)) != text:
            raise ConfigError(
                f"{key} is {own.get(property_key(key), 'not set')!r} in the table at {table}, and the write gives {text!r}; "
                "properties are for new tables: leave it out, or change it with set_properties",
                key=key,
                value=text,
            )


def write_new_table(
    log: TransactionLog,
    data: Data,
    *,
    mode: Mode,
    settings: Mapping[str, str],
    properties: Mapping[str, str],
    overwrite: OverwriteResolver,
    progress: OnProgress | None,
) -> Snapshot:
    """The table after its first commit; where another writer was first, the mode decides."""
    rows = peeked(batches_of(data))
    if rows.schema is None or not len(rows.schema):
        raise _no_columns()
    texts, rows = texts_of(rows, log.config)
    try:
        job = plan_job(
            log.table,
            rows.schema,
            mode=mode,
            sources=[settings],
            overwrite=overwrite,
            properties=properties,
            log=log,
            by_value=True,
            texts=texts,
        )
    except TableExistsError:
        if mode is not Mode.IGNORE:
            raise
        return log.snapshot()
    in_paths = path_columns_of(data)
    if in_paths and not job.plan.layout.fields:
        log_event(logger, "Layout proposed", table=log.table, partition_by=", ".join(in_paths))
    counter = ProgressCounter(progress, rows.num_rows)
    return write_and_commit(job, rows.batches, log=log, snapshot=None, counter=counter)


def _no_columns() -> SchemaError:
    return SchemaError(
        "the data is empty, so the columns of the new table are not known; give data with columns, such as an empty "
        "pyarrow.Table, or create the table with IndexTable.create(path, schema)",
        column=None,
    )
