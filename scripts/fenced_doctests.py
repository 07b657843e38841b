"""Doctests of docstrings as code blocks: to Markdown, `>>>` is a quotation in a quotation in a quotation."""

import re
from typing import Any

import griffe

_CODE = re.compile(r"^```(?s:.*?)^```$|^>>> .*(?:\n.*\S.*)*", re.MULTILINE)
_DOCTEST = re.compile(r"^>>> ")


def fenced(text: str) -> str:
    """The text with a fence around each paragraph that begins with a prompt."""
    return _CODE.sub(lambda code: f"```python\n{code[0]}\n```" if _DOCTEST.match(code[0]) else code[0], text)


class FencedDoctests(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
