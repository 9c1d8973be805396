"""Inputs of a model: types, sizes with symbols, quantized ranges, compared numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.formats.onnx_graph.input_shapes import stated_size
from onnxlint_cmsis.formats.onnx_graph.proto_operators import operator_of_proto
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.control_operators import CONSTANT
from onnxlint_cmsis.operators.facets import Elements
from onnxlint_cmsis.types import InputShapes

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto, ValueInfoProto

Span = tuple[float, float]
"""Smallest and largest value."""

PLAIN = (-3.0, 3.0)
"""Span of float inputs that are not quantized; normal values in it have variance 1."""


class Input(NamedTuple):
    """One input of a model."""

    name: str
    """Name."""
    dtype: np.dtype[Any]
    """numpy's type."""
    shape: tuple[int | str, ...]
    """Sizes, or the names of those that are symbolic."""
    span: Span | None
    """Smallest and largest value; None for integers of 32 and 64 bits, which may be anything."""
    compared: tuple[float, ...]
    """Numbers that the model compares it with."""


class UnfedError(Exception):
    """No inputs can be made for the model; the text says why."""


def model_inputs(model: ModelProto, input_shapes: InputShapes) -> list[Input]:
    """Inputs without the constants listed among them. Raises UnfedError for other inputs than tensors of numbers."""
    constants = dict(_constants(model))
    listed = constants.keys() | {sparse.values.name for sparse in model.graph.sparse_initializer}
    values = [value for value in model.graph.input if value.name not in listed]
    symbols = _symbols(values, input_shapes)
    return [_input(model, value, symbols, constants) for value in values]


def _symbols(values: list[ValueInfoProto], input_shapes: InputShapes) -> dict[tuple[str, int], int | str]:
    """Size or symbol of every axis of every input, with the user's sizes for symbols."""
    found: dict[tuple[str, int], int | str] = {}
    bound: dict[int | str, int] = {}
    for value in values:
        given = input_shapes.get(value.name, ())
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            stated = stated_size(dim)
            symbol = (dim.dim_param or f"{value.name}[{axis}]") if stated is None else stated
            found[value.name, axis] = symbol
            size = given[axis] if axis < len(given) else None
            if size is not None:
                found[value.name, axis] = size
                bound |= {symbol: size} if isinstance(symbol, str) else {}
    return {place: bound.get(size, size) for place, size in found.items()}


def _input(
    model: ModelProto,
    value: ValueInfoProto,
    symbols: dict[tuple[str, int], int | str],
    constants: dict[str, TensorProto],
) -> Input:
    from onnx import helper

    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
        raise UnfedError(f"input `{value.name}` is no tensor of known rank")
    try:
        dtype: np.dtype[Any] = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    except KeyError:
        raise UnfedError(f"input `{value.name}` is of no type that ONNX knows ({tensor.elem_type})") from None
    if dtype.kind not in "iufb":
        raise UnfedError(f"input `{value.name}` is of type {dtype}, for which no values are made")
    shape = tuple(symbols[value.name, axis] for axis in range(len(tensor.shape.dim)))
    span = _span(model, value.name, dtype, constants)
    return Input(value.name, dtype, shape, span, tuple(_compared(model, value.name, constants)))


def _constants(model: ModelProto) -> Iterator[tuple[str, TensorProto]]:
    """Initializers and Constant nodes of the main graph."""
    for tensor in model.graph.initializer:
        yield tensor.name, tensor
    for node in model.graph.node:
        if operator_of_proto(node) is CONSTANT and node.output and node.attribute and node.attribute[0].HasField("t"):
            yield node.output[0], node.attribute[0].t


def _span(model: ModelProto, name: str, dtype: np.dtype[Any], constants: dict[str, TensorProto]) -> Span | None:
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind == "f":
        return _quantized(model, name, constants) or PLAIN
    if dtype.itemsize > 2:
        return None
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _quantized(model: ModelProto, name: str, constants: dict[str, TensorProto]) -> Span | None:
    """Span that a QuantizeLinear with constant numbers can tell apart."""
    for node in model.graph.node:
        if not operator_of_proto(node).quantizes or len(node.input) < 3 or node.input[0] != name:
            continue
        scale, zero = (_numbers(constants.get(one)) for one in node.input[1:3])
        if (
            scale is None
            or zero is None
            or scale.size != 1
            or zero.dtype.name not in ("int8", "uint8", "int16", "uint16")
        ):
            continue
        limits, step, offset = np.iinfo(zero.dtype), float(scale.reshape(-1)[0]), int(zero.reshape(-1)[0])
        return (int(limits.min) - offset) * step, (int(limits.max) - offset) * step
    return None


def _compared(model: ModelProto, name: str, constants: dict[str, TensorProto]) -> Iterator[float]:
    for node in model.graph.node:
        if operator_of_proto(node).elements is Elements.COMPARED and len(node.input) == 2 and name in node.input:
            other = _numbers(constants.get(node.input[1 - list(node.input).index(name)]))
            if other is not None and other.size == 1:
                yield other.reshape(-1)[0].item()


def _numbers(tensor: TensorProto | None) -> np.ndarray[Any, Any] | None:
    from onnx import numpy_helper

    try:
        return None if tensor is None else numpy_helper.to_array(tensor)
    except (KeyError, TypeError, ValueError):  # of no known type, or of other sizes than it has values
        return None
