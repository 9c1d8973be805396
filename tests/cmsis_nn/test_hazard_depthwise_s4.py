"""Which 4 bits the loops of arm_depthwise_conv_s4 over an odd number of input channels take for weights."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from support.hazard_calls import CPUS, ids, taps_inside


def taken(call: KernelCall, row: int, column: int) -> Iterator[tuple[int, int]]:
    """For each tap of each channel of an output: the 4 bits that the loop takes, and those that hold the weight."""
    channels, multiplier, width = call.input_dims.c or 1, call.ch_mult or 1, call.filter_dims.w or 1
    height, out_c = call.filter_dims.h or 1, call.output_dims.c or 1
    rows = taps_inside(call.input_dims.h or 1, height, row * (call.stride.h or 1) - (call.padding.h or 0),
                       call.dilation.h or 1)  # fmt: skip
    columns = taps_inside(call.input_dims.w or 1, width, column * (call.stride.w or 1) - (call.padding.w or 0),
                          call.dilation.w or 1)  # fmt: skip
    half, low, held = channels >> 1, True, 0
    for channel in range(channels * multiplier):
        held += channel > 0 and channel % 2 == 0
        uneven = 0
        for tap_row in rows:
            at = (tap_row * width + columns.start) * half * multiplier + held + uneven
            for tap in columns:
                yield 2 * at + (not low), (tap_row * width + tap) * out_c + channel
                low = not low
                uneven += low
                at += half * multiplier + low
        low = (not low) ^ bool(height * width % 2)


def geometry(generator: random.Random) -> KernelCall:
    axes = [
        (generator.randint(1, 5), generator.randint(1, 4), generator.randint(1, 3), generator.randint(0, 3),
         generator.choice((1, 1, 2)), generator.randint(1, 4)) for _ in range(2)
    ]  # fmt: skip
    (in_h, tap_h, step_h, pad_h, dil_h, out_h), (in_w, tap_w, step_w, pad_w, dil_w, out_w) = axes
    channels, multiplier = generator.choice((1, 2, 3, 4, 5)), generator.choice((1, 1, 2, 3))
    out_c = channels * multiplier
    return KernelCall(
        "depthwise_s4", Dims(2, in_h, in_w, channels), Dims(1, tap_h, tap_w, out_c), Dims(2, out_h, out_w, out_c),
        Pair(step_h, step_w), Pair(pad_h, pad_w), dilation=Pair(dil_h, dil_w), ch_mult=multiplier,
    )  # fmt: skip


@pytest.mark.parametrize("release", ["5.0.0", "6.0.0", "7.0.0", "main"])
def test_weights_of_an_odd_number_of_channels_are_taken_from_other_places(release: str) -> None:
    generator, alarms, seen = random.Random(1), 0, 0
    for _ in range(4000):
        call = geometry(generator)
        pixels = product(range(call.output_dims.h or 0), range(call.output_dims.w or 0))
        places = [pair for row, column in pixels for pair in taken(call, row, column)]
        odd = (call.input_dims.c or 0) % 2 == 1
        wrong = odd and any(read != right for read, right in places)
        told = "dw-s4-odd-channels" in ids(call, "cortex-m4", release)
        assert told or not wrong, call
        seen, alarms = seen + wrong, alarms + (told and not wrong and bool(places))
    assert seen > 1000
    assert alarms < seen / 20


@pytest.mark.parametrize("cpu", CPUS)
def test_the_kernel_for_one_image_and_even_channels_are_right(cpu: str) -> None:
    single = KernelCall(
        "depthwise_s4", Dims(1, 6, 6, 3), Dims(1, 3, 3, 3), Dims(1, 6, 6, 3), padding=Pair(1, 1), ch_mult=1
    )
    even = single._replace(
        input_dims=Dims(2, 6, 6, 4), filter_dims=Dims(1, 3, 3, 8), output_dims=Dims(2, 6, 6, 8), ch_mult=2
    )
    batch = single._replace(input_dims=Dims(2, 6, 6, 3), output_dims=Dims(2, 6, 6, 3))
    odd = [[name for name in ids(call, cpu) if name == "dw-s4-odd-channels"] for call in (single, even, batch)]
    assert odd == [[], [], ["dw-s4-odd-channels"]]
