r"""Single values as text, for terminals and notebooks.

>>> [scalar_text(value) for value in (201.37, True, b"\x00\xff", datetime.fromisoformat("2024-05-01 09:30:00.250Z"))]
['201.37', 'true', '00ff', '2024-05-01 09:30:00.25Z']
"""

import re
from datetime import datetime
from typing import Any

SCORE = "_score"
_ZEROS = re.compile(r"(\.\d*[1-9])0+")


def scalar_text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            return _ZEROS.sub(r"\1", value.isoformat(" ")).replace("+00:00", "Z")
        case bytes():
            return value.hex()
        case _:
            return str(value)


def rounded(value: Any) -> Any:
    """A score or a measurement with as many digits as mean something; other values as they are.

    >>> rounded(0.81432116), rounded(7)
    (0.8143, 7)
    """
    return float(f"{value:.4g}") if isinstance(value, float) else value
