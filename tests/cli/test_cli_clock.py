"""`--clock` and the setting `memory`: predicted time in `layers` and in the summary of linting."""

from __future__ import annotations

import json
import re

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.timing.cores import ERROR_OF_OTHERS, OTHER, core_of
from onnxlint_cmsis.timing.device import OVERHEADS
from support.models import text
from support.tflite_models import conv_model
from support.tflite_writer import write

TARGETS = ("--target", "cortex-m4,cortex-m3")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tflite").write_bytes(write(conv_model()))

    def called(*argv):
        code = main([*argv, "a.tflite"])
        out, err = capsys.readouterr()
        return code, out, err

    return called


def test_layers_tells_a_range_and_its_source(run, told):
    out = " ".join(run("layers", *TARGETS, "--clock", "120MHz")[1].split())
    assert out.count("time: predicted") == 1
    told(out)
    told(out)


def test_nothing_is_said_of_time_without_a_clock(run):
    for command in ((), ("layers",)):
        out = run(*command, *TARGETS)[1]
        assert " ms at " not in out
        assert "no prediction" not in out
    totals = json.loads(run("layers", *TARGETS, "--output-format", "json")[1])["totals"]
    assert ["time" in total for total in totals] == [False, False]


def test_json_of_layers_has_the_bounds_of_the_instructions_told(run):
    options = (*TARGETS, "--clock", "cortex-m4=1MHz", "--output-format", "json")
    first, second = json.loads(run("layers", *options)[1])["totals"]
    low, high = first["time"]["predicted_ms"]["low"], first["time"]["predicted_ms"]["high"]
    core = core_of("cortex-m4")
    assert low >= (1 - ERROR_OF_OTHERS) * min(core.factors.values()) * first["instructions"] / 1000
    assert low < max(core.factors.values()) * first["instructions"] / 1000 < high
    assert first["time"]["clock_hz"] == 1_000_000
    assert "time" not in second


def test_summaries_in_text_json_and_sarif_tell_the_same(run, told):
    options = (*TARGETS, "--clock", "120MHz")
    first, second = run(*options)[1].splitlines()
    assert (" ms at 120 MHz, arena " in first, " instructions, arena " in second) == (True, True)
    text = " ".join(run("-v", *options)[1].split())
    assert "time cortex-m4: predicted " in text
    told(text)
    summary = json.loads(run(*options, "--output-format", "json")[1])["files"][0]["summary"]
    first, second = (target["time"] for target in summary["targets"])
    assert first["predicted_ms"]["low"] < first["predicted_ms"]["high"]
    assert second["predicted_ms"] is None
    told(second["reason"])
    sarif = json.loads(run(*options, "--output-format", "sarif")[1])["runs"][0]["properties"]["summaries"][0]
    assert [target["time"] for target in sarif["targets"]] == [first, second]


def test_no_time_where_the_cost_of_no_layer_is_known(run, told):
    options = ("--target", "cortex-m4", "--clock", "120MHz", "--config", "cmsis-nn-build=NONE")
    out = " ".join(run("layers", *options)[1].split())
    told(out)


def test_the_file_gives_clock_and_placement(run, tmp_path, told):
    config = 'targets = ["cortex-m55"]\nweights-in = "mram"\narena-in = "sram"\n[clock]\ncortex-m55 = "160MHz"\n'
    (tmp_path / "onnxlint-cmsis.toml").write_text(config)
    out = " ".join(run("layers")[1].split())
    told(out)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--clock", "120"), "--clock: '120' is 120 Hz, less than 1kHz; did you mean 120MHz?"),
        (("--clock", "2GHz"), "--clock: '2GHz' has a unit that is not known; units are Hz, kHz, MHz"),
        (("--clock", "cortex-m55=1MHz"), "--clock: cortex-m55 is not among the targets, cortex-m4, cortex-m3"),
        (
            ("--weights-in", "rom"),
            "--weights-in: 'rom' is not one of unknown, tcm, sram, flash, mram, xip, and no whole number of cycles for "
            "a line of 32 bytes",
        ),
    ],
)
def test_bad_values_are_told_in_one_line(run, options, said):
    assert run("layers", *TARGETS, *options) == (2, "", f"onnxlint-cmsis: error: {said}\n")


def ms(text):
    """The first range in a text: `284 to 362 ms`."""
    match = re.search(r"predicted ([\d.,]+ to [\d.,]+ ms)", " ".join(text.split()))
    return match[1] if match else ""


def test_compare_and_widths_and_the_report_tell_the_same_range(run, tmp_path, told):
    options = (*TARGETS, "--clock", "120MHz")
    predicted = ms(run("layers", *options)[1])
    assert predicted
    compared = " ".join(run("compare", "a.tflite", *options)[1].split())
    assert f": predicted {predicted} at" in compared
    told(compared)
    markdown = run("compare", "a.tflite", *options, "--output-format", "markdown")[1]
    assert f"| cortex-m4 | predicted {predicted} at" in markdown
    (pair, _) = json.loads(run("compare", "a.tflite", *options, "--output-format", "json")[1])["times"]
    assert pair["before"] == pair["after"]
    assert pair["after"]["predicted_ms"]["low"] > 0
    assert ms(run("widths", *options)[1]) == predicted
    assert run("report", *options, "-o", "page.html", "--against", "a.tflite")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count(f"predicted {predicted}") >= 3
    told(page)


def test_every_screen_that_tells_times_takes_a_board(run, tmp_path):
    options = ("--board", "nucleo-l4r5zi")
    predicted = ms(run("layers", *options)[1])
    assert predicted
    assert ms(run("widths", *options)[1]) == predicted
    assert f": predicted {predicted} at" in " ".join(run("compare", "a.tflite", *options)[1].split())
    assert f"predicted {predicted}" in " ".join(run(*options)[1].split())
    assert run("report", *options, "-o", "page.html")[0] == 0
    assert f"predicted {predicted}" in (tmp_path / "page.html").read_text()


def test_a_board_says_how_large_its_cache_for_code_is(tmp_path, capsys):
    (tmp_path / "m.onnx").write_bytes(text(TWO_LAYERS).SerializeToString())

    def low(*options):
        assert main(["layers", "--isolated", str(tmp_path / "m.onnx"), *options, "--output-format", "json"]) == 0
        (total,) = json.loads(capsys.readouterr().out)["totals"]
        return total["time"]["predicted_ms"]["low"]

    clock = ("--target", "cortex-m4", "--clock", "120MHz")
    board = low("--board", "nucleo-l4r5zi")
    assert board == low(*clock, "--config", "code-cache=1K")
    assert board > low(*clock) == low(*clock, "--config", "code-cache=16K")


def ends(fields):
    return fields["predicted_ms"]["low"], fields["predicted_ms"]["high"]


def test_each_layer_has_its_time_in_every_output(run, tmp_path):
    """The bounds of layers and what the runtime does once in a run are those of the model."""
    options = ("--target", "cortex-m4", "--clock", "1MHz")
    report = json.loads(run("layers", *options, "--output-format", "json")[1])
    (layer,) = (row["time"] for row in report["layers"] if "time" in row)
    bounds = core_of("cortex-m4").bounds(OTHER)
    once = [cycles * bound / 1000 for cycles, bound in zip(OVERHEADS["tflm"].run, bounds, strict=True)]
    whole = [number + more for number, more in zip(ends(layer), once, strict=True)]
    assert ends(report["totals"][0]["time"]) == pytest.approx(whole, abs=0.1)
    amount = "{} to {} ms".format(*(f"{number:#.3g}".rstrip(".") for number in ends(layer)))
    assert amount in run("layers", *options)[1]
    for form, key in (("json", "files"), ("sarif", "runs")):
        whole = json.loads(run(*options, "--output-format", form)[1])[key][0]
        summary = whole["summary"] if form == "json" else whole["properties"]["summaries"][0]
        (listed,) = summary["targets"][0]["time"]["layers"]
        assert listed == {"node": report["layers"][0]["node"], **layer}
    run("report", *options, "-o", "page.html")
    assert f'<span class="number">{amount}</span>' in (tmp_path / "page.html").read_text()


def test_compare_tells_the_time_of_a_layer_that_changed(tmp_path, capsys, told):
    for name, width in (("old", 8), ("new", 16)):
        changed = TWO_LAYERS.replace("8, 4, 3, 3", f"{width}, 4, 3, 3").replace("4, 8, 3, 3", f"4, {width}, 3, 3")
        (tmp_path / f"{name}.onnx").write_bytes(text(changed).SerializeToString())
    words = ["compare", "--isolated", "--target", "cortex-m4", str(tmp_path / "old.onnx"), str(tmp_path / "new.onnx")]
    main([*words, "--clock", "1MHz"])
    lines = " ".join(capsys.readouterr().out.split())
    told(lines.partition("2 layers changed ")[2])
    main([*words, "--clock", "1MHz", "--output-format", "markdown"])
    assert "| predicted instructions | predicted time |\n|---|---|---|---|---|\n" in capsys.readouterr().out
    main([*words, "--output-format", "markdown"])
    assert "predicted time" not in capsys.readouterr().out


def test_what_takes_the_time_and_what_saves_some(run, told, tmp_path):
    options = ("--target", "cortex-m55", "--clock", "250MHz", "--weights-in")
    said = {}
    for memory in ("mram", "300", "tcm"):
        lines = run("layers", *options, memory, "--arena-in", "tcm")[1].splitlines()
        said[memory] = next(line for line in lines if line.startswith("what takes the time"))
        told(said[memory])
    assert "what takes the time" not in run("layers", *options, "unknown")[1]
    assert run("report", *options, "300", "--arena-in", "tcm", "-o", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert said["300"].replace(": ", "</dt><dd><b>") + "</b>" in page


TWO_LAYERS = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 16, 16] x) => (float[1, 4, 16, 16] y) <float[8, 4, 3, 3] v = {1}, float[4, 8, 3, 3] w = {1}> {
        a = Conv<pads = [1, 1, 1, 1]>(x, v)
        y = Conv<pads = [1, 1, 1, 1]>(a, w)
    }
"""


def test_float_kernels_have_no_time_since_none_was_measured(tmp_path, capsys):
    path = tmp_path / "net.onnx"
    path.write_bytes(text(TWO_LAYERS).SerializeToString())
    words = ["layers", "--isolated", "--target", "cortex-m4", "--assume", "f32", "--clock", "1MHz", str(path)]
    assert main(words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "predicted instructions (not cycles)" in out
    assert "time: no prediction: no public measurement of CMSIS-NN's float kernels" in out
    assert main([*words, "--output-format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["totals"][0]["time"]["predicted_ms"] is None
    assert not [layer for layer in report["layers"] if "time" in layer]
    assert main(["widths", *words[1:]]) == 0
    assert " ms)" not in capsys.readouterr().out
    assert main(["widths", *words[1:], "--output-format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {*(step["predicted_ms"][0] for group in report["classes"] for step in group["widths"])} == {None}


def test_json_of_widths_has_a_range_for_every_width(tmp_path, capsys):
    path = tmp_path / "net.onnx"
    path.write_bytes(text(TWO_LAYERS).SerializeToString())
    words = ["widths", "--isolated", "--target", "cortex-m4", "--output-format", "json", str(path)]
    assert main([*words, "--clock", "1MHz"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["time"][0]["clock_hz"] == 1_000_000
    steps = [step for group in report["classes"] for step in group["widths"]]
    assert len(steps) == 13
    for step in steps:
        (bounds,) = step["predicted_ms"]
        ratio = step["instructions"][0] / report["time"][0]["predicted_ms"]["low"]
        assert step["instructions"][0] / bounds["low"] == pytest.approx(ratio, rel=1.0)
        assert bounds["low"] < bounds["high"]
    now, wide = (next(step for step in steps if step["size"] == size) for size in (8, 16))
    model = TWO_LAYERS.replace("8, 4, 3, 3", "16, 4, 3, 3").replace("4, 8, 3, 3", "4, 16, 3, 3")
    path.write_bytes(text(model).SerializeToString())
    assert main(["layers", *words[1:], "--clock", "1MHz"]) == 0
    widened = json.loads(capsys.readouterr().out)["totals"][0]["time"]["predicted_ms"]
    assert wide["predicted_ms"][0] == pytest.approx(widened, rel=0.02)
    assert now["predicted_ms"][0] == report["time"][0]["predicted_ms"]
    assert main(words) == 0
    assert "time" not in json.loads(capsys.readouterr().out)
