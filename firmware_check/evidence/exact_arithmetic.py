"""What a call computes, in NumPy: an independent reference for every entry point that the device runs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from firmware_check.program import Elements
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.model.fixed_point import Multiplier


class CallNumbers(NamedTuple):
    """The numbers of one call."""

    source: Elements
    """Input, NHWC."""
    weights: Elements
    """Weights as the kernel reads them: OHWI, 1HWO, [out_c, depth]; empty for pooling."""
    bias: Elements | None
    """A bias for each output channel; None for none."""
    multipliers: tuple[Multiplier, ...]
    """A multiplier for each output channel."""
    input_zero: int
    """Zero-point of the input."""
    output_zero: int
    """Zero-point of the output."""
    bits: int
    """Bits of the activations."""


def computed(call: KernelCall, operands: CallNumbers) -> Elements:
    """The output of a call, NHWC."""
    stem = call.entry.rpartition("_")[0]
    if stem in ("avgpool", "max_pool"):
        return _pooled(call, operands, stem == "max_pool")
    sums = summed(stem, call, operands)
    if operands.bias is not None:
        sums = sums + operands.bias
    real = np.array([multiplier.value * 2.0 ** (multiplier.shift - 31) for multiplier in operands.multipliers])
    low, high = -(1 << (operands.bits - 1)), (1 << (operands.bits - 1)) - 1
    return np.asarray(np.clip(np.rint(sums * real) + operands.output_zero, low, high), np.int64)


def summed(stem: str, call: KernelCall, operands: CallNumbers) -> Elements:
    """The sums of products of a call, NHWC."""
    of_stem = {
        "convolve": _convolved,
        "depthwise": _depthwise,
        "transpose_conv": _transposed,
        "fully_connected": _dense,
    }
    return of_stem[stem](call, operands)


def _shifted(operands: CallNumbers) -> Elements:
    return _wide(operands.source) - operands.input_zero


def _wide(numbers: Elements) -> Elements:
    """Integers of 64 bits, or floating-point numbers of 64 bits, whose sums and products are exact or nearly so."""
    return numbers.astype(np.float64 if numbers.dtype.kind == "f" else np.int64)


def windows(call: KernelCall, data: Elements, outside: float) -> Elements:
    """What each output sees: [n, out_h, out_w, kernel_h, kernel_w, c], with `outside` where there is no input."""
    pads = max(*(size or 0 for size in (*call.padding, *call.pad_after)), 0) + 1
    reach_h = _window_positions(call.output_dims.h, call.stride.h, call.filter_dims.h, call.dilation.h) - (
        call.padding.h or 0
    )
    reach_w = _window_positions(call.output_dims.w, call.stride.w, call.filter_dims.w, call.dilation.w) - (
        call.padding.w or 0
    )
    more = max(pads, int(reach_h.max()) - data.shape[1] + 1, int(reach_w.max()) - data.shape[2] + 1)
    wide = np.pad(data, ((0, 0), (more, more), (more, more), (0, 0)), constant_values=outside)
    return wide[:, (reach_h + more)[:, None, :, None], (reach_w + more)[None, :, None, :], :]


def _window_positions(outputs: int | None, stride: int | None, kernel: int | None, dilation: int | None) -> Elements:
    """First input of each output's window, plus the taps."""
    return np.arange(outputs or 0)[:, None] * (stride or 1) + np.arange(kernel or 0)[None, :] * (dilation or 1)


def _convolved(call: KernelCall, operands: CallNumbers) -> Elements:
    views = windows(call, _shifted(operands), 0)
    out_c, _, _, depth = operands.weights.shape
    groups = max(1, views.shape[-1] // max(depth, 1))
    parts = []
    for group in range(groups):
        seen = views[..., group * depth : (group + 1) * depth]
        of_group = operands.weights[group * out_c // groups : (group + 1) * out_c // groups]
        parts.append(np.tensordot(seen, _wide(of_group), axes=([3, 4, 5], [1, 2, 3])))
    return np.concatenate(parts, axis=-1)


def _depthwise(call: KernelCall, operands: CallNumbers) -> Elements:
    views = np.repeat(windows(call, _shifted(operands), 0), call.ch_mult or 1, axis=-1)
    return np.asarray(np.einsum("nhwklc,klc->nhwc", views, _wide(operands.weights[0])))


def _transposed(call: KernelCall, operands: CallNumbers) -> Elements:
    data = _shifted(operands)
    out_c, kernel_h, kernel_w, _ = operands.weights.shape
    step_h, step_w = call.stride.h or 1, call.stride.w or 1
    count, height, width, _ = data.shape
    shape = call.output_dims
    top, left = call.padding.h or 0, call.padding.w or 0
    more = max(kernel_h, kernel_w, shape.h or 0, shape.w or 0, top, left)
    whole = np.zeros((count, height * step_h + more * 2, width * step_w + more * 2, out_c), data.dtype)
    for y in range(height):
        for x in range(width):
            spread = np.tensordot(data[:, y, x, :], _wide(operands.weights), axes=([1], [3]))
            part = spread.transpose(0, 2, 3, 1)
            whole[:, y * step_h : y * step_h + kernel_h, x * step_w : x * step_w + kernel_w] += part
    return whole[:, top : top + (shape.h or 0), left : left + (shape.w or 0)]


def _dense(call: KernelCall, operands: CallNumbers) -> Elements:
    rows = _shifted(operands).reshape(call.output_dims.n or 1, -1)
    return np.asarray(rows @ _wide(operands.weights).T).reshape(call.output_dims.n or 1, 1, 1, -1)


def _pooled(call: KernelCall, operands: CallNumbers, largest: bool) -> Elements:
    low, high = -(1 << (operands.bits - 1)), (1 << (operands.bits - 1)) - 1
    if largest:
        return np.asarray(np.clip(windows(call, operands.source.astype(np.int64), low).max(axis=(3, 4)), low, high))
    data = operands.source.astype(np.int64)
    counts = windows(call, np.ones_like(data), 0).sum(axis=(3, 4))
    sums = windows(call, data, 0).sum(axis=(3, 4))
    mean = sums / np.maximum(counts, 1)
    return np.asarray(np.clip(np.copysign(np.floor(np.abs(mean) + 0.5), mean), low, high), np.int64)
