"""A fix keeps a model that fits the RAM and flash that were named within them."""

from __future__ import annotations

from typing import Any

import pytest

from support.fixable_models import gaining
from support.linter import fixed, linted

M4: dict[str, Any] = {"targets": ["cortex-m4"]}


def fits(model: bytes, **room: int) -> bool:
    codes = {finding.code for finding in linted(model, **M4, **room).findings}
    return not codes & {"CNN601", "CNN602"}


def least(model: bytes, memory: str) -> int:
    """The least bytes of a memory that a model fits."""
    low, high = 1, 1 << 16
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(model, **{memory: middle}) else (middle + 1, high)
    return low


@pytest.mark.parametrize("memory", ["ram", "flash"])
def test_no_channels_are_added_that_no_room_is_for(memory: str) -> None:
    model = gaining()
    room = {memory: least(model, memory)}
    wide = fixed(model, **M4).model
    assert wide is not None
    assert least(wide, memory) > room[memory]
    result, new = fixed(model, **M4, **room)
    assert new is None or fits(new, **room)
    told = (result.reason, *result.notes)
    assert any("it would need" in text and f"where {room[memory]:,} are there" in text for text in told), told


def test_channels_are_added_where_there_is_room() -> None:
    model = gaining()
    wide = fixed(model, **M4).model
    assert wide is not None
    room = least(wide, "ram")
    assert fixed(model, **M4, ram=room).model == wide


@pytest.mark.parametrize("memory", ["ram", "flash"])
def test_linting_promises_no_channels_that_no_room_is_for(memory: str) -> None:
    model = gaining()
    wide = fixed(model, **M4).model
    assert wide is not None
    for room, there in ((least(wide, memory), True), (least(wide, memory) - 1, False)):
        promised = [finding for finding in linted(model, **M4, **{memory: room}).findings if finding.code == "CNN201"]
        assert bool(promised) is there
        assert (fixed(model, **M4, **{memory: room}).model == wide) is there


def test_linting_says_what_the_model_would_need_with_more_channels() -> None:
    model = gaining()
    notes = linted(model, **M4, ram=least(model, "ram")).notes
    assert any(note.startswith("--fix adds no channels: with them it would need") for note in notes), notes
