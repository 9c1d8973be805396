"""The activation arena: which buffer lies where, from lifetimes; a buffer may take the place of one that ends."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.taken_bytes import TakenBytes

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
    taken = TakenBytes(len(uses.steps))
    for _, block in sorted((-sizes[block], block) for block in blocks):
        placed[block] = taken.take_lowest(rooms[block], *blocks[block])
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
