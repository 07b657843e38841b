"""`make licences`: docs/licences.md, the licences of everything that `pip install indextables` installs.

The names come from the metadata of the packages that are installed here: the dependencies of the project, and theirs.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "licences.md"
_CLASSIFIER = "License :: OSI Approved :: "
_LONGEST = 60  # what is longer is the text of a licence, not its name
_TEXT = """\
# Licences

<!-- written by `make licences` -->

indextables has the licence [Apache-2.0](https://www.apache.org/licenses/LICENSE-2.0). This page lists the packages that
`pip install "indextables[spark]"` installs and their licences, as the metadata of each package says. Their texts are in the
packages. A package that is needed directly is named in `pyproject.toml`; the others come with these. Nothing of them is
copied into indextables.

| package | needed | licence |
| --- | --- | --- |
"""


def main() -> int:
    PAGE.write_text(page())
    return 0


def page() -> str:
    direct = {canonicalize_name(one.name) for one in named()}
    rows = [
        f"| {found.metadata['Name']} | {'directly' if name in direct else 'by others'} | {licence(found)} |\n"
        for name, found in sorted(installed())
    ]
    return _TEXT + "".join(rows)


def named() -> list[Requirement]:
    """What the project requires directly, with Spark."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [Requirement(text) for text in (*project["dependencies"], *project["optional-dependencies"]["spark"])]


def installed() -> Iterator[tuple[str, Distribution]]:
    """The dependencies of the project, and theirs, each once."""
    waiting, seen = named(), set[str]()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in seen:
            continue
        seen.add(name)
        found = distribution(name)
        waiting += _required(found, {"", *requirement.extras})
        yield name, found


def _required(package: Distribution, extras: set[str]) -> Iterator[Requirement]:
    """What a package requires here, with some of its extras."""
    for text in package.requires or []:
        requirement = Requirement(text)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            yield requirement


def licence(package: Distribution) -> str:
    """The name of a licence: an SPDX expression, a short text, or what the classifiers say."""
    metadata = package.metadata
    stated = metadata.get("License-Expression") or metadata.get("License") or ""
    classified = [
        line.removeprefix(_CLASSIFIER) for line in metadata.get_all("Classifier", []) if line.startswith(_CLASSIFIER)
    ]
    if stated and len(stated) <= _LONGEST and "\n" not in stated:
        return re.sub(r"\s+", " ", stated)
    return ", ".join(classified) or "see the package"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PackageNotFoundError as error:
        sys.exit(f"{error}: run `make setup` first")
