"""Runs of bytes put together to a file, and the way from an address to the byte that it became."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

import numpy as np

from onnxlint_cmsis.formats.tflite.flat_writer import ALIGNED
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Piece(NamedTuple):
    """A run of bytes of the new file."""

    address: int
    """Address of its first byte."""
    data: bytes
    """Bytes."""
    aligned: int = -1
    """Byte of it that has to lie at a multiple of `ALIGNED`; -1 where it follows the piece before at once."""


class Places:
    """Where addresses lie in the new file."""

    def __init__(self, starts: Iterable[tuple[int, int]]) -> None:
        """Address and byte of each piece."""
        self._starts = sorted(starts)
        self._addresses = [address for address, _ in self._starts]

    def of(self, address: int) -> int:
        """The byte at an address."""
        start, byte = self._starts[bisect_right(self._addresses, address) - 1]
        return byte + address - start


def laid(pieces: Iterable[Piece]) -> tuple[bytearray, Places]:
    """The bytes of all pieces, one behind the other, and where they lie."""
    data, starts = bytearray(), []
    for piece in pieces:
        if piece.aligned >= 0:
            data += bytes(-(len(data) + piece.aligned) % ALIGNED)
        starts.append((piece.address, len(data)))
        data += piece.data
    return data, Places(starts)


def dead_runs(
    data: bytes, objects: Iterable[tuple[int, int]], kept: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Runs that belonged to `objects` and to none that are `kept`, with the filling behind each of them."""
    owned, dead = np.zeros(len(data) + 1, bool), np.zeros(len(data) + 1, bool)
    for start, end in objects:
        owned[start:end] = dead[start:end] = True
    for start, end in kept:
        dead[start:end] = False
    for start, end in _runs(~owned[:-1]):
        filling = end - start < ALIGNED and not any(data[start:end])
        dead[start:end] = filling and start > 0 and dead[start - 1]
    yield from _runs(dead[:-1])


def _runs(mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[tuple[int, int]]:
    """Where runs of True start and end."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
