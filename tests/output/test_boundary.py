"""Inputs and outputs: what the device holds in every runtime, and C that converts as the operators do."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import numpy_helper

from onnxlint_cmsis.analysis.boundary_tensor import BoundaryTensor, Conversion, Ties
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.output.boundary_text import boundary_in_c
from onnxlint_cmsis.output.layers import LayersReport
from support import paths
from support.goldens import Told
from support.linter import layered
from support.models import text
from support.tflite_models import conv_model, one_operator, tensor
from support.tflite_writer import write
from support.third_party_models import needs_models

QDQ = """
    <float s = {0.5}, uint8 z = {3}, float t = {0.25}, uint8 u = {130}, float[8, 3, 3, 3] w = {0.1}, float e = {0.1},
     int8 o = {0}> {
        a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z)
        c = QuantizeLinear(w, e, o) d = DequantizeLinear(c, e, o)
        f = Conv<kernel_shape = [3, 3]>(b, d)
        g = QuantizeLinear(f, t, u) y = DequantizeLinear(g, t, u)
    }
"""
HEAD = '<ir_version: 8, opset_import: ["" : 13]> g (float[1, 3, 6, 8] x) => (float[1, 8, 4, 6] y)'


def only(report: LayersReport, role: str) -> BoundaryTensor:
    (row,) = (row for row in report.boundary if row.role == role)
    return row


def test_an_application_quantizes_at_the_edge_of_an_onnx_model() -> None:
    report = layered(text(HEAD + QDQ), targets=["cortex-m4"])
    x, y = only(report, "input"), only(report, "output")
    assert (x.elem_type, x.shape, x.layout, x.file_type) == ("int8", (1, 6, 8, 3), "NHWC", "float32")
    assert (x.conversion, x.scale, x.zero_point, x.ties) == (Conversion.APPLICATION, 0.5, -125, Ties.EVEN)
    assert x.formula == "q = round(x / 0.5) - 125"
    assert x.real_bounds == (-1.5, 126.0)
    assert (y.shape, y.layout, y.zero_point, y.formula) == ((1, 4, 6, 8), "NHWC", 2, "x = 0.25 * (q - 2)")


def test_a_converter_decides_where_a_runtime_reads_another_file() -> None:
    x = only(layered(text(HEAD + QDQ), targets=["cortex-m4"], runtime="tflm"), "input")
    assert (x.conversion, x.elem_type, x.integers, x.shape) == (Conversion.CONVERTER, "float32", "uint8", (1, 3, 6, 8))
    assert (x.scale, x.zero_point, x.layout) == (0.5, 3, "")


@pytest.mark.parametrize(("assume", "kind"), [("s8", "int8"), ("s16", "int16")])
def test_what_quantizes_a_float_model_decides_on_its_numbers(assume: str, kind: str) -> None:
    model = text(HEAD + "<float[8, 3, 3, 3] w = {0.1}> { y = Conv<kernel_shape = [3, 3]>(x, w) }")
    x = only(layered(model, targets=["cortex-m4"], assume=assume), "input")
    assert (x.conversion, x.elem_type, x.scale) == (Conversion.QUANTIZER, kind, None)
    assert (x.shape, x.layout) == ((1, 6, 8, 3), "NHWC")


def test_floats_that_are_whole_numbers_are_used_as_they_are(told: Told) -> None:
    """Tools for DORY and Deeploy store integers so: nothing quantizes such a model any more."""
    model = text(HEAD + "{ y = Conv<kernel_shape = [3, 3]>(x, w) }")
    weights = np.arange(-108, 108, dtype=np.float32).reshape(8, 3, 3, 3)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    report = layered(model, targets=["cortex-m4"])
    x = only(report, "input")
    assert (x.conversion, x.elem_type, x.file_type, x.scale) == (Conversion.NONE, "int8", "float32", None)
    told(row.text for row in report.boundary)


def test_an_input_that_is_no_image_keeps_the_order_of_the_file() -> None:
    head = '<ir_version: 8, opset_import: ["" : 13]>'
    ends = "g (float[2, 1, 128] x, int64[4] i) => (float[2, 1, 128] y, int64[4] j)"
    report = layered(text(head + ends + "{ y = Add(x, x) j = Identity(i) }"), targets=["cortex-m4"])
    assert [(row.elem_type, row.shape, row.layout) for row in report.boundary] == [
        ("int8", (2, 1, 128), ""), ("int64", (4,), ""), ("int8", (2, 1, 128), ""), ("int64", (4,), ""),
    ]  # fmt: skip


def test_an_operand_lies_as_the_convolution_beside_it_does() -> None:
    head = (
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1, 3, 6, 8] x, float[1, 8, 4, 6] r) => (float[1, 8, 4, 6] y)'
    )
    model = text(head + "<float[8, 3, 3, 3] w = {0.1}> { c = Conv<kernel_shape = [3, 3]>(x, w) y = Add(c, r) }")
    shapes = {row.name: row.shape for row in layered(model, targets=["cortex-m4"]).boundary}
    assert shapes == {"x": (1, 6, 8, 3), "r": (1, 4, 6, 8), "y": (1, 4, 6, 8)}


def test_an_input_that_is_quantized_twice_has_two_rows() -> None:
    head = '<ir_version: 8, opset_import: ["" : 13]> g (float[1, 8] x) => (int8[1, 8] y, int8[1, 8] v)'
    body = (
        "<float s = {0.5}, float t = {0.25}, int8 z = {0}> { y = QuantizeLinear(x, s, z) v = QuantizeLinear(x, t, z) }"
    )
    report = layered(text(head + body), targets=["cortex-m4"])
    assert [row.scale for row in report.boundary if row.role == "input"] == [0.5, 0.25]


def test_a_tflite_file_is_held_as_it_is() -> None:
    report = layered(write(conv_model()), "m.tflite", targets=["cortex-m4"])
    x = only(report, "input")
    assert (x.elem_type, x.shape, x.layout) == ("int8", (1, 5, 5, 8), "NHWC")
    assert (x.conversion, x.scale, x.zero_point, x.ties) == (Conversion.APPLICATION, 0.5, 0, Ties.AWAY)


def quantize_model(scale: float, zero: int, kind: str, size: int = 4) -> dict[str, Any]:
    numbers = {"scale": [scale], "zero_point": [zero]}
    output = {**tensor("y", [1, size]), "type": kind.upper(), "quantization": numbers}
    return one_operator("QUANTIZE", [{**tensor("x", [1, size], scale=None), "type": "FLOAT32"}, output])


def test_the_model_quantizes_where_a_tflite_file_begins_with_quantize() -> None:
    x = only(layered(write(quantize_model(0.5, -3, "int8")), "m.tflite", targets=["cortex-m4"]), "input")
    assert (x.elem_type, x.conversion, x.integers, x.node) == ("float32", Conversion.MODEL, "int8", "QUANTIZE#0")
    assert (x.formula, x.ties) == ("q = round(x / 0.5) - 3", Ties.AWAY)


def test_json_has_inputs_and_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(write(conv_model()))
    assert main(["layers", "--isolated", "--target", "cortex-m4", "--output-format", "json", str(path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["inputs"] == [
        {
            "name": "x", "type": "int8", "shape": [1, 5, 5, 8], "layout": "NHWC", "file_type": "int8",
            "file_shape": [1, 5, 5, 8], "converted_by": "application", "node": "", "integers": "int8", "scale": 0.5,
            "zero_point": 0, "real_range": [-64.0, 63.5], "formula": "q = round(x / 0.5)", "ties": "away from zero",
        }
    ]  # fmt: skip
    assert [output["formula"] for output in told["outputs"]] == ["x = 0.5 * q"]


def test_a_header_is_of_one_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(write(conv_model()))
    assert main(["layers", "--isolated", "--output-format", "c", str(path), str(path)]) == 2
    assert "name one FILE" in capsys.readouterr().err


TYPES = ("int8", "uint8", "int16")
SCALES = st.floats(2.0**-20, 2.0**10, width=32)
HOSTILE = ("*/ int main", "a\\\nb", "9 lives", "é", "", "??/", 'x" y', "int")


def compiled(command: str, header: str, folder: Path, *options: str) -> Path:
    """A translation unit that makes every function of the header visible, compiled."""
    if not shutil.which(command):
        pytest.skip(f"{command} is not on the PATH")
    source, object_file = folder / "ends.c", folder / "ends.o"
    source.write_text(header.replace("static inline ", ""), encoding="ascii")
    subprocess.run(
        [command, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *options, source, "-o", object_file],
        check=True, capture_output=True,
    )  # fmt: skip
    return object_file


def rows(*numbers: tuple[str, float, int], ties: Ties = Ties.EVEN) -> LayersReport:
    """A report of nothing but inputs and outputs with these types, scales and zero-points."""
    ends = [
        BoundaryTensor(role, "x", kind, (4,), conversion=Conversion.APPLICATION, integers=kind, scale=scale,
                       zero_point=zero, ties=ties)
        for role in ("input", "output") for kind, scale, zero in numbers
    ]  # fmt: skip
    return LayersReport((), [], {}, boundary=tuple(ends))


@pytest.mark.parametrize("command", ["arm-none-eabi-gcc", "cc"])
def test_the_header_compiles_whatever_the_names(command: str, tmp_path: Path) -> None:
    ends = [row._replace(name=name) for name in HOSTILE for row in rows(("int8", 1.0, -3), ("int16", 3e-5, 0)).boundary]
    header = boundary_in_c(LayersReport((), [], {}, boundary=tuple(ends)), "*/ hostile\n.onnx")
    assert header.isascii()
    assert header.count("*/") == header.count("/*")
    arm = ["-mcpu=cortex-m4", "-mthumb"] if command.startswith("arm") else []
    assert compiled(command, header, tmp_path, "-c", *arm).stat().st_size


@needs_models
def test_the_header_of_a_whole_model_compiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("vww96_int8_tf.onnx", "tflite/blazeface_front_128.tflite"):
        model = str(paths.SHARED / "models" / name)
        assert main(["layers", "--isolated", "--target", "cortex-m4", "--output-format", "c", model]) == 0
        header = capsys.readouterr().out
        assert re.search(r"enum \{ input_0_\w+_size = \d+ \};", header)
        compiled("arm-none-eabi-gcc", header, tmp_path, "-c", "-mcpu=cortex-m55", "-mthumb")


def values_of(kind: str, scale: float, zero: int, seed: int) -> np.ndarray:
    """Numbers inside the range and far outside it; ties; neighbours of ties; both zeros and infinities."""
    rng = np.random.default_rng(seed)
    limits = np.iinfo(kind)
    steps = np.concatenate(
        [
            rng.integers(limits.min - zero - 9, limits.max - zero + 9, 200) + 0.5,
            rng.uniform(limits.min - zero - 9, limits.max - zero + 9, 200),
            [0.0, -0.0, 1e6, -1e6, 0.5, -0.5, 1.5, -1.5, 2.5],
        ]
    )
    numbers = (steps * scale).astype(np.float32)
    around = [np.nextafter(numbers, np.float32(side)) for side in (-np.inf, np.inf)]
    return np.concatenate([numbers, *around])


def called(library: ctypes.CDLL, function: str, kind: str, numbers: np.ndarray) -> np.ndarray:
    c_type = getattr(ctypes, f"c_{kind}")
    convert = getattr(library, function)
    if function.endswith("_quantize"):
        convert.argtypes, convert.restype = [ctypes.c_float], c_type
        return np.array([convert(float(number)) for number in numbers], kind)
    convert.argtypes, convert.restype = [c_type], ctypes.c_float
    return np.array([convert(int(number)) for number in numbers], np.float32)


def zero_point(kind: str, seed: int) -> int:
    limits = np.iinfo(kind)
    return 0 if kind == "int16" else int(np.random.default_rng(seed).integers(limits.min, limits.max + 1))


@given(scales=st.lists(SCALES, min_size=3, max_size=3), seed=st.integers(0, 2**31))
@settings(max_examples=12, deadline=None)
def test_the_header_computes_what_onnx_does(
    scales: list[float], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    numbers = [(kind, scale, zero_point(kind, seed)) for kind, scale in zip(TYPES, scales, strict=True)]
    header = boundary_in_c(rows(*numbers), "m.onnx")
    library = ctypes.CDLL(str(compiled("cc", header, tmp_path_factory.mktemp("c"), "-shared", "-fPIC", "-lm", "-O2")))
    for index, (kind, scale, zero) in enumerate(numbers):
        body = f"""<ir_version: 10, opset_import: ["" : 21]> g (float[N] x, {kind}[M] q) => ({kind}[N] y, float[M] r)
            <float s = {{{scale!r}}}, {kind} z = {{{zero}}}>
            {{ y = QuantizeLinear(x, s, z) r = DequantizeLinear(q, s, z) }}"""
        session = onnxruntime.InferenceSession(text(body).SerializeToString(), providers=["CPUExecutionProvider"])
        reals = np.concatenate([values_of(kind, scale, zero, seed), np.float32([np.inf, -np.inf])])
        integers = np.arange(np.iinfo(kind).min, np.iinfo(kind).max + 1, 1 if kind != "int16" else 97).astype(kind)
        quantized, dequantized = session.run(None, {"x": reals, "q": integers})
        assert (called(library, f"input_{index}_x_quantize", kind, reals) == quantized).all(), (kind, scale, zero)
        assert (called(library, f"output_{index}_x_dequantize", kind, integers) == dequantized).all()


@given(scale=SCALES, seed=st.integers(0, 2**31), kind=st.sampled_from(["int8", "int16"]))
@settings(max_examples=12, deadline=None)
def test_the_header_computes_what_tensorflow_lite_micro_does(
    scale: float, seed: int, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    runtime = pytest.importorskip("tflite_micro", reason="the wheel tflite-micro is not installed").runtime
    zero = zero_point(kind, seed)
    header = boundary_in_c(rows((kind, scale, zero), ties=Ties.AWAY), "m.tflite")
    library = ctypes.CDLL(str(compiled("cc", header, tmp_path_factory.mktemp("c"), "-shared", "-fPIC", "-lm", "-O2")))
    reals = values_of(kind, scale, zero, seed)
    interpreter = runtime.Interpreter.from_bytes(
        write(quantize_model(scale, zero, kind, reals.size)), arena_size=1 << 20
    )
    interpreter.set_input(reals[None], 0)
    interpreter.invoke()
    assert (called(library, "input_0_x_quantize", kind, reals) == interpreter.get_output(0)[0]).all()


def test_ties_differ_between_onnx_and_tensorflow_lite_micro(tmp_path: Path) -> None:
    results = {}
    for ties in Ties:
        folder = tmp_path / ties.name
        folder.mkdir()
        header = boundary_in_c(rows(("int8", 1.0, 0), ties=ties), "m.onnx")
        library = ctypes.CDLL(str(compiled("cc", header, folder, "-shared", "-fPIC", "-lm")))
        results[ties] = called(library, "input_0_x_quantize", "int8", np.float32([0.5, 1.5, -2.5])).tolist()
    assert results == {Ties.EVEN: [0, 2, -2], Ties.AWAY: [1, 2, -3]}


def test_a_damaged_zero_point_of_floats_gives_no_numbers() -> None:
    damaged = (HEAD + QDQ).replace("g = QuantizeLinear(f, t, u) y = DequantizeLinear(g, t, u)", "y = Relu(f)")
    damaged = damaged.replace("a = QuantizeLinear(x, s, z)", "a = QuantizeLinear(x, s, s)")
    x = only(layered(text(damaged), targets=["cortex-m4"]), "input")
    assert (x.conversion, x.integers, x.scale, x.formula) == (Conversion.APPLICATION, "", None, "")


def test_a_damaged_conversion_without_operands_is_no_error() -> None:
    model = one_operator("QUANTIZE", [tensor("x", [1, 8], type="FLOAT32", scale=None), tensor("y", [1, 8])])
    model["subgraphs"][0]["operators"][0]["outputs"] = []
    x = only(layered(write(model), targets=["cortex-m4"], name="model.tflite"), "input")
    assert (x.elem_type, x.integers, x.scale) == ("float32", "", None)
