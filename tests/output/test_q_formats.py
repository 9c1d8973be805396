"""Q-formats: fraction bits from the largest magnitude, and the shifts of a layer."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.analysis.fraction_bits import RealRange, fraction_bits, shifts
from onnxlint_cmsis.cli.engine import layers_report
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fixers.proof.samples import samples_of, tensor_ranges
from onnxlint_cmsis.ground.errors import CalibrationError
from support.goldens import Told
from support.models import text


@pytest.mark.parametrize(
    ("low", "high", "bits", "expected"),
    [
        (-1.0, 0.99, 8, 7),
        (-0.5, 1.0, 8, 6),
        (0.0, 0.998, 8, 6),  # 127.7 rounds to 128
        (-1.0, 0.0, 8, 7),
        (0.0, 0.0, 8, 7),
        (-0.01, 0.01, 8, 13),
        (-100.0, 3.0, 8, 0),
        (-300.0, 3.0, 8, -2),
        (-1.0, 0.99, 16, 15),
    ],
)
def test_fraction_bits(low: float, high: float, bits: int, expected: int) -> None:
    assert fraction_bits(RealRange(low, high), bits) == expected


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from((8, 16)))
def test_nothing_is_cut_off_and_one_more_bit_would_be(first: float, other: float, bits: int) -> None:
    low, high = sorted((first, other))
    split = fraction_bits(RealRange(low, high), bits)
    assert split is not None

    def fits(fraction: int) -> bool:
        largest = 1 << (bits - 1)
        return round(high * 2.0**fraction) <= largest - 1 and round(low * 2.0**fraction) >= -largest

    if max(abs(low), abs(high)) > 0:
        assert fits(split)
        assert split == 31 or not fits(split + 1)


def test_infinite_numbers_have_no_format() -> None:
    assert fraction_bits(RealRange(0.0, float("inf")), 8) is None


def test_no_shift_is_below_zero() -> None:
    assert shifts(4, 8, 9, 5) == (9, 5, 3, 7)
    assert shifts(4, 3, 12, 9) == (7, 7, 0, 0)


MODEL = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 2, 4, 4] x) => (float[1, 2] y) <
    float[4, 2, 3, 3] u = {0.25}, float[4] s = {2}, float[4] b = {0.5}, float[4] m = {0}, float[4] v = {1},
    float[2, 64] w = {0.125}, float[2] c = {3}
> {
    a = Conv<pads = [1, 1, 1, 1]>(x, u)
    n = BatchNormalization<epsilon = 0.0>(a, s, b, m, v)
    r = Relu(n)
    f = Flatten(r)
    d = Gemm<transB = 1>(f, w, c)
    y = Softmax<axis = -1>(d)
}
"""


def formats(folder: Path, model: onnx.ModelProto, calibration: str = "") -> dict[str, dict[str, object]]:
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    settings = make_settings(str(path), api="legacy", targets=["cortex-m4"])
    rows = layers_report(str(path), settings, calibration=calibration).rows
    return {str(row["op"]): row["q_format"] for row in rows}  # type: ignore[misc]


def test_a_float_model_has_formats_of_weights_alone(tmp_path: Path) -> None:
    by_name = formats(tmp_path, text(MODEL.strip()))
    conv = by_name["Conv"]
    assert (conv["weights"], conv["bias"]) == (7, 7)  # 0.25 * 2 is 0.5, and one bit more would be 128
    assert (conv["input"], conv["output"], conv["out_shift"]) == (None, None, None)
    assert "--calibration" in str(conv["unknown"])
    assert (by_name["Gemm"]["weights"], by_name["Gemm"]["bias"]) == (9, 5)
    assert by_name["Softmax"]["output"] == 7


def test_a_calibration_gives_the_rest(tmp_path: Path) -> None:
    samples = np.zeros((3, 2, 4, 4), np.float32)
    samples[1, 0, 0, 0], samples[2, 1, 3, 3] = 3.0, -2.5
    np.save(tmp_path / "x.npy", samples)
    by_name = formats(tmp_path, text(MODEL.strip()), str(tmp_path / "x.npy"))
    # The input goes up to 3: 5 bits. Behind Relu there is 2 * 0.25 * 3 + 0.5 = 2 at most: 5 bits.
    assert by_name["Conv"] == {
        "input": 5, "weights": 7, "bias": 7, "output": 5, "bias_shift": 5, "out_shift": 7, "unknown": "",
    }  # fmt: skip
    assert (by_name["Relu"]["input"], by_name["Relu"]["output"]) == (5, 5)
    assert (by_name["Gemm"]["input"], by_name["Gemm"]["bias_shift"]) == (5, 9)


QUANTIZED = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 2, 4, 4] x) => (float[1, 4, 4, 4] y) <
    float s = {0.03125}, uint8 z = {128}, float t = {0.0625}, uint8 k = {0},
    int8[4, 2, 1, 1] w = {100}, float[4] v = {0.01}, int8[4] o = {0}
> {
    q = QuantizeLinear(x, s, z)
    d = DequantizeLinear(q, s, z)
    e = DequantizeLinear<axis = 0>(w, v, o)
    c = Conv(d, e)
    p = QuantizeLinear(c, t, k)
    y = DequantizeLinear(p, t, k)
}
"""


def test_scales_of_a_quantized_model_state_ranges(tmp_path: Path) -> None:
    """The input is -4 to 3.97: 5 bits. Weights are 1: 6 bits. The output is 0 to 15.94, whose 8th is 127.5: 2."""
    row = formats(tmp_path, text(QUANTIZED.strip()))["Conv"]
    assert (row["input"], row["weights"], row["output"]) == (5, 6, 2)
    assert (row["out_shift"], row["unknown"]) == (9, "")


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros((3, 2, 5, 4), np.float32), "x has shape (3, 2, 5, 4)"),
        (np.full((1, 2, 4, 4), np.nan, np.float32), "not finite"),
    ],
)
def test_a_calibration_that_does_not_fit_is_one_line(array: np.ndarray, said: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(CalibrationError, match=re.escape(said)) as error:
        tensor_ranges(samples_of(text(MODEL.strip()).SerializeToString(), {}, str(tmp_path / "x.npy")))
    assert "\n" not in str(error.value)


def test_files_of_several_inputs(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", other=np.zeros((1, 2, 4, 4), np.float32))
    with pytest.raises(CalibrationError, match="no array for x; it has other"):
        tensor_ranges(samples_of(text(MODEL.strip()).SerializeToString(), {}, str(tmp_path / "x.npz")))
    np.savez(tmp_path / "x.npz", x=np.ones((2, 1, 2, 4, 4), np.float32))
    ranges = tensor_ranges(samples_of(text(MODEL.strip()).SerializeToString(), {}, str(tmp_path / "x.npz")))
    assert ranges["x"] == (1.0, 1.0)
    assert ranges["r"].high == pytest.approx(0.5 + 2 * 0.25 * 18)


def test_an_axis_that_the_weights_do_not_have_leaves_their_format_open(tmp_path: Path, told: Told) -> None:
    row = formats(tmp_path, text(QUANTIZED.strip().replace("<axis = 0>", "<axis = 7>")))["Conv"]
    assert row["weights"] is None
    told(str(row["unknown"]))
