"""The arguments of the functions for q7 and q15 as C text, by family of functions."""

from __future__ import annotations

from math import prod

from firmware_check.legacy.arithmetic import QNumbers
from onnxlint_cmsis.ground.types import KernelCall


def arguments(function: str, call: KernelCall, numbers: QNumbers) -> str:
    """The arguments in order. `source`, `result`, `weights`, `bias` and `scratch` are names in the generated C."""
    shifts = f"bias, {numbers.bias_shift}, {numbers.out_shift}"
    if "fully_connected" in function:
        sizes = f"{call.filter_dims.n}, {call.output_dims.c}"
        return f"source, weights, {sizes}, {numbers.bias_shift}, {numbers.out_shift}, bias, result, scratch"
    if "relu" in function:
        return f"result, {prod(size or 0 for size in call.output_dims)}"
    if "pool" in function:
        return f"source, {_square(call, weighted=False)}, {call.output_dims.w}, scratch, result"
    if function.endswith("_nonsquare"):
        out = f"{call.output_dims.w}, {call.output_dims.h}"
        return f"source, {_each_axis(call)}, {shifts}, result, {out}, scratch, 0"
    return f"source, {_square(call, weighted=True)}, {shifts}, result, {call.output_dims.w}, scratch, 0"


def _square(call: KernelCall, *, weighted: bool) -> str:
    """Sizes of a function with one argument for both axes."""
    between = f"weights, {call.output_dims.c}, " if weighted else ""
    window = f"{call.filter_dims.w}, {call.padding.w}, {call.stride.w}"
    return f"{call.input_dims.w}, {call.input_dims.c}, {between}{window}"


def _each_axis(call: KernelCall) -> str:
    """Sizes of each axis, the width first."""
    pairs = (call.padding, call.stride)
    window = f"{call.filter_dims.w}, {call.filter_dims.h}, " + ", ".join(f"{pair.w}, {pair.h}" for pair in pairs)
    return f"{call.input_dims.w}, {call.input_dims.h}, {call.input_dims.c}, weights, {call.output_dims.c}, {window}"
