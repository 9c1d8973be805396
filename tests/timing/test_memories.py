"""Memories: names, cycles of a line, what is usual."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.timing.cores import CORES, core_of, kind_of
from onnxlint_cmsis.timing.memories import MEMORIES, UNKNOWN, line_cost, memory_name, placements


@pytest.mark.parametrize("text", ["tcm", "MRAM", " sram ", "unknown", "40", "0"])
def test_names_and_cycles_are_taken(text):
    assert memory_name(text) == text.strip().lower()


@pytest.mark.parametrize("text", ["ram", "-1", "4.5", "", "100001"])
def test_another_memory_is_refused(text):
    with pytest.raises(ValueError, match="is not one of unknown, tcm, sram, flash, mram, xip"):
        memory_name(text)


def test_a_line_takes_longer_in_cycles_at_a_higher_clock():
    core = core_of("cortex-m55")
    slow, fast = (line_cost(core, "mram", clock) for clock in (96_000_000, 400_000_000))
    assert slow == pytest.approx((80 * 0.096, 115 * 0.096))
    assert fast == pytest.approx((80 * 0.4, 115 * 0.4))


def test_every_measured_memory_is_of_a_cpu_with_factors():
    assert {row.cpu for row in MEMORIES} <= {core.cpu for core in CORES}
    assert all(0 <= row.least <= row.most for row in MEMORIES)


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.cpu)
def test_a_usual_build_has_a_time(core):
    pairs = placements(core, UNKNOWN, UNKNOWN)
    assert pairs == core.usual
    assert any(None not in [line_cost(core, name, 10**8) for name in pair] for pair in pairs)


def test_a_given_memory_stands_in_every_placement():
    assert placements(core_of("cortex-m55"), "mram", UNKNOWN) == (("mram", "tcm"), ("mram", "sram"))


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("arm_convolve_s8", "convolution"),
        ("arm_convolve_1x1_s8_fast", "1x1"),
        ("arm_convolve_1_x_n_s8", "1xN"),
        ("arm_depthwise_conv_s8_opt", "depthwise"),
        ("arm_fully_connected_s8", "dense"),
        ("arm_max_pool_s8", "max pool"),
        ("arm_avgpool_s16", "average pool"),
        ("arm_convolve_even_s4", "convolution s4"),
        ("arm_convolve_1_x_n_s4", "convolution s4"),
        ("arm_depthwise_conv_s4_opt", "depthwise"),
        ("arm_fully_connected_s4", "dense s4"),
        ("arm_softmax_s8", "other"),
    ],
)
def test_a_kernel_has_its_kind(kernel, kind):
    assert kind_of(kernel) == kind
