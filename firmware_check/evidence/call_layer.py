"""A kernel call as a layer of firmware: random numbers of its sizes, and what it has to compute from them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firmware_check.evidence.exact_arithmetic import CallNumbers, computed
from firmware_check.float_arithmetic import FloatOutput
from firmware_check.program import Array, Elements, Quantization, Step, Value
from firmware_check.quantized_constants import packed
from firmware_check.reading.forms import FORMS
from onnxlint_cmsis.ground.types import Dims, KernelCall
from onnxlint_cmsis.model.fixed_point import quantize_multiplier

if TYPE_CHECKING:
    from firmware_check.library import Library


_INPUT_ZERO, _OUTPUT_ZERO = 7, -5


_WEIGHTS = {"s8": 127, "s4": 7, "s16": 127}


_BIAS = {8: "int32_t", 16: "int64_t"}


_BEHIND = 16
"""Bytes other than zero behind the weights, so that a kernel that reads on is seen."""


_SPREAD = {8: 45.0, 16: 9000.0}
"""Standard deviation that outputs should have: most of the range is used and little is cut off."""


class CallStep(NamedTuple):
    """One call, ready for the device."""

    step: Step
    """The layer."""
    sources: tuple[Elements, ...]
    """What the host gives it, an array for each input, as they lie in memory."""
    expected: Elements | FloatOutput | None
    """What it has to compute, as it lies in memory; None where the sizes are of no convolution."""


WITHOUT_BUFFER = {"arm_svdf_s8": "svdf_without_buffer", "arm_batch_matmul_s8": "batch_matmul_without_buffer"}
"""Function that is called in no other way than without its buffer, to the form of that call."""


EXTREMES = {"maximum_s8": np.maximum, "minimum_s8": np.minimum}
"""Entry points of two activations that are repeated along axes of size 1, to what they compute."""


TRANSPOSE = "transpose"
"""Form of a call that no layer of a model is run with: the device moves what a Transpose moves by itself."""


def without_buffer(label: str, function: str) -> CallStep:
    """A call of a function whose context has no buffer."""
    dims = Dims(1, 1, 1, 1)
    values = value_of("x", 0, dims, 8, 0), value_of("y", 1, dims, 8, 0)
    step = Step(label, function, WITHOUT_BUFFER[function], values[:1], values[1], None, function)
    return CallStep(step, (np.zeros(1, np.int8),), None)


def transposing(label: str, call: KernelCall, seed: int) -> CallStep:
    """A transpose of random numbers."""
    data = np.random.default_rng(seed).integers(-128, 128, _sizes(call.input_dims)).astype(np.int8)
    rank = len(call.permutation)
    sizes = (_sizes(dims)[4 - rank :] + (1,) * (4 - rank) for dims in (call.input_dims, call.output_dims))
    numbers: dict[str, object] = dict(zip(("size", "result"), sizes, strict=True))
    values = value_of("x", 0, call.input_dims, 8, 0), value_of("y", 1, call.output_dims, 8, 0)
    step = Step(label, call.entry, TRANSPOSE, values[:1], values[1], call, "arm_transpose_s8", (), numbers)
    moved = data.reshape(_sizes(call.input_dims)[4 - rank :]).transpose(call.permutation)
    return CallStep(step, (data.reshape(-1),), moved.reshape(-1))


def comparing(label: str, call: KernelCall, seed: int) -> CallStep:
    """The larger, or the smaller, of random numbers."""
    generator = np.random.default_rng(seed)
    sides = call.input_dims, call.filter_dims
    data = [generator.integers(-128, 128, _sizes(dims)).astype(np.int8) for dims in sides]
    values = tuple(value_of(f"x{number}", number, dims, 8, 0) for number, dims in enumerate(sides))
    output = value_of("y", 2, call.output_dims, 8, 0)
    form = call.entry.removesuffix("_s8")
    step = Step(label, call.entry, form, values, output, call, f"arm_{call.entry}", (), {"constant": None})
    return CallStep(step, tuple(values.reshape(-1) for values in data), EXTREMES[call.entry](*data).reshape(-1))


def call_step(label: str, call: KernelCall, library: Library, seed: int = 1) -> CallStep:
    """The layer of a call; its numbers follow from the seed."""
    if call.permutation:
        return transposing(label, call, seed)
    if call.entry in EXTREMES:
        return comparing(label, call, seed)
    stem, _, kind = call.entry.rpartition("_")
    bits = 16 if kind == "s16" else 8
    generator = np.random.default_rng(seed)
    zeros = (0, 0) if bits == 16 else (_INPUT_ZERO, _OUTPUT_ZERO)
    pooling = stem in ("avgpool", "max_pool")
    source = generator.integers(-(1 << (bits - 1)), 1 << (bits - 1), _sizes(call.input_dims))
    weights: Elements = np.zeros(0)
    if not pooling:
        weights = generator.integers(-_WEIGHTS[kind], _WEIGHTS[kind] + 1, weights_shape(stem, call))
    depth = weights.size // max(call.output_dims.c or 1, 1)
    spread = float(max(1.0, np.std(source) * _WEIGHTS[kind] * 0.58 * np.sqrt(max(depth, 1))))
    bias = generator.integers(-int(spread), int(spread) + 1, call.output_dims.c or 0) if call.bias else None
    reals = _SPREAD[bits] / spread * generator.uniform(0.7, 1.3, call.output_dims.c or 0)
    if stem == "fully_connected" and not call.per_channel:
        reals = np.full_like(reals, reals[0])
    multipliers = tuple(quantize_multiplier(float(real)) for real in reals)
    operands = CallNumbers(source, weights, None if pooling else bias, multipliers, *zeros, bits)
    arrays = () if pooling else _arrays(operands, kind, bits)
    values = value_of("x", 0, call.input_dims, bits, zeros[0]), value_of("y", 1, call.output_dims, bits, zeros[1])
    numbers: dict[str, object] = {
        "limits": (values[1].quantization.lowest, values[1].quantization.highest),
        "filter_offset": 0, "per_channel": bool(call.per_channel),
    }  # fmt: skip
    function = FORMS[stem].function(kind, library)
    step = Step(label, stem, stem, values[:1], values[1], call, function, arrays, numbers)
    kind_of = np.int16 if bits == 16 else np.int8
    expected = computed(call, operands).reshape(-1) if _divides(call) else None
    return CallStep(step, (source.astype(kind_of).reshape(-1),), expected)


def _divides(call: KernelCall) -> bool:
    """Tell whether the channels divide into groups, so that there is something to compute."""
    stem, depth, in_c = call.entry.rpartition("_")[0], call.filter_dims.c or 0, call.input_dims.c or 0
    if stem == "depthwise":
        return in_c * (call.ch_mult or 0) == call.output_dims.c
    if stem != "convolve":
        return True
    return 0 < depth <= in_c and not in_c % depth and not (call.output_dims.c or 0) % (in_c // depth)


def _sizes(dims: Dims) -> tuple[int, ...]:
    return tuple(size or 0 for size in dims)


def value_of(name: str, buffer: int, dims: Dims, bits: int, zero: int) -> Value:
    """An activation of a call, as it lies in memory."""
    return Value(name, buffer, _sizes(dims), (0, 1, 2, 3), Quantization(1.0, zero, bits))


def weights_shape(stem: str, call: KernelCall) -> tuple[int, ...]:
    """OHWI of a convolution, 1HWO of a depthwise one, [out_c, depth] of a fully connected layer."""
    sizes = _sizes(call.filter_dims)
    return (call.output_dims.c or 0, sizes[0]) if stem == "fully_connected" else sizes


def _arrays(operands: CallNumbers, kind: str, bits: int) -> tuple[Array, ...]:
    stored = packed(operands.weights.reshape(-1)) if kind == "s4" else operands.weights.reshape(-1)
    return (
        Array("weights", "int8_t", np.append(stored, np.full(_BEHIND, 77))),
        *([] if operands.bias is None else [Array("bias", _BIAS[bits], operands.bias)]),
        Array("multipliers", "int32_t", np.array([multiplier.value for multiplier in operands.multipliers])),
        Array("shifts", "int32_t", np.array([multiplier.shift for multiplier in operands.multipliers])),
    )


def work(call: KernelCall) -> int:
    """How large a call is: elements read and written."""
    return sum(
        prod(max(size or 0, 1) for size in dims) for dims in (call.input_dims, call.filter_dims, call.output_dims)
    )
