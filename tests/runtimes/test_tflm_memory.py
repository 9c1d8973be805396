"""The planner, lifetimes and the revisions, each by itself."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.runtimes.runtime import runtime_of
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.custom_operators import CUSTOM
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.kernels import KERNELS
from onnxlint_cmsis.runtimes.tflm.lifetimes import Lifetimes, TooManySteps
from onnxlint_cmsis.runtimes.tflm.planner import PlannedBuffer, laid_out
from onnxlint_cmsis.runtimes.tflm.reference_checks import LIMITS
from onnxlint_cmsis.runtimes.tflm.resolver import CUSTOM_METHODS
from onnxlint_cmsis.runtimes.tflm.resource_variables import resource_variables
from onnxlint_cmsis.runtimes.tflm.revisions import REVISIONS
from onnxlint_cmsis.runtimes.tflm.structures import ARENA, OPERATORS
from support.targets import target_of
from support.tflite_models import decoding_model, one_operator, streaming_model, tensor
from support.tflite_writer import operator_code, write

M4 = TflmBuild(target_of("cortex-m4", "main"))
SPANS = st.lists(st.tuples(st.integers(1, 300), st.integers(0, 9), st.integers(0, 9)), max_size=20)


@settings(deadline=None)
@given(SPANS)
def test_buffers_alive_together_never_overlap(spans):
    buffers = [PlannedBuffer(i, size, min(a, b), max(a, b)) for i, (size, a, b) in enumerate(spans)]
    placed = laid_out(buffers)
    assert [buffer._replace(offset=-1) for buffer in placed] == buffers
    for buffer in placed:
        assert buffer.offset % 16 == 0
        for other in placed:
            apart = buffer.end <= other.offset or other.end <= buffer.offset
            assert buffer is other or apart or buffer.first > other.last or other.first > buffer.last


def test_of_equal_sizes_the_later_is_placed_first():
    first, second = laid_out([PlannedBuffer(0, 100, 0, 1), PlannedBuffer(1, 100, 1, 1)])
    assert (first.offset, second.offset) == (112, 0)


def test_an_offline_plan_is_kept():
    fixed, free = laid_out([PlannedBuffer(0, 64, 0, 3, offset=32), PlannedBuffer(1, 32, 0, 3)])
    assert (fixed.offset, free.offset) == (32, 0)


def chain(count):
    tensors = [tensor(f"t{i}", [1, 8]) for i in range(count + 1)]
    operators = [{"opcode_index": 0, "inputs": [i], "outputs": [i + 1]} for i in range(count)]
    subgraph = {"tensors": tensors, "inputs": [0], "outputs": [count], "operators": operators}
    return {"version": 3, "operator_codes": [operator_code("RELU")], "subgraphs": [subgraph], "buffers": [{}]}


def test_a_buffer_lives_from_its_operator_to_its_last_reader():
    lives = Lifetimes(read_tflite("m.tflite", write(chain(3))), ((0, 1, 64),))
    assert lives.first == [0, 1, 2, 3, 2]
    assert lives.last == [1, 2, 3, 3, 2]


def test_bytes_that_are_alive_in_each_step():
    arena = interpret(read_tflite("m.tflite", write(chain(3))), M4).arena
    assert arena is not None
    assert arena.alive_bytes == (16, 32, 32, 32)


def branching(depth):
    """IF in IF: both branches run the next subgraph."""
    codes = [operator_code("IF"), operator_code("RELU")]
    subgraphs = []
    for number in range(depth + 1):
        options = {"then_subgraph_index": number + 1, "else_subgraph_index": number + 1}
        branch = {"opcode_index": 0, "inputs": [2, 0], "outputs": [1], "builtin_options": ("IfOptions", options)}
        leaf = {"opcode_index": 1, "inputs": [0], "outputs": [1]}
        operators = [branch if number < depth else leaf]
        condition = tensor("c", [1], buffer=1, scale=None, type="BOOL")
        tensors = [tensor("a", [1, 8]), tensor("b", [1, 8]), condition]
        subgraphs.append({"tensors": tensors, "inputs": [0], "outputs": [1], "operators": operators})
    return {"version": 3, "operator_codes": codes, "subgraphs": subgraphs, "buffers": [{}, {"data": [1]}]}


@pytest.mark.parametrize("index", [-1, -9, -(2**31)])
def test_a_negative_subgraph_is_one_that_is_not_there(index, told):
    model = branching(1)
    model["subgraphs"][0]["operators"][0]["builtin_options"][1]["then_subgraph_index"] = index
    (operator, *_) = interpret(read_tflite("m.tflite", write(model)), M4).operators
    told(operator.reason)


def test_bodies_run_between_the_steps_of_their_operator():
    lives = Lifetimes(read_tflite("m.tflite", write(branching(1))), ())
    assert lives.first == [0, 1, -1, 2, 3, -1]
    assert lives.last == [5, 5, 5, 5, 5, -1]


def test_control_flow_that_multiplies_is_bounded():
    model = read_tflite("m.tflite", write(branching(40)))
    with pytest.raises(TooManySteps):
        Lifetimes(model, ())
    assert "runs more than" in interpret(model, M4).no_arena


def test_a_variable_takes_the_tail_and_not_the_head():
    plain = one_operator("RELU", [tensor("x", [1, 64]), tensor("y", [1, 64])])
    before = interpret(read_tflite("m.tflite", write(plain)), M4).arena
    plain["subgraphs"][0]["tensors"].append(tensor("state", [1, 64], is_variable=True))
    after = interpret(read_tflite("m.tflite", write(plain)), M4).arena
    assert before is not None
    assert after is not None
    assert after.head == before.head
    assert after.persistent["variable_tensors"] >= 64


def arena_of(model):
    """The arena that `memory` tells."""
    analysis = ModelAnalysis("m.tflite", AnalysisSettings((M4.target,)), write(model))
    return analysis.execution.memory(M4.target).arena


def streaming(**changes):
    return read_tflite("m.tflite", write(streaming_model(**changes)))


def test_a_resource_variable_takes_its_row_and_its_values():
    """MicroResourceVariables::Create asks for 12 and 20 bytes, the first ASSIGN_VARIABLE prepared for the 16 values."""
    report = interpret(streaming(), M4)
    assert (report.status, report.arena is not None) == ("ok", True)
    assert report.arena.persistent["resource_variables"] == 44
    asked = {(row.subgraph, row.index): row.memory.prepare for row in report.operators if row.memory}
    assert (asked[0, 4], asked[1, 2]) == ((16,), ())
    assert "MicroResourceVariables for 1 variable" in report.operators[1].reason


def test_the_handle_of_a_variable_is_not_planned():
    assert [buffer.name for buffer in arena_of(streaming_model()).plan] == ["x", "kept", "y", "subgraph1/y"]


def test_a_handle_that_is_passed_in_is_planned_and_allocates_nothing():
    """Prepare sees no identifier in a handle that another operator writes (kernels/assign_variable.cc:82)."""
    model = streaming_model()
    inner = model["subgraphs"][1]
    inner["operators"].pop(0)
    inner["inputs"] = [0]
    read = read_tflite("m.tflite", write(model))
    variables = resource_variables(read)
    assert (variables.variables, (1, 1) in variables.uses) == (1, False)
    assert [buffer.bytes for buffer in arena_of(model).plan if buffer.name == "subgraph1/row"] == [4]


def test_two_names_are_two_variables_and_one_name_is_one():
    model = streaming_model()
    model["subgraphs"][1]["operators"][0] = {
        **model["subgraphs"][1]["operators"][0],
        "builtin_options": ("VarHandleOptions", {"shared_name": "other"}),
    }
    assert resource_variables(read_tflite("m.tflite", write(model))).variables == 2
    assert resource_variables(streaming()).variables == 1


@pytest.mark.parametrize(("checks", "status"), [(True, "halt"), (False, "ok")])
def test_a_variable_of_another_size_than_what_is_read_is_told(checks, status, told):
    model = streaming_model()
    model["subgraphs"][0]["operators"].pop()
    model["subgraphs"][1]["operators"].pop()
    report = interpret(read_tflite("m.tflite", write(model)), M4._replace(checks=checks))
    assert report.status == status
    told(report.operators[2].own[0])


MICRO_WAKE_WORD = {"alexa": 18228, "hey_jarvis": 17492, "hey_mycroft": 19524, "okay_nabu": 20516}
"""Arena bytes of firmware of revision 90b983c2 for Cortex-M4, MicroResourceVariables for 6 variables included."""


@pytest.mark.skipif(find_spec("pymicro_wakeword") is None, reason="the package pymicro-wakeword is not installed")
@pytest.mark.parametrize("name", MICRO_WAKE_WORD)
def test_streaming_models_of_micro_wake_word_to_the_byte(name):
    path = Path(find_spec("pymicro_wakeword").origin).parent / "models" / f"{name}.tflite"
    report = interpret(read_tflite(path), M4)
    assert (report.status, report.arena.used) == ("ok", MICRO_WAKE_WORD[name])


@pytest.mark.parametrize(
    ("heads", "bytes_"), [(((0, 1),), 564), (((1, 1),), 548), (((2, 1),), 580), (((0, 1), (2, 1)), 820)]
)
def test_decoded_constants_to_the_byte(heads, bytes_, told):
    """Arena bytes of firmware of revision 90b983c2 for Cortex-M4, for tables, Huffman codes and pruned constants."""
    report = interpret(read_tflite("m.tflite", write(decoding_model(*heads))), M4)
    assert (report.status, report.arena.used) == ("ok", bytes_)
    told(report.operators[0].reason)


@pytest.mark.parametrize(
    ("head", "text"), [((3, 1), "kind 3 and version 1"), ((127, 1), "kind 127"), ((0, 2), "kind 0 and version 2")]
)
def test_a_decoding_that_the_kernel_does_not_know_is_refused(head, text, told):
    report = interpret(read_tflite("m.tflite", write(decoding_model(head))), M4)
    assert report.status == "alloc_error"
    told(report.message)
    assert text in report.operators[0].reason


def test_decoding_of_what_is_no_pair_or_too_short_is_told():
    model = decoding_model((0, 1))
    model["subgraphs"][0]["operators"][0]["inputs"] = [1]
    assert interpret(read_tflite("m.tflite", write(model)), M4).status == "alloc_error"
    model = decoding_model((0, 1))
    model["buffers"][2]["data"] = [0]
    assert interpret(read_tflite("m.tflite", write(model)), M4).status == "undecided"


@pytest.mark.parametrize("name", sorted(set(CUSTOM) - {"TFLM_DECODE"}))
def test_custom_operators_of_the_runtime_are_registered_and_their_arena_is_not_known(name, told):
    model = one_operator("CUSTOM", [tensor("x", [1, 8]), tensor("y", [1, 8])])
    model["operator_codes"][0]["custom_code"] = name
    report = interpret(read_tflite("m.tflite", write(model)), M4)
    assert (report.status, report.arena) == ("ok", None)
    told(report.no_arena)
    assert name in report.no_arena
    assert f"{CUSTOM_METHODS[name]}()" in report.operators[0].reason


def test_a_custom_operator_named_like_a_builtin_one_is_nobodys():
    model = one_operator("CUSTOM", [tensor("x", [1, 8]), tensor("y", [1, 8])])
    model["operator_codes"][0]["custom_code"] = "RELU"
    report = interpret(read_tflite("m.tflite", write(model)), M4)
    assert (report.status, report.operators[0].stage) == ("alloc_error", "registration")


def test_every_revision_has_its_bytes():
    assert {revision.layout for revision in REVISIONS if revision.layout} <= set(ARENA) == set(OPERATORS)


def test_every_operator_of_the_runtime_is_measured_or_said_not_to_be():
    assert OPERATORS
    for table in OPERATORS.values():
        assert set(table) == (set(KERNELS) | set(LIMITS)) - {"EMBEDDING_LOOKUP"}


@pytest.mark.parametrize("text", ["", "90b983c2", "90B983C2B3", "2026-08", "2026-07-01", "2027-01"])
def test_the_newest_revision_goes_by_commit_or_date(text):
    assert runtime_of(f"tflm@{text}" if text else "tflm").commit == REVISIONS[-1].commit


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("2026-05", "2026-05-27"),
        ("2026-05-26", "2026-05-21"),
        ("7ca66d18", "2026-06-16"),
        ("2025-03", "2025-03-21"),
        ("2026-05-20", "2026-04-09"),
        ("2024-05-07", "2024-05-07"),
        ("2024-05-06", "2024-04-29"),
        ("2023-01", "2023-01-17"),
        ("2022-12-31", "2022-12-21"),
    ],
)
def test_an_older_revision_goes_by_commit_or_date(text, since):
    assert runtime_of(f"tflm@{text}").since == since


def test_revisions_stand_in_order():
    days = [revision.since for revision in REVISIONS]
    assert days == sorted(set(days))


@pytest.mark.parametrize("text", ["2022-11", "2022-12-20", "deadbeef"])
def test_a_revision_that_is_not_reviewed_is_refused(text):
    with pytest.raises(ValueError, match="has not been reviewed; reviewed: every day from 2022-12-21 on"):
        runtime_of(f"tflm@{text}")
