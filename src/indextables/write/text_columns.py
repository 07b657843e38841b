"""The field rules of columns that a write adds to a new schema: those that settings give, and text columns that data has.

`indexing.text = auto` chooses text columns by a sample of the rows. It chooses none that has a rule or an exact index by the
settings, and none whose values are directories of the layout.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from indextables.config import AUTO_TEXT, PREFIX, Config
from indextables.events import log_event
from indextables.layout import Identity, Layout
from indextables.search import FieldRule
from indextables.search.field_rules import TEXT
from indextables.search.text_choice import SAMPLE_ROWS, text_columns_of
from indextables.write.input_data import InputRows, sampled

logger = logging.getLogger(__name__)
TEXT_SETTING = f"{PREFIX}indexing.text"
TYPEMAP = f"{PREFIX}indexing.typemap."

TextColumns: TypeAlias = Callable[[], Sequence[str]]
"""The columns of the data that are text, by a sample: called only where they are to be chosen."""


def new_field_rules(
    config: Config, texts: TextColumns | None, *, table: str, layout: Layout, kept: Collection[str] = ()
) -> dict[str, str]:
    """The rules that settings give columns, and `text` for those that are chosen; `kept` are columns that have their rule.

    What is chosen is logged. Where there are no rows to choose from, `texts` is None, and a warning says so.
    """
    rules = config.write.field_rules
    if config.write.text != AUTO_TEXT:
        return rules
    if texts is None:
        logger.warning(
            "no column of %s is chosen to be text: indexing.text is auto, and the table is made without its rows; name the "
            "columns, as in indexing.text = message",
            table,
        )
        return rules
    partitions = [field.source for field in layout.fields if isinstance(field.transform, Identity)]
    taken = {name.lower() for name in (*rules, *config.write.exact, *partitions, *kept)}
    chosen = [name for name in texts() if name.lower() not in taken]
    log_event(logger, "Text columns chosen", table=table, columns=", ".join(chosen) or "none")
    return {**rules, **dict.fromkeys(chosen, TEXT)}


def texts_of(rows: InputRows, config: Config) -> tuple[TextColumns | None, InputRows]:
    """The columns of some data that are text, and the same data; no row is read ahead unless they are to be chosen."""
    if config.write.text != AUTO_TEXT:
        return None, rows
    sample, rows = sampled(rows, SAMPLE_ROWS)
    return lambda: [] if sample is None else text_columns_of(sample), rows


def with_default_text(settings: Mapping[str, str], otherwise: str = AUTO_TEXT) -> dict[str, str]:
    """Settings under full keys, for a table that is made of data: text columns are chosen where none are named.

    >>> with_default_text({"spark.indextables.indexing.typemap.id": "none"})
    {'spark.indextables.indexing.typemap.id': 'none', 'spark.indextables.indexing.text': 'auto'}
    >>> with_default_text({"spark.indextables.indexing.typemap.body": "text:en_stem"})
    {'spark.indextables.indexing.typemap.body': 'text:en_stem'}
    """
    given = Config.resolve(settings).write
    rules = map(FieldRule.parse, given.typemap.values())
    if given.text is not None or any(rule.type == TEXT for rule in rules):
        return dict(settings)
    return {**settings, TEXT_SETTING: otherwise}


def without_choice(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings under full keys as properties of a table: each text column under its own key.

    >>> without_choice({"spark.indextables.indexing.text": "Body"})
    {'spark.indextables.indexing.typemap.body': 'text'}
    """
    rules = Config.resolve(settings).write.field_rules
    others = {key: value for key, value in settings.items() if key != TEXT_SETTING and not key.startswith(TYPEMAP)}
    return {**others, **{f"{TYPEMAP}{name.lower()}": rule for name, rule in rules.items()}}
