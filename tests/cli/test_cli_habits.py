"""What users of ruff expect: suggestions, .gitignore, the folder as default, completion, rdjson."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from onnxlint_cmsis import layers, lint
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.cli.progress import ProgressLine
from onnxlint_cmsis.config.settings import KEYS
from support.goldens import Told
from support.models import text
from support.report_models import NET, write_model

MODEL = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y) <float[4, 3, 1, 1] v = {1}, float[3, 4, 1, 1] w = {1}> {
        a = Conv(x, v)
        y = Conv(a, w)
    }
"""
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("kept.onnx", "out/made.onnx"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(text(MODEL).SerializeToString())
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main([*words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--taget", "m4", "x.onnx"], "did you mean --target"),
        (["--target", "cortex-m44", "x.onnx"], "did you mean cortex-m4"),
        (["--release", "7.0.0x", "x.onnx"], "did you mean 7.0.0"),
        (["--release", "7.0", "x.onnx"], "did you mean 7.0.0"),
        (["--release", "5.8", "x.onnx"], "did you mean cmsis5-5.8.0"),
        (["--runtime", "tlfm", "x.onnx"], "allowed: direct, tflm"),
        (["--runtime", "executorc", "x.onnx"], "did you mean executorch"),
        (["--output-format", "jsn", "x.onnx"], "did you mean json"),
        (["compare", "--output-format", "markdwn", "a", "b"], "did you mean markdown"),
        (["--select", "CNN3021", "x.onnx"], "did you mean CNN302"),
        (["--compiler", "gccc", "x.onnx"], "gcc"),
        (["config", "relase"], "did you mean release"),
        (["--zzz"], "see onnxlint-cmsis --help"),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert hint in err


@pytest.mark.usefixtures("folder")
def test_the_folder_is_searched_where_nothing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "--show-files")[1].split() == ["kept.onnx", "out/made.onnx"]


@needs_git
def test_what_git_ignores_is_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".gitignore").write_text("out/\n")
    assert len(said(capsys, "--show-files")[1].split()) == 2
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    assert said(capsys, "--show-files")[1].split() == ["kept.onnx"]
    assert said(capsys, "--show-files", "out/made.onnx")[1].split() == ["out/made.onnx"]
    assert len(said(capsys, "--show-files", "--config", "respect-gitignore=false")[1].split()) == 2
    subprocess.run(["git", "add", "-f", "out/made.onnx"], cwd=folder, check=True)
    assert len(said(capsys, "--show-files")[1].split()) == 2


def test_every_setting_is_explained(capsys: pytest.CaptureFixture[str], told: Told) -> None:
    assert said(capsys, "config")[1].split() == [key.name for key in KEYS]
    _, out, _ = said(capsys, "config", "release")
    assert "Option: --release" in out and 'Default: "7.0.0"' in out
    told(said(capsys, "config", "align")[1])


def test_completion_knows_commands_and_options(capsys: pytest.CaptureFixture[str], told: Told) -> None:
    pytest.importorskip("shtab")
    code, out, _ = said(capsys, "completion", "bash")
    assert code == 0
    named = re.findall(r"^  ([a-z-]+)  +\S", said(capsys, "--help")[1].partition("\nCommands:\n")[2], re.MULTILINE)
    assert "layers" in named
    assert all(name in out for name in named)
    assert "--fix-policy" in out
    asked = (["--targ"], ["--target", "cortex-m5"], ["--release", "7"], ["layers", "--outp"], ["rule", "CNN20"])
    words = "COMP_WORDS=(onnxlint-cmsis {}); COMP_CWORD={}; COMPREPLY=(); $f; echo ${{COMPREPLY[*]}}"
    tries = "\n".join(words.format(" ".join(arguments), len(arguments)) for arguments in asked)
    name = "f=$(complete -p onnxlint-cmsis | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
    check = subprocess.run(["bash"], input=f"{out}\n{name}\n{tries}\n", text=True, check=True, stdout=subprocess.PIPE)
    answers = ["--target", "cortex-m52 cortex-m55", "7.0.0", "--output-format", "CNN201 CNN202"]
    assert check.stdout.splitlines() == answers
    assert "-o bashdefault -o" in out  # models, where no command is named
    zsh = said(capsys, "completion", "zsh")[1]
    told(zsh)


@pytest.mark.usefixtures("folder")
def test_rdjson_has_what_reviewdog_reads(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.onnx").write_bytes(b"no model")
    _, out, _ = said(capsys, "--isolated", "--output-format", "rdjson", "bad.onnx")
    (diagnostic,) = json.loads(out)["diagnostics"]
    assert diagnostic["location"] == {"path": "bad.onnx", "range": {"start": {"line": 1, "column": 1}}}
    assert (diagnostic["severity"], diagnostic["code"]["value"]) == ("ERROR", "CNN002")


def test_records_take_target_and_release(capsys: pytest.CaptureFixture[str], tmp_path: Path, told: Told) -> None:
    record = {"wrapper": "convolve_s8", "in": [1, 1, 32, 4], "filter": [8, 1, 3, 4], "out": [1, 1, 30, 8]}
    lines = [
        {**record, "target": "cortex-m55", "release": "7.0.0"},
        {**record, "cpu": "cortex-m55", "version": "7.0.0"},
        {**record, "target": "cortex-m55", "cpu": "cortex-m4"},
        {**record, "target": "cortex-m555"},
    ]
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, err = said(capsys, "shape", "--output-format", "json", str(file))
    first, second, third, fourth = map(json.loads, out.splitlines())
    assert (code, err) == (2, "")
    assert first["kernel"] == second["kernel"] == "arm_convolve_1_x_n_s8"
    assert "exclude each other" in third["error"]
    told(fourth["error"])


@pytest.mark.usefixtures("folder")
def test_a_misspelt_command_is_no_missing_file(capsys: pytest.CaptureFixture[str], told: Told) -> None:
    code, out, err = said(capsys, "laiers", "kept.onnx")
    assert (code, out) == (2, "")
    told(err)
    assert "CNN001" in said(capsys, "--isolated", "laiers.onnx")[1]


def test_a_rule_reads_well_in_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = said(capsys, "rule", "CNN2", "CNN5")
    lines = out.splitlines()
    assert (code, len(lines) > 100) == (0, True)
    assert [line for line in lines if len(line) > 80] == []
    assert "What to do: " in out
    assert "**" not in out


def test_a_terminal_sees_which_file_a_run_is_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = ProgressLine(2)
    progress.step("a.onnx")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    progress = ProgressLine(2)
    progress.step("folder/long name.onnx")
    progress.close()
    assert capsys.readouterr().err == "\r\x1b[K1 of 2 files: folde\r\x1b[K"


@pytest.mark.parametrize("word", ["version", "help", "check", "explain"])
def test_commands_of_other_linters_are_no_files(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([word]) == 2
    told(capsys.readouterr().err)
    (tmp_path / word).mkdir()
    assert main([word]) == 0


def test_a_concise_finding_is_one_line_in_a_narrow_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    write_model(tmp_path / "m.onnx")
    main(["--isolated", "--min-level", "note", "--output-format", "concise", str(tmp_path / "m.onnx")])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2 and max(map(len, lines)) > 80
    assert all(line.startswith(str(tmp_path)) for line in lines)


def test_an_entry_point_is_known_by_its_function_too(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ("--in", "1,8,8,8", "--filter", "8,3,3,8", "--out", "1,6,6,8")
    answers = []
    for name in ("convolve_s8", "arm_convolve_wrapper_s8"):
        assert main(["shape", "--output-format", "json", "--wrapper", name, *sizes]) == 0
        answers.append({**json.loads(capsys.readouterr().out), "wrapper": ""})
    assert answers[0] == answers[1]


def test_the_python_api_takes_a_model_of_onnx() -> None:
    model = text(NET)
    given = (model, model.SerializeToString())
    first, second = ([finding.text for finding in lint(model, targets=["cortex-m55"]).findings] for model in given)
    assert first == second != []
    assert layers(given[0]).rows == layers(given[1]).rows


@pytest.mark.parametrize("command", ["layers", "memory"])
def test_several_files_are_shown_one_after_the_other(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts, shown = [], []
    for name in ("a.onnx", "b.onnx"):
        write_model(Path(name))
        main([command, "--isolated", "--target", "cortex-m4", name])
        texts.append(capsys.readouterr().out)
        assert texts[-1].startswith(f"{name}: NO KERNEL (as int8, once quantized) on cortex-m4: ")
        main([command, "--isolated", "--target", "cortex-m4", "--output-format", "json", name])
        shown.append(json.loads(capsys.readouterr().out))
    main([command, "--isolated", "--target", "cortex-m4", "a.onnx", "b.onnx"])
    assert capsys.readouterr().out == "\n".join(texts)
    main([command, "--isolated", "--target", "cortex-m4", "--output-format", "json", "a.onnx", "b.onnx"])
    assert json.loads(capsys.readouterr().out) == shown
