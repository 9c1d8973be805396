"""Named tuples of the package behave as those of `typing`."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Ours(NamedTuple):
    """A point."""

    x: int
    y: int = 2

    @property
    def sum(self) -> int:
        return self.x + self.y


class Theirs(typing.NamedTuple):
    """A point."""

    x: int
    y: int = 2

    @property
    def sum(self) -> int:
        return self.x + self.y


def facts(kind: typing.Any) -> list[object]:
    row = kind(1)
    x, y = row
    return [
        *(
            kind._fields,
            kind._field_defaults,
            kind.__match_args__,
            typing.get_type_hints(kind),
            kind.__doc__,
            kind.__module__,
        ),
        *(row, row == (1, 2), hash(row), x, y, row.sum, row._asdict(), row._replace(y=5), kind(x=3, y=4)),
        *(kind._make([7, 8]), copy.copy(row), pickle.loads(pickle.dumps(row)), len(row), row[::-1]),
        repr(row).replace(kind.__name__, ""),
    ]


def test_a_named_tuple_is_as_one_of_typing() -> None:
    assert facts(Ours) == facts(Theirs)
    assert type(pickle.loads(pickle.dumps(Ours(1)))) is Ours


@pytest.mark.parametrize("kind", [Ours, Theirs])
def test_a_named_tuple_takes_its_fields_alone(kind: typing.Any) -> None:
    for arguments, names in (((), {}), ((1, 2, 3), {}), ((1,), {"z": 3})):
        with pytest.raises(TypeError):
            kind(*arguments, **names)
    with pytest.raises((TypeError, ValueError)):
        kind(1)._replace(z=3)
    with pytest.raises(AttributeError):
        kind(1).x = 2
    with pytest.raises(AttributeError):
        kind(1).z = 2
