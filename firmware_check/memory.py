"""Flash and RAM of an image: predicted bytes, bytes of the ELF file, and their owners."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from firmware_check.arena import plan
from firmware_check.link_map import Bytes, owners
from onnxlint_cmsis.cmsis_nn.library import parameters, route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware_check.build import Bench, Image
    from firmware_check.program import Program, Step
    from firmware_check.verdict import LayerVerdict
    from onnxlint_cmsis.ground.types import Target


@dataclass(frozen=True)
class Memory:
    """Flash and RAM of a model."""

    constants: Bytes
    """Weights, biases, multipliers, shifts, tables."""
    arena: Bytes
    """Activations; the largest of the layers' where each ran alone."""
    scratch: Bytes
    """Largest scratch of a layer."""
    flash: dict[str, int] = field(default_factory=dict)
    """Bytes of flash by owner; empty where each layer has a separate image."""
    ram: dict[str, int] = field(default_factory=dict)
    """Bytes of RAM by owner, without scratch and stack; empty likewise."""


def memory_of(program: Program, bench: Bench, target: Target, image: Image, layers: Sequence[LayerVerdict]) -> Memory:
    """Prediction and image side by side."""
    symbols = {symbol.name: symbol.size for symbol in image.symbols if symbol.size}
    names = {f"layer_{n}_{array.name}" for n, step in enumerate(program.steps) for array in step.arrays}
    constant_bytes = sum(size for name, size in symbols.items() if name in names)
    constants = Bytes(sum(_constants(step, target) for step in program.steps), constant_bytes)
    scratch = Bytes(
        max((scratch_of(step, target) for step in program.steps), default=0),
        max((sum(layer.scratch) for layer in layers), default=0),
    )
    arena = Bytes(plan(program).size, symbols.get("arena", 0))
    flash, ram = owners(image, bench, constant_bytes)
    return Memory(constants, arena, scratch, flash, ram)


def merged(parts: Sequence[Memory]) -> Memory:
    """The memory of layers that ran alone: constants add up, arena and scratch are the largest."""
    return Memory(
        Bytes(sum(part.constants.predicted for part in parts), sum(part.constants.measured for part in parts)),
        _largest([part.arena for part in parts]),
        _largest([part.scratch for part in parts]),
    )


def _largest(sizes: Sequence[Bytes]) -> Bytes:
    return Bytes(max((size.predicted for size in sizes), default=0), max((size.measured for size in sizes), default=0))


def _constants(step: Step, target: Target) -> int:
    """The linter's number for a call, else what the file holds, or reference code is laid out to read."""
    known = parameters(step.call, target) if step.call is not None and step.function and not step.plan else None
    return known.total if known else sum(array.bytes for array in step.arrays)


def scratch_of(step: Step, target: Target) -> int:
    """What the file plans, or the linter's number for a call, else what reference code asks for."""
    if step.plan is not None and step.plan.scratch is not None:
        return sum(step.plan.scratch)
    if step.call is None or not step.function:
        return step.scratch
    taken = route(step.call, target)
    return taken.scratch
