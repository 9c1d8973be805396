"""Random nets through `--fix-policy smaller`: python tests/support/smaller_agreement.py FIRST END [KIND].

Each new file has to compute what the old one does, bit for bit, in LiteRT's reference kernels and in PyPI's
TensorFlow Lite Micro, which has to record the head that is told, and `verify` has to call it equal for every input.
"""

from __future__ import annotations

import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import numpy as np

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import TFLITE
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from support.branching_nets import branching
from support.expanding_nets import net
from support.linter import fixed
from support.tflm_agreement import REFERENCE
from support.tflm_runs import TYPES, random_inputs

TARGETS = (["cortex-m4"], ["cortex-m55"], ["cortex-m0"], ["cortex-m4", "cortex-m55"])
MOST = (5, 20, 50)
"""Percent of the instructions that a rewrite may add."""


def drawn(seed: int, kind: str = "") -> bytes:
    """A net of branches for each fourth seed, of which a fifth gets smaller; else one of blocks that expand."""
    types = ["INT8"] * 4 + ["INT16"]
    return branching(seed, kind or random.Random(seed).choice(types)) if seed % 4 == 1 else net(seed, kind)


def disagreements(data: bytes, new: bytes, seed: int) -> Iterator[str]:
    """What is wrong with a new file."""
    main = read_tflite("m.tflite", data).subgraphs[0]
    shapes = [(main.tensors[number].shape, TYPES[main.tensors[number].elem_type]) for number in main.inputs]
    feeds = random_inputs(shapes, 3, seed)
    (before, _), (after, head) = in_wheel(data, feeds), in_wheel(new, feeds)
    if before != after:
        yield "TensorFlow Lite Micro computes something else"
    if in_litert(data, feeds) != in_litert(new, feeds):
        yield "LiteRT computes something else"
    arena = interpret(read_tflite("m.tflite", new), REFERENCE).arena
    if arena is None or arena.head != head:
        yield f"the head is {head}, {arena and arena.head} was told"
    known = verify(TFLITE.load("m.tflite", data), TFLITE.load("m.tflite", new))
    if any(known.faults):
        yield f"verify: {known.faults}"


def planned_in_place(new: bytes) -> bool:
    """Whether the plan of a file puts a result on its operand: both begin at one byte, and live in one step."""
    arena = interpret(read_tflite("m.tflite", new), REFERENCE).arena
    pairs = combinations(arena.plan, 2) if arena else ()
    return any(a.offset == b.offset and a.first <= b.last and b.first <= a.last for a, b in pairs)


def in_wheel(data: bytes, feeds: Sequence[Sequence[Any]]) -> tuple[list[bytes], int]:
    """Outputs in PyPI's TensorFlow Lite Micro, and the head that it records."""
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(data, arena_size=1 << 22)
    outputs = []
    for feed in feeds:
        for number, values in enumerate(feed):
            interpreter.set_input(values, number)
        interpreter.invoke()
        outputs.append(np.asarray(interpreter.get_output(0)).tobytes())
    with tempfile.TemporaryFile() as printed:
        kept = os.dup(2)
        os.dup2(printed.fileno(), 2)
        try:
            interpreter.print_allocations()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        printed.seek(0)
        heads = re.findall(rb"Arena allocation head (\d+) bytes", printed.read())
    return outputs, int(heads[-1])


def in_litert(data: bytes, feeds: Sequence[Sequence[Any]]) -> list[bytes]:
    """Outputs of LiteRT's reference kernels."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    outputs = []
    for feed in feeds:
        for details, values in zip(interpreter.get_input_details(), feed, strict=True):
            interpreter.set_tensor(details["index"], values)
        interpreter.invoke()
        outputs.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tobytes())
    return outputs


def main(first: int, end: int, kind: str = "") -> None:
    """Print a line for each net, and sums."""
    told: Counter[str] = Counter()
    begun = time.time()
    for seed in range(first, end):
        rng = random.Random(seed)
        data = drawn(seed, kind)
        only: dict[str, Any] = {"fixable": ["CNN604"]} if rng.random() < 0.5 else {}
        settings = {"targets": rng.choice(TARGETS), "most_instructions": rng.choice(MOST), **only}
        result, new = fixed(data, "m.tflite", fix_policy="smaller", **settings)
        told["nets"] += 1
        if new is None:
            ways = ["not changed: " + re.sub(r"\w+#\d+|\d[\d,.]*", "N", "; ".join(result.notes) or result.reason)]
        else:
            ways = ["changed"]
            ways += ["bands"] * any("bands" in clause for clause in result.added)
            ways += ["channel tiles"] * any("channels" in clause for clause in result.added)
            ways += ["memory plan"] * bool(b"OfflineMemoryAllocation" in new)
            ways += ["in place"] * planned_in_place(new)
            ways += ["no certificate"] * (result.certificate is None)
            ways += [f"DISAGREES {seed}: {text}" for text in disagreements(data, new, seed)]
        told.update(ways)
        print(seed, settings, ways, *result.added, *((row.before, row.after) for row in result.memory), flush=True)
        if seed % 50 == 49:
            print(dict(told), f"{time.time() - begun:.0f}s", flush=True)
    print(dict(told))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
