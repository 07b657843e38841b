"""The page of licences names what the project depends on."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_has_every_direct_dependency_and_its_licence() -> None:
    spec = spec_from_file_location("licences_script", ROOT / "scripts" / "licences.py")
    assert spec is not None
    assert spec.loader is not None
    script = module_from_spec(spec)
    sys.modules["licences_script"] = script
    spec.loader.exec_module(script)
    page = (ROOT / "docs" / "licences.md").read_text()
    listed = dict(re.findall(r"^\| (\S+) \| directly \| (.+) \|$", page, re.MULTILINE))
    stated = {script.distribution(one.name).metadata["Name"]: script.distribution(one.name) for one in script.named()}
    assert listed.keys() == stated.keys(), "run `make licences`"
    assert "see the package" not in listed.values()
