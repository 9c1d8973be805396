"""Logs of profilers: each form is read, laid over the layers of its model, and tells what is wrong with a build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.layers import layer_reports
from onnxlint_cmsis.analysis.measured_layers import MeasuredModel, measured_model
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.images.profiles import read_profile
from support.firmware_images import MODEL
from support.paths import SHARED

PROFILES = SHARED / "cases" / "profiles"
PERSON = SHARED / "models" / "tflite" / "person_detect.tflite"
beside = pytest.mark.skipif(not PROFILES.exists(), reason="the profiles are not beside the project")

FORMS = [
    ('"Event","Tag","Ticks"\n0,CONV_2D,77\n1,SOFTMAX,33\n', "LogCsv", "ticks", [("CONV_2D", 77), ("SOFTMAX", 33)]),
    ("CONV_2D took 77 ticks (0 ms).\nSOFTMAX took 33 ticks (1 ms).\n", "Log", "ticks",
     [("CONV_2D", 77), ("SOFTMAX", 33)]),
    (
        "id,op,ARM_PMU_CPU_CYCLES,ARM_PMU_INST_RETIRED\n0,CONV_2D,900,500\n1,SOFTMAX,90,50\n", "heliaPROFILER",
        "instructions", [("CONV_2D", 500), ("SOFTMAX", 50)],
    ),
    ("id,op,ARM_PMU_CPU_CYCLES\n0,CONV_2D,900\n", "heliaPROFILER", "cycles", [("CONV_2D", 900)]),
    (
        "event_block_name event_name avg (ms) op_types is_delegated_op\n"
        "Execute native_call_cortex_m::quantized_conv2d.out 0.958706 [] False\n", "Inspector", "ms",
        [("cortex_m::quantized_conv2d.out", 0.958706)],
    ),
    (
        "c_id m_id type dur (ms) % cumul name\n0 1 Conv2D 1.234 60.5% 60.5% conv\n1 2 Softmax 0.800 39.5% 100% s\n",
        "ST Edge AI", "ms", [("Conv2D", 1.234), ("Softmax", 0.8)],
    ),
    (
        "0  1  Conv2D (0x103)  1,234  60,5 %  60,5 %  conv\n1  2  NL (0x107)  0,800  39,5 %  100,0 %  s\n",
        "ST Edge AI", "ms", [("Conv2D", 1.234), ("NL", 0.8)],
    ),
    ('"id","op","ARM_PMU_CPU_CYCLES"\n"0","CONV_2D","900"\n', "heliaPROFILER", "cycles", [("CONV_2D", 900)]),
    ("id;op;ARM_PMU_CPU_CYCLES\n0;CONV_2D;900\n", "heliaPROFILER", "cycles", [("CONV_2D", 900)]),
    ('"Event";"Tag";"Ticks"\n0;CONV_2D;77\n', "LogCsv", "ticks", [("CONV_2D", 77)]),
    ("0,CONV_2D,77\n[sensor] 9,temp,21\n1,SOFTMAX,33\n", "LogCsv", "ticks", [("CONV_2D", 77), ("SOFTMAX", 33)]),
    (
        ",event_block_name,event_name,raw,p10 (us),avg (us),op_types\n"
        "0,Execute,native_call_conv2d.out,\"[4.0, 6.0]\",4.5,5.0,['conv']\n", "Inspector", "us", [("conv2d.out", 5)],
    ),
    (
        ";event_block_name;event_name;avg (ms)\n0;Execute;native_call_conv2d.out;0,9587\n", "Inspector", "ms",
        [("conv2d.out", 0.9587)],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "form", "unit", "events"), FORMS)
def test_each_form_is_read(text: str, form: str, unit: str, events: list[tuple[str, float]]) -> None:
    profile = read_profile(f"boot\n{text}done\n")
    assert profile
    assert form in profile.form
    assert profile.unit == unit
    assert [(event.operator, event.value) for event in profile.events] == events


@pytest.mark.parametrize(
    ("text", "total", "unit"),
    [
        ("m-lap-us-1000\nm-lap-us-6500\n", 5500, "us"),
        ("invoke_cycles: 90, invoke_time_us: 9\ninvoke_cycles: 70, invoke_time_us: 7\n", 90, "cycles"),
        ('"Unique Tag","Total ticks across all events with that tag."\nCONV_2D, 7\nSOFTMAX, 2\n', 9, "ticks"),
    ],
)
def test_totals_are_read(text: str, total: float, unit: str) -> None:
    profile = read_profile(text)
    assert profile
    assert not profile.events
    assert (profile.total, profile.unit) == (total, unit)


def test_what_is_no_profile_is_none() -> None:
    assert read_profile("hello\nAllocateTensors() failed\n") is None


def measured(text: str, path: Path, cpu: str = "m4") -> MeasuredModel:
    """A log over the layers of a model."""
    settings = make_settings(str(path), targets=[cpu])
    profile = read_profile(text)
    assert profile
    return measured_model(layer_reports(ModelAnalysis(str(path), settings.analysis)), profile)


def conv(tmp_path: Path) -> Path:
    path = tmp_path / "m.tflite"
    path.write_bytes(MODEL)
    return path


def test_several_runs_give_the_median(tmp_path: Path) -> None:
    laid = measured("0,CONV_2D,70\n1,CONV_2D,90\n2,CONV_2D,71\n", conv(tmp_path))
    assert laid.runs == 3
    assert [row.value for row in laid.layers] == [71]


@pytest.mark.parametrize(
    ("log", "says"),
    [
        ("0,SOFTMAX,7\n", "log of another model"),
        ("0,CONV_2D,0\n", "Every value in it is 0"),
        ("m-lap-us-1\nm-lap-us-9\n", "totals alone"),
        ("m-infer-start-10\nm-lap-us-1000\n", "no second m-lap-us- of a run"),
        ("m-infer-start-10\nm-lap-us-1000\nm-lap-us-1000\n", "Every value in it is 0"),
        ("event_name;avg (ms)\nnative_call_conv2d.out;1,234\n", "1,234 may have a decimal comma or thousands apart"),
    ],
)
def test_a_log_that_does_not_fit_is_said_to_be_so(log: str, says: str, tmp_path: Path) -> None:
    laid = measured(log, conv(tmp_path))
    assert not laid.layers
    assert says in laid.remarks[0]


THREE = ["CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D"]
"""Operators of a model."""


def csv_of(*names: str, first: int = 0) -> str:
    """What LogCsv prints of events that take 10 ticks and more."""
    rows = [f"{first + index},{name},{10 + index}" for index, name in enumerate(names)]
    return "\n".join(['"Event","Tag","Ticks"', *rows, ""])


def laid(text: str, tmp_path: Path) -> MeasuredModel:
    """A log over a model with those operators."""
    path = conv(tmp_path)
    (report,) = layer_reports(ModelAnalysis(str(path), make_settings(str(path), targets=["m4"]).analysis))
    profile = read_profile(text)
    assert profile
    return measured_model([report._replace(op=operator) for operator in THREE], profile)


@pytest.mark.parametrize(
    "prefix", ["", "[00:00:12.345,000] <inf> tflm: ", "I (1234) app: ", "\x1b[0;32m12:01:02 > ", "\t", "<3>"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n"])
def test_what_a_console_writes_before_a_line_changes_nothing(prefix: str, end: str, tmp_path: Path) -> None:
    took = "".join(f"{name} took {number} ticks (0 ms).\n" for number, name in enumerate(THREE, 10))
    sums = '"Unique Tag","Total ticks"\nCONV_2D, 22\nDEPTHWISE_CONV_2D, 11\n"total number of ticks", 33\n'
    for text in (csv_of(*THREE), took):
        told = laid("".join(f"{prefix}{line}{end}" for line in text.splitlines()), tmp_path)
        assert [row.value for row in told.layers] == [10, 11, 12]
    profile = read_profile("".join(f"{prefix}{line}{end}" for line in sums.splitlines()))
    assert profile
    assert [(row.operator, row.value) for row in profile.sums] == [("CONV_2D", 22), ("DEPTHWISE_CONV_2D", 11)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (csv_of(*THREE[:2]), "It has 2 events, and the model 3 operators: it is cut, or the log of another model."),
        (csv_of(*THREE, *THREE[:1]), "It has 4 events, and the model 3 operators: it is cut, or"),
        (csv_of(*THREE).replace("1,DEPTHWISE_CONV_2D,11\n", ""), "Event 0 is followed by event 2: lines are missing"),
        (csv_of(*THREE[1:], first=1), "It begins with event 1: the start of the run is missing"),
        (csv_of(*THREE) + csv_of("CONV_2D", "SOFTMAX"), "Event 1 is SOFTMAX, and operator 1 is DEPTHWISE_CONV_2D"),
        (csv_of("ADD", "MUL", "SOFTMAX"), "It has ADD, and no name fits"),
        ("0 1 Softmax 1.2 60% 60% x\n1 2 Conv2D 0.8 20% 80% y\n2 3 Conv2D 0.8 20% 100% y\n", "Event 0 is Softmax"),
        ("0 1 Aa 1.2 60% 60% x\n1 2 Bb 0.8 20% 80% y\n2 3 Cc 0.8 20% 100% y\n", "Names do not tell"),
    ],
)
def test_a_log_that_may_be_of_another_model_is_not_laid_over_it(text: str, says: str, tmp_path: Path) -> None:
    told = laid(text, tmp_path)
    assert (told.layers, told.runs) == ((), 0)
    assert told.remarks[0].startswith(says)


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        (csv_of(*THREE) + csv_of(*THREE[:1]), "It ends within a run, which is left out."),
        (csv_of(*THREE[2:], first=2) + csv_of(*THREE), "It begins within a run, which is left out."),
        (f"Setup took 4 ticks (0 ms).\n{''.join(f'{name} took 9 ticks (0 ms).' + chr(10) for name in THREE)}",
         "Setup is no operator: left out."),
    ],
)  # fmt: skip
def test_a_log_with_more_than_whole_runs_has_these(text: str, remark: str, tmp_path: Path) -> None:
    told = laid(text, tmp_path)
    assert (len(told.layers), told.runs) == (3, 1)
    assert told.remarks == (remark,)


def test_names_of_another_tool_fit_where_they_mean_the_same(tmp_path: Path) -> None:
    rows = ["0 1 Conv2D 1.2 60% 60% a", "1 2 DepthwiseConv2D 0.8 20% 80% b", "2 3 Nonlinearity 0.8 20% 100% c"]
    assert laid("\n".join(rows), tmp_path).runs == 1


def test_sums_of_other_operators_are_of_another_model(tmp_path: Path) -> None:
    head = '"Unique Tag","Total ticks across all events with that tag."\n'
    assert measured(f"{head}SOFTMAX, 7\n", conv(tmp_path)).remarks[0].endswith("it is the log of another model.")
    assert "totals alone" in measured(f"{head}CONV_2D, 7\n", conv(tmp_path)).remarks[0]


@pytest.mark.parametrize("ticks", ["-5", "4294950000"])
def test_a_counter_that_wrapped_is_told(ticks: str, tmp_path: Path) -> None:
    told = measured(f"0,CONV_2D,{ticks}\n", conv(tmp_path))
    assert not told.layers
    assert "the counter wrapped" in told.remarks[0]


def test_zeros_of_another_tool_are_not_laid_to_tflm(tmp_path: Path) -> None:
    told = measured("id,op,ARM_PMU_CPU_CYCLES\n0,CONV_2D,0\n", conv(tmp_path))
    assert told.remarks == ("Every value in it is 0: nothing was measured.",)


def test_the_average_of_the_inspector_counts_in_its_unit() -> None:
    text = (
        "event_block_name │ event_name │ p10 (us) │ p50 (us) │ avg (us) │ max (us)\n"
        "Execute │ native_call_cortex_m::quantized_conv2d.out │ 1.0 │ 2.0 │ 3.0 │ 9e+02 │ []\n"
    )
    profile = read_profile(text)
    assert profile
    assert (profile.unit, [event.value for event in profile.events]) == ("us", [3.0])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_log_that_windows_wrote_is_read(encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes("0,CONV_2D,77\r\n".encode(encoding))
    words = ["layers", str(conv(tmp_path)), "--isolated", "--target", "m4", "--measured", str(log)]
    assert main([*words, "--output-format", "json"]) == 0
    assert [row["measured"] for row in json.loads(capsys.readouterr().out)["measured"]["layers"]] == [77]


def test_no_timing_is_written_from_the_log_of_another_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, timing = tmp_path / "log.txt", tmp_path / "board.toml"
    log.write_text("0,SOFTMAX,7\n")
    words = ["layers", str(conv(tmp_path)), "--isolated", "--target", "m4", "--clock", "100MHz"]
    assert main([*words, "--measured", str(log), "--write-timing", str(timing)]) == 2
    assert "it is the log of another model" in " ".join(capsys.readouterr().err.split())
    assert not timing.exists()


@beside
@pytest.mark.parametrize(
    ("name", "cpu", "cause"),
    [
        ("m4_prof_person", "m4", ""),
        ("m4_prof_person_nnOs", "m4", ""),
        ("m55_prof_person", "m55", ""),
        ("m4_prof_person_nnO0", "m4", "Perhaps CMSIS-NN is not optimized (-O0)"),
        ("m4_prof_person_ref", "m4", "Perhaps reference code computes it"),
    ],
)
def test_the_pattern_names_the_cause(name: str, cpu: str, cause: str) -> None:
    laid = measured((PROFILES / f"{name}.log").read_text(), PERSON, cpu)
    assert len(laid.layers) == 31
    causes = [remark for remark in laid.remarks if "factors" in remark]
    assert [text[: len(cause)] for text in causes] == [cause] * bool(cause)


@beside
def test_a_single_layer_off_its_neighbours_is_told() -> None:
    text = (PROFILES / "m4_prof_person.log").read_text().replace("14,CONV_2D,26991", "14,CONV_2D,80000")
    (remark,) = measured(text, PERSON).remarks
    assert remark.startswith("CONV_2D#14 takes 3.0 times")


@beside
def test_a_sound_build_is_within_eight_percent() -> None:
    laid = measured((PROFILES / "m4_prof_person.log").read_text(), PERSON)
    factors = [row.factor for row in laid.layers if row.factor and (row.report.instructions or 0) >= 10_000]
    assert len(factors) == 28
    assert all(0.9 <= factor <= 1.06 for factor in factors)


def test_the_command_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.txt"
    log.write_text("CONV_2D took 77 ticks (0 ms).\n")
    words = ["layers", str(conv(tmp_path)), "--isolated", "--target", "m4", "--measured", str(log)]
    assert main([*words, "--output-format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)["measured"]
    assert [row["measured"] for row in shown["layers"]] == [77]
    assert shown["unit"] == "ticks"
    assert main(words) == 0
    assert "Measured: " in capsys.readouterr().out
    log.write_text("nothing")
    assert main(words) == 2
