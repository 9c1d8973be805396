"""The Python API: as documented, light to import, with errors of one line."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import onnxlint_cmsis
from onnxlint_cmsis import ModelError, UsageError, fix, layers, lint, lint_bytes
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.config.given import SettingValues
from onnxlint_cmsis.config.settings import KEYS
from support.fixable_models import dead, gaining
from support.paths import ROOT
from support.tflite_steps import random_chain

M4 = ["cortex-m4"]
TFLITE = random_chain(3)


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys; import onnxlint_cmsis; onnxlint_cmsis.__version__; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "onnx", "onnxruntime", "google"}
    loaded = done.stdout.split()
    assert not heavy & {name.partition(".")[0] for name in loaded}
    ours = [name for name in loaded if name.startswith("onnxlint_cmsis.")]
    assert ours == ["onnxlint_cmsis.ground"]


def test_every_name_of_the_api_loads_and_is_listed() -> None:
    assert dir(onnxlint_cmsis) == sorted(onnxlint_cmsis.__all__)
    for name in onnxlint_cmsis.__all__:
        assert getattr(onnxlint_cmsis, name) is not None
    with pytest.raises(AttributeError, match="'onnxlint_cmsis' has no attribute 'lints'"):
        onnxlint_cmsis.lints  # noqa: B018


def test_bytes_give_what_the_file_gives(tmp_path: Path) -> None:
    for name, data in (("a.onnx", gaining()), ("a.tflite", TFLITE)):
        path = tmp_path / name
        path.write_bytes(data)
        from_file, from_bytes = lint(path, targets=M4), lint(data, targets=M4)
        assert [finding.message for finding in from_file.findings] == [
            finding.message for finding in from_bytes.findings
        ]
        assert from_file.summary == from_bytes.summary
        assert layers(path, targets=M4) == layers(data, targets=M4)


def test_a_tflite_file_is_judged_for_its_runtime() -> None:
    assert make_settings("a.tflite").runtime.name == "tflm"
    assert make_settings("a.onnx").runtime.name == make_settings().runtime.name == "direct"
    assert lint(TFLITE, targets=M4).summary.targets[0].arena_used is not None


def test_a_baseline_and_a_level_leave_findings_out(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(gaining())
    every = {finding.code for finding in lint(path).findings}
    assert {"CNN113", "CNN201"} <= every
    assert lint(path, min_level="error").findings == ()
    from onnxlint_cmsis.config import baseline

    accepted = tmp_path / "baseline.json"
    baseline.write(str(accepted), [(str(path), lint(path).findings)])
    assert lint(path, baseline=str(accepted)).findings == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": "cortex-m4"}, "arguments: unknown key 'target'; did you mean targets?"),
        ({"targets": "cortex-m4"}, "arguments: targets: 'cortex-m4' is not a list of texts"),
        ({"release": 7}, "arguments: release: 7 is not a text"),
    ],
)
def test_wrong_settings_are_usage_errors_of_one_line(settings: dict[str, object], message: str) -> None:
    for call in (lint, layers, fix):
        with pytest.raises(UsageError) as caught:
            call("m.onnx", **settings)
        assert str(caught.value) == message


def test_what_is_no_model_is_a_model_error_that_names_it(tmp_path: Path) -> None:
    text = tmp_path / "text.onnx"
    text.write_text("no model")
    paths = (text, tmp_path, tmp_path / "missing.onnx", tmp_path / "missing.tflite")
    for call, wrong in ((lint, paths), (layers, paths), (fix, paths[:1])):
        for path in wrong:
            with pytest.raises(ModelError) as caught:
                call(path)
            assert str(caught.value).startswith(f"{path}: ")
            assert "\n" not in str(caught.value)
    with pytest.raises(ModelError, match=r"^<bytes>: not an ONNX model: the file is empty$"):
        lint(b"")


def test_a_missing_baseline_is_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(gaining())
    for call in (lint, fix):
        with pytest.raises(UsageError, match=r"no\.json: the baseline cannot be read: No such file or directory$"):
            call(path, baseline=str(tmp_path / "no.json"))


def test_a_fix_works_in_a_thread_and_leaves_the_file_alone_until_told(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(dead())
    results = []
    thread = threading.Thread(target=lambda: results.append(fix(path, targets=M4)))
    thread.start()
    thread.join()
    assert results[0].changed
    assert path.read_bytes() == dead()
    assert fix(path, write=True, targets=M4).written
    assert len(path.read_bytes()) < len(dead())


FAILS = """#!{python}
import pickle, sys
from onnxlint_cmsis.cli.jobs import Linted
from onnxlint_cmsis.analysis.results import FileResult
job = pickle.load(sys.stdin.buffer)
pickle.dump([Linted(job, FileResult(job.path, (), job.settings.fail_on, error="ValueError: 7"))], sys.stdout.buffer)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no scripts with a first line that names the program")
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("#!/bin/sh\nexit 3\n", "m.onnx: the process that fixes it ended with exit code 3"),
        (FAILS, "m.onnx: internal error: ValueError: 7; please report it"),
    ],
)
def test_an_error_inside_a_fix_is_one_line(
    script: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "python"
    program.write_text(script.replace("{python}", sys.executable))
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(RuntimeError) as caught:
        fix("m.onnx")
    assert str(caught.value) == message


def test_a_finding_tells_what_the_whole_plan_saves(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    path.write_bytes(gaining())
    (finding,) = (
        finding for finding in lint(path, targets=M4).findings if finding.resize and finding.properties.get("fixable")
    )
    (total,) = fix(path, targets=M4).totals
    assert finding.properties["plan_instructions_saved.cortex-m4"] == total.instructions - total.new_instructions > 0


def test_what_is_neither_path_nor_model_is_told_in_a_sentence() -> None:
    for model in (None, 3, ["m.onnx"]):
        with pytest.raises(TypeError) as error:
            lint(model)  # type: ignore[arg-type]
        assert str(error.value) == f"a model is a path, bytes or an onnx.ModelProto; given is {model!r}"


class Odd:
    """A path and a model whose methods give something else."""

    def __init__(self, inside: object) -> None:
        self.inside = inside

    def __fspath__(self) -> object:
        return self.inside


class Unserialized(Odd):
    """A model whose bytes are none."""

    __fspath__ = None  # type: ignore[assignment]

    def SerializeToString(self) -> object:  # noqa: N802 - a name of protobuf
        return self.inside


@pytest.mark.parametrize("wrong", [None, 3, ["a"], {"a": 1}, b"a", bytearray(9), Odd(b"a"), object(), float("nan")])
def test_every_public_function_says_in_a_sentence_what_it_takes(wrong: Any) -> None:
    settings = make_settings()
    calls: dict[str, Callable[[], object]] = {
        "the name of a file is a text": lambda: onnxlint_cmsis.is_model(wrong),
        "the name of a folder is a text": lambda: onnxlint_cmsis.is_skipped(wrong),
        "the path of a model is a text": lambda: make_settings(wrong),
        "the name of a model is a text": lambda: lint_bytes(wrong, b"", settings),
        "settings are those that make_settings gives": lambda: lint_bytes("a.onnx", b"", wrong),
        "a model file is a path": lambda: fix(wrong),
    }
    if not isinstance(wrong, bytes):
        calls["the data of a model are bytes"] = lambda: lint_bytes("a.onnx", wrong, settings)
        calls["a model is a path, bytes or an onnx.ModelProto, whose SerializeToString gives bytes"] = lambda: lint(
            Unserialized(wrong)  # type: ignore[arg-type]
        )
    for allowed, call in calls.items():
        with pytest.raises(TypeError) as error:
            call()
        assert str(error.value).startswith(f"{allowed}; given is ")
        assert len(str(error.value)) < 200


@pytest.mark.parametrize("key", ["board", "ram", "clock", "arena_in", "levels", "per_file_ignores", "input_shapes"])
def test_a_name_in_a_table_of_settings_is_a_text(key: str) -> None:
    for name in (None, 3, b"a"):
        with pytest.raises(UsageError, match=f"{name!r} is not a text$"):
            make_settings(**{key: {name: 1}})  # type: ignore[arg-type]


def test_a_verdict_and_a_time_are_there_as_numbers_and_words() -> None:
    result = lint(TFLITE, targets=M4, clock="80MHz")
    (verdict,) = result.verdicts
    least, most = verdict.milliseconds
    assert 0 < least < most
    assert str(least)[:3] in verdict.time
    assert result.verdict == verdict.word
    assert lint(TFLITE, targets=M4).verdicts[0].milliseconds is None


TEXT_LIST = "TextList"
AMOUNT = "Amount"
TYPES = {
    "targets": TEXT_LIST, "codes": TEXT_LIST, "globs": TEXT_LIST, "release": "str", "choice": "str", "runtime": "str",
    "compiler": "str", "path": "str", "level": "str", "least-level": "str", "board": "str | dict[str, str]",
    "memory": AMOUNT, "frequency": AMOUNT, "placement": AMOUNT, "shapes": "Sizes", "glob-codes": "dict[str, list[str]]",
    "code-levels": "dict[str, str]", "flag": "bool", "suppressions": "list[dict[str, str]]", "multiple": "int",
    "percent": "float | str", "bytes": "int | str", "count": "int | str",
}  # fmt: skip
"""What Python gives for each kind of setting."""


def test_every_setting_has_its_type() -> None:
    annotations = {name: reference.__forward_arg__ for name, reference in SettingValues.__annotations__.items()}
    assert annotations == {key.attribute: TYPES[key.kind] for key in KEYS}


CALLS = """
from onnxlint_cmsis import fix, layers, lint, make_settings
lint("m.onnx", targets=["cortex-m4"], ram="256K", clock={"cortex-m4": "80MHz"}, min_gain=1)
lint("m.onnx", target=["cortex-m4"])
lint("m.onnx", targets=1)
layers("m.onnx", targets="cortex-m4")
fix("m.onnx", write=True, unsafe_fix=True)
make_settings("m.onnx", align="4")
macs: int = lint("m.onnx").summary.macs
"""


def test_a_type_checker_finds_settings_that_do_not_exist_or_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "calls.py").write_text(CALLS)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", "calls.py"]
    paths = {**os.environ, "MYPYPATH": str(ROOT)}
    said = subprocess.run(command, cwd=tmp_path, env=paths, capture_output=True, text=True, check=False).stdout
    lines = [line for line in said.splitlines() if line.startswith("calls.py")]
    assert [int(line.split(":")[1]) for line in lines if " error: " in line] == [4, 5, 6, 7, 8]
    assert 'did you mean "targets"?' in lines[0]
