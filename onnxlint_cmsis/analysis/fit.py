"""Whether a model fits the RAM and flash of a device as its runtime lays it out, and what would make it fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.memory import (
    ArenaStep,
    ArenaUses,
    activations,
    buffer_lifetimes,
    buffer_owners,
    plan_arena,
    small_order,
)
from onnxlint_cmsis.cmsis_nn.library import parameters
from onnxlint_cmsis.formats.format import part
from onnxlint_cmsis.ground.findings import Location
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import and_more

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
    from onnxlint_cmsis.ground.types import MemoryRoom, Target
    from onnxlint_cmsis.runtimes.runtime import FileInterpretation
    from onnxlint_cmsis.runtimes.tflm.arena import ArenaLayout
    from onnxlint_cmsis.runtimes.tflm.interpret import Interpretation


# When most bytes are alive, and which buffers these are.


class Peak(NamedTuple):
    """The step with the most bytes alive."""

    step: int
    """Its number; -1 for the host in front of the first step, the number of steps for the host behind the last."""
    alive: tuple[int, ...]
    """Buffers alive, the largest first; of those that share a place the largest."""
    bytes: int
    """Bytes of these."""


def peak_of(uses: ArenaUses) -> Peak:
    """The first step with the most bytes alive."""
    lifetimes = buffer_lifetimes(uses)
    owners = buffer_owners(uses, uses.sizes, lifetimes) if any(step.in_place for step in uses.steps) else {}
    moments: dict[int, dict[int, int]] = {}
    for buffer, (first, last) in lifetimes.items():
        for moment in range(first, last + 1):
            held_by = moments.setdefault(moment, {})
            owner = owners.get(buffer, buffer)
            held = held_by.get(owner)
            if held is None or uses.sizes[buffer] > uses.sizes[held]:
                held_by[owner] = buffer
    sums = {moment: sum(uses.sizes[buffer] for buffer in held_by.values()) for moment, held_by in moments.items()}
    step = max(sorted(sums), key=lambda moment: sums[moment], default=-1)
    alive = sorted(moments.get(step, {}).values(), key=lambda buffer: -uses.sizes[buffer])
    return Peak(step, tuple(alive), sums.get(step, 0))


# What would make a model need less RAM: each change is tried on the plan, and the best one is named.


MOST_STEPS = 300
"""Layers of the largest model that changes are tried on; each is planned again some ten times."""
TRIED = 4
"""How many of the buffers alive at the peak are made smaller."""
SIXTEENTHS = 16
EVERYWHERE = 1.0
"""What it costs to cut channels everywhere, beside the share that is cut: more than in one tensor."""

Plan = Callable[[ArenaUses], int]
"""Bytes that a model needs."""


class Remedy(NamedTuple):
    """One change."""

    bytes: int
    """Bytes that the model would need."""
    cut: float
    """Share of channels that it costs; 0 for a change that leaves the model's numbers alone."""
    text: str
    """The change as a clause behind `with`."""


def best_remedy(uses: ArenaUses, peak: Peak, plan: Plan, room: int, copies: str) -> Remedy | None:
    """The change that makes it fit at the least cost; where none does, the one that saves most. None where none helps.

    `copies` says what the steps that could do without a second buffer would have to do.
    """
    if len(uses.steps) > MOST_STEPS:
        return None
    now = plan(uses)
    changes = (_order(uses, plan), _in_place(uses, plan, copies), _channels(uses, peak, plan, room))
    tried = [*chain.from_iterable(changes), *_fewer_everywhere(uses, plan, room)]
    helping = [remedy for remedy in tried if remedy.bytes < now]
    fitting = [remedy for remedy in helping if remedy.bytes <= room]
    if fitting:
        return min(fitting, key=lambda remedy: (remedy.cut, remedy.bytes))
    return min(helping, key=lambda remedy: remedy.bytes, default=None)


def _order(uses: ArenaUses, plan: Plan) -> Iterator[Remedy]:
    order = small_order(uses)
    moved = next((pair for pair in zip(order, uses.steps, strict=True) if pair[0] != pair[1]), None)
    if moved:
        text = f"{moved[0].label} before {moved[1].label}, and so on: at each point the layer that frees most memory"
        yield Remedy(plan(uses._replace(steps=order)), 0.0, text)


def _in_place(uses: ArenaUses, plan: Plan, copies: str) -> Iterator[Remedy]:
    able = [step for step in uses.steps if step.could and not step.in_place]
    if able:
        steps = tuple(step._replace(in_place=True) if step.could else step for step in uses.steps)
        names = and_more([step.label for step in able], 3)
        yield Remedy(plan(uses._replace(steps=steps)), 0.0, f"{names} {copies}")


def _channels(uses: ArenaUses, peak: Peak, plan: Plan, room: int) -> Iterator[Remedy]:
    """Fewer channels in one of the tensors alive at the peak: as many as fit, or half."""
    fixed = {*uses.inputs, *uses.outputs, *uses.scratch}
    able = [buffer for buffer in peak.alive if buffer not in fixed and uses.channels.get(buffer, 1) > 1]
    for buffer in able[:TRIED]:
        count = uses.channels[buffer]
        left = _most_that_fit(uses, buffer, plan, room) or count // 2
        text = f"{left} instead of {count} channels in '{uses.names[buffer]}'"
        yield Remedy(plan(_with_channels(uses, buffer, left)), 1 - left / count, text)


def _fewer_everywhere(uses: ArenaUses, plan: Plan, room: int) -> Iterator[Remedy]:
    """A share of the channels in every tensor but the model's inputs and outputs: the largest that fits."""
    fixed = {*uses.inputs, *uses.outputs, *uses.scratch}
    able = {buffer: count for buffer, count in uses.channels.items() if buffer in uses.sizes and buffer not in fixed}
    for share in range(SIXTEENTHS - 1, 0, -1):
        sizes = {b: uses.sizes[b] * max(count * share // SIXTEENTHS, 1) // count for b, count in able.items()}
        total = plan(uses._replace(sizes={**uses.sizes, **sizes}))
        if total <= room or share == 1:
            text = f"{share}/{SIXTEENTHS} of the channels in every tensor between input and output"
            yield Remedy(total, EVERYWHERE + 1 - share / SIXTEENTHS, text)
            return


def _most_that_fit(uses: ArenaUses, buffer: int, plan: Plan, room: int) -> int:
    """Most channels with which the model fits, 0 where not even one does."""
    low, high = 0, uses.channels[buffer] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if plan(_with_channels(uses, buffer, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _with_channels(uses: ArenaUses, buffer: int, count: int) -> ArenaUses:
    size = uses.sizes[buffer] * count // uses.channels[buffer]
    return uses._replace(sizes={**uses.sizes, buffer: size})


# What a model needs of a device's RAM and flash, as plain data for the rules that compare.


class RamNeed(NamedTuple):
    """Bytes of RAM on one target."""

    target: str
    """Label of the target."""
    room: MemoryRoom
    """What the device has."""
    bytes: int
    """Bytes that the model needs."""
    parts: tuple[tuple[str, int], ...]
    """What they are, with bytes."""
    layer: str
    """Operator and name of the layer at the peak."""
    alive: tuple[tuple[str, int], ...]
    """Tensors alive there, the largest first, with bytes."""
    scratch: int
    """Bytes of scratch there."""
    remedy: Remedy | None
    """The largest change that would help; None where none is known, or it fits."""
    location: Location
    """Place of the layer at the peak."""
    beside: str
    """What comes on top, as a sentence."""
    least: bool = False
    """Whether that is a lower bound."""

    @property
    def fits(self) -> bool:
        """Whether there is room, or none was asked about."""
        return self.room.ram is None or self.bytes <= self.room.ram


class FlashNeed(NamedTuple):
    """Bytes of flash on one target."""

    target: str
    """Label of the target."""
    room: MemoryRoom
    """What the device has."""
    bytes: int
    """Bytes that the model needs."""
    parts: tuple[tuple[str, int], ...]
    """What they are, with bytes."""
    largest: tuple[tuple[str, int], ...]
    """The layers with the most constants, with bytes."""
    location: Location
    """Place of the largest."""
    beside: str
    """What comes on top, as a sentence."""
    least: bool = False
    """Whether that is a lower bound."""

    @property
    def fits(self) -> bool:
        """Whether there is room, or none was asked about."""
        return self.room.flash is None or self.bytes <= self.room.flash


UNKNOWN_RAM = "Whether the model fits RAM is not known: a size is unknown."


class DeviceFit(NamedTuple):
    """A model against a device, on one target."""

    ram: RamNeed | None
    """None where it is not known."""
    flash: FlashNeed
    """Constants as far as sizes are known."""
    unknown: str
    """Why the RAM that was named may or may not do, as a sentence; empty where it is known or none was named."""

    @property
    def fits(self) -> bool | None:
        """Whether there is room for all that was asked about; None where a figure is unknown or a lower bound."""
        room = self.flash.room
        asked = [need for need, size in ((self.ram, room.ram), (self.flash, room.flash)) if size is not None]
        if not all(need is None or need.fits for need in asked):
            return False
        return None if any(need is None or need.least for need in asked) else True


def listed(parts: tuple[tuple[str, int], ...], shown: int = 4) -> str:
    """`a 1,024, b 16 and 3 more`."""
    return and_more([f"{name} {size:,}" for name, size in parts], shown)


def fit_note(ram: RamNeed | None, flash: FlashNeed | None) -> str:
    """How much of what is there a model needs, for one target; empty where that was not asked for."""
    halves = []
    if ram is not None and ram.room.ram is not None:
        halves.append(f"{ram.bytes:,} bytes of RAM ({ram.room.ram:,} are there)")
    if flash is not None and flash.room.flash is not None:
        halves.append(f"{flash.bytes:,} bytes of flash ({flash.room.flash:,} are there)")
    need = ram or flash
    return f"{need.target}: the model needs {' and '.join(halves)}." if need and halves else ""


# A model against the devices that somebody named RAM or flash for.


FLASH_BESIDE = "Code comes on top."


def device_fits(model: ModelAnalysis) -> tuple[DeviceFit, ...]:
    """One for each target that somebody named RAM or flash for."""
    settings = model.settings
    pairs = [pair for pair in zip(settings.targets, settings.rooms, strict=False) if pair[1].ram or pair[1].flash]
    if model.interpretation:
        fit = part(model.format.fit)
        return tuple(fit(model.interpretation, target, room) for target, room in pairs)
    uses = activations(model.graph, model.lowered) if pairs else None
    return tuple(
        DeviceFit(
            _own_ram(model, uses, target, room) if uses else None,
            _own_flash(model, target, room),
            UNKNOWN_RAM if uses is None and room.ram else "",
        )
        for target, room in pairs
    )


def planned_fit(model: FileInterpretation, target: Target, room: MemoryRoom) -> DeviceFit:
    """A file with its own plan against a device: planned buffers, beside which allocators take more, and the file."""
    path = model.path
    arena, flash = model.memory(target).arena, model.flash
    ram = None
    if arena:
        step = arena.steps[max(arena.peak - 1, 0)] if arena.steps else ""
        alive = sorted(
            (life for life in arena.plan if life.first <= arena.peak <= life.last), key=lambda life: -life.bytes
        )
        tensors = tuple((f"'{life.name}'", life.bytes) for life in alive)
        parts = (("planned buffers", arena.used),)
        where = Location(path)
        ram = RamNeed(target.label, room, arena.to_write, parts, step, tensors, 0, None, where, RAM_BESIDE, least=True)
    need = FlashNeed(target.label, room, flash, (("the file", flash),), (), Location(path), FLASH_BESIDE, least=True)
    return DeviceFit(ram, need, "")


OVERWRITES = "writing over its input"
RAM_BESIDE = "Stack and variables come on top."
CONVERTED = "This is a lower bound: {title} keeps its structures in RAM too, and converting changes the layers."


def _own_ram(model: ModelAnalysis, uses: ArenaUses, target: Target, room: MemoryRoom) -> RamNeed:
    """Arena, and the largest scratch of a layer, which the application keeps beside it."""
    scratch = model.scratch(target)
    largest = max(scratch.values(), default=0)
    arena, peak = plan_arena(uses).size, peak_of(uses)
    remedy = None
    if room.ram is not None and arena + largest > room.ram:
        remedy = best_remedy(uses, peak, lambda other: plan_arena(other).size + largest, room.ram, OVERWRITES)
    step = uses.steps[min(max(peak.step, 0), len(uses.steps) - 1)] if uses.steps else None
    return RamNeed(
        target.label,
        room,
        arena + largest,
        (("activations", arena), ("scratch", largest)),
        next(f"{node.op_type} '{node.label}'" for node in model.graph.nodes if node.index == step.node) if step else "",
        tuple((f"'{uses.names[buffer]}'", uses.sizes[buffer]) for buffer in peak.alive),
        scratch.get(step.node, 0) if step else 0,
        remedy,
        _location(model, step.node if step else -1),
        _beside(model, RAM_BESIDE),
        least=bool(model.settings.runtime.judges),
    )


def _own_flash(model: ModelAnalysis, target: Target, room: MemoryRoom) -> FlashNeed:
    """Weights, biases, multipliers and shifts of every layer whose sizes are known."""
    sums = dict.fromkeys(("weights", "bias", "multipliers", "shifts"), 0)
    layers: list[tuple[str, int, int]] = []
    open_sizes = False
    for record in model.lowered.records:
        known = parameters(record.layer.call, target) if record.layer else None
        if known is None:
            open_sizes = open_sizes or any(name in model.graph.constants for name in record.node.inputs)
            continue
        for name, size in known._asdict().items():
            sums[name] += size
        layers.append((f"{record.node.op_type} '{record.node.label}'", known.total, record.node.index))
    layers.sort(key=lambda layer: -layer[1])
    return FlashNeed(
        target.label,
        room,
        sum(sums.values()),
        tuple(sums.items()),
        tuple((label, size) for label, size, _ in layers),
        _location(model, layers[0][2] if layers else -1),
        _beside(model, FLASH_BESIDE),
        least=bool(model.settings.runtime.judges) or open_sizes,
    )


def _beside(model: ModelAnalysis, text: str) -> str:
    runtime = model.settings.runtime
    return f"{text} {CONVERTED.format(title=runtime.title)}" if runtime.judges else text


def _location(model: ModelAnalysis, index: int) -> Location:
    node = next((node for node in model.graph.nodes if node.index == index), None)
    if node is None:
        return Location(model.path)
    tensor = node.outputs[0] if node.outputs else ""
    return Location(model.path, node.label, node.op_type, tensor, node.graph, node.offset, node.length)


# A `.tflite` file as TensorFlow Lite Micro lays it out.


COPIES = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators that a model can often do without: they copy bytes as they are."""
LEFT_OUT = "left out, which copies its input"
TFLM_BESIDE = "Stack, interpreter and application come on top."
NAMED = 3
"""Operators with the most constants that are kept."""


def ram_need(
    model: TfliteModel, arena: ArenaLayout, target: Target, room: MemoryRoom, places: list[Location]
) -> RamNeed:
    """The arena against the device; `places` are the operators' locations."""
    uses = arena_uses(model, arena)
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
        _remedy(uses, arena, room, peak),
        places[number] if places else Location(model.path),
        TFLM_BESIDE,
    )


def _remedy(uses: ArenaUses, arena: ArenaLayout, room: MemoryRoom, peak: Peak) -> Remedy | None:
    """A change tried on the plan; none where the plan of these uses is not the arena's, as with control flow."""
    from onnxlint_cmsis.runtimes.tflm.arena import align

    if room.ram is None or arena.to_write <= room.ram or arena.needed > arena.used or head_of(uses) != arena.head:
        return None
    return best_remedy(uses, peak, lambda other: align(head_of(other) + arena.tail), room.ram, LEFT_OUT)


def arena_uses(model: TfliteModel, arena: ArenaLayout) -> ArenaUses:
    """The main subgraph as steps over the planned buffers; scratch is written by its operator and read by none."""
    from onnxlint_cmsis.formats.tflite.file_model import operator_label
    from onnxlint_cmsis.runtimes.tflm.interpret import buffer_names

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
    from onnxlint_cmsis.runtimes.tflm.arena import PlannedBuffer, place

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
    plan = place(sorted(buffers, key=lambda buffer: buffer.number))
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
    parts = sorted(((f"constants of {name}", size) for name, size in kinds.items() if size), key=lambda part: -part[1])
    rest = ("structure, quantization and metadata", total - sum(kinds.values()))
    largest = tuple((label, size) for label, size, _ in layers if size)[:NAMED]
    where = places[layers[0][2]] if layers else Location(model.path)
    return FlashNeed(target.label, room, total, (*parts, rest), largest, where, FLASH_BESIDE)


def tflite_fit(model: Interpretation, target: Target, room: MemoryRoom) -> DeviceFit:
    """A `.tflite` file against a device."""
    arena, unknown = model.arena(target), ""
    if arena is None and room.ram:
        why = model.stop(target) or model.report(target).no_arena
        unknown = f"{target.label}: whether the model fits RAM is not known: {why}."
    ram = ram_need(model.file, arena, target, room, model.places) if arena else None
    return DeviceFit(ram, flash_need(model.file, target, room, model.places), unknown)
