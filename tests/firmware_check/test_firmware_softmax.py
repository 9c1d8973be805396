"""Softmax of int8, of int16 and from int8 to int16: the arithmetic in plain integers, and the calls on the device."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import softmax_model
from firmware_check.build import Bench
from firmware_check.execution import execute
from firmware_check.library import open_library
from firmware_check.options import board_named
from firmware_check.program import Array, Quantization, Step, Value, side_by_side
from firmware_check.quantized_constants import SoftmaxConstants, softmax_constants
from firmware_check.reference import (
    IntegerSoftmax,
    _looked_up,
    exponentials,
    multiplier,
    reciprocals,
    softmax_output,
)
from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.ground.types import Dims, KernelCall
from onnxlint_cmsis.lower.dims import NO_DIMS
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.softmax import SOFTMAX_OUTPUT
from onnxlint_cmsis.runtimes.host.onnx_runtime import softmax_wide_steps
from support import paths
from support.firmware_runs import data, needs_firmware
from support.goldens import Told

FOLDER = os.environ.get("ONNXLINT_CMSIS_NN", "")
BITS = {"s8": (8, 8), "s16": (16, 16), "s8_s16": (8, 16)}
"""Kind to the bits of input and output."""


def softmax_step(kind: str, shape: tuple[int, ...], scale: float) -> Step:
    """A layer of a kind on rows, without its call."""
    before, after = BITS[kind]
    source = Value("x", 0, shape, (0, 1), Quantization(scale, 0, before))
    output = Value("y", 1, shape, (0, 1), Quantization(1.0, 0, after))
    constants: object = softmax_constants(scale) if before == 8 else multiplier(scale)
    numbers = {"rows": shape[0], "row": shape[1], "constants": constants}
    return Step("n", "Softmax", "softmax", (source,), output, None, f"arm_softmax_{kind}", (), numbers)


def integers(kind: str, rows: np.ndarray, scale: float) -> IntegerSoftmax:
    """What the function of a kind has to write for rows of integers."""
    result = softmax_output(softmax_step(kind, rows.shape, scale), rows.reshape(-1))
    assert result is not None
    return result


def exact(kind: str, rows: np.ndarray, scale: float) -> np.ndarray:
    """The same in real numbers, rounded once."""
    powers = np.exp((rows - rows.max(axis=1, keepdims=True)) * scale)
    shares = powers / powers.sum(axis=1, keepdims=True)
    output, highest = SOFTMAX_OUTPUT[kind], (1 << (BITS[kind][1] - 1)) - 1
    return np.minimum(np.rint(shares / output.scale) + output.zero_point, highest).reshape(-1)


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("seed", range(25))
def test_plain_integers_are_close_to_real_numbers(kind: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    before = BITS[kind][0]
    high, row = 1 << (before - 1), int(generator.integers(1, 300))
    rows = generator.integers(-high, high, (3, row))
    scale = float(np.exp(generator.uniform(np.log(0.3), np.log(20)))) / high
    result = integers(kind, rows, scale)
    assert result.defined.all()
    gap = np.abs(result.values - exact(kind, rows, scale)).max()
    assert gap <= (softmax_wide_steps(row) if before == 16 else 1)


def test_rows_of_equal_elements_are_shared_out() -> None:
    result = integers("s8", np.zeros((1, 4), int), 0.1)
    assert result.values.tolist() == [64 - 128] * 4
    assert integers("s8_s16", np.zeros((1, 4), int), 0.1).values.tolist() == [16384 - 32768] * 4
    assert np.abs(integers("s16", np.zeros((1, 4), int), 0.001).values - 8192).max() <= 2


def test_what_lies_below_the_smallest_difference_is_nothing() -> None:
    constants: SoftmaxConstants = softmax_constants(1 / 4)
    rows = np.array([[127, 127 + constants.diff_min, 127 + constants.diff_min - 1]])
    assert integers("s8_s16", rows, 1 / 4).values.tolist() == [32767, -32768, -32768]


@pytest.mark.parametrize(("row", "defined"), [(511, True), (512, False)])
def test_c_leaves_open_what_a_long_row_of_equal_elements_gives(row: int, defined: bool) -> None:
    """From 512 on arm_nn_softmax_common_s8 shifts by 32 bits; its int16 output shifts by 8 less."""
    rows = np.zeros((1, row), int)
    assert integers("s8", rows, 0.1).defined.all() == defined
    assert integers("s8_s16", rows, 0.1).defined.all()


def test_the_model_of_softmaxes_calls_each_function(tmp_path: Path) -> None:
    path = tmp_path / "softmaxes.onnx"
    onnx.save(softmax_model.softmax_model(12), path)
    entries = [layer.call.entry for layer in lower(load(str(path))).layers]
    assert entries == ["softmax_s8", "softmax_s16", "softmax_s8_s16"] * 4


def with_softmax(folder: Path, change: tuple[str, str] = ("", "")) -> str:
    """The carried library with functions for softmax, which its own sources leave out."""
    library = folder / "library"
    shutil.copytree(open_library("").root, library)
    for name in ("s16_stand_in.c", "softmax_stand_in.c"):
        text = (paths.DATA / name).read_text(encoding="utf-8")
        (library / "Source" / name).write_text(text.replace(*change) if change[0] else text, encoding="utf-8")
    return str(library)


def written(folder: Path, count: int, seed: int = 0) -> str:
    path = folder / f"softmaxes_{count}.onnx"
    onnx.save(softmax_model.softmax_model(count, seed), path)
    return str(path)


@needs_firmware
def test_each_kind_is_called_and_equals_plain_integers(tmp_path: Path) -> None:
    check = data(written(tmp_path, 9), "--cmsis-nn", with_softmax(tmp_path), "--target", "cortex-m3")["checks"][0]
    assert check["verdict"] == "agrees"
    called = [layer for layer in check["layers"] if layer["function"]]
    assert [layer["function"] for layer in called] == ["arm_softmax_s8", "arm_softmax_s16", "arm_softmax_s8_s16"] * 3
    for layer in called:
        assert layer["differences_from_plain_integers"]["count"] == 0
        assert layer["function"] == "arm_softmax_s16" or layer["differences"]["largest"] <= 1


@needs_firmware
def test_a_function_that_is_off_by_one_disagrees_with_plain_integers(tmp_path: Path, told: Told) -> None:
    """ONNX Runtime alone would let it pass."""
    library = with_softmax(tmp_path, ("above = value + lowest", "above = value + lowest + (value == 0)"))
    check = data(written(tmp_path, 3), "--cmsis-nn", library, "--target", "cortex-m3", code=1)["checks"][0]
    wrong = [layer for layer in check["layers"] if layer["disagreements"]]
    assert {layer["function"] for layer in wrong} <= {"arm_softmax_s8", "arm_softmax_s8_s16"}
    (text,) = {disagreement["text"] for layer in wrong[:1] for disagreement in layer["disagreements"]}
    told(text)


STEP = 10 / 65535
"""Scale of an int16 input at which the multiplier is 1."""


def near_a_power_of_two() -> np.ndarray:
    """A row of int16 whose exponentials sum to 2^18 - 1: seven times the largest, and two others."""
    values = np.arange(32767, -32769, -1)
    places = dict(zip(_looked_up(exponentials(), values).tolist(), values.tolist(), strict=True))
    left = (1 << 18) - 1 - 7 * next(iter(places))
    power = next(power for power in places if left - power in places)
    return np.array([[32767] * 7 + [places[power], places[left - power]]], np.int16)


@pytest.mark.skipif(not FOLDER, reason="ONNXLINT_CMSIS_NN names no checkout of CMSIS-NN")
@needs_firmware
def test_a_sum_just_below_a_power_of_two_doubles_the_outputs(tmp_path: Path) -> None:
    """`(sum << (headroom - 1)) + (1 << 13)` exceeds int32 in every release (7.0.0, arm_softmax_s16.c:90)."""
    rows = near_a_power_of_two()
    expected = integers("s16", rows.astype(int), STEP).values
    assert np.abs(expected - exact("s16", rows.astype(int), STEP)).max() <= softmax_wide_steps(rows.size)
    call = KernelCall("softmax_s16", Dims(1, 1, 1, rows.size), NO_DIMS, Dims(1, 1, 1, rows.size))
    tables = {"exponentials": exponentials(), "reciprocals": reciprocals()}
    arrays = tuple(Array(name, "int16_t", values) for name, values in tables.items())
    step = replace(softmax_step("s16", rows.shape, STEP), call=call, arrays=arrays)
    bench = Bench(board_named("cortex-m55"), open_library(FOLDER))
    done = execute(side_by_side([step]), bench, tmp_path, "softmax", [[rows.reshape(-1)]])
    assert (np.abs(done.plain.outputs[0][0] - 2 * expected) <= 2).all()
