"""Values through operators that take elements of a plane together, and through normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.lanes.facts import Facts, has, real_attribute
from onnxlint_cmsis.dims.lanes.known import SLACK, Known, level
from onnxlint_cmsis.dims.lanes.quantized import real_input, requantized

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.lanes.elementwise import Forward
    from onnxlint_cmsis.graph.model import Node


def plane(known: Known) -> Known:
    """The one value of each channel, which is at axis 1."""
    return level(known, range(2, known.low.ndim))


def max_pool(node: Node, facts: Facts) -> Known | None:
    """Padding is never the greatest, and no window holds nothing else."""
    known = facts.input(node, 0)
    return None if known is None or known.low.ndim < 3 or not _windows_hold_data(node) else plane(known)


def average_pool(node: Node, facts: Facts) -> Known | None:
    """A mean, of padding too where that counts."""
    known = max_pool(node, facts)
    return None if known is None else _mean(_less_padding(known, node))


def qlinear_average_pool(node: Node, facts: Facts) -> Known | None:
    """A mean in other steps."""
    known = real_input(node, facts, 0)
    if known is None or known.low.ndim < 3 or node.int("channels_last") or not _windows_hold_data(node):
        return None
    return requantized(_mean(_less_padding(plane(known), node)), node, facts, 3)


def global_max(node: Node, facts: Facts) -> Known | None:
    """The greatest of each channel."""
    known = facts.input(node, 0)
    return None if known is None or known.low.ndim < 3 else plane(known)


def global_mean(node: Node, facts: Facts) -> Known | None:
    """The mean of each channel."""
    known = global_max(node, facts)
    return None if known is None else _mean(known)


def qlinear_global_mean(node: Node, facts: Facts) -> Known | None:
    """The mean of each channel in other steps."""
    known = real_input(node, facts, 0)
    if known is None or known.low.ndim < 3 or node.int("channels_last"):
        return None
    return requantized(_mean(plane(known)), node, facts, 3)


def _mean(known: Known) -> Known:
    return known.widened(np.where(known.zero, 0, 4 * SLACK * np.abs(known.low)))


def _less_padding(known: Known, node: Node) -> Known:
    """Only zeros where the mean takes padding in."""
    mixed = node.int("count_include_pad") and (_padded(node) or node.int("ceil_mode"))
    return known.only(known.zero) if mixed else known


def _padded(node: Node) -> bool:
    return any(node.ints("pads")) or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID")


def _windows_hold_data(node: Node) -> bool:
    """Whether every window has an element that is no padding."""
    kernel = node.ints("kernel_shape")
    strides = node.ints("strides") or (1,) * len(kernel)
    if node.int("ceil_mode") and (_padded(node) or any(s > k for s, k in zip(strides, kernel, strict=False))):
        return False
    pads = node.ints("pads")
    return not _padded(node) or (
        set(node.ints("dilations")) <= {1} and all(pad < size for pad, size in zip(pads, kernel * 2, strict=False))
    )


def reduced_axes(node: Node, facts: Facts) -> list[int] | None:
    """Axes that a Reduce operator takes together; None where they are not known."""
    shape = facts.shape(node.inputs[0]) if has(node, 0) else None
    listed = facts.ints(node, "axes", 1) if has(node, 1) or "axes" in node.attributes else []
    if shape is None or listed is None or not all(-len(shape) <= axis < len(shape) for axis in listed):
        return None
    if not listed and not node.int("noop_with_empty_axes"):
        return list(range(len(shape)))
    return sorted({axis % len(shape) for axis in listed})


def reduce(node: Node, facts: Facts) -> Known | None:
    """Mean, greatest or least of equal values."""
    known, axes = facts.input(node, 0), reduced_axes(node, facts)
    if known is None or axes is None or "float" not in facts.elem_type(node.outputs[0]):
        return None
    made = level(known, axes)
    made = _mean(made) if node.op_type == "ReduceMean" else made
    if node.int("keepdims", 1):
        return made
    return made.map(lambda bound: np.squeeze(bound, axis=tuple(axes)))


def resize(node: Node, facts: Facts) -> Known | None:
    """What is the same everywhere stays so; interpolation may round it."""
    known, axes = facts.input(node, 0), resized_axes(node, facts)
    if known is None or axes is None:
        return None
    made = level(known, axes)
    if node.text("mode", "nearest") == "nearest" or not axes:
        return made
    linear = node.text("mode") == "linear" and "float" in facts.elem_type(node.outputs[0])
    return _mean(made) if linear else made.only(made.zero)


def resized_axes(node: Node, facts: Facts) -> list[int] | None:
    """Axes whose elements Resize computes anew; None where values from elsewhere may come in."""
    before, after, scales = facts.shape(node.inputs[0]), facts.shape(node.outputs[0]), _scales(node, facts)
    odd = node.text("coordinate_transformation_mode").startswith("tf_") or "keep_aspect_ratio_policy" in node.attributes
    if before is None or after is None or scales is None or len(before) != len(after) or odd:
        return None
    return [axis for axis, old in enumerate(before) if old is None or old != after[axis] or scales.get(axis, 1.0) != 1]


def _scales(node: Node, facts: Facts) -> dict[int, float] | None:
    """Scale of each axis that has one, which may be other than 1 though the size stays; None where not known."""
    given = node.attributes.get("scales")
    position = 2 if node.op_type == "Resize" and node.opset >= 11 else 1
    if given is None and has(node, position):
        constant = facts.graph.constants.get(node.inputs[position])
        given = None if constant is None or constant.overridable else constant.values()
        if given is None:
            return None
    numbers = [float(number) for number in given] if isinstance(given, tuple) else []
    return dict(zip(node.ints("axes") or range(len(numbers)), numbers, strict=False))


def batch_normalization(node: Node, facts: Facts) -> Known | None:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias."""
    known = facts.input(node, 0)
    if known is None or known.low.ndim < 2 or node.opset < 7 or any(node.outputs[1:]) or node.int("training_mode"):
        return None
    shape = [-1 if axis == 1 else 1 for axis in range(known.low.ndim)]
    scale, bias, mean, variance = (facts.vector(node, place, np.nan).reshape(shape) for place in range(1, 5))
    factor = scale / np.sqrt(variance + real_attribute(node, "epsilon", 1e-5))
    bounds = [(bound - mean) * factor + bias for bound in (known.low, known.high)]
    margin = 4 * SLACK * (np.abs(known.low * factor) + np.abs(mean * factor) + np.abs(bias))
    return Known(np.minimum(*bounds), np.maximum(*bounds)).widened(margin)


FORWARD: dict[tuple[str, str], Forward] = {
    ("", "AveragePool"): average_pool,
    ("", "BatchNormalization"): batch_normalization,
    ("", "GlobalAveragePool"): global_mean,
    ("", "GlobalMaxPool"): global_max,
    ("", "MaxPool"): max_pool,
    ("", "ReduceMax"): reduce,
    ("", "ReduceMean"): reduce,
    ("", "ReduceMin"): reduce,
    ("", "Resize"): resize,
    ("", "Upsample"): resize,
    ("com.microsoft", "QLinearAveragePool"): qlinear_average_pool,
    ("com.microsoft", "QLinearGlobalAveragePool"): qlinear_global_mean,
}
"""Operators on planes, by domain and operator."""
