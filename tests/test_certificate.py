"""`verify`: what is called equal for every input is; what a number says of a lane holds; lies are refused."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxlint_cmsis.analysis.certificate_data import CertifiedTensor, LaneSums
from onnxlint_cmsis.analysis.certificates import certificate, untrue
from onnxlint_cmsis.analysis.certified import verify
from onnxlint_cmsis.analysis.lane_model import Model
from onnxlint_cmsis.analysis.lane_numbers import Numbers
from onnxlint_cmsis.analysis.lane_values import Lanes
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.fixers.proof.litert import LiteRtModel
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from onnxlint_cmsis.formats.format import ONNX, TFLITE, format_of
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.operators.integers import requantized
from onnxlint_cmsis.output.fix_json import plain_data
from support import linter, models, paths
from support.fix_random import changed_model
from support.goldens import Told
from support.lies import DIFFERS, OUTCOMES, REFUSED, Pair, planned, tell_lies
from support.random_graph import Style
from support.random_models import QDQ, QLINEAR, IntegerModel
from support.repairable_models import Parts, convolution, operator_format
from support.tflite_chains import Chain
from support.tflite_models import one_operator, tensor
from support.tflite_plans import case
from support.tflite_steps import as_converted, random_chain
from support.tflite_writer import operator_code, write

EXAMPLES = int(os.environ.get("ONNXLINT_EXAMPLES", "60"))
"""Lies that are told."""


def tflite_equal(old: bytes, new: bytes) -> bool:
    """Whether files are equal for every input, for another reason than that they have the same bytes."""
    return verify(*(TFLITE.load("m.tflite", data) for data in (old, new + bytes(4)))).equal


def onnx_equal(old: onnx.ModelProto, new: onnx.ModelProto) -> bool:
    """Whether files are equal for every input, for another reason than that they have the same bytes."""
    other = onnx.ModelProto.FromString(new.SerializeToString())
    other.doc_string = "another file"
    return verify(*(ONNX.load("m.onnx", model.SerializeToString()) for model in (old, other))).equal


def feeds(data: bytes, count: int, seed: int = 0) -> Iterator[dict[int, np.ndarray]]:
    model, rng = read_tflite("m.tflite", data), np.random.default_rng(seed)
    for _ in range(count):
        inputs = [(index, model.subgraphs[0].tensors[index]) for index in model.subgraphs[0].inputs]
        limits = {index: np.iinfo(tensor.elem_type.lower()) for index, tensor in inputs}
        yield {
            index: rng.integers(limits[index].min, limits[index].max + 1, tensor.shape).astype(tensor.elem_type.lower())
            for index, tensor in inputs
        }


# The theorem, held against LiteRT's reference kernels.


@pytest.mark.parametrize("seed", range(12))
def test_lanes_with_one_number_hold_one_value(seed: int) -> None:
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    data = planned(seed).new
    table = Numbers()
    model = Model(TFLITE.load("m.tflite", data), table)
    file, process = read_tflite("m.tflite", data).subgraphs[0], LiteRtModel()
    process.load(data, 1)
    index = {tensor.name: number for number, tensor in enumerate(file.tensors)}
    names = [name for name, value in model.values.items() if isinstance(value, Lanes) and value.integers]
    assert len(names) > 2
    for feed in feeds(data, 3):
        held: dict[int, int] = {}
        for name, values_held in zip(names, process.run(feed, tuple(index[name] for name in names)), strict=True):
            value = model.values[name]
            assert isinstance(value, Lanes)
            for lane, number in zip(model.spread(value).ids.flat, values_held.flat, strict=True):
                assert table.low[lane] <= number <= table.high[lane], name
                assert held.setdefault(int(lane), int(number)) == number, name


SAID = 0.95
"""Share of random fixes that are equal for every input."""
CHAINS: dict[str, Callable[[int], bytes]] = {
    "int8": random_chain, "int16": lambda seed: random_chain(seed, wide=True), "converted": as_converted,
}  # fmt: skip


@pytest.mark.parametrize("kind", CHAINS)
def test_plans_are_equal_for_every_input(kind: str) -> None:
    cases = [
        case(CHAINS[kind](seed), {leaf: random.Random(f"{seed} {leaf}").randrange(3) for leaf in range(99)})
        for seed in range(1000, 1020)
    ]
    changed_ = [(resized.data, resized.new) for resized in cases if resized.data != resized.new]
    assert len(changed_) > 15
    assert sum(tflite_equal(*pair) for pair in changed_) >= SAID * len(changed_)


@pytest.mark.parametrize("style", [QDQ, QLINEAR], ids=["QDQ", "QOperator"])
def test_plans_of_onnx_models_are_equal_for_every_input(style: Style) -> None:
    pairs = [changed_model(IntegerModel(style, seed=seed).model(), seed) for seed in range(30)]
    changed_ = [pair for pair in pairs if pair is not None]
    assert len(changed_) > 10
    assert sum(onnx_equal(*pair) for pair in changed_) >= SAID * len(changed_)


def test_one_bias_for_all_lanes_is_broadcast() -> None:
    """A QGemm of one lane, with a bias of one number, gets a second lane."""
    pair = changed_model(IntegerModel(QLINEAR, seed=111).model(), 111)
    assert pair is not None
    assert any(node.op_type == "QGemm" for node in pair[0].graph.node)
    assert onnx_equal(*pair)


VARIED = (5, 8, 11, 14, 15, 25, 29, 33)
"""Random models whose outputs are not the same for every input."""


def test_lies_are_refused() -> None:
    """One thing of the new file is another; what is still called equal gives equal outputs."""
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    quantized = [Pair(f"{order}.onnx", *[layers(FIRST, SECOND, BIAS, order).SerializeToString()] * 2)
                 for order in ("qdq", "qlinear")]  # fmt: skip
    counted = tell_lies([*map(planned, VARIED), *quantized, Pair("steady.onnx", *steady_pair())], EXAMPLES, 1)
    ends = {outcome: sum(counted[lie] for lie in counted if lie[1] == outcome) for outcome in OUTCOMES}
    assert ends[REFUSED] > EXAMPLES / 3
    assert ends[DIFFERS] == 0


def outputs(old: bytes, new: bytes, count: int) -> list[list[np.ndarray]]:
    """Outputs of a file on inputs of an older one, from LiteRT's reference kernels."""
    process = LiteRtModel()
    process.load(new, 1)
    ends = read_tflite("m.tflite", new).subgraphs[0].outputs
    return [process.run(feed, ends) for feed in feeds(old, count)]


# ONNX: what a fix does is certified, and what is no fix is not.


def layers(first: np.ndarray, second: np.ndarray, bias: np.ndarray, order: str = "qdq") -> onnx.ModelProto:
    """Two convolutions of int8; the first has a Relu, `bias` is that of the second; QDQ or QLinearConv."""
    parts, source = Parts(), "x"
    for name, weights, added in (("a", first, np.zeros(len(first))), ("b", second, bias)):
        scale = 0.01 if name == "a" else 0.02
        held = parts.constant(f"{name}_w", weights, np.int8)
        integers = parts.constant(f"{name}_b", added, np.int32)
        parameters = [parts.parameters(f"{name}_{part}", step, zero, np.int8) for part, step, zero in
                      (("x", 0.05, -3), ("wq", scale, 0), ("y", 0.05, -3))]  # fmt: skip
        if order == "qdq":
            real = parts.node("DequantizeLinear", [source, *parameters[0]], f"{name}_xr")
            kernel = parts.node("DequantizeLinear", [held, *parameters[1]], f"{name}_wr")
            unit = parts.constant(f"{name}_unit", np.float32(0.05) * np.float32(scale), np.float32)
            whole = parts.node("DequantizeLinear", [integers, unit], f"{name}_br")
            last = parts.node("Conv", [real, kernel, whole], f"{name}_sum")
            last = parts.node("Relu", [last], f"{name}_relu") if name == "a" else last
            source = parts.node("QuantizeLinear", [last, *parameters[2]], name)
        else:
            inputs = [source, *parameters[0], held, *parameters[1], *parameters[2], integers]
            source = parts.node("QLinearConv", inputs, name)
    return parts.model((onnx.TensorProto.INT8, (1, 2, 4, 4)), source)


RANDOM = np.random.default_rng(3)
FIRST, SECOND = RANDOM.integers(-9, 9, (3, 2, 3, 3)), RANDOM.integers(-9, 9, (2, 3, 1, 1))
BIAS = np.array([5, -7])


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


SWAPPED = {
    "Split and Concat": ("a, b = Split<axis=1>(x) y = Concat<axis=1>(b, a)", True),
    "Gather": ("i = Constant<value_ints=[2, 3, 0, 1]>() y = Gather<axis=1>(x, i)", True),
    "Slices": (
        "z = Constant<value_ints=[0]>() t = Constant<value_ints=[2]>() f = Constant<value_ints=[4]>()"
        " i = Constant<value_ints=[1]>() a = Slice(x, z, t, i) b = Slice(x, t, f, i) y = Concat<axis=1>(b, a)",
        True,
    ),
    "blocks turned": (
        "s = Constant<value_ints=[1, 2, 2, 2, 2]>() t = Constant<value_ints=[1, 4, 2, 2]>() a = Reshape(x, s)"
        " i = Constant<value_ints=[1, 0]>() b = Gather<axis=1>(a, i) y = Reshape(b, t)",
        True,
    ),
    "not swapped": ("a, b = Split<axis=1>(x) y = Concat<axis=1>(a, b)", False),
    "another place": ("i = Constant<value_ints=[2, 3, 1, 0]>() y = Gather<axis=1>(x, i)", False),
    "parts of other sizes": (
        "s = Constant<value_ints=[1, 3]>() a, b = Split<axis=1>(x, s) y = Concat<axis=1>(b, a)", False,
    ),
    "another axis": ("a, b = Split<axis=2>(x) y = Concat<axis=2>(b, a)", False),
}  # fmt: skip


@pytest.mark.parametrize("case_", SWAPPED.values(), ids=SWAPPED)
def test_elements_are_followed_to_other_places(case_: tuple[str, bool]) -> None:
    """By the records of operators, whichever operators move them."""
    head = '<ir_version: 8, opset_import: ["" : 13]> g (int8[1, 4, 2, 2] x) => (int8[1, 4, 2, 2] y) {'
    old, new = (onnx.parser.parse_model(f"{head} {text} }}") for text in (SWAPPED["Gather"][0], case_[0]))
    assert onnx_equal(old, new) == case_[1]


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


def test_what_stands_in_no_operand_is_not_covered() -> None:
    def model(domain: str, op_type: str) -> onnx.ModelProto:
        return model_of([helper.make_node(op_type, ["x"], ["y"], "n", domain=domain)])

    assert onnx_equal(model("", "Softmax"), model("", "Softmax"))
    assert not onnx_equal(model("some", "Thing"), model("some", "Thing"))
    assert not onnx_equal(model("", "RandomNormalLike"), model("", "RandomNormalLike"))


def test_sums_of_floats_may_not_be_reordered() -> None:
    def model(order: list[int]) -> onnx.ModelProto:
        first = numpy_helper.from_array(FIRST.astype(np.float32)[order], "v")
        second = numpy_helper.from_array(SECOND.astype(np.float32)[:, order], "w")
        nodes = [helper.make_node("Conv", ["x", "v"], ["a"], "a"), helper.make_node("Conv", ["a", "w"], ["y"], "b")]
        return model_of(nodes, [first, second], (1, 2, 4, 4))

    assert onnx_equal(model([0, 1, 2]), model([0, 1, 2]))
    assert not onnx_equal(model([0, 1, 2]), model([1, 0, 2]))


def model_of(nodes: list, constants: list = [], shape: tuple[int, ...] = (1, 4)) -> onnx.ModelProto:  # noqa: B006
    ends = [[helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, size)] for name, size in
            (("x", shape), ("y", None))]  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("some", 1)]
    return helper.make_model(helper.make_graph(nodes, "g", *ends, constants), opset_imports=opsets, ir_version=8)


def test_signed_integers_for_unsigned_ones_are_told_by_their_offset(told: Told) -> None:
    """Inside a model they are the same integers on the device; its inputs and outputs are 128 less."""

    def model(kind: str, zero: int, result: int) -> onnx.ModelProto:
        return onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 17]> g ({kind}[1, 4] x) => ({kind}[1, 4] y) '
            f"<float s = {{0.05}}, {kind} z = {{{zero}}}, float t = {{0.07}}, {kind} u = {{{result}}}>"
            "{ a = DequantizeLinear(x, s, z) b = Relu(a) y = QuantizeLinear(b, t, u) }"
        )

    for new, offset in ((model("int8", 3, -20), True), (model("int8", 3, -19), False), (model("int8", 4, -20), False)):
        files = (ONNX.load("m.onnx", held.SerializeToString()) for held in (model("uint8", 131, 108), new))
        (reason,) = verify(*files).faults
        assert ("'x' (int8 for uint8)," in reason and "'y' (int8 for uint8)" in reason) == offset
        if offset:
            told(reason)


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


@pytest.mark.parametrize(
    "node",
    ["{0} = Split<axis = 1>(x)", "{0} = LSTM<hidden_size = 2>(x, w, r)", "{0} = MaxPool<kernel_shape = [1]>(x)"],
    ids=["split", "cell", "pool"],
)
def test_an_output_that_is_left_out_is_another_one(node: str) -> None:
    constants = (
        "float[1, 8, 4] w = {" + ", ".join(["0.5"] * 32) + "}, float[1, 8, 2] r = {" + ", ".join(["0.5"] * 16) + "}"
    )
    held, other = (
        models.text(
            f'<ir_version: 8, opset_import: ["" : 17]> g (float[2, 2, 4] x) => (float y) <{constants}> '
            f"{{ {node.format(outputs)} }}"
        )
        for outputs in ("y, t", "t, y")
    )
    for model in (held, other):
        names = model.graph.node[0].output
        names[:] = [name if name == "y" else "" for name in names]
    assert onnx_equal(held, held) and not onnx_equal(held, other)


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


FLOATS = {
    "bound of another sign": ("Clip(x, c)", "Clip(x, n)"),
    "largest of zeros": ("Max(x, m)", "Max(m, x)"),
    "least of zeros": ("Min(x, m)", "Min(m, x)"),
    "means": ("GlobalAveragePool(x)", "ReduceMean<axes = [2, 3], keepdims = 1>(x)"),
    "bound that is not stated": ("Relu(x)", "Clip(x, c)"),
}


@pytest.mark.parametrize("steps", FLOATS.values(), ids=FLOATS)
def test_floats_are_equal_only_where_the_same_layer_computes_them(steps: tuple[str, str]) -> None:
    before, after = (
        models.text(
            '<ir_version: 8, opset_import: ["" : 17]> '
            "g (float[1, 2, 4, 4] x, float[1, 2, 4, 4] m) => (float[1, 2, h, w] y) "
            f"<float c = {{0.0}}, float n = {{-0.0}}> {{ r = {step} y = Reciprocal(r) }}"
        )
        for step in steps
    )
    assert onnx_equal(before, before) and not onnx_equal(before, after)


def halves(step: str, kind: type[np.floating]) -> onnx.ModelProto:
    """A function of real numbers between integers; only its scales tell the type in which it is computed."""
    model = models.text(
        '<ir_version: 9, opset_import: ["" : 19]> g (int8[256] x) => (int8[256] y) <int8 z = {0}>'
        f"{{ r = DequantizeLinear(x, s, z) m = {step} y = QuantizeLinear(m, t, z) }}"
    )
    scales = {"s": 0.09375, "t": 2048}
    model.graph.initializer.extend(numpy_helper.from_array(np.array(v, kind), name) for name, v in scales.items())
    return model


@pytest.mark.parametrize("step", ["Exp(r)", "Mul(r, r)"])
def test_halves_round_and_overflow_otherwise_than_floats(step: str) -> None:
    single, half = halves(step, np.float32), halves(step, np.float16)
    assert onnx_equal(single, single) and onnx_equal(half, half)
    assert not onnx_equal(single, half)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_a_window_without_padding_ignores_amounts_that_are_stated(op: str) -> None:
    """Of 200 inputs 198 differed in ONNX Runtime, largest pools by up to 241."""
    bare, padded, valid = (
        models.text(
            '<ir_version: 8, opset_import: ["" : 17]> '
            "g (int8[1, 2, 7, 7] x) => (int8[1, 2, 2, 2] y) <float s = {0.05}, int8 z = {0}>"
            f"{{ r = DequantizeLinear(x, s, z) m = {op}<kernel_shape = [3, 3], strides = [3, 3]{more}>(r)"
            "y = QuantizeLinear(m, s, z) }"
        )
        for more in ("", ", pads = [1, 1, 0, 0]", ', pads = [1, 1, 0, 0], auto_pad = "VALID"')
    )
    assert onnx_equal(bare, valid) and not onnx_equal(padded, valid)


@pytest.mark.parametrize("node", ["Add<axis = 1, broadcast = 1>(m, b)", "PRelu(m, b)"])
def test_operands_that_are_broadcast_along_a_channel_are_not_along_the_width(node: str) -> None:
    """Before operator set 7, so that a Reshape changes what is added to what."""
    whole, flat = (
        models.text(
            '<ir_version: 3, opset_import: ["" : 6]> g (float[1, 3, 3, 3] x) => (float[1, 3, 3, 3] y) '
            f"<float[3] b = {{1.0, 2.0, 3.0}}, int64[{rank}] c = {{{sizes}}}, int64[4] d = {{1, 3, 3, 3}}>"
            f"{{ m = Reshape(x, c) r = {node} y = Reshape(r, d) }}"
        )
        for rank, sizes in ((4, "1, 3, 3, 3"), (3, "3, 3, 3"))
    )
    assert onnx_equal(whole, whole) and not onnx_equal(whole, flat)


def test_what_drops_elements_in_every_run_is_not_covered() -> None:
    """Before operator set 7, where its attribute does not say that it is only tested."""
    old, new = (
        models.text(
            f'<ir_version: 3, opset_import: ["" : {opset}]> g (float[4] x) => (float[4] y) {{ y = Dropout(x) }}'
        )
        for opset in (6, 7)
    )
    assert not onnx_equal(old, old) and onnx_equal(new, new)


@pytest.mark.parametrize(
    "axes", ["int64[1] a) => (float[1, 2, 3, 4] y) {", ") => (float[1, 2, 3, 4] y) <int64[1] a = {1}> {"]
)
def test_axes_of_size_1_stand_where_the_node_says(axes: str) -> None:
    """A caller gives the axes, or the file says another result than the node makes."""
    comma = ", " if axes.startswith("int64") else ""
    computed, written = (
        models.text(
            f'<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3, 4] x{comma}{axes}'
            f"{step} y = Transpose<perm = [1, 0, 2, 3]>(m) }}"
        )
        for step in ("m = Unsqueeze(x, a)", "c = Constant<value_ints = [2, 1, 3, 4]>() m = Reshape(x, c)")
    )
    computed.graph.value_info.append(helper.make_tensor_value_info("m", onnx.TensorProto.FLOAT, [2, 1, 3, 4]))
    assert onnx_equal(written, written)
    assert onnx_equal(computed, written) == (not comma)


def test_sizes_that_a_tflite_file_says_are_those_that_its_options_give() -> None:
    """SQUEEZE of the axis that stays: LiteRT makes another shape of it."""
    tensors = [tensor("x", [1, 4, 1, 2]), tensor("y", [4, 1, 2])]
    first, third = (
        write(one_operator("SQUEEZE", tensors, ("SqueezeOptions", {"squeeze_dims": [axis]}))) for axis in (0, 2)
    )
    assert tflite_equal(first, first) and not tflite_equal(first, third)


def test_options_of_another_operator_are_none() -> None:
    """LiteRT clamps no sum that has the options of a difference: 199 of 200 inputs differed."""
    tensors = [tensor("a", [8]), tensor("b", [8]), tensor("y", [8])]
    own, other = (
        write(one_operator("ADD", tensors, (f"{op}Options", {"fused_activation_function": "RELU"})))
        for op in ("Add", "Sub")
    )
    assert tflite_equal(own, own) and tflite_equal(other, other)
    assert not tflite_equal(own, other)


def test_a_depth_multiplier_that_does_not_fit_is_not_what_the_weights_say() -> None:
    """LiteRT counts the weights; TensorFlow Lite Micro hands the option to CMSIS-NN (cmsis_nn/depthwise_conv.cc)."""
    tensors = [tensor("x", [1, 4, 4, 2]), tensor("w", [1, 1, 1, 4], buffer=1), tensor("y", [1, 4, 4, 4])]
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
    fits, other = (
        write(
            {
                **one_operator(
                    "DEPTHWISE_CONV_2D", tensors, ("DepthwiseConv2DOptions", {**options, "depth_multiplier": n})
                ),
                "buffers": [{}, {"data": [1, 2, 3, 4]}],
            }
        )
        for n in (2, 1)
    )
    assert tflite_equal(fits, fits) and not tflite_equal(fits, other)


def test_a_mirror_without_options_pads_no_zeros() -> None:
    amounts = tensor("p", [4, 2], buffer=1, scale=None, type="INT32")
    numbers = np.array([0, 0, 1, 1, 1, 1, 0, 0], "<i4")
    mirrored, zeros = (
        write(
            {
                **one_operator(op, [tensor("x", [1, 4, 4, 2]), amounts, tensor("y", [1, 6, 6, 2])]),
                "buffers": [{}, {"data": [*numbers.tobytes()]}],
            }
        )
        for op in ("MIRROR_PAD", "PAD")
    )
    assert tflite_equal(zeros, zeros) and not tflite_equal(mirrored, zeros)


def signed(left: int, right: int, **more: int) -> bytes:
    """A difference of two inputs, with a signature that names them."""
    named = [{"name": name, "tensor_index": index} for name, index in (("left", left), ("right", right))]
    model = one_operator("SUB", [tensor("a", [8]), tensor("b", [8]), tensor("y", [8])])
    model["subgraphs"].append({**model["subgraphs"][0], "name": "other"})
    return write({**model, "signature_defs": [{"signature_key": "serving", "inputs": named, **more}]})


def test_names_that_callers_use_belong_to_the_same_tensors() -> None:
    assert tflite_equal(signed(0, 1), signed(0, 1))
    assert not tflite_equal(signed(0, 1), signed(1, 0))


def test_a_signature_that_enters_another_subgraph_is_not_covered() -> None:
    assert not tflite_equal(signed(0, 1, subgraph_index=1), signed(0, 1, subgraph_index=1))


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


def test_a_constant_that_a_caller_may_replace_is_none() -> None:
    old = layers(FIRST, SECOND, BIAS)
    old.graph.input.append(helper.make_tensor_value_info("a_w", onnx.TensorProto.INT8, FIRST.shape))
    assert not onnx_equal(old, old)


# The command.


def test_the_command_tells_outputs_and_lanes(tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    onnx.save(layers(FIRST, SECOND, BIAS), tmp_path / "old.onnx")
    onnx.save(layers(FIRST[[2, 0, 1]], SECOND[:, [2, 0, 1]], BIAS), tmp_path / "new.onnx")
    onnx.save(layers(FIRST, SECOND, BIAS + 1), tmp_path / "lie.onnx")
    old, new, lie = (str(tmp_path / f"{name}.onnx") for name in ("old", "new", "lie"))
    assert main(["verify", old, new]) == 0
    told(capsys.readouterr().out)
    assert main(["verify", old, lie, "--output-format", "json"]) == 1
    (output,) = json.loads(capsys.readouterr().out)["outputs"]
    assert not output["equal"]
    assert "layer 'b_sum_made'" in output["reason"]
    assert main(["verify", old, str(tmp_path / "none.onnx")]) == 2


@pytest.mark.parametrize("name", ["vww96_int8_tf.onnx", "tflite/vww_96_int8.tflite"])
def test_the_fix_of_a_real_model_is_equal_for_every_input(name: str) -> None:
    """Person detection of MLPerf Tiny, from which 85 % of the weights go; the runs beside are few."""
    path = paths.SHARED / "models" / name
    if not path.exists():
        pytest.skip("needs the folder `shared` beside the project")
    if path.suffix == ".tflite":
        pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    fixed = linter.fixed(path.read_bytes(), f"m{path.suffix}")
    assert fixed.model is not None
    assert len(fixed.model) < path.stat().st_size / 2
    form = format_of(name)
    assert verify(form.load(str(path)), form.load(path.name, fixed.model)).equal
    assert fixed.result.certificate is not None
    assert fixed.result.proof is not None
    assert fixed.result.proof.every_input
    assert fixed.result.proof.inputs <= 3
    for layer in fixed.result.certificate.tensors:
        holds_by_hand(layer)


def holds_by_hand(layer: CertifiedTensor) -> None:
    """Facts of a certificate that need no model: what stays, and constants that both ends of a sum are rounded to."""
    assert len(layer.lanes) == layer.after
    assert len(layer.gone) == len(layer.constants)
    assert not {*layer.lanes} & {*layer.gone}
    sums = layer.gone_sums
    for position, constant in enumerate(layer.constants if sums else ()):
        assert sums is not None
        row = LaneSums(*(column[position : position + 1] for column in sums))
        (low,), (high,), (multiplier,), (shift,) = row[1:5]
        ends = [requantized(end, multiplier, shift, 8) for end in (low, high)]
        held = {min(max(n + row.zero_point[0], row.least[0]), row.most[0]) for side in ends for n in side}
        assert constant is None or held == {constant}


# The certificate as data.


def leaves(data: object, *where: object) -> Iterator[tuple[object, ...]]:
    """Places of the facts of a certificate."""
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    told = [leaf for name, part in parts for leaf in leaves(part, *where, name)]
    yield from told or ([where] if not isinstance(data, (dict, list)) else [])


def steady_pair() -> tuple[bytes, bytes]:
    """A model with a constant lane, and one without it."""
    steady = FIRST.copy()
    steady[1] = 0
    models = [layers(steady, SECOND, BIAS), layers(FIRST[[0, 2]], SECOND[:, [0, 2]], BIAS + SECOND[:, 1, 0, 0] * 5)]
    (bias,) = [tensor for tensor in models[0].graph.initializer if tensor.name == "a_b"]
    bias.CopyFrom(numpy_helper.from_array(np.array([0, 500, 0], np.int32), "a_b"))
    return models[0].SerializeToString(), models[1].SerializeToString()


def test_each_fact_of_a_certificate_is_held_against_the_files() -> None:
    """Any number one off, another word, a fact too many and one too few are refused, and named."""
    pair = steady_pair()
    own = certificate(verify(*(ONNX.load("m.onnx", data) for data in pair)), *pair)
    assert own is not None
    (layer, reader) = own.tensors
    assert (layer.lanes, layer.gone, layer.constants) == ((0, 2), (1,), (2,))
    assert reader.lanes == (0, 1)
    assert (layer.gone_sums or layer.sums).bias == (500,)
    holds_by_hand(layer)
    true = json.loads(json.dumps(plain_data(own)))
    assert untrue(true, true) == ""
    for where in leaves(true):
        lie = json.loads(json.dumps(true))
        inside = lie
        for name in where[:-1]:
            inside = inside[name]
        value = inside[where[-1]]
        for other in (None if value is not None else 0, [value], f"{value} "):
            inside[where[-1]] = other
            assert str(where[-1]) in untrue(lie, true)
        if isinstance(value, (int, bool)):
            inside[where[-1]] = value + 1 if type(value) is int else not value
            assert str(where[-1]) in untrue(lie, true)
        if isinstance(inside, dict):
            del inside[where[-1]]
            assert untrue(lie, true).endswith(f"does not tell {where[-1]}")
    assert "means nothing" in untrue({**true, "more": 1}, true)


def test_a_certificate_makes_nothing_equal(tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    """It holds for its two files, a lie in it is named, and for others it does not count."""
    old, new = tmp_path / "old.onnx", tmp_path / "new.onnx"
    for path, data in zip((old, new), steady_pair(), strict=True):
        path.write_bytes(data)
    assert main(["verify", str(old), str(new), "--output-format", "json"]) == 0
    own = json.loads(capsys.readouterr().out)["certificate"]
    written = tmp_path / "told.json"

    def answered(certificates: object, *files: Path) -> tuple[int, str]:
        written.write_text(json.dumps(certificates))
        code = main(["verify", *map(str, files), "--certificate", str(written)])
        said = capsys.readouterr()
        return code, " ".join((said.out + said.err).split())

    good = {"version": 1, "certificates": [{"path": "any", **own}]}
    assert answered(good, old, new) == (0, f"{answered(good, old, new)[1].removesuffix(' holds')} holds")
    own["tensors"][0]["constants"][0] += 1
    assert answered(good, old, new)[0] == 1
    told(answered(good, old, new)[1])
    other = layers(FIRST, SECOND, BIAS).SerializeToString()
    third = tmp_path / "third.onnx"
    third.write_bytes(other)
    own["new"] = hashlib.sha256(other).hexdigest()
    code, text = answered(good, old, third)
    assert (code, "does not count" in text) == (1, True)
    told(answered(good, new, new)[1])
    for damaged in ([], {"version": 2, "certificates": []}, {"version": 1, "certificates": [1]}, {"version": 1}):
        assert answered(damaged, old, new)[0] == 2
    written.write_text("{")
    assert main(["verify", str(old), str(new), "--certificate", str(written)]) == 2
    assert main(["verify", str(old), str(new), "--certificate", str(tmp_path)]) == 2
    assert "--certificate" not in capsys.readouterr().out


def test_a_fix_writes_its_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    """`verify` takes it; without a fix there is none to write."""
    model, before, written = (tmp_path / name for name in ("m.onnx", "before.onnx", "told.json"))
    for path in (model, before):
        path.write_bytes(steady_pair()[0])
    options = ["--isolated", "--target", "m4", "--config", "min-gain=0"]
    main(["lint", str(model), "--fix-only", "--certificate", str(written), *options])
    (own,) = json.loads(written.read_text())["certificates"]
    assert own["new"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert main(["verify", str(before), str(model), "--certificate", str(written)]) == 0
    capsys.readouterr()
    assert main(["lint", str(model), "--certificate", str(written), *options]) == 2
    told(capsys.readouterr().err)


def test_repairs_are_equal_for_every_input() -> None:
    """A zero bias; a Pad in front of a QLinearConv that pads on one side alone."""
    for model in (convolution((1, 8, 6, 6), (8, 8, 3, 3), bias=False), operator_format(pads=[0, 0, 1, 1])):
        fixed = linter.fixed(model, targets=["cortex-m55"], release="7.0.0", min_gain=0)
        if fixed.model is not None:
            assert verify(ONNX.load("m.onnx", model.SerializeToString()), ONNX.load("m.onnx", fixed.model)).equal


def test_files_of_too_many_elements_are_not_known_to_be_equal(told: Told) -> None:
    """The reason names the first layer, and not every one behind it."""
    files = [TFLITE.load("m.tflite", planned(1).old + bytes(more)) for more in (0, 4)]
    assert verify(files[0], files[1]).equal
    (reason,) = verify(files[0], files[1], 100).faults
    told(reason)
    assert reason.count("(") <= 1


@pytest.mark.parametrize("damage", ["no depth", "pads of one axis", "huge window"])
def test_damaged_layers_are_not_covered(damage: str) -> None:
    x, y = tensor("x", [1, 4, 4, 2]), tensor("y", [1, 4, 4, 2])
    size = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "filter_width": 1 << 20, "filter_height": 1 << 20}
    model = {
        "no depth": one_operator("FULLY_CONNECTED", [x, tensor("w", [2, 0], buffer=1), y]),
        "pads of one axis": one_operator("PAD", [x, tensor("p", [4], buffer=1, scale=None, type="INT32"), y]),
        "huge window": one_operator("AVERAGE_POOL_2D", [x, y], ("Pool2DOptions", size)),
    }[damage]
    data = write({**model, "buffers": [{}, {"data": [0] * 16}]})
    model["subgraphs"][0]["tensors"][-1]["name"] = "z"
    renamed = write({**model, "buffers": [{}, {"data": [0] * 16}]})
    assert tflite_equal(data, data)
    assert not tflite_equal(data, renamed)


def test_zeros_of_two_signs_are_two_divisors() -> None:
    text = '<ir_version: 8, opset_import: ["" : 14]> g (float[3] x) => (float[3] y) <float[1] c = {%s}> {y = Div(x, c)}'
    plus, minus, two = (models.text(text % number) for number in ("0.0", "-0.0", "2.0"))
    assert np.signbit(numpy_helper.to_array(minus.graph.initializer[0])).all()
    assert onnx_equal(plus, plus)
    assert not onnx_equal(plus, minus)
    assert not onnx_equal(plus, two)


@pytest.mark.parametrize("shape", [[8, 1441792, 1310744, 19, 524300, 0, 458752], [1, 2147483647, 49, 0]], ids=str)
def test_damaged_sizes_of_no_elements_are_not_covered(shape: list[int]) -> None:
    """NumPy holds no such shape, or walks all of its other sizes."""
    data = write(one_operator("RELU", [tensor("x", shape), tensor("y", shape)]))
    (fault,) = verify(*(TFLITE.load("m.tflite", file) for file in (data, data + bytes(4)))).faults
    assert fault.endswith("elements; 1,048,576 are looked at")


def test_nothing_is_said_of_a_result_of_another_size_than_the_file_says() -> None:
    """A certificate told the sums of lanes that are not there."""
    data = write(one_operator("LOGISTIC", [tensor("x", [2]), tensor("y", [1, 7, 6, 2])]))
    model = Model(TFLITE.load("m.tflite", data), Numbers())
    told = (
        "LOGISTIC#0 (LOGISTIC): sizes of its results are not those that it makes (stated, made): [((1, 7, 6, 2), (2,))]"
    )
    assert model.missing == {"y": told}
    assert not model.rounded


def test_scales_between_gates_are_not_covered() -> None:
    tensors = [tensor("x", [1, 2, 4]), tensor("y", [1, 2, 4])]
    data = write(one_operator("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, ("UnidirectionalSequenceLSTMOptions", {})))
    assert not tflite_equal(data, data)


@pytest.mark.parametrize(
    ("op", "options", "other"),
    [
        ("RESIZE_BILINEAR", {"align_corners": True}, {"half_pixel_centers": True}),
        ("LEAKY_RELU", {"alpha": 0.1}, {"alpha": 0.2}),
        ("SOFTMAX", {"beta": 1.0}, {"beta": 2.0}),
    ],
)
def test_options_of_operators_that_are_not_described_count(op: str, options: dict, other: dict) -> None:
    kind = f"{op.title().replace('_', '')}Options"
    tensors = [tensor("x", [1, 4, 4, 2]), tensor("y", [1, 4, 4, 2])]
    old, new = (write(one_operator(op, tensors, (kind, given))) for given in (options, other))
    assert not tflite_equal(old, new)
    assert tflite_equal(old, old)


def test_a_kernel_that_would_read_integers_as_real_numbers_is_not_covered() -> None:
    """Nothing but DEQUANTIZE makes real numbers of integers: LiteRT's NEG of int8 writes int8."""

    def model(read: int) -> bytes:
        tensors = [
            tensor("x", [1, 4], scale=(0.05,)),
            tensor("d", [1, 4], type="FLOAT32", scale=()),
            tensor("y", [1, 4], type="FLOAT32", scale=()),
        ]
        steps = [
            {"opcode_index": 0, "inputs": [0], "outputs": [1]},
            {"opcode_index": 1, "inputs": [read], "outputs": [2]},
        ]
        subgraph = {"tensors": tensors, "inputs": [0], "outputs": [2], "operators": steps}
        codes = [operator_code(op) for op in ("DEQUANTIZE", "NEG")]
        return write({"version": 3, "operator_codes": codes, "subgraphs": [subgraph], "buffers": [{}]})

    assert tflite_equal(model(1), model(1))
    assert not tflite_equal(model(1), model(0))
