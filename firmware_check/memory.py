"""Flash and RAM of an image: predicted bytes, bytes of the ELF file, and their owners."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.arena import plan
from firmware_check.link_map import owners
from onnxlint_cmsis.cmsis_nn.parameters import parameters
from onnxlint_cmsis.cmsis_nn.route import route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware_check.build import Bench, Image
    from firmware_check.program import Program, Step
    from firmware_check.verdict import LayerVerdict
    from onnxlint_cmsis.types import Target


class Bytes(NamedTuple):
    """One kind of memory."""

    predicted: int
    """From the model and the release alone."""
    found: int
    """In the ELF file by symbol; for scratch, what the size functions answered."""

    @property
    def difference(self) -> int:
        """How many more there are than predicted."""
        return self.found - self.predicted


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
    symbols = {each.name: each.size for each in image.symbols if each.size}
    names = {f"layer_{n}_{array.name}" for n, step in enumerate(program.steps) for array in step.arrays}
    found = sum(size for name, size in symbols.items() if name in names)
    constants = Bytes(sum(_constants(step, target) for step in program.steps), found)
    scratch = Bytes(
        max((scratch_of(step, target) for step in program.steps), default=0),
        max((sum(layer.scratch) for layer in layers), default=0),
    )
    arena = Bytes(plan(program).size, symbols.get("arena", 0))
    flash, ram = owners(image, bench, found)
    return Memory(constants, arena, scratch, flash, ram)


def merged(found: Sequence[Memory]) -> Memory:
    """The memory of layers that ran alone: constants add up, arena and scratch are the largest."""
    return Memory(
        Bytes(sum(each.constants.predicted for each in found), sum(each.constants.found for each in found)),
        _largest([each.arena for each in found]),
        _largest([each.scratch for each in found]),
    )


def _largest(found: Sequence[Bytes]) -> Bytes:
    return Bytes(max((each.predicted for each in found), default=0), max((each.found for each in found), default=0))


def _constants(step: Step, target: Target) -> int:
    """The linter's number for a call, else what plain C is laid out to read."""
    known = parameters(step.call, target) if step.call is not None and step.function else None
    return known.total if known else sum(array.bytes for array in step.arrays)


def scratch_of(step: Step, target: Target) -> int:
    """The linter's number for a call, else what plain C asks for."""
    if step.call is None or not step.function:
        return step.scratch
    taken = route(step.call, target)
    return max(taken.buffer_size or 0, 0) + max(taken.reverse_buffer_size or 0, 0)
