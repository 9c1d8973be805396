"""Lowering: what becomes which kernel call."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import helper

from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.ground.types import Dims, Pair
from onnxlint_cmsis.lower.lowering import lower
from support.draws import draws
from support.models import finished, one_node, qdq, read, text
from support.targets import target_of


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
    assert "3 dimensions" in lowered.foreign[0][1]


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
@settings(max_examples=draws(150), deadline=None)
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
@settings(max_examples=draws(100), deadline=None)
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
        <int64[8] p = {0,0,1,0,0,0,1,1}, float[4,2,3,3] w = {0}>
        { padded = Pad(x, p)  y = Conv(padded, w) }"""
    )
    layer = only(model)
    assert layer.call.input_dims == Dims(1, 8, 8, 2)
    assert (layer.call.padding, layer.call.pad_after) == (Pair(1, 0), Pair(1, 1))
    assert len(layer.folded) == 1


@pytest.mark.parametrize(
    ("shape", "pads", "front", "result"),
    [
        ("1,2,8,9", "0,1,2,3,0,4,5,6", Dims(0, 2, 3, 1), Dims(1, 15, 18, 7)),  # an image, NHWC
        ("4,7", "1,2,3,4", Dims(1, 0, 0, 2), Dims(8, 1, 1, 13)),
        ("2,5,7", "0,1,2,0,0,3", Dims(0, 0, 2, 1), Dims(2, 1, 12, 6)),
    ],
)
def test_a_pad_says_what_it_adds_in_front_in_the_order_of_its_sizes(shape, pads, front, result) -> None:
    count = len(pads.split(","))
    source = graph_of("y = Pad(x, p)", inputs=f"float[{shape}] x", weights=f"int64[{count}] p = {{{pads}}}")
    call = only(source).call
    assert (call.entry, call.pad_front, call.output_dims) == ("pad_s8", front, result)


TURNED = "Reshape(a, s)", "Transpose<perm = [0, 3, 1, 2]>(a)"


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("between", ["", "c = Relu(a)"])
def test_an_input_that_readers_turn_to_channels_first_lies_as_it_stands(turned: str, between: str) -> None:
    """A file converted from TensorFlow takes NHWC, and pads it before a Reshape or Transpose makes NCHW of it."""
    reader = turned.replace("(a", "(c") if between else turned
    model = text(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[1, 6, 8, 1] x) => (float[] y)
        <int64[8] p = {{0, 1, 0, 0, 0, 1, 2, 0}}, int64[4] s = {{1, 1, 8, 10}}, float[4, 1, 3, 3] w = {{0}}>
        {{ a = Pad(x, p) {between} b = {reader} y = Conv<kernel_shape = [3, 3]>(b, w) }}"""
    )
    pad = next(layer.call for layer in lower(read(model), "s8").layers if layer.node.op_type == "Pad")
    assert (pad.pad_front, pad.output_dims) == (Dims(0, 1, 0, 0), Dims(1, 8, 10, 1))


def test_an_input_that_a_convolution_reads_is_an_image() -> None:
    """Both memory orders are asked for: the convolution decides, as the input lies in memory once."""
    model = text(
        """<ir_version: 8, opset_import: ["" : 13]> g (float[1, 2, 6, 8] x) => (float[] y, float[] z)
        <int64[8] p = {0, 1, 0, 0, 0, 0, 0, 0}, float[4, 2, 3, 3] w = {0}>
        { z = Conv<kernel_shape = [3, 3]>(x, w) a = Pad(x, p) y = Flatten(a) }"""
    )
    pad = next(layer.call for layer in lower(read(model), "s8").layers if layer.node.op_type == "Pad")
    assert (pad.pad_front, pad.output_dims) == (Dims(0, 0, 0, 1), Dims(1, 6, 8, 3))


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
    assert [layer.folded for layer in lower(read(model)).layers if layer.node.op_type == "Conv"] == [()]


@pytest.mark.parametrize(
    ("pads", "kernel", "own"),
    [
        ((0, 0, 1, 1), 1, 0),  # the 1x1 kernels know no padding after
        ((0, 0, 2, 2), 3, 0),  # neither SAME nor what TVM folds: after is two more than before
        ((1, 1, 0, 0), 3, 0),  # the padding after is less than that before
        ((1, 1, 1, 1), 3, 1),  # with the convolution's own padding it is as much as the window
    ],
)
def test_a_pad_that_the_kernels_cannot_take_over_is_a_layer(pads: tuple[int, ...], kernel: int, own: int) -> None:
    nodes = [
        helper.make_node("Pad", ["x", "p"], ["t"]),
        helper.make_node("Conv", ["t", "w"], ["y"], pads=[own] * 4),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 4, 8, 8])],
        [helper.make_tensor_value_info("y", 1, None)],
        [
            onnx.numpy_helper.from_array(np.zeros((4, 4, kernel, kernel), np.float32), "w"),
            onnx.numpy_helper.from_array(np.array([0, 0, *pads[:2], 0, 0, *pads[2:]], np.int64), "p"),
        ],
    )
    pad, conv = lower(read(finished(graph))).layers
    assert (pad.call.entry, pad.call.output_dims.h) == ("pad_s8", 8 + pads[0] + pads[2])
    assert (conv.folded, conv.call.input_dims, conv.call.padding) == ((), pad.call.output_dims, Pair(own, own))


def dequantized(name: str, scale: str = "s", zero: str = "z", **attributes: object):
    return helper.make_node("DequantizeLinear", [name, scale, zero], [f"{name}_f"], **attributes)


def quantized(name: str, output: str, scale: str = "s", zero: str = "z"):
    return helper.make_node("QuantizeLinear", [name, scale, zero], [output])


def test_quantized_types_come_from_before_dequantize() -> None:
    conv = helper.make_node("Conv", ["x_f", "w_f"], ["y_f"])
    nodes = [dequantized("x"), dequantized("w"), conv, quantized("y_f", "y")]
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
        helper.make_node("MatMul", ["x_f", "w_f"], ["y_f"]),
        quantized("y_f", "y"),
    ]
    call = only(qdq(nodes, [2, 3], weights, {"y": [2, 5]})).call
    assert call.entry == "fully_connected_s8"
    assert call.per_channel is expected
    assert (call.input_dims, call.filter_dims) == (Dims(2, 1, 1, 3), Dims(3, 1, 1, 5))


@pytest.mark.parametrize("trans_b", [0, 1])
def test_gemm_with_either_order_of_weights(trans_b: int) -> None:
    weights = (5, 3) if trans_b else (3, 5)
    call = only(one_node("Gemm", [2, 3], {"w": weights}, transB=trans_b)).call
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
@settings(max_examples=draws(100), deadline=None)
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


@pytest.mark.parametrize("shape", [[1, 1, 9, 9], [1, "c", 9, 9]])
def test_one_channel_becomes_depthwise_where_the_converter_is_said_to_make_it(shape: list[int | str]) -> None:
    model = one_node("Conv", shape, {"w": (6, 1, 3, 3)})
    (layer,) = lower(read(model), one_channel="depthwise").layers
    assert (layer.call.entry, layer.call.ch_mult, layer.call.filter_dims) == ("depthwise_s8", 6, Dims(1, 3, 3, 6))
    assert set(layer.channels) == {"output_dims.c", "ch_mult"}


def test_a_group_per_channel_is_depthwise_where_only_the_weights_tell_the_channels() -> None:
    call = only(one_node("Conv", [1, "c", 9, 9], {"w": (8, 1, 3, 3)}, group=4)).call
    assert (call.entry, call.input_dims.c, call.ch_mult) == ("depthwise_s8", 4, 2)


def no_kernel(model: onnx.ModelProto) -> str:
    """Make sure that nothing is lowered, and give the reason."""
    lowered = lower(read(model))
    assert (lowered.layers, lowered.undecided) == ((), ())
    ((_, reason),) = lowered.foreign
    return reason


def graph_of(*nodes: str, inputs: str, weights: str = "", output: str = "y") -> onnx.ModelProto:
    given = f"<{weights}>" if weights else ""
    body = "\n".join(nodes)
    return text(f"""<ir_version: 9, opset_import: ["" : 19]> g ({inputs}) => (float[] {output}) {given} {{ {body} }}""")


def test_pooling_that_the_library_cannot_express_has_no_kernel() -> None:
    shape = [1, 8, 16, 16]
    dilated = one_node("AveragePool", shape, {}, opset=19, kernel_shape=[3, 3], dilations=[2, 2])
    assert "dilations are 2 and 2" in no_kernel(dilated)
    counted = one_node("AveragePool", shape, {}, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    assert "count_include_pad" in no_kernel(counted)
    without_pads = one_node("AveragePool", shape, {}, kernel_shape=[3, 3], count_include_pad=1)
    assert only(without_pads).call.entry == "avgpool_s8"


def test_pooling_whose_indices_are_used_has_no_kernel() -> None:
    pool = "y, i = MaxPool<kernel_shape = [2, 2]>(x)"
    assert only(graph_of(pool, inputs="float[1,4,8,8] x")).call.entry == "max_pool_s8"
    assert "indices" in no_kernel(graph_of(pool, "z = Identity(i)", inputs="float[1,4,8,8] x"))


def test_global_pooling_is_decided_without_sizes() -> None:
    call = only(one_node("GlobalAveragePool", [1, 8, "h", "w"], {})).call
    assert (call.output_dims.h, call.output_dims.w) == (1, 1)
    taken = route(call, target_of("cortex-m4", "7.0.0", "gcc"))
    assert (taken.effective, taken.undecided, taken.hazards) == ("arm_avgpool_s8", frozenset(), ())


LSTM_WEIGHTS = {"w": (1, 32, 4), "r": (1, 32, 8)}


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"direction": "reverse"}, "runs forward only"),
        ({"direction": "bidirectional"}, "runs forward only"),
        ({"activations": ["Sigmoid", "Relu", "Tanh"]}, "activations are sigmoid, relu, tanh"),
        ({"clip": 3.0}, "clip"),
        ({"input_forget": 1}, "input_forget"),
    ],
)
def test_an_lstm_that_the_library_cannot_express_has_no_kernel(attributes: dict[str, object], reason: str) -> None:
    assert reason in no_kernel(one_node("LSTM", [5, 1, 4], LSTM_WEIGHTS, opset=14, hidden_size=8, **attributes))


def test_an_lstm_with_peepholes_has_no_kernel() -> None:
    peepholes = "y = LSTM<hidden_size = 8>(x, w, r, , , , , p)"
    weights = "float[1,32,4] w = {0}, float[1,32,8] r = {0}, float[1,24] p = {1}"
    assert "peepholes" in no_kernel(graph_of(peepholes, inputs="float[5,1,4] x", weights=weights))


def test_an_lstm_with_peepholes_of_zeros_and_whole_sequences_has_a_kernel() -> None:
    full = "y = LSTM<hidden_size = 8>(x, w, r, , l, , , p)"
    weights = "float[1,32,4] w = {0}, float[1,32,8] r = {0}, float[1,24] p = {0}"
    inputs = "float[5,1,4] x"
    assert only(graph_of(full, inputs=inputs, weights=f"{weights}, int32[1] l = {{5}}")).call.output_dims.c == 8
    short = graph_of(full, inputs=inputs, weights=f"{weights}, int32[1] l = {{4}}")
    assert "sequence_lens" in no_kernel(short)


@pytest.mark.parametrize(("layout", "shape"), [(0, [5, 2, 4]), (1, [2, 5, 4])])
def test_an_lstm_has_time_along_the_width(layout: int, shape: list[int]) -> None:
    layer = only(one_node("LSTM", shape, LSTM_WEIGHTS, opset=14, hidden_size=8, layout=layout))
    assert (layer.call.input_dims, layer.call.output_dims) == (Dims(2, 1, 5, 4), Dims(2, 1, 5, 8))
    assert layer.macs == 2 * 5 * 32 * (4 + 8)


def test_three_operands_have_no_kernel() -> None:
    inputs = "float[1,8] x, float[1,8] z, float[1,8] u"
    for operator in ("Max", "Min", "Sum"):
        assert "3 operands" in no_kernel(graph_of(f"y = {operator}(x, z, u)", inputs=inputs))
    assert only(graph_of("y = Sum(x, z)", inputs="float[1,8] x, float[1,8] z")).call.entry == "elementwise_add_s8"


def test_the_second_operand_of_a_maximum_is_broadcast_from_the_last_axis() -> None:
    source = graph_of(
        "t = Conv(x, w)",
        "y = Max(t, v)",
        inputs="float[1,8,4,5] x",
        weights="float[8,8,1,1] w = {0}, float[8,1,1] v = {0}",
    )
    call = lower(read(source)).layers[-1].call
    assert (call.input_dims, call.filter_dims) == (Dims(1, 4, 5, 8), Dims(1, 1, 1, 8))


@pytest.mark.parametrize(("opset", "entries"), [(12, ["softmax_s8"]), (13, [])])
def test_a_quantized_softmax_runs_over_the_axes_of_the_opset_that_it_names(opset: int, entries: list[str]) -> None:
    """ONNX Runtime makes shares of axes 2 and 3 together where `opset` is 12, and of axis 2 alone where it is 13."""
    source = f"""<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]>
    g (int8[1, 8, 4, 5] x) => (int8[1, 8, 4, 5] y)
    <float s = {{0.1}}, int8 z = {{0}}, float t = {{0.00390625}}, int8 u = {{-128}}> {{
        y = com.microsoft.QLinearSoftmax<axis = 2, opset = {opset}>(x, s, z, t, u)
    }}"""
    assert [layer.call.entry for layer in lower(read(text(source))).layers] == entries


@pytest.mark.parametrize(
    ("axis", "first", "known"), [(1, "Conv", True), (3, "Conv", False), (2, "", False), (3, "", True)]
)
def test_softmax_runs_over_the_last_axis_in_memory(axis: int, first: str, known: bool) -> None:
    """A convolution's output is NHWC, of an input nothing is known."""
    nodes = ["t = Conv(x, w)"] if first else ["t = Identity(x)"]
    source = graph_of(
        *nodes, f"y = Softmax<axis = {axis}>(t)", inputs="float[1,8,4,5] x", weights="float[8,8,1,1] w = {0}"
    )
    lowered = lower(read(source))
    assert [layer.node.op_type for layer in lowered.layers] == [first] * bool(first) + ["Softmax"] * known
    assert [reason for _, reason in lowered.foreign if "not the last" not in reason] == []
    assert len(lowered.foreign) == 1 - known


def test_softmax_of_a_product_runs_over_its_last_axis() -> None:
    source = graph_of("t = MatMul(x, z)", "y = Softmax(t)", inputs="float[1,2,4,3] x, float[1,2,3,5] z")
    softmax = lower(read(source)).layers[1]
    assert (softmax.call.entry, softmax.call.input_dims) == ("softmax_s8", Dims(1, 2, 4, 5))


@pytest.mark.parametrize(("trans_a", "trans_b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm_of_two_activations_minds_its_transpositions(trans_a: int, trans_b: int) -> None:
    left, right = ("8,5" if trans_a else "5,8"), ("3,8" if trans_b else "8,3")
    node = f"y = Gemm<transA = {trans_a}, transB = {trans_b}>(x, z)"
    layer = only(graph_of(node, inputs=f"float[{left}] x, float[{right}] z"))
    assert (layer.call.entry, layer.call.output_dims, layer.macs) == ("batch_matmul_s8", Dims(1, 1, 5, 3), 120)
    assert (layer.call.input_dims, layer.call.filter_dims) == (Dims(1, 1, 5, 8), Dims(1, 1, 3, 8))


def test_a_symbolic_size_is_not_taken_for_a_broadcast() -> None:
    lowered = lower(read(graph_of("y = Add(x, z)", inputs="float[1,8,L] x, float[1,8,16] z")))
    assert (lowered.layers, len(lowered.undecided), lowered.foreign) == ((), 1, ())
    assert "does not broadcast" in no_kernel(graph_of("y = Add(x, z)", inputs="float[1,8,L] x, float[1,4,L] z"))


def test_a_clamp_behind_a_kernel_that_clamps_is_part_of_it() -> None:
    source = graph_of(
        "a = Conv(x, w)", "b = BatchNormalization(a, s, s, s, s)", "c = Relu(b)",
        "d = Add(c, z)", "e = Clip(d, l, h)", "f = Softmax<axis = 1>(e)", "y = Relu(f)",
        inputs="float[1,4,5,5] x, float[1,4,5,5] z",
        weights="float[4,4,1,1] w = {0}, float[4] s = {0}, float l = {0}, float h = {6}",
    )  # fmt: skip
    lowered = lower(read(source))
    fused = [(layer.node.op_type, [node.op_type for node in layer.fused]) for layer in lowered.layers]
    assert fused == [("Conv", ["BatchNormalization", "Relu"]), ("Add", ["Clip"]), ("Softmax", [])]
    assert [(node.op_type, "clamp" in reason) for node, reason in lowered.foreign] == [("Relu", True)]


def test_a_clamp_of_a_value_that_others_read_is_not_part_of_the_layer() -> None:
    source = graph_of(
        "a = Conv(x, w)", "b = Relu(a)", "y = Add(a, b)", inputs="float[1,4,5,5] x", weights="float[4,4,1,1] w = {0}"
    )
    lowered = lower(read(source))
    assert [layer.fused for layer in lowered.layers] == [(), ()]
    assert [node.op_type for node, _ in lowered.foreign] == ["Relu"]


def test_operators_without_a_function_are_told_from_those_that_are_nothing_to_compute() -> None:
    source = graph_of(
        "a = Reshape(x, n)", "b = Sigmoid(a)", "c = Dropout(b)", "d = Identity(c)", "y = Mul(d, k)",
        inputs="float[1,8] x", weights="int64[2] n = {2,4}, float k = {2}",
    )  # fmt: skip
    lowered = lower(read(source))
    assert lowered.layers == ()
    assert [node.op_type for node, _ in lowered.foreign] == ["Sigmoid", "Mul"]


@pytest.mark.parametrize(("order", "layers"), [("0, 2, 3, 1", 1), ("0, 1, 3, 2", 2)])
def test_a_transposition_of_an_image_to_nhwc_moves_nothing(order: str, layers: int) -> None:
    source = graph_of(
        "a = Conv(x, w)",
        f"y = Transpose<perm = [{order}]>(a)",
        inputs="float[1,4,5,6] x",
        weights="float[4,4,1,1] w = {0}",
    )
    assert len(lower(read(source)).layers) == layers


def test_a_transposition_to_nchw_in_front_of_a_convolution_moves_nothing() -> None:
    source = graph_of(
        "a = Transpose<perm = [0, 3, 1, 2]>(x)", "y = Conv(a, w)", inputs="float[1,5,6,4] x",
        weights="float[4,4,1,1] w = {0}",
    )  # fmt: skip
    assert only(source).node.op_type == "Conv"


def test_other_transpositions_are_layers_in_the_order_of_their_axes() -> None:
    call = only(graph_of("y = Transpose<perm = [0, 2, 3, 1]>(x)", inputs="float[1,2,5,3] x")).call
    assert (call.entry, call.input_dims, call.output_dims) == ("transpose_s8", Dims(1, 2, 5, 3), Dims(1, 5, 3, 2))
    assert call.permutation == (0, 2, 3, 1)
    assert only(graph_of("y = Transpose(x)", inputs="float[5,3] x")).call.permutation == (1, 0)
    assert "5 axes" in no_kernel(graph_of("y = Transpose<perm = [0, 2, 1, 4, 3]>(x)", inputs="float[1,2,5,3,4] x"))


@pytest.mark.parametrize(
    ("axis", "first", "second", "runs"),
    [
        (1, "1,4", "1,2", (4, 2)),
        (0, "3,4", "5,4", (12, 20)),
        (1, "1,8,5,6", "1,16,5,6", (8, 16)),
        (2, "1,8,5,6", "1,8,2,6", (240, 96)),
        (3, "2,8,5,6", "2,8,5,1", (48, 8)),
    ],
)
def test_runs_of_a_concatenation_follow_each_other_in_memory(
    axis: int, first: str, second: str, runs: tuple[int, ...]
) -> None:
    """Channels are last in the memory of images."""
    source = graph_of(f"y = Concat<axis = {axis}>(x, z)", inputs=f"float[{first}] x, float[{second}] z")
    assert only(source).call.runs == runs


def test_a_concatenation_of_an_unknown_operand_is_refused_by_the_size_of_its_result() -> None:
    """arm_concatenation_s8_x counts the numbers of a row in 16 bits."""
    inputs = "float[1,40000] x, float[1,N] z"
    graph = f"g ({inputs}) => (float[1,70000] y) {{ y = Concat<axis = 1>(x, z) }}"
    assert "16 bits" in no_kernel(text(f"""<ir_version: 9, opset_import: ["" : 19]> {graph}"""))


def test_a_concatenation_whose_first_operand_is_constant_is_a_layer() -> None:
    source = graph_of("y = Concat<axis = 1>(k, x)", inputs="float[1,4] x", weights="float[1,2] k = {0}")
    assert only(source).call.entry == "concatenation_s8"
