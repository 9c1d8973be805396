"""lab/sweep_calls.py: what random calls compute is defined, and a checkout's functions are held against it."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

import random_calls
import sweep_calls
from firmware_check.evidence.exact_arithmetic import CallNumbers, summed
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.model.fixed_point import Multiplier, quantize_multiplier
from random_calls import DRAWN, requantized, requantized_wide

FOLDER = os.environ.get("ONNXLINT_CMSIS_NN", "")
TOOLS = all(shutil.which(tool) for tool in ("arm-none-eabi-gcc", "qemu-system-arm"))


def test_sums_are_scaled_within_a_half_and_rounded_twice():
    sums = np.random.default_rng(1).integers(-(1 << 20), 1 << 20, (500, 3))
    scales = tuple(quantize_multiplier(real) for real in (0.0007, 0.3, 1.7))
    exact = sums * np.array([scale.value * 2.0 ** (scale.shift - 31) for scale in scales])
    assert np.abs(requantized(sums, scales) - exact).max() <= 0.75
    assert requantized(np.array([3, -3]), Multiplier(1 << 30, 0)).tolist() == [2, -1]
    assert requantized(np.array([6, -6]), Multiplier(1 << 30, -1)).tolist() == [2, -2]
    assert np.abs(requantized_wide(sums[:, :1], scales[:1]) - exact[:, :1]).max() <= 0.6


def test_a_transposed_convolution_whose_padding_is_more_than_it_spreads_to_gives_zeros():
    call = KernelCall("transpose_conv_s8", Dims(1, 1, 1, 2), Dims(3, 1, 1, 2), Dims(1, 1, 4, 3), padding=Pair(6, 6))
    numbers = CallNumbers(np.ones((1, 1, 1, 2), int), np.ones((3, 1, 1, 2), int), None, (), 0, 0, 8)
    sums = summed("transpose_conv", call, numbers)
    assert (sums.shape, sums.any()) == ((1, 1, 4, 3), False)


def test_rows_of_one_image_that_kernels_took_for_unpadded_are_among_the_calls():
    """Padded rows above a row of input: the calls of which arm_convolve_1_x_n_s8 computes one row."""
    target = parse_target("cortex-m55", "7.0.0")
    calls = random_calls.random_calls("convolve_s8", 600, 1)
    met = {hazard.id for call in calls for hazard in route(call.call, target).hazards}
    assert met >= {"conv-1xn-one-row", "conv-1xn-wrong-values", "conv-1xn-geometry-refused"}


@pytest.mark.parametrize("entry", DRAWN)
def test_calls_of_every_entry_point_are_drawn_with_what_they_compute(entry):
    calls = random_calls.random_calls(entry, 25, 3)
    assert len({call.call for call in calls}) > 10
    for call in calls:
        sizes = [size or 0 for size in call.call.output_dims]
        assert call.expected is None or call.expected.size == np.prod(sizes)
        data = sweep_calls.bytes_of(call, 0)
        assert len(data) == 4 * 46 + sum(array.nbytes for array in call.inputs)
    assert sum(call.expected is not None for call in calls) > 5


@pytest.mark.skipif(not (FOLDER and TOOLS), reason="ONNXLINT_CMSIS_NN names no checkout, or gcc or QEMU are missing")
@pytest.mark.parametrize("cpu", ["cortex-m3", "cortex-m4", "cortex-m55"])
def test_no_call_of_a_checkout_is_wrong_untold(cpu, capsys):
    assert sweep_calls.main([FOLDER, "--target", cpu, "--count", "40", "--seed", "5"]) == 0, capsys.readouterr().out
    said = capsys.readouterr().out
    assert said.count(" 40 calls, ") == len(DRAWN)
    assert "convolve_s16: 40 calls, 0 wrong and told" not in said
