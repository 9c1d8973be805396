"""Sizes that rest on the numbers of a constant, and that ONNX Runtime works out otherwise than ONNX's inference.

* A Slice that goes backward to the largest integer takes nothing in ONNX. ONNX Runtime takes all to the first element
  (core/providers/cpu/tensor/slice_helper.h, PrepareForComputeHelper).
* Resize and Upsample multiply a size by a scale in float32 in ONNX Runtime, which may round up to the next whole number
  (core/providers/cpu/tensor/upsamplebase.h, ComputeOutputShape); ONNX takes the exact product.
* A Resize that keeps the ratio of axes counted from the last leaves them as they are in ONNX Runtime (the same file,
  AdjustOutputSizeAsPolicy).
* Range counts real numbers in float32 here and in float64 there (core/providers/cpu/generator/range.cc, ComputeRange).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.formats.onnx.attributes import ints_attribute
from onnxlint_cmsis.formats.onnx.decoding import tensor_values
from onnxlint_cmsis.formats.onnx.functions import domain_of
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.ground.types import MAX_AXES
from onnxlint_cmsis.operators.control import CONSTANT
from onnxlint_cmsis.operators.folds import takes_whole_axis
from onnxlint_cmsis.operators.resizing import RESIZE, UPSAMPLE
from onnxlint_cmsis.operators.slicing import SLICE

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

    from onnxlint_cmsis.ground.types import Size
    from onnxlint_cmsis.model.graph import Number

LIMITED = (RESIZE, SLICE, UPSAMPLE)
"""Operators with a record whose result has the size that numbers of a constant tell."""


class SmallConstants:
    """Numbers of the small constants of graphs, which are read when the first of them is asked for."""

    def __init__(self, graphs: Sequence[GraphProto]) -> None:
        self._graphs = graphs

    def __call__(self, name: str) -> tuple[Number, ...]:
        """The numbers of a constant; none where they are not known."""
        return self._known.get(name, ())

    @cached_property
    def _known(self) -> dict[str, tuple[Number, ...]]:
        known: dict[str, tuple[Number, ...]] = {}
        for graph in self._graphs:
            known |= {tensor.name: _of_tensor(tensor) for tensor in graph.initializer}
            nodes = (node for node in graph.node if operator_of_proto(node) is CONSTANT)
            known |= {
                name: _of_attribute(attribute) for node in nodes for name in node.output for attribute in node.attribute
            }
        return known


def _of_attribute(attribute: AttributeProto) -> tuple[Number, ...]:
    if attribute.HasField("t"):
        return _of_tensor(attribute.t)
    return (*attribute.ints, *attribute.floats) or (attribute.i if attribute.HasField("i") else attribute.f,)


def _of_tensor(tensor: TensorProto) -> tuple[Number, ...]:
    small = len(tensor.dims) < 2 and 0 <= math.prod(tensor.dims) <= 2 * MAX_AXES
    return (tensor_values(tensor) or ()) if small else ()


def limited_otherwise(node: NodeProto, shape: Sequence[Size] | None, read: SmallConstants) -> bool:
    """Tell whether runtimes make other sizes of an operator on a tensor of this shape."""
    operator, counts = operator_of_proto(node), (domain_of(node.domain), node.op_type) == ("", "Range")
    given = [*map(read, node.input)]
    if not given or (operator not in LIMITED and not counts):
        return False
    if operator is SLICE:
        return len(given) > 4 and takes_whole_axis(given[2], given[4])
    if counts:
        ends = [side[0] for side in given if side and isinstance(side[0], float)]
        return len(ends) == 3 and _counted_otherwise(*ends)
    axes, rank = ints_attribute(node, "axes") or [*range(len(shape or ()))], len(shape or ())
    if min(axes, default=0) < 0 and any(attribute.s.startswith(b"not_") for attribute in node.attribute):
        return True
    scales = [scale for attribute in node.attribute if attribute.name == "scales" for scale in attribute.floats]
    scales = scales or [*map(float, given[min(len(given), 3) - 1])]
    sizes = [(shape or ())[axis] if -rank <= axis < rank else None for axis in axes]
    return any(_rounded_up(size, scale) for size, scale in zip(sizes, scales, strict=False) if size is not None)


def _rounded_up(size: int, scale: float) -> bool:
    with np.errstate(over="ignore"):
        product = float(np.float32(size) * np.float32(scale))
    return not math.isfinite(product) or math.floor(product) != math.floor(size * scale)


def _counted_otherwise(start: float, limit: float, delta: float) -> bool:
    if not delta:
        return True
    with np.errstate(over="ignore"):
        single = np.float32(limit) - np.float32(start)
        counts = (limit - start) / delta, float(single) / delta, float(single / np.float32(delta))
    return not all(map(math.isfinite, counts)) or len({*map(math.ceil, counts)}) > 1
