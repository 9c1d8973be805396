"""Lowering: what becomes which kernel call."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import helper

from models import one_node, qdq, read, text
from onnxlint_cmsis.lower import lower
from onnxlint_cmsis.types import Dims, Pair


def only(model: onnx.ModelProto, assumed: str = "s8"):
    layers = lower(read(model), assumed).layers
    assert len(layers) == 1
    return layers[0]


def test_float_convolution_becomes_the_assumed_type_in_nhwc() -> None:
    layer = only(one_node("Conv", [1, 3, 8, 10], {"w": (5, 3, 3, 3)}, pads=[1, 1, 1, 1], strides=[2, 2]), "s16")
    assert layer.call.entry == "convolve_s16"
    assert layer.assumed
    assert layer.call.input_dims == Dims(1, 8, 10, 3)
    assert layer.call.filter_dims == Dims(5, 3, 3, 3)
    assert layer.call.output_dims == Dims(1, 4, 5, 5)
    assert layer.macs == 4 * 5 * 5 * 27


def test_one_dimensional_convolution_has_height_one() -> None:
    call = only(one_node("Conv", [1, 4, 33], {"w": (6, 4, 5)}, strides=[2], pads=[2, 1], dilations=[1])).call
    assert (call.input_dims, call.filter_dims) == (Dims(1, 1, 33, 4), Dims(6, 1, 5, 4))
    assert (call.padding, call.pad_after, call.stride) == (Pair(0, 2), Pair(0, 1), Pair(1, 2))


@pytest.mark.parametrize(("groups", "out_c", "entry", "ch_mult"), [(4, 4, "depthwise", 1), (4, 12, "depthwise", 3)])
def test_a_group_per_channel_is_depthwise(groups: int, out_c: int, entry: str, ch_mult: int) -> None:
    call = only(one_node("Conv", [1, 4, 9, 9], {"w": (out_c, 1, 3, 3)}, group=groups)).call
    assert call.entry == f"{entry}_s8"
    assert (call.ch_mult, call.filter_dims) == (ch_mult, Dims(1, 3, 3, out_c))


def test_grouped_convolution_keeps_the_channels_of_its_filter() -> None:
    layer = only(one_node("Conv", [1, 8, 9, 9], {"w": (6, 4, 3, 3)}, group=2))
    assert layer.call.entry == "convolve_s8"
    assert (layer.call.filter_dims.c, layer.call.input_dims.c) == (4, 8)
    assert layer.resized("input_dims.c", 10).filter_dims.c == 5


def test_one_group_over_one_channel_is_a_convolution() -> None:
    assert only(one_node("Conv", [1, 1, 9, 9], {"w": (6, 1, 3, 3)})).call.entry == "convolve_s8"


def test_three_dimensions_are_unsupported_with_the_reason() -> None:
    lowered = lower(read(one_node("Conv", [1, 1, 4, 4, 4], {"w": (2, 1, 3, 3, 3)})))
    assert lowered.layers == ()
    assert "3 dimensions" in lowered.unsupported[0][1]


def test_other_domains_are_told_apart() -> None:
    model = one_node("Conv", [1, 8, 8, 3], {"w": (4, 3, 3, 3)}, domain="qonnx.custom_op.channels_last")
    assert lower(read(model)).layers == ()


@given(
    size=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    mode=st.sampled_from(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]),
)
@settings(max_examples=150, deadline=None)
def test_output_sizes_are_those_of_onnx(size, kernel, strides, dilations, pads, mode) -> None:
    attributes = {"strides": strides, "dilations": dilations, "auto_pad": mode}
    if mode == "NOTSET":
        attributes["pads"] = pads
    if mode in ("NOTSET", "VALID"):  # ONNX infers 1 where the window is larger than the padded input
        spare = pads if mode == "NOTSET" else (0, 0, 0, 0)
        assume(all(size[i] + spare[i] + spare[i + 2] > (kernel[i] - 1) * dilations[i] for i in (0, 1)))
    model = one_node("Conv", [1, 2, *size], {"w": (3, 2, *kernel)}, **attributes)
    inferred = onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape
    sizes = [dim.dim_value for dim in inferred.dim]
    assume(len(sizes) == 4 and min(sizes) > 0)
    output = only(model).call.output_dims
    assert [output.n, output.c, output.h, output.w] == sizes


@given(
    size=st.integers(1, 9),
    kernel=st.integers(1, 5),
    stride=st.integers(1, 3),
    pads=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    extra=st.integers(0, 2),
)
@settings(max_examples=100, deadline=None)
def test_transposed_sizes_are_those_of_onnx(size, kernel, stride, pads, extra) -> None:
    assume(extra < stride and (size - 1) * stride + extra + kernel - sum(pads) > 0)
    attributes = {"strides": [stride] * 2, "pads": [*pads[:1] * 2, *pads[1:] * 2], "output_padding": [extra] * 2}
    model = one_node("ConvTranspose", [1, 3, size, size], {"w": (3, 4, kernel, kernel)}, **attributes)
    inferred = onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape
    call = only(model).call
    assert call.entry == "transpose_conv_s8"
    assert [call.output_dims.n, call.output_dims.c, call.output_dims.h, call.output_dims.w] == [
        dim.dim_value for dim in inferred.dim
    ]
    assert call.filter_dims == Dims(4, kernel, kernel, 3)


@pytest.mark.parametrize(("lower_half", "before"), [("SAME_UPPER", 0), ("SAME_LOWER", 1)])
def test_auto_pad_puts_the_odd_pixel_where_it_says(lower_half: str, before: int) -> None:
    call = only(one_node("Conv", [1, 1, 4, 4], {"w": (1, 1, 2, 2)}, auto_pad=lower_half)).call
    assert call.padding == Pair(before, before)
    assert call.pad_after == Pair(1 - before, 1 - before)


def test_a_pad_of_zeros_is_folded() -> None:
    model = text(
        """<ir_version: 8, opset_import: ["" : 13]>
        g (float[1,2,8,8] x) => (float[1,4,8,8] y)
        <int64[8] p = {0,0,1,2,0,0,1,0}, float[4,2,3,3] w = {0}>
        { padded = Pad(x, p)  y = Conv(padded, w) }"""
    )
    layer = only(model)
    assert layer.call.input_dims == Dims(1, 8, 8, 2)
    assert (layer.call.padding, layer.call.pad_after) == (Pair(1, 2), Pair(1, 0))
    assert len(layer.folded) == 1


@pytest.mark.parametrize(
    ("pads", "mode"), [([0, 1, 0, 0, 0, 0, 0, 0], "constant"), ([0, 0, 1, 1, 0, 0, 1, 1], "reflect")]
)
def test_other_pads_are_not_folded(pads: list[int], mode: str) -> None:
    nodes = [helper.make_node("Pad", ["x"], ["p"], mode=mode, pads=pads), helper.make_node("Conv", ["p", "w"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 2, 8, 8])],
        [helper.make_tensor_value_info("y", 1, None)],
        [onnx.numpy_helper.from_array(np.zeros((4, 2 + pads[1], 3, 3), np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=5)
    assert only(model).folded == ()


def dequantized(name: str, scale: str = "s", zero: str = "z", **attributes: object):
    return helper.make_node("DequantizeLinear", [name, scale, zero], [f"{name}_f"], **attributes)


def test_quantized_types_come_from_before_dequantize() -> None:
    nodes = [dequantized("x"), dequantized("w"), helper.make_node("Conv", ["x_f", "w_f"], ["y"])]
    layer = only(qdq(nodes, [1, 2, 4, 4], {"w": np.zeros((3, 2, 1, 1), np.int8)}, {"y": [1, 3, 4, 4]}), "s16")
    assert layer.call.entry == "convolve_s8"
    assert not layer.assumed


@pytest.mark.parametrize(("scales", "expected"), [(5, True), (1, False)])
def test_fully_connected_scales_per_channel(scales: int, expected: bool) -> None:
    weights = {
        "w": np.zeros((3, 5), np.int8),
        "ws": np.ones(scales, np.float32),
        "wz": np.zeros(scales, np.int8),
    }
    nodes = [
        dequantized("x"),
        dequantized("w", "ws", "wz", axis=1),
        helper.make_node("MatMul", ["x_f", "w_f"], ["y"]),
    ]
    call = only(qdq(nodes, [2, 3], weights, {"y": [2, 5]})).call
    assert call.entry == "fully_connected_s8"
    assert call.per_channel is expected
    assert (call.input_dims, call.filter_dims) == (Dims(2, 1, 1, 3), Dims(3, 1, 1, 5))


@pytest.mark.parametrize(("trans_a", "trans_b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm_transpositions(trans_a: int, trans_b: int) -> None:
    shape = [3, 2] if trans_a else [2, 3]
    weights = (5, 3) if trans_b else (3, 5)
    call = only(one_node("Gemm", shape, {"w": weights}, transA=trans_a, transB=trans_b)).call
    assert (call.input_dims, call.filter_dims) == (Dims(2, 1, 1, 3), Dims(3, 1, 1, 5))


def test_two_activations_are_a_batch_product() -> None:
    model = text("""<ir_version: 8, opset_import: ["" : 13]>
        g (float[2,4,3] a, float[2,3,6] b) => (float[2,4,6] y) { y = MatMul(a, b) }""")
    assert only(model).call.entry == "batch_matmul_s8"


def test_a_constant_operand_makes_no_elementwise_layer() -> None:
    assert lower(read(one_node("Add", [1, 4, 2, 2], {"b": (4, 1, 1)}))).layers == ()


def test_shape_arithmetic_is_no_layer() -> None:
    model = text("""<ir_version: 8, opset_import: ["" : 13]>
        g (float[2,4] x) => (int64[4] y) { s = Shape(x)  t = Shape(x)  y = Concat<axis=0>(s, t) }""")
    assert lower(read(model)).layers == ()


@given(
    size=st.integers(1, 12),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 4),
    pads=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    ceil=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_pooled_sizes_are_those_of_onnx(size, kernel, stride, pads, ceil) -> None:
    assume(max(pads) < kernel and size + sum(pads) >= kernel)
    attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "ceil_mode": int(ceil)}
    attributes["opset"] = 22  # older versions infer a last window that starts in the right padding
    model = one_node("MaxPool", [1, 3, size, size], {}, pads=[pads[0]] * 2 + [pads[1]] * 2, **attributes)
    inferred = onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape
    call = only(model).call
    assert call.entry == "max_pool_s8"
    assert [call.output_dims.h, call.output_dims.w] == [dim.dim_value for dim in inferred.dim[2:]]


def test_what_is_computed_from_constants_alone_is_no_layer() -> None:
    source = """
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 4] x) => (float[1, 6] y) <float[2, 3] a = {0}, float[2, 3] b = {0}> {
            w = Concat<axis = 0>(a, b)
            y = MatMul(x, w)
        }
    """
    assert only(text(source)).node.op_type == "MatMul"
