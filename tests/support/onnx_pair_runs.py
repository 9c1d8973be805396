"""Runs of two ONNX models in ONNX Runtime without optimizers, on random and extreme inputs."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import onnxruntime

from support.onnx_operations import Array

EQUAL, REFUSED, DIFFERS, STEP, NOT_LOADED, NOT_RUN = "equal", "refused", "differs", "one step", "not loaded", "not run"
ROUNDS = 6
"""Inputs that a pair runs on."""


def session(data: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


EXTREMES = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38, 1e-40, 0.5, -0.5, 127.5, 3.4028235e38)


def drawn(item: onnxruntime.NodeArg, number: int, rng: np.random.Generator) -> Array:
    """Values of an input: random ones, and in odd rounds extreme ones among them."""
    kind = np.dtype({"float": "float32", "double": "float64"}.get(item.type[7:-1], item.type[7:-1]))
    shape = [size if isinstance(size, int) else 1 for size in item.shape]
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    if kind.kind == "f":
        values = rng.normal(0, (1, 10, 1e4)[number % 3], shape)
        extreme = rng.choice(np.array(EXTREMES), shape)
        with np.errstate(over="ignore"):
            return np.where((rng.random(shape) < 0.3) & bool(number % 2), extreme, values).astype(kind)
    info = np.iinfo(kind)
    values = rng.integers(info.min, info.max, shape, kind, endpoint=True)
    ends = [info.min, info.min + 1, 0, 1, info.max, info.max - 1, min(2**53 + 1, info.max)]
    near = rng.choice(np.array(ends, kind), shape)
    return np.where((rng.random(shape) < 0.3) & bool(number % 2), near, values)


def run_pair(old: bytes, new: bytes, seed: int) -> str:
    """How outputs of two models that are called equal compare in ONNX Runtime."""
    first, second = _session(old), _session(new)
    if first is None or second is None:
        return NOT_RUN if first is None else NOT_LOADED
    rng, ends = np.random.default_rng(seed), {EQUAL}
    for number in range(ROUNDS):
        feeds = {item.name: drawn(item, number, rng) for item in first.get_inputs()}
        try:
            before, after = (runtime.run(["y"], feeds)[0] for runtime in (first, second))
        except Exception:
            return NOT_RUN
        ends.add(compared(before, after))
    return next((end for end in ends if end.startswith(DIFFERS)), STEP if STEP in ends else EQUAL)


def _session(data: bytes) -> onnxruntime.InferenceSession | None:
    """None for a model that the runtime does not load."""
    try:
        return session(data)
    except Exception:
        return None


def compared(before: Array, after: Array) -> str:
    """How two results compare: by their bits, but for those of NaN; or by a step of short integers."""
    if before.dtype != after.dtype or before.shape != after.shape:
        return f"{DIFFERS}: {before.dtype} {before.shape}, {after.dtype} {after.shape}"
    alike = before == after
    if before.dtype.kind == "f":
        alike = (alike & (np.signbit(before) == np.signbit(after))) | (np.isnan(before) & np.isnan(after))
    if alike.all():
        return EQUAL
    short = before.dtype.kind in "iu" and before.dtype.itemsize < 4
    if short and abs(before.astype(int) - after.astype(int)).max() == 1:
        return STEP
    return f"{DIFFERS}: {before[~alike].flat[0]}, {after[~alike].flat[0]}"


class Apart:
    """The runtime in a process of its own, which damaged models may end."""

    def __init__(self) -> None:
        self.pool = ProcessPoolExecutor(1)

    def run_pair(self, old: bytes, new: bytes, seed: int) -> str:
        try:
            return self.pool.submit(run_pair, old, new, seed).result()
        except BrokenProcessPool:
            self.pool = ProcessPoolExecutor(1)
            return NOT_RUN
