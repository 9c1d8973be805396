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
    ],
)
def test_a_log_that_does_not_fit_is_said_to_be_so(log: str, says: str, tmp_path: Path) -> None:
    laid = measured(log, conv(tmp_path))
    assert not laid.layers
    assert says in laid.remarks[0]


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
