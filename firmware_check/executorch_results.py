"""What each kind of call of an ExecuTorch program computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

import numpy as np

from firmware_check import executorch_numbers
from firmware_check.evidence.call_layer import EXTREMES
from firmware_check.evidence.exact_arithmetic import CallNumbers, computed, summed
from firmware_check.program import Elements, Step
from firmware_check.quantized_constants import ADD_LEFT_SHIFT, AddConstants
from firmware_check.reference import softmax_output
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.model.fixed_point import Multiplier, requantize


def _rescaled(step: Step, sums: Elements) -> Elements:
    """Sums times their multiplier, or that of their channel, with offset and limits."""
    arrays = {array.name: array.values.tolist() for array in step.arrays}
    if "output" in step.numbers:
        return _limited(step, requantize(sums, cast(Multiplier, step.numbers["output"])))
    pairs = zip(arrays["multipliers"], arrays["shifts"], strict=True)
    scaled = [requantize(sums[..., channel], Multiplier(*pair)) for channel, pair in enumerate(pairs)]
    return _limited(step, np.stack(scaled, -1))


def _limited(step: Step, values: Elements) -> Elements:
    low, high = cast("tuple[int, int]", step.numbers["limits"])
    return np.asarray(np.clip(values + step.output.quantization.zero_point, low, high))


def _numbers_of(step: Step, source: Elements) -> tuple[KernelCall, CallNumbers]:
    """The call, and its numbers for the house's sums of products."""
    call = cast("KernelCall", step.call)
    arrays = {array.name: array.values for array in step.arrays}
    weights = arrays.get("weights", np.zeros(0)).astype(np.int64)
    if weights.size:
        dense = step.form == "fully_connected"
        weights = weights + cast(int, step.numbers["filter_offset"])
        weights = weights.reshape(
            (-1, call.filter_dims.n or 0) if dense else executorch_numbers.known_sizes(call.filter_dims)
        )
    zero = step.inputs[0].quantization.zero_point
    return call, CallNumbers(
        source.reshape(executorch_numbers.known_sizes(call.input_dims)), weights, None, (), zero, 0, 8
    )


def _sums(step: Step, sources: list[Elements]) -> Elements:
    """Sums of products, with the bias: that of the kernel sums where it stands there alone."""
    call, numbers = _numbers_of(step, sources[0])
    arrays = {array.name: array.values.astype(np.int64) for array in step.arrays}
    bias = arrays.get("bias")
    if bias is None and "sums" in arrays:
        bias = arrays["sums"] + numbers.input_zero * numbers.weights.sum(axis=1)
    sums = summed(call.entry.rpartition("_")[0], call, numbers)
    return _rescaled(step, sums if bias is None else sums + bias)


def _pooled(step: Step, sources: list[Elements]) -> Elements:
    return _limited(step, computed(*_numbers_of(step, sources[0])))


def _shifted(step: Step, sources: list[Elements]) -> list[Elements]:
    """Both operands with their offsets, the repeated one as it is."""
    block, offsets = cast(int, step.numbers.get("block", -1)), cast("tuple[int, int]", step.numbers["offsets"])
    return [source.astype(np.int64).reshape(-1, block if block > 0 else source.size) + offset
            for source, offset in zip(sources, offsets, strict=True)]  # fmt: skip


def _added(step: Step, sources: list[Elements]) -> Elements:
    constants = cast(AddConstants, step.numbers["constants"])
    first, second = (
        requantize(source << ADD_LEFT_SHIFT[8], multiplier)
        for source, multiplier in zip(_shifted(step, sources), constants[:2], strict=True)
    )
    return _limited(step, requantize(first + second, constants.output))


def _multiplied(step: Step, sources: list[Elements]) -> Elements:
    first, second = _shifted(step, sources)
    return _rescaled(step, first * second)


def _chosen(step: Step, sources: list[Elements]) -> Elements:
    call = cast("KernelCall", step.call)
    first, second = (
        source.reshape(executorch_numbers.known_sizes(dims)) for source, dims in zip(sources, call[1:3], strict=True)
    )
    return np.asarray(EXTREMES[call.entry](first, second))


def _softmaxed(step: Step, sources: list[Elements]) -> Elements:
    exact = softmax_output(step, sources[0])
    return exact.values if exact else sources[0]


def _moved(step: Step, sources: list[Elements]) -> Elements:
    order = cast("KernelCall", step.call).permutation
    size = cast("tuple[int, ...]", step.numbers["size"])
    return np.asarray(sources[0].reshape(size[: len(order)]).transpose(order))


def _padded(step: Step, sources: list[Elements]) -> Elements:
    size, *ends = (cast("tuple[int, ...]", step.numbers[name]) for name in ("size", "before", "after"))
    return np.pad(sources[0].reshape(size), [*zip(*ends, strict=True)], constant_values=cast(int, step.numbers["fill"]))


def _matrices(step: Step, sources: list[Elements]) -> Elements:
    call, offsets = cast("KernelCall", step.call), cast("tuple[int, int]", step.numbers["offsets"])
    first, second = (
        source.astype(np.int64).reshape(executorch_numbers.known_sizes(dims)) + offset
        for source, dims, offset in zip(sources, (call.input_dims, call.filter_dims), offsets, strict=True)
    )
    return _rescaled(step, first @ second.swapaxes(-1, -2))


class _Kind(NamedTuple):
    """One kind of call."""

    read: Callable[[executorch_numbers.LayerCall], executorch_numbers.LayerNumbers]
    """What the layer needs beside the call. Raises Unsupported."""
    compute: Callable[[Step, list[Elements]], Elements]
    """Its output in the order of memory."""


KINDS: Mapping[str, _Kind] = {
    "convolve": _Kind(executorch_numbers.weighted_numbers, _sums),
    "depthwise": _Kind(executorch_numbers.weighted_numbers, _sums),
    "transpose_conv": _Kind(executorch_numbers.weighted_numbers, _sums),
    "fully_connected": _Kind(executorch_numbers.weighted_numbers, _sums),
    "avgpool": _Kind(executorch_numbers.pool_numbers, _pooled),
    "max_pool": _Kind(executorch_numbers.pool_numbers, _pooled),
    "elementwise_add": _Kind(executorch_numbers.sum_numbers, _added),
    "elementwise_mul": _Kind(executorch_numbers.product_numbers, _multiplied),
    "minimum": _Kind(executorch_numbers.extreme_numbers, _chosen),
    "maximum": _Kind(executorch_numbers.extreme_numbers, _chosen),
    "softmax": _Kind(executorch_numbers.softmax_numbers, _softmaxed),
    "transpose": _Kind(executorch_numbers.transpose_numbers, _moved),
    "pad": _Kind(executorch_numbers.pad_numbers, _padded),
    "batch_matmul": _Kind(executorch_numbers.batch_matmul_numbers, _matrices),
}
"""By the entry point without its type; the form of the layer is the same without `elementwise_`."""
