"""uint8 becomes int8 between quantized operators as well, and everything that hands integers on follows."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from onnxlint_cmsis.ground.findings import UNSAFELY
from support import linter
from support.fix_command import run, text

HEAD = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>\n'
BETWEEN = {
    "max pool": "t = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(c)",
    "reshape": "t = Reshape(c, sizes)",
    "transpose": "t = Transpose<perm = [0, 1, 3, 2]>(c)",
    "concat of integers": "t = Concat<axis = 0>(c, c)",
    "clip": "t = Clip(c, low, high)",
    "clip above": "t = Clip(c, , high)",
    "pad with the zero-point": "t = Pad(c, amounts, z)",
    "pad with nothing given": "t = Pad(c, amounts)",
    "sum": "t = com.microsoft.QLinearAdd(c, s, z, c, s, z, s, z)",
    "concat": "t = com.microsoft.QLinearConcat<axis = 1>(s, z, c, s, z, c, s, z)",
    "sigmoid": "t = com.microsoft.QLinearSigmoid(c, s, z, s, z)",
}


def model(between: str, weights: str = "uint8") -> onnx.ModelProto:
    zero, numbers = (128, "1, 130, 200, 60") if weights == "uint8" else (0, "1, -3, 100, 60")
    return onnx.parser.parse_model(
        f"""{HEAD}
        g (float[1, 2, 4, 4] x) => (float[?, ?, ?, ?] y)
        <float s = {{0.05}}, uint8 z = {{120}}, float ws = {{0.02}}, {weights} wz = {{{zero}}},
         {weights}[2, 2, 1, 1] w = {{{numbers}}}, uint8 low = {{100}}, uint8 high = {{200}},
         int64[4] sizes = {{1, 4, 2, 4}}, int64[8] amounts = {{0, 0, 1, 1, 0, 0, 1, 1}}> {{
            q = QuantizeLinear(x, s, z)
            c = QLinearConv(q, s, z, w, ws, wz, s, z)
            {between}
            y = DequantizeLinear(t, s, z)
        }}"""
    )


def fixed(given: onnx.ModelProto | bytes, cpu: str = "cortex-m4") -> linter.FixedModel:
    return linter.fixed(given, targets=[cpu], release="7.0.0", extend_fixable=["unsigned-integers"])


def outputs(data: bytes) -> list[np.ndarray]:
    session, random = RuntimeSession(data, Optimization.NONE), np.random.default_rng(1)
    return [session.run({"x": random.uniform(-7, 7, (1, 2, 4, 4)).astype(np.float32)})[0] for _ in range(8)]


@pytest.mark.parametrize("weights", ["uint8", "int8"])
@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
def test_no_uint8_is_left_and_the_outputs_stay(between, weights):
    given = model(between, weights)
    result, data = fixed(given)
    assert data is not None, result.reason
    assert {rewrite.repair for rewrite in result.rewrites} == {"signed-integers"}
    graph = onnx.ModelProto.FromString(data).graph
    read = {name for node in graph.node for name in node.input}
    assert onnx.TensorProto.UINT8 not in {
        initializer.data_type for initializer in graph.initializer if initializer.name in read
    }
    pairs = zip(outputs(given.SerializeToString()), outputs(data), strict=True)
    assert all(np.array_equal(old, new) for old, new in pairs)
    assert fixed(data).model is None


def test_what_onnx_runtime_itself_computes_otherwise_in_int8_stays(told):
    """Its average pool of integers rounds what lies between two of them by their sign."""
    result, data = fixed(model("t = com.microsoft.QLinearAveragePool<kernel_shape = [2, 2]>(c, s, z, s, z)"))
    assert data is None
    told(result.reason)


def test_an_unread_concat_that_split_groups_leaves_becomes_int8_in_the_same_run():
    given = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 6, 5, 5] x) => (float[1, 6, 5, 5] y)
        <float s = {0.05}, int8 z = {3}, float ws = {0.02}, int8 wz = {0}, uint8 uz = {0}, float us = {0.04},
         int8[4, 3, 1, 1] w = {1, -3, 100, 60, 5, 6, -7, 80, 9, 10, -11, 12}> {
            q = QuantizeLinear(x, s, z)
            d = DequantizeLinear(q, s, z)
            dw = DequantizeLinear(w, ws, wz)
            c = Conv<group = 2>(d, dw)
            r = Relu(c)
            u = QuantizeLinear(r, us, uz)
            y = DequantizeLinear(q, s, z)
        }"""
    )
    result, data = fixed(given, "cortex-m0")
    assert [rewrite.repair for rewrite in result.rewrites] == ["split-groups", "signed-integers"]
    assert result.proof.equal
    assert fixed(data, "cortex-m0").model is None


def test_what_an_operator_ties_to_an_input_of_the_model_stays():
    given = onnx.parser.parse_model(
        f"""{HEAD}
        g (uint8[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y)
        <float s = {{0.05}}, uint8 z = {{120}}, uint8[2, 2, 1, 1] w = {{1, 130, 200, 60}}, uint8 wz = {{128}}> {{
            c = QLinearConv(x, s, z, w, s, wz, s, z)
            y = DequantizeLinear(c, s, z)
        }}"""
    )
    assert fixed(given).model is None


def test_uint8_stays_unless_its_rule_is_named():
    given = model(BETWEEN["max pool"]).SerializeToString()
    asked = [{"fixable": ["CNN504"]}, {"extend_fixable": ["CNN5"]}]
    for settings, changed in (({}, False), ({"fixable": ["CNN"]}, False), *((more, True) for more in asked)):
        result, _ = linter.fixed(given, targets=["cortex-m4"], **settings)
        assert bool(result.rewrites) is changed
        unsigned = [f for f in linter.linted(given, targets=["cortex-m4"], **settings).findings if f.code == "CNN504"]
        assert unsigned
        assert any(finding.properties.get(UNSAFELY) for finding in unsigned) is changed


def test_constants_that_are_replaced_share_a_line(tmp_path):
    onnx.save(model(BETWEEN["max pool"]), tmp_path / "m.onnx")
    lines = [
        line
        for line in text(run(tmp_path, "--diff", "--fixable", "CNN504", "m.onnx")).splitlines()
        if line.strip().startswith("tensor ")
    ]
    assert len(lines) == 1
    assert "constants go and" in lines[0]
