"""Bytes that are alive at a time: activations, scratch, the arena."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.layer import product_of
from onnxlint_cmsis.lower.work import INTEGERS
from onnxlint_cmsis.runtimes.runtime import Arena, BufferLife, LayerScratch

if TYPE_CHECKING:
    from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
    from onnxlint_cmsis.model.graph import Graph, Node


# The activation arena: which buffer lies where, from lifetimes; a buffer may take the place of one that ends.


ALIGNMENT = 16
"""Bytes that every buffer begins at a multiple of."""
Lifetimes = dict[int, tuple[int, int]]
"""First and last step that needs each buffer; -1 stands for the host before the first step."""


class ArenaStep(NamedTuple):
    """What one layer reads and writes."""

    inputs: tuple[int, ...]
    """Buffers read."""
    outputs: tuple[int, ...]
    """Buffers written."""
    in_place: bool = False
    """Whether the first output may lie where the first input lies."""
    label: str = ""
    """Operator and name of the layer, for messages."""
    node: int = -1
    """Index of its node or operator."""
    could: bool = False
    """Whether it computes element by element, or copies: it could do without a second buffer."""


class ArenaUses(NamedTuple):
    """The layers of a model as far as memory goes."""

    sizes: Mapping[int, int]
    """Bytes of each buffer."""
    inputs: tuple[int, ...]
    """Buffers that the host writes before the first step."""
    steps: tuple[ArenaStep, ...]
    """Layers in the order they run."""
    outputs: tuple[int, ...]
    """Buffers that the host reads after the last step."""
    names: Mapping[int, str] = {}
    """Tensor of each buffer, for messages."""
    channels: Mapping[int, int] = {}
    """Channels of the tensors that have such an axis."""
    scratch: frozenset[int] = frozenset()
    """Buffers that are a kernel's scratch."""


class ArenaPlan(NamedTuple):
    """A plan of memory."""

    size: int
    """Bytes in all, guards included."""
    guard: int
    """Bytes of guard before and after each value."""
    offsets: dict[int, int]
    """First byte of each buffer."""
    sizes: dict[int, int]
    """Bytes of each buffer."""
    lifetimes: Lifetimes
    """First and last layer that needs the buffer; -1 stands for the host before the first layer."""


def plan_arena(uses: ArenaUses, guard: int = 0, lifetimes: Lifetimes | None = None) -> ArenaPlan:
    """Place every buffer: large ones first, each at the lowest place that is free while it lives.

    `lifetimes` are those of `buffer_lifetimes`, for a caller that plans the same steps with many sizes.
    """
    lifetimes = buffer_lifetimes(uses) if lifetimes is None else lifetimes
    sizes = {buffer: uses.sizes[buffer] for buffer in lifetimes}
    owners = buffer_owners(uses, sizes, lifetimes)
    blocks: Lifetimes = {}
    for buffer, owner in owners.items():
        first, last = blocks.get(owner, lifetimes[buffer])
        blocks[owner] = min(first, lifetimes[buffer][0]), max(last, lifetimes[buffer][1])
    rooms = {block: -(-(sizes[block] + 2 * guard) // ALIGNMENT) * ALIGNMENT for block in blocks}
    placed: dict[int, int] = {}
    alive: dict[int, list[int]] = {}
    for _, block in sorted((-sizes[block], block) for block in blocks):
        moments = range(blocks[block][0], blocks[block][1] + 1)
        others = {other for moment in moments for other in alive.get(moment, ())}
        placed[block] = 0
        for start, end in sorted((placed[other], placed[other] + rooms[other]) for other in others):
            if placed[block] + rooms[block] <= start:
                break
            placed[block] = max(placed[block], end)
        for moment in moments:
            alive.setdefault(moment, []).append(block)
    size = max((placed[block] + rooms[block] for block in placed), default=0)
    offsets = {buffer: placed[owner] + guard for buffer, owner in sorted(owners.items())}
    return ArenaPlan(size, guard, offsets, sizes, lifetimes)


def buffer_lifetimes(uses: ArenaUses) -> Lifetimes:
    """Lifetime of every buffer; what the host writes lives from the start, what it reads to the end."""
    lifetimes: Lifetimes = {}
    moments = [(-1, buffer) for buffer in uses.inputs] + [(len(uses.steps), buffer) for buffer in uses.outputs]
    for number, step in enumerate(uses.steps):
        moments += [(number, buffer) for buffer in (*step.inputs, *step.outputs)]
    for number, buffer in moments:
        first, last = lifetimes.get(buffer, (number, number))
        lifetimes[buffer] = min(first, number), max(last, number)
    return lifetimes


def buffer_owners(uses: ArenaUses, sizes: Mapping[int, int], lifetimes: Lifetimes) -> dict[int, int]:
    """The buffer whose block each buffer takes: its own, or that of an input which the layer may overwrite."""
    owners = {buffer: buffer for buffer in sizes}
    for number, step in enumerate(uses.steps):
        if not step.in_place:
            continue
        source, output = step.inputs[0], step.outputs[0]
        ends_here = lifetimes[source][1] == number
        if ends_here and sizes[source] == sizes[output] and source != output:
            owners[output] = owners[source]
    return owners


# Another order of the same layers, in which fewer bytes are alive at a time.


def small_order(uses: ArenaUses) -> tuple[ArenaStep, ...]:
    """The steps, ordered greedily: of the steps that can run, next comes the one that leaves the fewest bytes alive.

    A step can run once all that it reads is written. Ties keep the order of the file.
    """
    written = set(uses.inputs)
    waiting = Counter(buffer for step in uses.steps for buffer in set(step.inputs))
    kept = set(uses.outputs)
    computed = {buffer for step in uses.steps for buffer in step.outputs}
    left, order = list(uses.steps), []

    def growth(step: ArenaStep) -> int:
        """Bytes by which what is alive grows over a step."""
        new = sum(uses.sizes[buffer] for buffer in step.outputs if waiting[buffer] or buffer in kept)
        ended = sum(uses.sizes[buffer] for buffer in set(step.inputs) if waiting[buffer] == 1 and buffer not in kept)
        return new - ended

    while left:
        ready = [step for step in left if all(buffer in written or buffer not in computed for buffer in step.inputs)]
        if not ready:
            return uses.steps
        best = min(ready, key=growth)
        left.remove(best)
        order.append(best)
        written |= set(best.outputs)
        waiting.subtract(set(best.inputs))
    return tuple(order)


# The activations of a model as buffers: what each layer reads and writes, from its verdicts.


IN_PLACE = ("requantize", "lookup")
"""Kinds of reference code that may overwrite what they read."""
ELEMENTWISE = (Function.ADD, Function.MUL, Function.RELU, Function.ACTIVATION)
"""Functions that read each element before they write the same one."""


def activations(graph: Graph, lowered: Lowered) -> ArenaUses | None:
    """Buffers and steps of a model; None where a size is unknown.

    A node without a verdict only reads memory another way, or a layer in front computes it along: its result is the
    buffer that it reads. Each element has `element_bytes`.
    """
    walk = _Walk(graph, lowered)
    for node in graph.nodes:
        walk.visit(node)
    return None if walk.unknown else walk.uses()


def element_bytes(lowered: Lowered) -> int:
    """Bytes of an element of every activation: 4 where layers are f32, 2 where s16, f16 or q15, 1 elsewhere."""
    types = {record.layer.call.types for record in lowered.records if record.layer}
    if "f32" in types:
        return 4
    return 2 if any(kind.endswith(("s16", "f16", "q15")) for kind in types) else 1


class _Walk:
    """A walk over the nodes in file order."""

    def __init__(self, graph: Graph, lowered: Lowered) -> None:
        self._graph = graph
        self._records = {record.node.index: record for record in lowered.records}
        self._width = element_bytes(lowered)
        self._buffers: dict[str, int] = {}
        self._sizes: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._channels: dict[int, int] = {}
        self._steps: list[ArenaStep] = []
        self.unknown = False
        self._inputs = tuple(self._new(name) for name in graph.inputs if graph.elem_type(name) not in INTEGERS)

    def visit(self, node: Node) -> None:
        """Take in one node: a step, another name for a buffer, or arithmetic on shapes."""
        read = tuple(dict.fromkeys(self._buffers[name] for name in node.inputs if name in self._buffers))
        results = [name for name in node.outputs if name and self._graph.elem_type(name) not in INTEGERS]
        if not read or not results:
            return
        record = self._records.get(node.index)
        if record is None:
            self._buffers.update(dict.fromkeys(results, read[0]))
        else:
            outputs = tuple(self._new(name, record) for name in results)
            label = f"{node.op_type} '{node.label}'"
            could = record.layer is not None and record.layer.call.function in ELEMENTWISE
            self._steps.append(ArenaStep(read, outputs, record.code in IN_PLACE, label, node.index, could))

    def uses(self) -> ArenaUses:
        """The buffers and steps met."""
        outputs = tuple(dict.fromkeys(self._buffers[name] for name in self._graph.outputs if name in self._buffers))
        return ArenaUses(self._sizes, self._inputs, tuple(self._steps), outputs, self._names, self._channels)

    def _new(self, tensor: str, record: LoweredLayer | None = None) -> int:
        """A buffer for a tensor; one that a kernel ends in further behind has the size of that."""
        written = record.epilogue.tensor if record and record.epilogue and tensor == record.node.outputs[0] else tensor
        shape = self._graph.shape(written)
        size = None if shape is None else product_of(*shape)
        self.unknown = self.unknown or size is None
        number = len(self._sizes)
        self._sizes[number] = self._width * (size or 0)
        self._names[number] = written
        if shape is not None and len(shape) in (2, 4):
            self._channels[number] = shape[1] or 1
        self._buffers[tensor] = number
        return number


# The arena of a model on one target, as `memory` tells it.


LOWER_BOUND = "lower bound"
OWN_PLAN = "the plan of the firmware check"


def arena_of(uses: ArenaUses, graph: Graph, scratch: Mapping[int, int], basis: str) -> Arena:
    """The plan of an ONNX model; `scratch` has bytes by index of the layer's node."""
    plan = plan_arena(uses)
    steps = {step.node: number for number, step in enumerate(uses.steps)}
    written = {buffer: graph.nodes[step.node].label for step in uses.steps for buffer in step.outputs}
    rooms = {buffer: -(-size // ALIGNMENT) * ALIGNMENT for buffer, size in plan.sizes.items()}
    lives = {buffer: (first + 1, last + 1) for buffer, (first, last) in plan.lifetimes.items()}
    return Arena(
        plan.size,
        0,
        plan.size,
        plan.size,
        {},
        tuple(
            LayerScratch(0, steps[node], graph.nodes[node].label, size)
            for node, size in scratch.items()
            if size and node in steps
        ),
        tuple(
            BufferLife(
                uses.names[buffer],
                written.get(buffer, ""),
                plan.sizes[buffer],
                lives[buffer][0],
                min(lives[buffer][1], len(uses.steps)),
                offset,
            )
            for buffer, offset in plan.offsets.items()
        ),
        tuple(
            sum(rooms[buffer] for buffer, (first, last) in lives.items() if first <= step <= last)
            for step in range(len(uses.steps) + 1)
        ),
        tuple(step.label for step in uses.steps),
        basis,
    )
