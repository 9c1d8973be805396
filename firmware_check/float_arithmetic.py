"""What a call for f32 or f16 computes, in double precision, and how far off rounding may bring the device.

A bound follows from the format's unit roundoff u (2^-24 for f32, 2^-11 for f16) and the operations of the layer alone.
A sum of n rounded products in any order, fused or not, is off by at most n u / (1 - n u) times the sum of their sizes
(Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1). Above _ENOUGH products that is never
reached: roundings to nearest that do not depend on each other stay below _STEPS sqrt(n) u (Higham and Mary, A New
Approach to Probabilistic Rounding Error Analysis, 2019), and this is taken. What a function approximates adds the error
of its table or polynomial. Functions that move or choose numbers give them bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from firmware_check.evidence.exact_arithmetic import CallNumbers, summed, windows
from onnxlint_cmsis.ground.types import WEIGHTED, Function

if TYPE_CHECKING:
    from firmware_check.program import Elements, FloatNumbers, Step


class FloatOutput(NamedTuple):
    """The output of a layer, in the order of memory."""

    values: Elements
    """In double precision."""
    allowed: Elements
    """By how much each may differ on the device."""


_STEPS = 6
"""Standard deviations of a sum of roundings that no run exceeds (one in 5e8)."""
_ENOUGH = _STEPS**2
"""Operations from which on the probabilistic bound is the smaller one."""


def roundings(operations: int, unit: float) -> float:
    """Largest relative error of so many operations one after the other."""
    steps = min(operations, _STEPS * operations**0.5) * unit
    return steps / (1 - steps) if steps < 1 else np.inf


def float_output(step: Step, sources: Sequence[Elements]) -> FloatOutput | None:
    """Output for inputs as they lie in memory; None where the arithmetic is not written down."""
    compute = _COMPUTED.get(step.call.function) if step.call is not None and step.function else None
    if compute is None:
        return None
    numbers = cast("FloatNumbers", step.output.quantization)
    with np.errstate(all="ignore"):
        exact, allowed = compute(step, [np.asarray(source, np.float64) for source in sources], numbers)
    low, high = cast("tuple[float, float]", step.numbers.get("limits", (-np.inf, np.inf)))
    values = np.clip(np.asarray(exact, np.float64).reshape(-1), low, high)
    bound = np.broadcast_to(np.asarray(allowed, np.float64), np.shape(exact)).reshape(-1)
    return FloatOutput(values, np.where(bound > 0, bound + _least(1, numbers), 0.0))


def _least(operations: int, numbers: FloatNumbers) -> float:
    """What results next to 0 are off by after so many operations: their distance is the same there, or they are 0."""
    return float(min(operations, _STEPS * operations**0.5)) * (2.0**-126 if numbers.bits == 32 else 2.0**-24)


Computed = tuple["Elements", "Elements"]
"""Values, and by how much each may be off."""
Arithmetic = Callable[["Step", "Sequence[Elements]", "FloatNumbers"], Computed]


def _images(step: Step, flat: Elements) -> Elements:
    assert step.call is not None
    return flat.reshape([size or 1 for size in step.call.input_dims])


def _weighted(step: Step, sources: Sequence[Elements], numbers: FloatNumbers) -> Computed:
    call, operands = step.call, step.operands
    assert call is not None and operands is not None
    stem = str(call.function)
    source = _images(step, sources[0])
    sides = []
    for data, weights in ((source, operands.weights), (np.abs(source), np.abs(operands.weights))):
        sides.append(summed(stem, call, CallNumbers(data, weights, None, (), 0, 0, 0)))
    sums, sizes = sides
    depth = operands.weights.size // max(call.output_dims.c or 1, 1)
    bias = 0.0 if operands.bias is None else operands.bias
    spread = np.abs(bias) if operands.spread is None else operands.spread
    error = roundings(depth + 2, numbers.unit) * (sizes + spread) + numbers.unit * np.abs(sums + bias)
    return sums + bias, error + _least(depth, numbers)


def _product(step: Step, sources: Sequence[Elements], numbers: FloatNumbers) -> Computed:
    call = step.call
    assert call is not None and call.floating is not None
    left, right, given = call.input_dims, call.filter_dims, call.floating
    rows, depth, columns = left.c or 0, left.w or 0, right.c or 0
    first = sources[0].reshape(left.n or 0, left.h or 0, *((depth, rows) if given.adj_x else (rows, depth)))
    stored = step.operands.weights if step.operands is not None else sources[-1]
    second = stored.reshape(right.n or 0, right.h or 0, *((depth, columns) if given.adj_y else (columns, depth)))
    first = first.swapaxes(-1, -2) if given.adj_x else first
    second = second if given.adj_y else second.swapaxes(-1, -2)
    sizes = np.abs(first) @ np.abs(second)
    return first @ second, roundings(depth + 1, numbers.unit) * sizes + _least(depth, numbers)


def _average(step: Step, sources: Sequence[Elements], numbers: FloatNumbers) -> Computed:
    assert step.call is not None
    data = _images(step, sources[0])
    counts = np.maximum(windows(step.call, np.ones_like(data), 0).sum(axis=(3, 4)), 1)
    mean, size = (windows(step.call, part, 0).sum(axis=(3, 4)) / counts for part in (data, np.abs(data)))
    taps = (step.call.filter_dims.h or 1) * (step.call.filter_dims.w or 1)
    return mean, roundings(taps + 2, numbers.unit) * size + _least(taps, numbers)


def _largest(step: Step, sources: Sequence[Elements], numbers: FloatNumbers) -> Computed:
    assert step.call is not None
    lowest = -numbers.largest
    values = windows(step.call, _images(step, sources[0]), lowest).max(axis=(3, 4))
    return values, np.zeros(1)


def _sum(_step: Step, sources: Sequence[Elements], numbers: FloatNumbers) -> Computed:
    values = sources[0] + sources[-1]
    return values, numbers.unit * np.abs(values)


def _times(_step: Step, sources: Sequence[Elements], numbers: FloatNumbers) -> Computed:
    values = sources[0] * sources[-1]
    return values, numbers.unit * np.abs(values)


def _chosen(step: Step, sources: Sequence[Elements], _numbers: FloatNumbers) -> Computed:
    call = step.call
    assert call is not None
    sides, rest = [], list(sources)
    for position, dims in enumerate((call.input_dims, call.filter_dims)):
        fixed = step.operands is not None and step.numbers.get("constant") == position
        flat = step.operands.weights if fixed and step.operands is not None else rest.pop(0)
        sides.append(flat.reshape([size or 1 for size in dims]))
        rest = rest or [flat]  # both operands may be one tensor
    choose = np.maximum if call.function is Function.MAXIMUM else np.minimum
    return choose(*sides), np.zeros(1)


_INTERPOLATED_POWER = (np.log(2) / 256) ** 2 / 8
"""Relative error of a linear interpolation in the table of 2^x, 256 steps to 1 (arm_nn_softmax_exp_lut_f32)."""
_POLYNOMIAL = np.log(2) ** 8 / 40320
"""Relative error of a polynomial of degree 7 for exp between -ln 2 and 0 (arm_nn_vexpq_poly_mve_f32)."""
_LEAST_POWER = 2.0**-13
"""C code for f16 takes a power between 2^-14 and this for all smaller ones (arm_nn_softmax_exp2i_f16)."""
_INTERPOLATED_TANH = 0.77 / 8 / 64**2
"""Error of a linear interpolation in the table of tanh, 64 steps to 1; 0.77 is the largest second derivative."""


def _power_error(x: Elements, numbers: FloatNumbers) -> Elements:
    """Relative error of an exponential of x: table or polynomial, the product x log2(e), a rounding of the result."""
    return np.asarray(max(_INTERPOLATED_POWER, _POLYNOMIAL) + (np.abs(x) + 8) * numbers.unit)


def _softmax(step: Step, sources: Sequence[Elements], numbers: FloatNumbers) -> Computed:
    rows = sources[0].reshape(cast(int, step.numbers["rows"]), cast(int, step.numbers["row"]))
    below = rows - rows.max(axis=1, keepdims=True)
    powers = np.exp(below)
    sums = powers.sum(axis=1, keepdims=True)
    values = powers / sums
    error = _power_error(below, numbers)
    of_sum = (powers * error).sum(axis=1, keepdims=True) / sums + roundings(rows.shape[1] + 3, 2.0**-24)
    allowed = values * (error + of_sum + 4 * numbers.unit)
    if numbers.bits == 16:
        allowed = allowed + _LEAST_POWER / sums + values * min(rows.shape[1], _FEW_LOGITS) * _LEAST_POWER
    return values, allowed + 2.0**-116


_FEW_LOGITS = 164
"""Logits of a row up to which the least powers add no more than 2 % of the largest; more are a hazard of the tables."""
_SIGMOID, _TANH, _RELU, _RELU6, _HARDSWISH, _LEAKY = range(33, 39)
"""Numbers of arm_nn_activation_type_flt."""


def _activation(step: Step, sources: Sequence[Elements], numbers: FloatNumbers) -> Computed:
    assert step.call is not None and step.call.floating is not None
    x, u, kind = sources[0], numbers.unit, step.call.floating.activation
    if kind == _SIGMOID:
        values = 1 / (1 + np.exp(-x))
        floor = _LEAST_POWER if numbers.bits == 16 else 2.0**-115
        return values, values * (1 - values) * _power_error(x, numbers) + 4 * u * values + floor
    if kind == _TANH:
        values = np.tanh(x)
        return values, _INTERPOLATED_TANH + 4 * u * (np.abs(values) + np.abs(x) * (1 - values**2)) + 2.0**-126
    if kind in (_RELU, _RELU6):
        return np.clip(x, 0, 6 if kind == _RELU6 else np.inf), np.zeros(1)
    if kind == _HARDSWISH:
        return x * np.clip(x / 6 + 0.5, 0, 1), 5 * u * np.abs(x) * np.minimum(np.abs(x) / 6 + 0.5, 1.5)
    slope = cast(float, step.numbers["slope"])
    return np.where(x >= 0, x, slope * x), np.where(x >= 0, 0, 2 * u * np.abs(slope * x))


def _normalized(step: Step, sources: Sequence[Elements], numbers: FloatNumbers) -> Computed:
    operands = step.operands
    assert operands is not None and operands.bias is not None
    rows = sources[0].reshape(-1, operands.weights.size)
    spread = np.abs(operands.bias) if operands.spread is None else operands.spread
    return rows * operands.weights + operands.bias, 4 * numbers.unit * (np.abs(rows * operands.weights) + spread)


def _concatenation(step: Step, sources: Sequence[Elements], _numbers: FloatNumbers) -> Computed:
    outer = cast(int, step.numbers["outer"])
    return np.concatenate([source.reshape(outer, -1) for source in sources], axis=1), np.zeros(1)


def _padded(step: Step, sources: Sequence[Elements], numbers: FloatNumbers) -> Computed:
    size, before, after = (cast("list[int]", step.numbers[name]) for name in ("size", "before", "after"))
    fill = float(np.asarray(step.numbers["fill"], numbers.dtype))
    amounts = list(zip(before, after, strict=True))
    return np.pad(sources[0].reshape(size), amounts, constant_values=fill), np.zeros(1)


def _transposed(step: Step, sources: Sequence[Elements], _numbers: FloatNumbers) -> Computed:
    assert step.call is not None
    rank = len(step.call.permutation)
    sizes = cast("tuple[int, ...]", step.numbers["size"])[:rank]
    return sources[0].reshape(sizes).transpose(step.call.permutation), np.zeros(1)


_COMPUTED: Mapping[str, Arithmetic] = {
    **dict.fromkeys(WEIGHTED, _weighted),
    Function.BATCH_MATMUL: _product,
    Function.AVERAGE_POOL: _average,
    Function.MAX_POOL: _largest,
    Function.ADD: _sum,
    Function.MUL: _times,
    Function.MAXIMUM: _chosen,
    Function.MINIMUM: _chosen,
    Function.SOFTMAX: _softmax,
    Function.ACTIVATION: _activation,
    Function.BATCH_NORM: _normalized,
    Function.CONCATENATION: _concatenation,
    Function.PAD: _padded,
    Function.TRANSPOSE: _transposed,
}
"""What a function computes, to its arithmetic."""
