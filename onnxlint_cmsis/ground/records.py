"""Frozen dataclasses that are cheap to define: a lint run defines some fourteen of them.

`dataclasses.dataclass` compiles up to seven methods for each class, 4 % of the time of a run. These are made without
compiling, the constructor as those of named tuples are; type checkers see `dataclasses.dataclass`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - re-exported
else:
    import dataclasses
    from dataclasses import MISSING
    from operator import attrgetter

    from onnxlint_cmsis.ground.named_tuples import constructor

    def _constructor_of(cls, fields):
        """The constructor of a class; the default of a field with a factory is the factory, until a record is made."""
        names = tuple(field.name for field in fields)
        factories = [(field.name, field.default_factory) for field in fields if field.default_factory is not MISSING]
        last = getattr(cls, "__post_init__", None)

        def fill(record, values):
            own = record.__dict__
            own.update(zip(names, values, strict=True))
            for name, factory in factories:
                if own[name] is factory:
                    own[name] = factory()
            if last is not None:
                last(record)

        defaults = (field.default if field.default_factory is MISSING else field.default_factory for field in fields)
        return constructor("__init__", names, tuple(value for value in defaults if value is not MISSING), fill)

    def _refuse(record, name, *_):
        raise dataclasses.FrozenInstanceError(f"cannot change {name!r} of {type(record).__name__}")

    def _compare(cls, fields):
        """Let values be equal where their fields are."""
        values = attrgetter(*(field.name for field in fields if field.compare))
        hashed = attrgetter(*(f.name for f in fields if (f.compare if f.hash is None else f.hash)))

        def equal(record, other):
            return values(record) == values(other) if other.__class__ is record.__class__ else NotImplemented

        cls.__eq__, cls.__hash__ = equal, lambda record: hash(hashed(record))

    def _shown(record):
        pairs = (f"{field.name}={getattr(record, field.name)!r}" for field in dataclasses.fields(record) if field.repr)
        return f"{type(record).__qualname__}({', '.join(pairs)})"

    def dataclass(*, frozen, init=True, eq=True, repr=True):
        """Make a class of fields as `dataclasses.dataclass` does, without `kw_only` and `InitVar`."""
        assert frozen

        def defined(cls):
            dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
            fields = dataclasses.fields(cls)
            cls.__setattr__ = cls.__delattr__ = _refuse
            if init:
                cls.__init__ = _constructor_of(cls, fields)
            if eq:
                _compare(cls, fields)
            if repr:
                cls.__repr__ = _shown
            return cls

        return defined
