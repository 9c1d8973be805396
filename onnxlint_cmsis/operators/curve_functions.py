"""Real functions of one variable as ONNX defines them; the node has the parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.operators.views import real_attribute

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.model.intervals import Floats


Real = Callable[["Floats", "Node"], "Floats"]
"""Values of a function at many numbers."""


def times(factor: float, x: Floats) -> Floats:
    """A product in which 0 times infinity is 0."""
    return np.where(factor == 0, 0.0, factor * x)


def leaky_relu(x: Floats, node: Node) -> Floats:
    """The input above 0, times a slope below."""
    return np.where(x < 0, times(real_attribute(node, "alpha", 0.01), x), x)


def elu(x: Floats, node: Node) -> Floats:
    """Elu: exponential below 0."""
    return np.where(x < 0, times(real_attribute(node, "alpha", 1.0), np.expm1(np.minimum(x, 0))), x)


def celu(x: Floats, node: Node) -> Floats:
    """Celu: exponential below 0, NaN where alpha is not positive."""
    alpha = real_attribute(node, "alpha", 1.0)
    below = alpha * np.expm1(np.minimum(x, 0) / alpha) if alpha > 0 else np.full(x.shape, np.nan)
    return np.where(x < 0, below, x)


def selu(x: Floats, node: Node) -> Floats:
    """Selu: scaled exponential below 0."""
    alpha, gamma = real_attribute(node, "alpha", 1.6732632423543772), real_attribute(node, "gamma", 1.0507009873554805)
    return np.where(x < 0, gamma * alpha * np.expm1(np.minimum(x, 0)), times(gamma, x))


def hard_sigmoid(x: Floats, node: Node) -> Floats:
    """A line between 0 and 1."""
    alpha, beta = real_attribute(node, "alpha", 0.2), real_attribute(node, "beta", 0.5)
    return np.minimum(np.maximum(times(alpha, x) + beta, 0), 1)


def hard_swish(x: Floats, _node: Node) -> Floats:
    """The input times a line between 0 and 1."""
    return np.where(np.isneginf(x), 0, x * np.clip(x / 6 + 0.5, 0, 1))


def erf(x: Floats, _node: Node) -> Floats:
    """Error function."""
    return np.array([math.erf(value) for value in x.flat]).reshape(x.shape)


def gelu(x: Floats, node: Node) -> Floats:
    """Gelu, exact or by a hyperbolic tangent."""
    if node.text("approximate", "none") == "tanh":
        return fast_gelu(x, node)
    return np.where(np.isneginf(x), 0, 0.5 * x * (1 + erf(x / math.sqrt(2), node)))


def fast_gelu(x: Floats, _node: Node) -> Floats:
    """Gelu by a hyperbolic tangent."""
    bend = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return np.where(np.isneginf(x), 0, 0.5 * x * (1 + bend))


def sigmoid(x: Floats, _node: Node) -> Floats:
    """Logistic function."""
    return np.asarray(1 / (1 + np.exp(-x)))


def softplus(x: Floats, _node: Node) -> Floats:
    """Logarithm of 1 plus the exponential."""
    return np.asarray(np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0))


def softsign(x: Floats, _node: Node) -> Floats:
    """The input by 1 plus its size."""
    return np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x)))


def sigmoid_gate(slope: float) -> Real:
    """The input times the logistic function of it."""
    return lambda x, node: np.where(np.isneginf(x), 0, x * sigmoid(real_attribute(node, "alpha", slope) * x, node))


def mish(x: Floats, node: Node) -> Floats:
    """The input times the hyperbolic tangent of its softplus."""
    return np.where(np.isneginf(x), 0, x * np.tanh(softplus(x, node)))


def thresholded(x: Floats, node: Node) -> Floats:
    """The input above a threshold, else 0."""
    return np.where(x > real_attribute(node, "alpha", 1.0), x, x * 0)


def shrink(x: Floats, node: Node) -> Floats:
    """The input moved towards 0."""
    bias, limit = real_attribute(node, "bias", 0.0), real_attribute(node, "lambd", 0.5)
    return np.where(x > limit, x - bias, np.where(x < -limit, x + bias, x * 0))


def plain(function: Callable[[Floats], Floats]) -> Real:
    """A function without parameters."""
    return lambda x, _node: np.asarray(function(x))
