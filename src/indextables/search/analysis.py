"""The words of a text, as the index has them: what a tokenizer makes of a query must be what it made of the rows."""

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

LONGEST_WORD = 39  # bytes; the analyzers below leave out what is longer, as those of the index do
LONGEST_TERM = 32_766  # bytes; the longest term of a query on any field, as in Lucene
FOLDING = {"default", "en_stem"}


def _analyzer(tokenizer: Tokenizer, *filters: Filter) -> TextAnalyzer:
    builder = TextAnalyzerBuilder(tokenizer)
    for step in filters:
        builder = builder.filter(step)
    return builder.build()


_WORDS = {
    "default": _analyzer(Tokenizer.simple(), Filter.lowercase()),
    "en_stem": _analyzer(Tokenizer.simple(), Filter.lowercase(), Filter.stemmer("english")),
    "whitespace": _analyzer(Tokenizer.whitespace()),
    "raw": _analyzer(Tokenizer.raw()),
}
_WRITTEN = _analyzer(Tokenizer.simple())
_LOWER = _analyzer(Tokenizer.raw(), Filter.lowercase())  # tantivy's idea of lower case, which is not Python's


def words(text: str, tokenizer: str) -> list[str]:
    """The words of a text, the long ones too.

    >>> words("It's 10:30, run-time", "default"), words("running", "en_stem"), words("GET /a", "whitespace")
    (['it', 's', '10', '30', 'run', 'time'], ['run'], ['GET', '/a'])
    """
    return _WORDS[tokenizer].analyze(text)


def placed_words(text: str, tokenizer: str | None) -> list[tuple[str, int, int]]:
    """The words of a text that are in the index, each with its place: from which character to before which.

    Without a tokenizer, the text is one word.

    >>> placed_words("It's OK", "default"), placed_words("It's", None)
    ([('it', 0, 2), ('s', 3, 4), ('ok', 5, 7)], [("It's", 0, 4)])
    """
    if tokenizer is None or tokenizer == "raw":
        return [(text, 0, len(text))] if text else []
    written = _WRITTEN.analyze(text) if tokenizer in FOLDING else words(text, tokenizer)
    limit, end, placed = LONGEST_WORD if tokenizer in FOLDING else LONGEST_TERM, 0, []
    for word, as_written in zip(words(text, tokenizer), written, strict=True):
        start = text.index(as_written, end)  # only separators are between two words
        end = start + len(as_written)
        if len(as_written.encode()) <= limit:
            placed.append((word, start, end))
    return placed


def too_long(text: str, tokenizer: str) -> list[str]:
    """The words of a text that are not in the index, because they have too many bytes as they are written.

    >>> too_long("a " + "b" * 40, "default") == ["b" * 40], too_long("b" * 40, "whitespace")
    (True, [])
    """
    limit = LONGEST_WORD if tokenizer in FOLDING else LONGEST_TERM
    written = _WRITTEN.analyze(text) if tokenizer in FOLDING else words(text, tokenizer)
    return [word for word in written if len(word.encode()) > limit]


def normalized(text: str, tokenizer: str | None) -> str:
    """A part of a word as the tokenizer would leave it: the letter case of its words, and nothing else.

    >>> normalized("FOO-b", "default"), normalized("FOO-b", "whitespace")
    ('foo-b', 'FOO-b')
    """
    return "".join(_LOWER.analyze(text)) if tokenizer in FOLDING else text
