"""What a check looks at: one layer on one target, with its route and the classes of its channel counts."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.cmsis_nn.route import Route, route
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.onnx_graph.graph import Graph
from onnxlint_cmsis.types import Finding, KernelCall, Level, Location, Resize, Target

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.classes import Dimensions

REACH = 16
"""How many channels a check looks ahead: the largest step a routing condition asks for (`input_dims.c > 16`)."""


class Model:
    """A graph with its dimension classes, worked out when first asked for."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def dimensions(self) -> Dimensions:
        """Classes of the graph."""
        from onnxlint_cmsis.dims.classes import analyse

        return analyse(self.graph)


class Subject(NamedTuple):
    """One layer on one target."""

    model: Model
    """Graph and classes."""
    layer: Layer
    """The layer."""
    target: Target
    """Where it will run."""
    route: Route
    """What runs it there."""

    def routed(self, call: KernelCall) -> Route:
        """Route of a changed call on the same target."""
        return route(call, self.target)

    def candidates(self, variable: str) -> list[tuple[int, Route]]:
        """Sizes above the present one within REACH, nearest first, with the route each would take."""
        have = self.size(variable)
        channel = self.layer.channels.get(variable)
        if have is None or channel is None:
            return []
        step = channel.factor
        sizes = range(have + step, have + step * REACH + 1, step)
        return [(size, self.routed(self.layer.resized(variable, size))) for size in sizes]

    def size(self, variable: str) -> int | None:
        """Present size of a variable of the call."""
        return self.layer.call.variables().get(variable)

    def finding(self, code: str, name: str, level: Level, message: str) -> Finding:
        """Make a finding on this layer; `message` is what follows `Conv 'name'`."""
        node = self.layer.node
        tensor = node.outputs[0] if node.outputs else ""
        location = Location(
            self.model.graph.path, node.label, node.op_type, tensor, node.graph, node.offset, node.length
        )
        text = f"{node.op_type} '{node.label}': {message}"
        return Finding(code, name, level, text, location, (self.target.label,), taken=self.route.kernel)

    def resize(self, variable: str, want: int) -> Resize:
        """Describe a change of a channel count and whether it may happen."""
        from onnxlint_cmsis.checks.freedom import resize

        return resize(self.model.dimensions, self.layer, variable, want)


def with_resize(finding: Finding, change: Resize, wanted: str) -> Finding:
    """The finding with the channel count it asks for; its location names the tensor that carries it."""
    location = finding.location._replace(tensor=change.tensor)
    return replace(finding, resize=change, wanted=wanted, location=location)


def freedom_text(change: Resize) -> str:
    """Say in words who else moves with a channel count: `COUPLED with 'conv1', 'conv2'`."""
    place = f"axis {change.axis} of '{change.tensor}' is {change.freedom.value}"
    if change.lock:
        return f"{place} by {change.lock}"
    names = ", ".join(f"'{name}'" for name in change.layers)
    return f"{place}: {names} {'decides' if len(change.layers) == 1 else 'decide'} it"
