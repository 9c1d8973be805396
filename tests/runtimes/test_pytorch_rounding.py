"""Where a `.pte` program gives other integers than PyTorch: an average of a half, and a softmax.

The numbers are those of 10 programs of one operator, which ran in ExecuTorch's own C++ under QEMU, of 528 that were
exported with executorch 1.5.1. PyTorch has an operator of its own for each (backends/cortex_m/ops/operators.py), which
computes in floats. TensorFlow Lite Micro's reference kernels round as CMSIS-NN does.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

micro = pytest.importorskip("tflite_micro", reason="the package tflite-micro is not installed")

AVERAGES = {
    "avg_10": [(213, 2, -20, 107, 106)],
    "avg_12": [(-139, 2, 1, -70, -69), (-49, 2, 1, -25, -24), (-3, 2, 1, -2, -1)],
    "avg_13": [(6, 12, -9, 1, 0)],
    "avg_0": [(-103, 2, -13, -52, -51), (27, 2, -13, 14, 13), (-109, 2, -13, -55, -54)],
    "avg_20": [(-174, 12, -1, -15, -14), (-66, 12, -1, -6, -5), (-138, 12, -1, -12, -11), (-78, 12, -1, -7, -6)],
    "avg_6": [(-102, 12, 4, -9, -8)],
    "gap_14": [(500, 40, 6, 13, 12)],
    "gap_21": [(18, 4, 12, 5, 4), (-26, 4, 12, -7, -6)],
    "gap_7": [(117, 6, 17, 20, 19)],
}
"""Windows that came out differently, by program: sum, count, zero-point, the device's average, and PyTorch's."""
ROW = [-6, 13, -3, -2, -52, -33, -7, -13, -35, -7, -2, -82]
"""A row of a softmax in which elements of -7 came out differently: 18 steps of 1/256 on the device, 17 in PyTorch."""
SCALE, ZERO = 0.09100686758756638, -9
"""Of that row."""
MOST = Fraction("0.51")
"""Steps that a softmax of int8 may be from the true value."""


def run(op: str, options: tuple[str, dict[str, object]], x: np.ndarray, y: tuple[list[int], float, int]) -> np.ndarray:
    """The device's integers for an operator from int8 to int8."""
    shape, scale, zero = y
    steps = [{"scale": [scale], "zero_point": [zero]} for scale, zero in ((SCALE, ZERO), (scale, zero))]
    tensors = [
        tensor(name, sizes, quantization=stored)
        for name, sizes, stored in zip("xy", (list(x.shape), shape), steps, strict=True)
    ]
    interpreter = micro.runtime.Interpreter.from_bytes(write(one_operator(op, tensors, options)), arena_size=1 << 20)
    interpreter.set_input(x.astype(np.int8), 0)
    interpreter.invoke()
    return np.array(interpreter.get_output(0)).astype(int)


def averaged(windows: np.ndarray) -> list[int]:
    """Averages of rows of integers on the device."""
    count, size = windows.shape
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1, "filter_width": size, "filter_height": 1}
    given = windows.reshape(1, count, size, 1)
    return run("AVERAGE_POOL_2D", ("Pool2DOptions", options), given, ([1, count, 1, 1], SCALE, ZERO)).ravel().tolist()


def away(mean: Fraction) -> int:
    """The nearest whole number, and of two the one that is further from 0."""
    whole = int(abs(mean) + Fraction(1, 2))
    return whole if mean > 0 else -whole


@pytest.mark.parametrize("program", AVERAGES)
def test_an_average_that_pytorch_rounds_otherwise_lies_halfway_between_two_steps(program: str) -> None:
    """PyTorch rounds the mean without the zero-point to even, and where its floats are off to either side."""
    assert AVERAGES[program]
    for total, count, zero, device, pytorch in AVERAGES[program]:
        mean = Fraction(total, count)
        assert mean.denominator == 2 and {device, pytorch} == {int(mean - Fraction(1, 2)), int(mean + Fraction(1, 2))}
        values = [total // count + (at < total % count) for at in range(count)]
        assert averaged(np.array([values])) == [device] == [away(mean)]
        if program in ("avg_10", "avg_6", "gap_14", "gap_7"):
            assert round(mean - zero) + zero == pytorch


def test_averages_go_away_from_zero_on_the_device_at_halves_alone() -> None:
    windows = np.random.default_rng(5).integers(-128, 128, (4000, 6))
    exact = [Fraction(int(total), 6) for total in windows.sum(axis=1)]
    assert averaged(windows) == [away(mean) for mean in exact]
    assert all(away(mean) == round(mean) for mean in exact if mean.denominator != 2)


def true_softmax(row: list[int]) -> list[Fraction]:
    """Probabilities of a row in steps of 1/256, to 40 digits."""
    with localcontext() as context:
        context.prec = 40
        powers = [(Decimal(SCALE) * (number - max(row))).exp() for number in row]
        return [Fraction(256 * power / sum(powers)) for power in powers]


def test_a_softmax_is_a_step_off_on_the_device_and_not_in_pytorch() -> None:
    """17.49998 steps: the fixed-point exponentials of the device make 18 of them, and PyTorch's floats 17."""
    shape = [1, len(ROW)]
    (device,) = run("SOFTMAX", ("SoftmaxOptions", {"beta": 1.0}), np.array([ROW]), (shape, 1 / 256, -128)) + 128
    exact = true_softmax(ROW)
    for number, have, true in zip(ROW, device.tolist(), exact, strict=True):
        assert have == (18 if number == -7 else round(true))
    assert round(exact[ROW.index(-7)]) == 17


def test_a_softmax_is_half_a_step_from_the_true_value() -> None:
    rows = np.random.default_rng(3).integers(-128, 128, (150, 12))
    device = run("SOFTMAX", ("SoftmaxOptions", {"beta": 1.0}), rows, ([150, 12], 1 / 256, -128)) + 128
    exact = [[min(number, Fraction(255)) for number in true_softmax(row)] for row in rows.tolist()]
    off = [
        abs(int(have) - number)
        for had, row in zip(device, exact, strict=True)
        for have, number in zip(had, row, strict=True)
    ]
    assert Fraction("0.49") < max(off) < MOST
