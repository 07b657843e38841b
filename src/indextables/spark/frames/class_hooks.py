"""Methods of Spark's classes that ours take the place of, and how the classes get their own back."""

from collections.abc import Callable
from functools import wraps
from typing import Any


class ClassHooks:
    """The hooks on some classes. It is true while any are in place."""

    def __init__(self) -> None:
        self._originals: dict[tuple[Any, str], Any] = {}

    def __bool__(self) -> bool:
        return bool(self._originals)

    def replace(self, owner: type, name: str, replacement: Any) -> None:
        """Another method or property in the place of one."""
        self._originals[owner, name] = owner.__dict__[name]
        setattr(owner, name, replacement)

    def hook(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        """A method, or a function of a module, that calls `around` with the original and its arguments."""
        original = getattr(owner, name)

        @wraps(original)
        def hooked(self: Any, *args: Any, **options: Any) -> Any:
            return around(original, self, *args, **options)

        self._originals[owner, name] = original
        setattr(owner, name, hooked)

    def value(self, owner: type, name: str, instance: Any) -> Any:
        """What the class's own property gives."""
        return self._originals[owner, name].__get__(instance)

    def remove(self) -> None:
        for (owner, name), original in self._originals.items():
            setattr(owner, name, original)
        self._originals.clear()
