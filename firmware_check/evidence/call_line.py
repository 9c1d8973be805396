"""A kernel call in a line."""

from __future__ import annotations

from onnxlint_cmsis.ground.types import Dims, FloatCall, KernelCall, Pair


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
    if call.initial_state:
        parts.append("an initial state")
    parts += _said_of_floats(call.floating) if call.floating else []
    return ", ".join(parts)


def _said_of_floats(given: FloatCall) -> list[str]:
    """What a call for f32 or f16 says that is not usual."""
    said = ["packed"] if given.packed else []
    said += ["no buffer"] if given.scratch == 0 else []
    said += ["adj_y"] if given.adj_y else []
    return said if tuple(given.padding_offset) == (0, 0) else [*said, f"padding_offsets {_x(given.padding_offset)}"]


def _x(sizes: Dims | Pair) -> str:
    return "x".join("?" if size is None else str(size) for size in sizes)
