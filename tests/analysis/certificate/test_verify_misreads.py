"""`verify` and layers whose kernels read an operand as what it is not, or find no bounds: nothing is known of them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import TFLITE
from onnxlint_cmsis.operators.tflite_misreads import INDICES
from onnxlint_cmsis.runtimes.host.bounds import unsteady
from onnxlint_cmsis.runtimes.host.hosts import REFERENCE
from onnxlint_cmsis.runtimes.tflm.interpret import wrong_operators
from support.targets import target_of
from support.tflite_edits import KINDS
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

Model = dict[str, Any]


def equal(old: Model, new: Model) -> bool:
    return verify(*(TFLITE.load("m.tflite", write(model)) for model in (old, new))).equal


def noted(model: Model) -> Model:
    """The same model in other bytes."""
    return {**copy.deepcopy(model), "description": "noted"}


def test_a_model_with_other_bytes_is_equal() -> None:
    model = one_operator("RELU", [tensor("x", [1, 4]), tensor("y", [1, 4])])
    assert equal(model, noted(model))


def moved(op: str, kind: str) -> Model:
    """An operator with numbers of a type."""
    held, shapes, options = {
        "TRANSPOSE": ([0, 1, 2], ([2, 3, 4], [2, 3, 4]), ("TransposeOptions", {})),
        "SLICE": ([0, 0, 0, 2, 3, 2], ([2, 3, 4], [2, 3, 2]), ("SliceOptions", {})),
        "MIRROR_PAD": ([0, 0, 1, 1, 0, 0], ([2, 3, 4], [2, 5, 4]), ("MirrorPadOptions", {"mode": "REFLECT"})),
        "GATHER": ([1, 0], ([2, 3, 4], [2, 3, 4]), ("GatherOptions", {"axis": 0})),
        "REVERSE_V2": ([1], ([2, 3, 4], [2, 3, 4]), ("ReverseV2Options", {})),
    }[op]
    parts = np.split(np.array(held, KINDS[kind]), 2 if op == "SLICE" else 1)
    sizes = [3, 2] if op == "MIRROR_PAD" else [len(parts[0])]
    numbers = [tensor(f"n{at}", sizes, at, scale=None, type=kind) for at in range(1, len(parts) + 1)]
    buffers = [{}, *({"data": [*part.tobytes()]} for part in parts)]
    ends = [tensor("x", shapes[0]), tensor("y", shapes[1])]
    return one_operator(op, [ends[0], *numbers, ends[1]], options, buffers=buffers)


@pytest.mark.parametrize("kind", ["INT16", "INT64"])
@pytest.mark.parametrize("op", ["TRANSPOSE", "SLICE", "MIRROR_PAD", "GATHER", "REVERSE_V2"])
def test_places_of_another_type_than_kernels_read_are_equal_to_nothing(op: str, kind: str) -> None:
    plain, other = moved(op, "INT32"), moved(op, kind)
    read = kind.lower() in INDICES[op][1]
    assert equal(plain, noted(plain))
    assert equal(other, noted(other)) == read
    assert not equal(plain, other) or read


@pytest.mark.parametrize("sizes", [[2, 4], []], ids=str)
def test_places_that_do_not_fit_the_data_are_equal_to_nothing(sizes: list[int]) -> None:
    held = tensor("n", sizes, 1, scale=None, type="INT32")
    model = one_operator("GATHER_ND", [tensor("x", [2, 3]), held, tensor("y", [2])], buffers=[{}, {"data": [0] * 32}])
    assert not equal(model, noted(model))


@pytest.mark.parametrize(("op", "picked", "inside"), [
    ("GATHER", [0, 1], True), ("GATHER", [0, -1], False), ("GATHER", [0, 2], False),
    ("GATHER_ND", [1, 2], True), ("GATHER_ND", [2, 1], False), ("GATHER_ND", [0, -3], False),
])  # fmt: skip
def test_places_outside_the_data_are_equal_to_nothing(op: str, picked: list[int], inside: bool) -> None:
    """Kernels count no place from the end; they read in front of the data, or behind it."""
    shape = [2, 3, 4] if op == "GATHER" else [4]
    held = tensor("n", [2], 1, scale=None, type="INT32")
    options = {"GATHER": ("GatherOptions", {"axis": 0}), "GATHER_ND": ("GatherNdOptions", {})}[op]
    buffers = [{}, {"data": [*np.array(picked, np.int32).tobytes()]}]
    model = one_operator(op, [tensor("x", [2, 3, 4]), held, tensor("y", shape)], options, buffers=buffers)
    assert equal(model, noted(model)) == inside


@pytest.mark.parametrize(("op", "kind", "wrong"), [
    ("TRANSPOSE", "INT64", True), ("TRANSPOSE", "INT32", False), ("MIRROR_PAD", "INT16", True),
    ("MIRROR_PAD", "INT64", False),
])  # fmt: skip
def test_the_device_reads_an_order_as_int32(op: str, kind: str, wrong: bool) -> None:
    operators = wrong_operators(TFLITE.load("m.tflite", write(moved(op, kind))).file, target_of())
    assert bool(operators) == wrong


@pytest.mark.parametrize("op", ["MIRROR_PAD", "MAXIMUM", "AVERAGE_POOL_2D", "CONCATENATION", "LOGISTIC", "PRELU"])
def test_results_of_another_type_than_the_data_are_equal_to_nothing(op: str) -> None:
    files = []
    for kind in ("INT8", "FLOAT32"):
        ends = [tensor("x", [2, 4]), tensor("y", [2, 4], type=kind)]
        options, held, buffers = None, [], [{}]
        if op == "MIRROR_PAD":
            options, buffers = ("MirrorPadOptions", {"mode": "REFLECT"}), [{}, {"data": [0] * 16}]
            held = [tensor("n", [2, 2], 1, scale=None, type="INT32")]
        elif op in ("MAXIMUM", "CONCATENATION", "PRELU"):
            held, buffers = [tensor("c", [2, 4], 1)], [{}, {"data": [1] * 8}]
            ends[-1]["shape"] = [4, 4] if op == "CONCATENATION" else [2, 4]
        elif op == "AVERAGE_POOL_2D":
            options = ("Pool2DOptions", {"filter_height": 1, "filter_width": 1, "stride_h": 1, "stride_w": 1})
            for end in ends:
                end["shape"] = [1, 2, 2, 2]
        files.append(one_operator(op, [ends[0], *held, ends[1]], options, buffers=buffers))
    assert equal(files[0], noted(files[0])) and not equal(files[1], noted(files[1]))


@pytest.mark.parametrize(("op", "kinds"), [
    ("EQUAL", ("INT8", "BOOL")), ("ARG_MAX", ("INT8", "INT32")), ("QUANTIZE", ("INT8", "INT16")),
    ("DEQUANTIZE", ("INT8", "FLOAT32")), ("CAST", ("INT32", "FLOAT32")), ("SOFTMAX", ("INT8", "INT16")),
])  # fmt: skip
def test_kernels_that_tell_types_apart_keep_their_results(op: str, kinds: tuple[str, str]) -> None:
    shape = [2] if op == "ARG_MAX" else [2, 4]
    scales = [(0.5,) if kind in ("INT8", "INT16") else None for kind in kinds]
    ends = [tensor("x", [2, 4], scale=scales[0], type=kinds[0]), tensor("y", shape, scale=scales[1], type=kinds[1])]
    axis = [tensor("a", [1], 1, scale=None, type="INT32")]
    held = axis if op == "ARG_MAX" else [tensor("z", [2, 4])] if op == "EQUAL" else []
    options = {"ARG_MAX": ("ArgMaxOptions", {"output_type": "INT32"}), "SOFTMAX": ("SoftmaxOptions", {"beta": 1.0})}
    model = one_operator(op, [ends[0], *held, ends[1]], options.get(op), buffers=[{}, {"data": [1, 0, 0, 0]}])
    assert equal(model, noted(model))


def dense(**changed: Any) -> Model:
    """FULLY_CONNECTED of 4 channels; `changed` has a field of a tensor by "name_field"."""
    held = [tensor("w", [4, 4], 1), tensor("b", [4], 2, scale=(0.25,), type="INT32")]
    tensors = [tensor("x", [1, 4]), *held, tensor("y", [1, 4])]
    for name, value in changed.items():
        owner, field = name.split("_", 1)
        next(told for told in tensors if told["name"] == owner)[field] = value
    buffers = [{}, {"data": [*range(16)]}, {"data": [*np.arange(4, dtype=np.int32).tobytes()]}]
    return one_operator("FULLY_CONNECTED", tensors, ("FullyConnectedOptions", {}), buffers=buffers)


SHORT = {
    "a bias of int8": {"b_type": "INT8"},
    "a bias of one number": {"b_shape": [1]},
    "a bias of float": {"b_type": "FLOAT32"},
    "two scales for four channels": {"w_quantization": {"scale": [0.5, 0.25], "zero_point": [0, 0]}},
    "weights of int16": {"w_type": "INT16", "w_shape": [4, 2], "x_shape": [1, 2]},
    "an int64 bias of int8 sums": {"b_type": "INT64", "b_shape": [2]},
}


@pytest.mark.parametrize("changed", SHORT.values(), ids=SHORT)
def test_operands_that_end_before_the_kernel_does_are_equal_to_nothing(changed: Model) -> None:
    plain, short = dense(), dense(**changed)
    assert equal(plain, noted(plain)) and not equal(short, noted(short))


def pooled(scale: float | None, activation: str, kind: str = "INT8") -> Model:
    stored = None if scale is None else (scale,)
    ends = [tensor(name, [1, 2, 2, 4], scale=stored, type=kind) for name in "xy"]
    window = {"filter_height": 1, "filter_width": 1, "stride_h": 1, "stride_w": 1}
    return one_operator("AVERAGE_POOL_2D", ends, ("Pool2DOptions", {**window, "fused_activation_function": activation}))


@pytest.mark.parametrize("kind", ["INT8", "INT16"])
@pytest.mark.parametrize(("scale", "activation", "bounded"), [
    (None, "RELU", False), (None, "NONE", True), (0.5, "RELU", True), (1e-9, "RELU", True), (1e-9, "RELU6", False),
    (1e-9, "RELU_N1_TO_1", True), (1e-10, "RELU_N1_TO_1", False), (0.0, "RELU6", False), (float("inf"), "RELU", False),
])  # fmt: skip
def test_an_activation_that_has_no_bounds_in_steps_is_equal_to_nothing(
    scale: float | None, activation: str, bounded: bool, kind: str
) -> None:
    model = pooled(scale, activation, kind)
    assert equal(model, noted(model)) == bounded


@pytest.mark.parametrize(("op", "scale", "bounded"), [
    ("RELU6", None, False), ("RELU6", 1e-9, False), ("RELU6", 0.5, True), ("RELU", None, False), ("RELU", 1e-9, True),
])  # fmt: skip
def test_an_operator_that_clamps_without_bounds_is_equal_to_nothing(
    op: str, scale: float | None, bounded: bool
) -> None:
    model = one_operator(op, [tensor(name, [1, 4], scale=scale and (scale,)) for name in "xy"])
    assert equal(model, noted(model)) == bounded


def test_bounds_that_overflow_are_not_those_that_reach_the_end_of_the_type() -> None:
    """Both clamp to 0 and 127 in exact numbers; 6 / 1e-9 fits no int32."""
    assert not equal(pooled(1e-9, "RELU"), pooled(1e-9, "RELU6"))


@pytest.mark.parametrize("kind", ["INT8", "INT16"])
def test_sums_of_int16_are_unsteady_in_reference_kernels(kind: str) -> None:
    axis = tensor("a", [1], 1, scale=None, type="INT32")
    ends = [tensor(name, shape, type=kind) for name, shape in (("x", [2, 4]), ("y", [2]))]
    model = one_operator("SUM", [ends[0], axis, ends[1]], ("ReducerOptions", {}), buffers=[{}, {"data": [1, 0, 0, 0]}])
    graph = TFLITE.load("m.tflite", write(model)).graph
    assert unsteady(graph, graph.nodes[0]) == ((REFERENCE,) if kind == "INT16" else ())
    assert equal(model, noted(model))
