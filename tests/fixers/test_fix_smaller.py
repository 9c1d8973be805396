"""`--fix-policy smaller`: the least arena of a `.tflite` file within a bound on instructions."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.formats.tflite.memory_plan import stated_plan
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.runtimes.tflm.stated_plans import plan_faults
from support.expanding_nets import expanding, net
from support.fixable_models import dead
from support.linter import FixedModel, fixed, linted
from support.nightly import one_of
from support.paths import SHARED
from support.planned_models import WASTING, chain
from support.tflite_writer import write
from support.tflm_runs import wheel_run

pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")

WHEEL = pytest.mark.skipif(find_spec("tflite_micro") is None, reason="needs PyPI's tflite-micro")
SHARED_MODELS = pytest.mark.skipif(not SHARED.exists(), reason="needs models in a folder `shared` beside the project")


def smaller(data: bytes, **more: Any) -> FixedModel:
    """The model as the policy leaves it on a Cortex-M4."""
    chosen = {"targets": ["cortex-m4"], "fix_policy": "smaller", "fixable": ["CNN604"], **more}
    return fixed(data, "m.tflite", **chosen)


def test_the_arena_is_the_least_of_all_numbers_of_groups() -> None:
    data = expanding()
    result, new = smaller(data)
    assert new is not None, result.reason
    assert result.certificate is not None
    (memory,) = result.memory
    assert memory.after < memory.before
    (below,) = fixed(data, "m.tflite", targets=["cortex-m4"], ram=memory.after - 1, fixable=["CNN604"]).result.notes
    assert f"it needs {memory.after:,} bytes, the least that was found" in below


@pytest.mark.parametrize("targets", one_of(3, [["cortex-m0", "cortex-m55"], ["cortex-m4"], ["cortex-m55"]]))
def test_no_target_takes_more_instructions_than_allowed(targets: list[str]) -> None:
    data, arenas = expanding(), []
    for most in (0, 2, 8, 100):
        result, new = smaller(data, targets=targets, most_instructions=most)
        assert all(total.percent <= most for total in result.totals)
        taken = linted(new or data, "m.tflite", targets=targets).summary.targets
        arenas.append(max(row.arena_to_write or 0 for row in taken))
    assert arenas == sorted(arenas, reverse=True)
    assert arenas[-1] < arenas[0]


def test_the_result_is_the_same_each_time_and_a_second_run_changes_nothing() -> None:
    first, again = smaller(expanding()).model, smaller(expanding()).model
    assert first is not None
    assert first == again
    second, written = smaller(first)
    assert written is None
    (note,) = second.notes
    assert note.startswith("no memory plan and no tiles within 5 % take less arena: ")


def test_a_plan_of_a_file_that_stays_is_not_said_to_go() -> None:
    first = smaller(write(chain(*WASTING))).model
    assert first is not None
    model = read_tflite("m.tflite", first)
    assert stated_plan(model) is not None
    assert not [*plan_faults(model)]
    for policy in ("smaller", "faster"):
        result, written = fixed(first, "m.tflite", targets=["cortex-m4"], fix_policy=policy)
        assert written is None
        assert not any("went" in note for note in result.notes)


def test_the_rule_on_plans_has_to_be_fixable() -> None:
    result, new = smaller(expanding(), fixable=["CNN2"])
    assert (new, result.memory, result.added) == (None, (), ())


def test_a_finding_on_a_plan_is_fixable_without_ram() -> None:
    data, marks = write(chain(*WASTING)), []
    for policy in ("faster", "smaller"):
        findings = linted(data, "m.tflite", targets=["cortex-m4"], fix_policy=policy, min_level="note").findings
        marks.append([bool(row.properties.get("fixable")) for row in findings if row.code == "CNN604"])
    assert marks == [[False], [True]]


def test_an_onnx_file_is_told_that_it_has_no_arena() -> None:
    result, new = fixed(dead(), fix_policy="smaller", targets=["cortex-m4"], min_gain=0)
    assert new is not None, result.reason
    assert result.totals[0].new_instructions < result.totals[0].instructions
    assert any("no plan and no tiles here" in note for note in result.notes)


@pytest.mark.parametrize("given", ["2.5%", "2.5", 2.5])
def test_a_percentage_may_have_its_sign(given: object) -> None:
    assert make_settings(most_instructions=given).most_instructions == 2.5


@pytest.mark.parametrize("given", ["101%", "-1%", "5 %", "%", "nan", "1e1", True])
def test_what_is_no_percentage_is_refused(given: object) -> None:
    with pytest.raises(UsageError, match=r"most-instructions: .* is not a number from 0 to 100"):
        make_settings(most_instructions=given)


@WHEEL
@pytest.mark.parametrize("seed", one_of(4, range(8)))
def test_random_nets_compute_the_same(seed: int) -> None:
    data = net(seed)
    result, new = smaller(data)
    if new is None:
        assert result.notes or result.reason
    else:
        assert result.certificate is not None
        assert wheel_run(new).outputs == wheel_run(data).outputs != ()


@SHARED_MODELS
@pytest.mark.parametrize(
    ("name", "arena"), [("vww_96_int8", 60_080), ("person_detect", 64_928), ("fomo_face_detection", 79_136)]
)
def test_models_of_others(name: str, arena: int) -> None:
    data = (SHARED / "models" / "tflite" / f"{name}.tflite").read_bytes()
    result, new = smaller(data, fixable=["CNN"])
    assert new is not None, result.reason
    assert result.memory[0].after == arena
