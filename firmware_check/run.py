"""One run of an image under QEMU: inputs in, outputs and the report out, nothing left running."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from firmware_check.errors import FirmwareError, LayerEndedError, TooLargeError

if TYPE_CHECKING:
    from firmware_check.boards import Board
    from firmware_check.build import Bench
    from firmware_check.program import Program, Value


@dataclass(frozen=True)
class Call:
    """One function in the tree of what ran in a layer."""

    parent: int
    """Number of the caller in the same layer, 0 for the layer."""
    address: int
    """First instruction."""
    calls: int
    """How often it was called from there."""
    returns: int
    """How many of the returns were seen with their result."""
    last: int
    """Result of the last one."""
    lowest: int
    """Smallest result, where there are any."""


@dataclass(frozen=True)
class LayerReport:
    """What the firmware says of one layer."""

    status: int
    """Status of the CMSIS-NN call, 0 for plain C."""
    instructions: int
    """Instructions of the call, to one count of SysTick."""
    scratch: tuple[int, int]
    """Bytes that the size functions answered."""
    scratch_damage: int
    """Guard bytes around scratch that changed."""
    output_damage: int
    """Guard bytes around the output that changed; 0 in a build without guards."""
    calls: dict[int, Call]
    """The tree of calls; empty in a build without trace."""


@dataclass(frozen=True, eq=False)
class ImageRun:
    """All that one run gave."""

    layers: tuple[LayerReport, ...]
    """One for each layer, of the first set of inputs."""
    outputs: list[list[np.ndarray]]
    """For each set of inputs: every layer's output, or the results alone, as they lie in memory."""


def run_image(
    image: Path,
    program: Program,
    bench: Bench,
    sets: list[list[np.ndarray]],
    every_layer: bool,
) -> ImageRun:
    """Run an image on sets of inputs.

    Raises:
        FirmwareError: QEMU has no such board, the firmware crashed, or it did not end.

    """
    folder = image.parent
    (folder / "inputs.bin").write_bytes(
        struct.pack("<III", len(sets), every_layer, program.apart)
        + b"".join(array.tobytes() for arrays in sets for array in arrays)
    )
    report = folder / "report.txt"
    report.unlink(missing_ok=True)
    said = bench.emulators.run(image, bench.board, bench.seconds)
    lines = report.read_text(encoding="ascii").splitlines() if report.is_file() else []
    _check_end(lines, program, said)
    values = [step.output for step in program.steps] if every_layer else list(program.outputs)
    outputs = _split((folder / "outputs.bin").read_bytes(), values, len(sets))
    return ImageRun(layer_reports(lines, bench.board, len(program.steps)), outputs)


def _check_end(lines: list[str], program: Program, said: str) -> None:
    kind, *words = lines[-1].split() if lines else [""]
    if kind == "done":
        return
    numbers = [int(word, 16) for word in words]
    layer = program.steps[numbers[0]].label if numbers and numbers[0] < len(program.steps) else "start-up"
    if kind == "fault":
        text = f"the firmware faulted in layer '{layer}' at 0x{numbers[1]:08x}, CFSR 0x{numbers[2]:08x}"
        raise LayerEndedError(layer, text)
    if kind == "watchdog":
        text = f"layer '{layer}' did not end within {numbers[1]} x 2^24 counts of SysTick: an endless loop?"
        raise LayerEndedError(layer, text)
    if kind == "memory":
        raise TooLargeError(
            f"layer '{layer}' asks for {numbers[1]:,} bytes of scratch, the board has {numbers[2]:,} left"
        )
    raise FirmwareError(f"QEMU ended without a report: {said.splitlines()[0] if said else 'no message'}")


def _split(data: bytes, values: list[Value], sets: int) -> list[list[np.ndarray]]:
    whole = sum(value.bytes for value in values)
    if len(data) != whole * sets:
        raise FirmwareError(f"the firmware wrote {len(data):,} bytes of outputs, {whole * sets:,} were expected")
    found: list[list[np.ndarray]] = []
    place = 0
    for _ in range(sets):
        arrays = []
        for value in values:
            kind = np.int8 if value.quantization.bits == 8 else np.int16
            arrays.append(np.frombuffer(data, kind, value.count, place))
            place += value.bytes
        found.append(arrays)
    return found


def layer_reports(lines: list[str], board: Board, count: int) -> tuple[LayerReport, ...]:
    """What the lines of a report say of each layer; FirmwareError where one is missing."""
    calls: list[dict[int, Call]] = [{} for _ in range(count)]
    heads: dict[int, list[int]] = {}
    for line in lines:
        kind, *words = line.split()
        numbers = [int(word, 16) for word in words]
        if kind == "layer":
            heads[numbers[0]] = numbers[1:]
        elif kind == "call":
            layer, number, parent, address, times, returns, last, lowest = numbers
            calls[layer][number] = Call(parent, address & ~1, times, returns, _signed(last), _signed(lowest))
        elif kind == "lost":
            raise FirmwareError(f"the trace of layer {numbers[0]} has more than 255 different calls")
    if len(heads) != count:
        raise FirmwareError(f"the firmware reported {len(heads)} of {count} layers: something overwrote its memory")
    return tuple(_layer(heads[number], calls[number], board.tick) for number in range(count))


def _layer(head: list[int], calls: dict[int, Call], tick: int) -> LayerReport:
    status, ticks, first, second, scratch, output = head
    return LayerReport(_signed(status), ticks * tick, (first, second), scratch, output, calls)


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word
