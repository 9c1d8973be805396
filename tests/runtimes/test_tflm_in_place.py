"""Results that lie on an operand of their operator: the same values in PyPI's TensorFlow Lite Micro, or refused."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.runtimes.tflm.stated_plans import plan_faults
from support.planned_models import with_plan
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write
from support.tflm_runs import wheel_run

OPTIONS = {
    "ADD": ("AddOptions", {}),
    "MUL": ("MulOptions", {}),
    "RESHAPE": ("ReshapeOptions", {"new_shape": [1, 8, 5]}),
    "LEAKY_RELU": ("LeakyReluOptions", {"alpha": 0.25}),
}
SCALES = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
BYTES = ("QUANTIZE", "ADD", "MUL", "RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC", "TANH", "RESHAPE")
ROWS = [*((op, "INT8") for op in BYTES), *((op, "INT16") for op in ("ADD", "RELU", "RELU6", "LEAKY_RELU", "RESHAPE"))]
WHEEL = pytest.mark.skipif(find_spec("tflite_micro") is None, reason="needs PyPI's tflite-micro")


def described(op, kind, result_kind="", sizes=(5, 8)):
    """One operator of one or two operands."""
    binary = op in ("ADD", "MUL")
    scale, zero = SCALES.get(op, (0.5, 0))
    names = ("a", "b", "y") if binary else ("a", "y")
    tensors = [tensor(name, [1, *sizes], type=kind, scale=(0.3,)) for name in names]
    tensors[-1] |= {"type": result_kind or kind, "quantization": {"scale": [scale], "zero_point": [zero]}}
    if op == "RESHAPE":
        tensors[-1] |= {"shape": [1, *sizes[::-1]], "quantization": tensors[0]["quantization"]}
    return one_operator(op, tensors, OPTIONS.get(op))


@WHEEL
@pytest.mark.parametrize(("op", "kind"), ROWS)
def test_an_operator_may_write_over_what_it_reads(op, kind):
    plain = described(op, kind)
    size = 48 if kind != "INT16" else 80
    count = len(plain["subgraphs"][0]["tensors"])
    planned = with_plan(plain, [*[0, size, 0][: count - 1], 0])
    assert not [*plan_faults(read_tflite("m.tflite", write(planned)))]
    before, after = wheel_run(write(plain)), wheel_run(write(planned))
    assert before.outputs
    assert after.outputs == before.outputs
    assert after.head == (count - 1) * size < before.head


@WHEEL
@pytest.mark.parametrize("kinds", [("INT8", "UINT8"), ("UINT8", "INT8")])
def test_a_type_of_as_many_bytes_may_lie_there(kinds):
    plain = described("QUANTIZE", *kinds)
    planned = with_plan(plain, [0, 0])
    assert not [*plan_faults(read_tflite("m.tflite", write(planned)))]
    assert wheel_run(write(planned)).outputs == wheel_run(write(plain)).outputs != ()


@pytest.mark.parametrize(
    "model",
    [
        described("QUANTIZE", "INT8", "INT16"),
        one_operator("ADD", [tensor("a", [1, 8]), tensor("b", [1, 1]), tensor("y", [1, 8])], OPTIONS["ADD"]),
        one_operator("TRANSPOSE", [tensor("a", [4, 8]), tensor("p", [2], 1, None), tensor("y", [8, 4])],
                     buffers=[{}, {"data": [1, 0, 0, 0, 0, 0, 0, 0]}]),
    ],
    ids=["wider", "broadcast", "transposed"],
)  # fmt: skip
def test_no_other_operator_may(model):
    offsets = [0] * len(model["subgraphs"][0]["tensors"])
    assert [*plan_faults(read_tflite("m.tflite", write(with_plan(model, offsets))))]


def test_an_operand_that_is_read_again_is_kept():
    model = described("RELU", "INT8")
    graph = model["subgraphs"][0]
    graph["tensors"].append(tensor("z", [1, 5, 8]))
    graph["operators"].append({"opcode_index": 0, "inputs": [0], "outputs": [2]})
    graph["outputs"] = [1, 2]
    assert [*plan_faults(read_tflite("m.tflite", write(with_plan(model, [0, 0, 48]))))]


def test_a_result_lies_exactly_there_or_elsewhere():
    model = described("RELU", "INT8")
    assert [*plan_faults(read_tflite("m.tflite", write(with_plan(model, [0, 16]))))]
    assert [*plan_faults(read_tflite("m.tflite", write(with_plan(model, [16, 0]))))]
