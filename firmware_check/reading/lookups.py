"""Functions of one int8 activation as a table of 256 integers, which is exact whatever the function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from firmware_check.program import Array, Elements, Step
from firmware_check.reading.sink import sink_of
from firmware_check.reading.unsupported import Unsupported

if TYPE_CHECKING:
    from firmware_check.program import Quantization, Value
    from firmware_check.reading.read import Builder
    from firmware_check.reading.sink import Sink
    from onnxlint_cmsis.graph.model import Node

Curve = Callable[[Elements, "Node"], Elements]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _number(node: Node, name: str, missing: float) -> float:
    value = node.attributes.get(name, missing)
    return float(value) if isinstance(value, (int, float)) else missing


def _hard_sigmoid(x: Elements, node: Node) -> Elements:
    return np.asarray(np.clip(_number(node, "alpha", 0.2) * x + _number(node, "beta", 0.5), 0, 1))


def _leaky_relu(x: Elements, node: Node) -> Elements:
    return np.where(x < 0, _number(node, "alpha", 0.01) * x, x)


def _elu(x: Elements, node: Node) -> Elements:
    return np.where(x < 0, _number(node, "alpha", 1.0) * np.expm1(x), x)


def _gelu(x: Elements, node: Node) -> Elements:
    by_tanh = node.text("approximate", "none") == "tanh"
    bend = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) if by_tanh else _erf(x / math.sqrt(2))
    return np.asarray(x * (1 + bend) / 2)


CURVES: dict[tuple[str, str], Curve] = {
    ("", "Sigmoid"): lambda x, _: 1 / (1 + np.exp(-x)),
    ("", "Tanh"): lambda x, _: np.tanh(x),
    ("", "HardSigmoid"): _hard_sigmoid,
    ("", "HardSwish"): lambda x, _: x * np.clip(x / 6 + 0.5, 0, 1),
    ("", "LeakyRelu"): _leaky_relu,
    ("", "Elu"): _elu,
    ("", "Exp"): lambda x, _: np.exp(x),
    ("", "Softplus"): lambda x, _: np.logaddexp(0, x),
    ("", "Gelu"): _gelu,
    ("com.microsoft", "Gelu"): _gelu,
}
"""Operator to its function of real numbers."""

ARITHMETIC: dict[tuple[str, str], Callable[[Elements, Elements], Elements]] = {
    ("", "Add"): np.add,
    ("", "Sum"): np.add,
    ("", "Sub"): np.subtract,
    ("", "Mul"): np.multiply,
    ("", "Div"): np.divide,
}
"""Operators that are a function of one activation where their other operand is one constant."""


def build_curve(builder: Builder, node: Node) -> None:
    """A function of real numbers."""
    curve = CURVES[node.domain, node.op_type]
    _build(builder, node, builder.known(node.inputs[0]), lambda real: curve(real, node))


def build_arithmetic(builder: Builder, node: Node) -> None:
    """An operator with one constant, on either side."""
    constants = [builder.constants.fixed(name) for name in node.inputs]
    if sum(constants) != 1:
        raise Unsupported(f"{node.op_type} of two activations has no form in this firmware")
    number = builder.constants.real(node.inputs[constants.index(True)])
    if number.size != 1:
        raise Unsupported(f"its constant has {number.size} values; {node.op_type} with one is supported")
    operator, constant = ARITHMETIC[node.domain, node.op_type], number.reshape(-1)[0]
    first = constants[0]
    source = builder.known(node.inputs[int(first)])
    _build(builder, node, source, lambda real: operator(constant, real) if first else operator(real, constant))


def one_number(builder: Builder, node: Node) -> bool:
    """Whether one operand is a single constant."""
    fixed = [name for name in node.inputs if builder.constants.fixed(name)]
    return len(fixed) == 1 and builder.constants.real(fixed[0]).size == 1


def _build(builder: Builder, node: Node, source: Value, function: Callable[[Elements], Elements]) -> None:
    sink = sink_of(builder, node)
    if source.quantization.bits != 8 or sink.quantization.bits != 8:
        raise Unsupported("tables here are for int8 alone")
    shape = builder.shape(node.outputs[0])
    if shape != source.shape:
        raise Unsupported(f"its constant makes {shape} of {source.shape}")
    output = builder.beside(source, sink.tensor, sink.quantization)
    table = Array("table", "int8_t", table_of(function, source.quantization, sink))
    builder.add(
        Step(
            node.label, node.op_type, "lookup", (source,), output, None, "", (table,),
            reason="CMSIS-NN has no function for it; a table of 256 integers gives it", in_place=True,
        )
    )  # fmt: skip


def table_of(function: Callable[[Elements], Elements], source: Quantization, sink: Sink) -> Elements:
    """Output integers for the input's: 0 to 127, then -128 to -1, as an unsigned byte counts them."""
    integers = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64)
    q = sink.quantization
    with np.errstate(all="ignore"):
        real = function((integers - source.zero_point) * source.scale)
        steps = np.rint(real / q.scale) + q.zero_point
    if np.isnan(steps).any():
        raise Unsupported("it gives no number for some of its inputs")
    return np.asarray(np.clip(steps, *sink.limits), np.int8)
