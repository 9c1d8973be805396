"""CNN512 on scales that nobody can compute with, and on those that tell a calibration on zeros."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.ground.findings import Effect, Finding
from onnxlint_cmsis.ground.types import Level
from support.linter import linted
from support.paths import SHARED
from support.tflite_models import conv_model
from support.tflite_writer import write

CONVERTER_INT8 = float(np.float32(2e-6) / np.float32(255))
CONVERTER_INT16 = float(np.finfo(np.float32).smallest_normal / np.float32(32767))
HOSTILE = (
    ([float("inf")], [0], "scale inf; scales are finite and above 0"),
    ([float("-inf")], [0], "scale -inf; scales are finite and above 0"),
    ([float("nan")], [0], "scale nan; scales are finite and above 0"),
    ([0.0], [0], "scale 0; scales are finite and above 0"),
    ([-0.5], [0], "scale -0.5; scales are finite and above 0"),
    ([0.5], [128], "zero-point 128; int8 holds -128 to 127"),
    ([0.5], [-(2**40)], "zero-point -1099511627776; int8 holds -128 to 127"),
    ([0.5], [], "a scale and no zero-point; TensorFlow Lite Micro takes it as not quantized"),
)
"""Scales and zero-points of a result, and what is said of them."""


def convolution(scales: list[float], zero_points: list[int], elem_type: str = "INT8", index: int = 2) -> bytes:
    model = conv_model()
    tensor = model["subgraphs"][0]["tensors"][index]
    tensor["type"] = elem_type
    tensor["quantization"] = {"scale": scales, "zero_point": zero_points}
    return write(model)


def zero_scales(data: bytes, name: str = "m.tflite") -> list[Finding]:
    result = linted(data, name, targets=["cortex-m4"])
    assert not result.error
    return [finding for finding in result.findings if finding.code == "CNN512"]


@pytest.mark.parametrize(("scales", "zero_points", "text"), HOSTILE)
@pytest.mark.parametrize("index", [0, 2])
def test_what_cannot_be_computed_with_is_told_by_tensor(scales, zero_points, text, index):
    (finding,) = zero_scales(convolution(scales, zero_points, index=index))
    assert text in finding.text
    assert finding.location.tensor == "xwy"[index]
    assert finding.level is (Level.WARNING if "no zero-point" in text else Level.ERROR)


def onnx_zero_point(kind: str, zero: int, where: str) -> onnx.ModelProto:
    """A convolution, with a zero-point that its type does not hold, as only 32 bits of `int32_data` can state it."""
    bits = 21 if kind == "int16" else 17
    model = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["" : {bits}]>
        g ({kind}[1, 4, 8, 8] x) => ({kind}[1, 4, 8, 8] y)
        <float s = {{0.1}}, {kind} xz = {{0}}, {kind} yz = {{0}}, int8 wz = {{0}}> {{
            a = DequantizeLinear(x, s, xz)
            b = DequantizeLinear(w, s, wz)
            c = Conv(a, b)
            y = QuantizeLinear(c, s, yz)
        }}"""
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((4, 4, 1, 1), np.int8), "w"))
    (stored,) = (tensor for tensor in model.graph.initializer if tensor.name == where)
    stored.int32_data[:] = [zero]
    return model


@pytest.mark.parametrize(
    ("kind", "zero", "where", "text"),
    [
        ("int8", -72790, "xz", "a zero-point of its quantization is -72790; int8 holds -128 to 127"),
        ("int8", 128, "yz", "a zero-point of its quantization is 128; int8 holds -128 to 127"),
        ("int8", 200, "wz", "a zero-point of its quantization is 200; int8 holds -128 to 127"),
        ("uint8", -1, "xz", "a zero-point of its quantization is -1; uint8 holds 0 to 255"),
        ("int16", 32768, "xz", "a zero-point of its quantization is 32768; int16 holds -32768 to 32767"),
    ],
)
def test_a_zero_point_that_its_type_does_not_hold_is_an_error_of_a_model(kind, zero, where, text):
    (finding,) = zero_scales(onnx_zero_point(kind, zero, where).SerializeToString(), "m.onnx")
    assert text in finding.text
    assert finding.level is Level.ERROR


@pytest.mark.parametrize("zero", [-128, 127])
def test_a_zero_point_that_its_type_holds_is_none(zero):
    assert not zero_scales(onnx_zero_point("int8", zero, "xz").SerializeToString(), "m.onnx")


PROGRAM = SHARED / "cases" / "users" / "mobse_M4.pte"


@pytest.mark.skipif(not PROGRAM.exists(), reason="needs a program in a folder `shared`")
@pytest.mark.parametrize(("cpu", "effect"), [("cortex-m4", Effect.WRONG), ("cortex-m55", Effect.MAY_FAIL)])
def test_a_zero_point_that_a_program_states_is_held_against_its_type(cpu, effect):
    told = [finding for finding in linted(PROGRAM, targets=[cpu]).findings if finding.code == "CNN512"]
    (wide,) = (finding for finding in told if "-72790" in finding.text)
    (short,) = (finding for finding in told if "-160" in finding.text)
    assert (wide.level, wide.effect) == (Level.ERROR, effect)
    assert short.level is Level.WARNING


@pytest.mark.parametrize("elem_type", ["INT8", "INT16"])
@pytest.mark.parametrize("scale", [float("inf"), float("nan"), 0.0, -1.0, 1e-45])
@pytest.mark.parametrize(
    "command", [(), ("layers",), ("memory",), ("widths",), ("report", "-o", "page.html"), ("--diff",)]
)
def test_no_command_breaks_on_such_a_scale(tmp_path, monkeypatch, capsys, elem_type, scale, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.tflite").write_bytes(convolution([scale], [0], elem_type))
    code = main([*command, "m.tflite", "--target", "cortex-m4"])
    said = capsys.readouterr()
    assert code in (0, 1), said.err
    assert "internal error" not in said.out + said.err


def test_int16_with_an_infinite_scale_is_a_model():
    result = linted(convolution([float("inf")], [0], "INT16"), "m.tflite", targets=["cortex-m4"])
    codes = {finding.code for finding in result.findings}
    assert "CNN512" in codes
    assert "CNN002" not in codes


@pytest.mark.parametrize(
    ("elem_type", "scale", "zero_point", "quantizer"),
    [
        ("INT8", CONVERTER_INT8, 0, "TensorFlow's converter"),
        ("UINT8", CONVERTER_INT8, 128, "TensorFlow's converter"),
        ("INT16", CONVERTER_INT16, 0, "TensorFlow's converter"),
        ("INT8", float(np.float32(1e-9) / np.float32(255)), -128, "AI Edge Quantizer"),
        ("INT8", float(np.float32(1e-9) / np.float32(127)), 0, "AI Edge Quantizer"),
        ("INT16", float(np.float32(1e-9) / np.float32(32767)), 0, "AI Edge Quantizer"),
    ],
)
def test_a_tensor_that_was_always_zero_is_told_by_the_scale_of_its_quantizer(
    elem_type, scale, zero_point, quantizer, told
):
    (finding,) = zero_scales(convolution([scale], [zero_point], elem_type))
    told(finding.text)
    assert quantizer in finding.text
    told(finding.text)
    assert finding.level is Level.ERROR


def test_a_tensor_inside_that_was_always_zero_is_a_warning(told):
    (finding,) = zero_scales(convolution([CONVERTER_INT8], [0], index=0))
    told(finding.text)
    assert "comes out" not in finding.text
    assert finding.level is Level.WARNING


@pytest.mark.parametrize(
    ("elem_type", "scale", "zero_point"),
    [
        ("INT8", CONVERTER_INT8 * 1.001, 0),
        ("INT8", CONVERTER_INT8, -7),
        ("INT16", CONVERTER_INT8, 0),
        ("INT16", 2.0**-140, 0),
        ("INT8", 1.0, 0),
    ],
)
def test_a_scale_close_by_says_nothing_of_zeros(elem_type, scale, zero_point):
    assert not [
        finding
        for finding in zero_scales(convolution([scale], [zero_point], elem_type))
        if "always zero" in finding.text
    ]


class Images(CalibrationDataReader):
    """Some images of one value each, or of noise."""

    def __init__(self, data: list[np.ndarray]) -> None:
        self.left = [{"x": image} for image in data]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantized(tmp_path, data: list[np.ndarray], **options: object) -> bytes:
    rng = np.random.default_rng(3)
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1, 3, 8, 8] x) => (float[1, 4, 6, 6] y)'
        " { a = Conv(x, w)\n y = Relu(a) }"
    )
    weights = rng.normal(size=(4, 3, 3, 3)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, tmp_path / "float.onnx")
    quantize_static(tmp_path / "float.onnx", tmp_path / "q.onnx", Images(data), **options)
    return (tmp_path / "q.onnx").read_bytes()


@pytest.mark.parametrize("elem_type", [QuantType.QInt8, QuantType.QInt16])
def test_onnx_runtime_on_zeros_leaves_scale_1(tmp_path, elem_type, told):
    zeros = [np.zeros((1, 3, 8, 8), np.float32)] * 3
    (finding,) = zero_scales(quantized(tmp_path, zeros, activation_type=elem_type), "q.onnx")
    told(finding.text)
    assert finding.level is Level.WARNING


def test_onnx_runtime_on_images_of_whole_numbers_is_no_calibration_on_zeros(tmp_path):
    """Inputs of -128 to 127 have scale 1 and zero-point 0 as zeros have; what weights make of them has not."""
    rng = np.random.default_rng(5)
    images = [rng.integers(-128, 128, (1, 3, 8, 8)).astype(np.float32) for _ in range(4)]
    assert not zero_scales(quantized(tmp_path, images, activation_type=QuantType.QInt8), "q.onnx")
