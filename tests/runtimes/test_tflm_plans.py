"""Memory plans: packings, those that files bring along, and those that take less."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.formats.tflite.edit import TfliteEdit
from onnxlint_cmsis.formats.tflite.memory_plan import stated_plan
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.free_plan import free_plan, least_head
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.stated_plans import plan_faults
from support.paths import SHARED
from support.planned_models import FITTING, WASTING, chain, with_plan
from support.targets import target_of
from support.tflite_models import decoding_model, one_operator, streaming_model, tensor
from support.tflite_writer import operator_code, write
from support.tflm_runs import wheel_run

M4, M55 = (TflmBuild(target_of(cpu, "main")) for cpu in ("cortex-m4", "cortex-m55"))
WHEEL = pytest.mark.skipif(find_spec("tflite_micro") is None, reason="needs PyPI's tflite-micro")
SHARED_MODELS = pytest.mark.skipif(not SHARED.exists(), reason="needs models in a folder `shared` beside the project")


def model_of(described):
    return read_tflite("m.tflite", write(described))


def arena_of(model, build=M4):
    arena = interpret(model, build).arena
    assert arena is not None
    return arena


def planned(data, *builds):
    """The file with the best plan, and the arena of each build with it; None where none is found."""
    model = read_tflite("m.tflite", data)
    plan = free_plan(model, [arena_of(model, build) for build in builds or (M4,)])
    if plan is None:
        return None
    edit = TfliteEdit("m.tflite", data)
    edit.set_plan(plan.offsets)
    new = edit.data()
    arenas = [arena_of(read_tflite("m.tflite", new), build) for build in builds or (M4,)]
    assert [arena.head for arena in arenas] == [arena.head for arena in plan.arenas]
    return new, arenas


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from([1 / 2, 1, 2, 3]), min_size=3, max_size=12))
def test_a_plan_overlaps_nothing_takes_less_and_is_the_same_again(ratios):
    sizes = [48]
    for ratio in ratios:
        sizes.append(max(16, int(sizes[-1] * ratio)))
    data = write(chain(*sizes))
    model = read_tflite("m.tflite", data)
    result = planned(data)
    if result is None:
        return
    new, (arena,) = result
    assert not [*plan_faults(read_tflite("m.tflite", new))]
    assert least_head(model, arena_of(model)) <= arena.head < arena_of(model).head
    assert all(buffer.offset % 16 == 0 for buffer in arena.plan)
    assert planned(data)[0] == new


def test_no_plan_has_an_offset_that_a_file_cannot_state():
    """An entry holds 32 bits; a damaged file had tensors of billions of bytes, and a lint ended in struct.error."""
    model = chain(*(size << 18 for size in WASTING))
    for row in model["subgraphs"][0]["tensors"]:
        row["type"] = "INT16" if row["type"] == "INT8" else row["type"]
    read = read_tflite("m.tflite", write(model))
    assert arena_of(read).head > least_head(read, arena_of(read)) > 2**31
    assert planned(write(model)) is None


def test_a_plan_takes_what_is_alive_at_once_and_the_file_stays_as_it_is():
    data = write(chain(*WASTING))
    model = read_tflite("m.tflite", data)
    new, (arena,) = planned(data)
    assert arena.head == least_head(model, arena_of(model)) == 6912 < arena_of(model).head
    after = read_tflite("m.tflite", new)
    assert [row._replace(span=None, custom_options=None) for _, _, row in after.operators()] == [
        row._replace(span=None, custom_options=None) for _, _, row in model.operators()
    ]
    assert after.subgraphs[0].tensors == model.subgraphs[0].tensors
    assert [after.bytes_of(number) for number in range(len(model.buffers))] == [
        model.bytes_of(number) for number in range(len(model.buffers))
    ]


@WHEEL
def test_the_wheel_computes_the_same_in_the_arena_that_is_told():
    data = write(chain(*WASTING))
    new, (arena,) = planned(data)
    before, after = wheel_run(data), wheel_run(new)
    assert before.head == arena_of(read_tflite("m.tflite", data)).head
    assert (after.head, after.outputs) == (arena.head, before.outputs)


@WHEEL
@SHARED_MODELS
@pytest.mark.parametrize(
    ("name", "head", "used"), [("vww_96_int8", 55_296, 82_276), ("blazeface_front_128", 327_680, 355_664)]
)
def test_models_of_others_take_less_and_compute_the_same(name, head, used):
    data = (SHARED / "models" / "tflite" / f"{name}.tflite").read_bytes()
    new, (arena,) = planned(data)
    assert (arena.head, arena.used) == (head, used)
    before, after = wheel_run(data, 2), wheel_run(new, 2)
    assert before.outputs
    assert (after.head, after.outputs) == (head, before.outputs)


def test_nothing_is_planned_where_nothing_is_wasted():
    assert planned(write(chain(64, 64, 64))) is None
    assert planned(planned(write(chain(*WASTING)))[0]) is None


def test_a_plan_serves_all_targets_or_there_is_none():
    data = write(chain(*WASTING))
    new, arenas = planned(data, M4, M55)
    model = read_tflite("m.tflite", data)
    assert all(arena.used < arena_of(model, build).used for arena, build in zip(arenas, (M4, M55), strict=True))
    assert not [*plan_faults(read_tflite("m.tflite", new))]


@pytest.mark.parametrize("described", [streaming_model(), decoding_model()])
def test_a_plan_of_several_subgraphs_overlaps_nothing(described):
    result = planned(write(described))
    assert result is None or not [*plan_faults(read_tflite("m.tflite", result[0]))]


def test_a_variable_stays_where_it_is():
    described = chain(*WASTING)
    described["subgraphs"][0]["tensors"].append(tensor("state", [1, 64], is_variable=True))
    new, _ = planned(write(described))
    stated = stated_plan(read_tflite("m.tflite", new))
    assert stated is not None
    assert stated.offsets[-1] == -1


def faults(offsets, **more):
    return [*plan_faults(model_of(with_plan(chain(*WASTING), offsets, **more)))]


def test_a_plan_that_fits_has_no_faults():
    assert faults(FITTING) == faults(()) == []


@pytest.mark.parametrize(
    ("offsets", "more"),
    [
        ([0] * 8, {}), ([512, 0, 4592, *FITTING[3:]], {}), ([-2], {}), (FITTING, {"missing": 1}), (FITTING, {"cut": 4}),
        (FITTING, {"cut": 98}),
    ],
    ids=["all at 0", "16 bytes over", "in front", "fewer", "cut", "header cut"],
)  # fmt: skip
def test_what_is_wrong_with_a_plan(offsets, more, told):
    told("\n".join(fault.text for fault in faults(offsets, **more)))


def test_elements_lie_at_multiples_of_their_size(told):
    described = chain(16, 16)
    for number in range(2):
        described["subgraphs"][0]["tensors"][number]["type"] = "FLOAT32"
    (fault,) = plan_faults(model_of(with_plan(described, [2, 68])))
    told(fault.text)


def test_a_variable_shares_with_nobody():
    described = chain(*WASTING)
    described["subgraphs"][0]["tensors"].append(tensor("state", [1, 64], is_variable=True))
    offsets = [*FITTING, *[-1] * (len(described["subgraphs"][0]["tensors"]) - 9)]
    assert not [*plan_faults(model_of(with_plan(described, [*offsets, 9216])))]
    assert [*plan_faults(model_of(with_plan(described, [*offsets, 0])))]


def test_who_wrote_a_custom_operator_lays_out_its_tensors():
    """Vela puts feature maps into the scratch tensor of its one operator."""
    described = one_operator("CUSTOM", [tensor("x", [1, 64]), tensor("y", [1, 64])])
    described["operator_codes"] = [operator_code("CUSTOM", custom_code="ethos-u")]
    assert [*plan_faults(model_of(with_plan(described, [0, 16])))] == []
    plain = one_operator("LOGISTIC", [tensor("x", [1, 64]), tensor("y", [1, 64])])
    assert len([*plan_faults(model_of(with_plan(plain, [0, 16])))]) == 1


@WHEEL
def test_the_wheel_refuses_a_plan_for_fewer_tensors():
    data = write(with_plan(chain(*WASTING), FITTING, missing=1))
    report = interpret(read_tflite("m.tflite", data), M4)
    assert (report.status, report.arena) == ("alloc_error", None)
    assert report.stop == report.message == "Nbr of offline buffer offsets (21) in metadata not equal nbr tensors (22)"
    assert wheel_run(data).head == -1


@WHEEL
def test_the_wheel_computes_other_values_where_a_plan_overlaps():
    plain = wheel_run(write(chain(*WASTING)))
    data = write(with_plan(chain(*WASTING), [512, 0, 32, *FITTING[3:]]))
    assert {fault.verdict for fault in plan_faults(read_tflite("m.tflite", data))} == {Outcome.WRONG}
    assert wheel_run(data).outputs != plain.outputs
    assert wheel_run(write(with_plan(chain(*WASTING), FITTING))).outputs == plain.outputs


@WHEEL
def test_of_several_plans_the_last_is_taken():
    described = with_plan(with_plan(chain(*WASTING), FITTING), FITTING)
    described["metadata"] = [{"name": "OfflineMemoryAllocation", "buffer": len(described["buffers"]) - 1}] * 2
    described["metadata"][0] = {"name": "OfflineMemoryAllocation", "buffer": len(described["buffers"]) - 2}
    first = [*described["buffers"][-2]["data"]]
    first[12:16] = [0, 64, 0, 0]
    described["buffers"][-2] = {"data": first}
    data = write(described)
    assert wheel_run(data).head == arena_of(read_tflite("m.tflite", data)).head == 9216


def branching():
    """A model that computes a chain in one of two subgraphs, by a condition that it is given."""
    described = chain(*WASTING)
    body = described["subgraphs"][0]
    ends = [tensor("x", [1, WASTING[0]]), tensor("c", [1], scale=None, type="BOOL"), tensor("y", [1, WASTING[-1]])]
    options = ("IfOptions", {"then_subgraph_index": 1, "else_subgraph_index": 2})
    operator = {"opcode_index": 3, "inputs": [1, 0], "outputs": [2], "builtin_options": options}
    main = {"tensors": ends, "inputs": [0, 1], "outputs": [2], "operators": [operator]}
    return {
        **described,
        "operator_codes": [*described["operator_codes"], operator_code("IF")],
        "subgraphs": [main, body, body],
    }


@WHEEL
def test_branches_are_planned_together():
    data = write(branching())
    new, (arena,) = planned(data)
    assert not [*plan_faults(read_tflite("m.tflite", new))]
    before, after = wheel_run(data, 8), wheel_run(new, 8)
    assert before.outputs
    assert (after.head, after.outputs) == (arena.head, before.outputs)


def test_what_a_loop_holds_lives_as_long_as_the_loop():
    described = chain(*WASTING)
    body = {**described["subgraphs"][0], "outputs": [0]}
    condition = {
        "tensors": [tensor("i", [1, 512]), tensor("o", [1], scale=None, type="BOOL")],
        "inputs": [0],
        "outputs": [1],
    }
    condition["operators"] = [{"opcode_index": 4, "inputs": [0, 0], "outputs": [1]}]
    options = ("WhileOptions", {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    operator = {"opcode_index": 3, "inputs": [0], "outputs": [1], "builtin_options": options}
    ends = [tensor("x", [1, 512]), tensor("y", [1, 512])]
    main = {"tensors": ends, "inputs": [0], "outputs": [1], "operators": [operator]}
    codes = [*described["operator_codes"], operator_code("WHILE"), operator_code("LESS")]
    data = write({**described, "operator_codes": codes, "subgraphs": [main, condition, body]})
    arena = arena_of(read_tflite("m.tflite", data))
    assert least_head(read_tflite("m.tflite", data), arena) >= sum(WASTING)
    assert planned(data) is None
