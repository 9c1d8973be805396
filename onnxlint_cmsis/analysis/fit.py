"""Whether a model fits the RAM and flash of a device, laid out as the firmware check or its runtime does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.memory import (
    UNKNOWN_RAM,
    ArenaUses,
    DeviceFit,
    FlashNeed,
    RamNeed,
    activations,
    best_remedy,
    peak_of,
    plan_arena,
)
from onnxlint_cmsis.cmsis_nn.library import parameters
from onnxlint_cmsis.formats.format import part
from onnxlint_cmsis.ground.findings import Location

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.ground.types import MemoryRoom, Target
    from onnxlint_cmsis.runtimes.runtime import FileInterpretation


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
    """A file with its own plan against a device: the planned buffers, and the constants as firmware holds them."""
    path = model.path
    arena, flash = model.memory(target).arena, model.constants
    ram = None
    if arena:
        step = arena.steps[max(arena.peak - 1, 0)] if arena.steps else ""
        alive = sorted(
            (life for life in arena.plan if life.first <= arena.peak <= life.last), key=lambda life: -life.bytes
        )
        tensors = tuple((f"'{life.name}'", life.bytes) for life in alive)
        parts = (("planned buffers", arena.used),)
        ram = RamNeed(target.label, room, arena.needed, parts, step, tensors, 0, None, Location(path), RAM_BESIDE)
    need = FlashNeed(target.label, room, flash, (("constants", flash),), (), Location(path), FLASH_BESIDE)
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
    )


def _own_flash(model: ModelAnalysis, target: Target, room: MemoryRoom) -> FlashNeed:
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
        _location(model, layers[0][2] if layers else -1),
        _beside(model, FLASH_BESIDE),
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
