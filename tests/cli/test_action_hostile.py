"""The whole action, run as a runner runs it, in a checkout whose files want to be run or to be obeyed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.models import text
from support.paths import ROOT

pytestmark = pytest.mark.skipif(
    not (shutil.which("git") and shutil.which("bash") and shutil.which("python3")),
    reason="git, bash or python3 is missing",
)
MODULES = (
    "venv", "pip", "ensurepip", "sitecustomize", "usercustomize", "json", "secrets", "pickle", "multiprocessing",
    "subprocess", "numpy", "onnx", "google", "onnxruntime", "setuptools", "runpy", "os",
)  # fmt: skip
PACKAGES = ("encodings", "onnxlint_cmsis", "importlib")
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT
MODEL = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 16, 16] x) => (float[1, 4, 16, 16] y)
    <float[{c}, 4, 3, 3] v = {{1}}, float[4, {c}, 3, 3] w = {{1}}> {{
        a = Conv<pads = [1, 1, 1, 1]>(x, v)
        y = Conv<pads = [1, 1, 1, 1]>(a, w)
    }}
"""


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


class Runner:
    """A checkout of a hostile pull request, and the folders and files of the runner."""

    def __init__(self, folder: Path) -> None:
        self.marker = folder / "marker"
        """What every hostile file adds a line to."""
        self.checkout, self.temp = folder / "checkout", folder / "temp"
        self.temp.mkdir()
        self.checkout.mkdir()
        git(self.checkout, "init", "-q")
        self.model = self.checkout / "model.onnx"
        self.model.write_bytes(text(MODEL.format(c=4)).SerializeToString())
        git(self.checkout, "add", ".")
        git(self.checkout, "commit", "-qm", "base")
        self.base = git(self.checkout, "rev-parse", "HEAD")
        self.model.write_bytes(text(MODEL.format(c=8)).SerializeToString())
        (self.checkout / f"{self.base}:model.onnx").write_bytes(self.model.read_bytes())
        self._write_modules()
        self._write_settings()
        git(self.checkout, "add", ".")
        git(self.checkout, "commit", "-qm", "pull request")
        self._write_git_settings()
        self.source = folder / "bridge-1.0-py3-none-any.whl"
        self._write_wheel()

    def _write_modules(self) -> None:
        paths = [f"{name}.py" for name in MODULES] + [f"{name}/__init__.py" for name in PACKAGES]
        for path in [*paths, "onnxlint_cmsis/__main__.py"]:
            file = self.checkout / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(
                "import posix\n"  # `open` is not there yet when Python looks for its encodings
                f"posix.write(posix.open({str(self.marker)!r}, {APPEND}, 0o600), {path.encode()!r} + b'\\n')\n"
            )

    def _write_settings(self) -> None:
        log = f"log = {self.marker}\n"
        (self.checkout / "pip.conf").write_text(f"[global]\n{log}[install]\ntarget = {self.checkout}/target\n")
        (self.checkout / "config" / "pip").mkdir(parents=True)
        shutil.copy(self.checkout / "pip.conf", self.checkout / "config" / "pip")
        (self.checkout / "setup.cfg").write_text(f"[global]\n{log}[install]\nprefix = {self.checkout}/target\n")
        (self.checkout / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "pickle"\n')

    def _write_git_settings(self) -> None:
        program = self.checkout / "program"
        program.write_text(f'#!/bin/sh\necho "$0 $@" >> "{self.marker}"\ncat\n')
        program.chmod(0o755)
        (self.checkout / ".gitattributes").write_text("*.onnx filter=evil diff=evil\n")
        hooks = self.checkout / ".git" / "hooks"
        for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
            (hooks / hook).symlink_to(program)
        for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "filter.evil.clean",
                     "diff.evil.textconv", "diff.evil.command", "remote.origin.uploadpack"):  # fmt: skip
            git(self.checkout, "config", name, str(program))
        git(self.checkout, "config", "remote.origin.url", f"ext::{program}")
        git(self.checkout, "config", "protocol.ext.allow", "always")
        self.marker.unlink(missing_ok=True)

    def _write_wheel(self) -> None:
        """A package that needs nothing from any index and leads to the packages of this Python."""
        folders = [str(ROOT), *(path for path in sys.path if path.endswith("-packages"))]
        with zipfile.ZipFile(self.source, "w") as wheel:
            wheel.writestr("bridge.pth", "\n".join(folders))
            wheel.writestr("bridge-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: bridge\nVersion: 1.0\n")
            about = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            wheel.writestr("bridge-1.0.dist-info/WHEEL", about)
            wheel.writestr("bridge-1.0.dist-info/RECORD", "")

    def environment(self) -> dict[str, str]:
        """What a workflow may have set: the checkout among Python's modules and pip's settings."""
        return {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.checkout),
            "PYTHONSTARTUP": str(self.checkout / "pickle.py"),
            "PIP_CONFIG_FILE": str(self.checkout / "pip.conf"),
            "PIP_LOG": str(self.marker),
            "PIP_TARGET": str(self.checkout / "target"),
            "XDG_CONFIG_HOME": str(self.checkout / "config"),
            "XDG_CONFIG_DIRS": str(self.checkout / "config"),
        }

    def run(self) -> dict[str, dict[str, str]]:
        """Run every shell step in turn; the outputs of each, by its name, with its exit code."""
        inputs = {
            "paths": ".", "options": "--isolated --target cortex-m4", "fail-on-increase": "instructions=2%",
            "base": self.base, "category": "c", "upload": "false", "firmware": "",
        }  # fmt: skip
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known |= {"runner.temp": str(self.temp), "github.action_path": str(self.source)}
        done: dict[str, dict[str, str]] = {}
        for step in yaml.safe_load(Path(ROOT, "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]:
            if "run" in step:
                code, outputs = self._step(step, known)
                done[step["name"]] = {**outputs, "exit": str(code)}
                known |= {f"steps.{step.get('id')}.outputs.{name}": value for name, value in outputs.items()}
        return done

    def _step(self, step: dict[str, Any], known: dict[str, str]) -> tuple[int, dict[str, str]]:
        def worked_out(written: str) -> str:
            for name, value in known.items():
                written = written.replace(f"${{{{ {name} }}}}", value)
            assert "${{" not in written
            return written

        output, script = self.temp / "output", self.temp / "script.sh"
        output.write_text("")
        script.write_text(step["run"])
        files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(self.temp / "summary"), "RUNNER_OS": "Linux"}
        given = {name: worked_out(value) for name, value in step.get("env", {}).items()}
        where = worked_out(step.get("working-directory", str(self.checkout)))
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
        ran = subprocess.run(command, cwd=where, env={**self.environment(), **files, **given}, check=False)
        return ran.returncode, dict(line.split("=", 1) for line in output.read_text().splitlines())


def test_no_file_of_a_pull_request_is_run_and_no_setting_of_it_obeyed(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    done = runner.run()
    assert not runner.marker.exists(), runner.marker.read_text()
    assert not (runner.checkout / "target").exists()
    assert done["Install"]["exit"] == "0"
    assert list((runner.temp / "onnxlint-cmsis").rglob("bridge.pth"))
    assert (done["Lint"]["code"], done["Compare"]["code"]) == ("0", "1")
    assert done["Result"]["exit"] == "1"
    summary = (runner.temp / "summary").read_text()
    assert f"`{runner.base}:model.onnx` → `model.onnx`" in summary
    assert summary.count("over the limit") == 1


@pytest.mark.parametrize("command", [["-m", "venv", "x"], ["-m", "pip", "--version"], ["-c", "import json"]])
def test_python_itself_would_run_them(command: list[str], tmp_path: Path) -> None:
    """What the test above relies on."""
    runner = Runner(tmp_path)
    subprocess.run(["python3", *command], cwd=runner.checkout, env=runner.environment(), check=False)
    assert runner.marker.exists()


def test_pip_itself_would_obey_them(tmp_path: Path) -> None:
    """What the first test relies on."""
    runner = Runner(tmp_path)
    environment = {**runner.environment(), "PYTHONPATH": ""}
    command = [sys.executable, "-I", "-m", "pip", "config", "list"]
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert str(runner.checkout / "target") in said and str(runner.marker) in said
