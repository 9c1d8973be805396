"""What checks look at: one layer on one target with its route and channel counts, or a whole model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.library import Route, route, wrapper_of
from onnxlint_cmsis.ground.findings import Resize, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.records import dataclass
from onnxlint_cmsis.ground.types import KernelCall, Source, Target
from onnxlint_cmsis.lower.decision import Decision
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.on_release import on_release
from onnxlint_cmsis.lower.operands import operands_of
from onnxlint_cmsis.model.node_location import node_location

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis


REACH = 16
"""How many channels a check looks ahead: the largest step a routing condition asks for (`input_dims.c > 16`)."""


class Subject(NamedTuple):
    """One layer on one target."""

    model: ModelAnalysis
    """The model."""
    layer: Layer
    """The layer."""
    target: Target
    """Where it will run."""
    route: Route
    """What runs it there."""
    code_of: Callable[[str], str]
    """Code of the rule that reports a kind of hazard, for messages that name it."""

    @property
    def asked(self) -> KernelCall:
        """The call that the model asks for; a runtime may make another one."""
        return self.model.asked.get(self.layer.node.index, self.layer.call)

    def routed(self, call: KernelCall) -> Route:
        """Route of a changed call on the same target."""
        return self.model.route(call, self.target)

    def routed_in(self, release: str) -> Route:
        """Route of the call in a release, whatever library the runtime brings."""
        return route(self.layer.call, self.target._replace(release=release))

    def candidates(self, variable: str) -> Iterator[tuple[int, Route]]:
        """Sizes above the present one within REACH, nearest first, with the route each would take."""
        have = self.size(variable)
        channel = self.layer.channels.get(variable)
        if have is None or channel is None:
            return
        step = channel.factor
        for size in range(have + step, have + step * REACH + 1, step):
            yield size, self.routed(self.layer.resized(variable, size))

    def size(self, variable: str) -> int | None:
        """Present size of a variable of the call."""
        return self.layer.call.variables().get(variable)

    def entry_sources(self) -> tuple[Source, ...]:
        """Where the nearest release that has the call's entry point has it; nothing where none does."""
        wrapper = wrapper_of(self.layer.call.entry)
        source = wrapper.source_near(self.target.release)
        return (source,) if source else ()

    def tensors(self) -> dict[str, str]:
        """Tensors whose sizes the call's dimensions are, as far as there is one: `output_dims` -> `y`."""
        node = self.layer.node
        weights = next((channel.tensor for channel in self.layer.channels.values()), "")
        filters = weights if weights in node.inputs[1:] else ""
        places = {"input_dims": self._input(), "filter_dims": filters}
        places["output_dims"] = next(iter(node.outputs), "")
        return {dims: tensor for dims, tensor in places.items() if tensor}

    def _input(self) -> str:
        """Tensor the kernel reads: the layer's first operand, or what the Pad nodes read whose padding it includes."""
        tensor = next(iter(operands_of(self.layer.node)), "")
        for label in self.layer.folded:
            producer = self.model.graph.producers.get(tensor)
            while producer is not None and producer.label != label and producer.inputs:
                producer = self.model.graph.producers.get(producer.inputs[0])
            tensor = producer.inputs[0] if producer is not None else ""
        return tensor

    def say(self, message: str) -> Statement:
        """Make a statement about this layer; `message` is what follows `Conv 'name'`."""
        node = self.layer.node
        text = f"{node.op_type} '{node.label}': {message}"
        location = node_location(self.model.graph.path, node)
        return Statement(text, location, targets=(self.target.label,), taken=self.route.kernel)

    def resize(self, variable: str, want: int) -> Resize:
        """Describe a change of a channel count and whether it may happen."""
        from onnxlint_cmsis.checks.freedom import resize

        return resize(self.model.dimensions, self.layer, variable, want)


class ReleaseRefusal(NamedTuple):
    """A layer that the release of a target does not compute."""

    record: LoweredLayer
    """The node."""
    decision: Decision
    """Who computes it instead, and why."""
    subject: Subject
    """The layer on the target."""


@dataclass(frozen=True, eq=False)
class ModelSubject:
    """A model on all its targets."""

    model: ModelAnalysis
    """The model."""
    lowered: Lowered
    """Its layers that are to be judged, and its other nodes."""
    code_of: Callable[[str], str]
    """Code of the rule that reports a kind of hazard."""

    def layers(self) -> Iterator[Subject]:
        """Each layer on each target."""
        for layer in self.lowered.layers:
            for target, taken in self.model.routes(layer):
                yield Subject(self.model, layer, target, taken, self.code_of)

    @cached_property
    def release_refusals(self) -> tuple[ReleaseRefusal, ...]:
        """Layers that a target's release does not compute, with the reason; worked out once for all rules."""
        refusals = []
        for layer in self.layers():
            record = self.lowered.by_index[layer.layer.node.index]
            refusal = on_release(record, layer.route, layer.target.release)
            if refusal:
                refusals.append(ReleaseRefusal(record, refusal, layer))
        return tuple(refusals)


def with_resize(said: Statement, change: Resize, wanted: str) -> Statement:
    """The statement with the channel count it asks for; its location names the tensor that carries it."""
    location = said.location._replace(tensor=change.tensor)
    return replace(said, resize=change, wanted=wanted, location=location)


def way_out(change: Resize, kernel: str) -> str:
    """The sentence on a channel count that may change and meets no hazard."""
    return f"{taken(change, kernel)}, of which no hazard is known ({change.freedom.value})."


def taken(change: Resize, kernel: str) -> str:
    """`17 input channels for 12 take arm_convolve_s8`."""
    if change.variable == "ch_mult":
        return f"A channel multiplier of {change.want} for {change.have} takes {kernel}"
    return f"{change.want} input channels for {change.have} take {kernel}"


def freedom_text(change: Resize) -> str:
    """Say in words who else moves with a channel count: `COUPLED with 'conv1', 'conv2'`."""
    where = f"axis {change.axis} of '{change.tensor}' is {change.freedom.value}"
    if change.lock:
        return f"{where} ({change.lock})"
    names = ", ".join(f"'{name}'" for name in change.layers)
    return f"{where}: {names} {'decides' if len(change.layers) == 1 else 'decide'} it"
