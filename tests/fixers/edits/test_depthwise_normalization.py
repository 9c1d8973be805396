"""A normalization that no layer in front can take in, written as the depthwise convolution that has a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from onnxlint_cmsis.analysis.verdict import RUNS
from support.linter import fixed, linted
from support.models import text

CPUS: dict[str, Any] = {"targets": ["cortex-m4"]}
BEHIND_RELU = """
<ir_version: 8, opset_import: ["" : 15]>
g (float[1, 3, SPACE] x) => (float[1, 3, SPACE] y)
<float[3] k = {0.5, 1, 2}, float[3] b = {-1, 0, 1}, float[3] m = {0.1, 0.2, 0.3}, float[3] v = {0.5, 1, 2}> {
    a = BatchNormalization<epsilon = 0.01>(x, k, b, m, v)
    y = Relu(a)
}
"""
QUANTIZED = """
<ir_version: 8, opset_import: ["" : 15]>
g (int8[1, 3, 4, 4] x) => (int8[1, 3, 4, 4] y)
<float s = {0.1}, int8 z = {0}, float[3] k = {0.5, 1, 2}, float[3] b = {-1, 0, 1}> {
    a = DequantizeLinear(x, s, z)
    c = BatchNormalization(a, k, b, b, k)
    y = QuantizeLinear(c, s, z)
}
"""
BEHIND_CONV = """
<ir_version: 8, opset_import: ["" : 15]>
g (float[1, 3, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3] k = {0.5, 1, 2}, float[3, 3, 1, 1] w = {1}> {
    a = Conv(x, w)
    y = BatchNormalization(a, k, k, k, k)
}
"""


def outputs(data: bytes, shape: tuple[int, ...]) -> np.ndarray:
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.random.default_rng(0).normal(size=shape).astype(np.float32)})[0]


@pytest.mark.parametrize("space", [(4, 5), (20,)], ids=["plane", "time"])
def test_it_becomes_a_depthwise_layer_that_clamps_along(space: tuple[int, ...]) -> None:
    model = text(BEHIND_RELU.replace("SPACE", ", ".join(map(str, space))))
    result, data = fixed(model, **CPUS)
    assert data is not None
    assert [rewrite.repair for rewrite in result.rewrites] == ["depthwise-normalization"]
    conv, relu = onnx.ModelProto.FromString(data).graph.node
    assert (conv.op_type, relu.op_type) == ("Conv", "Relu")
    assert {attribute.name: attribute.i for attribute in conv.attribute}["group"] == 3
    before, after = (outputs(side, (1, 3, *space)) for side in (model.SerializeToString(), data))
    np.testing.assert_allclose(before, after, rtol=1e-5, atol=1e-6)
    assert [verdict.word for verdict in linted(data, **CPUS).verdicts] == [RUNS]


def test_a_quantized_one_names_the_fix_of_the_float_model() -> None:
    [finding] = linted(text(QUANTIZED), **CPUS, min_level="warning").findings
    assert "--fix of the float model" in finding.remedy
    assert not finding.properties.get("fixable")
    assert fixed(text(QUANTIZED), **CPUS).model is None


def test_one_behind_a_convolution_stays_for_its_weights() -> None:
    assert fixed(text(BEHIND_CONV), **CPUS).result.rewrites == ()
