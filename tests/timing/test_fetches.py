"""Lines of memory that a layer fetches."""

from __future__ import annotations

import json

import numpy as np
import pytest

from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.types import Dims, Function, KernelCall, Pair
from onnxlint_cmsis.timing.cores import core_of
from onnxlint_cmsis.timing.fetches import CODE, fetches
from support.paths import ROOT

KERNEL = "arm_convolve_s8"
M4, M33, M55 = (core_of(f"cortex-m{number}") for number in (4, 33, 55))
MULTIPLIED = {"entry": "depthwise_s8", "filter_dims": Dims(1, 3, 3, 8), "output_dims": Dims(1, 8, 8, 8)}
POINT = KernelCall("convolve_s8", Dims(1, 8, 8, 32), Dims(64, 1, 1, 32), Dims(1, 8, 8, 64))
DEPTHWISE = KernelCall("depthwise_s8", Dims(1, 96, 96, 64), Dims(1, 3, 3, 64), Dims(1, 48, 48, 64), stride=Pair(2, 2))


def test_weights_that_the_cache_holds_are_fetched_once():
    assert fetches(POINT, M55, KERNEL) == (64, 64 + 128, 0)


def test_larger_weights_are_fetched_for_each_pass_over_pixels():
    large = POINT._replace(filter_dims=Dims(64, 3, 3, 64))
    assert fetches(large, M55, KERNEL).weights == 64 * 9 * 64 / 32 * 16


def test_without_a_cache_each_pass_fetches_them():
    assert fetches(POINT, M4, KERNEL).weights == 64 * 32
    assert fetches(DEPTHWISE, M4, KERNEL).weights == 0


def test_kernels_of_1x1_without_mve_take_each_weight_over_all_pixels():
    """Public nets of 1x1 take 6 times less on RP2350 than with weights fetched again for each pair of pixels."""
    large = POINT._replace(input_dims=Dims(1, 8, 8, 512), filter_dims=Dims(64, 1, 1, 512))
    assert fetches(large, M33, "arm_convolve_1x1_s8_fast").weights == 512 * 64 / 32
    strided = large._replace(input_dims=Dims(1, 16, 16, 512), stride=Pair(2, 2))
    assert fetches(strided, M33, "arm_convolve_1x1_s8").weights == 8 * 512 * 64 / 32
    assert fetches(large, M33, "arm_convolve_s8").weights == 32 * 512 * 64 / 32
    assert fetches(large, M55, "arm_convolve_1x1_s8_fast").weights == 512 * 64 / 32 * 16


def test_an_svdf_reads_the_weights_of_its_features_and_its_memory():
    """keyword_scrambled_8bit on RP2040 takes twice the time that it would without."""
    call = KernelCall("svdf_s8", Dims(1, 1, 1, 96), Dims(64, 8, 1, 96), Dims(1, 1, 1, 64))
    assert fetches(call, M33, "arm_svdf_s8").weights == 64 * (96 + 8) / 32
    assert (
        fetches(call._replace(entry="svdf_state_s16_s8"), M33, "arm_svdf_state_s16_s8").weights == 64 * (96 + 16) / 32
    )


def test_lines_of_code_are_those_that_were_counted():
    """`python lab/measure_code_lines.py CMSIS_NN`: an odd last channel takes another path of the code."""
    counted = json.loads((ROOT / "tests" / "data" / "code_lines.json").read_text())
    assert len(counted) > 30
    for record in counted:
        pixels = record["output"][0] * record["output"][1]
        small, middle, large, *_ = (lines / pixels for lines in record["lines"].values())
        assert large == 0
        assert middle < 35
        kernel = record["kernel"]
        if kernel.startswith("depthwise_conv_s8_") or kernel == "arm_depthwise_conv_s16":
            assert small < 1
        elif "depthwise" in kernel and record["output"][2] % 4 == 0:
            assert small == pytest.approx(CODE[Function.DEPTHWISE], rel=0.11)
        elif kernel in ("arm_convolve_s8", "arm_convolve_s16") and record["output"][2] % 2 == 0:
            assert small == pytest.approx(CODE[Function.CONVOLVE], rel=0.09)


def test_code_that_a_small_cache_does_not_hold_is_fetched_for_each_pixel_of_a_window():
    """Nets of few channels on NUCLEO-L4R5ZI take up to 40 % more than without."""
    window = POINT._replace(filter_dims=Dims(64, 3, 3, 32))
    assert [fetches(call, M4, KERNEL).code for call in (window, DEPTHWISE)] == [24 * 64, 38 * 48 * 48]
    assert fetches(window, M55, KERNEL).code == 0


@pytest.mark.parametrize(
    ("changed", "kernel", "lines"),
    [
        ({}, "arm_convolve_1x1_s8_fast", 0),
        ({"stride": Pair(2, 2), "input_dims": Dims(1, 16, 16, 32)}, "arm_convolve_1x1_s8", 0),
        ({"entry": "convolve_s4"}, "arm_convolve_1x1_s4_fast", 0),
        ({**MULTIPLIED, "input_dims": Dims(1, 10, 10, 1), "ch_mult": 8}, "depthwise_conv_s8_mult_4", 0),
        ({**MULTIPLIED, "input_dims": Dims(1, 10, 10, 4), "ch_mult": 2}, "depthwise_conv_s8_generic", 0),
        ({"entry": "convolve_s16"}, "arm_convolve_s16", 24 * 64),
        ({"filter_dims": Dims(64, 1, 1, 16)}, "arm_convolve_s8", 24 * 64),
        ({"input_dims": Dims(1, 6, 6, 32), "padding": Pair(1, 1), "pad_after": Pair(1, 1)}, "arm_convolve_s8", 24 * 64),
    ],
)
def test_the_kernel_and_not_the_window_decides_about_its_code(changed, kernel, lines):
    """1x1 of 16 bits, with groups or with padding has no kernel of its own."""
    call = POINT._replace(**changed)
    taken = route(call, parse_target("cortex-m4", "7.0.0")).effective
    assert (taken, fetches(call, M4, taken).code) == (kernel, lines)


def test_rows_of_a_window_that_the_cache_does_not_hold_are_fetched_again():
    assert fetches(DEPTHWISE, M55, KERNEL).activations == 96 * 96 * 64 / 32 * 3 / 2 + 48 * 48 * 64 / 32


def test_types_decide_bytes():
    assert fetches(POINT._replace(entry="convolve_s16"), M55, KERNEL) == (64, 2 * (64 + 128), 0)
    assert fetches(POINT._replace(entry="convolve_s4"), M55, KERNEL).weights == 32


def test_an_unknown_size_fetches_nothing_that_is_told():
    assert fetches(POINT._replace(input_dims=Dims(None, 8, 8, 32)), M55, KERNEL) == (0, 0, 0)


@pytest.mark.parametrize("core", [M4, M55], ids=["m4", "m55"])
@pytest.mark.parametrize("call", [POINT, DEPTHWISE, POINT._replace(filter_dims=Dims(64, 3, 3, 32))])
def test_many_channel_counts_at_once_fetch_what_each_of_them_does(call, core):
    """The widths of a class are one call whose channel counts are arrays."""

    def wide(channels):
        inner = channels if call.function is DEPTHWISE.function else call.filter_dims.n * (channels > 0)
        return call._replace(
            input_dims=call.input_dims._replace(c=channels),
            filter_dims=call.filter_dims._replace(n=inner, c=channels),
            output_dims=call.output_dims._replace(c=channels),
        )

    counts = [1, 7, 64, 300, 1000]
    weights, activations, code = fetches(wide(np.array(counts)), core, KERNEL)
    told = [*zip(weights, activations, [code] * len(counts), strict=True)]
    assert told == [pytest.approx(fetches(wide(count), core, KERNEL)) for count in counts]
