"""Inputs of a proof: types, sizes with symbols, quantized ranges, drawn numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.formats.onnx.input_sizes import stated_size
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import InputShapes
from onnxlint_cmsis.operators.answers import Elements
from onnxlint_cmsis.operators.control import CONSTANT

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto, ValueInfoProto

    from onnxlint_cmsis.model.graph import Graph


ValueSpan = tuple[float, float]
"""Smallest and largest value."""

QUANTIZED_TYPES = ("int8", "uint8", "int16", "uint16")
"""Types of quantized tensors, by numpy's names."""
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
    span: ValueSpan | None
    """Smallest and largest value; None for integers of 32 and 64 bits, which may be anything."""
    compared: tuple[float, ...]
    """Numbers that the model compares it with."""


class UnfedError(Exception):
    """No inputs can be made for the model; the text says why."""


def refuse_large(graph: Graph) -> None:
    """UnfedError for a model that computes more values than MOST_COMPUTED, as far as sizes are known."""
    for problem in graph.problems:
        if problem.kind == "oversized":
            raise UnfedError(problem.message)
    names = (name for node in graph.nodes for name in node.outputs if name)
    count = sum(prod(size or 1 for size in graph.shape(name) or ()) for name in names)
    if count > MOST_COMPUTED:
        raise UnfedError(f"it computes {count:,} values; models of up to {MOST_COMPUTED:,} are run")


def model_inputs(model: ModelProto, input_shapes: InputShapes) -> list[Input]:
    """Inputs without the constants listed among them. Raises UnfedError for other inputs than tensors of numbers."""
    constants = dict(_constants(model))
    listed = constants.keys() | {sparse.values.name for sparse in model.graph.sparse_initializer}
    values = [value for value in model.graph.input if value.name not in listed]
    symbols = _symbols(values, input_shapes)
    return [_input(model, value, symbols, constants) for value in values]


def _symbols(values: list[ValueInfoProto], input_shapes: InputShapes) -> dict[tuple[str, int], int | str]:
    """Size or symbol of every axis of every input, with the user's sizes for symbols."""
    sizes: dict[tuple[str, int], int | str] = {}
    bound: dict[int | str, int] = {}
    for value in values:
        given = input_shapes.get(value.name, ())
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            stated = stated_size(dim)
            symbol = (dim.dim_param or f"{value.name}[{axis}]") if stated is None else stated
            sizes[value.name, axis] = symbol
            size = given[axis] if axis < len(given) else None
            if size is not None:
                sizes[value.name, axis] = size
                bound |= {symbol: size} if isinstance(symbol, str) else {}
    return {axis: bound.get(size, size) for axis, size in sizes.items()}


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
    quantized = _quantized(model, value.name, constants) if dtype.kind == "f" else None
    compared = tuple(_compared(model, value.name, constants))
    return Input(value.name, dtype, shape, span_of(dtype, quantized), compared)


def _constants(model: ModelProto) -> Iterator[tuple[str, TensorProto]]:
    """Initializers and Constant nodes of the main graph."""
    for tensor in model.graph.initializer:
        yield tensor.name, tensor
    for node in model.graph.node:
        if operator_of_proto(node) is CONSTANT and node.output and node.attribute and node.attribute[0].HasField("t"):
            yield node.output[0], node.attribute[0].t


def span_of(dtype: np.dtype[Any], quantized: ValueSpan | None) -> ValueSpan | None:
    """Smallest and largest value of an input; `quantized` is what the quantized form of a real one can tell apart.

    None for integers of more than 2 bytes, which may be indices.
    """
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind == "f":
        return quantized or PLAIN
    if dtype.itemsize > 2:
        return None
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _quantized(model: ModelProto, name: str, constants: dict[str, TensorProto]) -> ValueSpan | None:
    """Span that a QuantizeLinear with constant numbers can tell apart."""
    for node in model.graph.node:
        if not operator_of_proto(node).quantizes or len(node.input) < 3 or node.input[0] != name:
            continue
        scale, zero = (_array_of(constants.get(parameter)) for parameter in node.input[1:3])
        if scale is None or zero is None or scale.size != 1 or zero.dtype.name not in QUANTIZED_TYPES:
            continue
        limits, step, offset = np.iinfo(zero.dtype), float(scale.reshape(-1)[0]), int(zero.reshape(-1)[0])
        return (int(limits.min) - offset) * step, (int(limits.max) - offset) * step
    return None


def _compared(model: ModelProto, name: str, constants: dict[str, TensorProto]) -> Iterator[float]:
    for node in model.graph.node:
        if operator_of_proto(node).elements is Elements.COMPARED and len(node.input) == 2 and name in node.input:
            other = _array_of(constants.get(node.input[1 - list(node.input).index(name)]))
            if other is not None and other.size == 1:
                yield other.reshape(-1)[0].item()


def _array_of(tensor: TensorProto | None) -> np.ndarray[Any, Any] | None:
    from onnx import numpy_helper

    try:
        return None if tensor is None else numpy_helper.to_array(tensor)
    except (KeyError, TypeError, ValueError):  # of no known type, or of other sizes than it has values
        return None


Feed = dict[str, npt.NDArray[np.generic]]

SPANS: tuple[ValueSpan, ...] = ((-1000, 1000), (0, 15), (0, 1), (0, 0))
"""Spans to try for inputs of 32 and 64 bits, which may be indices into something small."""
SIZES = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512)
"""Sizes to try for symbolic axes, but for the batch."""
BATCHES = (1, 2)
"""Sizes to try for symbols that are the first axis of an input."""
MOST_VALUES = 1 << 26
"""Values that an input may have; its random numbers take 8 bytes each."""
MOST_COMPUTED = 1 << 27
"""Values of all tensors together that a model may compute: seven times those of the largest network for a Cortex-M at
hand. A few bytes in a file ask for more than any memory holds."""
FORMS = ("zeros", "lowest", "highest", "extremes", "uniform", "normal")
"""What an input holds; the last two are repeated with other values."""


class Setting(NamedTuple):
    """Choices that the model leaves open."""

    batch: int
    """Size of symbols that are the first axis of an input."""
    size: int
    """Size of every other symbol."""
    wide: ValueSpan
    """Span of 32- and 64-bit integers."""


def settings(inputs: list[Input]) -> Iterator[Setting]:
    """Settings to try, the likeliest first; one alone where the inputs leave nothing open."""
    batches = _batches(inputs)
    sizes = {size for model_input in inputs for size in model_input.shape if isinstance(size, str)} - batches
    wide = any(model_input.span is None for model_input in inputs)
    choices = product(BATCHES if batches else (1,), SPANS if wide else ((0, 0),), SIZES if sizes else (1,))
    return (Setting(batch, size, span) for batch, span, size in choices)


def feed_of(inputs: list[Input], setting: Setting, number: int, seed: int) -> Feed:
    """The `number`-th input of a model: each form once, then uniform and normal values in turn.

    Raises UnfedError for an input of too many values.
    """
    form = FORMS[number] if number < len(FORMS) else FORMS[4 + number % 2]
    batches = _batches(inputs)
    random = np.random.default_rng((seed, number))
    feed: Feed = {}
    for model_input in inputs:
        chosen = {size: setting.batch if size in batches else setting.size for size in model_input.shape}
        sizes = [chosen[size] if isinstance(size, str) else size for size in model_input.shape]
        if prod(sizes) > MOST_VALUES:
            raise UnfedError(
                f"its input '{model_input.name}' has {prod(sizes):,} values; up to {MOST_VALUES:,} are tried"
            )
        feed[model_input.name] = _values(model_input, sizes, setting.wide, form, random)
        if model_input.compared and number % 2:
            value = model_input.compared[number // 2 % len(model_input.compared)]
            feed[model_input.name] = np.full(sizes, value).astype(model_input.dtype)
    return feed


def _batches(inputs: list[Input]) -> set[str]:
    """Symbols that are the first axis of an input."""
    return {size for model_input in inputs for size in model_input.shape[:1] if isinstance(size, str)}


def _values(
    model_input: Input, sizes: list[int], wide: ValueSpan, form: str, random: np.random.Generator
) -> npt.NDArray[np.generic]:
    low, high = wide if model_input.span is None else model_input.span
    if form == "zeros":
        return np.zeros(sizes, model_input.dtype)
    if form in ("lowest", "highest"):
        return np.full(sizes, low if form == "lowest" else high).astype(model_input.dtype)
    if form == "extremes":
        return random.choice([low, high], sizes).astype(model_input.dtype)
    if form == "uniform":
        reals = random.uniform(low, high, sizes)
    else:
        reals = np.clip(random.normal((low + high) / 2, (high - low) / 6, sizes), low, high)
    return np.asarray(reals if model_input.dtype.kind == "f" else np.rint(reals)).astype(model_input.dtype)
