"""Bytes of the constants that a call reads: weights, bias, multipliers and shifts."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.apis import LEGACY, api_of
from onnxlint_cmsis.cmsis_nn.releases import holds
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall, Target

WEIGHTED = ("convolve", "depthwise", "transpose_conv", "fully_connected")
"""Stems of entry points with weights."""
BIAS_BYTES = {"s8": 4, "s4": 4, "s16": 8, "q7": 1, "q15": 2, "q7q15": 1, "f32": 4, "f16": 2}
"""Bytes of a bias: int32, and int64 for int16 activations; as the weights for q7, q15, f32 and f16."""
BLOCKS = {"f32": 4, "f16": 8}
"""Outputs of a block of packed weights, which are filled up to whole blocks."""
_POINTERS_SINCE = "7.0.0"


class Parameters(NamedTuple):
    """Bytes of a call's constants."""

    weights: int
    """int8, or two int4 to a byte."""
    bias: int
    """One per output channel; none where the call has no bias."""
    multipliers: int
    """int32, one per scale of the weights; none where the call takes the one number by value."""
    shifts: int
    """int32, one for each multiplier."""

    @property
    def total(self) -> int:
        """Bytes of all constants."""
        return sum(self)


def parameters(call: KernelCall, target: Target) -> Parameters | None:
    """Constants of a call; None where it has no weights or a size is unknown.

    Convolutions take a multiplier and a shift for each output channel. A fully connected layer takes one pair by value
    (cmsis_nn_per_tensor_quant_params); from 7.0.0 on, for s8, a pointer to one or to all (cmsis_nn_quant_params).
    """
    stem, _, kind = call.entry.rpartition("_")
    out_c, sizes = call.output_dims.c, call.filter_dims
    if stem not in WEIGHTED or out_c is None or None in sizes:
        return None
    elements = 1
    for size in sizes:
        elements *= size or 0
    if call.floating is not None:
        filled = elements // out_c * (-(-out_c // BLOCKS[kind]) * BLOCKS[kind]) if call.floating.packed else elements
        return Parameters(BIAS_BYTES[kind] * filled, BIAS_BYTES[kind] * out_c if call.bias else 0, 0, 0)
    weights = -(-elements // 2) if kind == "s4" else 2 * elements if kind == "q15" else elements
    if api_of(call.entry) is LEGACY:
        return Parameters(weights, BIAS_BYTES[kind] * out_c, 0, 0)
    pairs = _pairs(call, target, out_c) if stem == "fully_connected" else out_c
    bias = (4 if call.int32_bias else BIAS_BYTES[kind]) * out_c if call.bias else 0
    return None if pairs is None else Parameters(weights, bias, 4 * pairs, 4 * pairs)


def _pairs(call: KernelCall, target: Target, out_c: int) -> int | None:
    """Multipliers that a fully connected layer reads from memory."""
    if not holds(_POINTERS_SINCE, "", target.release) or not call.entry.endswith("_s8"):
        return 0
    return None if call.per_channel is None else out_c if call.per_channel else 1
