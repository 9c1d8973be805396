"""What the reference kernels of TensorFlow Lite Micro take: against the truth of 168 files, and PyPI's own build."""

from __future__ import annotations

import json
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.runtime import runtime_of
from onnxlint_cmsis.runtimes.tflite_names import BY_MODE, TFLITE_NAMES
from onnxlint_cmsis.runtimes.tflm.broken_conditions import KernelOutcome
from onnxlint_cmsis.runtimes.tflm.build import build_for
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.kernels import KERNELS
from onnxlint_cmsis.runtimes.tflm.layers import SETTINGS, refusal_of
from onnxlint_cmsis.runtimes.tflm.operator_conditions import numbers_of
from onnxlint_cmsis.runtimes.tflm.reference_checks import LIMITS
from onnxlint_cmsis.runtimes.tflm.revisions import REVISIONS, holds
from support import paths
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write
from support.tflm_agreement import OPTIMIZED, REFERENCE, STATUS, held
from support.tflm_drafts import OPERATORS

CASES = paths.SHARED / "cases" / "tflite_types"
needs_cases = pytest.mark.skipif(not CASES.exists(), reason="the files with known truth are not beside the project")
needs_wheel = pytest.mark.skipif(find_spec("tflite_micro") is None, reason="the wheel tflite-micro is not installed")
WITHOUT_A_DRAFT = {"ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE", "VAR_HANDLE", "WHILE"}
"""Operators that need more than one subgraph, or a variable."""
STATEFUL = {"SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"}


def tensors(*described):
    """Tensors from (type, shape), (type, shape, scale) or (type, shape, scale, values)."""
    entries, buffers = [], [{}]
    for number, (kind, shape, *rest) in enumerate(described):
        scale, values = (*rest, None, None)[:2]
        if values is not None:
            buffers.append({"data": list(values)})
        buffer = len(buffers) - 1 if values is not None else 0
        entries.append(tensor(f"t{number}", shape, buffer, (scale,) if scale else None, type=kind))
    return entries, buffers


def report_of(op, *described, options=None, build=REFERENCE):
    entries, buffers = tensors(*described)
    return interpret(read_tflite("m.tflite", write(one_operator(op, entries, options, buffers=buffers))), build)


def int32(*values):
    return b"".join(value.to_bytes(4, "little", signed=True) for value in values)


@needs_cases
def test_every_file_with_a_known_truth():
    rows = [json.loads(line) for line in (CASES / "truth.jsonl").read_text().splitlines()]
    for row in rows:
        model = read_tflite(CASES / row["file"])
        assert STATUS[interpret(model, REFERENCE).status] == row["tflm"], row
        optimized = interpret(model, OPTIMIZED)
        assert STATUS[optimized.status] == row["tflm"] or optimized.status == "alloc_error", row
    assert len(rows) == 168


@needs_wheel
def test_random_files_of_every_operator():
    files = list(held(4, seed=1))
    assert [file for file in files if not file.agrees] == []
    assert [file.places for file in files if file.places[0] != file.places[1]] == []
    assert sum(file.verdict == "undecided" for file in files) <= 4
    assert {file.outcome for file in files} >= {"runs", "allocate_fails", "invoke_fails"}


def test_every_operator_of_the_runtime_is_drawn():
    assert {*LIMITS, *KERNELS} - set(OPERATORS) == WITHOUT_A_DRAFT | STATEFUL


def test_every_row_names_a_line():
    assert LIMITS
    for op, limits in LIMITS.items():
        for limit in limits:
            assert limit.source.startswith("tensorflow/lite/"), op
            assert limit.source.rpartition(":")[2].isdigit() or limit.outcome is KernelOutcome.REFERENCE, op
            assert limit.outcome in KernelOutcome


def test_weights_of_float16_are_refused_and_have_no_arena(told):
    report = report_of("DEQUANTIZE", ("FLOAT16", [4], None, bytes(8)), ("FLOAT32", [4]))
    assert (report.status, report.arena) == ("alloc_error", None)
    told(report.stop)


@pytest.mark.parametrize("op", ["ARG_MAX", "ARG_MIN"])
@pytest.mark.parametrize(("kind", "status"), [("INT64", "invoke_error"), ("INT32", "ok")])
def test_the_place_of_the_largest_is_int32(op, kind, status):
    axis = ("INT32", [1], None, int32(1))
    report = report_of(op, ("FLOAT32", [1, 4]), axis, (kind, [1]))
    assert report.status == status
    assert ("ask for output_type=tf.int32" in (report.stop or "")) == (status != "ok")


@pytest.mark.parametrize(
    ("op", "kind", "status"),
    [
        ("EXP", "INT8", "alloc_error"),
        ("EXP", "FLOAT32", "ok"),
        ("LOG", "INT16", "invoke_error"),
        ("LOG", "FLOAT32", "ok"),
        ("NEG", "INT8", "invoke_error"),
        ("ELU", "INT16", "invoke_error"),
        ("RELU", "INT16", "ok"),
        ("ZEROS_LIKE", "INT16", "invoke_error"),
    ],
)
def test_types_of_curves(op, kind, status):
    steps = () if kind == "FLOAT32" else (0.5,)
    assert report_of(op, (kind, [1, 4], *steps), (kind, [1, 4], *steps)).status == status


@pytest.mark.parametrize(("kind", "status"), [("INT16", "alloc_error"), ("INT8", "ok")])
def test_int16_is_not_gathered(kind, status):
    indices = ("INT32", [2], None, int32(0, 1))
    options = ("GatherOptions", {"axis": 0})
    assert report_of("GATHER", (kind, [3, 2], 0.5), indices, (kind, [2, 2], 0.5), options=options).status == status


@pytest.mark.parametrize(("scale", "status"), [(1e-9, "halt"), (0.02, "ok")])
def test_a_softmax_of_tiny_steps_aborts(scale, status):
    entries, buffers = tensors(("INT8", [1, 4], scale), ("INT8", [1, 4], 1 / 256))
    entries[1]["quantization"]["zero_point"] = [-128]
    file = write(one_operator("SOFTMAX", entries, ("SoftmaxOptions", {"beta": 1.0}), buffers=buffers))
    for build in (REFERENCE, OPTIMIZED):
        assert interpret(read_tflite("m.tflite", file), build).status == status


@pytest.mark.parametrize("op", ["ADD", "SUB"])
@pytest.mark.parametrize(("scale", "status"), [(1e-9, "halt"), (0.02, "ok")])
def test_a_sum_in_steps_far_smaller_than_its_inputs_aborts(op, scale, status):
    report = report_of(op, ("INT8", [4], 0.5), ("INT8", [4], 0.5), ("INT8", [4], scale))
    assert report.status == status


def test_an_activation_that_does_not_fit_the_steps_is_refused(told):
    options = ("MulOptions", {"fused_activation_function": "RELU6"})
    ends = (("INT8", [4], 0.5), ("INT8", [4], 0.5), ("INT8", [4], 1e-10))
    for build in (REFERENCE, OPTIMIZED):
        report = report_of("MUL", *ends, options=options, build=build)
        assert report.status == "alloc_error"
        told(report.stop)


def test_a_dense_bias_in_other_steps_is_refused():
    options = ("FullyConnectedOptions", {})
    for scale, status in ((0.25, "ok"), (0.5, "alloc_error")):
        ends = (
            ("INT8", [1, 4], 0.5),
            ("INT8", [2, 4], 0.5, bytes(8)),
            ("INT32", [2], scale, bytes(8)),
            ("INT8", [1, 2], 0.5),
        )
        for build in (REFERENCE, OPTIMIZED):
            assert report_of("FULLY_CONNECTED", *ends, options=options, build=build).status == status


def test_a_strided_slice_that_inserts_an_axis_is_refused(told):
    bounds = [("INT32", [3], None, int32(*values)) for values in ((0, 0, 0), (0, 2, 3), (1, 1, 1))]
    options = ("StridedSliceOptions", {"new_axis_mask": 1})
    report = report_of("STRIDED_SLICE", ("FLOAT32", [2, 3]), *bounds, ("FLOAT32", [1, 2, 3]), options=options)
    assert report.status == "alloc_error"
    told(report.stop)


@pytest.mark.parametrize(("revision", "status"), [("2026-07-01", "ok"), ("2026-06-30", "halt")])
def test_five_axes_are_broadcast_since_a_day(revision, status):
    build = REFERENCE._replace(revision=build_for(runtime_of(f"tflm@{revision}"), REFERENCE.target).revision)
    shapes = ("FLOAT32", [2, 1, 2, 2, 2]), ("FLOAT32", [1, 2, 2, 2, 2]), ("BOOL", [2, 2, 2, 2, 2])
    assert report_of("GREATER", *shapes, build=build).status == status


def test_a_limit_holds_from_one_day_until_another():
    days = [revision.since for revision in REVISIONS]
    starts = [revision.since for revision in REVISIONS if holds(revision, days[1], days[3])]
    assert starts == days[1:3]
    assert holds(REVISIONS[-1], days[-1], "")
    assert not holds(REVISIONS[-1], "", "2999-01-01")


@pytest.mark.parametrize(("shape", "status"), [([1, -1], "alloc_error"), ([0, 4], "alloc_error"), ([1, 4], "ok")])
def test_an_output_whose_sizes_a_run_decides_is_refused(shape, status):
    report = report_of("RELU", ("FLOAT32", [1, 4]), ("FLOAT32", shape))
    assert report.status == status
    before = REFERENCE._replace(revision=build_for(runtime_of("tflm@2025-04-04"), REFERENCE.target).revision)
    assert report_of("RELU", ("FLOAT32", [1, 4]), ("FLOAT32", [1, 4]), build=before).status == "ok"
    assert report_of("RESHAPE", ("FLOAT32", [1, 4]), ("FLOAT32", [2, -1])).status == "ok"


def test_a_tensor_without_a_size_stops_every_operator(told):
    for build in (REFERENCE, OPTIMIZED):
        report = report_of("RESHAPE", ("STRING", [4]), ("STRING", [2, 2]), build=build)
        assert report.status == "alloc_error"
        told(report.stop)


@pytest.mark.parametrize(("sizes", "numbers"), [([-1], None), ([2], (1, 2)), ([3], None)])
def test_a_constant_has_values_where_the_file_holds_them_all(sizes, numbers):
    entries, buffers = tensors(("FLOAT32", [1, 4]), ("INT32", sizes, None, int32(1, 2)), ("INT32", [1]))
    model = read_tflite("m.tflite", write(one_operator("ARG_MAX", entries, None, buffers=buffers)))
    constant = next(tensor for tensor in model.subgraphs[0].tensors if tensor.buffer)
    view = SimpleNamespace(model=model, constant=lambda tensor: tensor.buffer > 0)
    assert numbers_of(view, constant) == numbers


@needs_cases
def test_what_is_refused_before_conversion_is_refused_in_the_file():
    """Types and shapes alone say of no operator of a converted file what the file itself does not say."""
    asked = refused = 0
    ops = {*TFLITE_NAMES.values(), *BY_MODE.values()} & {*LIMITS}
    for path in sorted(CASES.glob("*.tflite")):
        model = read_tflite(path)
        rows = {(row.subgraph, row.index): row for row in interpret(model, REFERENCE).operators}
        for number, index, operator in model.operators():
            tensors = model.subgraphs[number].tensors
            first, _ = SETTINGS.get(operator.op, (0, 0))
            data = [tensors[index] for index in operator.inputs if index >= 0][first:]
            if operator.op not in ops or not data:
                continue
            output = tensors[operator.outputs[0]]
            shapes = [tensor.shape for tensor in data]
            text = refusal_of(operator.op, data[0].elem_type, shapes, output.shape, REVISIONS[-1])
            asked += 1
            refused += bool(text)
            if text:
                row = rows[number, index]
                assert row.verdict is Outcome.REFUSED, (path.name, operator.op, text)
                assert text.partition(" (")[0] in row.reason, (path.name, row.reason)
    assert asked > 100
    assert refused >= 7


@pytest.mark.parametrize("op", sorted({*TFLITE_NAMES.values(), *BY_MODE.values()} & {*LIMITS}))
def test_what_is_not_known_before_conversion_is_not_refused(op):
    """Nothing is said of float data of unknown or of open sizes; a place in int64 alone is never taken."""
    for shape in (None, (None,) * 4, (1, None, 6, 6)):
        text = refusal_of(op, "FLOAT32", [shape, shape], shape, REVISIONS[-1])
        assert bool(text) == (op in ("ARG_MAX", "ARG_MIN")), (shape, text)
    assert bool(refusal_of(op, "INT8", [None], None, REVISIONS[-1])) or op not in ("EXP", "LOG")
