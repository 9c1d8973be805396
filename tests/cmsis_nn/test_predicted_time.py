"""Predicted time: rows of cycles per instruction, arithmetic of the range, and its words."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.cmsis_nn.cycles import ROWS, WIDEST, cycle_range
from onnxlint_cmsis.cmsis_nn.targets import CPUS
from onnxlint_cmsis.cmsis_nn.time import clock_text, predicted_time
from onnxlint_cmsis.config.keys import frequency
from onnxlint_cmsis.ground.types import PLACEMENTS
from support.linter import target_of

LAYER = re.compile(r"(convolution|depthwise) (\d)x\d(?: stride (\d))?, (\d+)x\d+x(\d+)(?: to (\d+))?")
DENSE = re.compile(r"fully connected, (\d+) to (\d+)")


def time_on(cpu, instructions=1_000_000, clock=100_000_000, memory="unknown", left_out=0):
    return predicted_time(target_of(cpu, "7.0.0", "gcc"), clock, memory, (instructions, instructions), left_out)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.cpu + row.memory)
def test_a_row_holds_all_its_nets_and_is_hardly_wider_on_top(row):
    ratios = [net.ratio for net in row.nets]
    assert row.low <= min(ratios)
    assert max(ratios) <= row.high < max(ratios) + 0.02
    assert all(net.cycles > 0 < net.instructions for net in row.outside)
    assert row.address.startswith("https://github.com/")


def test_the_spreads_are_those_that_the_docs_tell():
    told = {(row.cpu, row.memory): round(100 * row.spread) for row in ROWS}
    assert told == {
        ("cortex-m4", ""): 12,
        ("cortex-m33", ""): 6,
        ("cortex-m55", "tcm"): 15,
        ("cortex-m55", "sram"): 20,
        ("cortex-m85", ""): 35,
    }


def sizes(name):
    """The record of `cost` for a layer of a row, None for a whole net."""
    if dense := DENSE.fullmatch(name):
        source, result = map(int, dense.groups())
        return {"kind": "fc", "h": 1, "w": 1, "in_c": source, "kh": 1, "kw": 1, "out_c": result, "out_h": 1, "out_w": 1}
    match = LAYER.fullmatch(name)
    if match is None:
        return None
    kernel, stride, side, source, result = (int(text or 0) for text in match.groups()[1:])
    out = side // (stride or 1)
    record = {"h": side, "w": side, "in_c": source, "kh": kernel, "kw": kernel, "out_h": out, "out_w": out}
    strides = {"stride_h": stride or 1, "stride_w": stride or 1, "pad_h": kernel // 2, "pad_w": kernel // 2}
    kind = {"kind": "dw", "ch_mult": 1} if match[1] == "depthwise" else {"kind": "conv"}
    return {**kind, **record, **strides, "out_c": result or source}


def test_instructions_of_the_rows_layers_are_those_that_are_predicted(tmp_path, capsys):
    layers = [(net, record) for row in ROWS for net in row.nets if (record := sizes(net.name))]
    assert len(layers) == 12
    file = tmp_path / "layers.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for _, record in layers))
    assert main(["shape", "--output-format", "json", "--target", "cortex-m55", str(file)]) == 0
    answers = [json.loads(line)["instructions"] for line in capsys.readouterr().out.splitlines()]
    assert answers == [net.instructions for net, _ in layers]


@given(st.integers(1, 10**12), st.integers(1_000, 2_000_000_000), st.sampled_from(ROWS))
def test_the_range_holds_the_product_and_is_never_one_number(instructions, clock, row):
    if row.spread > WIDEST:
        assert time_on(row.cpu, instructions, clock, row.memory).milliseconds is None
        return
    low, high = time_on(row.cpu, instructions, clock, row.memory or "unknown").milliseconds
    exact_low, exact_high = (1000 * instructions * cycles / clock for cycles in (row.low, row.high))
    assert low <= exact_low * (1 + 1e-9)
    assert high >= exact_high * (1 - 1e-9)
    assert low == pytest.approx(exact_low, rel=0.011)
    assert high == pytest.approx(exact_high, rel=0.011)
    assert low < high


def test_the_words_have_the_range_the_clock_and_the_source(told):
    told(time_on("cortex-m4").text)


def test_layers_of_unknown_cost_make_it_at_least(told):
    told(time_on("cortex-m33", left_out=2).text)
    told(time_on("cortex-m33", left_out=1).text)


def test_a_known_placement_narrows_the_range_of_m55(told):
    unknown, tcm, sram = (time_on("cortex-m55", memory=memory) for memory in PLACEMENTS)
    assert unknown.milliseconds == (tcm.milliseconds[0], sram.milliseconds[1])
    told(unknown.text)
    assert "memory=" not in tcm.text + sram.text
    assert ("Apollo510" in tcm.text, "Alif" in tcm.text) == (True, False)
    assert ("Apollo510" in sram.text, "Alif" in sram.text) == (False, True)


def test_a_placement_changes_nothing_on_other_cpus():
    assert len({time_on("cortex-m4", memory=memory) for memory in PLACEMENTS}) == 1


@pytest.mark.parametrize("cpu", [*sorted(set(CPUS) - {row.cpu for row in ROWS}), "cortex-m4+nodsp", "cortex-m55+nomve"])
def test_other_cpus_and_builds_have_no_time(cpu, told):
    time = time_on(cpu)
    told(time.text)
    assert (time.milliseconds, time.fields["predicted_ms"]) == (None, None)


def test_figures_too_far_apart_give_no_time(told):
    cycles = cycle_range(target_of("cortex-m85", "7.0.0", "gcc"), "unknown")
    assert cycles.high == 0
    told(cycles.reason)


def test_no_time_where_no_cost_is_known(told):
    told(time_on("cortex-m4", instructions=0, left_out=5).text)


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


def test_a_range_of_instructions_widens_the_range_of_times() -> None:
    """The least instructions at the fewest cycles, the most at the most."""
    target = target_of("cortex-m4", "7.0.0", "gcc")
    single, other = (predicted_time(target, 100_000_000, "any", (number, number), 0) for number in (10**6, 3 * 10**6))
    both = predicted_time(target, 100_000_000, "any", (10**6, 3 * 10**6), 0)
    assert both.milliseconds == ((single.milliseconds or (0, 0))[0], (other.milliseconds or (0, 0))[1])


def test_a_layer_without_elements_takes_no_time_at_least() -> None:
    """A damaged model has layers of 0 elements beside others, so that the least work is 0."""
    from onnxlint_cmsis.cmsis_nn import time as module

    assert module._shown(0.0) == "0"
    assert module._rounded(0.0, math.floor) == 0
