"""Hazards that no repair by rewriting answers, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.cmsis_nn.hazards.legacy_hazards import HAZARDS as CHECKED
from onnxlint_cmsis.cmsis_nn.hazards.legacy_wrong_hazards import HAZARDS as UNCHECKED

_CALLER = "whoever writes the call gives it a buffer; nothing about the model is wrong"
_NEVER_CALLED = "the wrapper calls it with one output channel for each input channel alone, so that no model meets it"
_INVALID = "ONNX does not allow such groups"
_LEGACY = "the application can call another function of CMSIS 5, or the same one for parts; no node has to change"
_COLUMNS = (
    "the sum of more than 65,535 columns would have to be made of partial sums, and a convolution rounds each to 8 bits"
)
_ODD_PIXEL = (
    "it would take one more output pixel that a Slice cuts off again, which is not done for layers of more than 65,535"
    " columns"
)
_CUT_UP = (
    "the layer would have to be cut into parts that overlap, with a Slice for each and a Concat behind, which is not"
    " done"
)
_REPEATED = "the operand's column would have to be repeated along the width in front of the layer, which is not done"
_BEYOND_16_BIT = (
    "conv-16-bit-sizes",
    "conv-1xn-16-bit-sizes",
    "conv-1xn-s4-16-bit-sizes",
    "conv-s4-16-bit-sizes",
    "conv-even-s4-16-bit-sizes",
    "dw-16-bit-windows",
    "dw-s16-16-bit-windows",
    "dw-s4-16-bit-windows",
    "dw-opt-16-bit-windows",
    "dw-fast-s16-16-bit-windows",
    "dw-s4-opt-16-bit-windows",
    "dw-s4-opt-16-bit-windows-mve",
)
_CUT_CHANNELS = "the layer would have to be cut into groups of channels, with a Concat behind them, which is not done"
_MANY_CHANNELS = (
    "conv-s4-16-bit-outputs",
    "dw-opt-16-bit-channels",
    "dw-fast-s16-16-bit-channels",
    "dw-s4-opt-16-bit-channels",
    "dw-s4-opt-16-bit-channels-mve",
)
_NO_VALUES = "the average of a window without values is not defined"
_CUT_TENSOR = "the tensor would have to be cut into parts, with a Concat behind them, which is not done"
_STATE = "the function takes no initial state, and plain code would have to compute the layer"
UNREPAIRED: Mapping[str, str] = MappingProxyType(
    {
        "conv-groups-undefined": _INVALID,
        "conv-groups-not-even": _INVALID,
        **dict.fromkeys(_BEYOND_16_BIT, _CUT_UP),
        **dict.fromkeys(_MANY_CHANNELS, _CUT_CHANNELS),
        "conv-16-bit-columns-plain": _COLUMNS,
        "conv-16-bit-columns-dsp": _COLUMNS,
        "conv-16-bit-columns-mve": _COLUMNS,
        "conv-16-bit-odd-column-plain-5": _ODD_PIXEL,
        "conv-16-bit-odd-column-dsp-5": _ODD_PIXEL,
        "conv-16-bit-odd-column-plain": _ODD_PIXEL,
        "conv-16-bit-odd-column-dsp": _ODD_PIXEL,
        "conv-s4-16-bit-odd-column-plain": _ODD_PIXEL,
        "conv-s4-16-bit-odd-column-dsp": _ODD_PIXEL,
        "conv-s4-16-bit-odd-column-mve": _ODD_PIXEL,
        "dw-3x3-channels-mismatch": _NEVER_CALLED,
        "dw-3x3-channels-differ": _NEVER_CALLED,
        "dw-opt-channels-differ": _NEVER_CALLED,
        "dw-fast-s16-channels-differ": _NEVER_CALLED,
        "dw-s4-opt-channels-differ": _NEVER_CALLED,
        "avgpool-empty-window": _NO_VALUES,
        "avgpool-s16-empty-window": _NO_VALUES,
        "tconv-reversed-padding-past-filter": (
            "its padding cuts off whole inputs: the layer would have to be made with a smaller padding and a Slice"
            " behind it, which is not done"
        ),
        "transpose-16-bit-sizes": _CUT_TENSOR,
        "transpose-16-bit-offsets": _CUT_TENSOR,
        "transpose-identity": "it is no layer of an ONNX model, and .tflite files keep their operators",
        "maximum-single-columns": _REPEATED,
        "minimum-single-columns": _REPEATED,
        "dw-s4-opt-gcc-predicate": "the compiler makes it wrong, not the model: build with gcc 13 or newer",
        "lstm-initial-state-dropped": _STATE,
        "lstm-s16-initial-state-dropped": _STATE,
        "fc-null-context": _CALLER,
        "fc-per-channel-null-context": _CALLER,
        "svdf-null-context": _CALLER,
        "batch-matmul-null-context": _CALLER,
        "avgpool-null-context": _CALLER,
        **{row.id: _LEGACY for row in (*CHECKED, *UNCHECKED)},
    }
)
"""Names of hazards, each with the reason as a clause."""
