"""Text without the credentials in it: those before the host of an address, and those of its query.

>>> redacted("no table at https://me:pw@host/t?sv=2024&sig=abc%3D, nor at abfss://logs@account/t")
'no table at https://***@host/t?sv=2024&sig=***, nor at abfss://logs@account/t'
>>> redacted("GET /t?X-Amz-Credential=AKIA%2F2024&X-Amz-Signature=0f0f failed")
'GET /t?X-Amz-Credential=***&X-Amz-Signature=*** failed'
"""

import re
from urllib.parse import unquote

WITH_ACCOUNT = ("wasb", "wasbs", "abfs", "abfss")  # container@account: what is before the @ is no credential
_NAME = (
    r"(?:sig|[\w.%-]*(?:signature|token|secret|passw(?:or)?d|pwd|credential|accessid"
    r"|(?:access|account|secret|api|private|sas)[._-]?key(?:[._-]?id)?)s?)"
)
_SIGNATURE = r"(?:sig|x-(?:amz|goog)-(?:signature|credential|security-token))"  # wherever they stand
_PARAMETER = re.compile(rf"((?:(?<=[?&;]){_NAME}|\b{_SIGNATURE})=)[^&;\s\"'`,)]+", re.IGNORECASE)
_IN_QUERY = re.compile(rf"[?&;]{_NAME}=[^&;]", re.IGNORECASE)
_USER = re.compile(
    r"\b([a-z][a-z0-9+.-]*):(/{1,3})([^\s\"'`?/]*|[^\s\"'`?]*:[^\s\"'`?]*)@", re.IGNORECASE
)  # a password may have a slash in it


def redacted(text: str) -> str:
    """The text with `***` for each credential in an address."""
    return _PARAMETER.sub(r"\1***", _USER.sub(_without_user, text))


def has_credentials(address: str) -> bool:
    """Whether the query of an address has a credential, such as the signature of an Azure or S3 URL.

    >>> has_credentials("abfss://c@account/t?sv=2024&sig=abc"), has_credentials("s3://bucket/what?/a#1")
    (True, False)
    """
    return any(_IN_QUERY.search(text) for text in (address, unquote(address)))


def _without_user(match: re.Match[str]) -> str:
    scheme, slashes, user = match.groups()
    is_account = scheme.lower() in WITH_ACCOUNT and ":" not in user
    return match[0] if is_account else f"{scheme}:{slashes}***@"
