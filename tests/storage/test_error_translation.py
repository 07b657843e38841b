import pytest
from obstore import exceptions as foreign

from indextables.errors import AccessDeniedError, AlreadyExistsError, NotFoundError, StorageError, UnsafePathError
from indextables.storage.error_translation import KINDS, translate_errors


def test_every_error_of_the_library_is_mapped() -> None:
    theirs = {kind for kind in vars(foreign).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert theirs <= KINDS.keys()


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (foreign.AlreadyExistsError("x"), AlreadyExistsError),
        (foreign.PreconditionError("x"), AlreadyExistsError),
        (FileNotFoundError("x"), NotFoundError),
        (foreign.UnauthenticatedError("x"), AccessDeniedError),
        (PermissionError("x"), AccessDeniedError),
        (foreign.GenericError("server said 500\nDebug source: ..."), StorageError),
        (foreign.GenericError("Unable to open file /t: Permission denied (os error 13)"), AccessDeniedError),
        (TimeoutError("x"), StorageError),
    ],
)
def test_a_foreign_error_becomes_ours(raised: Exception, expected: type[StorageError]) -> None:
    with pytest.raises(StorageError, match=r"^the/file ") as caught, translate_errors("the/file"):
        raise raised
    assert type(caught.value) is expected
    assert caught.value.path == "the/file"
    assert caught.value.__cause__ is raised
    assert "Debug source" not in str(caught.value)


def test_our_own_errors_pass_unchanged() -> None:
    with pytest.raises(UnsafePathError, match="mine"), translate_errors("x"):
        raise UnsafePathError("mine", path="y")


def test_a_mistake_in_our_code_is_not_a_storage_error() -> None:
    with pytest.raises(KeyError), translate_errors("x"):
        raise KeyError("bug")
