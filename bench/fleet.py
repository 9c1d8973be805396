"""Times scans with one and with two workers and prints ratios: python bench/fleet.py [MODELS [RUNS]].

Models per second with two workers against one, for processes of this machine (`--jobs`) and for a Dask cluster with a
scheduler and workers of one thread each, which is up before the clock starts. A scan's own start and end count. Needs
the extra `fleet` and two free cores; nothing here fails, so read the medians.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from distributed import LocalCluster

from models import quantized_mobilenet
from speed import compile_into

WORKERS = (1, 2)
Way = Callable[[int], contextlib.AbstractContextManager[list[str]]]
"""Gives a scan's options for a number of workers, while they are there."""


def make_models(folder: Path, number: int) -> None:
    """Write quantized MobileNets of different widths."""
    folder.mkdir()
    for index in range(number):
        quantized_mobilenet(folder / f"m{index:03}.onnx", 0.25 + 0.125 * (index % 4))


def seconds(models: Path, options: list[str]) -> float:
    """Wall time of one scan."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "onnxlint_cmsis", "scan", "--isolated", str(models), "--out", f"{out}/found"]
        started = time.perf_counter()
        subprocess.run([*command, *options], check=True, stderr=subprocess.DEVNULL)
        return time.perf_counter() - started


@contextlib.contextmanager
def jobs(workers: int) -> Iterator[list[str]]:
    """Options for processes of this machine."""
    yield ["--jobs", str(workers)]


@contextlib.contextmanager
def dask(workers: int) -> Iterator[list[str]]:
    """Options for a cluster that is up."""
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
        yield ["--dask", cluster.scheduler_address]


def compare(
    title: str, way: Callable[[int], contextlib.AbstractContextManager[list[str]]], models: Path, runs: int
) -> None:
    """Print the throughput of each number of workers and their ratio."""
    taken = {}
    for workers in WORKERS:
        with way(workers) as options:
            taken[workers] = statistics.median(seconds(models, options) for _ in range(runs))
    number = len(list(models.iterdir()))
    rates = ", ".join(f"{number / taken[workers]:.1f} models/s with {workers}" for workers in WORKERS)
    print(f"{title}: ratio {taken[1] / taken[2]:.2f} ({rates})", flush=True)


def main(number: int, runs: int) -> None:
    """Print both comparisons."""
    with tempfile.TemporaryDirectory() as folder:
        compile_into(Path(folder, "compiled"))
        models = Path(folder, "models")
        make_models(models, number)
        compare("--jobs", jobs, models, runs)
        compare("--dask", dask, models, runs)


if __name__ == "__main__":
    main(*(int(text) for text in (sys.argv[1:] + ["40", "3"][len(sys.argv) - 1 :])))
