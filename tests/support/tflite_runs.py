"""Runs of a pair of `.tflite` files, in a process of its own: runtimes end the process for some files."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onnxlint_cmsis.formats.tflite.read import read_tflite

REFUSED, EQUAL, DIFFERS, NOT_READ, NOT_LOADED = "refused", "equal", "differs", "not read", "not loaded"
UNSTEADY = "differs from itself in LiteRT"
INPUTS = 12
"""Runs of a pair that is called equal."""
ARENA = 1 << 20
"""Bytes that the device has."""
LONGEST = 30
"""Seconds that the runs of a pair may take."""


def outcome(old: bytes, new: bytes, seed: int, runs: Callable[[bytes, bytes, int], str] | None = None) -> str:
    """Whether two files give the same on random inputs in LiteRT's reference kernels, or by `runs`."""
    process = os.fork()
    if process == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(LONGEST)
        status = 3
        try:
            status = {EQUAL: 0, DIFFERS: 1}.get((runs or desktop_runs)(old, new, seed), 3)
        finally:
            os._exit(status)
    _, status = os.waitpid(process, 0)
    return {0: EQUAL, 1: DIFFERS}.get(os.waitstatus_to_exitcode(status), NOT_LOADED)


def desktop_runs(old: bytes, new: bytes, seed: int) -> str:
    """How two files compare in LiteRT's reference kernels."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    sides = [
        Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
        for data in (old, new)
    ]
    for side in sides:
        side.allocate_tensors()
    rng = np.random.default_rng(seed)
    for number in range(INPUTS):
        feeds = [_feed(rng, end["dtype"], end["shape"], number) for end in sides[0].get_input_details()]
        results = []
        for side in sides:
            for feed, end in zip(feeds, side.get_input_details(), strict=True):
                side.set_tensor(end["index"], feed)
            side.invoke()
            results.append([side.get_tensor(end["index"]) for end in side.get_output_details()])
        if not _alike(*results):
            return DIFFERS
    return EQUAL


def device_runs(old: bytes, new: bytes, seed: int) -> str:
    """How two files compare in PyPI's TensorFlow Lite Micro."""
    from tflite_micro import runtime

    sides = [runtime.Interpreter.from_bytes(data, arena_size=ARENA) for data in (old, new)]
    main = read_tflite("m.tflite", data=old).subgraphs[0]
    if any(size <= 0 for output in main.outputs for size in main.tensors[output].shape):
        return NOT_LOADED  # get_output copies as many bytes as the file says
    rng = np.random.default_rng(seed)
    for number in range(INPUTS):
        ends = [sides[0].get_input_details(position) for position in range(len(main.inputs))]
        feeds = [_feed(rng, end["dtype"], end["shape"], number) for end in ends]
        results = []
        for side in sides:
            for position, feed in enumerate(feeds):
                side.set_input(feed, position)
            side.invoke()
            results.append([np.array(side.get_output(position)) for position in range(len(main.outputs))])
        if not _alike(*results):
            return DIFFERS
    return EQUAL


def _alike(results: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two runs give the same, but for -0.0 for 0.0 and NaN of other bits."""
    for have, want in zip(results, others, strict=True):
        if have.shape != want.shape or have.dtype != want.dtype:
            return False
        equal = have.tobytes() == want.tobytes()
        if not equal and (have.dtype.kind != "f" or not np.array_equal(have, want, equal_nan=True)):
            return False
    return True


def _feed(rng: np.random.Generator, dtype: Any, sizes: Sequence[int], number: int) -> Any:
    kind, shape = np.dtype(dtype), tuple(sizes)
    if kind.kind == "f":
        return (rng.standard_normal(shape) * 10.0 ** (number % 4 - 1)).astype(kind)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    limits = np.iinfo(kind)
    wide = (max(int(limits.min), -(1 << 30)), min(int(limits.max), 1 << 30)) if number % 2 else (0, 3)
    return rng.integers(*wide, shape, endpoint=True).astype(kind)
