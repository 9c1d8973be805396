"""Softmax to 1/256 and equal scales with --unsafe-fixes: CMSIS-NN computes the layers, outputs change by one step."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest

from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.shared_scales import linked_groups
from support import linter
from support.fix_command import contents, run, text
from support.models import read
from support.quantized_models import joined

M4 = {"targets": ["cortex-m4"], "release": "7.0.0"}
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
WIDE_HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
MICROSOFT = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>\n'
SOFTMAX = """
g (float[1, 16] x) => (float[1, 16] y)
<float s = {0.1}, int8 z = {0}, float t = {0.00392157}, int8 u = {-128}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = Softmax<axis = 1>(a)
    c = QuantizeLinear(b, t, u)
    y = DequantizeLinear(c, t, u)
}
"""
WIDENED = SOFTMAX.replace("int8 u = {-128}", "int16 u = {0}").replace("0.00392157", "0.0000305176")
"""A softmax whose input is int8 and whose output is int16, with the scale of arm_softmax_s16."""
HANDED_OUT = """
g (float[1, 16] x) => (int8[1, 16] y)
<float s = {0.1}, int8 z = {0}, float t = {0.00392157}, int8 u = {-128}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = Softmax<axis = 1>(a)
    y = QuantizeLinear(b, t, u)
}
"""
WEIGHTS = """
 float ws = {0.02}, int8 wz = {0}, int8[2, 2, 1, 1] w = {20, -15, 10, 30}, float bs = {0.002}, int32 bz = {0},
 int32[2] bias = {700, -300}
"""
POOL = f"""
g (float[1, 2, 8, 8] x) => (float[1, 2, 1, 1] y)
<float s = {{0.1}}, int8 z = {{3}}, float t = {{0.09}}, int8 k = {{-5}}, float r = {{0.2}}, float bt = {{0.0018}},
{WEIGHTS}> {{
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    p = GlobalAveragePool(a)
    d = QuantizeLinear(p, t, k)
    e = DequantizeLinear(d, t, k)
    f = DequantizeLinear(w, ws, wz)
    h = DequantizeLinear(bias, bt, bz)
    c = Conv(e, f, h)
    m = QuantizeLinear(c, r, z)
    y = DequantizeLinear(m, r, z)
}}
"""
CONCAT = f"""
g (float[1, 2, 8, 8] x) => (float[1, 4, 8, 8] y)
<float s = {{0.1}}, int8 z = {{0}}, float t = {{0.05}}, int8 k = {{-128}}, float r = {{0.11}}, int8 v = {{-4}},
{WEIGHTS}> {{
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    f = DequantizeLinear(w, ws, wz)
    h = DequantizeLinear(bias, bs, bz)
    c = Conv(a, f, h)
    d = QuantizeLinear(c, t, k)
    e = DequantizeLinear(d, t, k)
    j = Concat<axis = 1>(e, a)
    m = QuantizeLinear(j, r, v)
    y = DequantizeLinear(m, r, v)
}}
"""
OPERATORS = f"""
g (float[1, 2, 8, 8] x) => (float[1, 4, 8, 8] y)
<float s = {{0.1}}, int8 z = {{0}}, float t = {{0.05}}, int8 k = {{-128}}, float r = {{0.11}}, int8 v = {{-4}},
{WEIGHTS}> {{
    q = QuantizeLinear(x, s, z)
    d = QLinearConv(q, s, z, w, ws, wz, t, k, bias)
    m = com.microsoft.QLinearConcat<axis = 1>(r, v, d, t, k, q, s, z)
    y = DequantizeLinear(m, r, v)
}}
"""
NARROW = CONCAT.replace("float r = {0.11}", "float r = {0.01}")
"""A Concat whose result is clamped, which no Clip can keep."""
CASES = {
    "softmax": (HEAD + SOFTMAX, "softmax-output"),
    "softmax to int16": (WIDE_HEAD + WIDENED, "softmax-output"),
    "softmax in integers": (HEAD + HANDED_OUT, "softmax-output"),
    "pool": (HEAD + POOL, "equal-scales"),
    "concat behind a clamp": (HEAD + CONCAT, "equal-scales"),
    "quantized operators": (MICROSOFT + OPERATORS, "equal-scales"),
}

BOUNDS = {
    "softmax": (HEAD + SOFTMAX, 0.003907),
    "softmax in integers": (HEAD + HANDED_OUT, 0.003907),
    "pool": (HEAD + POOL, 0.2),
    "concat behind a clamp": (HEAD + CONCAT, 1.76),
    "quantized operators": (MICROSOFT + OPERATORS, None),
}
"""The largest change that any input can make: a Concat changes where an input saturates, by more than a step."""


def fixed(model: onnx.ModelProto | bytes, *, unsafe: bool = True) -> linter.FixedModel:
    return linter.fixed(model, **M4, unsafe_fixes=unsafe)


def plain(model: onnx.ModelProto | bytes) -> list[str]:
    return [record.reason for record in linter.analysed(model, **M4).lowered.beside]


def values(data: bytes, shape: tuple[int, ...], most: float = 12.7) -> np.ndarray:
    session, random = RuntimeSession(data, Optimization.NONE), np.random.default_rng(3)
    feeds = [{"x": random.uniform(-most, most, shape).astype(np.float32)} for _ in range(20)]
    return np.array([session.run(feed)[0] for feed in feeds], np.float64)


@pytest.mark.parametrize(("source", "repair"), CASES.values(), ids=CASES)
def test_cmsis_nn_computes_the_layer_and_outputs_change_by_one_step(source, repair):
    model = onnx.parser.parse_model(source)
    shape = tuple(size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim)
    assert plain(model)
    result, data = fixed(model)
    assert data is not None, result.reason
    assert {rewrite.repair for rewrite in result.rewrites} == {repair}
    assert plain(data) == []
    output = next(change for change in result.changes if change.value == "y")
    assert output.steps <= 1.001
    step = 1 if output.value == "y" and "y = QuantizeLinear" in source and "int8[1, 16] y" in source else output.step
    apart = np.abs(values(model.SerializeToString(), shape) - values(data, shape)).max()
    assert apart <= step * 1.001


@pytest.mark.parametrize(("source", "bound"), BOUNDS.values(), ids=BOUNDS)
def test_no_input_changes_an_output_by_more_than_the_bound(source: str, bound: float | None) -> None:
    """Inputs lie far outside the calibrated range too; the bounds are a tenth above what is seen, or tighter."""
    model = onnx.parser.parse_model(source)
    shape = tuple(size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim)
    result, data = fixed(model)
    output = next(change for change in result.changes if change.value == "y")
    assert output.bound == (bound and pytest.approx(bound, rel=1e-3))
    step = 1 / 256 if "int8[1, 16] y" in source else 1.0
    before, after = (
        np.concatenate([values(file, shape, most) for most in (0.5, 5, 12.7, 14, 20, 1e4)]) * step
        for file in (model.SerializeToString(), data)
    )
    apart = np.abs(before - after).max()
    if bound is not None:
        assert 0.9 * bound <= apart <= bound * 1.001


@pytest.mark.parametrize(("source", "repair"), CASES.values(), ids=CASES)
def test_nothing_changes_without_unsafe_fixes_and_nothing_twice(source, repair):
    model = onnx.parser.parse_model(source)
    assert fixed(model, unsafe=False).model is None
    again = fixed(fixed(model).model)
    assert again.model is None
    assert repair not in {unrewritten.repair for unrewritten in again.result.unrewritten}


def test_the_clamp_of_saturation_is_kept():
    """The convolution's result cannot be negative, as its zero-point is the lowest integer."""
    data = fixed(onnx.parser.parse_model(HEAD + CONCAT)).model
    assert values(data, (1, 2, 8, 8))[:, :, :2].min() >= 0


def test_biases_follow_the_scale_of_the_input():
    graph = linter.analysed(fixed(onnx.parser.parse_model(HEAD + POOL)).model).graph
    conv = next(node for node in graph.nodes if node.op_type == "Conv")
    dequantizer = graph.producers[conv.inputs[2]]
    scale = graph.constants[dequantizer.inputs[1]].values()
    assert scale == pytest.approx([0.02 * 0.1])
    assert graph.constants[dequantizer.inputs[0]].values() == (round(700 * 0.9), round(-300 * 0.9))


def test_what_changes_more_than_one_step_is_left_with_the_number(told):
    result, data = fixed(onnx.parser.parse_model(HEAD + NARROW))
    assert data is None
    (skipped,) = result.unrewritten
    assert skipped.repair == "equal-scales"
    told(skipped.reason)


def test_who_reads_integers_is_told(told):
    result = fixed(onnx.parser.parse_model(HEAD + HANDED_OUT)).result
    told(result.rewrites[0].what)


def test_reports_tell_the_largest_change(tmp_path, told):
    onnx.save(onnx.parser.parse_model(HEAD + SOFTMAX), tmp_path / "m.onnx")
    before = contents(tmp_path)
    told(text(run(tmp_path, "--diff", "--unsafe-fixes", "m.onnx")))
    (file,) = json.loads(text(run(tmp_path, "--diff", "--unsafe-fixes", "--output-format", "json", "m.onnx")))["files"]
    (change,) = file["fix"]["changes"]
    assert 0 < change["steps"] <= 1.001
    assert file["fix"]["rewrites"][0]["steps"] == change["steps"]
    sarif = json.loads(text(run(tmp_path, "--diff", "--unsafe-fixes", "--output-format", "sarif", "m.onnx")))
    (artifact,) = [artifact for artifact in sarif["runs"][0]["artifacts"] if "fix" in artifact.get("properties", {})]
    assert artifact["properties"]["fix"]["changes"] == [change]
    assert contents(tmp_path) == before


def test_a_transposed_convolution_keeps_a_scale_of_its_input_and_one_of_its_output():
    """It writes its own, so that one scale around a Concat in front ends there."""
    model = joined(0.1)
    weights = model.weights("v", (8, 2, 2, 2), axis=1)
    model = model.layer("ConvTranspose", weights, strides=[2, 2]).rounded(0.7)
    records = lower(read(model.model())).records
    (concat,) = [record for record in records if record.node.op_type == "Concat"]
    (group,) = linked_groups(records, [concat], lambda name: name.removesuffix("_q_real"))
    assert {round(numbers.scale, 3) for numbers in group.values()} == {0.1, 0.2}
