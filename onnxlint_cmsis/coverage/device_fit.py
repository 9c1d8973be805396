"""What an ONNX model needs of RAM and flash, laid out as the firmware check lays it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.parameters import parameters
from onnxlint_cmsis.findings import Location
from onnxlint_cmsis.memory.activations import activations
from onnxlint_cmsis.memory.arena_plan import ArenaUses, plan_arena
from onnxlint_cmsis.memory.needs import FlashNeed, RamNeed
from onnxlint_cmsis.memory.peak import Peak, peak_of
from onnxlint_cmsis.memory.remedies import best_remedy
from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.types import MemoryRoom, Target

OVERWRITES = "writing over its input"
RAM_BESIDE = "Stack and variables come on top."
FLASH_BESIDE = "Code comes on top."
LOWER_BOUND = "This is a lower bound: {title} keeps its structures in RAM too, and converting changes the layers."


class DeviceFit(NamedTuple):
    """A model against a device, on one target."""

    ram: RamNeed | None
    """None where a size is unknown."""
    flash: FlashNeed
    """Constants as far as sizes are known."""


def device_fits(model: ModelAnalysis) -> tuple[DeviceFit, ...]:
    """One for each target that somebody named RAM or flash for."""
    settings = model.settings
    pairs = [pair for pair in zip(settings.targets, settings.rooms, strict=False) if pair[1].ram or pair[1].flash]
    if not pairs:
        return ()
    uses = activations(model.graph, model.lowered)
    return tuple(DeviceFit(_ram(model, uses, *pair) if uses else None, _flash(model, *pair)) for pair in pairs)


def _ram(model: ModelAnalysis, uses: ArenaUses, target: Target, room: MemoryRoom) -> RamNeed:
    """Arena, and the largest scratch of a layer, which the application keeps beside it."""
    scratch = scratch_of(model, target)
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
        _shown(model, step.node) if step else "",
        _alive(uses, peak),
        scratch.get(step.node, 0) if step else 0,
        remedy,
        _place(model, step.node if step else -1),
        _beside(model, RAM_BESIDE),
    )


def _shown(model: ModelAnalysis, index: int) -> str:
    node = next(node for node in model.graph.nodes if node.index == index)
    return f"{node.op_type} '{node.label}'"


def _alive(uses: ArenaUses, peak: Peak) -> tuple[tuple[str, int], ...]:
    return tuple((f"'{uses.names[buffer]}'", uses.sizes[buffer]) for buffer in peak.alive)


def scratch_of(model: ModelAnalysis, target: Target) -> dict[int, int]:
    """Bytes of scratch of each layer, by its node's index."""
    found = {}
    for layer in model.lowered.layers:
        taken = model.route(layer.call, target)
        found[layer.node.index] = max(taken.buffer_size or 0, 0) + max(taken.reverse_buffer_size or 0, 0)
    return found


def _flash(model: ModelAnalysis, target: Target, room: MemoryRoom) -> FlashNeed:
    """Weights, biases, multipliers and shifts of every layer whose sizes are known."""
    sums = dict.fromkeys(("weights", "bias", "multipliers", "shifts"), 0)
    layers: list[tuple[str, int, int]] = []
    for record in model.lowered.records:
        known = parameters(record.layer.call, target) if record.layer else None
        if known is None:
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
        _place(model, layers[0][2] if layers else -1),
        _beside(model, FLASH_BESIDE),
    )


def _beside(model: ModelAnalysis, text: str) -> str:
    runtime = model.settings.runtime
    return f"{text} {LOWER_BOUND.format(title=runtime.title)}" if runtime.judges else text


def _place(model: ModelAnalysis, index: int) -> Location:
    node = next((node for node in model.graph.nodes if node.index == index), None)
    if node is None:
        return Location(model.path)
    tensor = node.outputs[0] if node.outputs else ""
    return Location(model.path, node.label, node.op_type, tensor, node.graph, node.offset, node.length)
