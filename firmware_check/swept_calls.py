"""Kinds of calls that a sweep measures, and the fields of one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firmware_check.library import Library


@dataclass(frozen=True)
class SweepKind:
    """One function that a sweep can call."""

    function: str
    """Function of CMSIS-NN to measure."""
    since: str = "4.0.0"
    """First release in which the sweep calls it."""
    bits: int = 8
    """Bits of an activation."""
    size: str = ""
    """C expression for the bytes of scratch; empty for none."""
    dims: str = "1, s.kh, s.kw, 1"
    """C initialiser of the filter's cmsis_nn_dims."""
    plain: bool = False
    """Whether it is reference code of runtime/reference.c, which every copy of the library goes with."""


_OHWI, _1HWO, _DENSE = "s.out_c, s.kh, s.kw, s.in_c", "1, s.kh, s.kw, s.out_c", "s.in_c, 1, 1, s.out_c"


_RIGHT = "s.second_n, s.second_h, s.out_c, s.in_c"
_CONV, _POOL = "(&{0}, &in, &filter, &out)", "(out.w, in.c)"


def _convolution(kind: str, since: str = "4.0.0") -> SweepKind:
    function = f"arm_convolve_wrapper_{kind}"
    size = f"{function}_get_buffer_size{_CONV.format('conv')}"
    return SweepKind(function, since, 16 if kind == "s16" else 8, size, _OHWI)


def _depthwise(kind: str, since: str = "4.0.0") -> SweepKind:
    function = f"arm_depthwise_conv_wrapper_{kind}"
    size = f"{function}_get_buffer_size{_CONV.format('dw')}"
    return SweepKind(function, since, 16 if kind == "s16" else 8, size, _1HWO)


KINDS = {
    "conv": _convolution("s8"),
    "dw": _depthwise("s8"),
    "fc": SweepKind("arm_fully_connected_s8", size="fc_size()", dims=_DENSE),
    "fc_per_channel": SweepKind("arm_fully_connected_per_channel_s8", "7.0.0", 8, "fc_size()", _DENSE),
    "avg": SweepKind("arm_avgpool_s8", size=f"arm_avgpool_s8_get_buffer_size{_POOL}"),
    "max": SweepKind("arm_max_pool_s8"),
    "add": SweepKind("arm_elementwise_add_s8"),
    "mul": SweepKind("arm_elementwise_mul_s8"),
    "softmax": SweepKind("arm_softmax_s8"),
    "transpose_conv": SweepKind("arm_transpose_conv_wrapper_s8", "7.0.0", 8, "transpose_conv_size()", _OHWI),
    "pad": SweepKind("arm_pad_s8", "7.0.0"),
    "transpose": SweepKind("arm_transpose_s8", "7.0.0"),
    "maximum": SweepKind("arm_maximum_s8", "7.0.0", dims="s.second_n, s.second_h, s.second_w, s.second_c"),
    "minimum": SweepKind("arm_minimum_s8", "7.0.0", dims="s.second_n, s.second_h, s.second_w, s.second_c"),
    "conv_s16": _convolution("s16", "7.0.0"),
    "dw_s16": _depthwise("s16", "7.0.0"),
    "fc_s16": SweepKind("arm_fully_connected_s16", "7.0.0", 16, dims=_DENSE),
    "avg_s16": SweepKind("arm_avgpool_s16", "7.0.0", 16, f"arm_avgpool_s16_get_buffer_size{_POOL}"),
    "max_s16": SweepKind("arm_max_pool_s16", "7.0.0", 16),
    "add_s16": SweepKind("arm_elementwise_add_s16", "7.0.0", 16),
    "mul_s16": SweepKind("arm_elementwise_mul_s16", "7.0.0", 16),
    "softmax_s16": SweepKind("arm_softmax_s16", "7.0.0", 16),
    "softmax_s8_s16": SweepKind("arm_softmax_s8_s16", "7.0.0", 16),
    "conv_s4": _convolution("s4", "7.0.0"),
    "dw_s4": _depthwise("s4", "7.0.0"),
    "fc_s4": SweepKind("arm_fully_connected_s4", "7.0.0", dims=_DENSE),
    "lstm": SweepKind("arm_lstm_unidirectional_s8", "6.0.0"),
    "lstm_s16": SweepKind("arm_lstm_unidirectional_s16", "6.0.0", 16),
    "svdf": SweepKind("arm_svdf_s8", "6.0.0", size="svdf_size()"),
    "svdf_s16": SweepKind("arm_svdf_state_s16_s8", "6.0.0"),
    "batch_matmul": SweepKind("arm_batch_matmul_s8", "7.0.0", size="4 * filter.w", dims=_RIGHT),
    "batch_matmul_s16": SweepKind("arm_batch_matmul_s16", "7.0.0", 16, dims=_RIGHT),
    "concatenation": SweepKind("arm_concatenation_s8_x"),
    "plain_move": SweepKind("plain_move", plain=True),
    "plain_lookup": SweepKind("plain_lookup", plain=True),
    "plain_requantize": SweepKind("plain_requantize", plain=True),
    "plain_add": SweepKind("plain_add", plain=True),
    "plain_mul": SweepKind("plain_mul", plain=True),
}
"""Name in a row to the kind."""


FIELDS = (
    "kind", "n", "h", "w", "in_c", "kh", "kw", "out_c", "stride_h", "stride_w", "pad_h", "pad_w", "dil_h", "dil_w",
    "ch_mult", "out_h", "out_w", "reps",
)  # fmt: skip
"""Fields of a row that the firmware gets, in the order of its struct."""


DEFAULTS = {
    "n": 1, "h": 1, "w": 1, "kh": 1, "kw": 1, "out_c": 1, "stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 0,
    "dil_h": 1, "dil_w": 1, "ch_mult": 0, "out_h": 1, "out_w": 1,
}  # fmt: skip
"""Values of fields that a row of a file leaves out."""


MORE_FIELDS = ("front_c", "rank", "axis_0", "axis_1", "axis_2", "axis_3", "second_n", "second_h", "second_w",
               "second_c", "data", "spread", "level", "shift", "without_bias", "time_major",
               "second_offset")  # fmt: skip
"""Further fields, 0 where a row leaves them out.

`front_c`: channels padded in front. `rank`, `axis_*`: a permutation. `second_*`: size of the second operand. `data`: 0
a fixed pattern, 1 equal values, 2 one 127 in each row and the others `level` below, from 3 on random numbers of that
seed with `spread` different values. `shift`: 0 takes 22 for a softmax on int8, which skips values over 100 below the
largest; other values skip those over 200 below. A softmax on int16 takes 1 for 0.
An LSTM has `w` time steps, and scales its gates' sums by two to `shift`; `time_major`: 1 where its first axis is the
time. An SVDF has `rank`, and `kh` values of memory for each of its `rank` times `out_c` filters.
`without_bias`: 1 for no bias. `second_offset`: 1 where the right matrices of a product have a zero-point."""


def callable_kinds(library: Library) -> list[str]:
    """The kinds whose function a copy of the library has, and those in reference code."""
    return [
        kind for kind, row in KINDS.items() if row.plain or (library.since(row.since) and library.has(row.function))
    ]
