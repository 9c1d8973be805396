"""A `.tflite` file against a device, as TensorFlow Lite Micro lays it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.arena_plan import ArenaStep, ArenaUses, buffer_lifetimes
from onnxlint_cmsis.analysis.fit import FLASH_BESIDE
from onnxlint_cmsis.analysis.memory_needs import DeviceFit, FlashNeed, RamNeed
from onnxlint_cmsis.analysis.peak import peak_of
from onnxlint_cmsis.analysis.ram_remedies import RamRemedy, best_remedy
from onnxlint_cmsis.ground.findings import Location

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.dimensions import Dimensions
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
    from onnxlint_cmsis.ground.types import MemoryRoom, Target
    from onnxlint_cmsis.runtimes.tflm.arena import ArenaLayout
    from onnxlint_cmsis.runtimes.tflm.interpretation import Interpretation


COPIES = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators that a model can often do without: they copy bytes as they are."""
LEFT_OUT = "left out, which copies its input"
TFLM_BESIDE = "Stack, interpreter and application come on top."
NAMED = 3
"""Operators with the most constants that are kept."""


def ram_need(
    model: Interpretation, arena: ArenaLayout, target: Target, room: MemoryRoom, dimensions: Callable[[], Dimensions]
) -> RamNeed:
    """The arena against the device."""
    uses = arena_uses(model.file, arena)
    peak = peak_of(uses)
    number = min(max(peak.step, 0), max(len(uses.steps) - 1, 0))
    alive = [buffer for buffer in peak.alive if buffer not in uses.scratch]
    parts: tuple[tuple[str, int], ...] = (("head", arena.head), ("tail", arena.tail))
    if arena.needed > arena.used:
        parts = ("while the plan is made", arena.needed), ("later", arena.used)
    if arena.to_write > arena.needed:
        parts = (*parts, ("alignment", arena.to_write - arena.needed))
    return RamNeed(
        target.label,
        room,
        arena.to_write,
        parts,
        uses.steps[number].label if uses.steps else "",
        tuple((f"'{uses.names[buffer]}'", uses.sizes[buffer]) for buffer in alive),
        sum(uses.sizes[buffer] for buffer in peak.alive if buffer in uses.scratch),
        _remedy(uses, arena, room, dimensions),
        model.places[number] if model.places else Location(model.file.path),
        TFLM_BESIDE,
    )


def _remedy(
    uses: ArenaUses, arena: ArenaLayout, room: MemoryRoom, dimensions: Callable[[], Dimensions]
) -> RamRemedy | None:
    """A change tried on the plan; none where the plan of these uses is not the arena's, as with control flow."""
    from onnxlint_cmsis.runtimes.tflm.planner import align

    if room.ram is None or arena.to_write <= room.ram or arena.needed > arena.used or head_of(uses) != arena.head:
        return None
    return best_remedy(uses, lambda other: align(head_of(other) + arena.tail), room.ram, LEFT_OUT, dimensions)


def arena_uses(model: TfliteModel, arena: ArenaLayout) -> ArenaUses:
    """The main subgraph as steps over the planned buffers; scratch is written by its operator and read by none."""
    from onnxlint_cmsis.formats.tflite.file_model import operator_label
    from onnxlint_cmsis.runtimes.tflm.buffer_names import buffer_names

    main = model.subgraphs[0]
    names = buffer_names(model, arena)
    sizes = {buffer.number: buffer.size for buffer in arena.plan}
    tensors = sum(len(subgraph.tensors) for subgraph in model.subgraphs)
    scratch: dict[int, list[int]] = {}
    for request, (subgraph, owner, _) in enumerate(arena.scratch, tensors):
        if subgraph == 0:
            scratch.setdefault(owner, []).append(request)
    steps = []
    for index, operator in enumerate(main.operators):
        read, results = (
            tuple(tensor for tensor in which if tensor in sizes) for which in (operator.inputs, operator.outputs)
        )
        could = operator.op in COPIES and bool(read) and bool(results)
        written = (*results, *(tensor for tensor in scratch.get(index, ()) if tensor in sizes))
        label = f"{operator.title} '{operator_label(0, index, operator.title)}'"
        steps.append(ArenaStep(read, written, False, label, index, could))
    channels = {index: tensor.shape[-1] for index, tensor in enumerate(main.tensors) if len(tensor.shape) > 1}
    requests = frozenset(range(tensors, tensors + len(arena.scratch)))
    inputs, outputs = (tuple(tensor for tensor in which if tensor in sizes) for which in (main.inputs, main.outputs))
    return ArenaUses(sizes, inputs, tuple(steps), outputs, dict(enumerate(names)), channels, requests)


def head_of(uses: ArenaUses) -> int:
    """Bytes of the greedy plan; a step in place shares the buffer of what it reads."""
    from onnxlint_cmsis.runtimes.tflm.planner import PlannedBuffer, laid_out

    lives = buffer_lifetimes(uses)
    shared = {step.outputs[0]: step.inputs[0] for step in uses.steps if step.in_place}
    joined: dict[int, tuple[int, int]] = {}
    for buffer, (first, last) in lives.items():
        owner = buffer
        while owner in shared:
            owner = shared[owner]
        have = joined.get(owner, (first, last))
        joined[owner] = min(have[0], first), max(have[1], last)
    buffers = [
        PlannedBuffer(buffer, uses.sizes[buffer], first + 1, last + 1) for buffer, (first, last) in joined.items()
    ]
    plan = laid_out(sorted(buffers, key=lambda buffer: buffer.number))
    return max((buffer.end for buffer in plan), default=0)


def flash_need(model: TfliteModel, target: Target, room: MemoryRoom, places: list[Location]) -> FlashNeed:
    """The file, which firmware holds as it is."""
    from onnxlint_cmsis.formats.tflite.file_model import operator_label

    layers: list[tuple[str, int, int]] = []
    seen: set[int] = set()
    kinds: dict[str, int] = {}
    for position, (number, index, operator) in enumerate(model.operators()):
        subgraph = model.subgraphs[number]
        read = [subgraph.tensors[index] for index in operator.inputs if index >= 0]
        own = {tensor.buffer for tensor in read if model.is_constant(tensor)} - seen
        size = sum(model.buffers[buffer].length for buffer in own)
        seen |= own
        kinds[operator.title] = kinds.get(operator.title, 0) + size
        layers.append((f"{operator.title} '{operator_label(number, index, operator.title)}'", size, position))
    layers.sort(key=lambda layer: -layer[1])
    total = len(model.data)
    rest = ("structure, quantization and metadata", total - sum(kinds.values()))
    parts = sorted([*((f"constants of {name}", n) for name, n in kinds.items() if n), rest], key=lambda part: -part[1])
    largest = tuple((label, size) for label, size, _ in layers if size)[:NAMED]
    where = places[layers[0][2]] if layers else Location(model.path)
    return FlashNeed(target.label, room, total, tuple(parts), largest, where, FLASH_BESIDE)


def tflite_fit(
    model: Interpretation, target: Target, room: MemoryRoom, dimensions: Callable[[], Dimensions]
) -> DeviceFit:
    """A `.tflite` file against a device."""
    arena, unknown = model.arena(target), ""
    if arena is None and room.ram:
        why = model.stop(target) or model.report(target).no_arena
        unknown = f"{target.label}: whether the model fits RAM is not known: {why}."
    ram = ram_need(model, arena, target, room, dimensions) if arena else None
    return DeviceFit(ram, flash_need(model.file, target, room, model.places), unknown)
