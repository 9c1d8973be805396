"""A fix keeps a model that fits the RAM and flash that were named within them."""

from __future__ import annotations

from typing import Any

import pytest

from onnxlint_cmsis.analysis.fix_results import FixResult
from support.fixable_models import gaining, gaining_twice, hazardous
from support.linter import fixed, linted

M4: dict[str, Any] = {"targets": ["cortex-m4"]}
M55: dict[str, Any] = {"targets": ["cortex-m55"]}


def fits(model: bytes, settings: dict[str, Any] = M4, /, **room: int) -> bool:
    codes = {finding.code for finding in linted(model, **settings, **room).findings}
    return not codes & {"CNN601", "CNN602"}


def least(model: bytes, memory: str, settings: dict[str, Any] = M4) -> int:
    """The least bytes of a memory that a model fits."""
    low, high = 1, 1 << 16
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(model, settings, **{memory: middle}) else (middle + 1, high)
    return low


@pytest.mark.parametrize("memory", ["ram", "flash"])
def test_no_channels_are_added_that_no_room_is_for(memory: str) -> None:
    model = gaining()
    room = {memory: least(model, memory)}
    wide = fixed(model, **M4).model
    assert wide is not None
    assert least(wide, memory) > room[memory]
    result, new = fixed(model, **M4, **room)
    assert new is None
    assert "the model would need" in result.reason
    assert f"where {room[memory]:,} are there" in result.reason


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
    said = "--fix leaves 1 channel count as it is: with more channels it would need"
    assert any(note.startswith(said) for note in notes), notes


def grown(result: FixResult) -> set[str]:
    return {layer for change in result.classes if change.want > change.have for layer in change.deciders}


@pytest.mark.parametrize("memory", ["ram", "flash"])
def test_classes_grow_that_there_is_room_for_and_a_second_fix_adds_none(memory: str) -> None:
    model = gaining_twice()
    all_of_it = fixed(model, **M4)
    assert all_of_it.model is not None
    room = {memory: least(all_of_it.model, memory) - 1}
    result, new = fixed(model, **M4, **room)
    assert new is not None
    assert set() < grown(result) < grown(all_of_it.result)
    assert fits(new, **room)
    assert any("the model would need" in row.reason for row in result.left)
    assert not fixed(new, **M4, **room).result.changed
    told = {finding.location.node for finding in linted(model, **M4, **room).findings if finding.code == "CNN201"}
    without = {finding.location.node for finding in linted(model, **M4).findings if finding.code == "CNN201"}
    assert set() < told < without


def test_memory_that_has_no_room_takes_no_more() -> None:
    model = gaining()
    result, new = fixed(model, **M4, flash=1)
    assert new is None
    assert "where 1 are there" in result.reason


def test_a_hazard_is_repaired_where_there_is_no_room_anyway() -> None:
    model = hazardous()
    result, new = fixed(model, **M55, flash=1)
    assert result.repairs
    assert new == fixed(model, **M55).model
    assert not [note for note in linted(model, **M55, flash=1).notes if "--fix leaves" in note]


@pytest.mark.parametrize("memory", ["ram", "flash"])
def test_a_repair_that_no_room_is_for_is_neither_done_nor_promised(memory: str) -> None:
    model = hazardous()
    whole = fixed(model, **M55).model
    assert whole is not None
    need = least(whole, memory, M55)
    assert need > least(model, memory, M55)
    for room, there in ((need, True), (need - 1, False)):
        (told,) = [row for row in linted(model, **M55, **{memory: room}).findings if "hazard" in row.properties]
        assert bool(told.properties.get("fixable")) is there
        result, new = fixed(model, **M55, **{memory: room})
        assert (new == whole) is there
        assert there or (new is None and "would need" in result.reason)
