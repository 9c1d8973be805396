"""A revision of TensorFlow Lite Micro asked by date is judged with what held on that day."""

from __future__ import annotations

import numpy as np
import pytest

from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.runtimes.runtime import runtime_of
from onnxlint_cmsis.runtimes.tflm.build import build_for
from onnxlint_cmsis.runtimes.tflm.custom_operators import CUSTOM
from onnxlint_cmsis.runtimes.tflm.interpret import interpret, not_read
from onnxlint_cmsis.runtimes.tflm.kernels import KERNELS, PLAIN
from onnxlint_cmsis.runtimes.tflm.reference_checks import LIMITS, NEW_OPERATORS
from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator
from support import paths
from support.linter import linted
from support.quantized_models import Qdq
from support.targets import target_of
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

M4 = target_of("cortex-m4", "main")
FIRST, NEWEST = "2022-12-21", runtime_of("tflm").since
REPORTS = paths.SHARED / "cases" / "reports"


def row_on(day: str, model: dict, build: str = "SPEED") -> TflmOperator:
    """What becomes of the only operator of a model in the revision of a day, with the CMSIS-NN that it brings."""
    runtime, file = runtime_of(f"tflm@{day}"), read_tflite("m.tflite", write(model))
    (row,) = interpret(file, build_for(runtime, target_of("cortex-m4", runtime.release), build)).operators
    return row


def test_each_day_of_a_row_begins_a_revision():
    kernels = [limit for kernel in (*KERNELS.values(), *PLAIN.values()) for limit in kernel.rows]
    limits = [limit for rows in LIMITS.values() for limit in rows]
    first = build_for(runtime_of(f"tflm@{FIRST}"), M4).revision
    limits += [limit for op in (*KERNELS, *LIMITS) for limit in not_read(op, first)]
    days = {day for limit in (*kernels, *limits) for day in (limit.since, limit.until) if day}
    days |= {*NEW_OPERATORS.values(), *(custom.since for custom in CUSTOM.values())}
    inside = sorted(day for day in days if FIRST < day <= NEWEST)
    assert len(inside) > 60
    assert [day for day in inside if runtime_of(f"tflm@{day}").since != day] == []


def test_days_before_and_behind_the_reviewed_ones():
    assert runtime_of("tflm@2031-01").since == NEWEST
    with pytest.raises(ValueError, match="has not been reviewed"):
        runtime_of("tflm@2022-11")


POOLED = (
    "Pool2DOptions",
    {"padding": "SAME", "stride_w": 1, "stride_h": 1, "filter_width": 2, "filter_height": 2},
)


def shaped(kind, *shapes, op, options=None, data=None, **more):
    """An operator of tensors of one type, of which the second may be a constant of int32."""
    tensors = [tensor(name, shape, type=kind, **more) for name, shape in zip("abcd", shapes, strict=False)]
    buffers = [{}]
    if data is not None:
        tensors[1] = tensor("k", [len(data)], type="INT32", buffer=1, quantization=None)
        buffers.append({"data": [byte for number in data for byte in int(number).to_bytes(4, "little")]})
    return one_operator(op, tensors, options, buffers=buffers)


def mean(op, axes, kind="INT8", shape=(2, 4, 4, 8)):
    kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
    return shaped(kind, list(shape), [], kept, op=op, options=("ReducerOptions", {"keep_dims": True}), data=axes)


def resized(size, *, centred=True):
    options = ("ResizeNearestNeighborOptions", {"align_corners": False, "half_pixel_centers": centred})
    shapes = [1, 4, 4, 8], [], [1, *size, 8]
    return shaped("INT8", *shapes, op="RESIZE_NEAREST_NEIGHBOR", options=options, data=size)


def leaky(alpha):
    return shaped("INT8", [1, 8], [1, 8], op="LEAKY_RELU", options=("LeakyReluOptions", {"alpha": alpha}))


def products(adj_x, batch):
    options = ("BatchMatMulOptions", {"adj_x": adj_x, "adj_y": False})
    return shaped(
        "INT8", [batch, *((4, 3) if adj_x else (3, 4))], [1, 4, 5], [batch, 3, 5], op="BATCH_MATMUL", options=options
    )


def cast(kind):
    a, b = tensor("a", [1, 8], type="INT64", quantization=None), tensor("b", [1, 8], type=kind, quantization=None)
    return one_operator("CAST", [a, b], ("CastOptions", {}))


def turned(activation):
    tensors = [
        tensor("s", [4], type="INT32", buffer=1, quantization=None),
        tensor("w", [8, 2, 2, 8], buffer=2),
        tensor("x", [1, 4, 4, 8]),
        tensor("y", [1, 8, 8, 8]),
    ]
    buffers = [{}, {"data": [1, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0]}, {"data": [1] * 256}]
    options = {"padding": "SAME", "stride_w": 2, "stride_h": 2, "fused_activation_function": activation}
    return one_operator("TRANSPOSE_CONV", tensors, ("TransposeConvOptions", options), buffers=buffers)


def convolved(kind="INT8", weights="INT8", bias="INT32", channels=4, depth=4, side=1):
    """A convolution of eight filters; without a bias where that has no type."""
    tensors = [
        tensor("x", [1, 4, 4, channels], type=kind),
        tensor("w", [8, side, side, depth], type=weights, buffer=1),
    ]
    buffers = [{}, {"data": [1] * (8 * side * side * depth)}]
    if bias:
        tensors.append(tensor("b", [8], type=bias, buffer=2, quantization=None))
        buffers.append({"data": [0] * (64 if bias == "INT64" else 32)})
    tensors.append(tensor("y", [1, 4, 4, 8], type=kind))
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "dilation_w_factor": 1, "dilation_h_factor": 1}
    return one_operator("CONV_2D", tensors, ("Conv2DOptions", options), buffers=buffers)


def dense(constant=True, zero=0):
    """A dense layer of 16 inputs and eight outputs."""
    more = {"quantization": {"scale": [0.1], "zero_point": [zero]}}
    weights = tensor("w", [8, 16], **({"buffer": 1} if constant else {}), **more)
    ends = tensor("x", [1, 16]), weights, tensor("y", [1, 8])
    buffers = [{}, {"data": [1] * 128}]
    return one_operator("FULLY_CONNECTED", ends, ("FullyConnectedOptions", {}), buffers=buffers)


@pytest.mark.parametrize(
    ("model", "before", "day", "verdicts"),
    [
        (
            shaped("INT16", [1, 4, 4, 8], [1, 4, 4, 8], op="MAX_POOL_2D", options=POOLED),
            "2023-01-16",
            "2023-03-02",
            ("refused", "CMSIS-NN"),
        ),
        (
            shaped("INT16", [1, 4, 4, 8], [1, 4, 4, 8], op="AVERAGE_POOL_2D", options=POOLED),
            "2023-01-16",
            "2023-01-17",
            ("refused", "CMSIS-NN"),
        ),
        (
            shaped("INT16", [1, 8], [1, 8], [1, 8], op="MUL", options=("MulOptions", {})),
            "2023-02-13",
            "2023-03-02",
            ("undecided", "CMSIS-NN"),
        ),
        (shaped("INT16", [1, 8], [1, 8], op="RSQRT"), "2023-03-01", "2023-03-02", ("refused", "reference code")),
        (
            shaped("INT8", [1, 8], [1, 8], [1, 8], op="SQUARED_DIFFERENCE"),
            "2023-03-05",
            "2023-03-06",
            ("undecided", "reference code"),
        ),
        (
            shaped("INT32", [1, 8], [1, 8], [1, 8], op="ADD", options=("AddOptions", {}), quantization=None),
            "2023-03-29",
            "2023-03-30",
            ("refused", "reference code"),
        ),
        (
            shaped("INT8", [1, 1, 1, 1, 2, 8], [1, 1, 1, 1, 2, 8], op="RELU"),
            "2023-04-05",
            "2023-04-06",
            ("undecided", "reference code"),
        ),
        (mean("MEAN", (1, 2)), "2023-04-17", "2023-04-18", ("undecided", "reference code")),
        (convolved(), "2023-06-13", "2023-06-14", ("undecided", "CMSIS-NN")),
        (convolved(bias=""), "2023-08-23", "2023-08-24", ("undecided", "CMSIS-NN")),
        (products(False, 2), "2023-09-05", "2023-09-06", ("refused", "reference code")),
        (
            shaped("INT32", [1, 8], [1, 8], [1, 8], op="DIV", options=("DivOptions", {}), quantization=None),
            "2023-10-01",
            "2023-10-02",
            ("refused", "reference code"),
        ),
        (turned("NONE"), "2023-11-06", "2023-11-07", ("reference code", "CMSIS-NN")),
        (convolved(weights="INT4"), "2023-11-13", "2023-11-14", ("undecided", "CMSIS-NN")),
        (convolved(), "2024-01-01", "2024-01-02", ("CMSIS-NN", "undecided")),
        (convolved(), "2024-01-10", "2024-01-11", ("undecided", "CMSIS-NN")),
        (convolved(), "2024-02-08", "2024-02-09", ("CMSIS-NN", "undecided")),
        (convolved(), "2024-04-22", "2024-04-23", ("undecided", "CMSIS-NN")),
        (convolved(depth=2, side=2), "2024-02-08", "2024-04-23", ("halts", "CMSIS-NN")),
        (convolved("INT16", bias="INT32"), "2024-04-28", "2024-04-29", ("undecided", "CMSIS-NN")),
        (convolved("INT16", bias="INT64"), "2024-02-08", "2024-04-23", ("CMSIS-NN", "undecided")),
        (dense(), "2023-09-18", "2023-09-19", ("CMSIS-NN", "undecided")),
        (dense(), "2023-11-06", "2023-11-07", ("undecided", "CMSIS-NN")),
        (dense(constant=False), "2024-02-22", "2024-02-23", ("undecided", "CMSIS-NN")),
        (dense(zero=3), "2024-02-22", "2024-02-23", ("undecided", "halts")),
        (mean("MEAN", (1, 2, 3)), "2026-01-15", "2026-01-16", ("wrong", "reference code")),
        (mean("SUM", (0, 1, 2)), "2026-01-15", "2026-01-16", ("wrong", "reference code")),
        (mean("MEAN", (1, 2)), "2026-01-15", "2026-01-16", ("reference code", "reference code")),
        (resized((6, 6)), "2026-02-09", "2026-02-10", ("wrong", "reference code")),
        (resized((8, 8)), "2026-02-09", "2026-02-10", ("reference code", "reference code")),
        (resized((6, 6), centred=False), "2026-02-09", "2026-02-10", ("reference code", "reference code")),
        (leaky(-0.5), "2026-03-30", "2026-03-31", ("halts", "reference code")),
        (leaky(0.5), "2026-03-30", "2026-03-31", ("reference code", "reference code")),
        (products(True, 2), "2026-04-08", "2026-04-09", ("wrong", "CMSIS-NN")),
        (products(True, 1), "2026-04-08", "2026-04-09", ("CMSIS-NN", "CMSIS-NN")),
        (products(False, 2), "2026-04-08", "2026-04-09", ("CMSIS-NN", "CMSIS-NN")),
        (cast("INT32"), "2025-11-09", "2025-11-10", ("wrong", "refused")),
        (shaped("INT16", [1, 8], [1, 8], op="RELU"), "2025-03-20", "2025-03-21", ("refused", "reference code")),
        (shaped("INT16", [1, 8], [1, 8], op="RELU6"), "2024-09-25", "2024-09-26", ("refused", "reference code")),
        (
            shaped("INT32", [1, 8], [1, 8], [1, 8], op="SUB", options=("SubOptions", {}), quantization=None),
            "2025-06-03",
            "2025-06-04",
            ("refused", "reference code"),
        ),
        (
            shaped("INT8", [2, 8], [], [2, 8], op="REVERSE_V2", data=(1,)),
            "2025-07-09",
            "2025-07-10",
            ("refused", "reference code"),
        ),
        (turned("RELU"), "2026-02-09", "2026-02-10", ("wrong", "wrong")),
        (turned("NONE"), "2026-02-09", "2026-02-10", ("CMSIS-NN", "CMSIS-NN")),
    ],
)
def test_what_a_commit_changed(model, before, day, verdicts):
    assert tuple(row_on(when, model).verdict.value for when in (before, day)) == verdicts


def test_a_dense_layer_has_a_wrapper_since_a_day():
    functions = {day: row_on(day, dense()).functions for day in ("2024-09-26", "2024-09-27")}
    assert functions == {
        "2024-09-26": ("arm_fully_connected_s8",),
        "2024-09-27": ("arm_fully_connected_wrapper_s8",),
    }


def test_what_was_not_read_is_told_by_operator(told):
    for day in ("2023-03-29", "2024-03-18"):
        (finding,) = linted(write(convolved()), "m.tflite", runtime=f"tflm@{day}").findings
        assert (finding.selector, finding.level) == ("CNN403[not-reviewed]", Level.WARNING)
        told(finding.text)
    told(row_on("2023-04-17", mean("MEAN", (1, 2))).reason)
    told(row_on("2024-01-05", convolved()).reason)


def test_what_cannot_be_told_is_no_question_of_sizes():
    options = ("Pool2DOptions", {**POOLED[1], "stride_w": 0})
    pool = shaped("INT8", [1, 4, 4, 8], [1, 4, 4, 8], op="MAX_POOL_2D", options=options)
    codes = [finding.code for finding in linted(write(pool), "m.tflite", runtime="tflm").findings]
    assert codes == ["CNN401"]


def test_another_release_than_the_revision_brings_is_judged():
    file = linted(write(convolved()), "m.tflite", runtime="tflm@2024-03-18", release="6.0.0")
    assert file.findings == ()


def test_a_date_tells_the_library_of_its_day(told):
    (note, *_) = linted(write(convolved()), "m.tflite", runtime="tflm@2024-03-18").notes
    told(note)


def test_reference_code_of_transposed_convolutions_clamps_since_a_day(told):
    told(row_on("2026-02-09", turned("RELU"), "NONE").reason)
    assert row_on("2026-02-10", turned("RELU"), "NONE").verdict.value == "reference code"


def test_what_an_older_revision_does_not_check_is_not_told():
    model = shaped("INT8", [2, 8], [2], [8, 2], op="TRANSPOSE")
    row = row_on("2025-08-07", model)
    assert (row.verdict.value, "does not check" in row.reason) == ("undecided", True)
    assert row_on("2025-08-08", model).verdict.value == "refused"


def test_a_file_is_judged_by_operator_and_without_an_arena(told):
    model = shaped("INT8", [1, 8], [1, 8], [1, 8], op="ADD", options=("AddOptions", {}))
    file = linted(write(model), "m.tflite", runtime="tflm@2024-06")
    assert file.findings == ()
    report = interpret(read_tflite("m.tflite", write(model)), build_for(runtime_of("tflm@2024-06"), M4))
    assert report.arena is None
    told(report.no_arena)


def test_three_axes_of_an_onnx_model_by_date():
    graph = Qdq()
    axes = graph.constant("axes", np.array([1, 2, 3], np.int64))
    model = graph.layer("ReduceMean", axes, keepdims=1).rounded().model()
    selectors = [
        {finding.selector for finding in linted(model, runtime=f"tflm@{day}").findings}
        for day in ("2025-08", "2026-01-15", "2026-01-16")
    ]
    assert ["CNN402[kernel]" in codes for codes in selectors] == [True, True, False]


@pytest.mark.skipif(not REPORTS.exists(), reason="the shared cases are not beside the project")
def test_the_reported_mean():
    codes = {finding.selector for finding in linted(REPORTS / "r2_mean3.onnx", runtime="tflm@2025-08").findings}
    assert "CNN402[kernel]" in codes
