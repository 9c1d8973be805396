"""From which size on kernels beside arm_convolve_s8 cut a number off to 16 bits."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.cmsis_nn.evidence import recorded
from onnxlint_cmsis.cmsis_nn.library import all_hazards, route
from onnxlint_cmsis.ground.types import Dims, KernelCall
from support.targets import target_of

OTHERS = ("conv-16-bit-", "transpose-16-bit-", "relu-")
NEW = {row.id for row in all_hazards() if "-16-bit-" in row.id and not row.id.startswith(OTHERS)}


def met(call: KernelCall, cpu: str, release: str) -> list[str]:
    return [row.id for row in route(call, target_of(cpu, release)).hazards if row.id in NEW]


def depthwise(entry: str, width: int, multiplier: int = 1) -> KernelCall:
    """A 1x3 filter over a row: the last window starts at width - 3."""
    out_c = 2 * multiplier
    return KernelCall(
        entry, Dims(1, 1, width, 2), Dims(1, 1, 3, out_c), Dims(1, 1, width - 2, out_c), ch_mult=multiplier
    )


@pytest.mark.parametrize(
    ("entry", "multiplier", "cpu", "release", "hazard"),
    [
        ("depthwise_s8", 2, "cortex-m55", "4.0.0", "dw-16-bit-windows"),
        ("depthwise_s8", 1, "cortex-m3", "main", "dw-16-bit-windows"),  # arm_depthwise_conv_s8_opt hands on
        ("depthwise_s8", 1, "cortex-m4", "main", "dw-opt-16-bit-windows"),
        ("depthwise_s16", 2, "cortex-m55", "4.0.0", "dw-s16-16-bit-windows"),
        ("depthwise_s16", 1, "cortex-m4", "7.0.0", "dw-fast-s16-16-bit-windows"),
        ("depthwise_s4", 2, "cortex-m4", "5.0.0", "dw-s4-16-bit-windows"),
        ("depthwise_s4", 1, "cortex-m3", "6.0.0", "dw-s4-opt-16-bit-windows"),
        ("depthwise_s4", 1, "cortex-m55", "5.0.0", "dw-s4-opt-16-bit-windows-mve"),
    ],
)
def test_a_window_that_starts_beyond_32767_is_cut_off(
    entry: str, multiplier: int, cpu: str, release: str, hazard: str
) -> None:
    assert met(depthwise(entry, 32770, multiplier), cpu, release) == []
    assert met(depthwise(entry, 32771, multiplier), cpu, release) == [hazard]


def test_kernels_that_count_in_32_bits_are_right() -> None:
    assert met(depthwise("depthwise_s8", 40000), "cortex-m55", "7.0.0") == []  # arm_depthwise_conv_s8_opt on MVE
    assert met(depthwise("depthwise_s8", 40000, 4), "cortex-m4", "7.0.0") == []  # depthwise_conv_s8_mult_4
    row = KernelCall("convolve_s8", Dims(1, 1, 65542, 4), Dims(1, 1, 3, 4), Dims(1, 1, 65540, 1))
    assert [met(row, "cortex-m55", release) for release in ("5.0.0", "6.0.0")] == [["conv-1xn-16-bit-sizes"], []]


def test_channels_of_depthwise_kernels() -> None:
    for channels, names in ((65536, []), (65537, ["dw-opt-16-bit-channels"])):
        same = Dims(1, 1, 1, channels)
        call = KernelCall("depthwise_s8", same._replace(h=2), same._replace(h=2), same, ch_mult=1)
        assert met(call, "cortex-m4", "main") == names


@pytest.mark.parametrize(
    ("cpu", "release", "columns", "cut"),
    [
        ("cortex-m3", "main", 131070, False),
        ("cortex-m3", "main", 131075, True),
        ("cortex-m4", "5.0.0", 262143, False),
        ("cortex-m4", "5.0.0", 262145, True),
        ("cortex-m55", "5.0.0", 262145, True),
        ("cortex-m55", "6.0.0", 262145, False),
    ],
)
def test_columns_of_the_last_of_an_odd_number_of_pixels(cpu: str, release: str, columns: int, cut: bool) -> None:
    """As a plane of one channel, each side below 65,536."""
    height = next(side for side in range(5, 600) if columns % side == 0)
    plane = Dims(1, height, columns // height, 1)
    assert bool(met(KernelCall("convolve_s4", plane, plane, Dims(1, 1, 1, 1)), cpu, release)) is cut


def test_every_row_was_seen_on_a_board() -> None:
    seen = {row.hazard for run in recorded() for row in run.hazards if row.outcome == "confirmed"}
    assert seen >= NEW - {"dw-s4-opt-16-bit-channels-mve"}  # its constants do not fit the board's flash
