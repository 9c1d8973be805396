"""A model against the devices that somebody named RAM or flash for."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.analysis.activations import activations
from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.arena_plan import ArenaUses, plan_arena
from onnxlint_cmsis.analysis.dimensions import Dimensions
from onnxlint_cmsis.analysis.memory_needs import UNKNOWN_RAM, DeviceFit, FlashNeed, RamNeed
from onnxlint_cmsis.analysis.peak import peak_of
from onnxlint_cmsis.analysis.ram_remedies import best_remedy
from onnxlint_cmsis.cmsis_nn.library import parameters
from onnxlint_cmsis.formats.format import part
from onnxlint_cmsis.ground.findings import Location
from onnxlint_cmsis.ground.types import MemoryRoom, Target
from onnxlint_cmsis.runtimes.execution import FileExecution

FLASH_BESIDE = "Code comes on top."


def device_fits(model: ModelAnalysis) -> tuple[DeviceFit, ...]:
    """One for each target that somebody named RAM or flash for."""
    settings = model.settings
    pairs = [pair for pair in zip(settings.targets, settings.rooms, strict=False) if pair[1].ram or pair[1].flash]
    if isinstance(model.execution, FileExecution):
        fit = part(model.format.fit)
        return tuple(fit(model.execution, target, room, lambda: model.dimensions) for target, room in pairs)
    uses = activations(model.graph, model.lowered) if pairs else None
    return tuple(
        DeviceFit(
            _own_ram(model, uses, target, room) if uses else None,
            _own_flash(model, target, room),
            UNKNOWN_RAM if uses is None and room.ram else "",
        )
        for target, room in pairs
    )


def planned_fit(
    model: FileExecution, target: Target, room: MemoryRoom, _dimensions: Callable[[], Dimensions]
) -> DeviceFit:
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
    scratch, settings = model.scratch(target), model.settings
    largest = max(scratch.values(), default=0)
    arena, peak = plan_arena(uses).size, peak_of(uses)
    remedy = None
    if room.ram is not None and arena + largest > room.ram:
        remedy = best_remedy(
            uses,
            lambda other: plan_arena(other).size + largest,
            room.ram,
            OVERWRITES,
            lambda: model.dimensions,
        )
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
        least=model.execution.by_runtime,
        converted=not model.format.interpreter and (settings.runtime.reads_tflite or not settings.runtime.judges),
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
        least=model.execution.by_runtime or open_sizes,
    )


def _beside(model: ModelAnalysis, text: str) -> str:
    title = model.settings.runtime.title
    return f"{text} {CONVERTED.format(title=title)}" if model.execution.by_runtime else text


def _location(model: ModelAnalysis, index: int) -> Location:
    node = next((node for node in model.graph.nodes if node.index == index), None)
    if node is None:
        return Location(model.path)
    tensor = node.outputs[0] if node.outputs else ""
    return Location(model.path, node.label, node.op_type, tensor, node.graph, node.offset, node.length)
