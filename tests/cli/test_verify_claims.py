"""The claim of `verify` names the runtimes for which it holds, and a layer that one computes wrongly."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from onnxlint_cmsis.cli.main import main
from support import models
from support.goldens import Told
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write
from support.wide_sums import OPTIONS, wide_sum

CHAIN = (
    '<ir_version: 8, opset_import: ["" : 13]> g (int8[1, 4] x) => (int8[1, 4] y, int8[1, 4] z) '
    "<float s = {0.1}, float t = {0.3}, int8 o = {0}> "
    "{ r = DequantizeLinear(x, s, o) p = Relu(r) MORE y = QuantizeLinear(q, t, o) "
    "n = Neg(x) z = Transpose<perm = [0, 1]>(n) }"
)


def test_the_claim_names_the_runtimes_for_which_it_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    """`y` is a rounded sum, whose operands changed places; `z` is the same in any runtime."""
    files = [tmp_path / name for name in ("old.onnx", "new.onnx")]
    for file, more in zip(files, ("q = Add(r, p)", "q = Add(p, r)"), strict=True):
        onnx.save(models.text(CHAIN.replace("MORE", more)), file)
    assert main(["verify", *map(str, files), "--output-format", "json"]) == 0
    outputs = json.loads(capsys.readouterr().out)["outputs"]
    assert {output["name"]: output["runtimes"] for output in outputs} == {
        "y": "TensorFlow Lite Micro and CMSIS-NN", "z": "any",
    }  # fmt: skip
    assert main(["verify", *map(str, files)]) == 0
    told(capsys.readouterr().out)


def test_the_claim_about_floats_names_no_integers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    """Log and Transpose change places: ONNX Runtime makes another last bit of some elements."""
    files = [tmp_path / name for name in ("old.onnx", "new.onnx")]
    for file, steps in zip(files, ("t = Log(x) y = Transpose(t)", "t = Transpose(x) y = Log(t)"), strict=True):
        head = '<ir_version: 8, opset_import: ["" : 17]> g (float[5, 7] x) => (float[7, 5] y)'
        onnx.save(models.text(f"{head} {{ {steps} }}"), file)
    assert main(["verify", *map(str, files)]) == 0
    text = capsys.readouterr().out
    assert "equal for every input in TensorFlow Lite Micro and CMSIS-NN\n" in text
    told(text)


@pytest.mark.parametrize(
    ("op", "more"), [*((op, "") for op in OPTIONS), *((op, "INT32") for op in OPTIONS if "DEPTH" not in op)]
)
def test_a_short_bias_is_said_where_litert_reads_past_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told, op: str, more: str
) -> None:
    files = [tmp_path / name for name in ("old.tflite", "new.tflite")]
    files[0].write_bytes(wide_sum(op, more))
    files[1].write_bytes(wide_sum(op, more) + bytes(4))
    assert main(["verify", *map(str, files), "--output-format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    litert = op != "DEPTHWISE_CONV_2D" and not more
    device = op in ("DEPTHWISE_CONV_2D", "TRANSPOSE_CONV")
    assert report["outputs"][0]["runtimes"] == {
        (True, False): "TensorFlow Lite Micro and CMSIS-NN", (False, False): "any",
        (True, True): "TensorFlow Lite's specification", (False, True): "any but TensorFlow Lite Micro",
    }[litert, device]  # fmt: skip
    assert [("past its end" in note) for note in report["notes"]] == [True] * (litert + device)
    if litert or device:
        assert main(["verify", *map(str, files)]) == 0
        told(capsys.readouterr().out)


def compared(op: str, *types: str, rank: int = 4) -> bytes:
    """A comparison of inputs of two types."""
    ends = [tensor(name, [2] * rank, type=kind) for name, kind in zip("xz", types, strict=True)]
    return write(one_operator(op, [*ends, tensor("y", [2] * rank, scale=None, type="BOOL")]))


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (compared("GREATER_EQUAL", "INT32", "INT8"), True), (compared("LESS", "INT8", "INT8"), False),
        (compared("GREATER", "INT16", "INT16"), True), (compared("LOGICAL_OR", "BOOL", "BOOL"), False),
    ],
)  # fmt: skip
def test_a_layer_that_the_device_computes_wrongly_is_said(
    data: bytes, wrong: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    files = [tmp_path / name for name in ("old.tflite", "new.tflite")]
    files[0].write_bytes(data)
    files[1].write_bytes(data + bytes(4))
    assert main(["verify", *map(str, files), "--output-format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["outputs"][0]["runtimes"] == ("any but TensorFlow Lite Micro" if wrong else "any")
    assert len(report["notes"]) == wrong
    if wrong:
        assert main(["verify", *map(str, files)]) == 0
        told(capsys.readouterr().out)
