"""Damage `.tflite` files at random and read them: `python tflite_mutate.py FOLDER SEED COUNT`.

Prints one JSON line: how many files were read whole, how many ended in ModelError, and every other error.
"""

from __future__ import annotations

import json
import random
import resource
import struct
import sys
import traceback
from pathlib import Path

from onnxlint_cmsis.formats.tflite.read_file import read_tflite
from onnxlint_cmsis.graph.model_error import ModelError

ADDRESS_SPACE = 2_500_000_000
EXTREMES = (0, 1, 4, 127, 255, 2**15, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 8, 2**32 - 1)


def mutate(data: bytes, chance: random.Random) -> bytes:
    """A damaged copy: some bytes, some aligned words, a cut, or a piece copied elsewhere."""
    copy = bytearray(data)
    kind = chance.randrange(4)
    if kind == 0:
        for _ in range(chance.randrange(1, 20)):
            copy[chance.randrange(len(copy))] = chance.randrange(256)
    elif kind == 1:
        for _ in range(chance.randrange(1, 6)):
            position = 4 * chance.randrange(2, len(copy) // 4)
            copy[position : position + 4] = struct.pack("<I", chance.choice((*EXTREMES, chance.randrange(len(copy)))))
    elif kind == 2:
        del copy[chance.randrange(8, len(copy)) :]
    else:
        length = chance.randrange(1, min(64, len(copy)))
        source, target = (chance.randrange(len(copy) - length) for _ in range(2))
        copy[target : target + length] = copy[source : source + length]
    return bytes(copy)


def outcome(data: bytes) -> str:
    """`read`, `refused`, or the traceback of what should not have happened."""
    try:
        read_tflite("mutated.tflite", data)
    except ModelError as error:
        return "refused" if error.message and "\n" not in error.message else f"message: {error.message}"
    except Exception:
        return traceback.format_exc()
    return "read"


def main(folder: str, seed: str, count: str) -> None:
    """Mutate the smaller files of a folder in turn."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    models = [path.read_bytes() for path in sorted(Path(folder).glob("*.tflite"))]
    chance = random.Random(int(seed))
    found = {"read": 0, "refused": 0}
    errors: list[str] = []
    for number in range(int(count)):
        kind = outcome(mutate(models[number % len(models)], chance))
        if kind in found:
            found[kind] += 1
        else:
            errors.append(kind)
    print(json.dumps({**found, "errors": errors[:20], "error_count": len(errors)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
