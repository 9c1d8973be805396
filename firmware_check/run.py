"""One run of an image under QEMU: inputs in, outputs and the report out, nothing left running."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from firmware_check.emulator import SHARED, emulate
from firmware_check.errors import FirmwareError, LayerEndedError, TooLargeError

if TYPE_CHECKING:
    from firmware_check.boards import Board
    from firmware_check.build import Bench
    from firmware_check.program import Program, Value


_LINES = {
    "read": 3, "write": 3, "layer": 11, "call": 8, "lost": 2, "done": 0, "fault": 3, "watchdog": 3, "memory": 3,
}  # fmt: skip
"""Kind of a line of the firmware to the number of its words, as runtime/host.c, harness.c and trace.c write them."""
_WORD = re.compile("[0-9a-f]{8}")
_OVERWRITTEN = "something overwrote its memory"


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
    """Status of the CMSIS-NN call, 0 for reference code."""
    instructions: int
    """Instructions of the call, to one count of SysTick."""
    scratch: tuple[int, int]
    """Bytes that the size functions answered."""
    scratch_damage: int
    """Guard bytes around scratch that changed."""
    output_damage: int
    """Guard bytes around the output that changed; 0 in a build without guards."""
    written: int
    """Bytes of the first scratch buffer up to the last one that changed."""
    calls: dict[int, Call]
    """The tree of calls; empty in a build without trace."""
    reach: int = 0
    """Bytes from the end of scratch to behind the last one that changed there; 0 where none did."""
    low: tuple[int, int] = (0, 0)
    """First byte at the start of the flash that changed, and one behind the last; equal where none did."""


@dataclass(frozen=True, eq=False)
class ImageRun:
    """All that one run gave."""

    layers: tuple[LayerReport, ...]
    """Report of each layer, of the first set of inputs."""
    outputs: list[list[np.ndarray]]
    """For each set of inputs: every layer's output, or the results alone, as they lie in memory."""


class _Host:
    """The host's side of a run: it gives inputs, takes outputs and keeps the report."""

    def __init__(self, memory: BinaryIO, bench: Bench, image: Path, given: bytes, expected: int) -> None:
        self._memory = memory
        self._bench = bench
        self._image = image
        self._given = given
        self._expected = expected
        self._layers = 0
        self.outputs = bytearray()
        self.report: list[str] = []

    def heard(self, line: str) -> None:
        """A line of the firmware: bytes that it asks for or offers, or a part of the report."""
        kind, numbers = _parsed(line)
        if kind == "layer":
            self._layers += 1
            if self._bench.watch:
                self._bench.watch(self._image, self._layers)
        if kind not in ("read", "write"):
            self.report.append(line)
            return
        address, size, answered = numbers
        if kind == "read":
            self._put(address, self._given[:size].ljust(size, b"\0"))
            self._given = self._given[size:]
        else:
            if len(self.outputs) + size > self._expected:
                most = f"{self._expected:,}"
                raise FirmwareError(f"the firmware writes more than {most} bytes of outputs: {_OVERWRITTEN}")
            self._seek(address, size)
            self.outputs += self._memory.read(size)
        self._put(answered, b"\1\0\0\0")

    def _put(self, address: int, data: bytes) -> None:
        self._seek(address, len(data))
        self._memory.write(data)

    def _seek(self, address: int, size: int) -> None:
        """Go to an address, from where so many bytes lie in the RAM."""
        ram, shared = self._bench.board.ram, self._bench.board.shared
        if not ram.origin <= address <= address + size <= ram.origin + ram.size:
            raise FirmwareError(f"the firmware names {size:,} bytes at 0x{address:08x}, not in its RAM: {_OVERWRITTEN}")
        self._memory.seek(address - shared.origin)


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
    header = struct.pack("<III", len(sets), every_layer, program.apart)
    given = header + b"".join(array.tobytes() for arrays in sets for array in arrays)
    values = [step.output for step in program.steps] if every_layer else list(program.outputs)
    shared = image.parent / SHARED
    try:
        with shared.open("w+b", buffering=0) as memory:
            memory.truncate(bench.board.shared.size)
            expected = len(sets) * sum(value.bytes for value in values)
            host = _Host(memory, bench, image, given, expected)
            said = emulate(image, bench.board, bench.seconds, bench.processes, host.heard)
    finally:
        shared.unlink(missing_ok=True)
    _check_end(host.report, program, said)
    outputs = _split(bytes(host.outputs), values, len(sets))
    return ImageRun(layer_reports(host.report, bench.board, len(program.steps)), outputs)


def _parsed(line: str) -> tuple[str, list[int]]:
    """Kind of a line and its numbers; an empty kind for a line that is cut off or damaged."""
    kind, *words = line.split(" ")
    whole = len(words) == _LINES.get(kind) and all(map(_WORD.fullmatch, words))
    return (kind, [int(word, 16) for word in words]) if whole else ("", [])


def _check_end(lines: list[str], program: Program, said: str) -> None:
    kind, numbers = _parsed(lines[-1]) if lines else ("", [])
    if kind == "done":
        return
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
    outputs: list[list[np.ndarray]] = []
    start = 0
    for _ in range(sets):
        arrays = []
        for value in values:
            arrays.append(np.frombuffer(data, value.quantization.dtype, value.count, start))
            start += value.bytes
        outputs.append(arrays)
    return outputs


def layer_reports(lines: list[str], board: Board, count: int) -> tuple[LayerReport, ...]:
    """What the lines of a report say of each layer; FirmwareError where one is missing or damaged."""
    calls: list[dict[int, Call]] = [{} for _ in range(count)]
    heads: dict[int, list[int]] = {}
    for line in lines:
        kind, numbers = _parsed(line)
        if kind == "done":
            break
        if not kind or numbers[0] >= count:
            raise FirmwareError(f"the firmware's report is damaged: {_OVERWRITTEN}")
        layer = numbers.pop(0)
        if kind == "layer":
            heads[layer] = numbers
        elif kind == "call":
            number, parent, address, times, returns, last, lowest = numbers
            calls[layer][number] = Call(parent, address & ~1, times, returns, _signed(last), _signed(lowest))
        elif kind == "lost":
            raise FirmwareError(f"the trace of layer {layer} has more than 255 different calls")
    if len(heads) != count:
        raise FirmwareError(f"the firmware reported {len(heads)} of {count} layers: {_OVERWRITTEN}")
    reports = []
    for number in range(count):
        status, ticks, first, second, scratch, output, written, reach, *low = heads[number]
        status, instructions, asked = _signed(status), round(board.instructions(ticks)), (first, second)
        report = LayerReport(status, instructions, asked, scratch, output, written, calls[number])
        reports.append(replace(report, reach=reach, low=(low[0], low[1])))
    return tuple(reports)


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word
