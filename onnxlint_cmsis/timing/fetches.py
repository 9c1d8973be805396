"""How many lines of memory a layer reads and writes, by formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import WEIGHTED, Function
from onnxlint_cmsis.timing.memories import LINE

if TYPE_CHECKING:
    from onnxlint_cmsis.ground.types import Dims, KernelCall
    from onnxlint_cmsis.timing.cores import Core


class Fetches(NamedTuple):
    """Lines of 32 bytes."""

    weights: float = 0.0
    """Of weights, each as often as it has to be fetched."""
    activations: float = 0.0
    """Of input and output."""


BYTES = {"s4": 0.5, "s8": 1, "q7": 1, "s16": 2, "q15": 2, "f16": 2, "f32": 4}
"""Bytes of an activation, or of a weight where the types name it."""


def fetches(call: KernelCall, core: Core) -> Fetches:
    """Lines of a call; none where a size of it is not known.

    Weights that fill more than three quarters of the cache are fetched again for each pass over output pixels. Without
    a cache each pass fetches them, and a depthwise layer keeps its few. Input rows that a window needs together and
    that fill more than a quarter of the cache are fetched for each row of the window.
    """
    if None in (*call.input_dims, *call.output_dims) or (_weighted(call) and None in call.filter_dims):
        return Fetches()
    width = 1.0 if call.types == "s4" else float(BYTES.get(call.types.partition("_")[0], 1))
    pixels = _elements(call.output_dims) // max(1, call.output_dims.c or 1)
    weights = _weight_bytes(call) / LINE
    convolution = call.function is Function.CONVOLVE
    if convolution and (not core.cache or _weight_bytes(call) > 0.75 * core.cache):
        weights *= -(-pixels // core.pixels)
    if call.function is Function.DEPTHWISE and not core.cache:
        weights = 0.0
    source = _elements(call.input_dims) * width / LINE
    row = (call.filter_dims.h or 1) * (call.input_dims.w or 1) * (call.input_dims.c or 1) * width
    if core.cache and call.function in (Function.CONVOLVE, Function.DEPTHWISE) and row > core.cache / 4:
        source *= (call.filter_dims.h or 1) / max(1, call.stride.h or 1)
    return Fetches(weights, source + _elements(call.output_dims) * width / LINE)


def _weighted(call: KernelCall) -> bool:
    return call.function in WEIGHTED


def _weight_bytes(call: KernelCall) -> float:
    if not _weighted(call):
        return 0.0
    kind = call.types if call.types in ("s4", "f16", "f32", "q15") else "s8"
    return _elements(call.filter_dims) * BYTES[kind]


def _elements(dims: Dims) -> int:
    product = 1
    for size in dims:
        product *= int(size or 0)
    return product
