"""What kernels check of scales and zero-points, and of the factors that they make of them."""

from __future__ import annotations

from collections.abc import Callable
from math import frexp, isfinite, log

from onnxlint_cmsis.runtimes.tflm.operands import DATA, LEFT, OUTPUT, SECOND, KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_conditions import listed
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView, scale, single, zero_point
from onnxlint_cmsis.runtimes.tflm.rows import Objection, condition


def activation_fits(view: OperatorView) -> Objection | None:
    """The ends of a fused activation, divided by the output's scale, are 32-bit integers (kernel_util.cc:344)."""
    ends = {"RELU": 0.0, "RELU6": 6.0, "RELU_N1_TO_1": 1.0}
    name, output = view.text("fused_activation_function"), view.output()
    if output is None or output.elem_type not in INTEGER or name not in ends:
        return None
    step = scale(output)
    if abs(_ratio(ends[name], step)) <= 2.0**31:
        return None
    return f"the scale of its output, {step:g}, is too small for the {name} fused with it"


UTIL = "tensorflow/lite/kernels/kernel_util.cc"


ACTIVATION = f"{UTIL}:349"


def scale_count(view: OperatorView) -> int:
    """Return how many scales the weights have."""
    weights = SECOND.of(view).quantization
    return len(weights.scales) if weights else 0


def channel_scales(view: OperatorView, axis: int) -> Objection | None:
    """Several scales of weights are those of the output channels."""
    weights, count = SECOND.of(view), scale_count(view)
    if count < 2 or weights.quantization is None:
        return None
    along = weights.quantization.axis
    sizes = (weights.shape[axis], weights.shape[along] if 0 <= along < len(weights.shape) else 0)
    return None if sizes == (count, count) else f"its weights of shape {list(weights.shape)} have {count} scales"


@condition
def below_one(view: OperatorView, *factors: Callable[[OperatorView], float]) -> Objection | None:
    """Each factor that rescales lies between 0 and 1, as QuantizeMultiplierSmallerThanOneExp asks."""
    bad = [value for value in (factor(view) for factor in factors) if not 0 < value < 1 - 2.0**-33]
    return f"its scales give the factor {bad[0]:g}; one between 0 and 1 is taken" if bad else None


def above_one(view: OperatorView) -> Objection | None:
    """The input's scale is at least 2^-26 / beta, as PreprocessSoftmaxScaling asks (quantization_util.cc:263)."""
    beta = view.operator.options.get("beta", 1.0) if view.operator.op == "SOFTMAX" else 1.0
    factor = (beta if isinstance(beta, (int, float)) else 1.0) * scale(DATA.of(view)) * (1 << 26)
    text = f"the scale of its input, {scale(DATA.of(view)):g}, times beta is not above {2.0**-26:g}"
    return None if factor > 1 else text


def _ratio(numerator: float, denominator: float) -> float:
    """The quotient as floats give it; NaN for 0 / 0."""
    if denominator:
        return numerator / denominator
    return float("inf") if numerator else float("nan")


def step_of(operand: KernelOperand) -> Callable[[OperatorView], float]:
    """Return what reads the scale of an operand."""
    return lambda view: scale(operand.of(view))


def shared_factor(view: OperatorView) -> float:
    """The factor of an input against twice itself."""
    return _ratio(scale(DATA.of(view)), 2 * scale(DATA.of(view)))


def summed_factors(view: OperatorView) -> float:
    """The factor from sums in steps of 2^-20 of twice the input's scale to the output's (K/add_n.cc:110)."""
    return _ratio(2 * scale(DATA.of(view)), (1 << 20) * scale(OUTPUT.of(view)))


@condition
def pair_factors(view: OperatorView, exact: Callable[[float], float]) -> Objection | None:
    """The factors of both inputs and the output lie between 0 and 1, in the precision that the kernel has.

    That is double for sums (K/add_common.cc:49-56) and single for differences (K/sub_common.cc:52-60).
    """
    left, right, output = (scale(operand.of(view)) for operand in (LEFT, SECOND, OUTPUT))
    twice = exact(2 * max(left, right))
    steps = exact((1 << (15 if OUTPUT.of(view).elem_type == "INT16" else 20)) * output)
    factors = (exact(_ratio(*pair)) for pair in ((left, twice), (right, twice), (twice, steps)))
    return below_one(*(lambda _, value=value: value for value in factors))(view)


def bias_fits(view: OperatorView) -> Objection | None:
    """The bias of a dense layer is in steps of the input's scale times that of the weights."""
    bias = view.input(2)
    if bias is None:
        return None
    product, step = scale(DATA.of(view)) * scale(SECOND.of(view)), scale(bias)
    near = abs(_ratio(abs(product - step), scale(OUTPUT.of(view)))) <= 0.02
    return None if near else f"its bias has scale {step:g}; {product:g} is taken, that of input times weights"


def squared_factors(view: OperatorView) -> Objection | None:
    """The factors of both inputs lie between 0 and 1 (K/squared_difference.cc:62-77)."""
    left, right = scale(LEFT.of(view)), scale(SECOND.of(view))
    twice = 2 * max(left, right)
    return below_one(lambda _: _ratio(left, twice), lambda _: _ratio(right, twice))(view)


def exponent_at_most_zero(view: OperatorView) -> Objection | None:
    """The input's scale is less than 128 times the output's (K/hard_swish_common.cc:68)."""
    factor = single(_ratio(single(scale(DATA.of(view)) / 128), scale(OUTPUT.of(view))))
    small = not isfinite(factor) or frexp(factor)[1] <= 0
    return None if small else "the scale of its input is 128 times that of its output, or more"


def power_of_two(view: OperatorView) -> Objection | None:
    """The output's scale is 2^-15 (CheckedLog2 in lite/kernels/internal/quantization_util.cc:395)."""
    step = scale(OUTPUT.of(view))
    exact = step > 0 and abs(log(step) / log(2) + 15) < 1e-3
    return None if exact else f"its output has scale {step:g}; 1/32768 alone is taken"


def gentle_scale(view: OperatorView) -> Objection | None:
    """The input's scale is less than 2.67, so that its multiplier has 16 bits."""
    step = scale(DATA.of(view))
    return None if step * 12288 < 32768 else f"its input has scale {step:g}; less than 2.667 is taken"


@condition
def scaled(view: OperatorView, operand: KernelOperand, step: float, point: int) -> Objection | None:
    """The operand has the scale and the zero-point that the kernel takes for granted."""
    steps = scale(operand.of(view)), zero_point(operand.of(view))
    text = f"{operand.title} has scale {steps[0]:g} and zero-point {steps[1]}"
    return None if steps == (step, point) else f"{text}; the kernel takes {step:g} and {point} for granted"


def falling(view: OperatorView) -> Objection | None:
    """The slope of a leaky ReLU is not negative."""
    slope = view.operator.options.get("alpha", 0.0)
    return f"its alpha is {slope:g}; 0 and more are taken" if isinstance(slope, float) and slope < 0 else None


def quantized_pairs(view: OperatorView) -> Objection | None:
    """Input and output of QUANTIZE are a pair that its Eval knows (K/quantize_common.cc:99-232)."""
    kinds = DATA.of(view).elem_type, OUTPUT.of(view).elem_type
    known = QUANTIZED_PAIRS.get(kinds[0], ())
    return None if kinds[1] in known else f"it makes {kinds[1]} of {kinds[0]}; {listed(known)} for {kinds[0]}"


QUANTIZED_PAIRS = {
    "FLOAT32": ("INT8", "INT16"),
    "INT32": ("INT8", "INT16"),
    "INT16": ("INT8", "INT16", "INT32"),
    "INT8": ("INT8", "UINT8", "INT16", "INT32"),
    "UINT8": ("INT8",),
}
"""Outputs of QUANTIZE by input."""


def one_scale(view: OperatorView) -> Objection | None:
    """The output has one scale."""
    stored = OUTPUT.of(view).quantization
    count = len(stored.scales) if stored else 0
    return None if count == 1 else f"its output has {count} scales; 1 alone is taken"
