"""Numbers with nouns, and with verbs."""


def pluralize(number: int, noun: str) -> str:
    """A number with its noun in singular or plural.

    >>> pluralize(1, "split"), pluralize(1234, "split")
    ('1 split', '1,234 splits')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def agreeing(number: int, singular: str, plural: str) -> str:
    """The verb that goes with a number.

    >>> [f"{n} of 7 splits {agreeing(n, 'has', 'have')} deleted rows" for n in (1, 2)]
    ['1 of 7 splits has deleted rows', '2 of 7 splits have deleted rows']
    """
    return singular if number == 1 else plural
