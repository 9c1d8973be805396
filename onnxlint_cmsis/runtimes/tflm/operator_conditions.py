"""What kernels check of an operator's tensors and options: one function for each condition, with its words."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, zip_longest
from math import floor, frexp, isfinite, log, prod
from struct import calcsize, unpack_from

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.operator_view import (
    BITS,
    INTEGER,
    OperatorView,
    quantized,
    scale,
    single,
    tensor_bytes,
    zero_point,
)
from onnxlint_cmsis.runtimes.tflm.preparation import Unpredictable
from onnxlint_cmsis.runtimes.tflm.rows import Condition, KernelOperand, KernelOutcome, Objection, condition


@condition
def equal(view: OperatorView, text: str, pair: Callable[[OperatorView], tuple[object, object]]) -> Objection | None:
    """Two numbers of the operator are one; `text` names both."""
    numbers = pair(view)
    return None if numbers[0] == numbers[1] else text.format(*numbers)


DATA, SECOND, THIRD = (
    KernelOperand(0, "its input"),
    KernelOperand(1, "its second input"),
    KernelOperand(2, "its third input"),
)

LEFT, AXIS, SIZES, INDICES = (
    KernelOperand(0, "its first input"),
    KernelOperand(1, "its axis"),
    KernelOperand(1, "its size"),
    KernelOperand(1, "its indices"),
)

OUTPUT = KernelOperand(0, "its output", written=True)
FLOAT, INT8, INT16 = ("FLOAT32",), ("INT8",), ("INT16",)
NUMBERS, MOVED = ("FLOAT32", "INT8", "INT16"), ("FLOAT32", "INT8")
INDEX_TYPES = ("INT32", "INT64")
UNSIZED = ("STRING", "VARIANT", "INT2", "UINT4", "FLOAT8_E4M3FN", "FLOAT8_E5M2")
"""Element types without a size (lite/micro/memory_helpers.cc:47)."""
FORMATS = {"INT8": "b", "UINT8": "B", "INT16": "h", "INT32": "i", "INT64": "q", "FLOAT32": "f", "BOOL": "?"}
"""Letters of `struct`."""
WORKED_OUT = ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "GATHER", "GATHER_ND", "EMBEDDING_LOOKUP")
"""Operators whose Prepare writes the sizes of its output."""
MOST_AXES = 6
"""RuntimeShape::kMaxSmallSize (lite/kernels/internal/runtime_shape.h:38)."""
INNER = "tensorflow/lite/kernels/internal/reference/integer_ops"
RUNTIME_SHAPE = "tensorflow/lite/kernels/internal/runtime_shape.h"
BELOW_ONE = "tensorflow/lite/kernels/internal/quantization_util.cc:117"
ABOVE_ONE = "tensorflow/lite/kernels/internal/quantization_util.cc:109"
BOOL_RESULTS = "2026-10-23"
"""Day of a wheel on PyPI that casts to BOOL; which commit after 90b983c2 brought it was not read."""
SCRATCH_AXES = "2026-01-16"
"""Day from which MEAN and SUM keep their axes in scratch (pull request 3281)."""
CONSTANT_CHECKS = "2025-08-08"
"""Day from which more kernels ask that sizes, axes and orders are constants (pull request 3141)."""
TYPE_CHECKS = "2024-07-22"
"""Day from which Prepare of the kernels of CMSIS-NN asks for types (pull request 2630)."""
INT64_SUMS = "2026-06-16"
"""Day from which reference code adds the products of int16 layers without a bias in int64 (pull request 3598)."""
GROUPS = "2024-02-09"
"""Day from which CONV_2D hands groups to CMSIS-NN, and looks at sizes (pull request 2446)."""
ANY_RANK = "2026-07-01"
"""Day from which operands of different shapes may have more than four axes (lite/kernels/internal/reference/)."""


def listed(words: tuple[str, ...]) -> str:
    """`FLOAT32, INT8 or INT16 is taken`; `FLOAT32 alone is taken`."""
    if len(words) == 1:
        return f"{words[0]} alone is taken"
    return f"{', '.join(words[:-1])} or {words[-1]} is taken"


def numbers_of(view: OperatorView, tensor: TfliteTensor, kind: str = "") -> tuple[float, ...] | None:
    """Values of a constant, read as `kind` or as its own type; None where the file does not hold them all."""
    letter = FORMATS.get(kind or tensor.elem_type)
    count = prod(tensor.shape)
    if letter is None or not view.constant(tensor) or tensor.encoding:
        return None
    data = view.model.bytes_of(tensor.buffer)
    whole = count >= 0 and len(data) >= count * calcsize(f"<{letter}")
    return unpack_from(f"<{count}{letter}", data) if whole else None


def always(text: str) -> Condition:
    """Every operator, for a reason."""
    return lambda _: text


def sized(view: OperatorView) -> Objection | None:
    """Every tensor has a type whose elements have a size."""
    operator = view.operator
    tensors = (view.subgraph.tensors[index] for index in (*operator.inputs, *operator.outputs) if index >= 0)
    bad = next((tensor for tensor in tensors if tensor.elem_type in UNSIZED), None)
    return f"'{bad.name}' is {bad.elem_type}, of which an element has no size" if bad else None


def dynamic(view: OperatorView) -> Objection | None:
    """Every output has sizes above 0, once Prepare has worked its own out; [0] counts as one number."""
    operator = view.operator
    if operator.op in WORKED_OUT:
        return None
    tensors = (view.subgraph.tensors[index] for index in operator.outputs if index >= 0)
    shapes = [_pooled(view)] if operator.op == "L2_POOL_2D" else [tensor.shape for tensor in tensors]
    if operator.op == "RESHAPE":
        data, output = DATA.of(view).shape, shapes[0]
        shapes = [
            tuple(
                prod(data) // (prod(size for size in output if size != -1) or 1) if size == -1 else size
                for size in output
            )
        ]
    bad = next((shape for shape in shapes if shape != (0,) and any(size < 1 for size in shape)), None)
    return f"its output has shape {list(bad)}; sizes that a run decides, and 0, are not taken" if bad else None


def _pooled(view: OperatorView) -> tuple[int, ...]:
    """Sizes that L2_POOL_2D works out for its output (K/l2_pool_2d.cc:84-87)."""
    shape = DATA.of(view).shape
    plane = []
    for length, side in zip(shape[1:3], ("h", "w"), strict=True):
        step = max(view.option(f"stride_{side}"), 1)
        window = view.option("filter_height" if side == "h" else "filter_width")
        plane.append(-(-length // step) if view.text("padding") == "SAME" else (length + step - window) // step)
    return (shape[0], *plane, shape[3])


@condition
def inputs(view: OperatorView, *counts: int) -> Objection | None:
    """As many inputs as one of the counts."""
    count = len(view.operator.inputs)
    taken = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return None if count in counts else f"it has {count} input{'s' * (count != 1)}, where the kernel takes {taken}"


def outputs(view: OperatorView) -> Objection | None:
    """One output."""
    count = len(view.operator.outputs)
    return None if count == 1 else f"it has {count} outputs, where the kernel takes 1"


def no_outputs(view: OperatorView) -> Objection | None:
    """No output."""
    count = len(view.operator.outputs)
    return f"it has {count} outputs; none is taken" if count else None


@condition
def single_value(view: OperatorView, operand: KernelOperand) -> Objection | None:
    """The operand has one element."""
    count = prod(operand.of(view).shape)
    return None if count == 1 else f"{operand.title} has {count} elements; 1 alone is taken"


VARIABLE = "tensorflow/lite/micro/micro_resource_variable.cc"


@condition
def fits_variable(view: OperatorView, operand: KernelOperand) -> Objection | None:
    """The operand has as many bytes as the resource variable, which is what is copied."""
    use, size = view.variable, tensor_bytes(operand.of(view))
    if use is None or use.bytes_ == size:
        return None
    return f"the variable has {use.bytes_} bytes, which are copied, and {operand.title} has {size}"


@condition
def given(view: OperatorView, operand: KernelOperand) -> Objection | None:
    """The operand is there."""
    tensor = view.output(operand.position) if operand.written else view.input(operand.position)
    return f"{operand.title} is missing" if tensor is None else None


@condition
def touched(view: OperatorView, operand: KernelOperand) -> Objection | None:
    """The kernel reads the operand before it asks whether it is there."""
    operand.of(view)
    return None


@condition
def typed(view: OperatorView, operand: KernelOperand, *types: str) -> Objection | None:
    """The operand has one of the element types."""
    kind = operand.of(view).elem_type
    return None if kind in types else f"{operand.title} is {kind}; {listed(types)}"


@condition
def same_type(view: OperatorView, left: KernelOperand, right: KernelOperand) -> Objection | None:
    """Both operands have one element type."""
    kinds = left.of(view).elem_type, right.of(view).elem_type
    alike = kinds[0] == kinds[1]
    return None if alike else f"{left.title} is {kinds[0]} and {right.title} {kinds[1]}; one type is taken for both"


@condition
def same_shape(view: OperatorView, left: KernelOperand, right: KernelOperand) -> Objection | None:
    """Both operands have one shape."""
    shapes = left.of(view).shape, right.of(view).shape
    alike = shapes[0] == shapes[1]
    text = f"{left.title} has shape {list(shapes[0])} and {right.title} {list(shapes[1])}; one shape is taken"
    return None if alike else text


@condition
def ranked(view: OperatorView, operand: KernelOperand, least: int, most: int) -> Objection | None:
    """The operand has `least` to `most` axes."""
    rank = len(operand.of(view).shape)
    taken = f"{least} alone is taken" if least == most else f"{least} to {most} are taken"
    return None if least <= rank <= most else f"{operand.title} has {rank} dimensions; {taken}"


@condition
def stored(view: OperatorView, operand: KernelOperand) -> Objection | None:
    """The file holds the operand's values."""
    tensor = operand.of(view)
    return None if view.constant(tensor) else f"{operand.title} is computed; a constant alone is taken"


@condition
def pointed(view: OperatorView, operand: KernelOperand, point: int) -> Objection | None:
    """The operand has the zero-point."""
    point_of = zero_point(operand.of(view))
    return None if point_of == point else f"{operand.title} has zero-point {point_of}; {point} alone is taken"


@condition
def same_steps(view: OperatorView, left: KernelOperand, right: KernelOperand) -> Objection | None:
    """Both operands have one scale and one zero-point."""
    steps = [(scale(operand.of(view)), zero_point(operand.of(view))) for operand in (left, right)]
    if steps[0] == steps[1]:
        return None
    texts = [f"scale {step:g} and zero-point {point}" for step, point in steps]
    return f"{left.title} has {texts[0]}, {right.title} {texts[1]}; the kernel does not rescale"


@condition
def no_steps(view: OperatorView, operand: KernelOperand) -> Objection | None:
    """The operand has no quantization."""
    return f"{operand.title} has a scale; plain numbers alone are taken" if quantized(operand.of(view)) else None


@condition
def with_steps(view: OperatorView, operand: KernelOperand) -> Objection | None:
    """The operand has a scale and a zero-point."""
    return None if quantized(operand.of(view)) else f"{operand.title} has no scale with a zero-point"


def unless(operand: KernelOperand, types: tuple[str, ...], condition: Condition) -> Condition:
    """The condition, for operands of other element types alone."""
    return lambda view: None if operand.of(view).elem_type in types else condition(view)


def where(operand: KernelOperand, types: tuple[str, ...], condition: Condition) -> Condition:
    """The condition, for operands of the element types alone."""
    return lambda view: condition(view) if operand.of(view).elem_type in types else None


def no_activation(view: OperatorView) -> Objection | None:
    """No activation is fused."""
    name = view.text("fused_activation_function")
    return f"the activation {name} is fused with it; none is taken" if name not in ("", "NONE") else None


def activation_left_out(view: OperatorView) -> Objection | None:
    """A fused activation of a kernel that works out its range without one."""
    name = view.text("fused_activation_function")
    return f"the activation {name} is fused with it, and is left out" if name not in ("", "NONE") else None


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


@condition
def plain_if_stretched(view: OperatorView, most: int) -> Objection | None:
    """Operands of different shapes have `most` axes at most."""
    shapes = [LEFT.of(view).shape, SECOND.of(view).shape]
    rank = max(map(len, shapes))
    return None if shapes[0] == shapes[1] or rank <= most else f"its inputs differ in shape and have {rank} dimensions"


@condition
def all_inputs(view: OperatorView, condition: Callable[[KernelOperand], Condition]) -> Objection | None:
    """A condition that holds for every input."""
    operands = (KernelOperand(position, f"input {position}") for position in range(len(view.operator.inputs)))
    return next(filter(None, (condition(operand)(view) for operand in operands)), None)


@condition
def axis_within(view: OperatorView, operand: KernelOperand, data: KernelOperand, more: int = 0) -> Objection | None:
    """A constant axis is one of the data's; `more` allows further ones behind the last.

    Raises Unpredictable where the file holds fewer int32 than the kernel reads.
    """
    rank, stored_axes = len(data.of(view).shape), operand.of(view)
    axes = numbers_of(view, stored_axes, "INT32")
    if axes is None and view.constant(stored_axes) and not stored_axes.encoding:
        count = len(view.model.bytes_of(stored_axes.buffer))
        raise Unpredictable(f"{operand.title} has {count} bytes; {4 * prod(stored_axes.shape)} are read")
    axes = axes or ()
    bad = [int(axis) for axis in axes if not -rank - more <= axis < rank + more]
    return f"axis {bad[0]} of {data.title}, which has {rank} dimensions" if bad else None


def reduced_axes(view: OperatorView) -> Objection | None:
    """Constant axes of a reduction are the input's; a scalar has none to look at."""
    return axis_within(AXIS, DATA)(view) if DATA.of(view).shape else None


def falling(view: OperatorView) -> Objection | None:
    """The slope of a leaky ReLU is not negative."""
    slope = view.operator.options.get("alpha", 0.0)
    return f"its alpha is {slope:g}; 0 and more are taken" if isinstance(slope, float) and slope < 0 else None


def few_axes(view: OperatorView) -> Objection | None:
    """Axes of a reduction that fit int[2], and a rank that fits int[5] (K/reduce_common.cc of 2025-08-05:32)."""
    data, output, axes = DATA.of(view).shape, OUTPUT.of(view).shape, view.input(1)
    apart = len(data) - len(output)
    count = apart or sum(before != after for before, after in zip(data, output, strict=False))
    if axes is not None:
        numbers = numbers_of(view, axes, "INT32")
        count = prod(axes.shape) if numbers is None else len({int(axis) % max(len(data), 1) for axis in numbers})
    if count > 2:
        return f"{count} axes are written into an array of 2 on the stack"
    return f"the indices of {len(data)} axes are written into an array of 5 on the stack" if len(data) > 5 else None


def centred(view: OperatorView) -> Objection | None:
    """Pixels are those nearest to the corner of a pixel; half_pixel_centers asks for others."""
    if not view.option("half_pixel_centers"):
        return None
    aligned = bool(view.option("align_corners"))
    for before, after in zip(DATA.of(view).shape[1:3], OUTPUT.of(view).shape[1:3], strict=False):
        asked, given_ = (
            [nearest(pixel, before, after, offset, aligned=aligned) for pixel in range(after)] for offset in (0.5, 0.0)
        )
        if asked != given_:
            return "half_pixel_centers is not looked at"
    return None


def nearest(pixel: int, before: int, after: int, offset: float, *, aligned: bool) -> int:
    """GetNearestNeighbor (lite/kernels/internal/reference/resize_nearest_neighbor.h)."""
    step = single((before - 1) / (after - 1) if aligned and after > 1 else before / after)
    source = single((pixel + offset) * step)
    return max(0, min(floor(source + 0.5 if aligned else source), before - 1))


def contiguous(view: OperatorView) -> Objection | None:
    """Constant axes stand beside each other."""
    rank = len(DATA.of(view).shape)
    axes = sorted(int(axis) % max(rank, 1) for axis in numbers_of(view, AXIS.of(view), "INT32") or ())
    apart = any(left + 1 != right for left, right in pairwise(axes))
    return f"axes {axes} do not stand beside each other" if apart else None


def broadcast_to_shape(view: OperatorView) -> Objection | None:
    """Shapes of BROADCAST_TO and its constant fit (K/broadcast_to.cc:34)."""
    data, sizes, output = DATA.of(view).shape, SIZES.of(view), OUTPUT.of(view).shape
    wanted = numbers_of(view, sizes)
    if len(sizes.shape) != 1 or sizes.shape[0] != len(output):
        return f"its size has shape {list(sizes.shape)} and its output {len(output)} dimensions"
    if len(data) > len(output) or len(output) > 5:
        return f"its input has {len(data)} dimensions and its output {len(output)}; 5 are the most"
    if wanted is None:
        return None
    fits = all(size in (1, want) for size, want in zip(reversed(data), reversed(wanted), strict=False))
    exact = tuple(map(int, wanted)) == output
    return (
        None if fits and exact else f"{list(data)} does not become {list(output)} by the size {list(map(int, wanted))}"
    )


def blocks_fit(view: OperatorView) -> Objection | None:
    """A block size above 0 divides what DEPTH_TO_SPACE takes apart."""
    size, depth = view.option("block_size"), (*DATA.of(view).shape, 0)[3]
    if size < 1:
        return f"its block size is {size}; at least 1 is taken"
    return None if depth % (size * size) == 0 else f"{depth} channels are no multiple of {size} times {size}"


def planes_fit(view: OperatorView) -> Objection | None:
    """A block size divides the plane that SPACE_TO_DEPTH takes apart. Raises Unpredictable for a size of 0."""
    size, plane = view.option("block_size"), DATA.of(view).shape[1:3]
    if size == 0:
        raise Unpredictable("a block size of 0, by which the kernel divides")
    return None if all(length % size == 0 for length in plane) else f"{list(plane)} is no multiple of the block {size}"


def update_fits(view: OperatorView) -> Objection | None:
    """Indices and update of DYNAMIC_UPDATE_SLICE fit its operand (K/dynamic_update_slice.cc:153-161)."""
    data, update, indices = (operand.of(view).shape for operand in (LEFT, SECOND, THIRD))
    if len(indices) != 1 or indices[0] != len(data):
        return f"its indices have shape {list(indices)} for {len(data)} dimensions"
    fits = len(update) == len(data) and all(part <= whole for part, whole in zip(update, data, strict=True))
    return None if fits else f"its update of shape {list(update)} does not fit into {list(data)}"


def embedding_fits(view: OperatorView) -> Objection | None:
    """The output of EMBEDDING_LOOKUP holds a row for every index (K/embedding_lookup.cc:98-112)."""
    rows, table, output = (operand.of(view) for operand in (LEFT, SECOND, OUTPUT))
    if min(output.shape, default=0) < 0:
        return None
    if len(output.shape) < len(table.shape):
        return f"its output has {len(output.shape)} dimensions, fewer than its table"
    needed = prod((*rows.shape[:1], *table.shape[1:], *output.shape[len(table.shape) :]))
    return None if needed <= prod(output.shape) else f"its output of shape {list(output.shape)} does not hold {needed}"


def packed(view: OperatorView) -> Objection | None:
    """PACK reads as many inputs as its options say. Raises Unpredictable where they are not there."""
    for position in range(view.option("values_count")):
        KernelOperand(position, f"input {position}").of(view)
    return None


def rows_within(view: OperatorView) -> Objection | None:
    """Constant indices of EMBEDDING_LOOKUP are rows of its table."""
    rows = SECOND.of(view).shape[0]
    bad = [int(row) for row in numbers_of(view, LEFT.of(view)) or () if not 0 <= row < rows]
    return f"index {bad[0]} of a table with {rows} rows" if bad else None


def expanded(view: OperatorView) -> Objection | None:
    """A constant axis of EXPAND_DIMS, and the output with one size of 1 more (K/expand_dims.cc:55)."""
    axis, data, output = AXIS.of(view), DATA.of(view).shape, OUTPUT.of(view).shape
    values = numbers_of(view, axis)
    if len(axis.shape) > 1 or axis.elem_type != "INT32" or not values:
        return f"its axis is {axis.elem_type} of shape {list(axis.shape)}; one INT32 is taken"
    position = int(values[0]) + (len(data) + 1 if values[0] < 0 else 0)
    if position > len(data):
        return f"axis {position} is beyond its {len(data)} dimensions"
    wanted = (*data[: max(position, 0)], *([1] if position >= 0 else []), *data[max(position, 0) :])
    return None if output == wanted else f"its output has shape {list(output)}; {list(wanted)} is taken"


def filled(view: OperatorView) -> Objection | None:
    """Sizes of FILL are constants, and those of its output (K/fill.cc:41)."""
    sizes, output = LEFT.of(view), OUTPUT.of(view).shape
    if len(sizes.shape) != 1 or sizes.shape[0] != len(output):
        return f"its sizes have shape {list(sizes.shape)} and its output {len(output)} dimensions"
    if sizes.elem_type not in ("INT8", "INT16", *INDEX_TYPES):
        return f"its sizes are {sizes.elem_type}; INT8, INT16, INT32 or INT64 is taken"
    values = numbers_of(view, sizes)
    text = f"its output has shape {list(output)}; the sizes are {list(values or ())}"
    return None if values is None or tuple(map(int, values)) == output else text


def gathered(view: OperatorView) -> Objection | None:
    """Axis and batches of GATHER lie within its operands (K/gather.cc:143-159)."""
    data, indices = DATA.of(view).shape, INDICES.of(view).shape
    axis, batches = view.option("axis"), view.option("batch_dims")
    axis += len(data) if axis < 0 else 0
    batches += len(indices) if batches < 0 else 0
    if not 0 <= axis < len(data):
        return f"axis {view.option('axis')} of an input with {len(data)} dimensions"
    within = 0 <= batches <= axis and batches < len(data) and batches <= len(indices)
    alike = within and data[:batches] == indices[:batches]
    return None if alike else f"{view.option('batch_dims')} batch dimensions of {list(data)} and {list(indices)}"


def gathered_points(view: OperatorView) -> Objection | None:
    """Each index of GATHER_ND names at most 5 axes, all of its input (K/gather_nd.cc:65-84)."""
    data, indices = DATA.of(view).shape, INDICES.of(view).shape
    if not data or not indices:
        return "its input or its indices have no dimensions"
    depth = indices[-1]
    return None if depth <= min(len(data), 5) else f"an index names {depth} axes of {len(data)}; 5 are the most"


def squeezed(view: OperatorView) -> Objection | None:
    """Axes of SQUEEZE are the input's and of size 1 (K/squeeze.cc:74)."""
    shape = DATA.of(view).shape
    for axis in _squeezed_axes(view):
        if not -len(shape) <= axis < len(shape) or shape[axis] != 1:
            return f"axis {axis} of shape {list(shape)} does not have size 1"
    return None


def _squeezed_axes(view: OperatorView) -> tuple[int, ...]:
    axes = view.operator.options.get("squeeze_dims")
    return tuple(int(axis) for axis in axes) if isinstance(axes, (list, tuple)) else ()


def squeezed_output(view: OperatorView) -> Objection | None:
    """What SQUEEZE leaves is no larger than the output's sizes (K/squeeze.cc:83)."""
    shape, output = DATA.of(view).shape, OUTPUT.of(view).shape
    axes = {axis % len(shape) for axis in _squeezed_axes(view)} if shape else set()
    left = [size for axis, size in enumerate(shape) if not (axis in axes or (not axes and size == 1))]
    pairs = zip_longest(left, output, fillvalue=None)
    bad = any(size is not None and (room is None or room < size) for size, room in pairs)
    return f"its output has shape {list(output)}; {left} is taken" if bad else None


def same_bytes(view: OperatorView) -> Objection | None:
    """Input and output have as many bytes."""
    sizes = [prod(tensor.shape) * BITS.get(tensor.elem_type, 0) for tensor in (DATA.of(view), OUTPUT.of(view))]
    text = f"its input has {sizes[0] // 8} bytes and its output {sizes[1] // 8}"
    return None if sizes[0] == sizes[1] else text


def same_elements(view: OperatorView) -> Objection | None:
    """RESHAPE keeps the number of elements; one size may be -1 (K/reshape_common.cc:56-78)."""
    data, shape = DATA.of(view).shape, OUTPUT.of(view).shape
    if len(view.operator.inputs) == 1 and shape == (0,):
        shape = ()
    if shape.count(-1) > 1:
        return f"its output has shape {list(shape)}; one size is worked out at most"
    rest = prod(size for size in shape if size != -1)
    fits = prod(data) == rest if -1 not in shape else rest != 0 and prod(data) % rest == 0
    return None if fits else f"{list(data)} and {list(shape)} have different numbers of elements"


def aligned_once(view: OperatorView) -> Objection | None:
    """Corners or centers are aligned, not both."""
    both = view.option("half_pixel_centers") and view.option("align_corners")
    return "half_pixel_centers and align_corners are both set" if both else None


def two_sizes(view: OperatorView) -> Objection | None:
    """The size has two elements."""
    shape = SIZES.of(view).shape
    return None if shape[:1] == (2,) else f"its size has shape {list(shape)}; [2] alone is taken"


def selected_shapes(view: OperatorView) -> Objection | None:
    """Shapes of SELECT_V2 broadcast to that of its output (K/select.cc:46)."""
    shapes = [operand.of(view).shape for operand in (LEFT, SECOND, THIRD)]
    output = OUTPUT.of(view).shape
    if shapes[0] == shapes[1] == shapes[2] or all(prod(shape) == 1 for shape in (*shapes, output)):
        return None
    rank = max(map(len, shapes))
    wanted = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        largest = 0 if 0 in sizes else max(sizes)
        if any(size not in (1, largest) for size in sizes):
            return f"shapes {', '.join(str(list(shape)) for shape in shapes)} do not fit together"
        wanted.append(largest)
    return None if output == tuple(wanted) else f"its output has shape {list(output)}; {wanted} is taken"


def selected_ranks(view: OperatorView) -> Objection | None:
    """Operands of different shapes have five axes at most (BroadcastSelect5DSlow)."""
    shapes = [operand.of(view).shape for operand in (LEFT, SECOND, THIRD)]
    deep = max(map(len, shapes)) > 5 and not shapes[0] == shapes[1] == shapes[2]
    return f"its inputs differ in shape and have {max(map(len, shapes))} dimensions" if deep else None


def strided(view: OperatorView) -> Objection | None:
    """The output of STRIDED_SLICE has the sizes that its constants give (K/strided_slice_common.cc:92).

    The kernel knows neither ellipsis nor new axes, and reads as many int32 of each constant as the input has axes.
    """
    data, output = DATA.of(view).shape, OUTPUT.of(view).shape
    bounds = []
    for position in (1, 2, 3):
        tensor = KernelOperand(position, f"input {position}").of(view)
        values = view.model.bytes_of(tensor.buffer)
        if len(values) < 4 * len(data):
            raise Unpredictable(f"input {position} has {len(values)} bytes; {4 * len(data)} are read")
        bounds.append(unpack_from(f"<{len(data)}i", values))
    wanted = []
    for axis, (begin, end, step) in enumerate(zip(*bounds, strict=True)):
        if step == 0:
            return "a stride is 0"
        length = _strided_length(view, axis, (begin, end, step), data[axis])
        if not view.option("shrink_axis_mask") & 1 << axis:
            wanted.append(length)
    unread = next((name for name in ("ellipsis_mask", "new_axis_mask") if view.option(name)), "")
    more = f", and the kernel does not read {unread}" if unread else ""
    fits = output[: len(wanted)] == tuple(wanted) and len(output) == len(wanted)
    return None if fits else f"its output has shape {list(output)}; {wanted} is taken{more}"


def _strided_length(view: OperatorView, axis: int, bounds: tuple[int, int, int], size: int) -> int:
    begin, end, step = bounds
    low, high = (0, size) if step > 0 else (-1, size - 1)
    if size == 0:
        begin = end = 0
    else:
        first, last = (low, high) if step > 0 else (high, low)
        begin += size if begin < 0 else 0
        begin = first if view.option("begin_mask") & 1 << axis else min(max(begin, low), high)
        end += size if end < 0 else 0
        end = last if view.option("end_mask") & 1 << axis else min(max(end, low), high)
    if view.option("shrink_axis_mask") & 1 << axis:
        end = begin + 1
    return max(-((begin - end) // step), 0)


def subgraphs_of_if(view: OperatorView) -> Objection | None:
    """The subgraphs of IF are there, and the first takes and gives as much as the operator (K/if.cc:74-83)."""
    return _subgraph(view, "then_subgraph_index", 1) or _subgraph(view, "else_subgraph_index", None)


def subgraphs_of_while(view: OperatorView) -> Objection | None:
    """The subgraphs of WHILE take and give as much as the operator (K/while.cc:60-72)."""
    ends = len(view.operator.inputs), len(view.operator.outputs)
    if ends[0] != ends[1]:
        return f"it has {ends[0]} inputs and {ends[1]} outputs"
    return _subgraph(view, "cond_subgraph_index", 0, gives=False) or _subgraph(view, "body_subgraph_index", 0)


def _subgraph(view: OperatorView, option: str, first: int | None, *, gives: bool = True) -> Objection | None:
    """What is wrong with a subgraph that takes the inputs from `first` on; None where its ends are not compared."""
    index = view.option(option)
    if not 0 <= index < len(view.model.subgraphs):
        return f"{option} is {index} of {len(view.model.subgraphs)} subgraphs"
    if first is None:
        return None
    body = view.model.subgraphs[index]
    taken, given_out = len(view.operator.inputs) - first, len(view.operator.outputs)
    alike = len(body.inputs) == taken and (not gives or len(body.outputs) == given_out)
    ends = f"{len(body.inputs)} inputs and {len(body.outputs)} outputs"
    return None if alike else f"subgraph {index} has {ends}; the operator hands on {taken} and takes {given_out}"


@condition
def any_zero(view: OperatorView, operand: KernelOperand) -> Objection | None:
    """No value of a constant is 0."""
    zero = 0 in (numbers_of(view, operand.of(view)) or ())
    return f"{operand.title} is a constant with a 0 in it, by which it divides" if zero else None


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


def padded_axes(view: OperatorView) -> Objection | None:
    """The paddings of MIRROR_PAD have a row for each axis."""
    rows, rank = SECOND.of(view).shape, len(DATA.of(view).shape)
    return None if len(rows) == 2 and rows[0] == rank else f"its paddings have shape {list(rows)} for {rank} dimensions"


def image_mean(view: OperatorView) -> Objection | None:
    """The mean of an image's rows and columns leaves one of each (lite/kernels/internal/reference/reduce.h:352)."""
    data, axes, output = DATA.of(view), numbers_of(view, AXIS.of(view), "INT32"), OUTPUT.of(view).shape
    image = data.elem_type == "FLOAT32" and len(data.shape) == 4 and view.option("keep_dims")
    if not image or axes is None or sorted(axes) != [1, 2]:
        return None
    extended = (1,) * (4 - len(output)) + output
    return None if len(output) <= 4 and extended[1:3] == (1, 1) else f"its output has shape {list(output)}"


PREPARE, INVOKE, WRONG = KernelOutcome.ALLOCATE_FAILS, KernelOutcome.INVOKE_FAILS, KernelOutcome.WRONG
ABORTS_PREPARE, ABORTS_INVOKE = KernelOutcome.ABORTS_PREPARE, KernelOutcome.ABORTS_INVOKE
HALTS_PREPARE, HALTS_INVOKE = KernelOutcome.HALTS_PREPARE, KernelOutcome.HALTS_INVOKE
