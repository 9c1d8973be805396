"""Sums of layers with weights: lanes may move, come and go; what counts is a difference."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from support import models
from support.equal_files import onnx_equal, tflite_equal
from support.float_layers import model_of
from support.repairable_models import convolution
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write
from support.two_convolutions import BIAS, FIRST, SECOND, layers


@pytest.mark.parametrize("order", ["qdq", "qlinear"])
def test_lanes_may_move_come_and_go(order: str) -> None:
    old = layers(FIRST, SECOND, BIAS, order)
    assert onnx_equal(old, old)
    assert onnx_equal(old, layers(FIRST[[2, 0, 1]], SECOND[:, [2, 0, 1]], BIAS, order))
    assert not onnx_equal(old, layers(FIRST[[2, 0, 1]], SECOND, BIAS, order))
    wider = np.concatenate([FIRST, np.zeros((1, 2, 3, 3))]), np.concatenate([SECOND, np.full((2, 1, 1, 1), 7)], axis=1)
    # the new lane is constant: 0 plus the zero-point, which the next layer takes off again
    assert onnx_equal(old, layers(*wider, BIAS, order))
    idle = SECOND.copy()
    idle[:, 1] = 0
    assert onnx_equal(layers(FIRST, idle, BIAS, order), layers(FIRST[[0, 2]], idle[:, [0, 2]], BIAS, order))


@pytest.mark.parametrize("order", ["qdq", "qlinear"])
def test_any_weight_or_bias_that_counts_is_a_difference(order: str) -> None:
    old = layers(FIRST, SECOND, BIAS, order)
    for array in (FIRST, SECOND, BIAS):
        for position in range(array.size):
            other = array.copy()
            other.flat[position] += 1
            parts = [other if part is array else part for part in (FIRST, SECOND, BIAS)]
            assert not onnx_equal(old, layers(*parts, order)), (array.shape, position)


def test_scales_and_zero_points_count() -> None:
    old = layers(FIRST, SECOND, BIAS)
    assert old.graph.initializer
    for constant in old.graph.initializer:
        if constant.name.endswith(("scale", "zero", "b_unit")):
            new = onnx.ModelProto.FromString(old.SerializeToString())
            (held,) = [tensor_ for tensor_ in new.graph.initializer if tensor_.name == constant.name]
            value = numpy_helper.to_array(held)
            other = value * np.float32(1.01) if value.dtype == np.float32 else value + np.int8(1)
            held.CopyFrom(numpy_helper.from_array(np.asarray(other, value.dtype), held.name))
            assert not onnx_equal(old, new), constant.name


def test_a_constant_lane_goes_into_the_bias() -> None:
    """Without padding; with padding in the next layer a border would tell it."""
    steady = FIRST.copy()
    steady[1] = 0
    old = layers(steady, SECOND, BIAS)
    (bias,) = [tensor for tensor in old.graph.initializer if tensor.name == "a_b"]
    bias.CopyFrom(numpy_helper.from_array(np.array([0, 500, 0], np.int32), "a_b"))
    constant = 5  # 500 * 0.05 * 0.01 / 0.05, above the zero-point
    folded = BIAS + SECOND[:, 1, 0, 0] * constant
    assert onnx_equal(old, layers(FIRST[[0, 2]], SECOND[:, [0, 2]], folded))
    assert not onnx_equal(old, layers(FIRST[[0, 2]], SECOND[:, [0, 2]], folded + 1))


def test_scales_of_a_vector_lie_along_its_only_axis() -> None:
    """Converters state the axis of the weights at the bias too."""
    old = convolution((1, 4, 6, 6), (4, 4, 1, 1))
    new = onnx.ModelProto.FromString(old.SerializeToString())
    (bias,) = [node for node in new.graph.node if node.output[0] == "br"]
    bias.attribute[0].i = 3
    assert onnx_equal(old, new)


def test_a_wider_window_of_zeros_and_a_bias_of_zeros_change_nothing() -> None:
    old = convolution((1, 4, 6, 6), (4, 4, 3, 3), bias=False, pads=[1, 1, 1, 1])
    new = onnx.ModelProto.FromString(old.SerializeToString())
    (weights,) = [tensor for tensor in new.graph.initializer if tensor.name == "w"]
    wider = np.pad(numpy_helper.to_array(weights), [(0, 0), (0, 0), (1, 1), (0, 0)])
    weights.CopyFrom(numpy_helper.from_array(wider, "w"))
    (layer,) = [node for node in new.graph.node if node.op_type == "Conv"]
    del layer.attribute[:]
    layer.attribute.append(helper.make_attribute("pads", [2, 1, 2, 1]))
    assert onnx_equal(old, new)
    layer.attribute[0].CopyFrom(helper.make_attribute("pads", [1, 1, 3, 1]))
    assert not onnx_equal(old, new)


@pytest.mark.parametrize(
    ("size", "given", "taps", "other", "lie"),
    [
        (3, {"output_padding": [1, 1]}, (0, 1), {}, {"output_padding": [1, 1], "pads": [1, 1, 0, 0]}),
        (4, {"pads": [1, 1, 1, 1]}, (1, 0), {"pads": [2, 2, 1, 1]}, {"pads": [1, 1, 2, 2]}),
        (2, {"pads": [0, 0, 1, 1]}, (2, 0), {"pads": [2, 2, 1, 1]}, {"pads": [3, 1, 0, 2]}),
    ],
    ids=["output_padding", "shifted", "past the output"],
)
def test_zero_taps_of_a_transposed_window_change_nothing(
    size: int, given: dict, taps: tuple[int, int], other: dict, lie: dict
) -> None:
    """A tap is told by the place of the input that it reads for each place of the result."""
    old = convolution((1, 4, 6, 6), (4, 4, size, size), op_type="ConvTranspose", strides=[2, 2], **given)
    new = onnx.ModelProto.FromString(old.SerializeToString())
    (weights,) = [tensor for tensor in new.graph.initializer if tensor.name == "w"]
    wider = np.pad(numpy_helper.to_array(weights), [(0, 0), (0, 0), taps, taps])
    weights.CopyFrom(numpy_helper.from_array(wider, "w"))
    (layer,) = [node for node in new.graph.node if node.op_type == "ConvTranspose"]
    for attributes, equal in ((other, True), (lie, False)):
        del layer.attribute[:]
        layer.attribute.extend(helper.make_attribute(*item) for item in ({"strides": [2, 2]} | attributes).items())
        assert onnx_equal(old, new) == equal, attributes


def test_sums_of_floats_may_not_be_reordered() -> None:
    def model(order: list[int]) -> onnx.ModelProto:
        first = numpy_helper.from_array(FIRST.astype(np.float32)[order], "v")
        second = numpy_helper.from_array(SECOND.astype(np.float32)[:, order], "w")
        nodes = [helper.make_node("Conv", ["x", "v"], ["a"], "a"), helper.make_node("Conv", ["a", "w"], ["y"], "b")]
        return model_of(nodes, [first, second], (1, 2, 4, 4))

    assert onnx_equal(model([0, 1, 2]), model([0, 1, 2]))
    assert not onnx_equal(model([0, 1, 2]), model([1, 0, 2]))


def integers(*steps: str) -> onnx.ModelProto:
    """A model of int8 whose integers have steps of 0.05; the last step makes `r` or integers `y`."""
    lines = "a = DequantizeLinear(x, s, z) v = DequantizeLinear(w, s, z) " + " ".join(steps)
    return models.text(
        '<ir_version: 8, opset_import: ["" : 17]> g (int8[1, 1, 2, 4] x) => (int8[1, 1, 3, 8] y) <float s = {0.05},'
        f"int8 z = {{0}}, int8[1, 1, 1, 1] w = {{20}}, int64[4] sizes = {{1, 1, 3, 8}}> {{ {lines} }}"
    )


def padded(*pads: int) -> str:
    amounts = ", ".join(map(str, (0, 0, *pads[:2], 0, 0, *pads[2:])))
    return f"p = Constant<value = int64[8] {{{amounts}}}>() b = Pad(a, p) q = QuantizeLinear(b, s, z)"


def test_a_padded_lane_lies_in_another_plane_behind_a_reshape() -> None:
    """Both planes have 3 x 8 places; the same element of the input lies at two of them."""
    ends = "c = DequantizeLinear(k, s, z) r = Conv(c, v) y = QuantizeLinear(r, s, z)"
    turned = integers(padded(1, 1, 1, 1), "k = Reshape(q, sizes)", ends)
    direct = integers(padded(1, 1, 0, 3), "k = Identity(q)", ends)
    outputs = [
        RuntimeSession(model.SerializeToString(), Optimization.NONE).run(
            {"x": np.arange(8, dtype=np.int8).reshape(1, 1, 2, 4)}
        )
        for model in (turned, direct)
    ]
    assert (outputs[0][0] != outputs[1][0]).any()
    assert onnx_equal(turned, turned) and not onnx_equal(turned, direct)


def wide_layer(bias: str, kind: str = "INT16", zero_point: int = 0) -> bytes:
    weights = tensor("w", [1, 1, 1, 1], buffer=1, scale=(0.003,))
    weights["quantization"]["zero_point"] = [zero_point]
    numbers = [tensor("x", [1, 4, 4, 1], type=kind), weights, tensor("y", [1, 4, 4, 1], type=kind)]
    if bias:
        numbers.insert(2, tensor("b", [1], buffer=2, scale=(0.0015,), type=bias))
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
    model = one_operator("CONV_2D", numbers, ("Conv2DOptions", options))
    return write(
        {**model, "buffers": [{}, {"data": [100 + zero_point]}, {"data": [0] * (8 if bias == "INT64" else 4)}]}
    )


def test_sums_of_16_bits_are_rounded_by_the_type_of_the_bias() -> None:
    """TensorFlow Lite Micro's kernels: 136 of 1,024 results differed; without a bias they are those of int64."""
    assert tflite_equal(wide_layer("INT64"), wide_layer(""))
    assert not tflite_equal(wide_layer("INT64"), wide_layer("INT32"))
    assert not tflite_equal(wide_layer(""), wide_layer("INT32"))
    assert tflite_equal(wide_layer("", "INT8"), wide_layer("INT32", "INT8"))


def test_zero_points_of_weights_that_kernels_leave_out_are_not_covered() -> None:
    held, other = wide_layer("INT32", "INT8"), wide_layer("INT32", "INT8", 9)  # 100 - 0 and 109 - 9
    assert tflite_equal(other, other)
    assert not tflite_equal(held, other)


def test_a_sum_that_is_never_settled_is_refused_whatever_stands_beside_it() -> None:
    """Lanes are settled in groups; a group has sums or none."""
    weights = np.random.default_rng(2).integers(-99, 99, (1, 8, 1, 1)).astype(np.int8)

    def model(order: list[int], *, behind: bool) -> onnx.ModelProto:
        parts = ("d", "c") if behind else ("c", "d")
        source = models.text(
            '<ir_version: 8, opset_import: ["" : 21]> '
            "g (int8[1, 8, 4, 4] x, int8[1, 1, 4, 4] t) => (int16[1, 2, 4, 4] y) "
            "<float s = {0.05}, int8 z = {0}, float f = {0.00001}, int16 o = {0}, float[1] least = {-1000}>"
            "{ a = DequantizeLinear(x, s, z) g = Gather<axis = 1>(a, i) v = DequantizeLinear(w, s, z) c = Conv(g, v)"
            f"d = DequantizeLinear(t, s, z) j = Concat<axis = 1>({', '.join(parts)}) m = Max(j, least)"
            "y = QuantizeLinear(m, f, o) }"
        )
        source.graph.initializer.append(numpy_helper.from_array(weights[:, order], "w"))
        source.graph.initializer.append(numpy_helper.from_array(np.array(order, np.int64), "i"))
        return source

    for behind in (False, True):
        assert onnx_equal(model([*range(8)], behind=behind), model([*range(8)], behind=behind))
        assert not onnx_equal(model([*range(8)], behind=behind), model([3, 1, 0, 2, 7, 6, 5, 4], behind=behind))


def test_the_numbers_of_a_constant_that_a_caller_may_replace_count_for_nothing() -> None:
    old, moved = layers(FIRST, SECOND, BIAS), layers(FIRST[[2, 0, 1]], SECOND[:, [2, 0, 1]], BIAS)
    assert onnx_equal(old, moved)
    for model in (old, moved):
        model.graph.input.append(helper.make_tensor_value_info("a_w", onnx.TensorProto.INT8, FIRST.shape))
    assert onnx_equal(old, old)
    assert not onnx_equal(old, moved)
