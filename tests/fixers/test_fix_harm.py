"""What --fix must never do: write wrong outputs, harm a file, go on after it was stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from support import paths
from support.dims_graphs import Builder
from support.fix_command import run
from support.fixable_models import const, head, wide_stem
from support.linter import fixed
from support.signals import heeding, ignoring

ROOT = paths.ROOT


def test_a_class_whose_new_lanes_become_nan_is_locked_and_others_are_fixed():
    build = Builder()
    value = build.op("MeanVarianceNormalization", wide_stem(build), axes=[2, 3])
    value = head(build, value)
    model = build.model(build.op("Conv", build.op("Relu", value), const(build, 2, 3, 1, 1), name="last"))
    result = fixed(model, fix_policy="align").result
    assert not result.failed, result.reason
    assert [(group.have, group.want) for group in result.classes] == [(3, 4)]


def test_an_unread_lane_that_holds_nan_is_not_cut_and_spoils_nothing():
    build = Builder()
    weights = build.random.uniform(-1, 1, (6, 4, 1, 1)).astype(np.float32)
    weights[2] = np.nan
    reading = build.random.uniform(-1, 1, (3, 6, 1, 1)).astype(np.float32)
    reading[:, 2] = 0
    value = build.op("Conv", build.input("x", 1, 4, 8, 8), build.const(weights))
    model = build.model(build.op("Conv", value, build.const(reading)))
    result = fixed(model, targets=["cortex-m4"], min_gain=0).result
    assert not result.failed, result.reason


@pytest.mark.parametrize("mode", [[], ["--fix"], ["--diff"]])
def test_a_report_never_takes_the_place_of_a_model(tmp_path, mode):
    build = Builder()
    data = build.model(head(build, wide_stem(build))).SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data)
    assert run(tmp_path, *mode, "--output-file", "m.onnx", "m.onnx").returncode == 2
    assert (tmp_path / "m.onnx").read_bytes() == data


def test_a_model_and_a_link_to_it_are_fixed_once(tmp_path):
    build = Builder()
    (tmp_path / "m.onnx").write_bytes(build.model(head(build, wide_stem(build))).SerializeToString())
    (tmp_path / "n.onnx").symlink_to("m.onnx")
    done = run(tmp_path, "--fix-only", "--fix-policy", "align", "--jobs", "2", ".")
    assert done.returncode == 0, done.stdout


def slow_models(folder, count):
    """Files that take some time to fix."""
    build = Builder()
    value = build.input("x", 1, 4, 32, 32)
    columns = 4
    for rows in (61, 93, 77, 99, 45, 61):
        value = build.op("Relu", build.op("Conv", value, const(build, rows, columns, 3, 3), pads=[1] * 4))
        columns = rows
    data = build.model(build.op("Conv", value, const(build, 2, columns, 1, 1))).SerializeToString()
    files = [folder / f"m{number}.onnx" for number in range(count)]
    for file in files:
        file.write_bytes(data)
    return files


def started(folder, *argv, preexec_fn):
    """The program as it begins to fix every model of a folder, in a new session."""
    options = ["--isolated", "--fix", "--fix-policy", "align", "--config", "align=8", *argv, "."]
    return subprocess.Popen(
        [sys.executable, "-m", "onnxlint_cmsis", *options], cwd=folder, stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True, preexec_fn=preexec_fn,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals as on POSIX")
@pytest.mark.parametrize("stop", ["SIGINT", "SIGHUP"])
def test_a_signal_that_is_ignored_at_the_start_ends_no_fixing(tmp_path, stop):
    """As `nohup` and shells without job control start a program."""
    files = slow_models(tmp_path, 3)
    data = files[0].read_bytes()
    number = signal.Signals[stop]
    process = started(tmp_path, "--jobs", "2", preexec_fn=ignoring(number))
    try:
        while process.poll() is None:
            os.killpg(process.pid, number)
            time.sleep(0.02)
    finally:
        process.kill()
    assert process.wait(30) in (0, 1)
    assert all(file.read_bytes() != data for file in files)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals as on POSIX")
@pytest.mark.parametrize(("jobs", "stop"), [("2", "SIGTERM"), ("1", "SIGTERM"), ("1", "SIGINT"), ("2", "SIGKILL")])
def test_a_stopped_run_leaves_no_worker_that_goes_on_rewriting(tmp_path, jobs, stop):
    files = slow_models(tmp_path, 16)
    data = files[0].read_bytes()
    process = started(tmp_path, "--jobs", jobs, preexec_fn=heeding)
    try:
        while all(file.read_bytes() == data for file in files):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.Signals[stop])
        process.wait(30)
        if stop == "SIGKILL":  # its workers end with it, but who takes note of that is up to the system
            time.sleep(1)
            then = [file.read_bytes() for file in files]
            time.sleep(2)
            assert [file.read_bytes() for file in files] == then
        else:
            with pytest.raises(ProcessLookupError):  # nobody is left to write
                for _ in range(200):
                    os.killpg(process.pid, 0)
                    time.sleep(0.05)
        assert {*tmp_path.iterdir()} == {*files}
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_wrong_outputs_are_never_written():
    """New lanes are NaN behind MeanVarianceNormalization; only an input with one bright spot crosses the threshold."""
    build = Builder()
    value = build.op("MeanVarianceNormalization", wide_stem(build), axes=[2, 3])
    model = build.model(build.op("Greater", head(build, value), build.const(14, np.float32)))
    written = fixed(model, fix_policy="align").model
    if written is None:
        return
    import onnxruntime

    spots = np.zeros((8, 4, 8, 8), np.float32)
    for sign, number in ((1, 0), (-1, 4)):
        for lane in range(4):
            spots[number + lane, lane, 3, 3] = sign
    before, after = (
        np.array([onnxruntime.InferenceSession(version).run(None, {"x": spot[None]})[0] for spot in spots])
        for version in (model.SerializeToString(), written)
    )
    assert before.any()
    assert np.array_equal(before, after)


def test_a_proof_leaves_nothing_in_the_home_and_temporary_folders(tmp_path):
    """Some versions of ONNX Runtime keep an id of the user and a database of events there, and send these."""
    build = Builder()
    home, temporary, work = (tmp_path / name for name in ("home", "temporary", "work"))
    for folder in (home, temporary, work):
        folder.mkdir()
    (work / "m.onnx").write_bytes(build.model(head(build, wide_stem(build))).SerializeToString())
    clean = {"HOME": str(home), "TMPDIR": str(temporary), "PATH": os.defpath, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "onnxlint_cmsis", "--fix", "--fix-policy", "align", "--jobs", "2", "m.onnx"],
        cwd=work, check=False, capture_output=True, env=clean, timeout=60,
    )  # fmt: skip
    assert b"1 of 1 file fixed" in done.stdout, done.stderr
    assert {path.name for path in tmp_path.rglob("*")} == {"home", "temporary", "work", "m.onnx"}
