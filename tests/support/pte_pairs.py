"""Random pairs of `.pte` files: PYTHONPATH=tests python -m support.pte_pairs FOLDER... [--count 10000] [--seed 1].

A pair is a file of the folders or a random program, and the same with a byte, a bit or a word changed, two words
exchanged, bytes added, or nothing. No runtime for hosts runs these programs with CMSIS-NN's kernels: so `verify` calls
a file equal to its own bytes alone. An answer that is another one is printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import struct
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import PTE
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.model.model_error import ModelError
from support.pte_programs import random_program

RIGHT, FALSE, NOT_READ = "right", "false", "not read"
WAYS = ("byte", "bit", "word", "swap", "append", "same")
WORDS = (0, 1, -1, 2, 127)


def changed(old: bytes, way: str, chance: random.Random) -> bytes:
    """A file changed in one way."""
    data, spot, other = bytearray(old), *(chance.randrange(len(old) - 8) // 4 * 4 for _ in range(2))
    if way == "byte":
        data[chance.randrange(len(data))] = chance.randrange(256)
    elif way == "bit":
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif way == "word":
        data[spot : spot + 4] = struct.pack("<i", chance.choice((*WORDS, chance.randrange(-(1 << 31), 1 << 31))))
    elif way == "swap":
        data[spot : spot + 4], data[other : other + 4] = data[other : other + 4], data[spot : spot + 4]
    elif way == "append":
        data += bytes(chance.randrange(1, 16))
    return bytes(data)


def hunt(files: Sequence[bytes], count: int, seed: int) -> Counter[tuple[str, str]]:
    """How many pairs of each way came to which end; those with a false answer are printed."""
    counted: Counter[tuple[str, str]] = Counter()
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        if files and chance.random() < 0.5:
            old = chance.choice(files)
        else:
            old = random_program(chance.randrange(1 << 31), chance.choice([*Isa]), 3).data()
        way = chance.choice(WAYS)
        new = changed(old, way, chance)
        try:
            equal = verify(PTE.load("a.pte", old), PTE.load("b.pte", new), 1 << 18).equal
        except ModelError:
            counted[way, NOT_READ] += 1
            continue
        end = RIGHT if equal == (old == new) else FALSE
        if end == FALSE:
            print(f"{number} {way}: {'equal' if equal else 'refused'}", flush=True)
        counted[way, end] += 1
    return counted


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    files = [path.read_bytes() for folder in args.folders for path in sorted(folder.rglob("*.pte"))]
    counted = hunt([data for data in files if len(data) < 60000], args.count, args.seed)
    for way in WAYS:
        print(way, {end: counted[way, end] for end in (RIGHT, FALSE, NOT_READ)})
    return int(any(end == FALSE for _, end in counted))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
