"""Constant lanes and constants: which integer they hold, and where nobody knows it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from onnxlint_cmsis.analysis.certificate.reading import Model
from onnxlint_cmsis.analysis.certificate.table import Numbers
from onnxlint_cmsis.analysis.certificate.values import Lanes
from onnxlint_cmsis.formats.format import ONNX
from support import models
from support.equal_files import onnx_equal, tflite_equal
from support.litert_outputs import outputs
from support.tflite_chains import Chain


def folded(step: tuple, bias: int, fold: int | None, scales: tuple[float, float], *, wide: bool = False) -> bytes:
    """A layer of two lanes, the second constant, an operator and a layer that reads both; or one lane and a bias."""
    parts, lanes = Chain(0, wide=wide), 2 if fold is None else 1
    op, table, options, operand = step
    start = parts.activation([1, 4, 4, 1], 0.05, 0, name="x")

    def layer(data: int, weights: list[int], biases: list[int], scale: float) -> int:
        held = parts.constant(np.array(weights, np.int8).reshape(len(biases), 1, 1, -1), [0.01])
        added = parts.constant(np.array(biases, np.int64 if wide else np.int32), [parts.quantization(data)[0] * 0.01])
        window = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
        output = parts.activation([*parts.shape(data)[:3], len(biases)], scale, 0)
        return parts.add("CONV_2D", [data, held, added], output, ("Conv2DOptions", window))

    data = layer(start, [99, 0][:lanes], [0, bias][:lanes], scales[0])
    result = parts.activation([1, 1 if op == "MEAN" else 4, 1 if op == "MEAN" else 4, lanes], scales[1],
                             0 if wide or op == "MEAN" else -128 if op == "LOGISTIC" else 3)  # fmt: skip
    if op == "MEAN":
        more = [parts.constant(np.array([1, 2], np.int32), [])]
    else:
        kind = np.int16 if wide else np.int8
        more = [parts.constant(np.array(operand[:lanes], kind), [scales[0]])] if operand else []
    data = parts.add(op, [data, *more], result, (table, options) if table else None)
    return parts.model([start], [layer(data, [3, 4][:lanes], [7 + (fold or 0)], scales[1] * 0.16)])


LEAKY = ("LEAKY_RELU", "LeakyReluOptions", {"alpha": 0.25}, None)
ADDED, TAKEN, TIMES = (
    (op, f"{op.title()}Options", {"fused_activation_function": "NONE"}, [1, 9]) for op in ("ADD", "SUB", "MUL")
)
TANH, LOGISTIC, HARD = ((op, "", {}, None) for op in ("TANH", "LOGISTIC", "HARD_SWISH"))
AVERAGED = ("MEAN", "ReducerOptions", {"keep_dims": True}, None)
KNOWN = {
    "leaky above": (LEAKY, 500, 5, (0.05, 0.05), False), "leaky below": (LEAKY, -1300, -3, (0.05, 0.05), False),
    "leaky of int16": (LEAKY, -1300, -3, (0.05, 0.05), True), "tanh of 0": (TANH, 0, 0, (0.05, 1 / 128), False),
    "saturated": (LOGISTIC, 24000, 255, (0.1, 1 / 256), False), "hard swish": (HARD, 24000, 124, (0.1, 0.02), False),
    "added": (ADDED, 500, 14, (0.05, 0.05), False), "taken off": (TAKEN, 500, -4, (0.05, 0.05), False),
    "multiplied": (TIMES, 500, 2, (0.05, 0.05), False), "added in int16": (ADDED, 500, 14, (0.05, 0.05), True),
    "taken off in int16": (TAKEN, 500, -4, (0.05, 0.05), True),
    "multiplied in int16": (TIMES, 500, 2, (0.05, 0.05), True),
    "average": (AVERAGED, 500, 5, (0.05, 0.05), False), "average of 0": (AVERAGED, 0, 0, (0.05, 0.07), False),
}  # fmt: skip
"""An operator, the bias of the constant lane in front of it, and the lane behind it without its zero-point."""


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_a_constant_lane_goes_through_an_operator(known: tuple) -> None:
    """Its kernel's integers are known, or so far outside what the type holds that no rounding matters."""
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    step, bias, constant, scales, wide = known
    old, *new = (folded(step, bias, fold, scales, wide=wide) for fold in (None, 4 * constant, 4 * constant + 1))
    assert tflite_equal(old, new[0])
    assert not tflite_equal(old, new[1])
    assert all(map(np.array_equal, outputs(old, new[0], 20), outputs(old, old, 20)))


@pytest.mark.parametrize(
    ("step", "constant", "scales"),
    [
        (LOGISTIC, 255, (0.05, 1 / 256)),
        (HARD, 60, (0.1, 0.1)),
        (TANH, 32, (0.05, 1 / 128)),
        (AVERAGED, 4, (0.05, 0.07)),
    ],
    ids=["logistic", "hard swish", "tanh", "average"],
)
def test_what_kernels_may_round_otherwise_is_not_known(step: tuple, constant: int, scales: tuple) -> None:
    """No constant that is near to what the kernel makes is taken for it."""
    old = folded(step, 500 if step is not LOGISTIC else 12000, None, scales)
    for near in range(constant - 4, constant + 5):
        assert not tflite_equal(old, folded(step, 0, 4 * near, scales))


@pytest.mark.parametrize("around", ["pads = [1, 1, 1, 1]", 'auto_pad = "SAME_UPPER"'])
@pytest.mark.parametrize("counted", [False, True])
def test_an_average_that_counts_padding_is_no_constant(counted: bool, around: str) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (int8[1, 2, 4, 4] x) => (int8[1, 2, 4, 4] y)'
        "<float s = {0.05}, int8 z = {3}, int8[2, 2, 1, 1] w = {0, 0, 0, 0}, int32[2] b = {52, 60}, int8 o = {0}>"
        "{ c = QLinearConv(x, s, z, w, s, o, s, z, b) d = DequantizeLinear(c, s, z)"
        f"e = AveragePool<kernel_shape = [3, 3], {around}, count_include_pad = {int(counted)}>(d)"
        "y = QuantizeLinear(e, s, z) }"
    )
    table = Numbers()
    value = Model(ONNX.load("m.onnx", model.SerializeToString()), table).values["y"]
    assert isinstance(value, Lanes)
    assert table.are(value.ids, "constant").all() != counted


def test_integers_are_folded_as_they_are_computed() -> None:
    """A cast that wraps around, and a slice that goes back from before the first element."""
    wrapped, began = (
        models.text(
            '<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => (float[1] y, int64[n] k) '
            f"<int64[1] c = {{4294967301}}, int64[1] s = {{-5}}, int64[1] a = {{0}}, int64[1] t = {{-1}}>"
            f"{{ y = Identity(x) {step} }}"
        )
        for step in ("d = Cast<to = 6>(c) k = Cast<to = 7>(d)", "k = Slice(c, s, s, a, t)")
    )
    whole, empty = (
        models.text(
            '<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => (float[1] y, int64[n] k) '
            f"<int64[{count}] c = {{{number}}}> {{ y = Identity(x) k = Identity(c) }}"
        )
        for count, number in ((1, "4294967301"), (0, ""))
    )
    assert not onnx_equal(wrapped, whole) and not onnx_equal(began, empty)
    assert onnx_equal(began, whole) and onnx_equal(whole, whole) and onnx_equal(empty, empty)


def test_a_constant_that_is_no_number_is_quantized_to_none() -> None:
    """ONNX Runtime 1.23 makes the least integer of it."""
    quantized, stored = (
        models.text(
            '<ir_version: 8, opset_import: ["" : 17]> g (int8[4] x) => (int8[4] y) <float s = {0.5}, int8 z = {0}>'
            f"{{ {step} k = DequantizeLinear(i, s, z) r = DequantizeLinear(x, s, z) m = Mul(r, k)"
            "y = QuantizeLinear(m, s, z) }"
        )
        for step in ("i = QuantizeLinear(c, s, z)", "i = Identity(c)")
    )
    for model, number in ((quantized, np.float32(np.nan)), (stored, np.int8(0))):
        model.graph.initializer.append(numpy_helper.from_array(np.array([number]), "c"))
    assert onnx_equal(stored, stored) and not onnx_equal(quantized, stored)


def test_steps_whose_real_numbers_are_infinite_are_not_followed() -> None:
    huge, small = (
        models.text(
            '<ir_version: 8, opset_import: ["" : 17]> g (int8[4] x) => (int8[4] y) '
            f"<float s = {{{scale}}}, int8 z = {{0}}> {{ r = DequantizeLinear(x, s, z) y = QuantizeLinear(r, s, z) }}"
        )
        for scale in ("3.0e38", "3.0e20")
    )
    same = models.text('<ir_version: 8, opset_import: ["" : 17]> g (int8[4] x) => (int8[4] y) { y = Identity(x) }')
    assert onnx_equal(small, same) and not onnx_equal(huge, same)


def test_zeros_of_two_signs_are_two_divisors() -> None:
    text = '<ir_version: 8, opset_import: ["" : 14]> g (float[3] x) => (float[3] y) <float[1] c = {%s}> {y = Div(x, c)}'
    plus, minus, two = (models.text(text % number) for number in ("0.0", "-0.0", "2.0"))
    assert np.signbit(numpy_helper.to_array(minus.graph.initializer[0])).all()
    assert onnx_equal(plus, plus)
    assert not onnx_equal(plus, minus)
    assert not onnx_equal(plus, two)
