"""Immutable values, equal and hashed by their fields.

Written out because building a frozen dataclass costs over a millisecond of every run's start.
"""

from __future__ import annotations


class Frozen:
    """Base of a value whose `__slots__` are its fields, set once by `_fill`."""

    __slots__: tuple[str, ...] = ()

    def _fill(self, *fields: object) -> None:
        for name, value in zip(self.__slots__, fields, strict=True):
            object.__setattr__(self, name, value)

    def _fields(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; '{name}' cannot be set")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Frozen) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._fields()!r}"
