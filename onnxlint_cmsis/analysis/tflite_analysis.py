"""A `.tflite` file analysed: classes, lanes and routes as of any model, and the calls that its runtime really makes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.analysis import AnalysisSettings, FileOperator, LayerCost, ModelAnalysis
from onnxlint_cmsis.analysis.memory import Arena, BufferLife, LayerScratch, MemoryReport
from onnxlint_cmsis.formats.format import TFLITE
from onnxlint_cmsis.formats.tflite.tensors import stored_bytes
from onnxlint_cmsis.formats.tflite.to_graph import load_tflite
from onnxlint_cmsis.ground.findings import Location
from onnxlint_cmsis.model.graph import node_location
from onnxlint_cmsis.runtimes.runtime import RuntimeArena, build_for, runtime_for
from onnxlint_cmsis.runtimes.tflm.interpret import (
    buffer_names,
    buffer_writers,
    interpret,
    label_of,
    lower_tflite,
    nodes_of,
    remarks,
    version_remarks,
)
from onnxlint_cmsis.runtimes.tflm.reference_cost import operator_range

if TYPE_CHECKING:
    from onnxlint_cmsis.ground.types import Target
    from onnxlint_cmsis.lower.layer import Verdict
    from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.runtimes.runtime import RuntimeRemark
    from onnxlint_cmsis.runtimes.tflm.verdicts import TflmReport


WITHOUT_CMSIS_NN = "The build has reference kernels alone and no CMSIS-NN (--cmsis-nn-build NONE)."


class TfliteAnalysis(ModelAnalysis):
    """What follows from one `.tflite` file for some targets."""

    interpreted = True
    in_file_order = False
    beside = "reference code"

    def __init__(self, path: str, settings: AnalysisSettings, data: bytes | None = None) -> None:
        """Read the file, or `data` in its place. Raises ModelError."""
        loaded = load_tflite(path, data=data)
        self.file = loaded.file
        """The file as plain data."""
        runtime = runtime_for(settings.runtime, TFLITE)
        super().__init__(path, settings._replace(runtime=runtime), data, graph=loaded.graph)
        self._loaded = loaded
        self._reports: dict[tuple[Target, bool], TflmReport] = {}

    def report(self, target: Target, *, checks: bool = True) -> TflmReport:
        """What TensorFlow Lite Micro does with the file on a target; `checks` is False for a build with NDEBUG."""
        if (target, checks) not in self._reports:
            build = build_for(self.settings.runtime, target, self.settings.cmsis_nn_build, checks=checks)
            self._reports[target, checks] = interpret(self.file, build)
        return self._reports[target, checks]

    def stop(self, target: Target) -> str:
        """What stops the model in every build for a target, as words; empty where a build runs it."""
        return self.report(target, checks=False).stop

    @cached_property
    def lowered(self) -> Lowered:
        """The calls that the runtime makes; which ones depends on no target."""
        target = self.settings.targets[0]
        return lower_tflite(self.graph, self.file, self.report(target, checks=False).operators)

    @cached_property
    def judged(self) -> None:
        """Nothing: the calls are the runtime's own."""
        return

    @cached_property
    def told(self) -> frozenset[int]:
        """All nodes: the runtime's remarks speak of each."""
        return frozenset(node.index for node in self.graph.nodes)

    @cached_property
    def remarks(self) -> tuple[RuntimeRemark, ...]:
        """What is to be said of the runtime and the operators, target by target."""
        told: list[RuntimeRemark] = []
        for target in self.settings.targets:
            strict, lax = (self.report(target, checks=checks).operators for checks in (True, False))
            told += remarks(strict, lax, self.places, target.label)
        targets = tuple(target.label for target in self.settings.targets)
        return (*told, *version_remarks(self.file, self.places, targets))

    @cached_property
    def places(self) -> list[Location]:
        """Where each operator is; one that the main subgraph never runs by its number alone."""
        rows = self.report(self.settings.targets[0]).operators
        return [
            node_location(self.path, node)
            if node is not None
            else Location(self.path, row.label, row.op, graph=f"subgraph {row.subgraph}")
            for row, node in zip(rows, self._nodes, strict=True)
        ]

    def cost(self, record: LoweredLayer, target: Target, verdict: Verdict) -> LayerCost:
        """Cost of a layer; unknown in a model that stops, and where it calls several functions (SIZE builds)."""
        once, rows = record.node.index in self.graph.once, zip(self.report(target).operators, self._nodes, strict=True)
        several = any(len(row.functions) > 1 for row, node in rows if node is record.node)
        unknown = self.stop(target) or (several and not once)
        return LayerCost() if unknown else super().cost(record, target, verdict)

    def plain_range(self, record: LoweredLayer, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of the reference kernel of an operator; None where nothing is known."""
        return operator_range(self.graph, record.node, target, self.settings.runtime)

    def operators(self, target: Target, /) -> tuple[FileOperator, ...]:
        """What the runtime does with each operator of the file, in file order, for a build with checks."""
        operators = []
        for row, node in zip(self.report(target).operators, self._nodes, strict=True):
            if node is not None:
                tensor = next(iter(node.outputs), "")
            else:
                subgraph = self.file.subgraphs[row.subgraph]
                written = [subgraph.tensors[number].name for number in subgraph.operators[row.index].outputs[:1]]
                tensor = f"subgraph{row.subgraph}/{written[0]}" if written else ""
            operators.append(FileOperator(row, node, tensor))
        return tuple(operators)

    @cached_property
    def _nodes(self) -> list[Node | None]:
        return nodes_of(self.file, self.graph)

    @property
    def remarks_on_build(self) -> tuple[str, ...]:
        """The note that no function of CMSIS-NN is called."""
        return (WITHOUT_CMSIS_NN,) if self.settings.cmsis_nn_build == "NONE" else ()

    def stored_constants(self) -> int:
        """Bytes of the constants, which stay in flash."""
        return stored_bytes(self.file)

    def runtime_scratch(self, target: Target) -> int | None:
        """Sum of an operator's requests, that of the hungriest; they lie in the arena. None where one's are unknown."""
        rows = self.report(target).operators
        return None if any(row.memory is None for row in rows) else max((sum(row.scratch) for row in rows), default=0)

    def runtime_arena(self, target: Target) -> RuntimeArena | None:
        """The arena of a build with checks; None where there is none, and for a model that stops."""
        arena = None if self.stop(target) else self.report(target).arena
        return RuntimeArena(arena.used, arena.needed) if arena else None

    def memory(self, target: Target) -> MemoryReport:
        """The arena of TensorFlow Lite Micro for a build with checks, or why there is none."""
        report, stop, model = self.report(target), self.stop(target), self.file
        if report.arena is None or stop:
            reasons = (report.no_arena or "it does not run", stop or report.stop)
            return MemoryReport(target.label, report.status, report.message, ": ".join(filter(None, reasons)))
        arena = report.arena
        names, writers = buffer_names(model, arena), buffer_writers(model, arena)
        main = all(row.subgraph == 0 for row in report.operators)
        last = max((buffer.last for buffer in arena.plan), default=-1)
        plan = [
            BufferLife(names[b.number], writers.get(b.number, ""), b.size, b.first, b.last, b.offset)
            for b in arena.plan
        ]
        scratch = [LayerScratch(graph, op, label_of(model, graph, op), size) for graph, op, size in arena.scratch]
        steps = [f"{row.op} '{row.label}'" for row in report.operators if main]
        alive = [sum(buffer.room for buffer in arena.alive(step)) for step in range(last + 1)]
        laid_out = Arena(
            arena.head,
            arena.tail,
            arena.needed,
            arena.persistent,
            tuple(scratch),
            tuple(plan),
            tuple(alive),
            tuple(steps),
        )
        return MemoryReport(target.label, report.status, report.message, arena=laid_out)
