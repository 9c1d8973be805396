"""Which events of a profiler's log are the runs of a model, and what is said of a log that has none."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Protocol

import pytest

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.layers import LayerReport, layer_reports
from onnxlint_cmsis.analysis.measured_layers import MeasuredModel, measured_model
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.images import profiles
from onnxlint_cmsis.images.profiles import Profile, read_profile
from support.firmware_images import MODEL

THREE = ("CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D")
"""Operators of a model."""
HEAD = '"Event","Tag","Ticks"\n'
NOT_COUNTED = "The log does not say of how many inferences they are: taken as of a single one."
BEGINS, ENDS = "It begins within a run, which is left out.", "It ends within a run, which is left out."
SUMS = '"Unique Tag","Total ticks across all events with that tag."\n'


def profile_of(text: str) -> Profile:
    """What a log holds."""
    profile = read_profile(text)
    assert profile
    return profile


def csv_of(*events: tuple[str, int]) -> str:
    """What LogCsv prints of events with their ticks."""
    return HEAD + "".join(f"{number},{name},{ticks}\n" for number, (name, ticks) in enumerate(events))


def run_of(*ticks: int) -> tuple[tuple[str, int], ...]:
    """Events of one run of the model."""
    return tuple(zip(THREE, ticks, strict=True))


@pytest.fixture(name="report", scope="module")
def _report(tmp_path_factory: pytest.TempPathFactory) -> LayerReport:
    """A layer of a model."""
    path = tmp_path_factory.mktemp("model") / "m.tflite"
    path.write_bytes(MODEL)
    (report,) = layer_reports(ModelAnalysis(str(path), make_settings(str(path), targets=["m4"]).analysis))
    return report


class Laid(Protocol):
    """A log over a model with operators."""

    def __call__(self, text: str, operators: tuple[str, ...] = THREE) -> MeasuredModel:
        """What it measured."""


@pytest.fixture(name="laid", scope="module")
def _laid(report: LayerReport) -> Laid:
    def lay(text: str, operators: tuple[str, ...] = THREE) -> MeasuredModel:
        return measured_model([report._replace(op=operator) for operator in operators], profile_of(text))

    return lay


def values(measured: MeasuredModel) -> tuple[int, float, list[float]]:
    """How many runs a log has, their sum, and the medians of the layers."""
    return measured.runs, measured.profile.total, [row.value for row in measured.layers]


def of_runs(*runs: Sequence[int]) -> tuple[int, float, list[float]]:
    """The same of runs with these values."""
    return len(runs), sum(map(sum, runs)), [median(column) for column in zip(*runs, strict=True)]


@pytest.mark.parametrize(
    "own", ["Setup", "SETUP", "Pre process", "Model::Invoke", "fft, 512 points", "_warm", "DecompressToBuffer"]
)
@pytest.mark.parametrize("position", range(4))
def test_events_of_the_application_are_left_out(own: str, position: int, laid: Laid) -> None:
    events = [*run_of(7, 8, 9)]
    events.insert(position, (own, 1000))
    runs = laid(csv_of(*events, *run_of(1, 2, 3)) + csv_of(*events))
    assert values(runs) == of_runs([7, 8, 9], [1, 2, 3], [7, 8, 9])
    assert runs.remarks == (f"{own} is no operator: left out.",)


def test_of_many_events_of_the_application_three_are_named(laid: Laid) -> None:
    own = [(name, 4) for name in ("a", "b", "c", "d", "a")]
    assert laid(csv_of(*own, *run_of(7, 8, 9))).remarks == ("a, b, c and 1 more are no operators: left out.",)


def test_an_event_of_the_application_that_has_not_ended_is_left_out(laid: Laid) -> None:
    assert values(laid(csv_of(("Total", -1), *run_of(7, 8, 9)))) == of_runs([7, 8, 9])


def test_a_line_that_is_lost_beside_events_of_the_application_is_told(laid: Laid) -> None:
    text = csv_of(("Setup", 4), *run_of(7, 8, 9)).replace("2,DEPTHWISE_CONV_2D,8\n", "")
    assert laid(text).remarks[0] == "Event 1 is followed by event 3: lines are missing in it."


def test_a_log_with_events_of_the_application_alone_says_so(laid: Laid) -> None:
    assert laid(csv_of(("Setup", 4))).remarks[0] == "No event in it is an operator; the first is Setup."


def test_blocks_that_repeat_former_events_count_once(laid: Laid) -> None:
    first, second, third = run_of(7, 8, 9), run_of(70, 80, 90), run_of(1, 2, 3)
    grown = csv_of(*first) + csv_of(*first, *second)
    for text in (grown, grown + csv_of(*first, *second[:2])):
        runs = laid(text)
        assert values(runs) == of_runs([7, 8, 9], [70, 80, 90])
        assert runs.remarks[0] == "It repeats events of former runs, as without ClearEvents: each counts once."
    runs = laid(grown + csv_of(*first, *second, *third[:1]))
    assert values(runs) == of_runs([7, 8, 9], [70, 80, 90])
    assert runs.remarks[1] == "It ends within a run, which is left out."
    assert values(laid(csv_of(*first) + csv_of(*first, *second, *third[:1]))) == of_runs([7, 8, 9], [70, 80, 90])
    assert values(laid(csv_of(*first) + csv_of(*first, *second[:1]))) == of_runs([7, 8, 9])


def test_a_block_that_ends_within_a_later_run_keeps_its_whole_runs(laid: Laid) -> None:
    runs = laid(csv_of(*run_of(7, 8, 9), *run_of(1, 2, 3)) + csv_of(*run_of(4, 5, 6), *run_of(7, 7, 7)[:2]))
    assert values(runs) == of_runs([7, 8, 9], [1, 2, 3], [4, 5, 6])
    assert runs.remarks == (ENDS,)


def test_lines_of_log_that_repeat_former_events_count_once(laid: Laid) -> None:
    first, second, third = run_of(7, 8, 9), run_of(70, 80, 90), run_of(1, 2, 3)
    events = (*first, *first, *second, *first, *second, *third)
    runs = laid("".join(f"{name} took {ticks} ticks (0 ms).\n" for name, ticks in events))
    assert values(runs) == of_runs([7, 8, 9], [70, 80, 90], [1, 2, 3])
    assert len(runs.remarks) == 1


def test_equal_runs_are_several(laid: Laid) -> None:
    text = csv_of(*run_of(7, 8, 9))
    assert values(laid(text * 3)) == of_runs([7, 8, 9], [7, 8, 9], [7, 8, 9])
    took = "".join(f"{name} took 5 ticks (0 ms).\n" for name in THREE)
    assert laid(took * 3).runs == 3


@pytest.mark.parametrize("ticks", [[9000, 100, 50], [81_000, 16_000, 16_500, 1000]])
def test_layers_of_a_larger_net_are_no_runs_of_a_smaller_one(ticks: list[int], laid: Laid) -> None:
    """Names and counts fit where a net repeats the operators of another one."""
    dense = ("FULLY_CONNECTED",) * (2 - len(ticks) % 2)
    measured = laid(csv_of(*(("FULLY_CONNECTED", value) for value in ticks)), dense)
    assert (measured.runs, measured.layers) == (0, ())
    (said,) = measured.remarks
    assert said.endswith("in the same place: it is the log of another model, or a run was interrupted.")
    assert said.startswith(f"FULLY_CONNECTED took {max(ticks):,} and ")


@pytest.mark.parametrize(
    "runs", [[[9000, 200], [2500, 210]], [[50_000, 60_000, 50], [100, 61_000, 55]], [[40, 1], [1, 1]]]
)
def test_a_first_run_that_takes_longer_is_a_run(runs: list[list[int]], laid: Laid) -> None:
    """Caches are empty in it, and what is done once is done in it."""
    operators = THREE[: len(runs[0])]
    events = [pair for run in runs for pair in zip(operators, run, strict=True)]
    assert laid(csv_of(*events), operators).runs == 2


def test_runs_that_are_printed_apart_may_differ(laid: Laid) -> None:
    dense = ("FULLY_CONNECTED",)
    assert laid("".join(csv_of(("FULLY_CONNECTED", ticks)) for ticks in (9000, 100, 50)), dense).runs == 3


def took(*events: tuple[str, int]) -> str:
    """What Log prints of events with their ticks."""
    return "".join(f"{name} took {ticks} ticks (0 ms).\n" for name, ticks in events)


FIVE = (*run_of(700, 800, 900), ("RESHAPE", 5), ("SOFTMAX", 30))
"""Events of a run whose names tell where it begins."""


@pytest.mark.parametrize(
    ("before", "runs", "after", "remarks"),
    [
        (2, 1, 0, [BEGINS]), (4, 3, 0, [BEGINS]), (0, 1, 1, [ENDS]), (0, 2, 4, [ENDS]), (1, 2, 3, [BEGINS, ENDS]),
    ],
)  # fmt: skip
def test_runs_without_numbers_that_are_cut_are_left_out(
    before: int, runs: int, after: int, remarks: list[str], laid: Laid
) -> None:
    text = took(*FIVE[len(FIVE) - before :]) + took(*FIVE) * runs + took(*FIVE[:after])
    told = laid(text, tuple(name for name, _ in FIVE))
    assert (told.runs, [row.value for row in told.layers]) == (runs, [ticks for _, ticks in FIVE])
    assert list(told.remarks) == remarks


@pytest.mark.parametrize(
    "events",
    [
        FIVE[1:4],  # no whole run
        (*FIVE[:2], *FIVE[3:]),  # a line is lost
        (*FIVE[2:], *run_of(700, 800, 900), ("SOFTMAX", 30), ("RESHAPE", 5)),
    ],
)
def test_a_log_without_numbers_that_does_not_fit_may_lack_lines(
    events: tuple[tuple[str, int], ...], laid: Laid
) -> None:
    told = laid(took(*events), tuple(name for name, _ in FIVE))
    assert (told.runs, told.layers) == (0, ())
    assert told.remarks[0].endswith("it is the log of another model, or lines are missing in it.")


def test_layers_before_those_of_the_model_are_of_a_larger_one(laid: Laid) -> None:
    larger = (("RESHAPE", 5000), ("SOFTMAX", 9000), *FIVE)
    told = laid(took(*larger), tuple(name for name, _ in FIVE))
    assert "SOFTMAX took 9,000 and 30 in the same place: it is the log of another model" in told.remarks[0]


@pytest.mark.parametrize("rest", [("CONV_2D",), ("CONV_2D", "DEPTHWISE_CONV_2D")])
def test_where_names_do_not_tell_the_first_layer_no_run_is_cut(rest: tuple[str, ...], laid: Laid) -> None:
    operators = ("DEPTHWISE_CONV_2D", "CONV_2D") * 2
    names = (*rest, *operators, *operators)
    assert laid(took(*((name, 500) for name in names)), operators).runs == 0


@pytest.mark.parametrize("first", [1, 2])
def test_a_rotated_log_is_not_said_to_be_of_another_model(first: int, laid: Laid) -> None:
    rest = HEAD + "".join(f"{number},{THREE[number]},5\n" for number in range(first, 3))
    assert laid(rest).remarks[0] == f"It begins with event {first}: the start of the run is missing in it."
    runs = laid(rest + csv_of(*run_of(7, 8, 9)))
    assert values(runs) == of_runs([7, 8, 9])
    assert runs.remarks == (BEGINS,)


@pytest.mark.parametrize(
    ("ticks", "says"),
    [
        ("-1", "CONV_2D took -1 ticks: its event had not ended (EndEvent) when the log was printed."),
        (
            "4294967295",
            "CONV_2D took 4,294,967,295 ticks: its event had not ended (EndEvent) when the log was printed.",
        ),
        ("-5", "CONV_2D took -5 ticks: the counter wrapped or counts down; measure with a wider one that counts up."),
    ],
)
def test_negative_ticks_are_told(ticks: str, says: str, laid: Laid) -> None:
    assert laid(f"0,CONV_2D,{ticks}\n1,CONV_2D,5\n", ("CONV_2D",)).remarks[0].startswith(says)


@pytest.mark.parametrize(("value", "says"), [("-5", "-5"), ("1e308", "1e+308"), ("inf", "inf"), ("nan", "nan")])
def test_values_that_no_counter_gives_are_refused(value: str, says: str, laid: Laid) -> None:
    text = f"id,op,ARM_PMU_CPU_CYCLES\n0,CONV_2D,5\n1,CONV_2D,{value}\n"
    told = f"CONV_2D took {says} cycles, which no counter gives: the log is damaged."
    assert laid(text, ("CONV_2D",)).remarks[0] == told


def test_numbers_of_json_are_finite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, log = tmp_path / "m.tflite", tmp_path / "log.csv"
    model.write_bytes(MODEL)
    words = ["layers", str(model), "--isolated", "--target", "m4", "--measured", str(log), "--output-format", "json"]
    for value in ("1e308", "1e-320"):
        log.write_text(f"id,op,ARM_PMU_CPU_CYCLES\n0,CONV_2D,{value}\n1,CONV_2D,{value}\n")
        assert main(words) == 0
        shown = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["measured"]
        assert (shown["total"], shown["layers"]) == (None, [])
        assert "which no counter gives" in shown["remarks"][0]


@pytest.mark.parametrize("cell", ["\0" * 9, '"' + "x" * 200_000, '"\n' + "x\n" * 200_000])
def test_a_damaged_table_of_counters_is_read_up_to_the_damage(cell: str) -> None:
    profile = profile_of(f"id,op,ARM_PMU_CPU_CYCLES\n0,CONV_2D,5\n1,{cell},7\n")
    assert (profile.events[0].operator, profile.events[0].value) == ("CONV_2D", 5)
    assert len(profile.events) < 3


def test_bytes_of_zero_in_a_console_change_nothing(laid: Laid) -> None:
    assert values(laid("\0" + csv_of(*run_of(7, 8, 9)).replace("\n", "\n\0"))) == of_runs([7, 8, 9])


def test_totals_leave_out_events_of_the_application(laid: Laid) -> None:
    own = "Setup, 900\nPre process, 5\nf(x), 5\n"
    sums = laid(f'{SUMS}{own}DEPTHWISE_CONV_2D, 7\nCONV_2D, 5\n"total number of ticks", 922\n')
    assert (sums.runs, sums.profile.total) == (1, 12)
    assert sums.remarks[-1].startswith("Setup, process")
    assert NOT_COUNTED in sums.remarks


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("Setup, 9\nCONV_2D, 5\n", "DEPTHWISE_CONV_2D is in the model alone: it is the log of another model."),
        ("CONV_2D, 5\nDEPTHWISE_CONV_2D, 5\nSOFTMAX, 4\n", "SOFTMAX is in the log alone: it is the log of another"),
        ("CONV_2D, 0\nDEPTHWISE_CONV_2D, 0\nSetup, 4\n", "Every value in it is 0"),
        ("CONV_2D, 5\nDEPTHWISE_CONV_2D, -5\n", "DEPTHWISE_CONV_2D took -5 ticks: the counter wrapped"),
    ],
)
def test_totals_that_are_not_those_of_the_model_are_told(rows: str, says: str, laid: Laid) -> None:
    assert laid(SUMS + rows).remarks[0].startswith(says)


@pytest.mark.parametrize(
    ("text", "total", "counted"),
    [
        ("m-infer-start-10\r\nm-lap-us-1000\r\nm-lap-us-6000\r\nm-infer-done\r\n", 500, True),
        ("m-lap-us-900\nm-infer-start-10\nm-lap-us-1000\nm-lap-us-6000\n", 500, True),
        ("m-lap-us-1000\nm-lap-us-6000\n", 5000, False),
    ],
)
def test_laps_are_of_as_many_inferences_as_the_runner_says(text: str, total: float, counted: bool, laid: Laid) -> None:
    measured = laid(text)
    assert (measured.runs, measured.profile.total) == (1, total)
    assert (NOT_COUNTED in measured.remarks) is not counted


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("Conv2D", "CONV_2D"), ("DepthwiseConv2D", "DEPTHWISE_CONV_2D"), ("Conv2D", "QLinearConv"),
        ("Dense", "FULLY_CONNECTED"), ("Dense", "QGemm"), ("Gemm", "BATCH_MATMUL"), ("Pool", "AVERAGE_POOL_2D"),
        ("Padding", "PADV2"), ("Eltwise_Add", ""), ("Add", "ADD"), ("Conversion", ""), ("Convert", ""),
        ("Linear", "FULLY_CONNECTED"), ("Bilinear", ""), ("NonLinear", ""), ("Nonlinearity", ""), ("Address", ""),
        ("Multinomial", ""), ("Pooled", ""), ("Quantize", "cortex_m::quantize_per_tensor"),
    ],
)  # fmt: skip
def test_what_an_operator_computes_is_told_by_its_whole_name(name: str, operator: str, laid: Laid) -> None:
    row = f"0 1 {name} 1.2 60% 60% x\n"
    if operator:
        assert laid(row, (operator,)).runs == 1
        assert laid(row, ("SVDF",)).remarks == (
            f"Event 0 is {name}, and operator 0 is SVDF: it is the log of another model.",
        )
    for other in () if operator else ("CONV_2D", "FULLY_CONNECTED", "ADD", "MUL", "QUANTIZE", "PAD", "MAX_POOL_2D"):
        assert laid(row, (other,)).remarks == ("Names do not tell that it is the log of this model.",)


def test_a_name_that_two_tools_share_does_not_make_the_others_foreign(laid: Laid) -> None:
    rows = ["0 1 Conv2D 1.2 60% 60% a", "1 2 Conversion 0.1 1% 61% b", "2 3 Softmax 0.8 20% 100% c"]
    assert laid("\n".join(rows), ("Conv", "QuantizeLinear", "Softmax")).runs == 1


def test_an_exported_model_takes_the_log_of_its_conversion(laid: Laid) -> None:
    runs = laid(csv_of(("CONV_2D", 7), ("FULLY_CONNECTED", 8), ("SOFTMAX", 9)), ("Conv", "Gemm", "Softmax"))
    assert values(runs) == of_runs([7, 8, 9])


@pytest.mark.parametrize(
    "part",
    [
        "native_call_",
        "native_call_a 1 ",
        "a",
        "event_name a ",
        ":0,a,",
        "1 1 a ",
        "\x1b[1;",
        "a took ",
        " ",
        "1 ",
        "│ ",
    ],
)
@pytest.mark.parametrize("width", [4000, 200_000])
def test_a_hostile_line_is_read_in_time_that_grows_with_its_length(part: str, width: int) -> None:
    line = part * (width // len(part)) + "\n"
    text = f"event_name\nid,op,ARM_PMU_CPU_CYCLES\n{SUMS}{HEAD}{line * (200_000 // width)}"
    before = time.process_time()
    read_profile(text)
    assert time.process_time() - before < 1


def test_lines_beyond_the_most_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "MOST_LINES", 1000)
    text = "ab\n" * 200_000
    tracemalloc.start()
    read_profile(text)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 3 * len(text)


@pytest.mark.parametrize("end", [chr(number) for number in (10, 11, 12, 13, 28, 29, 30, 0x85, 0x2028, 0x2029)])
def test_a_line_ends_as_in_python(end: str) -> None:
    assert len(f"a{end}b".splitlines()) == 2
    assert profile_of(f"0,CONV_2D,7{end}1,SOFTMAX,8").total == 15
