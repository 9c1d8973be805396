"""Calls of the functions for q7 and q15."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from math import ceil, log2, prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firmware_check.evidence.call_runs import CallStep, value_of, weights_shape, work
from firmware_check.legacy.cmsis_5 import QNumbers, interleaved, q_computed
from firmware_check.program import Array, Step
from onnxlint_cmsis.cmsis_nn.library import route, runs_dsp_body
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.model.windows import padding_for, places

if TYPE_CHECKING:
    from firmware_check.program import Elements
    from onnxlint_cmsis.ground.types import Target


# The arguments of the functions for q7 and q15 as C text, by family of functions.


def arguments(function: str, call: KernelCall, numbers: QNumbers) -> str:
    """The arguments in order. `source`, `result`, `weights`, `bias` and `scratch` are names in the generated C."""
    shifts = f"bias, {numbers.bias_shift}, {numbers.out_shift}"
    if "fully_connected" in function:
        sizes = f"{call.filter_dims.n}, {call.output_dims.c}"
        return f"source, weights, {sizes}, {numbers.bias_shift}, {numbers.out_shift}, bias, result, scratch"
    if "relu" in function:
        return f"result, {prod(size or 0 for size in call.output_dims)}"
    if "pool" in function:
        return f"source, {_square(call, weighted=False)}, {call.output_dims.w}, scratch, result"
    if function.endswith("_nonsquare"):
        out = f"{call.output_dims.w}, {call.output_dims.h}"
        return f"source, {_each_axis(call)}, {shifts}, result, {out}, scratch, 0"
    return f"source, {_square(call, weighted=True)}, {shifts}, result, {call.output_dims.w}, scratch, 0"


def _square(call: KernelCall, *, weighted: bool) -> str:
    """Sizes of a function with one argument for both axes."""
    between = f"weights, {call.output_dims.c}, " if weighted else ""
    window = f"{call.filter_dims.w}, {call.padding.w}, {call.stride.w}"
    return f"{call.input_dims.w}, {call.input_dims.c}, {between}{window}"


def _each_axis(call: KernelCall) -> str:
    """Sizes of each axis, the width first."""
    pairs = (call.padding, call.stride)
    window = f"{call.filter_dims.w}, {call.filter_dims.h}, " + ", ".join(f"{pair.w}, {pair.h}" for pair in pairs)
    return f"{call.input_dims.w}, {call.input_dims.h}, {call.input_dims.c}, weights, {call.output_dims.c}, {window}"


# A call of a function for q7 or q15 as a layer of firmware, with random inputs and the expected output.


_SPREAD = {8: 45.0, 16: 9000.0}
"""Bits to the standard deviation of outputs, in steps: they use most of the range, and few saturate."""
_ROOM = 1 << 29
"""Largest sum of products: 32 bits hold it together with the bias."""
_BIAS_SHIFT = 3
WITHOUT_WEIGHTS = ("relu", "max_pool", "avgpool")


def legacy_step(label: str, call: KernelCall, target: Target, seed: int = 1) -> CallStep:
    """The layer of a call with random numbers from a seed; the route on the target names the function."""
    stem, _, kind = _typed(call.entry)
    return step_with(label, call, target, _numbers(call, stem, kind, np.random.default_rng(seed)))


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


def _numbers(call: KernelCall, stem: str, kind: str, generator: np.random.Generator) -> QNumbers:
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


# Candidate calls of the functions for q7 and q15, smallest first, with sizes around every limit.


_DRAWN = 4000
_BEYOND = 130
"""A size that a signed byte does not hold."""
_CHOICES = (
    "convolve_q7", "convolve_q15", "depthwise_q7", "fully_connected_q7", "fully_connected_q15", "fully_connected_q7q15",
    "max_pool_q7", "avgpool_q7", "relu_q7", "relu_q15",
)  # fmt: skip
_ALONE = (
    "convolve_HWC_q7_fast", "convolve_HWC_q7_fast_nonsquare", "convolve_HWC_q7_RGB",
    "convolve_1x1_HWC_q7_fast_nonsquare", "convolve_HWC_q15_fast", "convolve_HWC_q15_fast_nonsquare",
)  # fmt: skip
"""Functions called by name, since a choice never reaches what they refuse or compute wrongly."""
LEGACY_POOL = (*_CHOICES, *_ALONE)
"""Entry points with candidate calls."""


class _Axis(NamedTuple):
    """One axis of a window."""

    size: int
    kernel: int
    stride: int
    before: int
    after: int
    output: int


@cache
def legacy_pool(entry: str) -> tuple[KernelCall, ...]:
    """Calls of an entry point, smallest first."""
    generator = random.Random(f"{entry} 1")
    drawn = {call for _ in range(_DRAWN) for call in _drawn(entry, generator)}
    return tuple(sorted({*drawn, *_large(entry)}, key=lambda call: (work(call), call)))


def _drawn(entry: str, generator: random.Random) -> Iterator[KernelCall]:
    if entry.startswith("fully_connected"):
        depth, out_c = generator.choice((1, 2, 3, 4, 5, 7, 16)), generator.choice((1, 3, 4, 6, 9))
        yield KernelCall(entry, Dims(1, 1, 1, depth), Dims(depth, 1, 1, out_c), Dims(1, 1, 1, out_c))
        return
    if entry.startswith("relu"):
        yield _relu(entry, generator.choice((1, 3, 4, 9, 64)))
        return
    square = entry in ("convolve_HWC_q7_fast", "convolve_HWC_q7_RGB", "convolve_HWC_q15_fast")
    high = _axis(generator, "pool" in entry)
    wide = high if square or generator.random() < 0.6 else _axis(generator, "pool" in entry)
    if min(high.output, wide.output) >= 1 and max(high.before, wide.before) < 6:
        yield _of_axes(entry, high, wide, generator)


def _axis(generator: random.Random, pooling: bool) -> _Axis:
    pick = generator.choice
    size, kernel, stride = pick((1, 2, 3, 4, 5, 6, 8, 9)), pick((1, 1, 2, 3, 3, 5)), pick((1, 1, 2, 3))
    before, after = pick((0, 0, 1, 1, 2, 3)), pick((0, 0, 1, 1, 2))
    before, after = min(before, kernel - 1), min(after, kernel - 1 if pooling else kernel)
    return _Axis(size, kernel, stride, before, after, max(places(size, kernel, stride, before, after), 0))


def _of_axes(entry: str, high: _Axis, wide: _Axis, generator: random.Random) -> KernelCall:
    in_c, out_c = generator.choice((1, 2, 3, 4, 4, 5, 6, 7, 8)), generator.choice((1, 2, 3, 4, 6))
    multiplier = 0
    if "pool" in entry:
        out_c = in_c
    if entry.startswith("depthwise"):
        out_c, multiplier = (in_c, 1) if generator.random() < 0.9 else (2 * in_c, 2)
    kernel = Dims(
        1 if multiplier or "pool" in entry else out_c, high.kernel, wide.kernel, out_c if multiplier else in_c
    )
    after = (padding_for(axis.output, axis.size, axis.kernel, axis.stride) - axis.before for axis in (high, wide))
    return KernelCall(
        entry, Dims(1, high.size, wide.size, in_c), kernel, Dims(1, high.output, wide.output, out_c),
        Pair(high.stride, wide.stride), Pair(high.before, wide.before), Pair(*after), ch_mult=multiplier,
    )  # fmt: skip


def _relu(entry: str, count: int) -> KernelCall:
    dims = Dims(1, 1, 1, count)
    return KernelCall(entry, dims, Dims(None, None, None, None), dims)


def _large(entry: str) -> Iterator[KernelCall]:
    """Planes beyond 127, and more elements than 16 bits count."""
    if entry.startswith("relu"):
        yield _relu(entry, 65_540)
    if entry.startswith("convolve"):
        for size, in_c, out_c, k in (
            (130, 3, 1, 1),
            (130, 3, 1, 3),
            (130, 4, 2, 3),
            (130, 1, 1, 1),
            (130, 2, 2, 3),
            (130, 2, 2, 1),
        ):
            out = size - k + 1
            yield KernelCall(entry, Dims(1, size, size, in_c), Dims(out_c, k, k, in_c), Dims(1, out, out, out_c))
        for in_c, out_c in ((1, 1), (2, 2), (4, 2)):
            yield KernelCall(entry, Dims(1, 1, _BEYOND, in_c), Dims(out_c, 1, 3, in_c), Dims(1, 1, _BEYOND - 2, out_c))
