"""Pieces, maxima and differences, written as operators that a kernel or reference code computes."""

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
FLOAT = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 6, 4, 8] x) => (float[N] y) <int64[2] sizes = {2, 4}, int64 last = {-1}, int64[1] first = {0}> {
    BODY
}
"""
QUANTIZED = """
<ir_version: 8, opset_import: ["" : 13]>
g (int8[1, 6, 8] x) => (int8[1, 6] y) <float s = {0.1}, int8 z = {3}, int64 third = {2}> {
    a = DequantizeLinear(x, s, z)
    b = BODY
    y = QuantizeLinear(b, s, z)
}
"""


def outputs(data: bytes, values: np.ndarray) -> list[np.ndarray]:
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": values})


def operators(data: bytes) -> list[str]:
    return [node.op_type for node in onnx.ModelProto.FromString(data).graph.node]


def repairs(model: onnx.ModelProto) -> tuple[list[str], bytes]:
    """Names of the repairs, and the model of which no layer is without a kernel any more."""
    result, data = fixed(model, **CPUS)
    assert data is not None
    left = [finding.message for finding in linted(data, **CPUS).findings if finding.code == "CNN190"]
    assert not [message for message in left if "no kernel" in message]
    return [rewrite.repair for rewrite in result.rewrites], data


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("a, b = Split<axis = 1>(x, sizes)\n y = Relu(b)", ["Slice", "Slice", "Relu"]),
        ("a, b = Split<axis = -1>(x)\n c = Relu(a)\n y = Add(c, b)", ["Slice", "Slice", "Relu", "Add"]),
        ("y = Gather<axis = 2>(x, last)", ["Slice", "Reshape"]),
        ("y = Gather<axis = 1>(x, first)", ["Slice"]),
    ],
)
def test_a_split_and_a_gather_of_one_element_become_slices(body: str, kinds: list[str]) -> None:
    model = text(FLOAT.replace("BODY", body))
    names, data = repairs(model)
    assert (names, operators(data)) == (["slices"], kinds)
    values = np.random.default_rng(0).normal(size=(1, 6, 4, 8)).astype(np.float32)
    for before, after in zip(outputs(model.SerializeToString(), values), outputs(data, values), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("body", ["Gather<axis = -1>(a, third)", "ReduceMax<axes = [2], keepdims = 0>(a)"])
def test_integers_stay_bit_for_bit_and_the_reshape_stands_behind_the_quantizer(body: str) -> None:
    model = text(QUANTIZED.replace("BODY", body))
    _, data = repairs(model)
    assert operators(data)[-2:] == ["QuantizeLinear", "Reshape"]
    values = np.random.default_rng(0).integers(-128, 128, (1, 6, 8), np.int8)
    np.testing.assert_array_equal(outputs(model.SerializeToString(), values)[0], outputs(data, values)[0])


def test_a_maximum_over_a_plane_has_a_kernel() -> None:
    names, data = repairs(text(FLOAT.replace("BODY", "y = ReduceMax<axes = [2, 3], keepdims = 1>(x)")))
    assert (names, operators(data)) == (["max-pool"], ["MaxPool"])
    assert [verdict.word for verdict in linted(data, **CPUS).verdicts] == [RUNS]


def test_a_difference_becomes_a_sum() -> None:
    model = text(FLOAT.replace("BODY", "a = Relu(x)\n y = Sub(x, a)"))
    names, data = repairs(model)
    assert (names, operators(data)) == (["negated"], ["Relu", "Mul", "Add"])
    values = np.random.default_rng(0).normal(size=(1, 6, 4, 8)).astype(np.float32)
    np.testing.assert_array_equal(outputs(model.SerializeToString(), values)[0], outputs(data, values)[0])


def test_an_average_that_counts_its_padding_becomes_a_depthwise_layer() -> None:
    """Behind a Pad of its own ONNX Runtime's pre-processing makes the same pool again."""
    pool = "y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>(x)"
    model = text(FLOAT.replace("BODY", pool))
    names, data = repairs(model)
    assert (names, operators(data)) == (["counted-padding"], ["Conv"])
    values = np.random.default_rng(0).normal(size=(1, 6, 4, 8)).astype(np.float32)
    np.testing.assert_allclose(
        outputs(model.SerializeToString(), values)[0], outputs(data, values)[0], rtol=1e-5, atol=1e-6
    )
    before, after = ([finding.code for finding in linted(net, **CPUS).findings] for net in (model, data))
    assert before.count("CNN190") == 1
    assert "CNN190" not in after


@pytest.mark.parametrize(
    ("body", "stays"),
    [
        ("i = Shape(x)\n j = Gather<axis = 0>(i, last)\n k = Unsqueeze(j, first)\n y = Expand(x, k)", "Gather"),
        ("y = Gather<axis = 1>(x, sizes)", "Gather"),
        ("y = ReduceMax<axes = [1], keepdims = 0>(x)", "ReduceMax"),
    ],
)
def test_sizes_several_indices_and_other_axes_stay(body: str, stays: str) -> None:
    _, data = fixed(text(FLOAT.replace("BODY", body)), **CPUS)
    assert data is None or stays in operators(data)
