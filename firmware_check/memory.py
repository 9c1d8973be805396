"""What the memory of an image holds, by its link map and by the layers that ask for it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.arena import plan
from firmware_check.emit import HERE
from onnxlint_cmsis.cmsis_nn.library import parameters, route

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from firmware_check.boards import Region
    from firmware_check.build import Bench, Image
    from firmware_check.program import Program, Step
    from firmware_check.verdict import LayerVerdict
    from onnxlint_cmsis.ground.types import Target


# Section sizes per object, from the linker map.


OWNERS = ("constants", "arena", "calls", "CMSIS-NN", "reference code", "harness", "C library", "alignment")
"""Owners of memory in the order in which they are shown."""

_PLAIN = "reference"
"""Stem of the source with the reference code."""
_HEAD = "Linker script and memory map"
_PART = re.compile(r"^ (\.\S+|COMMON)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+(\S.*)$", re.MULTILINE)
_LONG_NAME = re.compile(r"^( \.\S+)\n", re.MULTILINE)
_NOT_LOADED = (".debug", ".comment", ".ARM.attributes", ".note")
"""Beginnings of the names of sections that stay in the file."""
_OBJECT = re.compile(r"([^/]+?)-[0-9a-f]{24}\.o$")


class Part(NamedTuple):
    """One section of one object in an image."""

    section: str
    """Name in the object."""
    address: int
    """First byte."""
    size: int
    """Bytes of the section."""
    source: str
    """Stem of the source, empty for an object out of an archive."""


def owners(image: Image, bench: Bench, constants: int) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes of flash and of RAM by owner. `constants` are so many bytes of the generated file's in flash."""
    parts = list(parts_of(image.path.with_suffix(".map")))
    library = {path.stem for path in bench.library.texts}
    flash = _by_owner(parts, library, bench.board.flash)
    ram = _by_owner(parts, library, bench.board.ram)
    for part in parts:
        if part.section.startswith(".data"):  # begins as a copy in flash
            flash[_owner(part, library)] += part.size
    flash["constants"] += constants
    flash["calls"] -= constants
    return _complete(flash, image.sizes.flash), _complete(ram, image.sizes.ram)


def parts_of(path: Path) -> Iterator[Part]:
    """The sections that a map lists; long names have their numbers on the next line."""
    text = path.read_text(encoding="utf-8", errors="replace").partition(_HEAD)[2]
    for section, address, size, file in _PART.findall(_LONG_NAME.sub(r"\1", text)):
        own = _OBJECT.search(file)
        if int(size, 16) and not section.startswith(_NOT_LOADED):
            yield Part(section, int(address, 16), int(size, 16), own[1] if own else "")


def _by_owner(parts: Iterable[Part], library: set[str], region: Region) -> Counter[str]:
    owners: Counter[str] = Counter()
    for part in parts:
        if region.origin <= part.address < region.origin + region.size:
            owners[_owner(part, library)] += part.size
    return owners


def _owner(part: Part, library: set[str]) -> str:
    if part.section == ".bss.arena":
        return "arena"
    if part.source in library:
        return "CMSIS-NN"
    if part.source == _PLAIN:
        return "reference code"
    if part.source in {path.stem for path in (HERE / "runtime").glob("*.c")}:
        return "harness"
    return "calls" if part.source else "C library"


def _complete(owners: Counter[str], total: int) -> dict[str, int]:
    """Bytes by owner in the order of `OWNERS`, with those that no object has."""
    owners["alignment"] += total - sum(owners.values())
    return {name: owners[name] for name in OWNERS if owners[name]}


# Flash and RAM of an image: predicted bytes, bytes of the ELF file, and their owners.


class Bytes(NamedTuple):
    """One kind of memory."""

    predicted: int
    """Bytes that follow from the model and the release alone."""
    measured: int
    """Bytes in the ELF file by symbol; for scratch, what the size functions answered."""

    @property
    def difference(self) -> int:
        """How many more there are than predicted."""
        return self.measured - self.predicted


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
