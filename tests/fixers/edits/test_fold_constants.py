"""A constant behind a float layer goes into its weights where ONNX Runtime's quantizer would leave it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.quantization import CalibrationDataReader, quantize_static

from onnxlint_cmsis.analysis.verdict import WORDS
from onnxlint_cmsis.ground.findings import Effect, Finding
from support.linter import fixed, linted
from support.models import text

CPUS: dict[str, Any] = {"targets": ["cortex-m4"]}
FOLDING: dict[str, Any] = {**CPUS, "fixable": ["CNN518"]}
OPERATORS = ("BatchNormalization", "Mul", "Div", "Add", "Sub")
SHAPES = {
    "Gemm": ("1, 8", "1, 6", "8, 6"),
    "Gemm<transB = 1, alpha = 0.5>": ("1, 8", "1, 6", "6, 8"),
    "MatMul": ("1, 8", "1, 6", "8, 6"),
    "MatMul of sequences": ("1, 5, 8", "1, 5, 6", "8, 6"),
    "MatMul and Add": ("1, 8", "1, 6", "8, 6"),
    "MatMul and Add of sequences": ("1, 5, 8", "1, 5, 6", "8, 6"),
    "Conv": ("1, 8, 4, 4", "1, 6, 4, 4", "6, 8, 1, 1"),
    "Conv<group = 2>": ("1, 8, 4, 4", "1, 6, 4, 4", "6, 4, 1, 1"),
}
"""Input, output and weights of each layer."""
PAIRS = [
    (layer, operator)
    for layer in SHAPES
    for operator in OPERATORS
    if not ("sequences" in layer and operator == "BatchNormalization")
]
"""The channels of a sequence are no second axis, along which BatchNormalization works."""


def numbers(count: int, least: float, most: float) -> str:
    return ", ".join(f"{value:.3f}" for value in np.random.default_rng(count).uniform(least, most, count))


def pair(layer: str, *operators: str) -> onnx.ModelProto:
    """A layer with a bias of its own, constants behind it, and a Sigmoid at the end."""
    given, result, weights = SHAPES[layer]
    name, convolves = layer.split(" ", maxsplit=1)[0] if "MatMul" in layer else layer, layer.startswith("Conv")
    size = int(np.prod([int(number) for number in weights.split(", ")]))
    per_channel = "6, 1, 1" if convolves else "6"
    lines = [f"c0 = {name}(x, w)" if name == "MatMul" else f"c0 = {name}(x, w, b)"]
    if "and Add" in layer:
        lines = [f"m = {name}(x, w)", "c0 = Add(m, b)"]
    for index, operator in enumerate(operators):
        constants = "g, h, g, v" if operator == "BatchNormalization" else "k"
        lines.append(f"c{index + 1} = {operator}(c{index}, {constants})")
    return text(f"""
<ir_version: 8, opset_import: ["" : 17]>
g (float[{given}] x) => (float[{result}] y) <float[{weights}] w = {{{numbers(size, -1, 1)}}},
  float[6] b = {{{numbers(6, -2, 2)}}}, float[6] g = {{{numbers(6, 0.5, 2)}}}, float[6] h = {{{numbers(6, -1, 1)}}},
  float[6] v = {{{numbers(6, 0.5, 3)}}}, float[{per_channel}] k = {{{numbers(6, 1, 3)}}}> {{
    {"; ".join(lines).replace("; ", chr(10))}
    y = Sigmoid(c{len(operators)})
}}""")


def unfolded(model: onnx.ModelProto) -> list[Finding]:
    return [finding for finding in linted(model, **CPUS).findings if finding.name == "unfolded-constant"]


def operators(data: bytes) -> list[str]:
    return [node.op_type for node in onnx.ModelProto.FromString(data).graph.node]


def pre_processed(model: onnx.ModelProto, folder: Path) -> list[str]:
    """Operators that the pre-processing of ONNX Runtime's quantizer leaves."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return operators((folder / "optimized.onnx").read_bytes())


@pytest.mark.parametrize(("layer", "operator"), PAIRS)
def test_the_rule_names_what_the_quantizer_leaves(layer: str, operator: str, tmp_path: Path) -> None:
    """A Sub behind a MatMul stays too, and has no bias to go into."""
    model = pair(layer, operator)
    left = pre_processed(model, tmp_path)
    no_bias = layer in ("MatMul", "MatMul of sequences") and operator == "Sub"
    assert bool(unfolded(model)) == (operator in left and not no_bias)


@pytest.mark.parametrize(("layer", "operator"), PAIRS)
def test_the_fix_folds_it_and_outputs_stay(layer: str, operator: str) -> None:
    model = pair(layer, operator)
    result, data = fixed(model, **FOLDING)
    if not unfolded(model):
        assert data is None
        return
    assert data is not None
    assert [rewrite.repair for rewrite in result.rewrites] == ["fold-constants"]
    kept = ["MatMul", "Add"] if "and Add" in layer else [layer.split("<", maxsplit=1)[0].split(" ", maxsplit=1)[0]]
    assert operators(data) == [*kept, "Sigmoid"]
    shape = [size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim]
    values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    before, after = (
        onnxruntime.InferenceSession(side, providers=["CPUExecutionProvider"]).run(None, {"x": values})[0]
        for side in (model.SerializeToString(), data)
    )
    assert np.abs(before).max() > 0
    assert np.allclose(before, after, rtol=1e-5, atol=1e-5)


def test_several_behind_one_layer_go_one_after_the_other() -> None:
    _, data = fixed(pair("Gemm", "BatchNormalization", "Mul", "Sub"), **FOLDING)
    assert data is not None
    assert operators(data) == ["Gemm", "Sigmoid"]


def test_what_two_nodes_read_stays() -> None:
    model = pair("Gemm", "Mul")
    model.graph.output.add().CopyFrom(onnx.helper.make_tensor_value_info("c0", onnx.TensorProto.FLOAT, [1, 6]))
    assert not unfolded(model)


def test_other_numbers_than_one_for_each_channel_stay() -> None:
    model = pair("MatMul and Add of sequences", "Mul")
    constant = next(tensor for tensor in model.graph.initializer if tensor.name == "k")
    constant.CopyFrom(onnx.numpy_helper.from_array(np.ones((5, 1), np.float32), "k"))
    assert not unfolded(model)


@pytest.mark.parametrize(
    "more", [{"runtime": "tflm"}, {"assume": "f32", "release": "main"}, {"assume": "q7", "api": "legacy"}]
)
def test_other_converters_fold(more: dict[str, str]) -> None:
    findings = linted(pair("Gemm", "Mul"), **CPUS, **more).findings
    assert "unfolded-constant" not in {finding.name for finding in findings}


class _Inputs(CalibrationDataReader):
    """Four random inputs."""

    def __init__(self, shape: str) -> None:
        sizes, generator = [int(size) for size in shape.split(", ")], np.random.default_rng(0)
        self._left = iter([{"x": generator.standard_normal(sizes).astype(np.float32)} for _ in range(4)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._left, None)


@pytest.mark.parametrize(("layer", "names"), [("Gemm", "--fix of the float model"), ("Conv", "quant_pre_process")])
def test_a_quantized_normalization_is_told_what_folds_it(layer: str, names: str, tmp_path: Path) -> None:
    path = tmp_path / "quantized.onnx"
    model = pair(layer, "BatchNormalization")
    quantize_static(model, path, _Inputs(SHAPES[layer][0]))
    remedies = {said.location.node.split("#")[0]: said.remedy for said in linted(path.read_bytes(), **CPUS).findings}
    assert names in remedies["BatchNormalization"]


def test_a_folded_model_runs_once_it_is_quantized(tmp_path: Path) -> None:
    model, path = pair("MatMul and Add", "BatchNormalization"), tmp_path / "quantized.onnx"
    _, data = fixed(model, **FOLDING)
    for side, effect in ((model.SerializeToString(), Effect.NO_KERNEL), (data, Effect.REFERENCE)):
        quantize_static(onnx.ModelProto.FromString(side), path, _Inputs("1, 8"))
        (verdict,) = linted(path.read_bytes(), **CPUS).verdicts
        assert verdict.word == WORDS[effect]
