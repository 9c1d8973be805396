"""Rows and columns of zeros around or between the weights of a layer, which change none of its sums."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx.tensors import BITS
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.model.windows import reach

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.formats.onnx.element_codes import Codes
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Node


Taps = tuple[tuple[int, int], ...]
"""Zeros before and after, for each spatial axis."""


MOST_WEIGHTS = 1 << 24
"""Weights of a repaired layer; no flash of a Cortex-M holds more."""


def surround(edit: GraphEdit, record: LoweredLayer, taps: Taps) -> None:
    """Give a layer weights with zeros around them, or with fewer where a number is negative. Raises NotAppliedError."""

    def around(codes: Codes, filler: int) -> Codes:
        ends = zip(taps, codes.shape[2:], strict=True)
        kept = tuple(slice(max(0, -before), size - max(0, -after)) for (before, after), size in ends)
        zeros = tuple((max(0, before), max(0, after)) for before, after in taps)
        numbers = prod(codes.shape[:2]) * prod(
            size + sum(more) for size, more in zip(codes.shape[2:], zeros, strict=True)
        )
        if numbers > MOST_WEIGHTS:
            raise NotAppliedError(f"its weights would be {numbers:,} numbers; at most {MOST_WEIGHTS:,} are written")
        window = (slice(None), slice(None), *kept)
        return np.pad(codes[window], ((0, 0), (0, 0), *zeros), constant_values=filler)

    _rearrange(edit, record, len(taps), around)


def spread(edit: GraphEdit, record: LoweredLayer, steps: tuple[int, ...]) -> tuple[int, ...]:
    """Give a layer weights so many steps apart, with zeros between; returns their sizes. Raises NotAppliedError."""
    sizes: list[int] = []

    def apart(codes: Codes, filler: int) -> Codes:
        sizes[:] = [reach(size, step) for size, step in zip(codes.shape[2:], steps, strict=True)]
        spaced = np.full((*codes.shape[:2], *sizes), filler, codes.dtype)
        window = (slice(None), slice(None), *(slice(None, None, step) for step in steps))
        spaced[window] = codes
        return spaced

    _rearrange(edit, record, len(steps), apart)
    return tuple(sizes)


Rearranged = Callable[["Codes", int], "Codes"]
"""New weights from old ones and the bit pattern of zero."""


def _rearrange(edit: GraphEdit, record: LoweredLayer, axes: int, change: Rearranged) -> None:
    """Give a layer weights that are made from its own. Raises NotAppliedError."""
    node, position = record.node, operator_of(record.node).roles.second
    producer = edit.graph.producers.get(node.inputs[position])
    dequantizer = producer if producer is not None and operator_of(producer).dequantizes else None
    zero = (record.weights.zero_points or (0,))[0] if record.weights else 0
    if dequantizer is None:
        edit.connect(node, position, _changed(edit, (node, position), axes, zero, change))
        return
    integers = _changed(edit, (dequantizer, 0), axes, zero, change)
    real = edit.fresh(f"{integers}_real")
    edit.insert_like(node, dequantizer, f"{real}_node", [integers, *edit.inputs(dequantizer)[1:]], [real])
    edit.connect(node, position, real)


def _changed(edit: GraphEdit, read: tuple[Node, int], axes: int, zero: int, change: Rearranged) -> str:
    """A new constant, made from a stored one that a node reads. Raises NotAppliedError."""
    node, position = read
    stored = edit.stored(node, position)
    if stored.codes.ndim != axes + 2:
        raise NotAppliedError(f"the weights of {node.label} have {stored.codes.ndim} axes")
    codes = change(stored.codes, zero & (1 << BITS[stored.elem_type]) - 1)
    return edit.add_constant(f"{node.inputs[position]}_with_zeros", stored.elem_type, codes)


def apply_spread_taps(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros between the weights. Raises NotAppliedError."""
    node, steps = record.node, record.node.ints("dilations")
    kernel = spread(edit, record, steps)
    larger = {"kernel_shape": list(kernel)} if node.ints("kernel_shape") else {}
    edit.set_attributes(node, "dilations", **larger)
    words = " x ".join(map(str, steps))
    return RepairMade(f"gets its dilation of {words} as zeros between its weights", (node.outputs[0],))


def apply_output_padding(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros behind the weights: the output keeps its size, to which input and filter now spread."""
    node = record.node
    extra = node.ints("output_padding")
    surround(edit, record, tuple((0, more) for more in extra))
    kernel = node.ints("kernel_shape")
    larger = {"kernel_shape": [size + more for size, more in zip(kernel, extra, strict=True)]} if kernel else {}
    edit.set_attributes(node, "output_padding", **larger)
    words = " x ".join(map(str, extra))
    return RepairMade(f"gets its output_padding of {words} as zeros behind its weights", (node.outputs[0],))
