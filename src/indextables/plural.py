"""Words that are said in several places."""


def pluralize(number: int, noun: str) -> str:
    """So many of something.

    >>> pluralize(1, "split"), pluralize(1234, "split")
    ('1 split', '1,234 splits')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
