"""`layers --measured LOG --write-timing FILE`: one measurement says the time of other models on the board."""

from __future__ import annotations

import json

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.timing.calibration import Calibration
from support.models import text

NET = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 8, 24, 24] x) => (float[1, N, 24, 24] y)
    <float[16, 8, 3, 3] a = {1}, float[16, 16, 1, 1] b = {1}, float[32, 16, 3, 3] c = {1}, float[32, 32, 1, 1] d = {1},
    float[16, 32, 3, 3] e = {1}, float[N, 16, 1, 1] f = {1}> {
        t = Conv<pads = [1, 1, 1, 1]>(x, a)
        u = Conv(t, b)
        v = Conv<pads = [1, 1, 1, 1]>(u, c)
        w = Conv(v, d)
        z = Conv<pads = [1, 1, 1, 1]>(w, e)
        y = Conv(z, f)
    }
"""
OPTIONS = ("--isolated", "--target", "cortex-m4", "--clock", "100MHz")


@pytest.fixture
def layers(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, channels in (("net", 8), ("other", 24)):
        (tmp_path / f"{name}.onnx").write_bytes(text(NET.replace("N", str(channels))).SerializeToString())

    def called(*argv):
        code = main(["layers", *argv, *OPTIONS])
        out, err = capsys.readouterr()
        return code, out, err

    return called


def log(folder, cycles):
    rows = "".join(f'"{number}","Conv","{value}"\n' for number, value in enumerate(cycles))
    (folder / "log.csv").write_text(f'"Event","Tag","Ticks"\n{rows}')


def instructions(layers):
    return [row["instructions"] for row in json.loads(layers("net.onnx", "--output-format", "json")[1])["layers"]]


def test_a_log_of_one_model_says_the_time_of_another(layers, tmp_path):
    log(tmp_path, [2 * number for number in instructions(layers)])
    code, out, _ = layers("net.onnx", "--measured", "log.csv", "--write-timing", "board.json")
    assert code == 0
    assert "Written: board.json. Other models on this board: ±" in " ".join(out.split())
    board = json.loads((tmp_path / "board.json").read_text())
    assert (board["cpu"], board["source"]) == ("cortex-m4", "net.onnx, log.csv")
    answer = json.loads(layers("other.onnx", "--timing", "board.json", "--output-format", "json")[1])
    total = answer["totals"][0]
    low, high = total["time"]["predicted_ms"]["low"], total["time"]["predicted_ms"]["high"]
    assert low < 2 * total["instructions"] / 100_000 < high
    assert total["time"]["error"] <= 0.12
    assert total["time"]["calibrated"] == "net.onnx, log.csv"


def test_two_measurements_that_disagree_are_told(layers, tmp_path, told):
    """The log of a slower build is held against the timing before it goes over it, or without being written."""
    costs = json.loads(layers("other.onnx", "--output-format", "json")[1])["layers"]
    for times in (2, 3):
        log(tmp_path, [2 * number for number in instructions(layers)])
        layers("net.onnx", "--measured", "log.csv", "--write-timing", "board.json")
        log(tmp_path, [times * row["instructions"] for row in costs])
        for option in (("--timing", "board.json"), ("--write-timing", "board.json")):
            code, out, _ = layers("other.onnx", "--measured", "log.csv", *option)
            assert code == 0
            told(" ".join(out.rpartition("median layer.\n")[2].split()))
    assert json.loads((tmp_path / "board.json").read_text())["source"] == "other.onnx, log.csv"


def test_json_has_what_the_text_says_of_the_timing(layers, tmp_path):
    log(tmp_path, [2 * number for number in instructions(layers)])
    options = ("net.onnx", "--measured", "log.csv", "--write-timing", "board.json", "--output-format", "json")
    assert json.loads(layers(*options)[1])["timing"].startswith("Written: board.json. Other models on this board: ±")
    assert "timing" not in json.loads(layers("net.onnx", "--output-format", "json")[1])


def test_a_timing_of_another_cpu_says_nothing_of_the_log(layers, tmp_path, capsys):
    log(tmp_path, [2 * number for number in instructions(layers)])
    board = Calibration("cortex-m55", 1, 0, 0, 0, 0.1, "x")
    (tmp_path / "board.json").write_text(board.text())
    (tmp_path / "onnxlint-cmsis.toml").write_text("targets = ['cortex-m55']\ntiming = 'board.json'\n")
    assert main(["layers", "net.onnx", "--measured", "log.csv", "--target", "cortex-m4", "--clock", "100MHz"]) == 2
    assert "timing: it is of cortex-m55, and the log of cortex-m4" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["layers"], ["widths"], ["report", "-o", "r.html"]])
@pytest.mark.usefixtures("layers")
def test_a_timing_of_a_cpu_that_is_no_target_is_refused(tmp_path, capsys, command):
    """It would say nothing of the time, and the public figures would look like those of the board."""
    (tmp_path / "board.json").write_text(Calibration("cortex-m55", 1.0, 0.0, 0.0, 0.0, 0.15, "net.onnx").text())
    assert main([*command, "net.onnx", *OPTIONS, "--timing", "board.json"]) == 2
    said = "it is of cortex-m55, which is not among the targets, cortex-m4"
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("layers")
def test_a_timing_in_a_file_may_be_of_a_cpu_that_the_command_line_does_not_ask_about(tmp_path, capsys):
    (tmp_path / "board.json").write_text(Calibration("cortex-m55", 1.0, 0.0, 0.0, 0.0, 0.15, "net.onnx").text())
    (tmp_path / "onnxlint-cmsis.toml").write_text("targets = ['cortex-m55']\ntiming = 'board.json'\n")
    assert main(["net.onnx", "--target", "cortex-m4", "--clock", "100MHz"]) != 2
    assert "calibrated" not in capsys.readouterr().out


def test_a_log_in_another_unit_is_refused_and_writes_nothing(layers, tmp_path):
    log(tmp_path, [number // 1000 for number in instructions(layers)])
    code, _, err = layers("net.onnx", "--measured", "log.csv", "--write-timing", "board.json")
    assert code == 2
    assert "its unit is no cycle" in err
    assert not (tmp_path / "board.json").exists()


@pytest.mark.parametrize("target", ["net.onnx", "./net.onnx", "log.csv"])
def test_neither_the_model_nor_the_log_is_written_over(layers, tmp_path, target):
    log(tmp_path, [2 * number for number in instructions(layers)])
    before = [(tmp_path / name).read_bytes() for name in ("net.onnx", "log.csv")]
    code, _, err = layers("net.onnx", "--measured", "log.csv", "--write-timing", target)
    assert (code, "is the model or the log: name another file" in err) == (2, True)
    assert [(tmp_path / name).read_bytes() for name in ("net.onnx", "log.csv")] == before


def test_without_a_log_there_is_nothing_to_write(layers, tmp_path):
    assert layers("net.onnx", "--write-timing", "board.json")[0] == 2
    assert not (tmp_path / "board.json").exists()


@pytest.mark.parametrize("command", [["layers"], []])
@pytest.mark.usefixtures("layers")
def test_a_file_that_is_no_timing_is_one_sentence(tmp_path, capsys, command):
    (tmp_path / "board.json").write_text("[]")
    assert main([*command, "net.onnx", *OPTIONS, "--timing", "board.json"]) == 2
    path = tmp_path / "board.json"
    said = f"onnxlint-cmsis: error: timing: {path}: it is no calibration of version 1\n"
    assert capsys.readouterr().err == said
