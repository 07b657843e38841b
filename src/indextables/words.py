"""Words that are said in several places."""


def counted(number: int, noun: str) -> str:
    """So many of something.

    >>> counted(1, "split"), counted(1234, "split")
    ('1 split', '1,234 splits')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
