"""The shell steps of `action.yml`, run as a workflow runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.firmware_images import APPLICATION, M55, firmware
from support.models import text
from support.paths import ROOT

MODEL = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 16, 16] x) => (float[1, 4, 16, 16] y)
    <float[{c}, 4, 3, 3] v = {{1}}, float[4, {c}, 3, 3] w = {{1}}> {{
        a = Conv<pads = [1, 1, 1, 1]>(x, v)
        y = Conv<pads = [1, 1, 1, 1]>(a, w)
    }}
"""
needs_tools = pytest.mark.skipif(not (shutil.which("git") and shutil.which("bash")), reason="git or bash is missing")
installed = shutil.which("onnxlint-cmsis", path=str(Path(sys.executable).parent))
needs_command = pytest.mark.skipif(installed is None, reason="the command onnxlint-cmsis is not installed")


def steps() -> dict[str, dict[str, Any]]:
    action = yaml.safe_load(Path(ROOT, "action.yml").read_text(encoding="utf-8"))
    return {step["name"]: step for step in action["runs"]["steps"]}


class Workflow:
    """A repository with one commit of models, and the files that a runner gives its steps."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.folder = folder
        self.output, self.summary = folder / "output", folder / "summary"
        self.repository = folder / "repository"
        self.repository.mkdir()
        self.models = [self.repository / name for name in names or ("model name.onnx",)]
        self.model = self.models[0]
        for model in self.models:
            model.parent.mkdir(exist_ok=True)
        self.put(4)
        for words in (
            ["init", "-q"],
            ["add", "."],
            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
        ):
            subprocess.run(["git", *words], cwd=self.repository, check=True)
        self.base = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=self.repository, text=True).strip()

    def put(self, channels: int) -> None:
        """Write the models, with that many channels inside."""
        for model in self.models:
            model.write_bytes(text(MODEL.format(c=channels)).SerializeToString())

    def run(self, name: str, **given: str) -> tuple[int, dict[str, str]]:
        """Run a step; its exit code and outputs."""
        self.output.write_text("")
        variables = {
            **os.environ,
            "PYTHON": sys.executable,
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            **given,
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps()[name]["run"]]
        code = subprocess.run(command, cwd=self.repository, env=variables, check=False).returncode
        return code, dict(line.split("=", 1) for line in self.output.read_text().splitlines())


@needs_tools
@needs_command
def test_the_steps_lint_and_compare(tmp_path: Path) -> None:
    workflow = Workflow(tmp_path)
    workflow.put(8)
    options = "--isolated --target cortex-m4"
    sarif = tmp_path / "out.sarif"
    code, linted = workflow.run("Lint", PATHS=".", OPTIONS=options, SARIF=str(sarif), CATEGORY="c")
    assert (code, linted) == (0, {"sarif": str(sarif), "code": "0"})
    assert json.loads(sarif.read_text())["runs"][0]["tool"]["driver"]["name"] == "onnxlint-cmsis"
    code, compared = workflow.run("Compare", BASE=workflow.base, PATHS=".", OPTIONS=options, LIMITS="instructions=2%")
    assert (code, compared["code"]) == (0, "1")
    assert f"`{workflow.base}:model name.onnx` → `model" in workflow.summary.read_text()
    assert "over the limit" in workflow.summary.read_text()
    assert workflow.run("Result", LINT=linted["code"], COMPARE=compared["code"])[0] == 1
    assert workflow.run("Result", LINT="0", COMPARE="0")[0] == 0
    assert workflow.run("Result", LINT="2", COMPARE="1")[0] == 2


@needs_tools
@needs_command
def test_inputs_of_several_lines_are_read_to_the_end(tmp_path: Path) -> None:
    workflow, sarif = Workflow(tmp_path), tmp_path / "out.sarif"
    for name in ("one.onnx", "two.onnx", "three.onnx"):
        shutil.copyfile(workflow.model, workflow.model.parent / name)
    given = {"PATHS": "one.onnx two.onnx\nthree.onnx\n", "OPTIONS": "--isolated\n--target cortex-m4\n"}
    code, linted = workflow.run("Lint", **given, SARIF=str(sarif), CATEGORY="c")
    run = json.loads(sarif.read_text())["runs"][0]
    assert (code, linted["code"]) == (0, "0")
    assert [artifact["location"]["uri"] for artifact in run["artifacts"]] == ["one.onnx", "two.onnx", "three.onnx"]
    assert {target["target"].partition(",")[0] for target in run["properties"]["summaries"][0]["targets"]} == {
        "cortex-m4"
    }
    workflow.put(8)
    options = "--isolated\n--target cortex-m4\n"
    _, compared = workflow.run("Compare", BASE=workflow.base, PATHS=".", OPTIONS=options, LIMITS="instructions=2%")
    assert compared["code"] == "1"
    assert "cortex-m4" in workflow.summary.read_text() and "cortex-m55" not in workflow.summary.read_text()


@needs_tools
@needs_command
def test_no_name_of_a_model_is_an_option_or_a_command(tmp_path: Path) -> None:
    plain, parted = ("--color=x.onnx", "-v.onnx", "::error::.onnx"), ("a;touch b.onnx", "$(touch b).onnx")
    workflow = Workflow(tmp_path, *plain, *parted)
    workflow.put(8)
    options, sarif = "--isolated --target cortex-m4", tmp_path / "out.sarif"
    for names in (plain, parted):
        code, linted = workflow.run("Lint", PATHS="\n".join(names), OPTIONS=options, SARIF=str(sarif), CATEGORY="c")
        assert (code, linted["code"]) == (0, "0")
        (run,) = json.loads(sarif.read_text())["runs"]
        assert len(run["artifacts"]) == len(names)
    code, compared = workflow.run("Compare", BASE=workflow.base, PATHS=".", OPTIONS=options, LIMITS="instructions=2%")
    assert (code, compared["code"]) == (0, "1")
    assert workflow.summary.read_text().count("over the limit") == len(workflow.models)
    assert not list(workflow.model.parent.glob("b*"))


@needs_tools
@needs_command
def test_the_worst_code_of_the_comparisons_wins(tmp_path: Path) -> None:
    """A model that cannot be read, and behind it one that grew."""
    workflow = Workflow(tmp_path, "a.onnx", "b.onnx")
    workflow.put(8)
    workflow.models[0].write_bytes(b"no model")
    given = {"PATHS": ".", "OPTIONS": "--isolated --target cortex-m4", "LIMITS": "instructions=2%"}
    code, compared = workflow.run("Compare", BASE=workflow.base, **given)
    assert (code, compared["code"]) == (0, "2")
    assert "not compared: a.onnx" in workflow.summary.read_text()
    assert workflow.summary.read_text().count("over the limit") == 1


@needs_tools
@needs_command
def test_a_base_that_is_not_in_the_checkout_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    workflow = Workflow(tmp_path)
    code, compared = workflow.run("Compare", BASE="0" * 40, PATHS=".", OPTIONS="--isolated", LIMITS="")
    assert (code, compared["code"]) == (0, "2")
    assert (
        "there is no such commit here; a clone with the whole history has it (fetch-depth: 0)" in capfd.readouterr().err
    )


@needs_tools
@needs_command
def test_a_pull_request_that_changes_no_model_says_so(tmp_path: Path) -> None:
    workflow = Workflow(tmp_path, "a b/net 1.onnx", "net 2.onnx")
    code, compared = workflow.run("Compare", BASE=workflow.base, PATHS=".", OPTIONS="--isolated", LIMITS="arena=0")
    assert (code, compared) == (0, {"code": "0"})
    assert workflow.summary.read_text() == f"no model and no image changed since {workflow.base}\n"


@needs_tools
@needs_command
def test_models_in_folders_with_spaces_are_linted_and_compared(tmp_path: Path) -> None:
    workflow, sarif = Workflow(tmp_path, "a b/net 1.onnx", "net 2.onnx"), tmp_path / "out file.sarif"
    options = "--isolated --target cortex-m4"
    _, linted = workflow.run("Lint", PATHS=".", OPTIONS=options, SARIF=str(sarif), CATEGORY="c d")
    assert linted == {"sarif": str(sarif), "code": "0"}
    (run,) = json.loads(sarif.read_text())["runs"]
    assert [row["location"]["uri"] for row in run["artifacts"]] == ["a%20b/net%201.onnx", "net%202.onnx"]
    workflow.put(8)
    _, compared = workflow.run("Compare", BASE=workflow.base, PATHS=".", OPTIONS=options, LIMITS="instructions=2%")
    assert compared["code"] == "1"
    assert workflow.summary.read_text().count("over the limit") == 2


@needs_tools
@needs_command
@pytest.mark.parametrize(
    ("paths", "linted"),
    [
        ("a b/net 1.onnx", 1), ("a b", 1), ("  a b/net 1.onnx\r\n\nnet 2.onnx\r\n", 2), ("a b\nc.onnx d.onnx\n", 3),
        ("c.onnx d.onnx", 2), ("c.onnx\td.onnx  a\n", None), ("gone.onnx", None), ("c.onnx\ngone.onnx", None),
    ],
)  # fmt: skip
def test_a_line_that_is_a_path_is_kept_whole(paths: str, linted: int | None, tmp_path: Path) -> None:
    workflow, sarif = Workflow(tmp_path, "a b/net 1.onnx", "net 2.onnx", "c.onnx", "d.onnx"), tmp_path / "out.sarif"
    given = {"PATHS": paths, "OPTIONS": "--isolated --target cortex-m4"}
    code, told = workflow.run("Lint", **given, SARIF=str(sarif), CATEGORY="c")
    assert (code, told["code"]) == (0, "2" if linted is None else "0")
    if linted is not None:
        assert len(json.loads(sarif.read_text())["runs"][0]["artifacts"]) == linted
        workflow.put(8)
        _, compared = workflow.run("Compare", BASE=workflow.base, **given, LIMITS="instructions=2%")
        assert compared["code"] == "1"
        assert workflow.summary.read_text().count("over the limit") == linted


@needs_tools
@needs_command
@pytest.mark.parametrize("name", ["c.onnx", "my nets/c 1.onnx"])
def test_a_model_that_a_pull_request_deletes_may_be_named(name: str, tmp_path: Path) -> None:
    workflow = Workflow(tmp_path, name, "d.onnx")
    workflow.put(8)
    workflow.models[0].unlink()
    given = {"PATHS": name, "OPTIONS": "--isolated --target cortex-m4"}
    _, compared = workflow.run("Compare", BASE=workflow.base, **given, LIMITS="")
    assert compared["code"] == "0"
    assert workflow.summary.read_text() == f"`{name}` is deleted\n\n"


@needs_tools
@needs_command
def test_a_file_with_the_name_of_two_paths_hides_neither(tmp_path: Path) -> None:
    workflow, sarif = Workflow(tmp_path, "c.onnx", "d.onnx", "c.onnx d.onnx"), tmp_path / "out.sarif"
    given = {"PATHS": "c.onnx d.onnx", "OPTIONS": "--isolated --target cortex-m4"}
    workflow.run("Lint", **given, SARIF=str(sarif), CATEGORY="c")
    assert len(json.loads(sarif.read_text())["runs"][0]["artifacts"]) == 3
    workflow.put(8)
    workflow.run("Compare", BASE=workflow.base, **given, LIMITS="instructions=2%")
    assert workflow.summary.read_text().count("over the limit") == 3


@needs_tools
@needs_command
def test_what_could_not_be_read_is_the_result_of_all(tmp_path: Path) -> None:
    workflow, sarif = Workflow(tmp_path), tmp_path / "out.sarif"
    (workflow.model.parent / "cut.onnx").write_bytes(b"\x08")
    _, linted = workflow.run("Lint", PATHS=".", OPTIONS="--isolated", SARIF=str(sarif), CATEGORY="c")
    assert linted["code"] == "2"
    for compared in ("0", "1", ""):  # the step was skipped
        assert workflow.run("Result", LINT=linted["code"], COMPARE=compared)[0] == 2


@needs_tools
def test_windows_is_refused_in_a_sentence(tmp_path: Path) -> None:
    workflow = Workflow(tmp_path)
    assert workflow.run("Install", RUNNER_OS="Windows", FOLDER=str(tmp_path / "venv"), SOURCE=".")[0] == 2
    assert not (tmp_path / "venv").exists()


@needs_tools
@needs_command
def test_nothing_is_compared_without_a_base(tmp_path: Path) -> None:
    workflow = Workflow(tmp_path)
    code, compared = workflow.run("Compare", BASE="", PATHS=".", OPTIONS="", LIMITS="")
    assert (code, compared, workflow.summary.exists()) == (0, {"code": "0"}, False)


@needs_tools
@needs_command
def test_the_newest_firmware_decides_the_build_and_is_linted(tmp_path: Path) -> None:
    workflow, sarif = Workflow(tmp_path), tmp_path / "out.sarif"
    folder = workflow.model.parent / "build dir"
    folder.mkdir()
    (folder / "app.elf").write_bytes(firmware(APPLICATION, core=M55))  # kernels are reference code
    given = {"PATHS": ".", "OPTIONS": "--isolated --runtime tflm --fail-on warning", "FIRMWARE": "build dir/*.elf"}
    code, linted = workflow.run("Lint", **given, SARIF=str(sarif), CATEGORY="c")
    (run,) = json.loads(sarif.read_text())["runs"]
    assert (code, linted["code"]) == (0, "1")
    assert "CNN702" in {result["ruleId"] for result in run["results"]}
    told = {row["target"].partition(",")[0] for row in run["properties"]["summaries"][0]["targets"]}
    assert told == {"cortex-m55"}
    workflow.put(8)
    _, compared = workflow.run("Compare", BASE=workflow.base, **given, LIMITS="instructions=2%")
    assert compared["code"] == "1"
    assert "cortex-m55" in workflow.summary.read_text() and "cortex-m4" not in workflow.summary.read_text()
    code, linted = workflow.run("Lint", **{**given, "FIRMWARE": "none/*.elf"}, SARIF=str(sarif), CATEGORY="c")
    assert (code, linted["code"]) == (0, "2")


def test_no_expression_stands_in_a_script() -> None:
    scripts = [step["run"] for step in steps().values() if "run" in step]
    assert len(scripts) == 4
    assert not any("${{" in script for script in scripts)
