"""Layers as calls of the functions for q7 and q15 of CMSIS 5."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.lower.lowered import Lowered
from onnxlint_cmsis.lower.lowering import lower
from support.goldens import Told
from support.models import read, text

FLOAT = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 3, 16, 16] x) => (float[1, 10] y) <
    float[6, 3, 3, 3] u = {1}, float[6] s = {1}, float[6] b = {1}, float[6] m = {1}, float[6] v = {1},
    float[6, 1, 3, 3] d = {1}, float[8, 3, 3, 3] k = {1}, float[512, 10] w = {1}
> {
    a = Conv<pads = [1, 1, 1, 1]>(x, u)
    n = BatchNormalization(a, s, b, m, v)
    r = Relu(n)
    e = Conv<group = 6, auto_pad = "SAME_UPPER", strides = [2, 2]>(r, d)
    f = Conv<group = 2, pads = [1, 1, 1, 1]>(e, k)
    h = Add(f, f)
    i = Clip(h)
    p = AveragePool<kernel_shape = [1, 2]>(i)
    q = Sigmoid(i)
    j = Flatten(q)
    o = MatMul(j, w)
    y = Softmax<axis = -1>(o)
}
"""


def lowered(model: str, assume: str = "q7") -> Lowered:
    return lower(read(text(model.strip())), assume)


def entries(layers: Lowered) -> list[str]:
    return [f"{record.node.op_type} {record.call.entry if record.call else record.reason}" for record in layers.records]


def test_layers_of_a_float_model(told: Told) -> None:
    layers = lowered(FLOAT)
    told(entries(layers))
    assert [node.op_type for node in layers.records[0].fused] == ["BatchNormalization"]
    assert layers.records[0].call and layers.records[0].call.bias
    assert layers.records[2].call and layers.records[2].call.pad_after == (1, 1)


@pytest.mark.parametrize(("assume", "dense"), [("q15", "fully_connected_q15"), ("q7q15", "fully_connected_q7q15")])
def test_sixteen_bits(assume: str, dense: str, told: Told) -> None:
    layers = entries(lowered(FLOAT, assume))
    told(layers[:3])
    assert f"MatMul {dense}" in layers
    assert "AveragePool CMSIS 5 has no pooling in q15" in layers


QUANTIZED = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) <
    float s = {0.1}, TYPE z = {0}, int8[4, 4, 1, 1] w = {1}, int8 n = {0}
> {
    q = QuantizeLinear(x, s, z)
    d = DequantizeLinear(q, s, z)
    v = DequantizeLinear(w, s, n)
    c = Conv(d, v)
    e = QuantizeLinear(c, s, z)
    f = DequantizeLinear(e, s, z)
    r = Relu(f)
    g = QuantizeLinear(r, s, z)
    y = DequantizeLinear(g, s, z)
}
"""


def test_a_quantized_model_is_read_like_a_float_one() -> None:
    layers = lowered(QUANTIZED.replace("TYPE", "uint8"), "q15")
    assert entries(layers) == ["Conv convolve_q7", "Relu relu_q7"]


@pytest.mark.parametrize(
    ("operator", "counterpart"),
    [
        ("GlobalAveragePool", "avgpool_q7"),
        ("Sigmoid", "activation_q7"),
        ("Softmax", "softmax_q7"),
    ],
)
def test_an_operator_that_carries_scales_is_the_one_it_stands_for(operator: str, counterpart: str) -> None:
    source = """
    <ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]>
    g (int8[1, 4, 8, 8] x) => (int8[N, C, H, W] y) <float s = {0.1}, int8 z = {0}> {
        y = com.microsoft.QLinearNAME(x, s, z, s, z)
    }
    """.replace("NAME", operator + ("<axis = -1, opset = 13>" if operator == "Softmax" else ""))
    graph = read(text(source))
    assert entries(lower(graph, "q7")) == [f"QLinear{operator} {counterpart}"]
