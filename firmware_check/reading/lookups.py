"""Functions of one int8 activation as a table of 256 integers, exact for any function."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from firmware_check.program import Array, Elements, Quantization, Step
from firmware_check.reading.results import LayerResult, result_of
from firmware_check.reading.state import Workspace
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Node

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


def build_lookup(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """A function of one activation: a curve, or an operator with one constant, on either side."""
    node = record.node
    curve = CURVES.get((node.domain, node.op_type))
    position, function = (0, lambda real: curve(real, node)) if curve else _arithmetic(space, node)
    source, result = space.known(node.inputs[position]), result_of(space, record)
    shape = space.shape(node.outputs[0])
    if shape != source.shape:
        raise Unsupported(f"its constant makes {shape} of {source.shape}")
    output = space.beside(source, result.tensor, result.quantization)
    table = Array("table", "int8_t", table_of(function, source.quantization, result))
    space.add(
        Step(
            node.label, node.op_type, "lookup", (source,), output, None, "", (table,), reason=reason, in_place=True
        )
    )  # fmt: skip


def _arithmetic(space: Workspace, node: Node) -> tuple[int, Callable[[Elements], Elements]]:
    """Position of the activation, and the function of it."""
    constant = next(position for position, name in enumerate(node.inputs) if space.stored.fixed(name))
    number = space.stored.real(node.inputs[constant]).reshape(-1)[0]
    operator = ARITHMETIC[node.domain, node.op_type]
    return 1 - constant, lambda real: operator(real, number) if constant else operator(number, real)


def table_of(function: Callable[[Elements], Elements], source: Quantization, result: LayerResult) -> Elements:
    """Output integers for the input's: 0 to 127, then -128 to -1, as an unsigned byte counts them."""
    integers = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64)
    q = result.quantization
    with np.errstate(all="ignore"):
        real = function((integers - source.zero_point) * source.scale)
        steps = np.rint(real / q.scale) + q.zero_point
    if np.isnan(steps).any():
        raise Unsupported("it gives no number for some of its inputs")
    return np.asarray(np.clip(steps, *result.limits), np.int8)
