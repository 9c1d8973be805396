"""The command `lint` end to end, with an engine that does what a file's text says."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys

import pytest

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.cli import engine
from onnxlint_cmsis.cli.main import chosen, main
from onnxlint_cmsis.config.keys import FORMATS, READ_BY_PEOPLE
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.ground.types import Level
from support.cli_fakes import FakeEngine

NOTES = ("--min-level", "note")

pytestmark = pytest.mark.usefixtures("fake")


@pytest.fixture
def fake(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    stand_in = FakeEngine()
    monkeypatch.setattr(engine, "lint_file", stand_in.lint_file)
    for name, text in {
        "clean.onnx": "",
        "miss.onnx": "miss",
        "note.onnx": "note",
        "wrong.onnx": "wrong",
        "bad.onnx": "unreadable",
        "boom.onnx": "boom",
        "float.onnx": "float",
    }.items():
        (tmp_path / name).write_text(text)
    return stand_in


def lint(capsys, *argv):
    code = main(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["clean.onnx"], 0),
        (["lint", "clean.onnx"], 0),
        (["note.onnx"], 0),
        (["note.onnx", "--fail-on", "note"], 1),
        (["miss.onnx"], 1),
        (["miss.onnx", "--fail-on", "error"], 0),
        (["wrong.onnx", "--fail-on", "error"], 1),
        (["miss.onnx", "--exit-zero"], 0),
        (["miss.onnx", "--config", "levels.CNN102=note"], 0),
        (["note.onnx", "--config", "levels.CNN111=error"], 1),
        (["note.onnx", "--fail-on", "note", "--min-level", "error"], 1),
        (["miss.onnx", "--config", "levels.conv-1x1-fast=error", "--fail-on", "error"], 1),
        (["miss.onnx", "--ignore", "CNN102"], 0),
        (["miss.onnx", "--select", "CNN3"], 0),
        (["miss.onnx", "--select", "CNN3", "--extend-select", "conv-1x1-fast"], 1),
        (["miss.onnx", "--ignore", "CNN1", "--select", "CNN102"], 1),
        (["miss.onnx", "--min-level", "error"], 1),
        (["bad.onnx"], 2),
        (["bad.onnx", "miss.onnx"], 2),
        (["bad.onnx", "--exit-zero"], 2),
        (["bad.onnx", "--ignore", "CNN0"], 2),
        (["boom.onnx", "miss.onnx"], 2),
    ],
)
def test_exit_code(capsys, argv, code):
    assert lint(capsys, *argv)[0] == code


@pytest.mark.parametrize("output_format", ["full", "concise", "json", "sarif", "github", "junit", "gitlab"])
def test_the_format_does_not_change_the_exit_code(capsys, output_format):
    assert [lint(capsys, f, "--output-format", output_format)[0] for f in ("clean.onnx", "miss.onnx", "bad.onnx")] == [
        0,
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--no-such", "x"], "unrecognized arguments: --no-such"),
        (["x", "--fail-on", "bad"], "--fail-on: 'bad' is not one of note, warning, error"),
        (["x", "--output-format", "xml"], "is not one of full, concise, json, sarif, github, junit, gitlab, rdjson"),
        (["x", "--assume", "f64"], "is not one of s8, s16, s4"),
        (["x", "--compiler", "iar"], "compiler 'iar' is not known; allowed: gcc, clang, armclang"),
        (["x", "--target", "cortex-a9"], "allowed: cortex-m0"),
        (["x", "--release", "3"], "allowed: cmsis5-5.6.0"),
        (["x", "--select", "CNN999"], "there are CNN001"),
        (["x", "--ignore", "conv-1x1-fats"], "did you mean conv-1x1-fast"),
        (["x", "--select", "E501"], "no rule has the code, prefix or name 'E501'"),
        (["x", "--config", "levels.CNN102=bad"], "--config: levels: 'bad' is not one of note, warning, error"),
        (["x", "--input-shape", "1,3"], "--input-shape: '1,3' is not NAME=SIZES"),
        (["x", "--input-shape", "a=1,0"], "a whole number from 1 up, or '?'"),
        (["x", "--input-shape", "a="], "a whole number from 1 up, or '?'"),
        (["x", "--jobs", "0"], "whole number from 1 up"),
        (["x", "--config", "none.toml"], "none.toml: the configuration cannot be read"),
        (["x", "--config", "a.toml", "--isolated"], "--config FILE and --isolated exclude each other"),
        (["x", "--baseline", "none.json"], "none.json: the baseline cannot be read"),
        (["miss.onnx", "--output-file", "no/such/folder"], "No such file or directory"),
        (["rule"], "name rules by code, prefix or name, or give --all"),
        (["rule", "CNN999"], "there are CNN001"),
    ],
)
def test_usage_errors_take_one_line_and_name_what_is_allowed(capsys, argv, says):
    if "x" in argv:
        argv = ["clean.onnx" if word == "x" else word for word in argv]
    code, out, err = lint(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith("onnxlint-cmsis: error: ")
    assert err.count("\n") == 1
    assert says in err
    assert "internal error" not in err


def test_an_internal_error_is_one_line_and_the_other_files_go_on(capsys, told):
    code, out, err = lint(capsys, "boom.onnx", "miss.onnx", "--output-format", "concise")
    assert code == 2
    told(err)
    told(out)


def test_verbose_shows_where_an_internal_error_happened(capsys, told):
    told(lint(capsys, "boom.onnx", "-v")[2])


def test_an_internal_error_outside_of_the_engine_is_one_line(capsys, monkeypatch, told):
    monkeypatch.setattr("onnxlint_cmsis.output.full.summary", lambda _run: 1 / 0)
    code, out, err = lint(capsys, "clean.onnx")
    assert (code, out) == (2, "")
    told(err)


def test_verbose_shows_where_any_command_broke(capsys, monkeypatch):
    monkeypatch.setattr("onnxlint_cmsis.cli.rule_command._page", lambda _rule: 1 / 0)
    code, _, err = lint(capsys, "rule", "CNN102", "-v")
    assert code == 2
    assert "Traceback" in err
    assert "Traceback" not in lint(capsys, "rule", "CNN102")[2]


def test_an_unreadable_file_is_told_even_where_its_rule_does_not_run(capsys, told):
    code, _, err = lint(capsys, "bad.onnx", "--ignore", "CNN0")
    assert code == 2
    told(err)


def test_order_of_output_is_the_order_of_input_with_processes(capsys):
    paths = ["wrong.onnx", "clean.onnx", "boom.onnx", "miss.onnx", "note.onnx"]
    serial = lint(capsys, *paths)
    assert lint(capsys, *paths, "--jobs", "3") == serial
    assert serial[0] == 2


def test_standard_input(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"miss")))
    code, out, _ = lint(capsys, "-", "--stdin-filename", "sub/model.onnx", "--output-format", "concise")
    assert (code, out.split(": ")[0]) == (1, "sub/model.onnx")


def test_quiet_leaves_only_findings(capsys):
    assert lint(capsys, "-q", "clean.onnx", "float.onnx") == (0, "", "")
    assert " analysed as s8\n" in lint(capsys, "-v", "float.onnx")[1]


def test_min_level_hides_and_says_so(capsys, told):
    _, out, _ = lint(capsys, "note.onnx", "miss.onnx")
    assert "CNN111" not in out
    told(out.splitlines()[-1])
    _, out, _ = lint(capsys, "note.onnx", "miss.onnx", "--min-level", "error")
    told(out.splitlines()[-1])


@pytest.mark.parametrize(("output_format", "shown"), [(f, f not in READ_BY_PEOPLE) for f in FORMATS])
def test_formats_for_programs_hold_every_finding(capsys, output_format, shown):
    out = lint(capsys, "note.onnx", "--output-format", output_format)[1]
    assert ("Conv_4" in out) is shown
    assert "Conv_4" in lint(capsys, "note.onnx", "--output-format", output_format, "--min-level", "note")[1]
    assert "Conv_4" not in lint(capsys, "note.onnx", "--output-format", output_format, "--min-level", "warning")[1]


def test_statistics(capsys):
    out = lint(capsys, "miss.onnx", "note.onnx", "--statistics", "-q", "--output-format", "concise", *NOTES)[1]
    assert out.splitlines()[2:] == [
        "1  CNN102   conv-1x1-fast",
        "1  CNN111   depthwise-3x3",
        "0  error",
        "1  warning",
        "1  note",
    ]


def test_statistics_leave_a_format_for_programs_intact(capsys):
    _, out, err = lint(capsys, "miss.onnx", "--statistics", "--output-format", "sarif")
    assert len(json.loads(out)["runs"][0]["results"]) == 1
    assert "1  CNN102   conv-1x1-fast" in err


def test_output_file_is_written_whole_and_keeps_its_mode(capsys, tmp_path):
    target = tmp_path / "out.json"
    target.write_text("old")
    target.chmod(0o640)
    code, out, _ = lint(capsys, "miss.onnx", "--output-format", "json", "--output-file", "out.json")
    assert (code, out) == (1, "")
    assert json.loads(target.read_text())["findings"][0]["code"] == "CNN102"
    assert target.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_output_file_may_be_a_device(capsys):
    assert lint(capsys, "clean.onnx", "--output-file", os.devnull) == (0, "", "")


def test_a_folder_without_models_is_told(capsys, tmp_path, told):
    (tmp_path / "empty").mkdir()
    code, out, err = lint(capsys, "empty")
    assert code == 0
    told(err)
    told(out)


def test_paths_are_shown_relative_to_the_working_directory(capsys, tmp_path):
    out = lint(capsys, str(tmp_path / "miss.onnx"), "./note.onnx", "--output-format", "concise", *NOTES)[1]
    assert [line.split(": ")[0] for line in out.splitlines()] == ["miss.onnx", "note.onnx"]


def test_show_files(fake, capsys):
    code, out, err = lint(capsys, "wrong.onnx", ".", "--exclude", "b*.onnx", "--show-files")
    assert (code, err) == (0, "")
    assert out.splitlines() == [f"{name}.onnx" for name in ("wrong", "clean", "float", "miss", "note")]
    assert fake.paths == []


def test_show_settings_tells_values_and_origins(fake, capsys, tmp_path, told):
    (tmp_path / "onnxlint-cmsis.toml").write_text('targets = ["m4"]\nlevels = {CNN102 = "note"}\n')
    argv = ("clean.onnx", "--show-settings", "--fail-on", "error", "--config", "levels.CNN1=error")
    out = lint(capsys, *argv)[1].splitlines()
    told(sorted(line for line in out if line.partition(" ")[0] in ("targets", "fail-on", "release", "levels")))
    assert fake.paths == []


@pytest.mark.parametrize(
    ("option", "environment", "colored"),
    [
        ("auto", {}, False),
        ("always", {}, True),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_color(capsys, monkeypatch, option, environment, colored):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in lint(capsys, "miss.onnx", "--color", option)[1]) is colored


def test_color_is_used_on_a_terminal_only(monkeypatch):
    from onnxlint_cmsis.cli.terminal import wants_color

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_color("auto", Terminal())
    assert not wants_color("auto", io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_color("auto", Terminal())


def test_version_and_help(capsys, told):
    assert lint(capsys, "--version")[:2] == (0, f"onnxlint-cmsis {__version__}\n")
    code, out, _ = lint(capsys, "--help")
    assert code == 0
    told(out)


def test_every_command_is_named_and_has_help(capsys):
    _, _, named = lint(capsys, "--help")[1].partition("\nCommands:\n")
    commands = re.findall(r"^  ([a-z-]+)  +\S", named.partition("\n\n")[0], re.MULTILINE)
    assert commands == [
        "lint", "rule", "layers", "memory", "compare", "verify", "widths", "scan", "report", "shape", "image", "config",
        "completion",
    ]  # fmt: skip
    for command in commands:
        code, out, err = lint(capsys, command, "--help")
        assert (code, err) == (0, "")
        assert out.startswith("usage: onnxlint-cmsis")


@pytest.mark.parametrize(
    ("argv", "command", "rest"),
    [
        ("layers m.onnx", "layers", "m.onnx"),
        ("--isolated layers m.onnx", "layers", "--isolated m.onnx"),
        ("--target cortex-m4 -v layers m.onnx", "layers", "--target cortex-m4 -v m.onnx"),
        ("--target=cortex-m4 layers m.onnx", "layers", "--target=cortex-m4 m.onnx"),
        ("--isolated lint layers", "lint", "--isolated layers"),
        ("--release 7.0.0 --wrapper convolve_s8 shape", "shape", "--release 7.0.0 --wrapper convolve_s8"),
        ("--all rule", "rule", "--all"),
        ("--help shape", "shape", "--help"),
        ("--schema config", "config", "--schema"),
        ("--fail-on error layers m.onnx", "layers", "--fail-on error m.onnx"),
        ("--output-file layers m.onnx", "lint", "--output-file layers m.onnx"),
        ("--baseline layers lint m.onnx", "lint", "--baseline layers m.onnx"),
        ("--config layers layers m.onnx", "layers", "--config layers m.onnx"),
        ("--exclude shape m.onnx", "lint", "--exclude shape m.onnx"),
        ("m.onnx layers", "lint", "m.onnx layers"),
        ("- layers", "lint", "- layers"),
        ("-- layers", "lint", "-- layers"),
        ("--isolated ./layers", "lint", "--isolated ./layers"),
        ("", "lint", ""),
    ],
)
def test_the_command_is_the_first_word_that_is_no_option_and_no_value_of_one(argv, command, rest):
    assert chosen(argv.split()) == (command, rest.split())


def test_options_before_a_command_are_its_options(capsys, told):
    assert lint(capsys, "--all", "rule") == lint(capsys, "rule", "--all")
    code, _, err = lint(capsys, "--exit-zero", "layers", "miss.onnx")
    assert code == 2
    told(err)


def test_level_override_reaches_the_settings_of_the_engine(monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(
        engine,
        "lint_file",
        lambda path, settings, *_: seen.append(settings) or FileResult(path, (), settings.fail_on),
    )
    lint(
        capsys,
        "clean.onnx",
        "--config",
        "levels.CNN1=note",
        "--input-shape",
        "a=b=1,?,3",
        "--target",
        "m4,m55",
        "--assume",
        "s16",
    )
    (settings,) = seen
    assert settings.levels == {"CNN1": Level.NOTE}
    assert settings.input_shapes == {"a=b": (1, None, 3)}
    assert [target.cpu for target in settings.targets] == ["cortex-m4", "cortex-m55"]
    assert settings.assume == "s16"


PIPE = """
import os, sys
from onnxlint_cmsis.cli.main import main
os.close(0)
read, write = os.pipe()
os.dup2(write, 1)
os.close(read)
sys.exit(main(["rule", "--all"]))
"""


def test_a_closed_pipe_ends_quietly():
    done = subprocess.run([sys.executable, "-c", PIPE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_interrupt_ends_quietly(capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "lint_file", interrupt)
    assert lint(capsys, "clean.onnx") == (130, "", "")


def test_rule_explains_and_lists(capsys, told):
    code, out, _ = lint(capsys, "rule", "conv-1x1-fast")
    assert code == 0
    told(out)
    rules = json.loads(lint(capsys, "rule", "--all", "--output-format", "json")[1])
    from onnxlint_cmsis.checks.rule_registry import every_rule

    assert rules["version"] == 1
    assert [rule["code"] for rule in rules["rules"]] == [rule.code for rule in every_rule()]
    assert all(rule["explanation"] for rule in rules["rules"])
    assert len(lint(capsys, "rule", "--all")[1].splitlines()) == len(every_rule())
