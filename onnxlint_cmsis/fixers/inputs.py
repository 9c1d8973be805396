"""Random inputs of the right kind: seeded, within the range that a model quantizes, with its extremes and zeros."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.fixers.plan_types import InputShapes

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, ValueInfoProto

Feed = dict[str, npt.NDArray[np.generic]]
Span = tuple[float, float]
"""Smallest and largest value."""

PLAIN = (-3.0, 3.0)
"""Span of float inputs that are not quantized; values inside it have variance 1 or less."""
SPANS: tuple[Span, ...] = ((-1000, 1000), (0, 15), (0, 1), (0, 0))
"""Spans to try for inputs of 32 and 64 bits, which may be indices into something small."""
SIZES = (1, 2, 3, 4, 8, 16, 32, 64, 128)
"""Sizes to try for symbolic axes, but for the batch."""
BATCHES = (1, 2)
"""Sizes to try for a symbolic axis 0."""
FORMS = ("zeros", "lowest", "highest", "extremes", "uniform", "normal")
"""What an input holds; the last two are repeated with other values."""


class Setting(NamedTuple):
    """Choices that the model leaves open."""

    batch: int
    """Size of a symbolic axis 0."""
    size: int
    """Size of every other symbolic axis."""
    wide: Span
    """Span of 32- and 64-bit integers."""


class Input(NamedTuple):
    """One input of a model."""

    name: str
    """Name."""
    dtype: np.dtype[Any]
    """numpy's type."""
    shape: tuple[int | None, ...]
    """Sizes, None where symbolic."""
    span: Span | None
    """Smallest and largest value; None for integers of 32 and 64 bits."""


class UnfedError(Exception):
    """No inputs can be made for the model; the text says why."""


def model_inputs(model: ModelProto, input_shapes: InputShapes) -> list[Input]:
    """Inputs without the constants listed among them. Raises UnfedError for what is not a tensor of numbers."""
    constants = {tensor.name for tensor in model.graph.initializer}
    constants |= {sparse.values.name for sparse in model.graph.sparse_initializer}
    return [_input(model, value, input_shapes) for value in model.graph.input if value.name not in constants]


def settings(inputs: list[Input]) -> Iterator[Setting]:
    """Settings to try, the likeliest first; one alone where the inputs leave nothing open."""
    open_batch = any(one.shape and one.shape[0] is None for one in inputs)
    open_size = any(None in one.shape[1:] for one in inputs)
    wide = any(one.span is None for one in inputs)
    choices = product(BATCHES if open_batch else (1,), SPANS if wide else ((0, 0),), SIZES if open_size else (1,))
    return (Setting(batch, size, span) for batch, span, size in choices)


def feed(inputs: list[Input], setting: Setting, number: int, seed: int) -> Feed:
    """The `number`-th input of a model: each form once, then uniform and normal values in turn."""
    form = FORMS[number] if number < len(FORMS) else FORMS[4 + number % 2]
    random = np.random.default_rng((seed, number))
    return {one.name: _values(one, setting, form, random) for one in inputs}


def _values(one: Input, setting: Setting, form: str, random: np.random.Generator) -> npt.NDArray[np.generic]:
    shape = [
        size if size is not None else setting.size if axis else setting.batch for axis, size in enumerate(one.shape)
    ]
    low, high = setting.wide if one.span is None else one.span
    if form == "zeros":
        return np.zeros(shape, one.dtype)
    if form in ("lowest", "highest"):
        return np.full(shape, low if form == "lowest" else high).astype(one.dtype)
    if form == "extremes":
        return random.choice([low, high], shape).astype(one.dtype)
    if form == "uniform":
        made = random.uniform(low, high, shape)
    else:
        made = np.clip(random.normal((low + high) / 2, (high - low) / 6, shape), low, high)
    return (made if one.dtype.kind == "f" else np.rint(made)).astype(one.dtype)


def _input(model: ModelProto, value: ValueInfoProto, input_shapes: InputShapes) -> Input:
    from onnx import helper

    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
        raise UnfedError(f"input `{value.name}` is no tensor of known rank")
    dtype: np.dtype[Any] = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if dtype.kind not in "iufb":
        raise UnfedError(f"input `{value.name}` is of type {dtype}, for which no values are made")
    stated = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    given = input_shapes.get(value.name, ())
    shape = tuple(
        given[axis] if axis < len(given) and given[axis] is not None else size for axis, size in enumerate(stated)
    )
    return Input(value.name, dtype, shape, _span(model, value.name, dtype))


def _span(model: ModelProto, name: str, dtype: np.dtype[Any]) -> Span | None:
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind == "f":
        return next(filter(None, (_quantized(model, node) for node in model.graph.node if name in node.input)), PLAIN)
    if dtype.itemsize > 2:
        return None
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _quantized(model: ModelProto, node: NodeProto) -> Span | None:
    """Span that a QuantizeLinear with constant numbers can tell apart."""
    from onnx import numpy_helper

    if node.op_type != "QuantizeLinear" or len(node.input) < 3:
        return None
    found = {tensor.name: tensor for tensor in model.graph.initializer if tensor.name in node.input[1:]}
    for other in model.graph.node:
        if other.op_type == "Constant" and other.output[0] in node.input[1:] and other.attribute[0].HasField("t"):
            found[other.output[0]] = other.attribute[0].t
    if any(name not in found for name in node.input[1:3]):
        return None
    scale, zero = (numpy_helper.to_array(found[name]) for name in node.input[1:3])
    if scale.size != 1 or zero.dtype.name not in ("int8", "uint8", "int16", "uint16"):
        return None
    limits, step = np.iinfo(zero.dtype), float(scale.reshape(-1)[0])
    return (int(limits.min) - int(zero.reshape(-1)[0])) * step, (int(limits.max) - int(zero.reshape(-1)[0])) * step
