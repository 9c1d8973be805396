"""Files for a programmer: Intel HEX, UF2, and bytes without addresses."""

from __future__ import annotations

import struct

from onnxlint_cmsis.images.image import LARGEST, Image, ImageError, Section

UF2_FIRST, UF2_SECOND, UF2_END = 0x0A324655, 0x9E5D5157, 0x0AB16F30
UF2_BLOCK = 512
UF2_PAYLOAD = 476
UF2_NOT_MAIN = 1
MOST_RUNS = 100_000
"""Runs of bytes that follow each other; a real file has some ten."""


def read_raw(data: memoryview) -> Image:
    """Read the file as what it begins like. Raises ImageError where it is damaged."""
    if bytes(data[:1]) == b":":
        return _image("hex", _hex_runs(bytes(data)))
    if len(data) >= UF2_BLOCK and struct.unpack_from("<II", data) == (UF2_FIRST, UF2_SECOND):
        return _image("uf2", _uf2_runs(data))
    return Image("bin", (Section("image", 0, len(data), data),), addressed=False)


class _Runs:
    """Bytes at addresses, those that follow each other in one run."""

    def __init__(self) -> None:
        self.runs: list[tuple[int, bytearray]] = []

    def add(self, address: int, piece: bytes) -> None:
        """Put bytes at an address."""
        if self.runs and self.runs[-1][0] + len(self.runs[-1][1]) == address:
            self.runs[-1][1].extend(piece)
            return
        if len(self.runs) == MOST_RUNS:
            raise ImageError(f"it has more than {MOST_RUNS:,} runs of bytes")
        self.runs.append((address, bytearray(piece)))


def _image(form: str, runs: _Runs) -> Image:
    """The image of runs that are joined where one ends at the next."""
    joined = _Runs()
    for address, content in sorted(runs.runs, key=lambda run: run[0]):
        joined.add(address, bytes(content))
    sections = (Section("image", address, len(run), memoryview(bytes(run))) for address, run in joined.runs)
    return Image(form, tuple(sections))


def _hex_runs(text: bytes) -> _Runs:
    runs, base = _Runs(), 0
    for number, line in enumerate(text.split(b"\n"), 1):
        record = line.strip()
        if not record:
            continue
        try:
            fields = bytes.fromhex(record[1:].decode("ascii")) if record[:1] == b":" else b""
        except (ValueError, UnicodeDecodeError):
            fields = b""
        if len(fields) < 5 or fields[0] != len(fields) - 5 or sum(fields) & 255:
            raise ImageError(f"line {number} is no record of Intel HEX")
        kind, content = fields[3], fields[4:-1]
        if kind == 1:
            break
        if kind == 0:
            runs.add(base + int.from_bytes(fields[1:3], "big"), content)
        elif kind in (2, 4):
            base = int.from_bytes(content, "big") << (4 if kind == 2 else 16)
    return runs


def _uf2_runs(data: memoryview) -> _Runs:
    runs = _Runs()
    if len(data) > LARGEST or len(data) % UF2_BLOCK:
        raise ImageError(f"it has {len(data)} bytes, and a UF2 file has blocks of {UF2_BLOCK}")
    for start in range(0, len(data), UF2_BLOCK):
        first, second, flags, address, size = struct.unpack_from("<5I", data, start)
        (end,) = struct.unpack_from("<I", data, start + UF2_BLOCK - 4)
        if (first, second, end) != (UF2_FIRST, UF2_SECOND, UF2_END) or size > UF2_PAYLOAD:
            raise ImageError(f"there is no block of UF2 at byte {start}")
        if not flags & UF2_NOT_MAIN:
            runs.add(address, bytes(data[start + 32 : start + 32 + size]))
    return runs
