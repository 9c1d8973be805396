"""A small float network, quantized by ONNX Runtime, and what the rules of quantization say of the result."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper, parser
from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic, quantize_static

from onnxlint_cmsis.checks.run_checks import model_findings
from onnxlint_cmsis.ground.findings import Finding
from support.linter import analysed

M4 = {"targets": ["cortex-m4"], "release": "7.0.0"}
"""One target, for which the findings do not depend on the release."""
NETWORK = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 3, 8, 8] x) => (float[1, 5] probabilities) {
    a = Conv<pads = [1, 1, 1, 1]>(x, w1, b1)
    r = Relu(a)
    c = Conv<pads = [1, 1, 1, 1]>(r, w2, b2)
    d = Concat<axis = 1>(r, c)
    p = GlobalAveragePool(d)
    f = Flatten(p)
    h = Gemm(f, w3, b3)
    probabilities = Softmax<axis = 1>(h)
}
"""
WEIGHTS = {"w1": (4, 3, 3, 3), "b1": (4,), "w2": (4, 4, 3, 3), "b2": (4,), "w3": (8, 5), "b3": (5,)}

JOINED = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 3, 8, 8] x) => (float[1, 4, 8, 8] y) {
    c = Conv<pads = [1, 1, 1, 1]>(x, w1)
    r = Relu(c)
    e = Conv<pads = [1, 1, 1, 1]>(r, w2)
    k = Concat<axis = 1>(r, e)
    a = Conv(k, w3)
    m = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(a)
    n = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(e)
    j = Concat<axis = 1>(a, m, n)
    h = Concat<axis = 1>(j, k)
    y = Conv(h, w4)
}
"""
"""Pools and Concats that read what others of them read or write."""
JOINED_WEIGHTS = {"w1": (4, 3, 3, 3), "w2": (4, 4, 3, 3), "w3": (4, 8, 1, 1), "w4": (4, 20, 1, 1)}

RESHAPED = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 3, 8, 8] x) => (float[1, 4, 8, 8] y) <int64[4] sizes = {1, 8, 4, 8}> {
    a = Conv<pads = [1, 1, 1, 1]>(x, w1)
    t = Transpose<perm = [0, 1, 3, 2]>(a)
    r = Reshape(t, sizes)
    c = Conv<pads = [1, 1, 1, 1], strides = [2, 1]>(x, w2)
    k = Concat<axis = 1>(r, c)
    y = ConvTranspose<strides = [2, 1]>(k, w3)
}
"""
"""A Concat that reads a convolution through operators that move its elements."""
RESHAPED_WEIGHTS = {"w1": (4, 3, 3, 3), "w2": (4, 3, 3, 3), "w3": (12, 4, 2, 1)}


class _Inputs(CalibrationDataReader):
    """Four random inputs."""

    def __init__(self) -> None:
        generator = np.random.default_rng(0)
        self._left = iter([{"x": generator.standard_normal((1, 3, 8, 8)).astype(np.float32)} for _ in range(4)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._left, None)


def network() -> onnx.ModelProto:
    """Two convolutions joined by a Concat, average pooling, a dense layer, Softmax; weights are not symmetric."""
    model = _with_weights(NETWORK, WEIGHTS)
    model.graph.node[2].name = "second"
    return model


def joined() -> onnx.ModelProto:
    """The network of pools and Concats."""
    return _with_weights(JOINED, JOINED_WEIGHTS)


def reshaped() -> onnx.ModelProto:
    """The network of a Concat behind operators that move elements."""
    return _with_weights(RESHAPED, RESHAPED_WEIGHTS)


def _with_weights(source: str, weights: dict[str, tuple[int, ...]]) -> onnx.ModelProto:
    model = parser.parse_model(source)
    generator = np.random.default_rng(1)
    for name, shape in weights.items():
        values = generator.standard_normal(shape) / math.sqrt(math.prod(shape[1:])) + 0.1
        model.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), name))
    return model


def quantized(folder: Path, model: onnx.ModelProto | None = None, **options: object) -> list[Finding]:
    """What the rules of quantization say of a network as ONNX Runtime quantizes it with some options."""
    path = folder / "quantized.onnx"
    quantize_static(model or network(), path, _Inputs(), **options)
    return findings(str(path))


def quantized_dynamically(folder: Path) -> list[Finding]:
    """The same for dynamic quantization."""
    path = folder / "quantized.onnx"
    quantize_dynamic(network(), path)
    return findings(str(path))


def findings(path: str) -> list[Finding]:
    """Findings of the rules of quantization on a file."""
    model = analysed(path, **M4)
    return [finding for finding in model_findings(model, model.lowered) if finding.code.startswith("CNN5")]


def levels(findings: list[Finding]) -> dict[str, str]:
    """Each code with its highest level."""
    highest = {
        finding.code: max(other.level for other in findings if other.code == finding.code) for finding in findings
    }
    return {code: level.name.lower() for code, level in sorted(highest.items())}
