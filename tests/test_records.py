"""Frozen dataclasses of the package behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing

import pytest

from onnxlint_cmsis.ground import records


@records.dataclass(frozen=True)
class Ours:
    """A point."""

    x: int
    y: int = 2
    near: list[int] = dataclasses.field(default_factory=list, hash=False)
    note: str = dataclasses.field(default="", compare=False, repr=False)

    @property
    def sum(self) -> int:
        return self.x + self.y


@dataclasses.dataclass(frozen=True)
class Theirs:
    """A point."""

    x: int
    y: int = 2
    near: list[int] = dataclasses.field(default_factory=list, hash=False)
    note: str = dataclasses.field(default="", compare=False, repr=False)

    @property
    def sum(self) -> int:
        return self.x + self.y


@records.dataclass(frozen=True, eq=False, repr=False)
class Checked:
    """A record that looks at what it gets."""

    x: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", self.x + 1)


def facts(kind: typing.Any) -> list[object]:
    row, other = kind(1), kind(1, note="n")
    return [
        *([field.name for field in dataclasses.fields(kind)], kind.__match_args__, kind.__doc__, kind.__module__),
        *(row == other, row == kind(2), row == (1, 2), hash(row) == hash(other), row.sum, row.near is other.near),
        *(hash(row) == hash(kind(1, near=[3])), dataclasses.asdict(dataclasses.replace(row, y=5)), kind(x=3, y=4).y),
        *(copy.copy(row) == row, pickle.loads(pickle.dumps(row)) == row, repr(row).replace(kind.__name__, "")),
    ]


def test_a_record_is_as_a_frozen_dataclass() -> None:
    assert facts(Ours) == facts(Theirs)


@pytest.mark.parametrize("kind", [Ours, Theirs])
def test_a_record_takes_its_fields_alone_and_keeps_them(kind: typing.Any) -> None:
    for wrong in ({}, {"x": 1, "z": 2}):
        with pytest.raises(TypeError):
            kind(**wrong)
    with pytest.raises(TypeError):
        kind(1, 2, [], "", 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        kind(1).x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del kind(1).x


def test_a_record_may_look_at_what_it_gets_and_be_itself_alone() -> None:
    assert Checked(1).x == 2
    assert Checked(1) != Checked(1)
