"""Integers that operators make of known integers, as shape arithmetic needs them.

A fold takes the attributes of a node and its operands: arrays of Python integers, None for an element that is not
known, or None in place of an operand that is left out. An exception means that the result is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from onnxlint_cmsis.ground.types import MAX_AXES, MAX_DIM

if TYPE_CHECKING:
    import numpy.typing as npt


Value: TypeAlias = "npt.NDArray[np.object_]"
"""Python integers, None for an element that is not known."""

INT32, INT64 = 6, 7
"""Element types, as ONNX numbers them."""
MAX_ELEMENTS = 256
"""Elements of the largest tensor that is worked out; the pads of eight axes are 16."""

LARGEST = (2**31 - 1, 2**63 - 1)
"""Ends of a Slice that mean the end of the axis in ONNX Runtime."""

FoldRule = Callable[..., "Value | None"]
"""Result of a node from its attributes and operands; None where it is not known."""


def array_of(elements: Any, shape: tuple[int, ...]) -> Value | None:
    """An array of Python integers; None for more axes than are worked out."""
    if len(shape) > MAX_AXES:
        return None
    array = np.empty(math.prod(shape), object)
    array[:] = elements
    return array.reshape(shape)


def fold_identity(_attributes: dict[str, Any], x: Value) -> Value:
    """The integers themselves."""
    return x


def fold_cast(attributes: dict[str, Any], x: Value) -> Value | None:
    """The integers themselves, where they are cast to integers that hold them."""
    known = [number for number in x.ravel().tolist() if number is not None]
    held = attributes["to"] == INT64 or (attributes["to"] == INT32 and all(-(2**31) <= n < 2**31 for n in known))
    return x if held else None


def fold_gather(attributes: dict[str, Any], x: Value, indices: Value) -> Value:
    """Integers picked by index."""
    picked: Value = np.take(x, indices.astype(np.int64), axis=attributes.get("axis", 0))
    return picked


def fold_concat(attributes: dict[str, Any], *parts: Value) -> Value:
    """Several lists, one after the other."""
    return np.concatenate(parts, axis=attributes["axis"])


def _axes(attributes: dict[str, Any], axes: Value | None) -> tuple[int, ...]:
    return tuple(int(a) for a in (attributes["axes"] if axes is None else axes.tolist()))


def fold_unsqueeze(attributes: dict[str, Any], x: Value, axes: Value | None = None) -> Value:
    """New axes of size 1."""
    return np.expand_dims(x, _axes(attributes, axes))


def fold_squeeze(attributes: dict[str, Any], x: Value, axes: Value | None = None) -> Value:
    """Axes of size 1 dropped."""
    return x.squeeze(None if axes is None and "axes" not in attributes else _axes(attributes, axes))


def fold_slice(attributes: dict[str, Any], x: Value, *limits: Value | None) -> Value:
    """Limits as attributes (opset 1) or as inputs: starts, ends, axes, steps."""
    given = [None if v is None else v.tolist() for v in limits] or [attributes["starts"], attributes["ends"]]
    starts, ends = given[0] or [], given[1] or []
    axes = (given[2] if len(given) > 2 else attributes.get("axes")) or range(len(starts))
    steps = (given[3] if len(given) > 3 else None) or [1] * len(starts)
    if takes_whole_axis(ends, steps):
        raise ValueError("runtimes take other elements")
    window = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        low = end if step > 0 or end > -x.shape[axis] - 1 else None
        first = start if step > 0 else max(start, -x.shape[axis])  # ONNX begins with the first element, NumPy with none
        window[axis] = slice(int(first), low, int(step))
    return x[tuple(window)]


def takes_whole_axis(ends: Sequence[float | None], steps: Sequence[float | None]) -> bool:
    """Tell whether a Slice goes backward to the largest integer: to none in ONNX, to the first in ONNX Runtime."""
    limits = zip(ends, steps, strict=False)
    return any(end in LARGEST and step is not None and step < 0 for end, step in limits)


def fold_reshape(attributes: dict[str, Any], x: Value, target: Value) -> Value:
    """Another shape; 0 copies a size, unless `allowzero`."""
    copies = not attributes.get("allowzero")
    sizes = [x.shape[i] if size == 0 and copies else size for i, size in enumerate(target.tolist())]
    return x.reshape(sizes)


def fold_transpose(attributes: dict[str, Any], x: Value) -> Value:
    """Axes in the order of `perm`."""
    turned: Value = x.transpose(attributes.get("perm"))
    return turned


def fold_constant_of_shape(attributes: dict[str, Any], shape: Value) -> Value | None:
    """Only of integers; float is what a node without a value makes."""
    fill, sizes = attributes["value"], tuple(int(size) for size in shape)
    small = all(size >= 0 for size in sizes) and math.prod(sizes) <= MAX_ELEMENTS
    return None if fill is None or not small else array_of(fill.item(), sizes)


def fold_arithmetic(operate: Callable[[int, int], int | None]) -> FoldRule:
    """A function of two integers, element by element; unknown where an operand is, or the result is no size."""

    def limited(a: int | None, b: int | None) -> int | None:
        result = None if a is None or b is None else operate(a, b)
        return result if result is not None and abs(result) <= MAX_DIM else None

    def fold(attributes: dict[str, Any], x: Value, y: Value) -> Value | None:
        if attributes.get("broadcast"):  # along an axis that it names, before operator set 7
            return None
        result: Value = np.asarray(np.frompyfunc(limited, 2, 1)(x, y), object)
        return result

    return fold


fold_add = fold_arithmetic(lambda a, b: a + b)
fold_sub = fold_arithmetic(lambda a, b: a - b)
fold_mul = fold_arithmetic(lambda a, b: a * b)
fold_div = fold_arithmetic(lambda a, b: a // b if a >= 0 and b > 0 else None)
"""Division only where rounding is no question."""
