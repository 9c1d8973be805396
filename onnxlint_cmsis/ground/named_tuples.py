"""Named tuples that are cheap to define: a run defines some 220 of them and makes values of few.

`typing.NamedTuple` compiles a constructor and the annotation of every field when a class is defined: 11 to 13 % of the
instructions of a lint run, 8 % of its time. This one makes the constructor when the first value is made; type checkers
see `typing.NamedTuple`.
"""

from __future__ import annotations

from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - re-exported
else:
    from _collections import _tuplegetter

    @cache
    def _constructor_code(fields: int) -> CodeType:
        """Compile a constructor of so many fields: only their names differ from class to class."""
        names = ", ".join(f"_{position}" for position in range(fields))
        return eval(f"lambda _self, {names}: _make(_self, ({names},))").__code__

    def constructor(name, fields, defaults, make):
        """A function of so many fields, some with defaults: it gives its first argument and a tuple to `make`."""
        code = _constructor_code(len(fields)).replace(co_varnames=("_self", *fields))
        return FunctionType(code, {"_make": make}, name, defaults)

    class _Record(tuple):
        __slots__ = ()

        def __new__(cls, *args, **fields):
            # for the first value alone: the class then has a constructor as collections.namedtuple makes it
            new = constructor("__new__", cls._fields, tuple(cls._field_defaults.values()), tuple.__new__)
            cls.__new__ = new
            return new(cls, *args, **fields)

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, **changes):
            changed = tuple.__new__(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"got unexpected field names: {[*changes]}")
            return changed

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

    class _Definition(type):
        """Makes a tuple with named fields of a class body."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            names = tuple(body.get("__annotations__", ()))
            body |= {"__slots__": (), "__match_args__": names, "_fields": names}
            body["_field_defaults"] = {field: body[field] for field in names if field in body}
            body |= {field: _tuplegetter(position, None) for position, field in enumerate(names)}
            return type(name, (_Record,), body)

    class NamedTuple(metaclass=_Definition):
        """A tuple with named fields, defined as with `typing.NamedTuple`."""
