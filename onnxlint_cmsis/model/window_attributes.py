"""What the attributes of a sliding window say: whether they fit the axes it slides along, whether it meets padding."""

from __future__ import annotations

from onnxlint_cmsis.model.graph import Node

STEPS = ("kernel_shape", "strides", "dilations")
"""Attributes with one number from 1 up for each spatial axis."""


def window_misfit(node: Node, axes: int, kernel: int | None = None) -> str | None:
    """Problem of the window of a convolution or pooling along a number of axes; None for none.

    `kernel` is the number of axes of the kernel, for callers that know it where `kernel_shape` is not given.
    """
    wanted = f"one number for each of {axes} spatial axes"
    if kernel is not None and kernel != axes:
        return f"kernel_shape has {kernel} numbers; allowed is {wanted}"
    for name in (*STEPS, "output_padding"):
        values = node.ints(name)
        if values and (len(values) != axes or (name in STEPS and min(values) < 1)):
            least = ", 1 or more" if name in STEPS else ""
            return f"{name} is {list(values)}; allowed is {wanted}{least}"
    pads = node.ints("pads")
    if pads and len(pads) != 2 * axes:
        return f"pads is {list(pads)}; allowed are two numbers for each of {axes} spatial axes"
    return None


def padded(node: Node) -> bool:
    """Tell whether some window of a convolution or pooling may lie partly in padding."""
    return any(node.ints("pads")) or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID")
