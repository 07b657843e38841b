import pickle
from inspect import signature

import pytest

from indextables import errors
from indextables.config import Config
from indextables.errors import ConflictError, IndexTablesError, VersionNotFoundError

EVERY_ERROR = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


def test_all_have_one_root() -> None:
    assert all(issubclass(kind, IndexTablesError) for kind in EVERY_ERROR)


def test_the_tree_in_the_docstring_names_all_of_them() -> None:
    assert errors.__doc__ is not None
    assert [kind.__name__ for kind in EVERY_ERROR if f"{kind.__name__}" not in errors.__doc__] == []


def test_facts_are_attributes_and_survive_pickling() -> None:
    error = VersionNotFoundError("no such version", table="t", version=9, earliest=0, latest=4)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.version, again.latest, again.table) == ("no such version", 9, 4, "t")


def test_a_fact_that_the_class_does_not_declare_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'winner'"):
        ConflictError("x", winner=3)


@pytest.mark.parametrize("kind", EVERY_ERROR, ids=lambda kind: kind.__name__)
def test_the_facts_of_an_error_are_required(kind: type[IndexTablesError]) -> None:
    parameters = signature(kind).parameters.values()
    facts = {
        one.name: f"a {one.name}" for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty
    }
    error = pickle.loads(pickle.dumps(kind("what happened", **facts)))
    assert str(error) == "what happened"
    assert {name: getattr(error, name) for name in facts} == facts
    for name in facts:
        with pytest.raises(TypeError, match=f"missing 1 required keyword-only argument: '{name}'"):
            kind("what happened", **{other: fact for other, fact in facts.items() if other != name})


def test_what_python_calls_a_value_error_is_one() -> None:
    assert {kind.__name__ for kind in EVERY_ERROR if issubclass(kind, ValueError)} == {
        "ConfigError",
        "LayoutError",
        "SchemaError",
    }
    with pytest.raises(ValueError, match="there is no setting"):
        Config.resolve({"nonsense": "1"})
