"""What a call says of the model besides its sizes: whether there is a bias, whether an LSTM starts from a state."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.lowering import lower
from support.dims_graphs import Builder
from support.models import finished, read
from support.targets import target_of


def convolution(bias: str, groups: int) -> KernelCall:
    """A quantized convolution of 16 channels whose bias is an input, an Add behind it, or missing."""
    build = Builder()
    data = build.input("x", 1, 16, 8, 8, elem_type=TensorProto.INT8)
    step, zero = build.const(0.1, np.float32, "step"), build.const(0, np.int8, "zero")
    weights = build.op("DequantizeLinear", build.const(np.ones((16, 16 // groups, 3, 3)), np.int8, "w"), step, zero)
    values = build.op("DequantizeLinear", data, step, zero)
    inputs = [values, weights]
    if bias == "input":
        fine, none = build.const(0.01, np.float32, "fine"), build.const(0, np.int32, "none")
        inputs.append(build.op("DequantizeLinear", build.const(np.ones(16), np.int32, "b"), fine, none))
    out = build.op("Conv", *inputs, group=groups, kernel_shape=[3, 3], pads=[1] * 4)
    if bias == "added":
        out = build.op("Add", out, build.const(np.ones((1, 16, 1, 1)), np.float32, "more"))
    model = build.model(build.op("DequantizeLinear", build.op("QuantizeLinear", out, step, zero), step, zero))
    (layer,) = lower(read(model)).layers
    return layer.call


@pytest.mark.parametrize(("bias", "there"), [("input", True), ("added", True), ("none", False)])
def test_a_bias_is_an_input_or_a_constant_added_behind(bias: str, there: bool) -> None:
    call = convolution(bias, 4)
    assert call.bias is there
    names = [hazard.id for hazard in route(call, target_of("cortex-m4")).hazards]
    assert names == ([] if there else ["conv-grouped-no-bias"])


def test_a_missing_bias_does_no_harm_to_one_group() -> None:
    call = convolution("none", 1)
    assert call.bias is False
    assert route(call, target_of("cortex-m55")).hazards == ()


STATES = {
    "none": ([], False),
    "left out": (["", ""], False),
    "zeros": (["zeros", "zeros"], False),
    "a constant": (["ones", "zeros"], True),
    "an input": (["", "state"], True),
    "zeros spread out": (["spread", ""], False),
    "worked out": (["doubled", ""], True),
    "zeros behind DequantizeLinear": (["stored_zero", "stored_zero"], False),
    "ones behind DequantizeLinear": (["stored_one", ""], True),
    "zeros behind QuantizeLinear and DequantizeLinear": (["rounded", ""], False),
    "zeros of another type": (["cast", ""], False),
    "zeros passed on": (["passed", ""], False),
}


def lstm(states: list[str]) -> KernelCall:
    def array(name: str, *shape: int, fill: float = 1.0) -> TensorProto:
        return numpy_helper.from_array(np.full(shape, fill, np.float32), name)

    nodes = [
        helper.make_node("Expand", ["one_zero", "shape"], ["spread"], "spread"),
        helper.make_node("Add", ["state", "state"], ["doubled"], "double"),
        helper.make_node("DequantizeLinear", ["sevens", "scale", "seven"], ["stored_zero"], "stored_zero"),
        helper.make_node("DequantizeLinear", ["eights", "scale", "seven"], ["stored_one"], "stored_one"),
        helper.make_node("QuantizeLinear", ["zeros", "scale", "seven"], ["integers"], "quantize"),
        helper.make_node("DequantizeLinear", ["integers", "scale", "seven"], ["rounded"], "dequantize"),
        helper.make_node("Cast", ["half_zeros"], ["cast"], "cast", to=TensorProto.FLOAT),
        helper.make_node("Identity", ["stored_zero"], ["passed"], "pass"),
        helper.make_node("LSTM", ["x", "w", "r", "b", "", *states], ["y"], "lstm", hidden_size=2),
    ]
    constants = [
        array("w", 1, 8, 3), array("r", 1, 8, 2), array("b", 1, 16), array("ones", 1, 1, 2),
        array("zeros", 1, 1, 2, fill=0.0), array("one_zero", 1, 1, 1, fill=0.0),
        numpy_helper.from_array(np.array([1, 1, 2]), "shape"),
        numpy_helper.from_array(np.full((1, 1, 2), 7, np.uint8), "sevens"),
        numpy_helper.from_array(np.array([[[7, 8]]], np.uint8), "eights"),
        numpy_helper.from_array(np.uint8(7), "seven"), array("scale", fill=0.5),
        numpy_helper.from_array(np.zeros((1, 1, 2), np.float16), "half_zeros"),
    ]  # fmt: skip
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in
              (("x", [4, 1, 3]), ("state", [1, 1, 2]))]  # fmt: skip
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    (call,) = (
        layer.call
        for layer in lower(read(finished(helper.make_graph(nodes, "lstm", inputs, [output], constants)))).layers
        if layer.node.op_type == "LSTM"
    )
    return call


@pytest.mark.parametrize("name", STATES)
def test_an_lstm_has_a_state_where_one_is_given_that_is_not_zero(name: str) -> None:
    states, there = STATES[name]
    assert lstm(states).initial_state is there


@pytest.mark.parametrize(("release", "dropped"), [("5.0.0", False), ("6.0.0", True), ("7.0.0", True), ("main", False)])
def test_two_releases_drop_the_state_of_an_lstm(release: str, dropped: bool) -> None:
    target = target_of("cortex-m4", release)
    names = [hazard.id for hazard in route(lstm(["ones", "ones"]), target).hazards]
    assert names == (["lstm-initial-state-dropped"] if dropped else [])
    unknown = lstm([])._replace(initial_state=None)
    assert bool(route(unknown, target).open_hazards) is dropped
