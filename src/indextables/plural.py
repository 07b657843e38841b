"""Numbers with nouns."""


def pluralize(number: int, noun: str) -> str:
    """A number with its noun in singular or plural.

    >>> pluralize(1, "split"), pluralize(1234, "split")
    ('1 split', '1,234 splits')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
