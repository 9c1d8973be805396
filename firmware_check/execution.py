"""One program in both builds, traced and measured, and the functions that ran in each layer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING

from firmware_check.build import Bench, Image, build
from firmware_check.errors import TooLargeError
from firmware_check.run import ImageRun, run_image
from firmware_check.toolchain import Processes
from onnxlint_cmsis.cmsis_nn.entry_points import DELEGATIONS

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from firmware_check.program import Program
    from firmware_check.run import Call


# What the trace of a layer says: the tree of calls with names, the chain of kernels, the statuses.


_KERNEL = re.compile(
    r"arm_(convolve|depthwise_conv|transpose|fully_connected|avgpool|max_pool|softmax|elementwise|concatenation|pad"
    r"|maximum|minimum|batch_matmul|lstm|svdf|depthwise_separable_conv|maxpool|avepool|relu)_"
)
_NO_KERNEL = re.compile(r"_get_|_wrapper_|_to_conv_")
_STATIC_KERNELS = frozenset(row.callee for row in DELEGATIONS if row.static)


@dataclass(frozen=True)
class Traced:
    """One function in the tree of what ran."""

    name: str
    """C function."""
    depth: int
    """0 for what the layer calls itself."""
    calls: int
    """How often it was called from there."""
    status: int | None
    """Worst status it returned; None where its result is none or was not seen."""


@dataclass(frozen=True)
class Observed:
    """What ran in a layer."""

    tree: tuple[Traced, ...]
    """Every function of CMSIS-NN in order of first call, callees after their callers."""
    chain: tuple[str, ...]
    """Public kernels in order of delegation."""
    effective: str
    """Static function inside the last kernel that does its work where the tables know one, else the last kernel."""


def observe(calls: dict[int, Call], names: dict[int, tuple[str, bool]], returning_status: frozenset[str]) -> Observed:
    """Name the functions of a trace. A function that both sources of the trace saw counts once."""
    tree: list[Traced] = []

    def descend(parent: int, depth: int, around: str) -> None:
        for number, call in calls.items():
            if call.parent != parent:
                continue
            name = names.get(call.address, (f"0x{call.address:08x}", False))[0].split(".", 1)[0]  # a clone has a suffix
            if name == around or "_get_buffer_size" in name:
                descend(number, depth, around)
                continue
            status = call.lowest if call.returns and name in returning_status else None
            tree.append(Traced(name, depth, call.calls, status))
            descend(number, depth + 1, name)

    descend(0, 0, "")
    chain = tuple(dict.fromkeys(t.name for t in tree if _KERNEL.match(t.name) and not _NO_KERNEL.search(t.name)))
    statics = [t.name for t in tree if t.name in _STATIC_KERNELS]
    return Observed(tuple(tree), chain, statics[-1] if statics else (chain[-1] if chain else ""))


# One program in both builds: the traced and guarded one on the first set of inputs, the measured one on all.


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
    return Executed(traced, plain, measured, tuple(observe(report.calls, names, returning) for report in traced.layers))
