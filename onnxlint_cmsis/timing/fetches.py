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
"""Lines of code that each output pixel fetches through a cache of SMALL_CACHE.

What runs for a pixel is longer, so that the next one finds none of it. tests/data/code_lines.json has the lines of
single shapes, counted by lab/measure_code_lines.py (gcc 12.2, -O3, CMSIS-NN 7.0.0 for Cortex-M4 under QEMU): 23 to 26
and 37 to 42, with an odd channel over 33 and 52. Other releases and clang 19 have 20 to 35, and 4 to 60 lines.
"""
SMALL_CACHE, LARGE_CACHE = 1024, 4096
"""Bytes of the cache of STM32's F4 and L4, and of one that holds what runs for a pixel: it fetches none again."""
WITHOUT_CODE = ("_1x1_", "depthwise_conv_s8_mult_4", "depthwise_conv_s8_generic", "arm_depthwise_conv_s16")
"""Parts of the names of kernels that stay in their loops, so that they fetch less than a line for each pixel.

s16, padding and groups have no kernel of 1x1, and the general one computes them.
"""
POINTWISE = "_1x1_"
"""Part of the names of kernels of 1x1."""
PIXELS_WITHOUT_MVE = 2
"""Output pixels of a pass of kernels without MVE."""
WEIGHT_TYPES = ("s4", "f16", "f32", "q15")
"""Types whose weights are not s8."""
BYTES = {"s4": 0.5, "s8": 1, "q7": 1, "s16": 2, "q15": 2, "f16": 2, "f32": 4}
"""Bytes of an activation, or of a weight where the types name it."""


def fetches(call: KernelCall, core: Core, kernel: str) -> Fetches:
    """Lines of a call that a kernel computes, arrays where its channel counts are; none where a size is not known.

    Weights that fill more than three quarters of the cache are fetched again for each pass over output pixels. Kernels
    of 1x1 without MVE take each pair of output channels over all pixels of a call, and so fetch them once; with a
    stride they are called for each row. Without a cache each pass fetches them, and a depthwise layer keeps its few;
    code is fetched again for each output pixel but by kernels of WITHOUT_CODE.
    Input rows that a window needs together and that fill more than a quarter of the cache are fetched for each row of
    the window.
    """
    weighted = call.function in WEIGHTED or call.entry.startswith(Function.SVDF)
    if any(size is None for size in (*call.input_dims, *call.output_dims, *(call.filter_dims if weighted else ()))):
        return Fetches()
    width = 1.0 if call.types == "s4" else float(BYTES.get(call.types.partition("_")[0], 1))
    weights, lines = 0.0, 1.0
    if weighted:
        weights = _weights(call)
    if call.function is Function.CONVOLVE:
        passes = -(-prod(_sizes(call.output_dims)[:3]) // core.pixels)
        if core.cache and core.pixels == PIXELS_WITHOUT_MVE and POINTWISE in kernel:
            passes = prod(_sizes(call.output_dims)[:2]) if call.stride != (1, 1) else 1
        lines = passes if not core.cache else 1 + (weights > 0.75 * core.cache) * (passes - 1)
    if call.function is Function.DEPTHWISE and not core.cache:
        lines = 0.0
    code = 0.0
    if call.function in CODE and not core.cache and not any(part in kernel for part in WITHOUT_CODE):
        code = CODE[call.function] * prod(_sizes(call.output_dims)[:3])
    source = prod(_sizes(call.input_dims)) * width
    if core.cache and call.function in (Function.CONVOLVE, Function.DEPTHWISE):
        window, stride = call.filter_dims.h or 1, call.stride.h or 1
        row = window * prod(_sizes(call.input_dims)[2:]) * width
        source = source * (1 + (row > core.cache / 4) * (window / stride - 1))
    return Fetches(weights * lines / LINE, (source + prod(_sizes(call.output_dims)) * width) / LINE, code)


def _weights(call: KernelCall) -> float:
    """Bytes of weights; an SVDF has those of its features and of its memory, which may be of 16 bits."""
    if call.entry.startswith(Function.SVDF):
        filters, memory, _, depth = _sizes(call.filter_dims)
        return filters * (depth + memory * (2 if "s16" in call.entry else 1))
    return prod(_sizes(call.filter_dims)) * BYTES[call.types if call.types in WEIGHT_TYPES else "s8"]


def _sizes(dims: Dims) -> tuple[int, ...]:
    return tuple(0 if size is None else size for size in dims)
