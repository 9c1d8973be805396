"""One model analysed: graph, kernel calls, dimension classes, routes and lanes, each computed once, when asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.analysis.executions import Converted, Direct
from onnxlint_cmsis.cmsis_nn.library import Route, route
from onnxlint_cmsis.cmsis_nn.releases import said_of
from onnxlint_cmsis.formats.format import Format, LoadedFile, file_of, format_of, part
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall, Target
from onnxlint_cmsis.lower.decision import UNDECIDED, Decision
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.loop_turns import turns_at, turns_of
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.on_release import on_release
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.work import Work, work_of
from onnxlint_cmsis.runtimes.runtime import TFLM, runtime_for, runtime_notes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.analysis.dimensions import Dimensions
    from onnxlint_cmsis.analysis.lanes import Lanes
    from onnxlint_cmsis.cmsis_nn.library import CallCost
    from onnxlint_cmsis.lower.layout_copies import LayoutCopy, MemoryLayout
    from onnxlint_cmsis.model.graph import Graph, Node
    from onnxlint_cmsis.runtimes.execution import Execution
    from onnxlint_cmsis.runtimes.host.comparison import HostComparison
    from onnxlint_cmsis.runtimes.judged_layers import JudgedLayer


TensorIndex = tuple[str, int, int]
"""Tensor, axis, index."""


UNDECIDED_KERNEL = UNDECIDED._replace(reason="an unknown size decides its kernel")
"""A call of which one kernel or another can be the one."""


Result = TypeVar("Result")


class LayerCost(NamedTuple):
    """Predicted instructions of a layer in a run."""

    instructions: int | None = None
    """One number; None where nothing was measured that gives one."""
    range: tuple[int, int] | None = None
    """Least and most, where data or the compiler decide, or reference code computes it; None where it is not known."""
    by_compiler: tuple[tuple[int, int], ...] = ()
    """Least and most with each compiler that the target may mean; none where these agree. The number is the first's."""

    @property
    def ends(self) -> tuple[int, int] | None:
        """Least and most that a sum takes: the number twice, where there is one."""
        return self.range if self.instructions is None else (self.instructions, self.instructions)


class ModelAnalysis:
    """What follows from the bytes of one model for some targets.

    The graph is read at once. Everything else is worked out when first asked for, and kept.
    """

    def __init__(
        self, path: str, settings: AnalysisSettings, data: bytes | None = None, *, graph: Graph | None = None
    ) -> None:
        """Read the file, or `data` in its place, unless `graph` is what it reads as. Raises ModelError."""
        self.path = path
        """File as the user named it."""
        self.format: Format = format_of(path)
        """Format of the file."""
        self.line = 1
        """Line of a C file on which the array begins that holds the model; 1 for a file of its own."""
        if data is None and file_of(path) != path:
            from onnxlint_cmsis.formats.held import held_model

            held = held_model(path)
            data, self.line = held.data, held.line
        self._data = data
        self._loaded: LoadedFile | None = None
        if graph is None:
            self._loaded = self.format.load(path, self._data, settings.input_shapes)
            graph = self._loaded.graph
        self.graph: Graph = graph
        """Nodes, tensors and constants."""
        runtime = runtime_for(settings.runtime, self.format)
        if self._loaded is not None and self.format.revision:
            runtime = part(self.format.revision)(self._loaded, runtime)
        self.settings = settings._replace(runtime=runtime)
        """What it is analysed for."""
        self._routes: dict[tuple[KernelCall, Target], Route] = {}
        self._done: dict[Callable[[ModelAnalysis], Any], Any] = {}
        self._costs: dict[tuple[KernelCall, Target], int | None] = {}
        self._call_costs: dict[tuple[KernelCall, Target], CallCost] = {}

    @cached_property
    def execution(self) -> Execution:
        """How the device executes the model."""
        settings = self.settings
        if self._loaded is not None and self.format.interpretation:
            interpreted: Execution = part(self.format.interpretation)(
                self._loaded, settings.targets, settings.runtime, settings.cmsis_nn_build
            )
            return interpreted
        way = Converted if settings.runtime.judges else Direct
        return way(self.graph, settings, self.scratch)

    @property
    def lowered(self) -> Lowered:
        """Layers as kernel calls, and the nodes that are none; with a runtime, the calls that it makes."""
        return self.execution.lowered

    def judgement(self, record: LoweredLayer, target: Target) -> JudgedLayer | None:
        """What the runtime makes of a layer on a target; None for the application."""
        judged = self.execution.judgements.get(record.node.index)
        return judged.on(target.isa) if judged else None

    def notes(self, open_codes: str = "") -> tuple[str, ...]:
        """What the file was judged for, as `runtime_notes`, and what is to be said of the build of the runtime."""
        judged_for = runtime_notes(self.settings.runtime, self.format, open_codes)
        said = dict.fromkeys(said_of(target.release) for target in self.settings.targets)
        return (*judged_for, *filter(None, said), *self.execution.notes)

    @cached_property
    def against_hosts(self) -> tuple[HostComparison, ...]:
        """What layers and outputs may be off in runtimes of a desktop that read such files; none where none does.

        Reads weights.
        """
        from onnxlint_cmsis.runtimes.host.comparison import against
        from onnxlint_cmsis.runtimes.host.hosts import TFLITE_HOSTS
        from onnxlint_cmsis.runtimes.host.onnx_runtime import against_onnx_runtime

        if not self.execution.reads_file:
            return (against_onnx_runtime(self.graph, self.lowered.records, self.execution.unfit),)
        if self.format.interpreter != TFLM:
            return ()
        return tuple(against(self.graph, self.read, host, self.execution.unfit) for host in TFLITE_HOSTS)

    @cached_property
    def work(self) -> dict[int, Work]:
        """What each node with something to compute does in every run, by its index."""
        return {
            record.node.index: Work(0)
            if record.node.index in self.graph.once
            else work_of(self.graph, record).times(self.turns(record.node))
            for record in self.lowered.records
        }

    @cached_property
    def _turns(self) -> dict[str, int | None]:
        return turns_of(self.graph)

    def turns(self, node: Node) -> int | None:
        """How often a node runs in a run of the model; None in a loop of which that is not known."""
        return turns_at(self._turns, node.graph) if self._turns else 1

    @property
    def repeated(self) -> tuple[LoweredLayer, ...]:
        """Layers and other nodes with something to compute in every run, and not in the first alone."""
        return tuple(record for record in self.lowered.records if record.node.index not in self.graph.once)

    @cached_property
    def dimensions(self) -> Dimensions:
        """Classes of channel counts that move together."""
        from onnxlint_cmsis.analysis.classes import analyse

        return analyse(self.graph)

    def once(self, work: Callable[[ModelAnalysis], Result]) -> Result:
        """The result of some work on the model, which is done the first time alone."""
        if work not in self._done:
            self._done[work] = work(self)
        result: Result = self._done[work]
        return result

    def route(self, call: KernelCall, target: Target) -> Route:
        """Kernel that a call takes on a target, also for a call that no layer makes now."""
        taken = self._routes.get((call, target))
        if taken is None:
            taken = self._routes[call, target] = route(call, self.settings.runtime.library(call.entry, target))
        return taken

    def refusal(self, record: LoweredLayer, target: Target) -> Decision | None:
        """Why no function of CMSIS-NN computes a layer on a target, or which is open; None where one does."""
        taken = self.route(record.layer.call, target) if record.layer and record.call else None
        decision = on_release(record, taken, target.release)
        return UNDECIDED_KERNEL if decision is None and taken is not None and not taken.kernel else decision

    @cached_property
    def asked(self) -> dict[int, KernelCall]:
        """Calls that the model asks for, whatever its runtime makes of them, by index of the node."""
        return {record.node.index: record.layer.call for record in self.execution.asked.records if record.layer}

    def instructions(self, call: KernelCall, target: Target) -> int | None:
        """Predicted instructions of a call on a target; None where nothing was measured that says."""
        if (call, target) not in self._costs:
            from onnxlint_cmsis.cmsis_nn.library import cost_of_route

            library = self.settings.runtime.library(call.entry, target)
            self._costs[call, target] = cost_of_route(call, library, self.route(call, target))
        return self._costs[call, target]

    def cost(self, record: LoweredLayer, target: Target, verdict: Outcome) -> LayerCost:
        """What a layer costs on a target where it has this verdict, in CMSIS-NN or in reference code.

        A layer in the body of a loop costs all turns together.
        """
        cost, turns = self._cost(record, target, verdict), self.turns(record.node)
        if turns == 1:
            return cost
        if turns is None:
            return LayerCost()
        ends = cost.range and (cost.range[0] * turns, cost.range[1] * turns)
        by_compiler = tuple((least * turns, most * turns) for least, most in cost.by_compiler)
        return LayerCost(None if cost.instructions is None else cost.instructions * turns, ends, by_compiler)

    def _cost(self, record: LoweredLayer, target: Target, verdict: Outcome) -> LayerCost:
        """What a layer costs each time it runs."""
        if not self.execution.has_cost(record.node, target):
            return LayerCost()
        if record.node.index in self.graph.once:
            return LayerCost(0)
        if verdict is Outcome.REFERENCE:
            return LayerCost(None, self.execution.reference_range(record, target))
        if verdict is not Outcome.CMSIS_NN or record.layer is None:
            return LayerCost()
        from onnxlint_cmsis.cmsis_nn.library import call_cost, range_reason

        call = record.layer.call
        taken = self.route(call, target)
        if (call, target) not in self._call_costs:
            library = self.settings.runtime.library(call.entry, target)
            self._call_costs[call, target] = call_cost(call, library, taken)
        instructions, ends, by_compiler = self._call_costs[call, target]
        around = self.execution.range_around(record.node, target)
        if around != (0, 0):
            alone = ends or (instructions is not None and (instructions, instructions))
            return LayerCost(None, (alone[0] + around[0], alone[1] + around[1])) if alone and around else LayerCost()
        apart = ends is not None and not range_reason(taken.effective)
        return LayerCost(instructions, ends, by_compiler if apart else ())

    def copy_range(self, copy: LayoutCopy, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of a copy between memory orders."""
        from onnxlint_cmsis.cmsis_nn.library import copy_range

        return copy_range(target, copy.places, self._width)

    @cached_property
    def holds_integers(self) -> bool:
        """Tell whether its floats are integers already. Raises OSError."""
        from onnxlint_cmsis.analysis.stored_integers import holds_integers

        return holds_integers(self.graph, self.lowered, self.read_allowed)

    @cached_property
    def copies(self) -> tuple[LayoutCopy, ...]:
        """Copies between memory orders that the application makes; none where a runtime lays tensors out."""
        return self.layout.copies if self.execution.by_application else ()

    @cached_property
    def layout(self) -> MemoryLayout:
        """Where activations lie for an application that calls CMSIS-NN's functions, whoever does so here."""
        from onnxlint_cmsis.lower.layout_copies import memory_layout

        return memory_layout(self.graph, self.execution.asked)

    @cached_property
    def unknown_copies(self) -> bool:
        """Tell if a runtime stands between copies of memory orders and the device, so that their number is unknown."""
        return self.execution.judged is not None and bool(self.layout.copies)

    def scratch(self, target: Target) -> dict[int, int]:
        """Bytes of scratch of each layer, by its node's index."""
        routes = {layer.node.index: self.route(layer.call, target) for layer in self.lowered.layers}
        return {index: taken.scratch for index, taken in routes.items()}

    @cached_property
    def _width(self) -> int:
        """Bytes of an element of every activation."""
        from onnxlint_cmsis.analysis.activations import element_bytes

        return element_bytes(self.lowered)

    def routes(self, layer: Layer) -> tuple[tuple[Target, Route], ...]:
        """Each target with the route of a layer there."""
        return tuple((target, self.route(layer.call, target)) for target in self.settings.targets)

    @cached_property
    def data(self) -> bytes:
        """Bytes of the model, without its external data. Raises OSError."""
        return Path(self.path).read_bytes() if self._data is None else self._data

    @cached_property
    def size(self) -> int:
        """Bytes of the model, without reading them. Raises OSError."""
        return Path(self.path).stat().st_size if self._data is None else len(self._data)

    @cached_property
    def as_stored(self) -> LoadedFile:
        """The file with the sizes that it leaves open. Raises ModelError."""
        if self._loaded is None or self.settings.input_shapes:
            return self.format.load(self.path, self._data)
        return self._loaded

    @cached_property
    def read(self) -> Callable[[str], NDArray[Any] | None]:
        """Values of a stored constant by its key, None where they cannot be read."""
        return (self._loaded or self.as_stored).reader()

    def read_allowed(self, key: str) -> NDArray[Any] | None:
        """Values of a stored constant for checks, which leave weights of large files unread. Raises OSError."""
        limit = self.settings.largest_read
        return self.read(key) if limit is None or self.size <= limit else None

    def lanes(self, disproved: Collection[TensorIndex] = ()) -> Lanes:
        """Lanes of every class: constant, unread or live. Reads weights.

        `disproved` are places that were seen to hold other values than the analysis says; they count as live.
        """
        return self._lanes if not disproved else self._lanes_without(disproved)

    @cached_property
    def _lanes(self) -> Lanes:
        return self._lanes_without(())

    def _lanes_without(self, disproved: Collection[TensorIndex]) -> Lanes:
        from onnxlint_cmsis.analysis.lanes import analyse_lanes

        return analyse_lanes(self.graph, self.dimensions, self.read, disproved=disproved)
