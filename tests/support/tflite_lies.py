"""A `.tflite` file with one element of a buffer, or a number beside them, changed."""

from __future__ import annotations

import random
import struct

import numpy as np

from model_mutations import _numbers
from onnxlint_cmsis.formats.flatbuffer import root_of
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from support.one_off import Lie, kind_of, other

WHOLE = {"INT8": "i1", "UINT8": "u1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8"}
"""Types of constants that lies are told about."""


def tflite_lie(data: bytes, rng: random.Random) -> Lie | None:
    lie = bytearray(data)
    if rng.random() < 0.55:
        model = read_tflite("m.tflite", data)
        held = [
            t
            for t in model.subgraphs[0].tensors
            if t.buffer and model.buffers[t.buffer].length and t.elem_type in WHOLE
        ]
        if not held:
            return None
        tensor = rng.choice(held)
        span = model.buffers[tensor.buffer]
        array = np.frombuffer(data, WHOLE[tensor.elem_type], offset=span.offset, count=int(np.prod(tensor.shape)))
        array = array.reshape(tensor.shape)
        kind = kind_of(array, False, rng)
        lie[span.offset : span.offset + array.nbytes] = other(array, kind, rng).tobytes()
        return Lie(kind, bytes(lie))
    offset, letter = rng.choice([number for number in _numbers(root_of(SCHEMA, data)) if number[1] != "I"])
    width = struct.calcsize(f"<{letter}")
    (number,) = struct.unpack_from(f"<{letter}", data, offset)
    if letter == "f":
        kind = rng.choice(("scale", "shift"))
        struct.pack_into("<f", lie, offset, other(np.array([number], np.float32), kind, rng)[0])
        return Lie(kind, bytes(lie))
    lie[offset : offset + width] = ((int(number) + rng.choice((1, -1))) % 256**width).to_bytes(width, "little")
    return Lie("zero-point" if letter == "q" else "option", bytes(lie))
