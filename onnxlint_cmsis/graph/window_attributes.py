"""Whether the attributes of a sliding window fit the axes that it slides along."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Node

PER_AXIS = ("kernel_shape", "strides", "dilations")
"""Attributes with one number from 1 up for each spatial axis."""
ANY_PER_AXIS = ("output_padding",)
"""Attributes with one number for each spatial axis."""


def window_misfit(node: Node, axes: int) -> str:
    """What is wrong with the window of a convolution or pooling along so many axes; empty where all fits."""
    for name in (*PER_AXIS, *ANY_PER_AXIS):
        values = node.ints(name)
        if values and (len(values) != axes or (name in PER_AXIS and min(values) < 1)):
            least = "from 1 up " if name in PER_AXIS else ""
            return f"{name} is {list(values)}; allowed is one number {least}for each of {axes} spatial axes"
    pads = node.ints("pads")
    if pads and len(pads) != 2 * axes:
        return f"pads is {list(pads)}; allowed are two numbers for each of {axes} spatial axes"
    return ""
