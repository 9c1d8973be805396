"""Predicted time: the arithmetic of the range, and its words."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from onnxlint_cmsis.cmsis_nn.targets import CPUS
from onnxlint_cmsis.config.clocks import frequency
from onnxlint_cmsis.timing.calibration import Calibration
from onnxlint_cmsis.timing.cores import CORES, OTHER, core_of
from onnxlint_cmsis.timing.device import OVERHEADS, Device, Overhead
from onnxlint_cmsis.timing.fetches import Fetches
from onnxlint_cmsis.timing.predicted_time import clock_text, layer_time, predicted_time
from onnxlint_cmsis.timing.work import LayerWork

LAYERS = (LayerWork("convolution", 900_000, 900_000, Fetches(2000, 500)), LayerWork("dense", 80_000, 100_000))

WORKS = st.tuples(st.sampled_from([*CORES[0].factors]), st.integers(0, 10**10), st.integers(0, 10**6))
UNMEASURED = [*sorted(set(CPUS) - {core.cpu for core in CORES}), "cortex-m4+nodsp", "cortex-m55+nomve"]


def time_on(cpu, layers=LAYERS, left_out=0, clock=100_000_000, **device):
    return predicted_time(Device(cpu, clock, **device), layers, left_out)


def test_each_kernel_has_its_factor_and_each_memory_its_lines():
    """Cortex-M4 at 100 MHz: a line of flash takes 7.5 to 30 cycles, and its SRAM none."""
    low, high = time_on("cortex-m4", weights="flash", arena="sram").cycles
    core = core_of("cortex-m4")
    conv, dense = core.factors["convolution"], core.factors["dense"]
    assert low == pytest.approx((1 - core.error) * (900_000 * conv + 80_000 * dense) + 2000 * 7.5)
    assert high == pytest.approx((1 + core.error) * (900_000 * conv + 100_000 * dense) + 2000 * 30)


def test_cycles_of_a_line_go_before_every_table():
    exact = time_on("cortex-m55", weights="40", arena="10")
    free = time_on("cortex-m55", weights="tcm", arena="tcm")
    assert [given - none for given, none in zip(exact.cycles, free.cycles, strict=True)] == pytest.approx([85_000] * 2)
    assert exact.parts.weights == pytest.approx(80_000)
    assert exact.parts.activations == pytest.approx(5_000)


def test_a_runtime_costs_for_each_run_and_each_operator():
    direct, tflm = (time_on("cortex-m4", runtime=name) for name in ("direct", "tflm"))
    first, other = OVERHEADS["tflm"].run, OVERHEADS["tflm"].operator
    for end, bound in enumerate(core_of("cortex-m4").bounds(OTHER)):
        assert tflm.cycles[end] - direct.cycles[end] == pytest.approx((first[end] + 2 * other[end]) * bound)


@given(
    st.sampled_from(CORES),
    st.lists(
        st.tuples(st.sampled_from([*CORES[0].factors]), st.integers(0, 10**10), st.integers(0, 10**6)), min_size=1
    ),
    st.integers(1_000, 2_000_000_000),
)
def test_more_work_takes_longer_and_bounds_keep_their_order(core, works, clock):
    layers = [LayerWork(kind, number, 2 * number, Fetches(lines, lines)) for kind, number, lines in works]
    time = time_on(core.cpu, layers, clock=clock)
    if not any(layer.most for layer in layers):
        assert time.reason
        return
    low, high = time.milliseconds
    assert low <= high
    again = time_on(core.cpu, [*layers, LayerWork("dense", 1000, 1000)], clock=clock)
    assert again.cycles[0] >= time.cycles[0]
    assert again.cycles[1] >= time.cycles[1]


def test_a_known_placement_is_one_number_with_its_error(told):
    time = time_on("cortex-m55", weights="tcm", arena="tcm")
    assert time.is_number
    told(time.text)
    low, high = time.cycles
    assert f" {(low + high) / 2 / 100_000:.1f} ms " in time.text


def test_an_open_placement_is_a_range_over_all_that_is_usual(told):
    open_memory = time_on("cortex-m55")
    told(open_memory.text)
    assert not open_memory.is_number
    ends = [
        time_on("cortex-m55", weights=weights, arena=arena).cycles for weights, arena in core_of("cortex-m55").usual
    ]
    assert open_memory.cycles == (min(low for low, _ in ends), max(high for _, high in ends))


def test_weights_from_slow_memory_make_no_single_number_of_a_dense_net():
    dense = [LayerWork("dense", 150_000, 150_000, Fetches(8000, 20))]
    assert time_on("cortex-m55", dense, weights="tcm", arena="tcm").is_number
    assert not time_on("cortex-m55", dense).is_number
    assert time_on("cortex-m55", dense, weights="mram", arena="tcm").parts.shares["weights"] > 0.25


CODE = [LayerWork("convolution", 900_000, 900_000, Fetches(2000, 500, 1000))]
"""A layer that fetches code again."""


def test_a_cache_that_holds_the_code_fetches_none_again():
    """Arduino Nano 33 BLE takes 10 % less for nets of depthwise layers than a cache of 1 KiB would."""
    small, large = (time_on("cortex-m4", CODE, code_cache=size).cycles for size in (1024, 16384))
    assert [most - none for most, none in zip(small, large, strict=True)] == pytest.approx([1000 * 7.5, 1000 * 30])


@pytest.mark.parametrize("size", [None, 2048])
def test_a_cache_of_unknown_size_is_a_range_over_both(size, told):
    small, large = (time_on("cortex-m4", CODE, code_cache=size) for size in (1024, 16384))
    both = time_on("cortex-m4", CODE, code_cache=size)
    assert both.cycles == (large.cycles[0], small.cycles[1])
    assert "; --config code-cache narrows it" in both.text
    assert "code-cache" not in small.text + large.text + time_on("cortex-m4", code_cache=size).text
    told(both.text)


def test_layers_of_unknown_cost_make_it_at_least(told):
    told(time_on("cortex-m33", left_out=2).text)
    told(time_on("cortex-m33", left_out=1).text)


@pytest.mark.parametrize(
    "cpu", [*sorted(set(CPUS) - {core.cpu for core in CORES}), "cortex-m4+nodsp", "cortex-m55+nomve"]
)
def test_other_cpus_and_builds_have_no_time(cpu, told):
    time = time_on(cpu)
    told(time.text)
    assert (time.milliseconds, time.fields["predicted_ms"]) == (None, None)


def test_a_memory_without_a_measurement_gives_no_time(told):
    told(time_on("cortex-m55", weights="flash").text)
    told(time_on("cortex-m4", arena="mram").text)


def test_no_time_where_no_cost_is_known(told):
    told(time_on("cortex-m4", (), left_out=5).text)


def test_a_model_takes_what_its_layers_take_and_the_runtime_once_in_a_run():
    for device in (Device("cortex-m55", 10**8, runtime="tflm"), Device("cortex-m4", 10**8, "flash", "sram")):
        core, time = core_of(device.cpu), predicted_time(device, LAYERS, 0)
        run = OVERHEADS.get(device.runtime, Overhead()).run
        for number, here in enumerate(time.placed):
            layers = [layer_time(device, layer).placed[number] for layer in LAYERS]
            once = [run[end] * core.bounds(OTHER)[end] for end in (0, 1)]
            assert here.least - once[0] == pytest.approx(sum(layer.least for layer in layers))
            assert here.most - once[1] == pytest.approx(sum(layer.most for layer in layers))


@given(
    st.sampled_from(CORES), st.lists(WORKS, min_size=1, max_size=5), st.sampled_from(["kernels", "reference"]),
    st.sampled_from(["", "tflm"]), st.booleans(),
)  # fmt: skip
def test_parts_add_up_to_the_middle_of_the_range(core, works, part, runtime, calibrated):
    board = Calibration(core.cpu, 1.5, 3, 2, 900, 0.1, "log") if calibrated else None
    device = Device(core.cpu, 10**8, "10", "3", runtime, board)
    layers = [LayerWork(kind, number, 2 * number + 1, Fetches(lines, lines), part) for kind, number, lines in works]
    time = predicted_time(device, layers, 0)
    assume(not time.reason)
    assert sum(time.parts) == pytest.approx(sum(time.cycles) / 2)
    assert sum(time.parts.shares.values()) == pytest.approx(1, abs=0.01)
    assert (time.parts.runtime > 0) == (calibrated or runtime == "tflm")


def test_parts_of_open_memories_are_not_told():
    assert time_on("cortex-m55").parts is None
    assert time_on("cortex-m55").fields["shares"] is None


def test_layers_are_taken_out_again():
    device = Device("cortex-m55", 10**8, runtime="tflm")
    first, second = (layer_time(device, layer) for layer in LAYERS)
    both = predicted_time(device, LAYERS, 0)
    left, alone = both.without([second]), predicted_time(device, LAYERS[:1], 1)
    assert (left.layers, left.left_out, left.range) == (1, 1, alone.range)
    assert left.cycles == pytest.approx(alone.cycles)
    assert both.without([first, second]).reason


def test_more_cycles_move_the_middle_and_keep_the_error():
    time = time_on("cortex-m55", weights="tcm", arena="tcm")
    more = time.more([50_000])
    assert sum(more.cycles) / 2 == pytest.approx(sum(time.cycles) / 2 + 50_000)
    assert more.error == pytest.approx(time.error)
    assert time.more([-1e12]).cycles == (0, 0)


@pytest.mark.parametrize(
    ("hertz", "text"),
    [(120_000_000, "120 MHz"), (32_768, "32.768 kHz"), (64_500_000, "64.5 MHz"), (1_234_567, "1,234.567 kHz")],
)
def test_clocks_are_shown_in_their_unit(hertz, text):
    assert clock_text(hertz) == text


@pytest.mark.parametrize(
    ("text", "hertz"),
    [("120MHz", 120_000_000), ("80 MHz", 80_000_000), ("32.768kHz", 32_768), ("64000000", 64_000_000), (5000, 5000)],
)
def test_clocks_are_read_with_their_units(text, hertz):
    assert frequency(text) == hertz


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("120", "did you mean 120MHz?"),
        ("120mhz", "did you mean 120MHz?"),
        ("120M", "did you mean 120MHz?"),
        ("3GHz", "units are Hz, kHz, MHz"),
        ("fast", "is not a number with Hz, kHz or MHz behind it or not"),
        ("-5MHz", "is not a number with Hz"),
        ("0", "is not between 1kHz and 2000MHz"),
        ("9999MHz", "is not between 1kHz and 2000MHz"),
        (True, "is not a number"),
    ],
)
def test_other_clocks_are_refused(text, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        frequency(text)


def test_a_least_of_no_instructions_stays_below_the_most():
    """Other widths of a model whose layers may take none today."""
    time = time_on("cortex-m4", [LayerWork("dense", 0, 1_000_000)], runtime="tflm")
    for more in (-10_000_000, 2_000_000):
        assert time.more([more]).cycles[0] <= time.more([more]).cycles[1]


def test_a_layer_without_elements_takes_no_time_at_least() -> None:
    """A damaged model has layers of 0 elements beside others, so that the least work is 0."""
    time = time_on("cortex-m4", [LayerWork("dense", 0, 1_000_000)])
    assert time.milliseconds[0] == 0
    assert "predicted 0 to " in time.text
