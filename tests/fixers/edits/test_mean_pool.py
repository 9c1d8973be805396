"""A mean over the plane or the time of an image, written as the average pool that CMSIS-NN has a kernel for."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from onnxlint_cmsis.analysis.verdict import RUNS
from onnxlint_cmsis.fixers.planning.fits import mean_pool
from onnxlint_cmsis.model.graph import Graph, Node
from support.linter import fixed, linted
from support.models import text

CPUS: dict[str, Any] = {"targets": ["cortex-m4"]}
UNSAFELY: dict[str, Any] = {**CPUS, "unsafe_fixes": True}
FLOAT = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[INPUT] x) => (float[RESULT] y) {
    y = ReduceMean<axes = [AXES], keepdims = KEPT>(x)
}
"""
QUANTIZED = """
<ir_version: 8, opset_import: ["" : 13]>
g (int8[1, 4, 6, 8] x) => (int8[RESULT] y) <float s = {0.1}, int8 z = {3}> {
    a = DequantizeLinear(x, s, z)
    b = ReduceMean<axes = [AXES], keepdims = KEPT>(a)
    y = QuantizeLinear(b, s, z)
}
"""


def model(source: str, **words: str) -> onnx.ModelProto:
    for name, value in words.items():
        source = source.replace(name, value)
    return text(source)


def outputs(data: bytes, values: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": values})[0]


def operators(data: bytes) -> list[str]:
    return [node.op_type for node in onnx.ModelProto.FromString(data).graph.node]


@pytest.mark.parametrize(
    ("axes", "kept", "shape", "window"),
    [
        ("2, 3", "0", "1, 4", [6, 8]),
        ("-1, -2", "1", "1, 4, 1, 1", [6, 8]),
        ("3", "0", "1, 4, 6", [1, 8]),
        ("2", "1", "1, 4, 1, 8", [6, 1]),
    ],
)
def test_a_mean_of_integers_is_that_of_the_pool_but_for_ties(
    axes: str, kept: str, shape: str, window: list[int]
) -> None:
    given = model(QUANTIZED, AXES=axes, KEPT=kept, RESULT=shape)
    assert fixed(given, **CPUS).model is None
    result, data = fixed(given, **UNSAFELY)
    assert data is not None
    assert [(rewrite.repair, rewrite.layer) for rewrite in result.rewrites] == [("integer-mean-pool", "ReduceMean#1")]
    pool = next(node for node in onnx.ModelProto.FromString(data).graph.node if node.op_type == "AveragePool")
    assert list(pool.attribute[0].ints) == window
    values = np.random.default_rng(0).integers(-128, 128, (1, 4, 6, 8), np.int8)
    before, after = (outputs(side, values).astype(int) for side in (given.SerializeToString(), data))
    assert np.abs(before - after).max() <= 1
    assert [verdict.word for verdict in linted(data, **CPUS).verdicts] == [RUNS]


def test_a_quantize_stands_right_behind_the_pool() -> None:
    """Behind the Reshape it would leave the pool's result in float."""
    _, data = fixed(model(QUANTIZED, AXES="2, 3", KEPT="0", RESULT="1, 4"), **UNSAFELY)
    assert data is not None
    assert operators(data) == ["DequantizeLinear", "AveragePool", "QuantizeLinear", "Reshape"]


def test_a_mean_over_time() -> None:
    given = model(FLOAT, AXES="2", KEPT="0", INPUT="1, 4, 20", RESULT="1, 4")
    _, data = fixed(given, **CPUS)
    assert data is not None
    assert operators(data) == ["AveragePool", "Reshape"]
    values = np.random.default_rng(0).normal(size=(1, 4, 20)).astype(np.float32)
    assert np.allclose(outputs(given.SerializeToString(), values), outputs(data, values), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("axes", "shape"), [("1", "1, 6, 8"), ("1, 2, 3", "1"), ("0", "4, 6, 8")])
def test_a_mean_over_channels_or_images_stays(axes: str, shape: str) -> None:
    result, data = fixed(model(FLOAT, AXES=axes, KEPT="0", INPUT="1, 4, 6, 8", RESULT=shape), **CPUS)
    assert (data, result.rewrites) == (None, ())


@pytest.mark.parametrize("operator", ["ReduceMean<axes = [2, 3], keepdims = 1>", "GlobalAveragePool"])
def test_what_converters_write_as_a_mean_gets_a_kernel(operator: str) -> None:
    source = QUANTIZED.replace("ReduceMean<axes = [AXES], keepdims = KEPT>", operator)
    given = model(source, RESULT="1, 4, 1, 1")
    (finding,) = linted(given, **CPUS, runtime="tflm").findings
    assert (finding.selector, finding.properties["fixable_unsafely"]) == ("CNN403[mean]", True)
    result, data = fixed(given, **UNSAFELY, runtime="tflm")
    assert data is not None
    assert [rewrite.repair for rewrite in result.rewrites] == ["runtime-integer-mean-pool"]
    assert not linted(data, **CPUS, runtime="tflm").findings


def test_a_fix_tells_its_whole_price() -> None:
    """Layers of unknown cost, the arena and flash were left out, though the fix changes them."""
    result, _ = fixed(model(QUANTIZED, AXES="2, 3", KEPT="0", RESULT="1, 4"), **UNSAFELY)
    (price,) = result.prices
    assert (price.before.unknown, price.after.unknown) == (1, 0)
    assert price.before.instructions == (0, 0)
    assert price.after.instructions[0] > 0
    assert price.after.arena is not None
    assert price.after.flash == price.before.flash == 0


def test_each_node_is_looked_at_once_however_many_findings_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """4,096 findings went through 4,096 nodes each: a lint took twelve seconds."""
    asked: list[str] = []
    window_of_mean = mean_pool.window_of_mean

    def counting(graph: Graph, node: Node) -> tuple[int, ...]:
        asked.append(node.label)
        return window_of_mean(graph, node)

    monkeypatch.setattr(mean_pool, "window_of_mean", counting)
    chain = "\n".join(f"v{number + 1} = Erf(v{number})" for number in range(40))
    source = '<ir_version: 8, opset_import: ["" : 13]> g (float[1, 4, 6, 8] v0) => (float[1, 4, 6, 8] v40) {%s}'
    findings = [
        finding for finding in linted(text(source % chain), **CPUS).findings if finding.name == "no-entry-point"
    ]
    assert len(findings) == 40
    assert set(asked) == {finding.location.node for finding in findings}
    assert len(asked) <= 4 * 40


def test_a_size_that_shape_inference_left_open_may_be_known_after_the_fix() -> None:
    """Its inference does not follow amounts of padding that are computed; the pool and its Reshape tell all sizes."""
    source = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 4, 6] x) => (float[N, 4] y) <int64[6] pads = {0, 0, 2, 0, 0, 0}> {
    amounts = Cast<to = 7>(pads)
    a = Pad(x, amounts)
    y = ReduceMean<axes = [2], keepdims = 0>(a)
}
"""
    before = text(source)
    result, data = fixed(before, **CPUS)
    assert linted(before, **CPUS).fixable == 1
    assert data is not None, result.reason
    sizes = onnx.ModelProto.FromString(data).graph.output[0].type.tensor_type.shape.dim
    assert [size.dim_param or size.dim_value for size in sizes] == ["N", 4]
    assert operators(data)[-2:] == ["AveragePool", "Reshape"]
