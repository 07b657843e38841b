"""All settings, each with a good and a bad value and ways to misspell its key; read from the fields of the configuration."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from indextables.config import PREFIX, is_of_one_write, is_secret, is_store_setting
from indextables.config.keys import FAMILIES, SETTINGS

_GOOD_OF_KEY = {"indexing.text": "message"}
_GOOD = (
    "id",
    "true",
    "false",
    "7",
    "0.5",
    "80M",
    "3 days",
    "dynamic",
    "never",
    "anonymous",
    "accountKey",
    "https://login.example.com",
)
_BAD = ("?!", "")
_OF_FAMILY = {
    "indexing.typemap.": ("message", "text"),
    "indexing.exact.": ("id", "hash"),
    "coalesce.rule.": ("x", "small"),
}


@dataclass(frozen=True)
class Case:
    """A key without its prefix. `bad` is None where every text is a value, or where the value is checked with the table."""

    name: str
    good: str
    bad: str | None

    @property
    def is_property(self) -> bool:
        """Whether tables may keep it."""
        is_option = is_of_one_write(self.name) or self.name == "indexing.text"
        return not (is_secret(self.name) or is_option or is_store_setting(self.name))

    def misspellings(self) -> Iterator[str]:
        """The key without a letter, and with two letters swapped; those of the column stay."""
        stem = next((family for family in _OF_FAMILY if self.name.startswith(family)), self.name)
        rest = self.name[len(stem) :]
        at = len(stem) - 4
        swap = next(
            i for i in range(at, 0, -1) if stem[i].isalpha() and stem[i + 1].isalpha() and stem[i] != stem[i + 1]
        )
        yield f"{stem[:at]}{stem[at + 1 :]}{rest}"
        yield f"{stem[:swap]}{stem[swap + 1]}{stem[swap]}{stem[swap + 2 :]}{rest}"


def _case(field: Any) -> Case:
    parse, key = field.metadata["parse"], field.metadata["key"].removeprefix(PREFIX)
    good = _GOOD_OF_KEY.get(key) or next(
        text for text in _GOOD if _accepts(parse, text) and parse(text) != field.default
    )
    return Case(key, good, next((text for text in _BAD if not _accepts(parse, text)), None))


def _accepts(parse: Any, text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


CASES = [
    *[_case(field) for field in SETTINGS],
    *[Case(f"{family}{_OF_FAMILY[family][0]}", _OF_FAMILY[family][1], None) for family in FAMILIES],
]

OWN = """
owner team region regions description comment created_by createdBy createdAt source pipeline classification pii
retention retention.days contact email project version schema schema.version partition partitions columns location
endpoint directory interval enabled compression format-version write.format.default write.target-file-size-bytes
read.split.target-size commit.retry.num-retries history.expire.max-snapshot-age-ms gc.enabled delta.appendOnly
delta.logRetentionDuration delta.checkpointInterval delta.enableDeletionVectors parquet.compression
transient_lastDdlTime numRows totalSize quality data.owner data-owner cost_center sla domain tenant tenantId clientId
accountName maxSize minSize minRows env environment stage layer bronze gold checkpoint merge coalesce optimize cache
index indexes indexing search table tables index.owner spark.owner spark.sql.sources.provider primary_key unique.key
text query where timezone updated refresh
""".split()  # noqa: SIM905 - a list of 90 lines otherwise
"""Keys of properties that people have of their own."""
