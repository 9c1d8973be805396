"""One program in both builds: the traced and guarded one on the first set of inputs, the measured one on all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING

from firmware_check.build import Bench, Image, build
from firmware_check.errors import TooLargeError
from firmware_check.layer_trace import Observed, observe, ways_of
from firmware_check.run import ImageRun, run_image
from firmware_check.toolchain import Processes

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from firmware_check.program import Program


Sets = list[list["np.ndarray"]]
"""For each run, what the host writes, as it lies in memory."""


@dataclass(frozen=True, eq=False)
class Executed:
    """What both builds of a program did."""

    traced: ImageRun
    """The build with trace and guards, on the first set of inputs."""
    plain: ImageRun
    """The build that is measured, on all sets."""
    image: Image
    """The measured build."""
    observed: tuple[Observed, ...]
    """Functions that ran in each layer, from the traced build."""


def execute(program: Program, bench: Bench, folder: Path, title: str, sets: Sets) -> Executed:
    """Build and run both, at once where two jobs are allowed."""
    measured_is_linked = Event()

    def build_and_run(traced: bool) -> tuple[Image, ImageRun]:
        build_folder = folder / ("traced" if traced else "plain")
        build_folder.mkdir(parents=True, exist_ok=True)
        try:
            image = build(program, bench, build_folder, title, traced)
        except TooLargeError:
            if traced:  # the first error stops the other build, and --keep wants its link map
                measured_is_linked.wait()
            raise
        finally:
            if not traced:
                measured_is_linked.set()
        return image, run_image(image.path, program, bench, sets[:1] if traced else sets, True)

    bench = replace(bench, processes=Processes())
    # the measured build goes first: with one job, the traced one would wait for it in vain
    (measured, plain), (image, traced) = bench.processes.in_threads(build_and_run, (False, True), min(bench.jobs, 2))
    names = {symbol.address & ~1: (symbol.name, symbol.kind != "t") for symbol in image.symbols if symbol.is_function}
    returning = bench.library.returning_status
    ways = [ways_of(step.call, bench.target) if step.call and step.function else () for step in program.steps]
    observed = (
        observe(report.calls, names, returning, of_step) for report, of_step in zip(traced.layers, ways, strict=True)
    )
    return Executed(traced, plain, measured, tuple(observed))
