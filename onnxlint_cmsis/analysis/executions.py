"""A model that no runtime reads as it is: its application calls CMSIS-NN, or a runtime does once it is converted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.cmsis_nn.apis import LEGACY
from onnxlint_cmsis.cmsis_nn.library import Duty, duty_of
from onnxlint_cmsis.ground.types import KernelCall, Target
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.runtimes.execution import Execution, MemoryNeeds

if TYPE_CHECKING:
    from onnxlint_cmsis.runtimes.judged_layers import Judged, JudgedLayer
    from onnxlint_cmsis.runtimes.memory_report import MemoryReport
    from onnxlint_cmsis.runtimes.remark import RuntimeRemark
    from onnxlint_cmsis.runtimes.tflm.resolver import Resolver


class Direct(Execution):
    """The application calls the functions of CMSIS-NN, and has the reference code."""

    by_runtime = False

    basis = "the plan of the firmware check"
    """What the figures of an arena are."""

    def __init__(self, graph: Graph, settings: AnalysisSettings, scratch: Callable[[Target], dict[int, int]]) -> None:
        """Take the graph; `scratch` has the bytes of each layer on a target, by index of the node."""
        self._graph = graph
        self._settings = settings
        self._scratch = scratch
        self.by_application = settings.assume not in LEGACY.types

    @cached_property
    def asked(self) -> Lowered:
        """Layers as the calls that the model asks for, whatever becomes of them."""
        settings = self._settings
        return lower(self._graph, settings.assume, settings.one_channel, settings.floating)

    @property
    def unfit(self) -> Mapping[int, str]:
        """None: what the application calls is what the model says."""
        return {}

    @cached_property
    def width(self) -> int:
        """Bytes of an element of every activation."""
        from onnxlint_cmsis.analysis.activations import element_bytes

        return element_bytes(self.lowered)

    def duty(self, call: KernelCall, target: Target) -> Duty | None:
        """What the application computes before a call; None where that is nothing."""
        return duty_of(call, target)

    def reference_range(self, record: LoweredLayer, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of code of the application; None where nothing is known."""
        from onnxlint_cmsis.cmsis_nn.library import reference_range

        if not self.by_application or not record.code:
            return None
        shape = self._graph.shape(record.node.outputs[0])
        sizes = tuple(size for size in shape or () if size is not None)
        if shape is None or len(sizes) < len(shape):
            return None
        return reference_range(target, record.code, sizes, self.width, repeats=record.cause is Cause.BROADCAST)

    def needs(self, target: Target, run: Sequence[LoweredLayer]) -> MemoryNeeds:
        """Weights, biases, multipliers and shifts of every layer whose sizes are known, and the largest scratch."""
        from onnxlint_cmsis.cmsis_nn.library import parameters

        known = [parameters(record.layer.call, target) for record in self.lowered.records if record.layer]
        constants = sum(row.total for row in known if row)
        requests = self._scratch(target)
        scratch = max((requests[record.node.index] for record in run if record.layer), default=0)
        return MemoryNeeds(constants, constants, scratch, None)

    def memory(self, target: Target) -> MemoryReport:
        """The arena of the plan that the firmware check builds, with scratch beside it; for a runtime a lower bound."""
        from onnxlint_cmsis.analysis.activations import activations
        from onnxlint_cmsis.analysis.memory import arena_of
        from onnxlint_cmsis.runtimes.memory_report import MemoryReport

        uses = activations(self._graph, self.lowered)
        if uses is None:
            return MemoryReport(target.label, reason="a size is unknown")
        return MemoryReport(target.label, arena=arena_of(uses, self._graph, self._scratch(target), self.basis))


class Converted(Direct):
    """A runtime calls the functions of CMSIS-NN, once the model is converted for it."""

    by_runtime = True

    basis = "lower bound"

    def __init__(self, graph: Graph, settings: AnalysisSettings, scratch: Callable[[Target], dict[int, int]]) -> None:
        """Take the graph as `Direct` does; the runtime has the reference code, and lays tensors out."""
        super().__init__(graph, settings, scratch)
        self.by_application = False

    def duty(self, call: KernelCall, target: Target) -> Duty | None:
        """None: the runtime computes it."""
        del call, target
        return None

    @cached_property
    def judged(self) -> Judged:
        """What the runtime makes of each layer."""
        from onnxlint_cmsis.runtimes.judged_layers import judge

        return judge(self._graph, self.asked, self._settings.runtime)

    @cached_property
    def judgements(self) -> Mapping[int, JudgedLayer]:
        """What the runtime makes of each layer, by its node's index."""
        return {layer.record.node.index: layer for layer in self.judged.layers}

    @property
    def lowered(self) -> Lowered:
        """Layers as the calls that the runtime makes, and the nodes that are none."""
        return self.judged.lowered

    @cached_property
    def remarks(self) -> tuple[RuntimeRemark, ...]:
        """What is to be said of the runtime and the layers."""
        from onnxlint_cmsis.runtimes.judged_layers import remarks

        return remarks(self._graph, self.judged.layers, self._settings.runtime, self._settings.targets)

    @cached_property
    def resolver(self) -> Resolver | None:
        """Operators of the layers that the application registers; None for another runtime than TFLM."""
        if not self._settings.runtime.reads_tflite:
            return None
        from onnxlint_cmsis.runtimes.tflite_names import tflite_name
        from onnxlint_cmsis.runtimes.tflm.kernels import BUILTIN
        from onnxlint_cmsis.runtimes.tflm.resolver import resolver_of

        names = (tflite_name(layer.record) for layer in self.judged.layers)
        return resolver_of(((name, "") for name in names if name), BUILTIN, whole=False)

    @property
    def unfit(self) -> Mapping[int, str]:
        """What layers become that no function of CMSIS-NN computes, by index of the node."""
        return {
            layer.record.node.index: f"becomes {layer.verdict.value}: {layer.reason}"
            for layer in self.judged.layers
            if layer.verdict is not Outcome.CMSIS_NN
        }

    def reference_range(self, record: LoweredLayer, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of code of the runtime; None where nothing is known."""
        from onnxlint_cmsis.runtimes.tflm.reference_cost import layer_range

        return layer_range(self._graph, self.judgements[record.node.index], target, self._settings.runtime)
