"""How the arena of a `.tflite` file shrinks with a memory plan and layers in parts, and what that costs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.arena_ways import PLAN, ArenaOnTarget, ArenaWay
from onnxlint_cmsis.analysis.certificate.verifying import ROW_NUMBERS, certificate_of
from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.analysis.layer_names import layer_names
from onnxlint_cmsis.fixers.differences import model_price
from onnxlint_cmsis.fixers.memory.fitting import Search
from onnxlint_cmsis.fixers.memory.least_arena import PriceBound
from onnxlint_cmsis.fixers.memory.tiled_file import tiled
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.snapshot import Snapshot
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.model.model_error import ModelError
from onnxlint_cmsis.runtimes.tflm.interpretation import Interpretation
from onnxlint_cmsis.runtimes.tflm.resolver import more_methods

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.fixers.request import FixRequest
    from onnxlint_cmsis.runtimes.memory_report import MemoryReport


def arena_ways(model: ModelAnalysis, request: FixRequest) -> tuple[ArenaWay, ...]:
    """A model as it is, with a plan, and with growing numbers of parts; none where nothing takes less arena.

    The parts are those of the policy `smaller`, within its bound on instructions. The last way is proven to leave all
    outputs as they are.
    """
    execution = model.execution
    if not isinstance(execution, Interpretation) or not execution.planned_targets:
        return ()
    start = Snapshot(model.path, model.data, request, analysis=model)
    ways = [_way((), model, tuple(map(execution.memory, execution.planned_targets)))]
    if execution.free_plan is not None:
        ways.append(_planned((), model))
    with suppress(NotAppliedError, ModelError):
        ways += _in_parts(start, execution)
    return tuple(ways) if len(ways) > 1 else ()


def _in_parts(start: Snapshot, execution: Interpretation) -> list[ArenaWay]:
    """The model in growing numbers of parts, the last of which is proven to compute the same."""
    search = Search(execution.file, execution.arenas_of, (0,) * len(execution.targets), PriceBound(start).holds)
    search.best()
    steps = [*search.steps(PriceBound(start).holds)]
    files = [start.followed(tiled(start.path, start.data, fit.tiles), Plan({})) for fit in steps]
    while files and certificate_of(start.analysis, files[-1].analysis, ROW_NUMBERS) is None:
        files.pop()
    ways = [
        _planned(fit.parts(execution.file), file.analysis)._replace(
            registers=more_methods(execution.resolver, file.analysis.execution.resolver)
        )
        for fit, file in zip(steps, files, strict=False)
    ]
    return [way for number, way in enumerate(ways) if not any(_worse(way, later) for later in ways[number + 1 :])]


def _worse(way: ArenaWay, other: ArenaWay) -> bool:
    """Tell whether a way takes no less arena and costs no less than another one on any target."""
    pairs = zip(way.targets, other.targets, strict=True)
    return all(
        mine.bytes >= theirs.bytes and mine.price.instructions[1] >= theirs.price.instructions[1]
        for mine, theirs in pairs
    )


def _planned(parts: tuple[str, ...], model: ModelAnalysis) -> ArenaWay:
    """A model with the memory plan that is written behind all other changes, where one gains."""
    execution = model.execution
    assert isinstance(execution, Interpretation)
    planned = (PLAN,) if execution.free_plan else ()
    return _way((*parts, *planned), model, execution.planned_memory())


def _way(ways: tuple[str, ...], model: ModelAnalysis, memory: tuple[MemoryReport, ...]) -> ArenaWay:
    summary = model.once(summarize)
    prices = {target.target: model_price(target, summary.arena) for target in summary.targets}
    targets = tuple(ArenaOnTarget(report, prices[report.target]) for report in memory)
    return ArenaWay(ways, targets, layer_names(model).names)
