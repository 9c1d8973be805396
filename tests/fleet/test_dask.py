"""Scanning on a Dask cluster with a real scheduler and two worker processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.fleet_runs import kill, model, models, rows, start, statuses, wait_until
from support.paths import ROOT

distributed = pytest.importorskip("distributed", reason="needs the extra `fleet`")
psutil = pytest.importorskip("psutil", reason="needs the extra `fleet`")
pytest.importorskip("pyarrow", reason="needs the extra `fleet`")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs named pipes")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A client of a scheduler with two workers of one thread each."""
    folder = tmp_path_factory.mktemp("cluster")
    known = ["--scheduler-file", str(folder / "scheduler.json"), "--no-dashboard"]
    worker = ["dask_worker", *known, "--nthreads", "1", "--local-directory", str(folder)]
    commands = [["dask_scheduler", *known, "--host", "127.0.0.1", "--port", "0"], worker, worker]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = [
        subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", *rest], env=environment, **quiet)
        for name, *rest in commands
    ]
    try:
        with distributed.Client(scheduler_file=str(folder / "scheduler.json"), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            yield client
            client.shutdown()
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


def busy(client):
    """Addresses of the workers that have something to do."""
    return {address for address, keys in client.processing().items() if keys}


class OneLeft:
    """True once the same worker alone has been busy for some looks."""

    def __init__(self, client, out):
        self.client = client
        self.out = out
        self.seen = []

    def __call__(self):
        self.seen.append(busy(self.client) if statuses(self.out) else set())
        return len(self.seen) > 4 and all(len(batch) == 1 and batch == self.seen[-1] for batch in self.seen[-4:])


def test_a_lost_worker_loses_nothing(cluster, tmp_path, told):
    out, stuck = tmp_path / "out", tmp_path / "stuck.onnx"
    os.mkfifo(stuck)  # reading it takes until somebody writes
    address = cluster.scheduler_info()["address"]
    done = start(stuck, *models(tmp_path, 8), "--out", out, "--batch", "1", "--dask", address)
    wait_until(OneLeft(cluster, out), "one worker stuck, the other idle")
    assert "stuck.onnx" not in statuses(out)
    (lost,) = busy(cluster)
    process = cluster.run(os.getpid)[lost]
    (tmp_path / "whole").write_bytes(model(40))
    (tmp_path / "whole").replace(stuck)
    kill(process)
    told(done.communicate()[1].splitlines()[-1])
    assert set(statuses(out)) == {"stuck.onnx", *(f"m{index:02}.onnx" for index in range(8))}
    assert lost not in cluster.scheduler_info()["workers"]


def test_a_model_that_ends_its_process_takes_no_worker_with_it(cluster, tmp_path, told):
    out, stuck = tmp_path / "out", tmp_path / "stuck.onnx"
    os.mkfifo(stuck)
    cluster.wait_for_workers(2, timeout=60)
    workers = cluster.run(os.getpid)
    done = start(
        stuck, *models(tmp_path, 4), "--out", out, "--batch", "1", "--dask", cluster.scheduler_info()["address"]
    )
    wait_until(OneLeft(cluster, out), "one worker stuck, the other idle")
    (killed,) = busy(cluster)
    (child,) = psutil.Process(workers[killed]).children()
    kill(child.pid)
    told(done.communicate()[1].splitlines()[-1])
    (row,) = (row for row in rows(out) if row["status"] == "crashed")
    told(row["message"])
    assert cluster.run(os.getpid) == workers
    wait_until(lambda: not any(psutil.Process(pid).children() for pid in workers.values()), "the end of the processes")


def test_a_scheduler_that_is_not_there_is_one_line(tmp_path, monkeypatch, capsys, told):
    from onnxlint_cmsis.cli.main import main

    models(tmp_path, 1)
    monkeypatch.setattr("onnxlint_cmsis.fleet.cluster.PATIENCE", 1)
    argv = ["scan", "--isolated", str(tmp_path), "--out", str(tmp_path / "out"), "--dask", "tcp://127.0.0.1:1"]
    assert main(argv) == 2
    told(capsys.readouterr().err.splitlines()[-1])
