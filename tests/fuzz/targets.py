"""All targets by name."""

from tests.fuzz.cli_targets import CLI, IMPORT
from tests.fuzz.log_targets import CHECKPOINT, VERSION
from tests.fuzz.split_target import SPLIT
from tests.fuzz.text_targets import OPTIONS, PREDICATE, QUERY

TARGETS = {target.name: target for target in (VERSION, CHECKPOINT, SPLIT, PREDICATE, QUERY, OPTIONS, CLI, IMPORT)}
