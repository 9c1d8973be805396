"""Processes that a command starts take no module of the folder that it is started in."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from onnxlint_cmsis import fix
from onnxlint_cmsis.ground import workers
from onnxlint_cmsis.ground.apart import Apart
from onnxlint_cmsis.ground.program_processes import ProgramContext
from onnxlint_cmsis.ground.workers import Worker, team
from support.fixable_models import nothing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are started in another way on Windows")
MODULES = ("json", "pickle", "sitecustomize", "usercustomize", "multiprocessing", "numpy", "onnx", "onnxlint_cmsis")


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the modules of the folder at hand write."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return tmp_path / "marker"


def test_a_worker_that_is_a_program(marker: Path) -> None:
    worker = Worker(ProgramContext())
    worker.give(len, "abc")
    assert worker.take() == 3
    worker.stop()
    assert not marker.exists(), marker.read_text()


def test_workers_where_nothing_is_forked(marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers.sys, "platform", "darwin")
    with team(1) as (worker,):
        worker.give(len, "abc")
        assert worker.take() == 3
    assert not marker.exists(), marker.read_text()


def test_an_object_apart(marker: Path) -> None:
    apart = Apart("collections", "Counter")
    assert apart.call("total") == 0
    apart.close()
    assert not marker.exists(), marker.read_text()


def test_a_fix_asked_for_by_a_program(marker: Path) -> None:
    model = Path("model.onnx")
    model.write_bytes(nothing())
    assert fix(str(model)) is not None
    assert str(Path.cwd()) not in sys.path
    assert not marker.exists(), marker.read_text()
