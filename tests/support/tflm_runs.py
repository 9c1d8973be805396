"""Files run in PyPI's TensorFlow Lite Micro, in a process apart: their outputs, and the recorded head."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxlint_cmsis.formats.tflite.read import read_tflite
from support.forked import python

ARENA = 1 << 22
TYPES = {"FLOAT32": "float32", "INT8": "int8", "UINT8": "uint8", "INT16": "int16", "INT32": "int32", "BOOL": "bool"}


class WheelRun(NamedTuple):
    """What came of a file."""

    head: int
    """Bytes of planned activations and scratch, as the interpreter recorded them; -1 where it did not run."""
    outputs: tuple[tuple[bytes, ...], ...]
    """Outputs of each input, run one after the other in one interpreter."""


def wheel_run(data: bytes, count: int = 6, seed: int = 1) -> WheelRun:
    """Run a file on so many random inputs, which depend on its inputs and the seed alone."""
    main = read_tflite("m.tflite", data).subgraphs[0]
    shapes = [(main.tensors[number].shape, TYPES[main.tensors[number].elem_type]) for number in main.inputs]
    job = pickle.dumps((data, shapes, len(main.outputs), count, seed))
    done = python([__file__], ".", given=job)
    recorded = re.findall(rb"Arena allocation head (\d+) bytes", done.stderr)
    if done.returncode or not recorded:
        return WheelRun(-1, ())
    return WheelRun(int(recorded[-1]), pickle.loads(done.stdout))


def random_inputs(shapes: Sequence[tuple[Sequence[int], str]], count: int, seed: int) -> list[list[Any]]:
    """Inputs over the whole range of their types."""
    random = np.random.default_rng(seed)
    return [[_random(random, shape, kind) for shape, kind in shapes] for _ in range(count)]


def _random(random: np.random.Generator, shape: Sequence[int], kind: str) -> Any:
    if kind == "float32":
        return random.normal(size=shape).astype(kind)
    if kind == "bool":
        return random.integers(0, 2, shape).astype(kind)
    info = np.iinfo(kind)
    return random.integers(max(info.min, -1000), min(info.max, 1000), shape, endpoint=True).astype(kind)


def _main() -> None:
    from tflite_micro import runtime

    data, shapes, outputs, count, seed = pickle.load(sys.stdin.buffer)
    interpreter = runtime.Interpreter.from_bytes(data, arena_size=ARENA)
    results = []
    for feed in random_inputs(shapes, count, seed):
        for number, values in enumerate(feed):
            interpreter.set_input(values, number)
        interpreter.invoke()
        results.append(tuple(np.asarray(interpreter.get_output(number)).tobytes() for number in range(outputs)))
    interpreter.print_allocations()
    sys.stdout.buffer.write(pickle.dumps(tuple(results)))


if __name__ == "__main__":
    _main()
