"""A call of a function for q7 or q15 as a layer of firmware, with random inputs and the expected output."""

from __future__ import annotations

from math import ceil, log2

import numpy as np

from firmware_check.evidence.call_layer import CallStep, value_of, weights_shape
from firmware_check.legacy.arguments import arguments
from firmware_check.legacy.arithmetic import QNumbers, q_computed
from firmware_check.legacy.cmsis_5 import interleaved
from firmware_check.program import Array, Elements, Step
from onnxlint_cmsis.cmsis_nn.library import route, runs_dsp_body
from onnxlint_cmsis.ground.types import KernelCall, Target

_SPREAD = {8: 45.0, 16: 9000.0}
"""Bits to the standard deviation of outputs, in steps: they use most of the range, and few saturate."""
_ROOM = 1 << 29
"""Largest sum of products: 32 bits hold it together with the bias."""
_BIAS_SHIFT = 3
WITHOUT_WEIGHTS = ("relu", "max_pool", "avgpool")


def legacy_step(label: str, call: KernelCall, target: Target, seed: int = 1) -> CallStep:
    """The layer of a call with random numbers from a seed; the route on the target names the function."""
    stem, _, kind = _typed(call.entry)
    return step_with(label, call, target, _q_numbers(call, stem, kind, np.random.default_rng(seed)))


def step_with(label: str, call: KernelCall, target: Target, numbers: QNumbers) -> CallStep:
    """The layer of a call with given numbers."""
    taken, bits = route(call, target), numbers.bits
    stem, _, kind = _typed(call.entry)
    values = value_of("x", 0, call.input_dims, bits, 0), value_of("y", 1, call.output_dims, bits, 0)
    more: dict[str, object] = {
        "arguments": arguments(taken.kernel, call, numbers),
        "scratch": _scratch(call, taken.buffer_size),
        "in_place": stem == "relu",
        "returns": stem not in WITHOUT_WEIGHTS,
    }
    arrays = () if stem in WITHOUT_WEIGHTS else _arrays(numbers, kind, taken.kernel)
    step = Step(label, stem, "legacy_call", values[:1], values[1], call, taken.kernel, arrays, more)
    matching = stem != "depthwise" or call.input_dims.c == call.output_dims.c
    expected = q_computed(call, numbers, runs_dsp_body(target)).reshape(-1) if matching else None
    return CallStep(step, (numbers.source.reshape(-1),), expected)


def _scratch(call: KernelCall, answered: int | None) -> int:
    """Bytes of the buffer. A function called by name gets two columns of 16 bits, the most that any function uses."""
    if answered is not None and answered >= 0:
        return answered
    return 4 * (call.filter_dims.h or 0) * (call.filter_dims.w or 0) * (call.input_dims.c or 0)


def _typed(entry: str) -> tuple[str, str, str]:
    """Stem and data type of a choice, or of a function called by name."""
    if "_HWC_" in entry or entry.endswith("_opt") or entry.startswith("fully_connected_mat"):
        kind = "q7q15" if "mat_q7" in entry else "q7" if "q7" in entry else "q15"
        stem = "depthwise" if entry.startswith("depthwise") else entry.split("_q", maxsplit=1)[0]
        return ("convolve" if entry.startswith("convolve") else stem.removesuffix("_mat")), "_", kind
    return entry.rpartition("_")


def _q_numbers(call: KernelCall, stem: str, kind: str, generator: np.random.Generator) -> QNumbers:
    bits = 8 if kind == "q7" else 16
    type_, wide = (np.int8, 127) if bits == 8 else (np.int16, 32767)
    source = generator.integers(-wide - 1, wide + 1, tuple(size or 0 for size in call.input_dims)).astype(type_)
    if stem in WITHOUT_WEIGHTS:
        return QNumbers(source, np.zeros(0, type_), np.zeros(0, type_), 0, 0, bits)
    shape = weights_shape(stem, call)
    depth = max(1, int(np.prod(shape)) // max(call.output_dims.c or 1, 1))
    largest = min(127 if kind != "q15" else 32767, max(1, _ROOM // (depth * (wide + 1))))
    weights = generator.integers(-largest, largest + 1, shape).astype(np.int16 if kind == "q15" else np.int8)
    spread = 0.33 * (wide + 1) * largest * np.sqrt(depth)
    shift = max(0, ceil(log2(max(spread / _SPREAD[bits], 1))))
    bias = generator.integers(-100, 101, call.output_dims.c or 0).astype(weights.dtype)
    return QNumbers(source, weights, bias, min(_BIAS_SHIFT, shift), shift, bits)


def _arrays(numbers: QNumbers, kind: str, function: str) -> tuple[Array, ...]:
    wide = "int16_t" if kind == "q15" else "int8_t"
    stored: Elements = numbers.weights.reshape(-1)
    if function.endswith("_opt"):
        stored = interleaved(numbers.weights, kind)
    return Array("weights", wide, stored), Array("bias", wide, numbers.bias)
