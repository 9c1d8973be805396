"""A function of elements may stand before or behind what moves them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime import InferenceSession

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import ONNX
from support.equal_files import onnx_equal
from support.read_models import model, value

LAYERS = {
    "Quantize": ("QuantizeLinear", ["so", "zo"], {}),
    "Dequantize": ("DequantizeLinear", ["so", "zo"], {}),
    "Relu": ("Relu", [], {}),
    "Sigmoid": ("Sigmoid", [], {}),
    "Double": ("Add", None, {}),
    "Flatten": ("Flatten", [], {}),
    "Turn": ("Transpose", [], {"perm": [0, 1, 3, 2]}),
}
"""Operator, its constants (None for its own operand once more) and attributes."""


def behind_a_convolution(*names: str) -> onnx.ModelProto:
    """A convolution of integers, and layers behind it."""
    rng = np.random.default_rng(1)
    stored = {
        "s": np.float32(0.05), "z": np.int8(3), "w": rng.integers(-99, 99, (4, 2, 3, 3)).astype(np.int8),
        "ws": np.float32(0.01), "wz": np.int8(0), "so": np.float32(0.1), "zo": np.int8(-128),
    }  # fmt: skip
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"]),
        helper.make_node("Conv", ["xf", "wf"], ["t0"], pads=[1] * 4),
    ]
    for number, name in enumerate(names):
        op_type, constants, attributes = LAYERS[name]
        operands = [f"t{number}", *([f"t{number}"] if constants is None else constants)]
        nodes.append(helper.make_node(op_type, operands, [f"t{number + 1}"], **attributes))
    nodes[-1].output[0] = "y"
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in stored.items()]
    ends = [value("x", [1, 2, 4, 4], onnx.TensorProto.INT8)], [helper.make_empty_tensor_value_info("y")]
    return model(nodes, *ends, tensors, opset=13)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Quantize Flatten", "Flatten Quantize"),
        ("Relu Quantize Flatten", "Flatten Relu Quantize"),
        ("Relu Quantize Turn", "Relu Turn Quantize"),
        ("Quantize Dequantize Sigmoid Flatten", "Quantize Flatten Dequantize Sigmoid"),
        ("Quantize Dequantize Double Quantize Flatten", "Flatten Quantize Dequantize Double Quantize"),
    ],
)
def test_functions_of_elements_commute_with_moves(old: str, new: str) -> None:
    models = [behind_a_convolution(*names.split()) for names in (old, new)]
    assert onnx_equal(*models)
    x = np.random.default_rng(2).integers(-128, 128, (1, 2, 4, 4)).astype(np.int8)
    before, after = (InferenceSession(m.SerializeToString()).run(None, {"x": x})[0] for m in models)
    assert np.abs(before.astype(float) - after).max() <= 1  # ONNX Runtime may round a step off


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Quantize Dequantize Double Quantize Flatten", "Quantize Flatten"),
        ("Relu Quantize Flatten", "Turn Relu Quantize Flatten"),
        ("Quantize Dequantize Sigmoid Flatten", "Quantize Flatten Dequantize"),
        ("Quantize Dequantize Double Flatten", "Quantize Turn Dequantize Double Flatten"),
    ],
)
def test_another_function_or_another_place_is_told(old: str, new: str) -> None:
    models = [behind_a_convolution(*names.split()) for names in (old, new)]
    assert not verify(*(ONNX.load("m.onnx", m.SerializeToString()) for m in models)).equal


@pytest.mark.parametrize(
    ("layer", "is_equal"),
    [
        ("y = Relu (t)", True),
        ("d = Dropout (t) y = Relu (d)", True),
        ("d = Dropout <seed = 3> (t, half) y = Relu (d)", True),
        ("d = Dropout (t, half, no) y = Relu (d)", True),
        ("d = Dropout (t, half, yes) y = Relu (d)", False),
        ("d = Dropout (t, all) y = Relu (d)", False),
        ("d, kept = Dropout (t) y = Relu (d)", False),
    ],
)
def test_a_dropout_that_does_not_train_hands_on_what_it_reads(layer: str, is_equal: bool) -> None:
    head = '<ir_version: 8, opset_import: ["" : 13]> g (float[1, 4] x) => (float[1, 4] y)'
    given = "<float half = {0.5}, float all = {1}, bool no = {0}, bool yes = {1}>"
    old, new = (onnx.parser.parse_model(f"{head} {given} {{ t = Neg (x) {text} }}") for text in ("y = Relu (t)", layer))
    assert onnx_equal(old, new) == is_equal


@pytest.mark.parametrize(("again", "is_equal"), [("s, z", True), ("s2, z", False), ("s, z2", False), ("s3, z3", False)])
def test_a_constant_that_is_quantized_as_it_was_is_the_same(again: str, is_equal: bool) -> None:
    head = '<ir_version: 8, opset_import: ["" : 13]> g (int8[1, 4] x) => (float[1, 4] y)'
    given = (
        "<float s = {0.1}, int8 z = {3}, float s2 = {0.2}, int8 z2 = {4}, int8[4] c = {-128, 0, 5, 127},"
        " float[4] s3 = {0.1, 0.1, 0.1, 0.2}, int8[4] z3 = {3, 3, 3, 3}>"
    )
    longer = f"q = QuantizeLinear <axis = 0> (d, {again}) e = DequantizeLinear (q, s, z) y = Add (f, e)"
    old, new = (
        onnx.parser.parse_model(
            f"{head} {given} {{ f = DequantizeLinear (x, s, z) d = DequantizeLinear (c, s, z) {text} }}"
        )
        for text in ("y = Add (f, d)", longer)
    )
    assert onnx_equal(old, new) == is_equal
