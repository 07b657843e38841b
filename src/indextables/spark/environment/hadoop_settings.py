"""Settings of one of Hadoop's clients, from several sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class HadoopSettings:
    """The sources, the first one first. A setting may have several keys, the most specific one first, in whatever source."""

    sources: Sequence[Mapping[str, str]]

    def get(self, *keys: str) -> str | None:
        """The value of the first key that any source has. As in Hadoop, an empty value is none.

        >>> hadoop = HadoopSettings([{"fs.s3a.endpoint": "a"}, {"fs.s3a.endpoint": "b", "fs.s3a.bucket.x.endpoint": "c"}])
        >>> [hadoop.get(f"fs.s3a.bucket.{bucket}.endpoint", "fs.s3a.endpoint") for bucket in ("x", "y")]
        ['c', 'a']
        """
        values = (source.get(key, "").strip() for key in keys for source in self.sources)
        return next((value for value in values if value), None)

    def get_together(self, *groups: Mapping[str, str]) -> dict[str, str]:
        """Values that belong together, by name: of the first group of keys and the first source that has any of them.

        >>> hadoop = HadoopSettings([{"fs.s3a.session.token": "t"}, {"fs.s3a.access.key": "a"}])
        >>> hadoop.get_together({"key": "fs.s3a.access.key", "token": "fs.s3a.session.token"})
        {'token': 't'}
        """
        for keys in groups:
            for source in self.sources:
                found = {name: source.get(key, "").strip() for name, key in keys.items()}
                if any(found.values()):
                    return {name: value for name, value in found.items() if value}
        return {}
