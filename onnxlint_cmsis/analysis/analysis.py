"""One model analysed: graph, kernel calls, dimension classes, routes and lanes, each computed once, when asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.cmsis_nn.families import LEGACY
from onnxlint_cmsis.cmsis_nn.library import Route, route
from onnxlint_cmsis.cmsis_nn.releases import said_of
from onnxlint_cmsis.formats.format import file_of, format_of, part
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import FloatCall, KernelCall, MemoryRoom, Size, Target
from onnxlint_cmsis.lower.decision import UNDECIDED, Cause, Decision
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.loop_turns import turns_at, turns_of
from onnxlint_cmsis.lower.lowered import Lowered
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.on_release import on_release
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.work import Work, work_of
from onnxlint_cmsis.runtimes.runtime import DIRECT, TFLM, Runtime, runtime_for, runtime_notes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.analysis.dimensions import Dimensions
    from onnxlint_cmsis.analysis.lanes import Lanes
    from onnxlint_cmsis.formats.format import Format, LoadedFile
    from onnxlint_cmsis.lower.layout_copies import LayoutCopy, MemoryLayout
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Graph, Node
    from onnxlint_cmsis.runtimes.conditions import Judged, JudgedLayer
    from onnxlint_cmsis.runtimes.host.comparison import HostComparison
    from onnxlint_cmsis.runtimes.interpretation import FileInterpretation
    from onnxlint_cmsis.runtimes.memory_report import MemoryReport
    from onnxlint_cmsis.runtimes.remark import RuntimeRemark
    from onnxlint_cmsis.runtimes.tflm.resolver import Resolver


Place = tuple[str, int, int]
"""Tensor, axis, index."""


class AnalysisSettings(NamedTuple):
    """What a model is analysed for."""

    targets: tuple[Target, ...]
    """CPUs with release and compiler."""
    assume: str = "s8"
    """`s8`, `s16` or `s4`: what a layer that computes in float becomes; `f32` or `f16` where it stays float."""
    one_channel: str = "convolution"
    """`convolution` or `depthwise`: what a convolution with one group over one input channel becomes."""
    input_shapes: Mapping[str, tuple[Size, ...]] = {}
    """Sizes of inputs by name, None for one that stays symbolic."""
    runtime: Runtime = DIRECT
    """Who calls CMSIS-NN."""
    largest_read: int | None = None
    """Bytes of the largest file whose weights checks read, 0 for none; None for no limit."""
    rooms: tuple[MemoryRoom, ...] = ()
    """RAM, flash and stack of each target, in the order of `targets`; none where no memory is given."""
    cmsis_nn_build: str = "SPEED"
    """`SPEED`, `SIZE` or `NONE`: how TensorFlow Lite Micro's kernels are built."""
    clocks: tuple[int | None, ...] = ()
    """Hertz of each target, in the order of `targets`; None where nothing is said about time."""
    memories: tuple[tuple[str, str], ...] = ()
    """Memories of weights and arena of each target, in the order of `targets`; none where nothing is said."""
    floating: FloatCall = FloatCall()
    """What calls of functions for f32 and f16 are given."""


UNDECIDED_KERNEL = UNDECIDED._replace(reason="an unknown size decides its kernel")
"""A call of which one kernel or another can be the one."""


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
        self._costs: dict[tuple[KernelCall, Target], int | None] = {}

    @cached_property
    def interpretation(self) -> FileInterpretation | None:
        """What the runtime does with the file; None where it does not read the file as it is."""
        if self._loaded is None or not self.format.interpretation:
            return None
        settings = self.settings
        interpretation: FileInterpretation = part(self.format.interpretation)(
            self._loaded, settings.targets, settings.runtime, settings.cmsis_nn_build
        )
        return interpretation

    @cached_property
    def lowered(self) -> Lowered:
        """Layers as kernel calls, and the nodes that are none; with a runtime, the calls that it makes."""
        return self.judged.lowered if self.judged else self._lowered

    @cached_property
    def _lowered(self) -> Lowered:
        if self.interpretation:
            return self.interpretation.lowered
        return lower(self.graph, self.settings.assume, self.settings.one_channel, self.settings.floating)

    @cached_property
    def judged(self) -> Judged | None:
        """What the runtime makes of each layer; None where it reads the file as it is, or there is none."""
        if self.interpretation or not self.settings.runtime.judges:
            return None
        from onnxlint_cmsis.runtimes.conditions import judge

        return judge(self.graph, self._lowered, self.settings.runtime)

    @cached_property
    def resolver(self) -> Resolver | None:
        """Operators that the application registers in TensorFlow Lite Micro; None for another runtime.

        Of a model that is yet to be converted they are those of its layers.
        """
        if self.interpretation:
            return self.interpretation.resolver
        if self.judged is None or self.settings.runtime.name != TFLM:
            return None
        from onnxlint_cmsis.runtimes.tflite_names import tflite_name
        from onnxlint_cmsis.runtimes.tflm.resolver import resolver_of

        names = (tflite_name(layer.record) for layer in self.judged.layers)
        return resolver_of(((name, "") for name in names if name), whole=False)

    @cached_property
    def judgements(self) -> dict[int, JudgedLayer]:
        """What the runtime makes of each layer, by its node's index; empty for the application."""
        return {layer.record.node.index: layer for layer in self.judged.layers} if self.judged else {}

    def judgement(self, record: LoweredLayer, target: Target) -> JudgedLayer | None:
        """What the runtime makes of a layer on a target; None for the application."""
        judged = self.judgements.get(record.node.index)
        return judged.on(target.isa) if judged else None

    @cached_property
    def remarks(self) -> tuple[RuntimeRemark, ...]:
        """What is to be said of the runtime and the layers."""
        if self.interpretation:
            return self.interpretation.remarks
        if self.judged is None:
            return ()
        from onnxlint_cmsis.runtimes.conditions import remarks

        return remarks(self.graph, self.judged.layers, self.settings.runtime, self.settings.targets)

    def notes(self, open_codes: str = "") -> tuple[str, ...]:
        """What the file was judged for, as `runtime_notes`, and what is to be said of the build of the runtime."""
        judged_for = runtime_notes(self.settings.runtime, self.format, open_codes)
        said = dict.fromkeys(said_of(target.release) for target in self.settings.targets)
        return (*judged_for, *filter(None, said), *(self.interpretation.notes if self.interpretation else ()))

    @cached_property
    def against_hosts(self) -> tuple[HostComparison, ...]:
        """What layers and outputs may be off in runtimes of a desktop that read such files; none where none does.

        Reads weights.
        """
        from onnxlint_cmsis.runtimes.host.comparison import against
        from onnxlint_cmsis.runtimes.host.hosts import TFLITE_HOSTS
        from onnxlint_cmsis.runtimes.host.onnx_runtime import against_onnx_runtime

        unfit: dict[int, str] = {}
        if self.interpretation is None:
            for record in self.lowered.records:
                judged = self.judgements.get(record.node.index)
                if judged and judged.verdict is not Outcome.CMSIS_NN:
                    unfit[record.node.index] = f"becomes {judged.verdict.value}: {judged.reason}"
            return (against_onnx_runtime(self.graph, self.lowered.records, unfit),)
        if self.format.interpreter != TFLM:
            return ()
        for target in self.settings.targets:
            for operator in self.interpretation.operators(target):
                row = operator.row
                if operator.node and row.verdict not in (Outcome.CMSIS_NN, Outcome.REFERENCE):
                    unfit[operator.node.index] = f"does not run as the file says ({row.verdict.value}): {row.reason}"
        return tuple(against(self.graph, self.read, host, unfit) for host in TFLITE_HOSTS)

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
        return {record.node.index: record.layer.call for record in self._lowered.records if record.layer}

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
        if self.interpretation and not self.interpretation.has_cost(record.node, target):
            return LayerCost()
        if record.node.index in self.graph.once:
            return LayerCost(0)
        if verdict is Outcome.REFERENCE:
            return LayerCost(None, self.reference_range(record, target))
        if verdict is not Outcome.CMSIS_NN or record.layer is None:
            return LayerCost()
        from onnxlint_cmsis.cmsis_nn.library import call_cost, range_reason

        call = record.layer.call
        library, taken = self.settings.runtime.library(call.entry, target), self.route(call, target)
        instructions, ends, by_compiler = call_cost(call, library, taken)
        apart = ends is not None and not range_reason(taken.effective)
        return LayerCost(instructions, ends, by_compiler if apart else ())

    def reference_range(self, record: LoweredLayer, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of the reference code for a layer; None where nothing is known.

        It is code of the application or of its runtime.
        """
        if self.interpretation:
            return self.interpretation.reference_range(record.node, target)
        if self.judged:
            from onnxlint_cmsis.runtimes.tflm.reference_cost import layer_range

            return layer_range(self.graph, self.judgements[record.node.index], target, self.settings.runtime)
        from onnxlint_cmsis.cmsis_nn.library import reference_range

        if not self._by_application or not record.code:
            return None
        shape = self.graph.shape(record.node.outputs[0])
        sizes = tuple(size for size in shape or () if size is not None)
        if shape is None or len(sizes) < len(shape):
            return None
        repeats = record.cause is Cause.BROADCAST
        return reference_range(target, record.code, sizes, self._width, repeats=repeats)

    def copy_range(self, copy: LayoutCopy, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of a copy between memory orders."""
        from onnxlint_cmsis.cmsis_nn.library import copy_range

        return copy_range(target, copy.places, self._width)

    @cached_property
    def copies(self) -> tuple[LayoutCopy, ...]:
        """Copies between memory orders that the application makes; none where a runtime lays tensors out."""
        return self.layout.copies if self._by_application else ()

    @cached_property
    def layout(self) -> MemoryLayout:
        """Where activations lie for an application that calls CMSIS-NN's functions, whoever does so here."""
        from onnxlint_cmsis.lower.layout_copies import memory_layout

        return memory_layout(self.graph, self._lowered)

    @cached_property
    def unknown_copies(self) -> bool:
        """Whether a runtime stands between copies of memory orders and the device, so that their number is unknown."""
        return self.judged is not None and bool(self.layout.copies)

    def scratch(self, target: Target) -> dict[int, int]:
        """Bytes of scratch of each layer, by its node's index."""
        routes = {layer.node.index: self.route(layer.call, target) for layer in self.lowered.layers}
        return {index: taken.scratch for index, taken in routes.items()}

    def memory(self, target: Target) -> MemoryReport:
        """The arena of the plan that the firmware check builds, with scratch beside it; for a runtime a lower bound.

        A runtime that reads the file as it is lays it out itself.
        """
        if self.interpretation:
            return self.interpretation.memory(target)
        from onnxlint_cmsis.analysis.activations import activations
        from onnxlint_cmsis.analysis.memory import LOWER_BOUND, OWN_PLAN, arena_of
        from onnxlint_cmsis.runtimes.memory_report import MemoryReport

        uses = activations(self.graph, self.lowered)
        if uses is None:
            return MemoryReport(target.label, reason="a size is unknown")
        basis = LOWER_BOUND if self.settings.runtime.judges else OWN_PLAN
        return MemoryReport(target.label, arena=arena_of(uses, self.graph, self.scratch(target), basis))

    @property
    def _by_application(self) -> bool:
        """Whether the application calls the functions of CMSIS-NN, and has the reference code."""
        return not self.settings.runtime.judges and self.settings.assume not in LEGACY.types

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

    def lanes(self, disproved: Collection[Place] = ()) -> Lanes:
        """Lanes of every class: constant, unread or live. Reads weights.

        `disproved` are places that were seen to hold other values than the analysis says; they count as live.
        """
        return self._lanes if not disproved else self._lanes_without(disproved)

    @cached_property
    def _lanes(self) -> Lanes:
        return self._lanes_without(())

    def _lanes_without(self, disproved: Collection[Place]) -> Lanes:
        from onnxlint_cmsis.analysis.lanes import analyse_lanes

        return analyse_lanes(self.graph, self.dimensions, self.read, disproved=disproved)
