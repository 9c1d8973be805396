"""Functions of one element and of two, as kernels compute them in integers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.model.fixed_point import away
from onnxlint_cmsis.operators.integers import NotCoveredError, Steps, multipliers, requantized

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.model.intervals import Array
    from onnxlint_cmsis.operators.scaled_numbers import Quantization


ACTIVATIONS = {
    "Relu": (0.0, math.inf),
    "RELU": (0.0, math.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}
"""Bounds of functions that only clamp, and of fused activations."""
CURVES = frozenset({
    *("Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Exp", "Log", "Sqrt", "Abs", "Neg", "Erf"),
    *("Gelu", "Softplus", "Softsign", "Round", "Floor", "Ceil", "Sin", "Cos", "Celu", "Selu", "SQUARE", "RSQRT"),
})  # fmt: skip
"""Functions of one element and of attributes alone."""
PAIRS = frozenset({"Add", "Mul", "Sub", "Div", "Max", "Min", "SQUARED_DIFFERENCE", "PRelu"})
"""Functions of two elements."""
SYMMETRIC = ("Add", "Mul", "Max", "Min")
"""Pairs whose operands may change places."""


def pair_steps(name: str, pairs: Sequence[tuple[int, int]], scales: Sequence[float], stated: Quantization) -> list[int]:
    """What Add, Sub and Mul make of pairs of integers without their zero-points, by each way of rounding, unclamped.

    tensorflow/lite/kernels/internal/reference/add.h, sub.h, integer_ops/mul.h; all are monotone in each operand.
    Raises NotCoveredError.
    """
    steps: list[int] = []
    if stated.bits not in (8, 16) or (stated.bits == 16 and all(math.frexp(scale)[0] == 0.5 for scale in scales)):
        raise NotCoveredError("TensorFlow Lite may shift where scales are powers of two")
    if name == "Mul":
        factors = multipliers(math.prod(scales) / stated.scale)
        return [step for left, right in pairs for factor in factors for step in requantized(left * right, *factor, 8)]
    twice, fine = 2 * max(scales), 20 if stated.bits == 8 else 15
    first, second = (multipliers(scale / twice) for scale in scales)
    last = multipliers(twice / ((1 << fine) * stated.scale))
    for pair, *factors in itertools.product(pairs, first, second):
        parts = [requantized(end << fine, *factor, 8) for end, factor in zip(pair, factors, strict=True)]
        for (left, right), factor in itertools.product(zip(*parts, strict=True), last):
            steps += requantized(left + right if name == "Add" else left - right, *factor, 8)
    return steps


NEAR: Mapping[str, Callable[[float], float]] = {
    "Identity": lambda x: x,
    "Sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0,
    "Tanh": math.tanh,
    "HardSwish": lambda x: x * min(max(x + 3, 0), 6) / 6,
}
"""Functions that kernels of int8 look up or compute in fixed-point numbers, and averages in another scale.

0 gives 0 in integers too, but for Sigmoid (logistic.h, tanh.h, mean.h of integer_ops, reference/hard_swish.h). All but
HardSwish are monotone.
"""
OFF = 1.01
"""Steps that such a kernel may be off the real function, before it rounds and clamps."""


def curve_steps(name: str, alpha: object, ends: Sequence[int], scale: float, stated: Quantization) -> list[int]:
    """What functions make of the least and the greatest integer without its zero-point: bounds, unclamped.

    LEAKY_RELU multiplies by one of two factors (reference/leaky_relu.h). Raises NotCoveredError.
    """
    if name == "LeakyRelu" and isinstance(alpha, float) and alpha > 0:
        slopes = [1.0 if end >= 0 else alpha for end in ends]
        factors = [multipliers(scale * slope / stated.scale) for slope in slopes]
        ways = [(end, near) for end, some in zip(ends, factors, strict=True) for near in some]
        return [step for end, near in ways for step in requantized(end, *near, 8)]
    if name not in NEAR or stated.bits != 8 or (name == "HardSwish" and ends[0] != ends[1]):
        raise NotCoveredError(f"{name} is not computed")
    if name != "Sigmoid" and not any(ends):
        return [0]
    real = [NEAR[name](end * scale) / stated.scale for end in ends]
    return [away(min(real) - OFF), away(max(real) + OFF)]


def function_steps(
    name: str, alpha: object, ends: Sequence[tuple[int, int]], given: Sequence[Quantization], stated: Quantization
) -> Steps | None:
    """What averages, curves and pairs make of operands between two ends each; None where it is not known."""
    spans = [[end - operand.zero for end in span] for span, operand in zip(ends, given, strict=True)]
    scales = [operand.scale for operand in given]
    try:
        if name == "average" and (given[0].scale, given[0].zero) == (stated.scale, stated.zero):
            return spans[0][:1], spans[0][1:]
        if len(spans) == 1:
            steps = curve_steps("Identity" if name == "average" else name, alpha, spans[0], scales[0], stated)
        else:
            steps = pair_steps(name, [(left, right) for left in spans[0] for right in spans[1]], scales, stated)
    except NotCoveredError:
        return None
    return steps, steps


def axis_of(axis: int, count: int) -> int:
    """A place that may be counted from the end. Raises NotCoveredError."""
    if not -count <= axis < count:
        raise NotCoveredError(f"{axis} is no place among {count}")
    return axis % count


def regrouped(weights: Array, groups: int) -> Array:
    """Weights of a transposed convolution, which have all input channels and the outputs of one group, by output."""
    count, inner, *kernel = weights.shape
    parts = weights.reshape(count, groups, inner // groups, *kernel).swapaxes(0, 1)
    result: Array = parts.reshape(count * groups, inner // groups, *kernel)
    return result


def only_multiplies(node: Node, *, gemm: bool, biased: bool) -> bool:
    """Tell whether the attributes of a matrix product leave it one, with a bias that counts once."""
    turned = ("transA", "transBatchA", "transBatchB", *(() if gemm else ("transB",)))
    factors = ("alpha", "beta") if biased else ("alpha",)
    plain = all(node.attributes.get(name, 1.0) == 1.0 for name in factors)
    return plain and not any(map(node.int, turned)) and node.text("weights_format", "DEFAULT") == "DEFAULT"
