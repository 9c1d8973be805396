"""A fix keeps a model that fits the RAM and flash that were named within them."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import TensorProto

from onnxlint_cmsis.analysis.fix_results import FixResult
from onnxlint_cmsis.cli.fix_promises import fix_options
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fixers import fix_model
from onnxlint_cmsis.fixers.report import Fixed
from onnxlint_cmsis.fixers.request import FixRequest
from onnxlint_cmsis.fixers.snapshot import Snapshot
from support.fixable_models import accepted_beside, gaining, gaining_in_turns, gaining_twice, hazardous, row
from support.linter import fixed, linted
from support.nightly import one_of

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


@pytest.mark.parametrize("memory", one_of(2, ["flash", "ram"]))
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


@pytest.mark.parametrize("memory", one_of(2, ["ram", "flash"]))
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
    said = "--fix leaves 1 channel count as it is: with more channels the model would need"
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


def test_a_class_that_fits_beside_what_was_kept_later_is_not_left_to_a_second_fix() -> None:
    model, settings = gaining_in_turns(), {**M4, "fix_policy": "align", "align": 8}
    whole = fixed(model, **settings).model
    assert whole is not None
    room = {"flash": least(whole, "flash", settings) - 1}
    first = fixed(model, **settings, **room)
    assert first.model is not None
    assert fits(first.model, settings, **room)
    assert not fixed(first.model, **settings, **room).result.changed


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


@pytest.mark.parametrize("memory", ["ram", "flash"])
@pytest.mark.parametrize("unsafe", [False, True])
def test_nothing_is_promised_where_the_whole_model_stays(memory: str, unsafe: bool) -> None:
    model, settings = row(TensorProto.FLOAT).SerializeToString(), {**M55, "unsafe_fixes": unsafe}
    whole = fixed(model, **settings).model
    assert whole is not None
    room = {memory: least(whole, memory, settings) - 1}
    if not fits(model, settings, **room):
        pytest.fail("the model has no room as it is")
    assert fixed(model, **settings, **room).model is None
    told = linted(model, **settings, **room)
    assert any("--fix leaves the model as it is" in note for note in told.notes)
    assert not [finding.code for finding in told.findings if finding.properties.get("fixable")]


def test_the_report_names_as_many_channel_counts_as_linting() -> None:
    model = gaining_twice()
    room = {"flash": least(model, "flash")}
    (note,) = [note for note in linted(model, **M4, **room).notes if note.startswith("--fix leaves")]
    assert note.startswith("--fix leaves 2 channel counts as they are: with more channels the model would need ")
    assert len([row for row in fixed(model, **M4, **room).result.left if "would need" in row.reason]) == 2


def test_the_report_says_that_there_is_no_room_where_another_class_is_accepted_besides() -> None:
    model, accepted = accepted_beside(), [{"rule": "CNN2", "node": "wide"}]
    settings: dict[str, Any] = {"targets": ["cortex-m4", "cortex-m55"], "fix_policy": "route", "suppress": accepted}
    assert fixed(model, **settings).model is not None
    room = {"flash": least(model, "flash", settings)}
    result, new = fixed(model, **settings, **room)
    assert new is None
    assert "the model would need" in result.reason
    assert any("the model would need" in row.reason for row in result.left)


def test_long_models_are_fixed_less_often_to_see_what_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    model = gaining_twice()
    settings = make_settings(**M4, flash=least(model, "flash"))
    request, work, trials = FixRequest(settings.analysis, fix_options(settings)), fix_model.with_memory_plan, [0]

    def counted(start: Snapshot, fixed: Fixed) -> Fixed:
        trials[-1] += 1
        return work(start, fixed)

    monkeypatch.setattr(fix_model, "with_memory_plan", counted)
    fix_model.rehearsed(Snapshot("m.onnx", model, request))
    trials.append(0)
    monkeypatch.setattr("onnxlint_cmsis.fixers.within_room.MOST_LAYERS", 1)
    fix_model.rehearsed(Snapshot("m.onnx", model, request))
    assert trials[0] > trials[1] == 3


def test_of_a_model_above_the_limits_of_searches_linting_promises_nothing_that_takes_room() -> None:
    model, limits = hazardous(), {"size_checks_layers": 1}
    free = [row for row in linted(model, **M55, **limits).findings if row.properties.get("fixable")]
    roomed = linted(model, **M55, **limits, flash=1 << 20)
    assert not [row for row in roomed.findings if row.properties.get("fixable")]
    assert any("size-checks-layers is 1" in note for note in roomed.notes)
    assert len(free) == len([row for row in roomed.findings if "hazard" in row.properties])
