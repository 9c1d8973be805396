"""What one runtime computes otherwise than another is not equal."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from onnxlint_cmsis.analysis.certificate.verifying import faults_elsewhere, verify
from onnxlint_cmsis.formats.format import ONNX, TFLITE, format_of
from support import models, paths
from support.proofs import prove
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

TOLD_APART = (
    "clip_i64_min", "clip_int64", "conv_vs_fc_INT16_int32", "conv_vs_fc_INT8_int32", "cross_format_max",
    "equal_scales_MUL", "fc_weight_zero_INT8_channel", "q23_scale16", "qgemm_no_zero_cast", "qgemm_no_zero_untyped",
    "quantize_precision", "quantize_scale_float16", "relu_vs_quantize",
)  # fmt: skip
"""Folders of pairs that some runtime tells apart."""


@pytest.mark.parametrize("name", TOLD_APART)
def test_pairs_that_a_runtime_tells_apart_are_not_equal(name: str) -> None:
    folder = paths.SHARED / "cases" / "verify" / name
    if not folder.is_dir():
        pytest.skip("needs the shared cases")
    old, new = (next(folder.glob(f"{side}.*")) for side in "ab")
    assert not verify(*(format_of(path.name).load(str(path)) for path in (old, new))).equal


def rescaled(op: str, scales: tuple[float, float]) -> bytes:
    """All integers of 8 bits in another scale, the least of which is 0."""
    ends = [tensor(name, [1, 256], scale=(scale,)) for name, scale in zip("xy", scales, strict=True)]
    for end in ends:
        end["quantization"]["zero_point"] = [-128]
    return write(one_operator(op, ends, ("QuantizeOptions", {}) if op == "QUANTIZE" else None))


SCALES = [(0.6861367225646973, 0.6550770401954651), (1.6224769353866577, 0.8374074697494507)]
"""Their quotient rounds to other multipliers in float32 and float64."""


@pytest.mark.parametrize("scales", [*SCALES, (0.5, 0.25), (0.75, 0.5)], ids=str)
def test_kernels_that_divide_scales_in_another_precision_are_two(scales: tuple[float, float]) -> None:
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    files = [rescaled(op, scales) for op in ("RELU", "QUANTIZE")]
    runs = prove(*files, beside=Path("m.tflite"), inputs=range(20))
    equal = verify(*(TFLITE.load("m.tflite", file) for file in files)).equal
    assert equal == runs.equal == (scales not in SCALES)


@pytest.mark.parametrize("op", ["MUL", "ADD"])
def test_equal_scales_for_each_channel_are_not_one(op: str) -> None:
    """LiteRT's kernels read the scale 0 where there are several, those of the device the first."""

    def model(*scales: float) -> bytes:
        held = tensor("w", [1, 4], buffer=1, scale=scales)
        held["quantization"]["quantized_dimension"] = 1
        ends = [tensor(name, [1, 4]) for name in "xy"]
        options = (f"{op.capitalize()}Options", {})
        return write(one_operator(op, [ends[0], held, ends[1]], options, buffers=[{}, {"data": [1, 2, 3, 4]}]))

    one_scale, several = model(0.5), model(0.5, 0.5, 0.5, 0.5)
    assert not verify(*(TFLITE.load("m.tflite", data) for data in (one_scale, several))).equal
    assert verify(*(TFLITE.load("m.tflite", data) for data in (one_scale, one_scale + bytes(4)))).equal


def test_real_numbers_of_two_formats_are_not_compared() -> None:
    """The larger of NaN and 1 is NaN in ONNX Runtime, and 1 in TensorFlow Lite."""
    ends = [tensor(name, [8], scale=None, type="FLOAT32") for name in "xzy"]
    tflite = write(one_operator("MAXIMUM", ends, ("MaximumMinimumOptions", {})))
    file = models.text(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[8] x, float[8] z) => (float[8] y) { y = Max(x, z) }'
    )
    known = verify(ONNX.load("m.onnx", file.SerializeToString()), TFLITE.load("m.tflite", tflite))
    assert known.faults == ("runtimes of two formats take NaN and infinity of 'x' otherwise",)


def test_a_result_that_the_device_leaves_in_part_is_not_equal() -> None:
    """The file says one image, and four come out: the device writes one, and reads four."""
    ends = [tensor("x", [1, 4, 4, 1]), tensor("y", [1, 2, 2, 1])]
    held = [
        tensor(name, [2] * rank, number, scale=None, type="INT32") for name, rank, number in (("b", 1, 1), ("p", 2, 2))
    ]
    buffers = [{}, {"data": [2, 0, 0, 0] * 2}, {"data": [0] * 16}]
    model = one_operator("SPACE_TO_BATCH_ND", [ends[0], *held, ends[1]], buffers=buffers)
    known = verify(*(TFLITE.load("m.tflite", write({**model, "description": text})) for text in "ab"))
    assert "the file says [1, 2, 2, 1] of its result, and its operands make [4, 2, 2, 1]" in known.faults[0]


@pytest.mark.parametrize(("curve", "everywhere"), [("Log", False), ("Elu", False), ("Neg", True), ("Sqrt", True)])
def test_a_curve_that_runtimes_approximate_stands_at_its_place(curve: str, everywhere: bool) -> None:
    """ONNX Runtime makes another last bit of Log behind the last whole vector of a tensor than in a vector."""
    head = '<ir_version: 8, opset_import: ["" : 17]> g (float[5, 7] x) => (float[7, 5] y)'
    old, new, named = (
        ONNX.load("m.onnx", onnx.parser.parse_model(f"{head} {{ {text} }}").SerializeToString())
        for text in (
            f"t = {curve} (x) y = Transpose (t)",
            f"t = Transpose (x) y = {curve} (t)",
            f"s = {curve} (x) t = Identity (s) y = Transpose (t)",
        )
    )
    moved, handed_on = verify(old, new), verify(old, named)
    assert moved.equal and handed_on.equal
    assert (faults_elsewhere(moved) == (None,)) == everywhere
    assert faults_elsewhere(handed_on) == (None,)
