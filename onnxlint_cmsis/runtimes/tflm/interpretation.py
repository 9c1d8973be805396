"""A `.tflite` file with what TensorFlow Lite Micro does with it, for some targets."""

from __future__ import annotations

from functools import cached_property

from onnxlint_cmsis.formats.tflite.arrays import stored_bytes
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.formats.tflite.to_graph import LoadedTflite
from onnxlint_cmsis.ground.findings import Location
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.node_location import node_location
from onnxlint_cmsis.runtimes.execution import FileExecution
from onnxlint_cmsis.runtimes.interpretation import FileOperator
from onnxlint_cmsis.runtimes.memory_report import Arena, BufferLife, LayerScratch, MemoryReport, PlanGain
from onnxlint_cmsis.runtimes.remark import RuntimeRemark
from onnxlint_cmsis.runtimes.runtime import Runtime
from onnxlint_cmsis.runtimes.tflm.arena import ArenaLayout
from onnxlint_cmsis.runtimes.tflm.buffer_names import buffer_names, buffer_writers, label_of
from onnxlint_cmsis.runtimes.tflm.build import build_for
from onnxlint_cmsis.runtimes.tflm.free_plan import FreePlan, free_plan
from onnxlint_cmsis.runtimes.tflm.interpret import interpret, nothing_known
from onnxlint_cmsis.runtimes.tflm.kernels import BUILTIN
from onnxlint_cmsis.runtimes.tflm.lowered_layers import lowered_layer
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView, operator_views
from onnxlint_cmsis.runtimes.tflm.remarks import plan_remarks, remarks, version_remarks
from onnxlint_cmsis.runtimes.tflm.resolver import Resolver, resolver_of
from onnxlint_cmsis.runtimes.tflm.stated_plans import plan_sentence
from onnxlint_cmsis.runtimes.tflm.verdicts import TflmReport

WITHOUT_CMSIS_NN = "The build has reference code alone and no CMSIS-NN (cmsis-nn-build = NONE)."


class Interpretation(FileExecution):
    """What TensorFlow Lite Micro does with a file, in builds for some targets."""

    def __init__(self, loaded: LoadedTflite, targets: tuple[Target, ...], runtime: Runtime, build: str) -> None:
        """Take the file; `build` is SPEED, SIZE or NONE."""
        self.file = loaded.file
        """The file as plain data."""
        self._graph = loaded.graph
        self.targets = targets
        """CPUs with release and compiler."""
        self._runtime = runtime
        self._build = build
        self._reports: dict[tuple[Target, bool], TflmReport] = {}
        self._stops: dict[Target, str | None] = {}
        self._known = nothing_known(self.file)

    def report(self, target: Target, *, checks: bool = True) -> TflmReport:
        """What becomes of the file on a target; `checks` is False for a build with NDEBUG, which is not laid out."""
        if (target, checks) not in self._reports:
            build = build_for(self._runtime, target, self._build, checks=checks)
            self._reports[target, checks] = interpret(self.file, build, laid_out=checks, known=self._known)
        return self._reports[target, checks]

    def stop(self, target: Target) -> str | None:
        """What stops the model in every build for a target, as words; None where a build runs it."""
        if target not in self._stops:
            self._stops[target] = self.report(target, checks=False).stop
        return self._stops[target]

    @cached_property
    def nodes(self) -> list[Node | None]:
        """The graph's node of every operator, subgraph by subgraph; None in those that the main one never runs."""
        by_offset = {node.offset: node for node in self._graph.nodes}
        return [by_offset.get(operator.span.offset) for _, _, operator in self.file.operators()]

    @cached_property
    def _rows_of(self) -> dict[int, list[int]]:
        """Rows of the report that are a node, by the node's index."""
        rows: dict[int, list[int]] = {}
        for row, node in enumerate(self.nodes):
            if node is not None:
                rows.setdefault(node.index, []).append(row)
        return rows

    def _views_of(self, node: Node) -> list[OperatorView]:
        return [self.views[row] for row in self._rows_of.get(node.index, ())]

    @cached_property
    def views(self) -> list[OperatorView]:
        """Every operator with its tensors, subgraph by subgraph."""
        return operator_views(self.file)

    def operators(self, target: Target) -> tuple[FileOperator, ...]:
        """What becomes of each operator in a build with checks, in file order."""
        operators = []
        for row, node in zip(self.report(target).operators, self.nodes, strict=True):
            if node is not None:
                tensor = next(iter(node.outputs), "")
            else:
                subgraph = self.file.subgraphs[row.subgraph]
                written = [subgraph.tensors[number].name for number in subgraph.operators[row.index].outputs[:1]]
                tensor = f"subgraph{row.subgraph}/{written[0]}" if written else ""
            operators.append(FileOperator(row, node, tensor))
        return tuple(operators)

    @cached_property
    def asked(self) -> Lowered:
        """The calls that are made in a build without checks, in which there are more; the same on every target."""
        rows = self.report(self.targets[0], checks=False).operators
        records = [lowered_layer(self._graph, node, row) for row, node in zip(rows, self.nodes, strict=True) if node]
        return Lowered(tuple(record for record in records if record is not None))

    @cached_property
    def places(self) -> list[Location]:
        """Where each operator is; one that the main subgraph never runs by its number alone."""
        path = self._graph.path
        return [
            node_location(path, node) if node else Location(path, row.label, row.op, graph=f"subgraph {row.subgraph}")
            for row, node in zip(self.report(self.targets[0]).operators, self.nodes, strict=True)
        ]

    @cached_property
    def remarks(self) -> tuple[RuntimeRemark, ...]:
        """What is to be said of the runtime and the operators, target by target."""
        told: list[RuntimeRemark] = []
        for target in self.targets:
            strict, lax = (self.report(target, checks=checks).operators for checks in (True, False))
            told += remarks(strict, lax, self.views, self.places, target.label)
        price = self.float_price
        if price:
            told = [row._replace(message=f"{row.message} {price}") if row.cause == "float" else row for row in told]
        labels = tuple(target.label for target in self.targets)
        told += plan_remarks(self.file, self.places, labels)
        return (*told, *version_remarks(self.file, self.places, labels))

    @cached_property
    def float_price(self) -> str:
        """How many times the instructions of int8 the layers with weights in float take, as a sentence; else empty."""
        rows = zip(self.report(self.targets[0], checks=False).operators, self.views, strict=True)
        views = [view for row, view in rows if row.verdict is Outcome.REFERENCE and row.cause == "float"]
        if not views:
            return ""
        from onnxlint_cmsis.runtimes.tflm.float_price import times_int8

        told: dict[str, str] = {}
        for target in self.targets:
            build = build_for(self._runtime, target, self._build, checks=False)
            times = times_int8(views, target, build, self._runtime)
            if times and not self.stop(target):
                low, high = (f"{number:.2g}" if number < 10 else f"{number:.0f}" for number in times)
                told[target.cpu] = low if low == high else f"{low} to {high}"
        where = ", ".join(f"{times} times on {cpu}" for cpu, times in told.items())
        return f"Its layers with weights take more instructions than in int8: {where}." if where else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The note that no function of CMSIS-NN is called, where the build has none."""
        return (WITHOUT_CMSIS_NN,) if self._build == "NONE" else ()

    def has_cost(self, node: Node, target: Target) -> bool:
        """Tell whether there can be a cost: not in a model that stops, nor of several functions (in SIZE builds)."""
        rows = self.report(target).operators
        several = any(len(rows[row].functions) > 1 for row in self._rows_of.get(node.index, ()))
        return not self.stop(target) and (node.index in self._graph.once or not several)

    def range_around(self, node: Node, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of the matrices that BATCH_MATMUL turns before it multiplies them."""
        from onnxlint_cmsis.runtimes.tflm.reference_cost import turning_range

        view = next((view for view in self._views_of(node) if view.operator.op == "BATCH_MATMUL"), None)
        return (0, 0) if view is None else turning_range(view, target, self._runtime)

    def reference_range(self, record: LoweredLayer, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of the reference kernel of an operator; None where nothing is known."""
        from onnxlint_cmsis.runtimes.tflm.reference_cost import operator_range

        views = self._views_of(record.node)
        return operator_range(views[0], target, self._runtime) if views else None

    @property
    def path(self) -> str:
        """File as the user named it."""
        return self.file.path

    @property
    def constants(self) -> int:
        """Bytes of the constants."""
        return stored_bytes(self.file)

    @property
    def flash(self) -> int:
        """Bytes of the file, all of which lies in flash."""
        return len(self.file.data)

    @property
    def resolver(self) -> Resolver:
        """Operators that the application registers, those of all subgraphs."""
        return resolver_of(((op.op, op.custom_code) for _, _, op in self.file.operators()), BUILTIN, whole=True)

    def scratch(self, target: Target) -> int | None:
        """Sum of an operator's requests, that of the hungriest; they lie in the arena. None where one's are unknown."""
        rows = self.report(target).operators
        return None if any(row.memory is None for row in rows) else max((sum(row.scratch) for row in rows), default=0)

    def arena(self, target: Target) -> ArenaLayout | None:
        """The arena of a build with checks; None where there is none, and for a model that stops."""
        return None if self.stop(target) else self.report(target).arena

    @cached_property
    def planned_targets(self) -> tuple[Target, ...]:
        """Targets on which it has an arena."""
        return tuple(target for target in self.targets if self.arena(target) is not None)

    @cached_property
    def free_plan(self) -> FreePlan | None:
        """A memory plan with which the file takes less on all targets together; None where none is found."""
        arenas = [arena for target in self.planned_targets if (arena := self.arena(target))]
        return free_plan(self.file, arenas)

    def arenas_of(self, model: TfliteModel, targets: tuple[Target, ...] = ()) -> tuple[ArenaLayout, ...]:
        """The arena of another version of the file on each target, or on some; none where one has none."""
        asked = targets or self.targets
        reports = [interpret(model, build_for(self._runtime, target, self._build)) for target in asked]
        arenas = [report.arena for report in reports if report.arena and not report.stop]
        return tuple(arenas) if len(arenas) == len(asked) else ()

    @property
    def plan_gains(self) -> tuple[PlanGain, ...]:
        """What the free plan gains on each target; none where there is none."""
        if self.free_plan is None:
            return ()
        old = [arena.to_write for target in self.planned_targets if (arena := self.arena(target))]
        new = [arena.to_write for arena in self.free_plan.arenas]
        return tuple(
            PlanGain(target.label, *sizes) for target, *sizes in zip(self.planned_targets, old, new, strict=True)
        )

    def memory(self, target: Target) -> MemoryReport:
        """The arena of a build with checks with the names of all in it, or why there is none."""
        report, arena = self.report(target), self.arena(target)
        if arena is None:
            reasons = (report.no_arena or "it does not run", self.stop(target) or report.stop)
            why = ": ".join(filter(None, reasons))
            return MemoryReport(target.label, report.status, report.message, why, plan=self._plan_sentence)
        return self._laid_out(target, arena)

    def planned_memory(self) -> tuple[MemoryReport, ...]:
        """The arena of each planned target with the free plan; as it is where there is none."""
        if self.free_plan is None:
            return tuple(map(self.memory, self.planned_targets))
        return tuple(map(self._laid_out, self.planned_targets, self.free_plan.arenas))

    @cached_property
    def _plan_sentence(self) -> str:
        return plan_sentence(self.file)

    def _laid_out(self, target: Target, arena: ArenaLayout) -> MemoryReport:
        report, model = self.report(target), self.file
        names, writers = buffer_names(model, arena), buffer_writers(model, arena)
        plan = [
            BufferLife(names[b.number], writers.get(b.number, ""), b.size, b.first, b.last, b.offset)
            for b in arena.plan
        ]
        scratch = [LayerScratch(graph, op, label_of(model, graph, op), size) for graph, op, size in arena.scratch]
        main = all(row.subgraph == 0 for row in report.operators)
        laid_out = Arena(
            arena.head,
            arena.tail,
            arena.needed,
            arena.to_write,
            arena.persistent,
            tuple(scratch),
            tuple(plan),
            arena.alive_bytes,
            tuple(f"{row.op} '{row.label}'" for row in report.operators if main),
        )
        return MemoryReport(target.label, report.status, report.message, arena=laid_out, plan=self._plan_sentence)
