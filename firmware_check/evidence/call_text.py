"""A kernel call in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.types import Dims, KernelCall, Pair


def call_text(call: KernelCall) -> str:
    """`convolve_s8 1x1x9x8 -> 1x1x7x4, filter 4x1x3x2, stride 1x1, padding 0x0`, with what is not usual."""
    parts = [f"{call.entry} {_x(call.input_dims)} -> {_x(call.output_dims)}"]
    if call.permutation:
        parts.append(f"order {' '.join(map(str, call.permutation))}")
    if any(size not in (1, None) for size in call.filter_dims):
        parts.append(f"filter {_x(call.filter_dims)}")
    for name, pair, usual in (
        ("stride", call.stride, (1, 1)),
        ("padding", call.padding, (0, 0)),
        ("dilation", call.dilation, (1, 1)),
    ):
        if tuple(pair) != usual:
            parts.append(f"{name} {_x(pair)}")
    if not call.bias:
        parts.append("no bias")
    return ", ".join(parts)


def _x(sizes: Dims | Pair) -> str:
    return "x".join("?" if size is None else str(size) for size in sizes)
