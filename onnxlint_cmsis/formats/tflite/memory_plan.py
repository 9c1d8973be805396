"""The memory plan that a `.tflite` file may bring along for TensorFlow Lite Micro.

Its metadata entry says where in the arena each tensor lies (lite/micro/docs/memory_management.md).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel

OFFLINE_PLAN = "OfflineMemoryAllocation"
"""Name of the metadata entry."""
ONLINE = -1
"""Offset of a tensor that the interpreter places itself (kOnlinePlannedBuffer)."""
FURTHEST = 2**31 - 1
"""Largest offset that an entry can state."""
FORMAT_VERSION = 1
HEADER = 12
"""Bytes in front of the offsets: format version, number of subgraphs, number of offsets; the first two are not read."""


class StatedPlan(NamedTuple):
    """A plan as the file has it."""

    number: int
    """Number of offsets that it says it has; -1 where its bytes end before that number."""
    offsets: tuple[int, ...]
    """Offset of each tensor, all of subgraph 0 first; ONLINE for one that it leaves to the interpreter."""

    @property
    def whole(self) -> bool:
        """Tell whether it holds as many offsets as it says."""
        return self.number == len(self.offsets)


def stated_plan(model: TfliteModel) -> StatedPlan | None:
    """The plan that the interpreter takes: the last one, where there are several; None where there is none."""
    buffers = [buffer for name, buffer in model.metadata if name == OFFLINE_PLAN]
    if not buffers:
        return None
    data = model.bytes_of(buffers[-1])
    if len(data) < HEADER:
        return StatedPlan(-1, ())
    (count,) = struct.unpack_from("<I", data, HEADER - 4)
    present = min(count, (len(data) - HEADER) // 4)
    return StatedPlan(count, struct.unpack_from(f"<{present}i", data, HEADER))


def plan_bytes(offsets: Sequence[int], subgraphs: int) -> bytes:
    """The entry's bytes for the offsets of all tensors."""
    return struct.pack(f"<3I{len(offsets)}i", FORMAT_VERSION, subgraphs, len(offsets), *offsets)
