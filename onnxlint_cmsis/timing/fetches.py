"""How many lines of memory a layer reads and writes, by formula."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import WEIGHTED, Dims, Function, KernelCall
from onnxlint_cmsis.timing.memories import LINE

if TYPE_CHECKING:
    from onnxlint_cmsis.timing.cores import Core


class Fetches(NamedTuple):
    """Lines of 32 bytes."""

    weights: float = 0.0
    """Of weights, each as often as it has to be fetched."""
    activations: float = 0.0
    """Of input and output."""
    code: float = 0.0
    """Of code that runs again and was lost in between."""


CODE: dict[str, float] = {Function.CONVOLVE: 24.0, Function.DEPTHWISE: 38.0}
"""Lines of code that each output pixel fetches through a cache of 1 KiB, which STM32's F4 and L4 have before flash.

What runs for a pixel is longer, so that the next one finds none of it: counted with CMSIS-NN's functions of s8 and s16
for Cortex-M4 (gcc 12.2, -O3) under QEMU, through 32 lines of which the least recently used is lost.
"""
POINTWISE = "_1x1_"
"""Part of the names of kernels of 1x1; s16, padding and groups have none, and the general kernel computes them."""
BYTES = {"s4": 0.5, "s8": 1, "q7": 1, "s16": 2, "q15": 2, "f16": 2, "f32": 4}
"""Bytes of an activation, or of a weight where the types name it."""


def fetches(call: KernelCall, core: Core, kernel: str) -> Fetches:
    """Lines of a call that a kernel computes, arrays where its channel counts are; none where a size is not known.

    Weights that fill more than three quarters of the cache are fetched again for each pass over output pixels. Without
    a cache each pass fetches them, and a depthwise layer keeps its few; code is fetched again for each output pixel but
    by the kernels of 1x1, which gather no window and stay in their loops.
    Input rows that a window needs together and that fill more than a quarter of the cache are fetched for each row of
    the window.
    """
    weighted = call.function in WEIGHTED
    if any(size is None for size in (*call.input_dims, *call.output_dims, *(call.filter_dims if weighted else ()))):
        return Fetches()
    width = 1.0 if call.types == "s4" else float(BYTES.get(call.types.partition("_")[0], 1))
    weights, lines = 0.0, 1.0
    if weighted:
        weights = prod(_sizes(call.filter_dims)) * BYTES[call.types if call.types in WEIGHT_TYPES else "s8"]
    if call.function is Function.CONVOLVE:
        passes = -(-prod(_sizes(call.output_dims)[:3]) // core.pixels)
        lines = passes if not core.cache else 1 + (weights > 0.75 * core.cache) * (passes - 1)
    if call.function is Function.DEPTHWISE and not core.cache:
        lines = 0.0
    code = 0.0
    if call.function in CODE and not core.cache and POINTWISE not in kernel:
        code = CODE[call.function] * prod(_sizes(call.output_dims)[:3])
    source = prod(_sizes(call.input_dims)) * width
    if core.cache and call.function in (Function.CONVOLVE, Function.DEPTHWISE):
        window, stride = call.filter_dims.h or 1, call.stride.h or 1
        row = window * prod(_sizes(call.input_dims)[2:]) * width
        source = source * (1 + (row > core.cache / 4) * (window / stride - 1))
    return Fetches(weights * lines / LINE, (source + prod(_sizes(call.output_dims)) * width) / LINE, code)


WEIGHT_TYPES = ("s4", "f16", "f32", "q15")
"""Types whose weights are not s8."""


def _sizes(dims: Dims) -> tuple[int, ...]:
    return tuple(0 if size is None else size for size in dims)
