"""What a runtime does with a file that it reads as it is: an answer for each operator."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod
from typing import TYPE_CHECKING, Protocol

from onnxlint_cmsis.cmsis_nn.library import MOST_INSTRUCTIONS
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import POINTWISE, Function, KernelCall
from onnxlint_cmsis.lower.layer import Channel, Layer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.work import macs_of
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Form

if TYPE_CHECKING:
    pass


class OperatorRow(Protocol):
    """What becomes of one operator of a file on one target."""

    @property
    def subgraph(self) -> int:
        """Number of its subgraph or method."""

    @property
    def index(self) -> int:
        """Its number there."""

    @property
    def op(self) -> str:
        """Operator in the file's words."""

    @property
    def label(self) -> str:
        """Its name in messages."""

    @property
    def functions(self) -> tuple[str, ...]:
        """CMSIS-NN functions that are called, outermost; none for other code."""

    @property
    def chain(self) -> tuple[str, ...]:
        """Kernels of the last function in order of delegation."""

    @property
    def verdict(self) -> Outcome:
        """What becomes of it."""

    @property
    def reason(self) -> str:
        """Why."""

    @property
    def own(self) -> tuple[str, ...]:
        """Reasons for wrong values that lie in the runtime and not in a function it calls."""

    @property
    def message(self) -> str:
        """What the firmware prints last of it, or empty."""

    @property
    def stage(self) -> str:
        """Stage at which the firmware stops; empty where it does not."""

    @property
    def scratch(self) -> tuple[int, ...]:
        """Bytes of each scratch buffer."""

    @property
    def effect(self) -> Effect:
        """What it does to whoever runs the model."""


class FileOperator(NamedTuple):
    """An operator of a file."""

    row: OperatorRow
    """What becomes of it."""
    node: Node | None
    """Its node; None in subgraphs that the main one never runs."""
    tensor: str
    """Tensor that it writes first; empty for an operator that writes none."""


class ArenaSize(Protocol):
    """Bytes of an arena."""

    @property
    def used(self) -> int:
        """What is taken once all is planned."""

    @property
    def needed(self) -> int:
        """What has to be given."""

    @property
    def to_write(self) -> int:
        """The size to declare, which has the runtime's alignment."""


Turns = dict[str, tuple[float, float]]
"""The parts of a runtime's own code, each with the least and the most instructions of one turn."""


def instructions_of(costs: Turns, counts: Mapping[str, int]) -> tuple[int, int] | None:
    """Least and most instructions of code whose parts run so often; None for more than any device computes."""
    if max(counts.values()) >= MOST_INSTRUCTIONS:
        return None
    least, most = (sum(counts[turn] * ends[end] for turn, ends in costs.items()) for end in (0, 1))
    return int(least), ceil(most)


def steps_up(loops: list[int]) -> int:
    """How often all loops but the last, from the outermost on, go on to their next turn."""
    return sum(prod(loops[:depth]) for depth in range(1, len(loops)))


def layer_of(graph: Graph, node: Node, call: KernelCall) -> Layer:
    """The call with the tensors that hold its channel counts."""
    groups = 1
    if operator_of(node).roles.form is Form.CHANNELS_LAST and call.filter_dims.c:
        groups = (call.input_dims.c or 0) // call.filter_dims.c or 1
    channels, macs = _channels(graph, node, call, groups), macs_of(graph, node) or None
    return Layer(node, call, channels, groups, macs=macs, once=node.index in graph.once)


def _last_axes(graph: Graph, data: str, result: str) -> dict[str, Channel]:
    """The last axis of input and output; none where one has no axes."""
    ranks = [len(graph.shape(name) or ()) for name in (data, result)]
    if not all(ranks):
        return {}
    return {"input_dims.c": Channel(data, ranks[0] - 1), "output_dims.c": Channel(result, ranks[1] - 1)}


def _channels(graph: Graph, node: Node, call: KernelCall, groups: int) -> dict[str, Channel]:
    """Places of the channel counts by CMSIS-NN's names; none where another count may be another function's.

    A dense layer with a result of more than two axes is one: which function takes it depends on its depth.
    """
    form = operator_of(node).roles.form
    if call.function in POINTWISE:
        return _last_axes(graph, node.inputs[0], node.outputs[0])
    if form is None:
        return {}
    weights = node.inputs[1]
    if len(graph.shape(weights) or ()) != (2 if form is Form.ROWS else 4):
        return {}
    if form is Form.DEPTHWISE_LAST:
        outputs = Channel(weights, 3)
        return {"input_dims.c": Channel(node.inputs[0], 3), "output_dims.c": outputs, "ch_mult": outputs}
    if form is Form.ROWS and call.function is not Function.FULLY_CONNECTED:
        return {}
    columns = Channel(weights, 1 if form is Form.ROWS else 3, groups)
    return {"input_dims.c": columns, "output_dims.c": Channel(weights, 0)}
