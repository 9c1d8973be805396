"""Kernels of TensorFlow Lite Micro: what they check, in order, what their Prepare asks for, and what their Eval calls.

A row is a check: what it asks for, what happens where that does not hold, and the line. `KERNELS` has the operators
with a kernel of CMSIS-NN, `PLAIN` the same in a build without it, `LIMITS` all others. Lines are those of revision
90b983c2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import pairwise, zip_longest
from math import floor, frexp, isfinite, log, prod
from struct import calcsize, unpack_from

from onnxlint_cmsis.cmsis_nn.library import ALL_PRODUCTS, products_in_32_bits
from onnxlint_cmsis.formats.tflite.file_model import TfliteOperator, TfliteTensor
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Dims, KernelCall, Level, Pair
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.runtimes.tflm.bias_types import BIASED
from onnxlint_cmsis.runtimes.tflm.preparation import (
    BITS,
    INTEGER,
    NO_FILTER,
    FailedCheck,
    OperatorView,
    Preparation,
    Refused,
    Stage,
    Unpredictable,
    activation_dims,
    quantized,
    scale,
    single,
    tensor_bytes,
    window,
    zero_point,
)
from onnxlint_cmsis.runtimes.tflm.resolver import CUSTOM_METHODS
from onnxlint_cmsis.runtimes.tflm.result_types import TYPED
from onnxlint_cmsis.runtimes.tflm.revisions import TflmRevision, holds
from onnxlint_cmsis.runtimes.tflm.rows import Condition, KernelLimit, KernelOperand, KernelOutcome, OfLayer, condition
from onnxlint_cmsis.runtimes.tflm.sizes import COUNTED, STATED, as_many_elements
from onnxlint_cmsis.runtimes.tflm.sums import adds_in_int32, overflow


@condition
def equal(view: OperatorView, text: str, pair: Callable[[OperatorView], tuple[object, object]]) -> str:
    """Two numbers of the operator are one; `text` names both."""
    numbers = pair(view)
    return "" if numbers[0] == numbers[1] else text.format(*numbers)


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


def sized(view: OperatorView) -> str:
    """Every tensor has a type whose elements have a size."""
    operator = view.operator
    tensors = (view.subgraph.tensors[index] for index in (*operator.inputs, *operator.outputs) if index >= 0)
    bad = next((tensor for tensor in tensors if tensor.elem_type in UNSIZED), None)
    return f"'{bad.name}' is {bad.elem_type}, of which an element has no size" if bad else ""


def dynamic(view: OperatorView) -> str:
    """Every output has sizes above 0, once Prepare has worked its own out; [0] counts as one number."""
    operator = view.operator
    if operator.op in WORKED_OUT:
        return ""
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
    return f"its output has shape {list(bad)}; sizes that a run decides, and 0, are not taken" if bad else ""


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
def inputs(view: OperatorView, *counts: int) -> str:
    """As many inputs as one of the counts."""
    count = len(view.operator.inputs)
    taken = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return "" if count in counts else f"it has {count} input{'s' * (count != 1)}, where the kernel takes {taken}"


def outputs(view: OperatorView) -> str:
    """One output."""
    count = len(view.operator.outputs)
    return "" if count == 1 else f"it has {count} outputs, where the kernel takes 1"


def no_outputs(view: OperatorView) -> str:
    """No output."""
    count = len(view.operator.outputs)
    return f"it has {count} outputs; none is taken" if count else ""


@condition
def single_value(view: OperatorView, operand: KernelOperand) -> str:
    """The operand has one element."""
    count = prod(operand.of(view).shape)
    return "" if count == 1 else f"{operand.title} has {count} elements; 1 alone is taken"


VARIABLE = "tensorflow/lite/micro/micro_resource_variable.cc"


@condition
def fits_variable(view: OperatorView, operand: KernelOperand) -> str:
    """The operand has as many bytes as the resource variable, which is what is copied."""
    use, size = view.variable, tensor_bytes(operand.of(view))
    if use is None or use.bytes_ == size:
        return ""
    return f"the variable has {use.bytes_} bytes, which are copied, and {operand.title} has {size}"


@condition
def given(view: OperatorView, operand: KernelOperand) -> str:
    """The operand is there."""
    tensor = view.output(operand.position) if operand.written else view.input(operand.position)
    return f"{operand.title} is missing" if tensor is None else ""


@condition
def touched(view: OperatorView, operand: KernelOperand) -> str:
    """The kernel reads the operand before it asks whether it is there."""
    operand.of(view)
    return ""


@condition
def typed(view: OperatorView, operand: KernelOperand, *types: str) -> str:
    """The operand has one of the element types."""
    kind = operand.of(view).elem_type
    return "" if kind in types else f"{operand.title} is {kind}; {listed(types)}"


@condition
def same_type(view: OperatorView, left: KernelOperand, right: KernelOperand) -> str:
    """Both operands have one element type."""
    kinds = left.of(view).elem_type, right.of(view).elem_type
    alike = kinds[0] == kinds[1]
    return "" if alike else f"{left.title} is {kinds[0]} and {right.title} {kinds[1]}; one type is taken for both"


@condition
def same_shape(view: OperatorView, left: KernelOperand, right: KernelOperand) -> str:
    """Both operands have one shape."""
    shapes = left.of(view).shape, right.of(view).shape
    alike = shapes[0] == shapes[1]
    text = f"{left.title} has shape {list(shapes[0])} and {right.title} {list(shapes[1])}; one shape is taken"
    return "" if alike else text


@condition
def ranked(view: OperatorView, operand: KernelOperand, least: int, most: int) -> str:
    """The operand has `least` to `most` axes."""
    rank = len(operand.of(view).shape)
    taken = f"{least} alone is taken" if least == most else f"{least} to {most} are taken"
    return "" if least <= rank <= most else f"{operand.title} has {rank} dimensions; {taken}"


@condition
def stored(view: OperatorView, operand: KernelOperand) -> str:
    """The file holds the operand's values."""
    tensor = operand.of(view)
    return "" if view.constant(tensor) else f"{operand.title} is computed; a constant alone is taken"


@condition
def pointed(view: OperatorView, operand: KernelOperand, point: int) -> str:
    """The operand has the zero-point."""
    point_of = zero_point(operand.of(view))
    return "" if point_of == point else f"{operand.title} has zero-point {point_of}; {point} alone is taken"


@condition
def same_steps(view: OperatorView, left: KernelOperand, right: KernelOperand) -> str:
    """Both operands have one scale and one zero-point."""
    steps = [(scale(operand.of(view)), zero_point(operand.of(view))) for operand in (left, right)]
    if steps[0] == steps[1]:
        return ""
    texts = [f"scale {step:g} and zero-point {point}" for step, point in steps]
    return f"{left.title} has {texts[0]}, {right.title} {texts[1]}; the kernel does not rescale"


@condition
def no_steps(view: OperatorView, operand: KernelOperand) -> str:
    """The operand has no quantization."""
    return f"{operand.title} has a scale; plain numbers alone are taken" if quantized(operand.of(view)) else ""


@condition
def with_steps(view: OperatorView, operand: KernelOperand) -> str:
    """The operand has a scale and a zero-point."""
    return "" if quantized(operand.of(view)) else f"{operand.title} has no scale with a zero-point"


def unless(operand: KernelOperand, types: tuple[str, ...], condition: Condition) -> Condition:
    """The condition, for operands of other element types alone."""
    return lambda view: "" if operand.of(view).elem_type in types else condition(view)


def where(operand: KernelOperand, types: tuple[str, ...], condition: Condition) -> Condition:
    """The condition, for operands of the element types alone."""
    return lambda view: condition(view) if operand.of(view).elem_type in types else ""


def no_activation(view: OperatorView) -> str:
    """No activation is fused."""
    name = view.text("fused_activation_function")
    return f"the activation {name} is fused with it; none is taken" if name not in ("", "NONE") else ""


def activation_left_out(view: OperatorView) -> str:
    """A fused activation of a kernel that works out its range without one."""
    name = view.text("fused_activation_function")
    return f"the activation {name} is fused with it, and is left out" if name not in ("", "NONE") else ""


def activation_fits(view: OperatorView) -> str:
    """The ends of a fused activation, divided by the output's scale, are 32-bit integers (kernel_util.cc:344)."""
    ends = {"RELU": 0.0, "RELU6": 6.0, "RELU_N1_TO_1": 1.0}
    name, output = view.text("fused_activation_function"), view.output()
    if output is None or output.elem_type not in INTEGER or name not in ends:
        return ""
    step = scale(output)
    if abs(_ratio(ends[name], step)) <= 2.0**31:
        return ""
    return f"the scale of its output, {step:g}, is too small for the {name} fused with it"


UTIL = "tensorflow/lite/kernels/kernel_util.cc"
ACTIVATION = f"{UTIL}:349"


def _scale_count(view: OperatorView) -> int:
    weights = SECOND.of(view).quantization
    return len(weights.scales) if weights else 0


def channel_scales(view: OperatorView, axis: int) -> str:
    """Several scales of weights are those of the output channels."""
    weights, count = SECOND.of(view), _scale_count(view)
    if count < 2 or weights.quantization is None:
        return ""
    along = weights.quantization.axis
    sizes = (weights.shape[axis], weights.shape[along] if 0 <= along < len(weights.shape) else 0)
    return "" if sizes == (count, count) else f"its weights of shape {list(weights.shape)} have {count} scales"


@condition
def below_one(view: OperatorView, *factors: Callable[[OperatorView], float]) -> str:
    """Each factor that rescales lies between 0 and 1, as QuantizeMultiplierSmallerThanOneExp asks."""
    bad = [value for value in (factor(view) for factor in factors) if not 0 < value < 1 - 2.0**-33]
    return f"its scales give the factor {bad[0]:g}; one between 0 and 1 is taken" if bad else ""


def above_one(view: OperatorView) -> str:
    """The input's scale is at least 2^-26 / beta, as PreprocessSoftmaxScaling asks (quantization_util.cc:263)."""
    beta = view.operator.options.get("beta", 1.0) if view.operator.op == "SOFTMAX" else 1.0
    factor = (beta if isinstance(beta, (int, float)) else 1.0) * scale(DATA.of(view)) * (1 << 26)
    text = f"the scale of its input, {scale(DATA.of(view)):g}, times beta is not above {2.0**-26:g}"
    return "" if factor > 1 else text


def _ratio(numerator: float, denominator: float) -> float:
    """The quotient as floats give it; NaN for 0 / 0."""
    if denominator:
        return numerator / denominator
    return float("inf") if numerator else float("nan")


def _step(operand: KernelOperand) -> Callable[[OperatorView], float]:
    return lambda view: scale(operand.of(view))


def _shared(view: OperatorView) -> float:
    """The factor of an input against twice itself."""
    return _ratio(scale(DATA.of(view)), 2 * scale(DATA.of(view)))


def _summed(view: OperatorView) -> float:
    """The factor from sums in steps of 2^-20 of twice the input's scale to the output's (K/add_n.cc:110)."""
    return _ratio(2 * scale(DATA.of(view)), (1 << 20) * scale(OUTPUT.of(view)))


@condition
def pair_factors(view: OperatorView, exact: Callable[[float], float]) -> str:
    """The factors of both inputs and the output lie between 0 and 1, in the precision that the kernel has.

    That is double for sums (K/add_common.cc:49-56) and single for differences (K/sub_common.cc:52-60).
    """
    left, right, output = (scale(operand.of(view)) for operand in (LEFT, SECOND, OUTPUT))
    twice = exact(2 * max(left, right))
    steps = exact((1 << (15 if OUTPUT.of(view).elem_type == "INT16" else 20)) * output)
    factors = (exact(_ratio(*pair)) for pair in ((left, twice), (right, twice), (twice, steps)))
    return below_one(*(lambda _, value=value: value for value in factors))(view)


def bias_fits(view: OperatorView) -> str:
    """The bias of a dense layer is in steps of the input's scale times that of the weights."""
    bias = view.input(2)
    if bias is None:
        return ""
    product, step = scale(DATA.of(view)) * scale(SECOND.of(view)), scale(bias)
    near = abs(_ratio(abs(product - step), scale(OUTPUT.of(view)))) <= 0.02
    return "" if near else f"its bias has scale {step:g}; {product:g} is taken, that of input times weights"


def squared_factors(view: OperatorView) -> str:
    """The factors of both inputs lie between 0 and 1 (K/squared_difference.cc:62-77)."""
    left, right = scale(LEFT.of(view)), scale(SECOND.of(view))
    twice = 2 * max(left, right)
    return below_one(lambda _: _ratio(left, twice), lambda _: _ratio(right, twice))(view)


def exponent_at_most_zero(view: OperatorView) -> str:
    """The input's scale is less than 128 times the output's (K/hard_swish_common.cc:68)."""
    factor = single(_ratio(single(scale(DATA.of(view)) / 128), scale(OUTPUT.of(view))))
    small = not isfinite(factor) or frexp(factor)[1] <= 0
    return "" if small else "the scale of its input is 128 times that of its output, or more"


def power_of_two(view: OperatorView) -> str:
    """The output's scale is 2^-15 (CheckedLog2 in lite/kernels/internal/quantization_util.cc:395)."""
    step = scale(OUTPUT.of(view))
    exact = step > 0 and abs(log(step) / log(2) + 15) < 1e-3
    return "" if exact else f"its output has scale {step:g}; 1/32768 alone is taken"


def gentle_scale(view: OperatorView) -> str:
    """The input's scale is less than 2.67, so that its multiplier has 16 bits."""
    step = scale(DATA.of(view))
    return "" if step * 12288 < 32768 else f"its input has scale {step:g}; less than 2.667 is taken"


@condition
def scaled(view: OperatorView, operand: KernelOperand, step: float, point: int) -> str:
    """The operand has the scale and the zero-point that the kernel takes for granted."""
    steps = scale(operand.of(view)), zero_point(operand.of(view))
    text = f"{operand.title} has scale {steps[0]:g} and zero-point {steps[1]}"
    return "" if steps == (step, point) else f"{text}; the kernel takes {step:g} and {point} for granted"


@condition
def plain_if_stretched(view: OperatorView, most: int) -> str:
    """Operands of different shapes have `most` axes at most."""
    shapes = [LEFT.of(view).shape, SECOND.of(view).shape]
    rank = max(map(len, shapes))
    return "" if shapes[0] == shapes[1] or rank <= most else f"its inputs differ in shape and have {rank} dimensions"


@condition
def all_inputs(view: OperatorView, condition: Callable[[KernelOperand], Condition]) -> str:
    """A condition that holds for every input."""
    operands = (KernelOperand(position, f"input {position}") for position in range(len(view.operator.inputs)))
    return next(filter(None, (condition(operand)(view) for operand in operands)), "")


@condition
def axis_within(view: OperatorView, operand: KernelOperand, data: KernelOperand, more: int = 0) -> str:
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
    return f"axis {bad[0]} of {data.title}, which has {rank} dimensions" if bad else ""


def reduced_axes(view: OperatorView) -> str:
    """Constant axes of a reduction are the input's; a scalar has none to look at."""
    return axis_within(AXIS, DATA)(view) if DATA.of(view).shape else ""


def falling(view: OperatorView) -> str:
    """The slope of a leaky ReLU is not negative."""
    slope = view.operator.options.get("alpha", 0.0)
    return f"its alpha is {slope:g}; 0 and more are taken" if isinstance(slope, float) and slope < 0 else ""


def few_axes(view: OperatorView) -> str:
    """Axes of a reduction that fit int[2], and a rank that fits int[5] (K/reduce_common.cc of 2025-08-05:32)."""
    data, output, axes = DATA.of(view).shape, OUTPUT.of(view).shape, view.input(1)
    apart = len(data) - len(output)
    count = apart or sum(before != after for before, after in zip(data, output, strict=False))
    if axes is not None:
        numbers = numbers_of(view, axes, "INT32")
        count = prod(axes.shape) if numbers is None else len({int(axis) % max(len(data), 1) for axis in numbers})
    if count > 2:
        return f"{count} axes are written into an array of 2 on the stack"
    return f"the indices of {len(data)} axes are written into an array of 5 on the stack" if len(data) > 5 else ""


def centred(view: OperatorView) -> str:
    """Pixels are those nearest to the corner of a pixel; half_pixel_centers asks for others."""
    if not view.option("half_pixel_centers"):
        return ""
    aligned = bool(view.option("align_corners"))
    for before, after in zip(DATA.of(view).shape[1:3], OUTPUT.of(view).shape[1:3], strict=False):
        asked, given_ = (
            [nearest(pixel, before, after, offset, aligned=aligned) for pixel in range(after)] for offset in (0.5, 0.0)
        )
        if asked != given_:
            return "half_pixel_centers is not looked at"
    return ""


def nearest(pixel: int, before: int, after: int, offset: float, *, aligned: bool) -> int:
    """GetNearestNeighbor (lite/kernels/internal/reference/resize_nearest_neighbor.h)."""
    step = single((before - 1) / (after - 1) if aligned and after > 1 else before / after)
    source = single((pixel + offset) * step)
    return max(0, min(floor(source + 0.5 if aligned else source), before - 1))


def contiguous(view: OperatorView) -> str:
    """Constant axes stand beside each other."""
    rank = len(DATA.of(view).shape)
    axes = sorted(int(axis) % max(rank, 1) for axis in numbers_of(view, AXIS.of(view), "INT32") or ())
    apart = any(left + 1 != right for left, right in pairwise(axes))
    return f"axes {axes} do not stand beside each other" if apart else ""


def broadcast_to_shape(view: OperatorView) -> str:
    """Shapes of BROADCAST_TO and its constant fit (K/broadcast_to.cc:34)."""
    data, sizes, output = DATA.of(view).shape, SIZES.of(view), OUTPUT.of(view).shape
    wanted = numbers_of(view, sizes)
    if len(sizes.shape) != 1 or sizes.shape[0] != len(output):
        return f"its size has shape {list(sizes.shape)} and its output {len(output)} dimensions"
    if len(data) > len(output) or len(output) > 5:
        return f"its input has {len(data)} dimensions and its output {len(output)}; 5 are the most"
    if wanted is None:
        return ""
    fits = all(size in (1, want) for size, want in zip(reversed(data), reversed(wanted), strict=False))
    exact = tuple(map(int, wanted)) == output
    return "" if fits and exact else f"{list(data)} does not become {list(output)} by the size {list(map(int, wanted))}"


def blocks_fit(view: OperatorView) -> str:
    """A block size above 0 divides what DEPTH_TO_SPACE takes apart."""
    size, depth = view.option("block_size"), (*DATA.of(view).shape, 0)[3]
    if size < 1:
        return f"its block size is {size}; at least 1 is taken"
    return "" if depth % (size * size) == 0 else f"{depth} channels are no multiple of {size} times {size}"


def planes_fit(view: OperatorView) -> str:
    """A block size divides the plane that SPACE_TO_DEPTH takes apart. Raises Unpredictable for a size of 0."""
    size, plane = view.option("block_size"), DATA.of(view).shape[1:3]
    if size == 0:
        raise Unpredictable("a block size of 0, by which the kernel divides")
    return "" if all(length % size == 0 for length in plane) else f"{list(plane)} is no multiple of the block {size}"


def update_fits(view: OperatorView) -> str:
    """Indices and update of DYNAMIC_UPDATE_SLICE fit its operand (K/dynamic_update_slice.cc:153-161)."""
    data, update, indices = (operand.of(view).shape for operand in (LEFT, SECOND, THIRD))
    if len(indices) != 1 or indices[0] != len(data):
        return f"its indices have shape {list(indices)} for {len(data)} dimensions"
    fits = len(update) == len(data) and all(part <= whole for part, whole in zip(update, data, strict=True))
    return "" if fits else f"its update of shape {list(update)} does not fit into {list(data)}"


def embedding_fits(view: OperatorView) -> str:
    """The output of EMBEDDING_LOOKUP holds a row for every index (K/embedding_lookup.cc:98-112)."""
    rows, table, output = (operand.of(view) for operand in (LEFT, SECOND, OUTPUT))
    if min(output.shape, default=0) < 0:
        return ""
    if len(output.shape) < len(table.shape):
        return f"its output has {len(output.shape)} dimensions, fewer than its table"
    needed = prod((*rows.shape[:1], *table.shape[1:], *output.shape[len(table.shape) :]))
    return "" if needed <= prod(output.shape) else f"its output of shape {list(output.shape)} does not hold {needed}"


def packed(view: OperatorView) -> str:
    """PACK reads as many inputs as its options say. Raises Unpredictable where they are not there."""
    for position in range(view.option("values_count")):
        KernelOperand(position, f"input {position}").of(view)
    return ""


def rows_within(view: OperatorView) -> str:
    """Constant indices of EMBEDDING_LOOKUP are rows of its table."""
    rows = SECOND.of(view).shape[0]
    bad = [int(row) for row in numbers_of(view, LEFT.of(view)) or () if not 0 <= row < rows]
    return f"index {bad[0]} of a table with {rows} rows" if bad else ""


def expanded(view: OperatorView) -> str:
    """A constant axis of EXPAND_DIMS, and the output with one size of 1 more (K/expand_dims.cc:55)."""
    axis, data, output = AXIS.of(view), DATA.of(view).shape, OUTPUT.of(view).shape
    values = numbers_of(view, axis)
    if len(axis.shape) > 1 or axis.elem_type != "INT32" or not values:
        return f"its axis is {axis.elem_type} of shape {list(axis.shape)}; one INT32 is taken"
    position = int(values[0]) + (len(data) + 1 if values[0] < 0 else 0)
    if position > len(data):
        return f"axis {position} is beyond its {len(data)} dimensions"
    wanted = (*data[: max(position, 0)], *([1] if position >= 0 else []), *data[max(position, 0) :])
    return "" if output == wanted else f"its output has shape {list(output)}; {list(wanted)} is taken"


def filled(view: OperatorView) -> str:
    """Sizes of FILL are constants, and those of its output (K/fill.cc:41)."""
    sizes, output = LEFT.of(view), OUTPUT.of(view).shape
    if len(sizes.shape) != 1 or sizes.shape[0] != len(output):
        return f"its sizes have shape {list(sizes.shape)} and its output {len(output)} dimensions"
    if sizes.elem_type not in ("INT8", "INT16", *INDEX_TYPES):
        return f"its sizes are {sizes.elem_type}; INT8, INT16, INT32 or INT64 is taken"
    values = numbers_of(view, sizes)
    text = f"its output has shape {list(output)}; the sizes are {list(values or ())}"
    return "" if values is None or tuple(map(int, values)) == output else text


def gathered(view: OperatorView) -> str:
    """Axis and batches of GATHER lie within its operands (K/gather.cc:143-159)."""
    data, indices = DATA.of(view).shape, INDICES.of(view).shape
    axis, batches = view.option("axis"), view.option("batch_dims")
    axis += len(data) if axis < 0 else 0
    batches += len(indices) if batches < 0 else 0
    if not 0 <= axis < len(data):
        return f"axis {view.option('axis')} of an input with {len(data)} dimensions"
    within = 0 <= batches <= axis and batches < len(data) and batches <= len(indices)
    alike = within and data[:batches] == indices[:batches]
    return "" if alike else f"{view.option('batch_dims')} batch dimensions of {list(data)} and {list(indices)}"


def gathered_points(view: OperatorView) -> str:
    """Each index of GATHER_ND names at most 5 axes, all of its input (K/gather_nd.cc:65-84)."""
    data, indices = DATA.of(view).shape, INDICES.of(view).shape
    if not data or not indices:
        return "its input or its indices have no dimensions"
    depth = indices[-1]
    return "" if depth <= min(len(data), 5) else f"an index names {depth} axes of {len(data)}; 5 are the most"


def squeezed(view: OperatorView) -> str:
    """Axes of SQUEEZE are the input's and of size 1 (K/squeeze.cc:74)."""
    shape = DATA.of(view).shape
    for axis in _squeezed_axes(view):
        if not -len(shape) <= axis < len(shape) or shape[axis] != 1:
            return f"axis {axis} of shape {list(shape)} does not have size 1"
    return ""


def _squeezed_axes(view: OperatorView) -> tuple[int, ...]:
    axes = view.operator.options.get("squeeze_dims")
    return tuple(int(axis) for axis in axes) if isinstance(axes, (list, tuple)) else ()


def squeezed_output(view: OperatorView) -> str:
    """What SQUEEZE leaves is no larger than the output's sizes (K/squeeze.cc:83)."""
    shape, output = DATA.of(view).shape, OUTPUT.of(view).shape
    axes = {axis % len(shape) for axis in _squeezed_axes(view)} if shape else set()
    left = [size for axis, size in enumerate(shape) if not (axis in axes or (not axes and size == 1))]
    pairs = zip_longest(left, output, fillvalue=None)
    bad = any(size is not None and (room is None or room < size) for size, room in pairs)
    return f"its output has shape {list(output)}; {left} is taken" if bad else ""


def same_bytes(view: OperatorView) -> str:
    """Input and output have as many bytes."""
    sizes = [prod(tensor.shape) * BITS.get(tensor.elem_type, 0) for tensor in (DATA.of(view), OUTPUT.of(view))]
    text = f"its input has {sizes[0] // 8} bytes and its output {sizes[1] // 8}"
    return "" if sizes[0] == sizes[1] else text


def same_elements(view: OperatorView) -> str:
    """RESHAPE keeps the number of elements; one size may be -1 (K/reshape_common.cc:56-78)."""
    data, shape = DATA.of(view).shape, OUTPUT.of(view).shape
    if len(view.operator.inputs) == 1 and shape == (0,):
        shape = ()
    if shape.count(-1) > 1:
        return f"its output has shape {list(shape)}; one size is worked out at most"
    rest = prod(size for size in shape if size != -1)
    fits = prod(data) == rest if -1 not in shape else rest != 0 and prod(data) % rest == 0
    return "" if fits else f"{list(data)} and {list(shape)} have different numbers of elements"


def aligned_once(view: OperatorView) -> str:
    """Corners or centers are aligned, not both."""
    both = view.option("half_pixel_centers") and view.option("align_corners")
    return "half_pixel_centers and align_corners are both set" if both else ""


def two_sizes(view: OperatorView) -> str:
    """The size has two elements."""
    shape = SIZES.of(view).shape
    return "" if shape[:1] == (2,) else f"its size has shape {list(shape)}; [2] alone is taken"


def selected_shapes(view: OperatorView) -> str:
    """Shapes of SELECT_V2 broadcast to that of its output (K/select.cc:46)."""
    shapes = [operand.of(view).shape for operand in (LEFT, SECOND, THIRD)]
    output = OUTPUT.of(view).shape
    if shapes[0] == shapes[1] == shapes[2] or all(prod(shape) == 1 for shape in (*shapes, output)):
        return ""
    rank = max(map(len, shapes))
    wanted = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        largest = 0 if 0 in sizes else max(sizes)
        if any(size not in (1, largest) for size in sizes):
            return f"shapes {', '.join(str(list(shape)) for shape in shapes)} do not fit together"
        wanted.append(largest)
    return "" if output == tuple(wanted) else f"its output has shape {list(output)}; {wanted} is taken"


def selected_ranks(view: OperatorView) -> str:
    """Operands of different shapes have five axes at most (BroadcastSelect5DSlow)."""
    shapes = [operand.of(view).shape for operand in (LEFT, SECOND, THIRD)]
    deep = max(map(len, shapes)) > 5 and not shapes[0] == shapes[1] == shapes[2]
    return f"its inputs differ in shape and have {max(map(len, shapes))} dimensions" if deep else ""


def strided(view: OperatorView) -> str:
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
    return "" if fits else f"its output has shape {list(output)}; {wanted} is taken{more}"


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


def subgraphs_of_if(view: OperatorView) -> str:
    """The subgraphs of IF are there, and the first takes and gives as much as the operator (K/if.cc:74-83)."""
    return _subgraph(view, "then_subgraph_index", 1) or _subgraph(view, "else_subgraph_index", None)


def subgraphs_of_while(view: OperatorView) -> str:
    """The subgraphs of WHILE take and give as much as the operator (K/while.cc:60-72)."""
    ends = len(view.operator.inputs), len(view.operator.outputs)
    if ends[0] != ends[1]:
        return f"it has {ends[0]} inputs and {ends[1]} outputs"
    return _subgraph(view, "cond_subgraph_index", 0, gives=False) or _subgraph(view, "body_subgraph_index", 0)


def _subgraph(view: OperatorView, option: str, first: int | None, *, gives: bool = True) -> str:
    """What is wrong with a subgraph that takes the inputs from `first` on; None where its ends are not compared."""
    index = view.option(option)
    if not 0 <= index < len(view.model.subgraphs):
        return f"{option} is {index} of {len(view.model.subgraphs)} subgraphs"
    if first is None:
        return ""
    body = view.model.subgraphs[index]
    taken, given_out = len(view.operator.inputs) - first, len(view.operator.outputs)
    alike = len(body.inputs) == taken and (not gives or len(body.outputs) == given_out)
    ends = f"{len(body.inputs)} inputs and {len(body.outputs)} outputs"
    return "" if alike else f"subgraph {index} has {ends}; the operator hands on {taken} and takes {given_out}"


@condition
def any_zero(view: OperatorView, operand: KernelOperand) -> str:
    """No value of a constant is 0."""
    zero = 0 in (numbers_of(view, operand.of(view)) or ())
    return f"{operand.title} is a constant with a 0 in it, by which it divides" if zero else ""


def quantized_pairs(view: OperatorView) -> str:
    """Input and output of QUANTIZE are a pair that its Eval knows (K/quantize_common.cc:99-232)."""
    kinds = DATA.of(view).elem_type, OUTPUT.of(view).elem_type
    known = QUANTIZED_PAIRS.get(kinds[0], ())
    return "" if kinds[1] in known else f"it makes {kinds[1]} of {kinds[0]}; {listed(known)} for {kinds[0]}"


QUANTIZED_PAIRS = {
    "FLOAT32": ("INT8", "INT16"),
    "INT32": ("INT8", "INT16"),
    "INT16": ("INT8", "INT16", "INT32"),
    "INT8": ("INT8", "UINT8", "INT16", "INT32"),
    "UINT8": ("INT8",),
}
"""Outputs of QUANTIZE by input."""


def one_scale(view: OperatorView) -> str:
    """The output has one scale."""
    stored = OUTPUT.of(view).quantization
    count = len(stored.scales) if stored else 0
    return "" if count == 1 else f"its output has {count} scales; 1 alone is taken"


def padded_axes(view: OperatorView) -> str:
    """The paddings of MIRROR_PAD have a row for each axis."""
    rows, rank = SECOND.of(view).shape, len(DATA.of(view).shape)
    return "" if len(rows) == 2 and rows[0] == rank else f"its paddings have shape {list(rows)} for {rank} dimensions"


def image_mean(view: OperatorView) -> str:
    """The mean of an image's rows and columns leaves one of each (lite/kernels/internal/reference/reduce.h:352)."""
    data, axes, output = DATA.of(view), numbers_of(view, AXIS.of(view), "INT32"), OUTPUT.of(view).shape
    image = data.elem_type == "FLOAT32" and len(data.shape) == 4 and view.option("keep_dims")
    if not image or axes is None or sorted(axes) != [1, 2]:
        return ""
    extended = (1,) * (4 - len(output)) + output
    return "" if len(output) <= 4 and extended[1:3] == (1, 1) else f"its output has shape {list(output)}"


PREPARE, INVOKE, WRONG = KernelOutcome.ALLOCATE_FAILS, KernelOutcome.INVOKE_FAILS, KernelOutcome.WRONG
ABORTS_PREPARE, ABORTS_INVOKE = KernelOutcome.ABORTS_PREPARE, KernelOutcome.ABORTS_INVOKE
HALTS_PREPARE, HALTS_INVOKE = KernelOutcome.HALTS_PREPARE, KernelOutcome.HALTS_INVOKE
REFERENCE = KernelOutcome.REFERENCE
Row = KernelLimit


def rows(outcome: KernelOutcome, file: str, conditions: Mapping[int, Condition]) -> tuple[KernelLimit, ...]:
    """Checks of one outcome, each with its line in the file; the file is empty where `in_file` adds it."""
    return tuple(Row(f"{file}:{line}", outcome, condition) for line, condition in conditions.items())


def asked_since(day: str, *limits: KernelLimit) -> tuple[KernelLimit, ...]:
    """Rows from a day on. Before it the kernel did not look, and what it made of such an operator was not read."""
    return tuple(
        dated
        for limit in limits
        for dated in (
            limit._replace(since=day),
            limit._replace(until=day, condition=unread(limit.condition)),
        )
    )


@condition
def unread(view: OperatorView, rule: Condition) -> str:
    """The condition, of a revision without the check. Raises Unpredictable where it is broken."""
    text = rule(view)
    if text:
        raise Unpredictable(f"{text}, which this revision does not check")
    return ""


def checks(
    file: str, prepare: Mapping[int, Condition], invoke: Mapping[int, Condition] | None = None
) -> tuple[KernelLimit, ...]:
    """Checks of Prepare, then of Eval, which return an error; each with its line in the file."""
    return (*rows(PREPARE, file, prepare), *rows(INVOKE, file, invoke or {}))


def _type_until(kind: str, location: str, day: str, operand: KernelOperand = DATA) -> KernelLimit:
    """A type that Eval takes from a day on."""
    return Row(location, INVOKE, where(operand, (kind,), always(f"{operand.title} is {kind}")), until=day)


_int16_until = partial(_type_until, "INT16")


def _float_curve(file: str, first: int, *, given_at: tuple[int, int], type_at: int) -> tuple[KernelLimit, ...]:
    """Curves that take FLOAT32 alone, in one shape."""
    return checks(file, {
        first: inputs(1), first + 1: outputs, given_at[0]: given(DATA), given_at[1]: given(OUTPUT),
        type_at: typed(DATA, *FLOAT), type_at + 1: same_type(DATA, OUTPUT), type_at + 3: same_shape(DATA, OUTPUT),
    })  # fmt: skip


_ELEMENTWISE = (
    *checks("elementwise.cc", {
        81: inputs(1), 82: outputs, 85: given(DATA), 88: given(OUTPUT), 89: same_type(DATA, OUTPUT),
    }),
)  # fmt: skip
"""GenericPrepare, which takes every type: its test of the type asks whether a function pointer is set."""
_ABS_RSQRT = (
    *checks("elementwise.cc", {
        105: inputs(1), 106: outputs, 108: given(DATA), 110: given(OUTPUT), 111: same_type(DATA, OUTPUT),
        130: where(DATA, INT8, with_steps(DATA)),
    }),
    Row(
        "elementwise.cc:132",
        PREPARE,
        lambda view: (
            with_steps(OUTPUT)(view) if DATA.of(view).elem_type in INTEGER and quantized(DATA.of(view)) else ""
        ),
    ),
    *checks("elementwise.cc", {149: where(DATA, INT16, pointed(DATA, 0)), 150: where(DATA, INT16, pointed(OUTPUT, 0))}),
)  # fmt: skip
_SPLIT_TYPES = ("FLOAT32", "INT8", "INT16", "INT32")
_STRETCHED = Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, plain_if_stretched(4), until=ANY_RANK, cause="broadcast")
"""Until that day, operands of different shapes were taken for four axes."""


def _comparison(types: tuple[str, ...], line: int) -> tuple[KernelLimit, ...]:
    """K/comparisons.cc; `line` is that of the message on types."""
    return (
        *checks("comparisons.cc", {557: given(LEFT), 560: given(SECOND)}),
        Row(BELOW_ONE, ABORTS_PREPARE, where(LEFT, INT8, below_one(_step(LEFT), _step(SECOND)))),
        Row(f"comparisons.cc:{line}", INVOKE, typed(LEFT, *types)),
        Row("comparisons.cc:53", WRONG, same_type(LEFT, SECOND)),
        _STRETCHED,
    )


def _reduction(*, types: tuple[str, ...], types_at: int, same_at: int = 0) -> tuple[KernelLimit, ...]:
    """K/reduce_common.cc; lines are those of Eval, 0 for no check of the output's type."""
    file = "reduce_common.cc"
    same = (Row(f"{file}:{same_at}", INVOKE, same_type(DATA, OUTPUT)),) if same_at else ()
    return (
        *checks(file, {46: inputs(2), 47: outputs, 51: given(AXIS), 52: typed(AXIS, "INT32")}),
        *same,
        Row(f"{file}:{types_at}", INVOKE, typed(DATA, *types)),
    )


_FEW_AXES = Row("reduce_common.cc:298", WRONG, few_axes, "", "", SCRATCH_AXES, "", OfLayer(
    "more than two axes are reduced, and the kernel of this revision has room for two on its stack", sure=False
))  # fmt: skip
_EXTREME = (
    *_reduction(types=MOVED, types_at=188, same_at=149),
    *rows(INVOKE, "reduce_common.cc", {174: where(DATA, INT8, same_steps(DATA, OUTPUT)), 162: reduced_axes}),
)


def _blocks(file: str, first: int, last: int, message: int) -> tuple[KernelLimit, ...]:
    """Batches to blocks of an image and back; `first` and `last` are lines of Prepare, `message` one of Eval."""
    return (
        *checks(file, {
            first: inputs(3), first + 1: outputs, last - 6: given(DATA), last - 4: ranked(DATA, 3, 4),
            last - 3: ranked(OUTPUT, 3, 4), last: same_type(DATA, OUTPUT),
        }, {message: typed(DATA, *MOVED)}),
        *rows(WRONG, file, {message - 28: typed(SECOND, "INT32"), message - 26: typed(THIRD, "INT32")}),
    )  # fmt: skip


def _sigmoid(file: str, same: int, point: int, power: int, message: str) -> tuple[KernelLimit, ...]:
    """LOGISTIC and TANH of int16, whose output has 15 fractional bits."""
    return (
        Row(f"{file}:{same}", PREPARE, same_type(DATA, OUTPUT)),
        Row(f"{file}:{point}", PREPARE, where(DATA, INT16, pointed(DATA, 0))),
        Row(f"{file}:{point + 1}", PREPARE, where(DATA, INT16, pointed(OUTPUT, 0))),
        Row(f"{file}:{power - 2}", HALTS_PREPARE, where(DATA, INT16, gentle_scale)),
        Row(f"{file}:{power}", PREPARE, where(DATA, INT16, power_of_two)),
        Row(message, INVOKE, typed(DATA, *NUMBERS)),
    )


_CAST = ("INT8", "INT16", "INT32", "UINT32", "FLOAT32")


def _told_since(day: str, limit: KernelLimit) -> tuple[KernelLimit, ...]:
    """A check of Eval that returns an error from a day on; before it, it prints a line and leaves the output."""
    silent = limit._replace(outcome=WRONG, until=day, condition=_unwritten(limit.condition))
    return limit._replace(since=day), silent


@condition
def _unwritten(view: OperatorView, rule: Condition) -> str:
    text = rule(view)
    return text and f"{text}, and the output is never written"


_STEPS_OF_OUTPUT = all_inputs(lambda operand: same_steps(operand, OUTPUT))
_CONCAT_CHECKS = "2024-12-16"
"""Day from which concatenations check scales."""
INT16_POINT = OfLayer("int16 activations have a zero-point other than 0", (Cause.ZERO_POINT_S16,))
_TABLE: tuple[tuple[str, tuple[KernelLimit, ...]], ...] = (
    ("ABS", (*_ABS_RSQRT, Row("elementwise.cc:318", INVOKE, typed(DATA, *NUMBERS)))),
    ("ADD_N", (
        *checks("add_n.cc", {
            51: lambda view: inputs(2)(view) if len(view.operator.inputs) < 2 else "", 52: outputs,
            66: all_inputs(given), 63: same_type(OUTPUT, LEFT),
            67: all_inputs(lambda operand: same_shape(LEFT, operand)),
            68: all_inputs(lambda operand: same_type(LEFT, operand)),
            72: where(LEFT, INT8, all_inputs(lambda operand: same_steps(LEFT, operand))), 125: typed(OUTPUT, *MOVED),
        }),
        Row(BELOW_ONE, ABORTS_PREPARE, where(OUTPUT, INT8, below_one(_shared, _summed))),
    )),
    ("ARG_MAX ARG_MIN", (
        Row("arg_min_max.cc:90", INVOKE, typed(AXIS, "INT32")),
        Row("arg_min_max.cc:86", INVOKE, typed(OUTPUT, "INT32"), "ask for output_type=tf.int32, the default is int64"),
        Row("arg_min_max.cc:79", INVOKE, typed(DATA, *MOVED)),
    )),
    ("ASSIGN_VARIABLE", (
        *checks("assign_variable.cc", {
            54: inputs(2), 55: no_outputs, 66: typed(LEFT, "RESOURCE", "INT32"), 68: single_value(LEFT),
        }),
        Row(f"{VARIABLE}:131", HALTS_INVOKE, fits_variable(SECOND)),
        Row(f"{VARIABLE}:133", WRONG, fits_variable(SECOND)),
    )),
    ("CALL_ONCE", checks("call_once.cc", {54: inputs(0), 55: no_outputs})),
    ("READ_VARIABLE", (
        *rows(HALTS_PREPARE, "read_variable.cc", {
            39: inputs(1), 40: outputs, 48: typed(DATA, "RESOURCE"), 49: single_value(DATA),
        }),
        Row(f"{VARIABLE}:77", HALTS_INVOKE, fits_variable(OUTPUT)),
        Row(f"{VARIABLE}:79", WRONG, fits_variable(OUTPUT)),
    )),
    ("VAR_HANDLE", (Row("var_handle.cc:68", HALTS_PREPARE, given(OUTPUT)),)),
    ("BATCH_TO_SPACE_ND", _blocks("batch_to_space_nd.cc", 42, 57, 99)),
    ("BROADCAST_ARGS", checks("broadcast_args.cc", {
        32: inputs(2), 33: outputs, 43: typed(LEFT, *INDEX_TYPES), 45: same_type(LEFT, SECOND),
        46: same_type(LEFT, OUTPUT), 49: ranked(LEFT, 1, 1), 50: ranked(SECOND, 1, 1), 53: ranked(OUTPUT, 1, 1),
    })),
    ("BROADCAST_TO", (
        *checks("broadcast_to.cc", {
            77: inputs(2), 78: outputs, 87: ranked(DATA, 0, 5), 90: typed(SIZES, *INDEX_TYPES),
            92: same_type(DATA, OUTPUT),
        }),
        *asked_since(CONSTANT_CHECKS, Row("broadcast_to.cc:98", PREPARE, stored(SIZES))),
        Row("broadcast_to.cc:101", PREPARE, broadcast_to_shape),
    )),
    ("CAST", (
        *checks("cast.cc", {29: inputs(1), 30: outputs, 36: given(DATA), 39: given(OUTPUT)}),
        *_told_since("2025-11-10", Row("cast.cc:110", INVOKE, typed(DATA, *_CAST, "BOOL"))),
        *_told_since("2025-11-10", Row("cast.cc:74", INVOKE, typed(OUTPUT, *_CAST), until=BOOL_RESULTS)),
        Row("cast.cc:74", INVOKE, typed(OUTPUT, *_CAST, "BOOL")),
    )),
    ("CEIL", _float_curve("ceil.cc", 39, given_at=(35, 38), type_at=41)),
    ("CONCATENATION", (
        *checks("concatenation.cc", {
            137: given(DATA), 141: given(OUTPUT), 147: no_activation,
            148: typed(DATA, "FLOAT32", "INT8", "INT16", "INT32", "INT64", "BOOL"), 154: same_type(OUTPUT, DATA),
            158: inputs(*range(1, 11)), 168: all_inputs(given),
            169: all_inputs(lambda operand: same_type(operand, DATA)),
            172: all_inputs(lambda operand: ranked(operand, 0, MOST_AXES)),
        }),
        Row("concatenation.cc:183", PREPARE, where(DATA, INT8, _STEPS_OF_OUTPUT), since=_CONCAT_CHECKS,
            layer=OfLayer("an input has another scale or zero-point than the output",
                          (Cause.UNEQUAL_SCALES,))),
        Row("concatenation.cc:189", PREPARE, where(DATA, INT16, all_inputs(lambda operand: pointed(operand, 0))),
            since=_CONCAT_CHECKS, layer=INT16_POINT),
        Row("concatenation.cc:205", PREPARE, where(DATA, INT16, pointed(OUTPUT, 0)), since=_CONCAT_CHECKS,
            cause="zero-point-s16"),
        Row("concatenation.cc:250", WRONG, where(DATA, INTEGER, _STEPS_OF_OUTPUT), layer=OfLayer(
            "the kernel copies stored values, and scales or zero-points differ",
            (Cause.UNEQUAL_SCALES,), sure=False)),
    )),
    ("COS LOG SIN SQRT SQUARE", (*_ELEMENTWISE, Row("elementwise.cc:201", INVOKE, typed(DATA, *FLOAT)))),
    ("CUMSUM", (
        *checks("cumsum.cc", {
            48: inputs(2), 49: outputs, 58: typed(DATA, *MOVED), 60: typed(AXIS, "INT32"), 62: single_value(AXIS),
            64: ranked(DATA, 1, 99), 69: same_type(DATA, OUTPUT), 70: same_shape(DATA, OUTPUT),
        }),
        Row(BELOW_ONE, ABORTS_PREPARE, where(DATA, INT8, below_one(_shared, _summed))),
        Row("cumsum.cc:127", INVOKE, axis_within(AXIS, DATA)),
    )),
    ("DEPTH_TO_SPACE", checks("depth_to_space.cc", {
        41: inputs(1), 42: outputs, 48: given(DATA), 51: given(OUTPUT), 53: ranked(DATA, 4, 4),
        56: typed(OUTPUT, *MOVED), 58: same_type(DATA, OUTPUT), 71: blocks_fit,
    })),
    ("DEQUANTIZE", (
        *checks("dequantize_common.cc", {32: inputs(1), 33: outputs, 39: given(DATA), 41: given(OUTPUT)}),
        Row(
            "dequantize_common.cc:43",
            PREPARE,
            lambda view: (
                typed(DATA, "INT8", "INT16", "UINT8")(view) if DATA.of(view).elem_type != "FLOAT16" else ""
            ),
        ),
        Row(
            "dequantize_common.cc:43",
            PREPARE,
            typed(DATA, "INT8", "INT16", "UINT8"),
            "convert without supported_types = [tf.float16]",
        ),
        Row("dequantize_common.cc:46", PREPARE, typed(OUTPUT, *FLOAT)),
    )),
    ("DIV", (
        *checks("div.cc", {
            80: given(LEFT), 83: given(SECOND), 86: given(OUTPUT), 49: same_type(LEFT, SECOND),
            50: same_type(LEFT, OUTPUT),
        }),
        Row(ACTIVATION, PREPARE, where(OUTPUT, INT8, activation_fits)),
        *checks("div.cc", {
            96: where(OUTPUT, ("INT32",), no_steps(LEFT)), 98: where(OUTPUT, ("INT32",), no_steps(SECOND)),
        }, {203: typed(OUTPUT, "FLOAT32", "INT32", "INT8")}),
        _type_until("INT32", "div.cc:203", "2023-10-02", OUTPUT),
    )),
    ("DYNAMIC_UPDATE_SLICE", checks("dynamic_update_slice.cc", {
        127: inputs(3), 128: outputs, 149: same_type(LEFT, SECOND), 150: typed(THIRD, *INDEX_TYPES), 160: update_fits,
    }, {217: typed(LEFT, "FLOAT32", "INT8", "INT16", "INT32")})),
    ("ELU", checks("elu.cc", {85: inputs(1), 86: outputs, 93: same_type(DATA, OUTPUT)}, {139: typed(DATA, *MOVED)})),
    ("EMBEDDING_LOOKUP", (
        *checks("embedding_lookup.cc", {
            69: inputs(2), 70: outputs, 77: ranked(LEFT, 1, 1), 78: typed(LEFT, "INT32"), 83: ranked(SECOND, 2, 99),
            84: typed(SECOND, *MOVED), 91: where(SECOND, FLOAT, typed(OUTPUT, *FLOAT)), 93: typed(OUTPUT, *MOVED),
            112: embedding_fits,
        }, {138: rows_within}),
        Row("embedding_lookup.cc:59", PREPARE, where(SECOND, INT8, where(OUTPUT, FLOAT, pointed(SECOND, 0)))),
    )),
    ("EQUAL NOT_EQUAL", _comparison(("BOOL", "FLOAT32", "INT32", "INT64", "INT8"), 120)),
    ("EXP", _float_curve("exp.cc", 33, given_at=(37, 40), type_at=41)),
    ("EXPAND_DIMS", (
        *checks("expand_dims.cc", {90: inputs(2), 91: outputs}),
        *asked_since(CONSTANT_CHECKS, Row("expand_dims.cc:102", PREPARE, stored(AXIS))),
        *checks("expand_dims.cc", {104: expanded}, {140: typed(DATA, *NUMBERS)}),
    )),
    ("FILL", (
        *checks("fill.cc", {
            73: given(LEFT), 76: given(SECOND), 82: ranked(SECOND, 0, 0), 85: same_type(SECOND, OUTPUT),
        }),
        Row("fill.cc:90", PREPARE, stored(LEFT), since=CONSTANT_CHECKS),
        Row("fill.cc:94", PREPARE, filled),
        Row("fill.cc:125", INVOKE, typed(SECOND, "FLOAT32", "INT32", "INT8")),
    )),
    ("FLOOR", (Row("floor.cc:32", INVOKE, typed(DATA, *FLOAT)),)),
    ("FLOOR_DIV", (
        *checks("floor_div.cc", {
            37: inputs(2), 38: outputs, 50: same_type(LEFT, SECOND), 51: same_type(LEFT, OUTPUT),
        }, {117: typed(LEFT, *FLOAT), 78: any_zero(SECOND)}),
        _STRETCHED,
    )),
    ("FLOOR_MOD", (
        *checks("floor_mod.cc", {
            42: inputs(2), 43: outputs, 55: same_type(LEFT, SECOND), 56: same_type(LEFT, OUTPUT),
        }, {115: typed(LEFT, *FLOAT)}),
        _STRETCHED,
    )),
    ("GATHER", checks("gather.cc", {
        103: inputs(2), 104: outputs, 122: typed(INDICES, "INT32"), 137: typed(DATA, *MOVED), 147: gathered,
    })),
    ("GATHER_ND", checks("gather_nd.cc", {
        34: inputs(2), 35: outputs, 51: typed(DATA, *MOVED), 60: typed(INDICES, "INT32"), 76: gathered_points,
    })),
    ("GREATER", (
        *_comparison(("FLOAT32", "INT32", "INT64", "INT8", "INT16"), 303),
        Row("comparisons.cc:562", WRONG, where(LEFT, INT16, always("Prepare works out the factors of int8 alone"))),
        _int16_until("comparisons.cc:303", "2025-03-17", LEFT),
    )),
    ("GREATER_EQUAL LESS LESS_EQUAL", _comparison(("FLOAT32", "INT32", "INT64", "INT8"), 381)),
    ("HARD_SWISH", (
        *checks("hard_swish_common.cc", {38: inputs(1), 39: outputs, 68: where(DATA, INT8, exponent_at_most_zero)}),
        Row("hard_swish.cc:61", INVOKE, typed(DATA, *MOVED)),
    )),
    ("IF", checks("if.cc", {53: given(LEFT), 61: typed(LEFT, "BOOL"), 62: single_value(LEFT), 79: subgraphs_of_if})),
    ("L2_NORMALIZATION", (
        *checks("l2norm.cc", {
            44: inputs(1), 45: outputs, 55: ranked(DATA, 0, 4), 57: typed(OUTPUT, *MOVED),
            59: same_type(DATA, OUTPUT), 68: no_activation,
        }),
        Row("l2norm.cc:119", WRONG, where(OUTPUT, INT8, scaled(OUTPUT, 1 / 128, 0))),
    )),
    ("L2_POOL_2D", checks("l2_pool_2d.cc", {
        44: inputs(1), 45: outputs, 52: ranked(DATA, 4, 4), 53: ranked(OUTPUT, 4, 4), 54: same_type(DATA, OUTPUT),
        71: typed(DATA, *FLOAT),
    })),
    ("LEAKY_RELU", (
        *checks("leaky_relu_common.cc", {35: inputs(1), 36: outputs, 43: same_type(DATA, OUTPUT)}),
        Row("tensorflow/lite/kernels/internal/common.cc:67", HALTS_INVOKE, where(DATA, INTEGER, falling),
            until="2026-03-31"),
        Row("leaky_relu.cc:82", INVOKE, typed(DATA, *NUMBERS)),
    )),
    ("LOGICAL_AND LOGICAL_OR", (
        *rows(INVOKE, "logical_common.cc", {31: touched(LEFT), 33: touched(SECOND)}),
        *rows(WRONG, "logical_common.cc", {41: typed(LEFT, "BOOL"), 43: typed(SECOND, "BOOL")}),
        _STRETCHED,
    )),
    ("LOGICAL_NOT", (*_ELEMENTWISE, Row("elementwise.cc:201", INVOKE, typed(DATA, "BOOL")))),
    ("LOGISTIC", (
        *checks("logistic_common.cc", {
            39: given(DATA), 42: given(OUTPUT), 46: where(DATA, INT8, where(OUTPUT, INT8, pointed(OUTPUT, -128))),
        }),
        *_sigmoid("logistic_common.cc", 44, 70, 101, "logistic.cc:98"),
        Row(f"{INNER}/logistic.h:54", WRONG, where(DATA, INT8, scaled(OUTPUT, 1 / 256, -128))),
    )),
    ("LOG_SOFTMAX", (
        *checks("log_softmax.cc", {
            49: inputs(1), 50: outputs, 57: same_type(DATA, OUTPUT), 59: same_shape(DATA, OUTPUT),
            72: where(DATA, INT8, scaled(OUTPUT, 1 / 16, 127)),
        }),
        Row(ABOVE_ONE, ABORTS_PREPARE, where(DATA, INT8, above_one)),
        Row("log_softmax.cc:136", INVOKE, typed(DATA, *MOVED)),
    )),
    ("MEAN", (
        _FEW_AXES,
        Row("reduce.cc", REFERENCE, always("MEAN has no CMSIS-NN kernel"), cause="mean", layer=OfLayer(
            "converters write it as MEAN, which has no CMSIS-NN kernel",
            sure=False,
        )),
        Row("reduce_common.cc:235", PREPARE, touched(AXIS)),
        *_reduction(types=NUMBERS, types_at=346),
        Row("tensorflow/lite/kernels/internal/reference/reduce.h:352", ABORTS_INVOKE, image_mean),
        Row("reduce_common.cc:324", INVOKE, where(DATA, FLOAT, reduced_axes)),
    )),
    ("MIRROR_PAD", checks("mirror_pad.cc", {182: padded_axes}, {155: typed(OUTPUT, *MOVED)})),
    ("NEG", (Row("neg.cc:44", INVOKE, typed(DATA, *FLOAT)),)),
    ("PACK", (
        *rows(INVOKE, "pack.cc", {59: packed, 101: typed(OUTPUT, "FLOAT32", "INT8", "INT16", "INT32", "INT64")}),
        _int16_until("pack.cc:101", "2025-08-20", OUTPUT),
    )),
    ("PRELU", (
        *checks("prelu_common.cc", {
            90: given(DATA), 92: given(SECOND), 94: given(OUTPUT),
        }),
        Row("prelu_common.cc:101", PREPARE, where(OUTPUT, INT16, typed(SECOND, "INT8")), since="2025-09-09"),
        _int16_until("prelu.cc:75", "2025-09-09"),
        Row("prelu.cc:75", INVOKE, typed(DATA, *NUMBERS)),
        Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, where(DATA, FLOAT, ranked(DATA, 0, 4))),
        Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, ranked(DATA, 0, 4), until=ANY_RANK, cause="rank"),
    )),
    ("QUANTIZE", checks("quantize_common.cc", {
        36: inputs(1), 37: outputs, 42: given(DATA), 44: given(OUTPUT), 48: with_steps(OUTPUT), 54: one_scale,
        56: typed(DATA, "FLOAT32", "INT32", "INT16", "INT8", "UINT8"),
        60: typed(OUTPUT, "INT8", "INT16", "INT32", "UINT8"),
    }, {116: quantized_pairs})),
    ("REDUCE_ALL", (
        Row("reduce_common.cc:268", PREPARE, typed(DATA, "BOOL")),
        *_reduction(types=("BOOL",), types_at=442, same_at=417),
        Row("reduce_common.cc:429", INVOKE, reduced_axes),
    )),
    ("REDUCE_MAX REDUCE_MIN", _EXTREME),
    ("RELU", (
        *checks("activations_common.cc", {
            95: given(DATA), 98: given(OUTPUT),
        }),
        Row("activations_common.cc:103", PREPARE, where(DATA, INT16, pointed(DATA, 0)), since="2025-03-21"),
        Row("activations_common.cc:104", PREPARE, where(DATA, INT16, pointed(OUTPUT, 0)), since="2025-03-21"),
        _int16_until("activations.cc:73", "2025-03-21"),
        Row("activations.cc:73", INVOKE, typed(DATA, *NUMBERS)),
    )),
    ("RELU6", (
        Row("activations_common.cc:122", PREPARE, given(DATA)),
        _int16_until("activations.cc:121", "2024-09-26"),
        Row("activations.cc:121", INVOKE, typed(DATA, *NUMBERS)),
        Row("activations.cc:105", WRONG, where(DATA, INTEGER, same_steps(DATA, OUTPUT)), cause="unequal-scales"),
    )),
    ("RESHAPE", checks("reshape_common.cc", {
        88: inputs(1, 2), 89: outputs, 77: same_type(DATA, OUTPUT), 78: same_elements,
    })),
    ("RESIZE_BILINEAR", checks("resize_bilinear.cc", {
        36: inputs(2), 37: outputs, 46: ranked(DATA, 4, 4), 47: ranked(SIZES, 1, 1), 49: typed(SIZES, "INT32"),
        52: stored(SIZES), 58: aligned_once,
    }, {103: typed(OUTPUT, *MOVED)})),
    ("RESIZE_NEAREST_NEIGHBOR", (
        *checks("resize_nearest_neighbor.cc", {
            38: inputs(2), 39: outputs, 50: ranked(DATA, 4, 4), 51: ranked(SIZES, 1, 1), 52: typed(SIZES, "INT32"),
            53: two_sizes, 57: stored(SIZES),
        }, {108: typed(OUTPUT, *NUMBERS)}),
        Row("resize_nearest_neighbor.cc:81", WRONG, centred, until="2026-02-10"),
    )),
    ("REVERSE_V2", (
        *checks("reverse.cc", {47: inputs(2), 48: outputs, 60: ranked(AXIS, 1, 1), 61: ranked(DATA, 0, MOST_AXES)}),
        Row(
            "reverse.cc:62",
            PREPARE,
            lambda view: (
                "more axes than dimensions" if prod(AXIS.of(view).shape) > len(DATA.of(view).shape) else ""
            ),
        ),
        *checks("reverse.cc", {
            68: typed(DATA, "INT32", "FLOAT32", "UINT8", "INT8", "INT16", "INT64", "BOOL"), 74: typed(AXIS, "INT32"),
            79: same_type(DATA, OUTPUT),
        }, {105: axis_within(AXIS, DATA), 117: contiguous}),
    )),
    ("ROUND", _float_curve("round.cc", 38, given_at=(34, 37), type_at=40)),
    ("RSQRT", (
        *_ABS_RSQRT,
        Row("elementwise.cc:358", INVOKE, typed(DATA, *NUMBERS)),
        _int16_until("elementwise.cc:358", "2023-03-02"),
    )),
    ("SELECT_V2", (
        *checks("select.cc", {
            78: inputs(3), 79: outputs, 95: typed(LEFT, "BOOL"), 96: same_type(SECOND, THIRD), 110: selected_shapes,
        }, {176: typed(SECOND, *NUMBERS)}),
        Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, selected_ranks, until=ANY_RANK, cause="broadcast"),
    )),
    ("SHAPE", checks("shape.cc", {39: inputs(1), 40: outputs}, {51: typed(OUTPUT, "INT32")})),
    ("SLICE", (
        *checks("slice.cc", {50: inputs(3), 51: outputs}),
        *rows(HALTS_PREPARE, "slice.cc", {
            67: same_type(DATA, OUTPUT), 68: same_type(SECOND, THIRD), 69: typed(SECOND, *INDEX_TYPES),
            71: ranked(SECOND, 1, 1), 72: ranked(THIRD, 1, 1), 73: same_shape(SECOND, THIRD), 74: ranked(DATA, 0, 5),
        }),
        *rows(INVOKE, "slice.cc", {
            109: typed(SECOND, *INDEX_TYPES), 151: typed(DATA, "FLOAT32", "INT32", "INT8", "INT16", "BOOL"),
        }),
        _type_until("BOOL", "slice.cc:151", "2023-03-22"),
        Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, ranked(DATA, 0, 5)),
    )),
    ("SPACE_TO_BATCH_ND", _blocks("space_to_batch_nd.cc", 51, 64, 109)),
    ("SPACE_TO_DEPTH", checks("space_to_depth.cc", {
        40: inputs(1), 41: outputs, 52: ranked(DATA, 4, 4), 55: typed(OUTPUT, *MOVED),
        57: same_type(DATA, OUTPUT), 65: planes_fit,
    })),
    ("SPLIT", checks("split.cc", {
        73: given(LEFT), 78: stored(LEFT),
    }, {94: axis_within(LEFT, SECOND), 111: typed(SECOND, *_SPLIT_TYPES)})),
    ("SPLIT_V", checks("split_v.cc", {
        75: inputs(3), 82: stored(THIRD),
    }, {97: axis_within(THIRD, DATA), 114: typed(DATA, *_SPLIT_TYPES)})),
    ("SQUARED_DIFFERENCE", (
        *checks("squared_difference.cc", {91: inputs(2), 92: outputs, 106: same_type(LEFT, SECOND)}),
        *(
            Row(f"squared_difference.cc:{line}", PREPARE, where(LEFT, INT16, pointed(operand, 0)))
            for line, operand in enumerate((LEFT, SECOND, OUTPUT), 136)
        ),
        Row(BELOW_ONE, ABORTS_PREPARE, where(LEFT, INTEGER, squared_factors)),
        Row("squared_difference.cc:254", INVOKE, typed(OUTPUT, "FLOAT32", "INT32", "INT8", "INT16")),
        _STRETCHED,
    )),
    ("SQUEEZE", (
        *checks("squeeze.cc", {48: inputs(1), 49: outputs, 61: ranked(DATA, 0, 8), 74: squeezed}),
        Row("squeeze.cc:83", ABORTS_PREPARE, squeezed_output),
        Row("squeeze.cc:107", INVOKE, same_bytes),
    )),
    ("STRIDED_SLICE", (
        *checks("strided_slice_common.cc", {139: inputs(4), 140: outputs, 142: ranked(DATA, 0, 4)}),
        *asked_since(CONSTANT_CHECKS, *(
            Row(f"strided_slice_common.cc:{line}", PREPARE, stored(KernelOperand(position, f"input {position}")))
            for position, line in ((1, 144), (2, 146), (3, 148))
        )),
        Row("strided_slice_common.cc:119", PREPARE, strided),
        Row("strided_slice.cc:78", INVOKE, typed(OUTPUT, "FLOAT32", "INT8", "INT16", "INT32", "BOOL")),
        _type_until("BOOL", "strided_slice.cc:78", "2023-03-22", OUTPUT),
    )),
    ("SUB", (
        *checks("sub_common.cc", {90: given(LEFT), 93: given(SECOND), 96: given(OUTPUT)}),
        Row(BELOW_ONE, ABORTS_PREPARE, where(OUTPUT, INTEGER, pair_factors(float)), until="2023-02-16"),
        Row(BELOW_ONE, ABORTS_PREPARE, where(OUTPUT, INTEGER, pair_factors(single)), since="2023-02-16"),
        Row(ACTIVATION, PREPARE, activation_fits),
        *(
            Row(f"sub_common.cc:{line}", PREPARE, where(OUTPUT, ("INT32",), no_steps(operand)))
            for line, operand in ((103, LEFT), (105, SECOND), (107, OUTPUT))
        ),
        Row("sub.cc:194", INVOKE, typed(OUTPUT, "FLOAT32", "INT32", "INT8", "INT16")),
        Row("sub.cc:194", INVOKE, where(OUTPUT, ("INT32",), always("its output is INT32")), until="2025-06-04"),
        *(Row("sub.cc:187", WRONG, same_type(operand, OUTPUT)) for operand in (LEFT, SECOND)),
    )),
    ("SUM", (
        _FEW_AXES,
        Row("reduce_common.cc:235", PREPARE, touched(AXIS)),
        *_reduction(types=NUMBERS, types_at=406, same_at=368),
        Row("reduce_common.cc:381", INVOKE, where(DATA, FLOAT, reduced_axes)),
    )),
    ("TANH", (
        *checks("tanh.cc", {52: inputs(1), 53: outputs}),
        *_sigmoid("tanh.cc", 61, 89, 123, "tanh.cc:186"),
        Row(f"{INNER}/tanh.h:56", WRONG, where(DATA, INT8, scaled(OUTPUT, 1 / 128, 0))),
    )),
    ("UNPACK", (
        Row("unpack.cc:96", INVOKE, typed(DATA, *_SPLIT_TYPES)),
        _int16_until("unpack.cc:96", "2025-03-17"),
    )),
    ("WHILE", (Row("while.cc:65", PREPARE, subgraphs_of_while),)),
    ("ZEROS_LIKE", checks("zeros_like.cc", {31: inputs(1), 32: outputs}, {74: typed(DATA, "INT64", "INT32", *MOVED)})),
)  # fmt: skip
"""Operators and the checks of their kernels, in the order of names."""


NEW_OPERATORS = {
    "EMBEDDING_LOOKUP": "2023-07-26",
    "BATCH_MATMUL": "2023-09-06",
    "REVERSE_V2": "2025-07-10",
    "REDUCE_MIN": "2025-08-05",
    "DYNAMIC_UPDATE_SLICE": "2025-11-10",
    "REDUCE_ALL": "2026-01-08",
}
"""Operators that a resolver can add from a day on (lite/micro/micro_mutable_op_resolver.h); all others since before."""


def _decodes(view: OperatorView) -> tuple[bytes, ...]:
    """The first bytes of the second tensor of each pair that TFLM_DECODE reads: kind and version of the decoding."""
    pairs = [view.input(position) for position in range(1, len(view.operator.inputs), 2)]
    spans = (view.model.buffers[tensor.buffer] for tensor in pairs if tensor is not None)
    return tuple(bytes(view.model.data[span.offset : span.offset + min(span.length, 2)]) for span in spans)


def paired(view: OperatorView) -> str:
    """Two inputs for each output."""
    inputs_, outputs_ = len(view.operator.inputs), len(view.operator.outputs)
    text = f"it has {inputs_} inputs and {outputs_} outputs; two inputs for each output are taken"
    return "" if outputs_ and inputs_ == 2 * outputs_ else text


def encoded_constants(view: OperatorView) -> str:
    """The file holds every input."""
    tensors = map(view.input, range(len(view.operator.inputs)))
    return "" if all(map(view.constant, tensors)) else "an input is computed; constants alone are taken"


def known_decoding(view: OperatorView) -> str:
    """Every pair is of version 1 and of a kind that the kernel decodes."""
    heads = _decodes(view)
    if any(len(head) < 2 for head in heads):
        raise Unpredictable("the table of a decoding has less than the 16 bytes that the kernel reads")
    bad = [head for head in heads if head[1] != 1 or head[0] not in DECODE_STATES]
    if not bad:
        return ""
    return f"its decoding is of kind {bad[0][0]} and version {bad[0][1]}; kinds 0, 1 and 2 of version 1 are taken"


DECODE_STATES = {0: 36, 1: 28, 2: 40}
"""Bytes of DecodeStateLut, DecodeStateHuffman and DecodeStatePrune by the kind of decoding (K/decode_state.h:78)."""
PRUNE = 2


class CustomOperator(NamedTuple):
    """A custom operator that TensorFlow Lite Micro itself has a kernel for."""

    since: str
    """Day of the commit that brought the resolver's method, ISO 8601."""
    limits: tuple[KernelLimit, ...] = ()
    """What its kernel checks."""


CUSTOM: dict[str, CustomOperator] = {
    "CIRCULAR_BUFFER": CustomOperator("2021-04-09"),
    "SignalDelay": CustomOperator("2023-07-12"),
    "SignalEnergy": CustomOperator("2023-07-13"),
    "SignalFftAutoScale": CustomOperator("2023-07-19"),
    "SignalFilterBank": CustomOperator("2023-07-14"),
    "SignalFilterBankLog": CustomOperator("2023-07-14"),
    "SignalFilterBankSpectralSubtraction": CustomOperator("2023-07-14"),
    "SignalFilterBankSquareRoot": CustomOperator("2023-07-14"),
    "SignalFramer": CustomOperator("2023-07-11"),
    "SignalIrfft": CustomOperator("2023-07-20"),
    "SignalOverlapAdd": CustomOperator("2023-07-11"),
    "SignalPCAN": CustomOperator("2023-08-23"),
    "SignalRfft": CustomOperator("2023-06-21"),
    "SignalStacker": CustomOperator("2023-07-12"),
    "SignalWindow": CustomOperator("2023-06-14"),
    "TFLM_DECODE": CustomOperator(
        "2025-10-17",
        (*checks("decode.cc", {56: paired, 93: encoded_constants, 96: known_decoding}),),
    ),
    "TFLite_Detection_PostProcess": CustomOperator("2021-04-09"),
}
"""By the name in the file. Of all but TFLM_DECODE, checks and memory are not written down."""


def decode(p: Preparation) -> None:
    """K/decode.cc:58-126: pointers, then the state of each output, and for pruned channels their zero-points.

    The memory of the other custom operators is not known.
    """
    p.memory_known = p.view.operator.custom_code == "TFLM_DECODE"
    if not p.memory_known:
        return
    p.persistent.append(WORD * len(p.view.operator.outputs))
    for position, head in enumerate(_decodes(p.view)):
        p.persistent.append(DECODE_STATES[head[0]])
        output = p.view.output(position)
        stored = output.quantization if output is not None else None
        if head[0] == PRUNE and stored is not None and len(stored.scales) > 1 and any(stored.zero_points):
            p.persistent.append(len(stored.scales))


LIMITS: dict[str, tuple[KernelLimit, ...]] = {op: rows for ops, rows in _TABLE for op in ops.split()}
"""Checks of every operator that runs reference code; a resolver can add these operators and those of CMSIS-NN."""


SIZED = Row("tensorflow/lite/micro/memory_helpers.cc:47", PREPARE, sized)
"""A check of the allocator, for every operator."""
DYNAMIC = Row("tensorflow/lite/micro/micro_interpreter_graph.cc:167", PREPARE, dynamic, since="2025-08-22")
"""A check of the interpreter behind every Prepare."""
SOFTMAX_RANGE = (Row(ABOVE_ONE, ABORTS_PREPARE, where(DATA, INT8, above_one)),)
"""K/softmax_common.cc, CalculateSoftmaxParams, behind its checks."""


def _scales(data: KernelOperand, axis: int) -> tuple[KernelLimit, ...]:
    """PopulateConvolutionQuantizationParams (lite/kernels/kernel_util.cc:214). Float layers do not reach it.

    `axis` is that of the channels.
    """
    rows = (
        *checks(
            UTIL,
            {
                221: with_steps(data),
                223: with_steps(SECOND),
                239: lambda view: typed(data, *INTEGER)(view) if _scale_count(view) > 1 else "",
                241: lambda view: typed(SECOND, "INT8", "INT4")(view) if _scale_count(view) > 1 else "",
                244: lambda view: channel_scales(view, axis),
                405: where(data, (*INTEGER, "UINT8"), typed(OUTPUT, *INTEGER, "UINT8")),
            },
        ),
        Row(ACTIVATION, PREPARE, activation_fits),
    )
    return tuple(row._replace(condition=unless(data, FLOAT, row.condition)) for row in rows)  # fmt: skip


CONVOLUTION_SCALES, DEPTHWISE_SCALES, TRANSPOSED_SCALES = _scales(DATA, 0), _scales(DATA, 3), _scales(THIRD, 0)
"""Of CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV, whose third input is the data."""
PADDED = (Row("pad.cc:100", INVOKE, typed(DATA, *NUMBERS, "INT32")),)
"""Eval of PAD and PADV2, in K/cmsis_nn/pad.cc:129 too."""
MULTIPLIED = (Row("mul.cc:55", INVOKE, typed(LEFT, *NUMBERS, "INT32")),)
"""Eval of MUL, in K/cmsis_nn/mul.cc:128 too."""
LARGEST = (Row("maximum_minimum.cc:55", INVOKE, typed(OUTPUT, *NUMBERS, *INDEX_TYPES)),)
"""Eval of MAXIMUM and MINIMUM, in K/cmsis_nn/maximum_minimum.cc too."""
DENSE_BIAS = (Row(f"{UTIL}:322", PREPARE, bias_fits),)
"""GetQuantizedConvolutionMultipler, of a dense layer with one scale."""
FUSED_ACTIVATION = (Row(ACTIVATION, PREPARE, activation_fits),)
"""CalculateActivationRangeQuantized."""
DENSE_ACTIVATION = (Row(f"{UTIL}:405", PREPARE, typed(OUTPUT, *INTEGER, "UINT8")), *FUSED_ACTIVATION)
"""The same for a dense layer, whose type it asks for too."""
POOLED_ACTIVATION = (
    Row(f"{UTIL}:405", WRONG, typed(OUTPUT, *INTEGER, "UINT8")),
    Row(ACTIVATION, WRONG, activation_fits),
)
"""The same in K/pooling_common.cc:82, which drops the error."""
SUM_FACTORS = (
    Row(BELOW_ONE, ABORTS_PREPARE, where(OUTPUT, INTEGER, pair_factors(float))),
    Row(ACTIVATION, PREPARE, activation_fits),
)
"""CalculateOpDataAdd (K/add_common.cc:36) and CalculateOpData (K/cmsis_nn/add.cc:64)."""
IN_PREPARE = (KernelOutcome.ALLOCATE_FAILS, KernelOutcome.ABORTS_PREPARE, KernelOutcome.HALTS_PREPARE)


def broken(view: OperatorView, limit: KernelLimit, revision: TflmRevision) -> str:
    """What an operator has that a limit does not allow in a revision; empty where it is kept, or not there yet.

    Raises Unpredictable where the kernel reads what is not there.
    """
    return limit.condition(view) if holds(revision, limit.since, limit.until) else ""


def hold(p: Preparation, limits: Iterable[KernelLimit]) -> None:
    """Write down what becomes of an operator that breaks a limit. Raises Refused where Prepare returns an error."""
    for limit in limits:
        stage = Stage.PREPARE if limit.outcome in IN_PREPARE else Stage.INVOKE
        text = "" if p.fails and stage is Stage.INVOKE else broken(p.view, limit, p.build.revision)
        if not text:
            continue
        advice = f"; {limit.advice}" if limit.advice else ""
        reason = f"{text} ({limit.source.removeprefix('tensorflow/lite/')}){advice}"
        if limit.outcome is KernelOutcome.UNREAD:
            raise Unpredictable(reason, limit.key)
        if limit.outcome is KernelOutcome.ALLOCATE_FAILS:
            raise Refused(reason, stage, limit.key)
        if limit.outcome is KernelOutcome.INVOKE_FAILS:
            p.fails = Refused(reason, stage, limit.key)
        elif limit.outcome in (KernelOutcome.ABORTS_PREPARE, KernelOutcome.ABORTS_INVOKE):
            p.halted = p.halted or FailedCheck(stage, reason, limit.key)
        elif limit.outcome is KernelOutcome.REFERENCE:
            p.reference, p.reference_cause = p.reference or text, p.reference_cause or limit.key
        elif limit.outcome is KernelOutcome.WRONG:
            p.wrong_cause = p.wrong_cause if p.wrong else limit.key
            p.wrong.append(reason)
        else:
            p.failed_checks.append(FailedCheck(stage, reason, limit.key))


WORD = 4
INT8_ADD_N, INT8_CUMSUM, INT8_LOG_SOFTMAX = 40, 36, 28
"""Data of the int8 form (K/add_n.cc, K/cumsum.cc, K/log_softmax.cc)."""


def _copies_shape(p: Preparation) -> None:
    """CreateWritableTensorDimsWithCopy (K/kernel_util.cc:128)."""
    output = p.view.output()
    if output is not None:
        p.persistent.append(WORD * (1 + len(output.shape)))


def _reshape(p: Preparation) -> None:
    output = p.view.output()
    if output is not None and -1 in output.shape:
        _copies_shape(p)


def _axes_and_place(p: Preparation) -> None:
    """PrepareMinMax and PrepareAll (K/reduce_common.cc:211, 278)."""
    data, axes = p.view.input(0), p.view.input(1)
    if data is not None and axes is not None:
        p.request(WORD * len(data.shape))
        p.request(WORD * prod(axes.shape))


def _mean_or_sum(p: Preparation) -> None:
    """PrepareMeanOrSum (K/reduce_common.cc:239)."""
    data, output = p.view.input(0), p.view.output()
    if data is not None and output is not None and data.elem_type in INTEGER:
        p.request(WORD * prod(output.shape))
    if holds(p.build.revision, SCRATCH_AXES, ""):
        _axes_and_place(p)


def _mirror_pad(p: Preparation) -> None:
    data = p.view.input(0)
    if data is not None:
        p.request(WORD * len(data.shape))
        p.request(WORD * len(data.shape))


def _int8_data(size: int, p: Preparation) -> None:
    """So many bytes of the int8 form."""
    output = p.view.output()
    if output is not None and output.elem_type == "INT8":
        p.persistent.append(size)


def _add_n(p: Preparation) -> None:
    _int8_data(INT8_ADD_N, p)
    p.request(WORD * len(p.view.operator.inputs))


def _var_handle(p: Preparation) -> None:
    variables = p.view.variable.variables if p.view.variable else 0
    p.reference += (
        "; AllocateTensors fails unless the application hands the interpreter MicroResourceVariables for"
        f" {variables} variable{'s' if variables > 1 else ''}"
    )


def _assign_variable(p: Preparation) -> None:
    use = p.view.variable
    p.memory_known = not p.view.constant(p.view.input(0))
    if use is not None and use.allocates:
        p.persistent.append(use.bytes_)


REQUESTS: dict[str, Callable[[Preparation], None]] = {
    "RESHAPE": _reshape,
    "MEAN": _mean_or_sum,
    "SUM": _mean_or_sum,
    "MIRROR_PAD": _mirror_pad,
    "ADD_N": _add_n,
    "CUMSUM": partial(_int8_data, INT8_CUMSUM),
    "LOG_SOFTMAX": partial(_int8_data, INT8_LOG_SOFTMAX),
    "VAR_HANDLE": _var_handle,
    "ASSIGN_VARIABLE": _assign_variable,
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL"), _axes_and_place),
    **dict.fromkeys(("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "GATHER", "GATHER_ND", "L2_POOL_2D"), _copies_shape),
}
"""Operators whose Prepare asks for memory; the others ask for none. That of EMBEDDING_LOOKUP is not known."""


def in_file(file: str, *parts: KernelLimit | Mapping[int, Condition]) -> tuple[KernelLimit, ...]:
    """Rows whose place has no file are in this one; checks of Prepare with nothing else to say stand by their lines."""
    limits: list[KernelLimit] = []
    for part in parts:
        limits += [part] if isinstance(part, KernelLimit) else rows(PREPARE, "", part)
    return tuple(
        limit._replace(location=file + limit.location) if limit.location.startswith(":") else limit for limit in limits
    )


class Kernel(NamedTuple):
    """The kernel of an operator in one kind of build."""

    rows: tuple[KernelLimit, ...]
    """What it checks, in the order of its source."""
    then: Callable[[Preparation], None] = lambda _: None
    """What its Prepare asks for and its Eval calls."""
    reference: str = ""
    """Why reference code runs for every operator; empty where CMSIS-NN may run."""


# What several kernels check, and what is said of layers of ONNX models.


ACTIVATIONS = ("FLOAT32", "INT16", "INT8")
PAIRS = (("FLOAT32", "FLOAT32"), ("INT16", "INT8"), ("INT8", "INT4"), ("INT8", "INT8"))
"""Element types of input and filter that layers with weights take."""
FILTER, IMAGE = KernelOperand(1, "its filter"), KernelOperand(2, "its input")
WITHOUT = "the build has no CMSIS-NN"
IN_FLOAT = OfLayer("it computes in float", (Cause.FLOAT, Cause.FLOAT_RESULT), Level.NOTE)
HYBRID = OfLayer(
    "its activations get their scale at run time, of which converters make hybrid layers",
    (Cause.DYNAMIC_QUANTIZATION,),
    sure=False,
)
FILTER_POINT = OfLayer("the kernel neither checks nor uses the zero-point of the weights", (Cause.WEIGHT_ZERO_POINT,))
READ_FILTER_POINT = FILTER_POINT._replace(reason=f"{FILTER_POINT.reason}, as was read and not run", sure=False)
SEVERAL_SCALES = OfLayer(
    "its weights have a scale for each output, which int8 activations with int8 weights alone may have",
    (Cause.WEIGHT_SCALES,),
)
INT8_ALONE = OfLayer("{op} has a CMSIS-NN kernel for int8 alone")
NOT_YET = OfLayer("{op} has no CMSIS-NN kernel in this revision", level=Level.NOTE)
NO_INT16 = OfLayer("{op} of this revision takes no int16", sure=False)


def same(word: str, number: Callable[[TfliteTensor], float], left: KernelOperand, right: KernelOperand) -> Condition:
    """Two tensors have one number."""
    text = f"{left.title} has {word} {{:g}} and {right.title} {{:g}}"
    return equal(text, lambda view: (number(left.of(view)), number(right.of(view))))


def in_float(source: str, operand: KernelOperand = DATA) -> KernelLimit:
    """Reference code for float."""
    return Row(source, REFERENCE, where(operand, FLOAT, always("float")), cause="float", layer=IN_FLOAT)


def other_type(source: str, operand: KernelOperand, *types: str, layer: OfLayer | None = None) -> KernelLimit:
    """Reference code for integers of other types."""
    named = unless(operand, types, lambda view: operand.of(view).elem_type.lower())
    return Row(source, REFERENCE, named, cause="activation-type", layer=layer)


def not_yet(file: str, until: str) -> KernelLimit:
    """Reference code until a day from which CMSIS-NN computes the operator."""
    return Row(file, REFERENCE, always("no CMSIS-NN kernel yet"), until=until, cause="no-function", layer=NOT_YET)


def int16_points(first: int, *operands: KernelOperand, by: KernelOperand = DATA) -> Iterator[KernelLimit]:
    """Zero-points of int16 are 0; a line for each operand."""
    for line, operand in enumerate(operands, first):
        yield Row(f":{line}", PREPARE, where(by, INT16, pointed(operand, 0)), layer=INT16_POINT)


@condition
def in_pairs(view: OperatorView, data: KernelOperand, *pairs: tuple[str, str], alike: bool = False) -> str:
    """Input and filter have types that go together; `alike` where one type for both does too."""
    types = data.of(view).elem_type, FILTER.of(view).elem_type
    text = f"{data.title} is {types[0]} and its filter {types[1]}; hybrid models are not taken"
    return "" if types in pairs or (alike and types[0] == types[1]) else text


def weighted_types(
    first: int, float_at: int, data: KernelOperand = DATA, pairs: tuple[tuple[str, str], ...] = PAIRS
) -> tuple[KernelLimit, ...]:
    """Element types of a layer with weights; `first` is the line of the first check, `float_at` that of Eval."""
    return (
        *asked_since(
            TYPE_CHECKS,
            Row(f":{first}", PREPARE, same_type(data, OUTPUT)),
            Row(f":{first + 1}", PREPARE, typed(data, *ACTIVATIONS)),
            Row(f":{first + 6}", PREPARE, in_pairs(data, *pairs), layer=HYBRID),
        ),
        in_float(f":{float_at}", data),
    )


@condition
def images(view: OperatorView, *operands: KernelOperand) -> str:
    """Four sizes and a stride, which are read unseen. Raises Unpredictable where one is not there, or below 1."""
    for operand in operands:
        shape = operand.of(view).shape
        if len(shape) != 4 or min(shape) < 1:
            raise Unpredictable(f"shape {list(shape)} where four sizes of at least 1 are expected")
    for name in ("stride_h", "stride_w"):
        if view.option(name) < 1:
            raise Unpredictable(f"{name} is {view.option(name)}; at least 1 is allowed")
    return ""


@condition
def filter_scales(view: OperatorView, axis: int) -> str:
    """The filter has one scale, or one for each channel."""
    stored, shape = FILTER.of(view).quantization, FILTER.of(view).shape
    count = len(stored.scales) if stored else 0
    return "" if count in (1, shape[axis]) else f"its filter of shape {list(shape)} has {count} scales"


as_many_points = equal(
    "its filter has {} scales and {} zero-points",
    lambda v: (len(q.scales), len(q.zero_points)) if (q := FILTER.of(v).quantization) else (0, 0),
)
"""The filter has a zero-point for each scale."""


def offset_filter(view: OperatorView) -> str:
    """A filter that is not symmetric, as the kernel takes it."""
    stored = FILTER.of(view).quantization
    point = next((point for point in stored.zero_points if point), 0) if stored else 0
    return f"the kernel neither checks nor uses the zero-point of the weights, {point}" if point else ""


def _ignored_point(source: str, data: KernelOperand = DATA, layer: OfLayer = FILTER_POINT) -> KernelLimit:
    return Row(source, WRONG, where(data, INTEGER, offset_filter), layer=layer)


def dims(tensor: TfliteTensor) -> Dims:
    """Shape of rank 4 as CMSIS-NN's dims."""
    return Dims(*tensor.shape)


def _slide(view: OperatorView, entry: str, image: TfliteTensor, kernel: Pair, *, dilated: bool = False) -> KernelCall:
    """A call with stride, dilation and padding of a window over an image; its tensors are still to be set."""
    stride = Pair(view.option("stride_h"), view.option("stride_w"))
    dilation = Pair(*(view.option(f"dilation_{side}_factor", 1) if dilated else 1 for side in "hw"))
    pads = window(view.text("padding"), Pair(*image.shape[1:3]), kernel, stride, dilation)
    return KernelCall(entry, NO_FILTER, NO_FILTER, NO_FILTER, stride, pads.before, pads.after, dilation)


# CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV.


def divided_inputs(view: OperatorView) -> str:
    """The filter's depth divides the input's channels."""
    channels, depth = DATA.of(view).shape[3], FILTER.of(view).shape[3]
    return f"{channels} input channels are no multiple of a filter's {depth}" if channels % depth else ""


def grouped(view: OperatorView) -> str:
    """A filter of fewer channels than the input."""
    channels, depth = DATA.of(view).shape[3], FILTER.of(view).shape[3]
    text = f"{channels} input channels and a filter of {depth}: the kernel of this revision takes no groups"
    return text if channels != depth else ""


def divided_outputs(view: OperatorView) -> str:
    """The groups divide the output's channels."""
    channels, groups = OUTPUT.of(view).shape[3], DATA.of(view).shape[3] // max(FILTER.of(view).shape[3], 1)
    return f"{channels} output channels are no multiple of {groups} groups" if groups and channels % groups else ""


def past_channels(view: OperatorView) -> str:
    """The groups divide the output's channels, in reference code."""
    text = divided_outputs(view)
    return text and f"{text}: values beside the pixel are read"


def sums_of_int32(view: OperatorView) -> str:
    """Without an int64 bias all products of an int16 layer are added in int32, in reference code too."""
    bound = overflow(view, ALL_PRODUCTS) if adds_in_int32(view) else None
    given_bias = "without a bias" if view.input(2) is None else "with an int32 bias"
    return f"{given_bias} all products are added in 32 bits: {bound.text}" if bound else ""


def sums_without_bias(view: OperatorView) -> str:
    """As `sums_of_int32`, of a layer without a bias."""
    return sums_of_int32(view) if view.input(2) is None else ""


def sums_with_int32_bias(view: OperatorView) -> str:
    """As `sums_of_int32`, of a layer with a bias."""
    return "" if view.input(2) is None else sums_of_int32(view)


def no_bias(view: OperatorView) -> str:
    """An int16 layer without a bias, whose multipliers keep the 16 bits that int64 sums and reference code drop."""
    text = "without a bias the sums are rescaled as 32-bit values: an output can be two steps off"
    return text if view.input(2) is None and not sums_of_int32(view) else ""


def forgotten_bias(view: OperatorView) -> str:
    """An omitted bias (index -1) is handed to DeallocateTempTfLiteTensor (K/depthwise_conv_common.cc:131)."""
    forgotten = len(view.operator.inputs) == 3 and view.input(2) is None
    return "the bias has index -1; Prepare frees a tensor that it never allocated" if forgotten else ""


def several_images(view: OperatorView) -> str:
    """More than one image."""
    batch = DATA.of(view).shape[0]
    return f"its input has {batch} images; one at a time is taken" if batch > 1 else ""


CONV = in_file(
    "cmsis_nn/conv.cc",
    {58: given(DATA), 61: given(FILTER), 64: given(OUTPUT)},
    *weighted_types(69, 432),
    *asked_since(
        GROUPS,
        *(Row(f":{line}", PREPARE, ranked(tensor, 4, 4)) for line, tensor in ((85, DATA), (86, FILTER), (87, OUTPUT))),
        Row(":89", PREPARE, equal(
            "its input has {} images and its output {}", lambda v: (DATA.of(v).shape[0], OUTPUT.of(v).shape[0])
        )),
    ),
    *(Row(":288", outcome, grouped, until=GROUPS) for outcome in (HALTS_INVOKE, WRONG)),
    {
        91: lambda v: "its filter has no channels" if FILTER.of(v).shape[3] < 1 else "", 92: divided_inputs,
        105: images(DATA, FILTER, OUTPUT),
    },
    Row(":95", HALTS_PREPARE, divided_outputs, since=GROUPS),
    *checks("conv_common.cc", {88: inputs(2, 3), 89: outputs}),
    *CONVOLUTION_SCALES,
    *int16_points(158, DATA, OUTPUT),
    Row(":465", WRONG, where(DATA, INT16, sums_of_int32), cause="sums"),
    Row(":465", WRONG, where(DATA, INT16, no_bias), since=INT64_SUMS),
    _ignored_point(":143"),
)  # fmt: skip
_SUMS_OF_INT32 = (
    Row(f"{INNER}/conv.h:191", WRONG, where(DATA, INT16, sums_with_int32_bias), cause="sums"),
    Row(f"{INNER}/conv.h:191", WRONG, where(DATA, INT16, sums_without_bias), until=INT64_SUMS, cause="sums"),
)
"""Of reference code, whose accumulator has the type of the bias (integer_ops/fully_connected.h:107 in dense layers)."""
CONV_PLAIN = in_file(
    "conv_common.cc",
    {150: given(OUTPUT), 153: given(DATA), 156: given(FILTER), 158: same_type(DATA, OUTPUT)},
    Row(":159", PREPARE, in_pairs(DATA, *PAIRS), cause="dynamic-quantization"),
    {
        168: images(DATA, FILTER, OUTPUT), 185: where(DATA, INTEGER, with_steps(FILTER)),
        194: where(DATA, INTEGER, filter_scales(0)), 88: inputs(2, 3), 89: outputs,
    },
    *CONVOLUTION_SCALES,
    *_SUMS_OF_INT32,
    Row(f"{INNER}/conv.h:78", WRONG, past_channels),
    _ignored_point(f"{INNER}/conv.h:117"),
)  # fmt: skip


def _conv(p: Preparation) -> None:
    data, weights, output = (operand.of(p.view) for operand in (DATA, FILTER, OUTPUT))
    if p.reference:
        return
    p.persistent += [4 * weights.shape[0]] * 2
    kind = "s16" if data.elem_type == "INT16" else "s4" if weights.elem_type == "INT4" else "s8"
    call = _slide(p.view, f"convolve_{kind}", data, Pair(*weights.shape[1:3]), dilated=True)._replace(
        input_dims=dims(data),
        filter_dims=dims(weights),
        output_dims=dims(output),
        bias=p.view.input(2) is not None,
        int32_bias=kind == "s16" and adds_in_int32(p.view),
    )
    if kind == "s16" and not call.int32_bias:
        bound = overflow(p.view, products_in_32_bits(call, p.build.kernels_of(call.entry)))
        if bound:
            p.wrong.append(f"in the last of {prod(output.shape[1:3])} output pixels {bound.text} (arm_convolve_s16.c)")
            p.wrong_cause = p.wrong_cause or "sums"
    sized = call._replace(entry="convolve_s8") if kind == "s4" else call  # conv.cc:154
    p.request_positive(p.routed(sized).buffer_size)
    p.runs(f"arm_convolve_wrapper_{kind}", call)


_FORGOTTEN = Row("tensorflow/lite/micro/micro_allocator.cc:843", HALTS_PREPARE, forgotten_bias, cause="bias")
DEPTHWISE = in_file(
    "cmsis_nn/depthwise_conv.cc",
    {70: given(DATA), 73: given(FILTER), 76: given(OUTPUT)},
    *weighted_types(78, 392),
    {93: images(DATA, FILTER, OUTPUT), 101: where(DATA, INTEGER, with_steps(FILTER))},
    *int16_points(105, DATA, OUTPUT),
    Row(":116", PREPARE, where(DATA, INTEGER, filter_scales(3))),
    *checks("depthwise_conv_common.cc", {88: inputs(2, 3), 89: outputs}),
    *DEPTHWISE_SCALES,
    _ignored_point(":214"),
    Row(":150", HALTS_PREPARE, where(DATA, INT8, several_images), until="2026-05-27", cause="batch", layer=OfLayer(
        "a check asks for one image at a time; a release build (NDEBUG) goes on"
    )),
    _FORGOTTEN._replace(layer=OfLayer(
        "it has no bias, which converters may write as bias index -1; Prepare halts there, or fails in a release build",
        level=Level.NOTE,
        sure=False,
    )),
)  # fmt: skip
DEPTHWISE_PLAIN = in_file(
    "depthwise_conv_common.cc",
    {
        150: given(OUTPUT), 153: given(DATA), 156: given(FILTER), 160: images(DATA, FILTER, OUTPUT),
        176: where(DATA, INT8, with_steps(FILTER)), 185: where(DATA, INT8, filter_scales(3)),
        190: where(DATA, INT8, as_many_points),
    },
    Row(":194", PREPARE, in_pairs(DATA, *PAIRS, alike=True), cause="dynamic-quantization"),
    {88: inputs(2, 3), 89: outputs},
    *DEPTHWISE_SCALES,
    _FORGOTTEN,
    Row("depthwise_conv.cc:135", INVOKE, in_pairs(DATA, *PAIRS)),
    _int16_until("depthwise_conv.cc:135", "2023-08-01"),
    _ignored_point(f"{INNER}/depthwise_conv.h:102"),
)  # fmt: skip


def _depthwise(p: Preparation) -> None:
    data, weights, output = (operand.of(p.view) for operand in (DATA, FILTER, OUTPUT))
    p.forgotten_bias = bool(forgotten_bias(p.view))
    if p.reference:
        return
    p.persistent += [4 * weights.shape[3]] * 2
    if data.elem_type == "INT16":
        p.runs("arm_depthwise_conv_s16")
        return
    kind = "s4" if weights.elem_type == "INT4" else "s8"
    call = _slide(p.view, f"depthwise_{kind}", data, Pair(*weights.shape[1:3]), dilated=True)._replace(
        input_dims=dims(data),
        filter_dims=dims(weights)._replace(n=1),
        output_dims=dims(output),
        ch_mult=p.view.option("depth_multiplier"),
        bias=p.view.input(2) is not None,
    )
    p.request_positive(p.routed(call).buffer_size)
    p.runs(f"arm_depthwise_conv_wrapper_{kind}", call)


TRANSPOSED = in_file(
    "cmsis_nn/transpose_conv.cc",
    {169: given(OUTPUT), 172: given(IMAGE), 175: given(FILTER)},
    *weighted_types(177, 414, IMAGE, PAIRS[:2] + PAIRS[3:]),
    {
        191: images(IMAGE, FILTER, OUTPUT), 266: where(IMAGE, INTEGER, with_steps(FILTER)),
        275: where(IMAGE, INTEGER, filter_scales(0)), 81: inputs(3, 4), 82: outputs,
    },
    *TRANSPOSED_SCALES,
    _ignored_point(":288", IMAGE, READ_FILTER_POINT),
    Row(":122", WRONG, where(IMAGE, INTEGER, activation_left_out)),
    Row(":256", REFERENCE, where(IMAGE, INT16, always("int16 transposed convolution")),
        cause="activation-type", layer=INT8_ALONE),
    not_yet("cmsis_nn/transpose_conv.cc", "2023-11-07"),
)  # fmt: skip
TRANSPOSED_PLAIN = in_file(
    "transpose_conv.cc",
    {164: given(OUTPUT), 167: given(IMAGE), 170: given(FILTER)},
    Row(":172", PREPARE, in_pairs(IMAGE, ("INT16", "INT8"), alike=True), cause="dynamic-quantization"),
    {
        179: images(IMAGE, FILTER, OUTPUT), 213: where(IMAGE, INTEGER, with_steps(FILTER)),
        222: where(IMAGE, INTEGER, filter_scales(0)), 226: where(IMAGE, INTEGER, as_many_points), 78: inputs(3, 4),
        79: outputs,
    },
    *TRANSPOSED_SCALES,
    Row(":114", WRONG, where(IMAGE, INTEGER, activation_left_out), until="2026-02-10"),
    Row(":287", INVOKE, same_type(IMAGE, OUTPUT)),
    Row(":401", INVOKE, typed(IMAGE, "FLOAT32", *INTEGER)),
)  # fmt: skip


def _transposed(p: Preparation) -> None:
    """Padding follows from the output's size, as in the convolution that this one inverts."""
    data, weights, output = (operand.of(p.view) for operand in (IMAGE, FILTER, OUTPUT))
    p.persistent += [4 * weights.shape[0]] * 2
    call = _slide(p.view, "transpose_conv_s8", output, Pair(*weights.shape[1:3]))._replace(
        input_dims=dims(data), filter_dims=dims(weights), output_dims=dims(output), bias=p.view.input(3) is not None
    )
    if data.elem_type == "INT8" and p.build.with_cmsis_nn:
        sizes = p.routed(call)
        p.request(sizes.buffer_size)
        p.request(sizes.reverse_buffer_size)
    elif data.elem_type in INTEGER:
        p.request((4 if data.elem_type == "INT8" else 8) * prod(output.shape))
    bias = p.view.input(3)
    if data.elem_type == "INT16" and bias is not None and bias.elem_type == "INT16":
        p.request(8 * prod(bias.shape))
    p.runs("arm_transpose_conv_wrapper_s8", call)


def _unpacks(p: Preparation) -> None:
    """A byte for every weight of 4 bits."""
    if FILTER.of(p.view).elem_type == "INT4":
        p.request(prod(FILTER.of(p.view).shape))


def _conv_plain(axis: int, p: Preparation) -> None:
    """Multipliers of the channels along an axis, of float layers too."""
    p.persistent += [4 * FILTER.of(p.view).shape[axis]] * 2
    p.forgotten_bias = p.view.operator.op == "DEPTHWISE_CONV_2D" and bool(forgotten_bias(p.view))
    _unpacks(p)


# FULLY_CONNECTED and BATCH_MATMUL.


EVAL_TENSOR_BYTES = 12
SHAPE_BYTES = 4
QUANTIZATION_BYTES = 28
"""OpDataBatchMatmul's quantization (K/batch_matmul.h)."""
INT32_BIAS = "the bias is int32 and the kernel reads it as int64"
PER_CHANNEL_DENSE = "2024-09-27"
"""Day from which int8 dense layers may have a scale for each output (pull request 2673)."""


def readable(view: OperatorView) -> str:
    """Shapes that the kernel reads unseen. Raises Unpredictable where a size is not there, or below 1."""
    weights, output = FILTER.of(view).shape, OUTPUT.of(view).shape
    if not output or not weights or min(output) < 1:
        raise Unpredictable(f"shapes {list(weights)} and {list(output)} of weights and output")
    return ""


def several(view: OperatorView) -> int:
    """Scales of weights that have several; else 0."""
    stored = FILTER.of(view).quantization
    count = len(stored.scales) if stored and quantized(FILTER.of(view)) else 0
    return count if count > 1 else 0


def several_scales(view: OperatorView) -> str:
    """A scale for each output."""
    return "its weights have a scale for each output" if several(view) else ""


def scales_of_int16(view: OperatorView) -> str:
    """Several scales in a layer that may not have them."""
    text = several_scales(view)
    return text and f"{text}, which layers of int8 alone may have"


def one_scale_of_int4(view: OperatorView) -> str:
    """A scale for each output, in types that may not have several."""
    taken = FILTER.of(view).elem_type != "INT4" and DATA.of(view).elem_type in INTEGER
    return "" if taken else several_scales(view)


@condition
def with_one_scale(view: OperatorView, rule: Condition) -> str:
    """The condition, of weights that do not have several scales."""
    return "" if several(view) else rule(view)


def scale_of_each_output(view: OperatorView) -> str:
    """Several scales of weights are as many as the axis that they name is long."""
    weights, count = FILTER.of(view), several(view)
    axis = weights.quantization.axis if weights.quantization else 0
    size = weights.shape[axis] if 0 <= axis < len(weights.shape) else 0
    return f"its weights of shape {list(weights.shape)} have {count} scales" if count not in (0, size) else ""


def _on_1x1_route(view: OperatorView) -> bool:
    """An output of more than two dimensions is a 1x1 convolution (K/cmsis_nn/fully_connected.cc:128)."""
    types = DATA.of(view).elem_type, FILTER.of(view).elem_type
    return types == ("INT8", "INT8") and len(OUTPUT.of(view).shape) > 2 and FILTER.of(view).shape[-1] % 4 == 0


def early_scratch(view: OperatorView) -> str:
    """The 1x1 route asks for scales to be repeated in a scratch buffer, whose number has to be 4 or more."""
    early = _on_1x1_route(view) and not several(view) and view.scratch_before < 4
    return f"its scratch request has number {view.scratch_before}; at least 4 is taken" if early else ""


def ignored_filter_point(view: OperatorView) -> str:
    """Ways of int8 activations that take the weights as symmetric."""
    point, int4 = zero_point(FILTER.of(view)), FILTER.of(view).elem_type == "INT4"
    way = "int4 kernel" if int4 else "1x1 route"
    return (
        f"the {way} ignores the zero-point of the weights, {point}" if point and (int4 or _on_1x1_route(view)) else ""
    )


def int32_bias(view: OperatorView) -> str:
    """A bias of another type than the kernel reads."""
    bias = view.input(2)
    return INT32_BIAS if bias is not None and bias.elem_type == "INT32" else ""


DENSE_QUANTIZATION = tuple(
    row._replace(condition=unless(DATA, FLOAT, row.condition))
    for row in (
        Row("fully_connected_common.cc:58", PREPARE, several_scales, "", "2024-05-29", PER_CHANNEL_DENSE,
            "weight-scales", OfLayer(
                "its weights have a scale for each output, which Prepare of this revision checks for",
            sure=False,
        )),
        Row("fully_connected_common.cc:99", PREPARE, one_scale_of_int4, since=PER_CHANNEL_DENSE, layer=SEVERAL_SCALES),
        Row("fully_connected_common.cc:107", PREPARE, scale_of_each_output),
        *(row._replace(condition=with_one_scale(row.condition)) for row in DENSE_BIAS),
        Row("fully_connected_common.cc:148", HALTS_PREPARE, pointed(FILTER, 0),
            cause="weight-zero-point", layer=OfLayer(
            "a check asks for weights with zero-point 0, as symmetric quantization gives them; a release build "
            "(NDEBUG) goes on, and ignores the zero-point where the output has more than two dimensions",
        )),
        *DENSE_ACTIVATION,
    )
)  # fmt: skip
"""CalculateOpDataFullyConnected, which float layers leave at once."""
DENSE = in_file(
    "cmsis_nn/fully_connected.cc",
    {65: given(DATA), 68: given(FILTER), 73: given(OUTPUT)},
    *weighted_types(75, 429),
    Row(":90", PREPARE, readable),
    Row(":94", HALTS_PREPARE, ranked(OUTPUT, 2, 99)),
    Row(":95", HALTS_PREPARE, ranked(OUTPUT, 0, 4), cause="rank", layer=OfLayer(
        "a check asks for an output of at most four dimensions; a release build (NDEBUG) goes on"
    )),
    *DENSE_QUANTIZATION,
    Row(":116", PREPARE, where(DATA, INT16, scales_of_int16), since=PER_CHANNEL_DENSE, layer=SEVERAL_SCALES),
    *int16_points(124, DATA, OUTPUT),
    *rows(WRONG, "", {389: where(DATA, INT16, int32_bias), 251: where(DATA, INT8, ignored_filter_point)}),
    Row(":309", HALTS_INVOKE, early_scratch, "", PER_CHANNEL_DENSE, cause="scratch-order", layer=OfLayer(
        "with more than two dimensions and inputs a multiple of 4 it is computed as a 1x1 convolution, of which a "
        "check asks that four scratch requests came before; a release build (NDEBUG) computes it rightly",
        level=Level.WARNING,
        sure=False,
    )),
    Row("fully_connected_common.cc", WRONG, several_scales, until="2024-05-29", cause="weight-scales", layer=OfLayer(
        "its weights have a scale for each output, and the kernel of this revision takes one", sure=False
    )),
)  # fmt: skip
DENSE_PLAIN = in_file(
    "fully_connected.cc",
    {
        48: given(DATA), 51: given(FILTER), 56: given(OUTPUT), 57: same_type(DATA, OUTPUT),
        59: where(DATA, ACTIVATIONS, in_pairs(DATA, *PAIRS)), 67: readable,
    },
    *DENSE_QUANTIZATION,
    *_SUMS_OF_INT32,
    Row(":347", INVOKE, typed(DATA, *ACTIVATIONS)),
)  # fmt: skip


def _multipliers(p: Preparation) -> None:
    """Multipliers of weights with several scales."""
    if DATA.of(p.view).elem_type != "FLOAT32" and several(p.view):
        p.persistent += [4 * several(p.view)] * 2


def _dense_plain(p: Preparation) -> None:
    _multipliers(p)
    _unpacks(p)


def _dense(p: Preparation) -> None:
    """Kernel sums live in the arena for good, or are worked out in each run into a scratch buffer."""
    if p.reference:
        return
    _multipliers(p)
    data, weights, output, bias = DATA.of(p.view), FILTER.of(p.view), OUTPUT.of(p.view), p.view.input(2)
    batch, depth, channels = prod(output.shape[:-1]), weights.shape[-1], output.shape[-1]
    kind = "s16" if data.elem_type == "INT16" else "s4" if weights.elem_type == "INT4" else "s8"
    ends_of_call = Dims(batch, 1, 1, depth), Dims(depth, 1, 1, channels), Dims(batch, 1, 1, channels)
    call = KernelCall(f"fully_connected_{kind}", *ends_of_call, bias=bias is not None)
    if kind != "s8":
        p.runs(f"arm_fully_connected_{kind}", call)
    elif _on_1x1_route(p.view):
        if not several(p.view):
            p.request(8 * channels)
        call = call._replace(entry="convolve_s8", filter_dims=Dims(channels, 1, 1, depth))
        p.runs("arm_convolve_1x1_s8_fast", call)
    else:
        call = call._replace(per_channel=bool(several(p.view)), weight_offset=bool(zero_point(weights)))
        sums = max(p.routed(call).buffer_size or 0, 0)
        constant = p.view.constant(weights) and (bias is None or p.view.constant(bias))
        if sums and p.build.speed and constant:
            p.persistent.append(sums)
        elif sums:
            p.request(sums)
            p.functions.append("arm_vector_sum_s8")
        wrapper = "wrapper_" if holds(p.build.revision, PER_CHANNEL_DENSE, "") else ""
        p.runs(f"arm_fully_connected_{wrapper}s8", call)


summed_axis = equal(
    "its inputs have {} and {} products to sum",
    lambda v: (LEFT.of(v).shape[-2 if v.option("adj_x") else -1], SECOND.of(v).shape[-1 if v.option("adj_y") else -2]),
)
"""Both operands have as many products to sum."""


def collapsed(view: OperatorView) -> str:
    """Matrices of the first operand that are turned are not taken for one, where one matrix stands behind them all."""
    left, right = LEFT.of(view).shape, SECOND.of(view).shape
    several = view.option("adj_x") and min(len(left), len(right)) > 2 and right[-3] == 1 and left[-3] > 1
    return "matrices that adj_x turns are taken for one" if several else ""


_COLLAPSED = Row("batch_matmul.cc:365", WRONG, collapsed, until="2026-04-09")
PRODUCTS = in_file(
    "cmsis_nn/batch_matmul.cc",
    {199: given(LEFT), 202: given(SECOND), 205: given(OUTPUT)},
    Row(":207", PREPARE, same_type(LEFT, SECOND), layer=HYBRID),
    {208: same_type(LEFT, OUTPUT), 209: typed(LEFT, *ACTIVATIONS)},
    in_float(":487"),
    *(Row(f":{line}", PREPARE, ranked(side, *ends)) for line, side, ends in
      ((218, LEFT, (2, 99)), (219, LEFT, (0, 4)), (220, SECOND, (2, 99)), (221, SECOND, (0, 4)))),
    Row(":255", PREPARE, summed_axis),
    *int16_points(319, LEFT, SECOND, OUTPUT),
    _COLLAPSED,
    not_yet("cmsis_nn/batch_matmul.cc", "2024-09-09"),
    Row(":124", WRONG, always("rows and columns of its first input are exchanged"), "", "2024-09-09", "2024-11-06",
        layer=OfLayer("the kernel of this revision exchanges rows and columns of the first operand's "
                      "shape", sure=False)),
)  # fmt: skip
PRODUCTS_PLAIN = in_file(
    "batch_matmul.cc",
    {
        185: given(LEFT), 187: given(SECOND), 189: given(OUTPUT), 191: typed(LEFT, *NUMBERS),
        194: typed(SECOND, *NUMBERS), 199: same_type(LEFT, SECOND), 201: same_type(LEFT, OUTPUT),
    },
    *(Row(f":{line}", PREPARE, ranked(side, *ends)) for line, side, ends in
      ((206, LEFT, (2, 99)), (207, LEFT, (0, 5)), (208, SECOND, (2, 99)), (209, SECOND, (0, 5)))),
    *int16_points(242, LEFT, SECOND, OUTPUT),
    _COLLAPSED,
    Row(":276", PREPARE, summed_axis),
)  # fmt: skip


def _copies(p: Preparation) -> None:
    """A further tensor for each transposed operand, constants included (cmsis_nn/batch_matmul.cc:162), and a shape."""
    for tensor, copied in ((LEFT.of(p.view), p.view.option("adj_x")), (SECOND.of(p.view), not p.view.option("adj_y"))):
        if copied:
            p.persistent += [EVAL_TENSOR_BYTES, SHAPE_BYTES * (1 + len(tensor.shape)), tensor_bytes(tensor)]
    p.persistent.append(SHAPE_BYTES * (1 + len(OUTPUT.of(p.view).shape)))


def _products_plain(p: Preparation) -> None:
    if LEFT.of(p.view).elem_type in INTEGER:
        p.persistent.append(QUANTIZATION_BYTES)
    _copies(p)


def _products(p: Preparation) -> None:
    """Rows of the left operand times rows of the right one, whose copies are transposed where they have to be."""
    _copies(p)
    if p.reference:
        return
    p.persistent.append(QUANTIZATION_BYTES)
    left, right, output = (activation_dims(operand.of(p.view).shape) for operand in (LEFT, SECOND, OUTPUT))
    kind = "s16" if LEFT.of(p.view).elem_type == "INT16" else "s8"
    if kind == "s8":
        shape = OUTPUT.of(p.view).shape
        if len(shape) > 4:
            raise Unpredictable(f"the file states {len(shape)} axes for its output, and its kernel takes up to 4")
        size = Dims(*(1,) * (4 - len(shape)), *shape)
        sums = KernelCall("fully_connected_s8", size, size, size, per_channel=False)
        p.request_positive(p.routed(sums).buffer_size)
    left = left._replace(w=left.c, c=left.w) if p.view.option("adj_x") else left
    right = right if p.view.option("adj_y") else right._replace(w=right.c, c=right.w)
    p.runs(f"arm_batch_matmul_{kind}", KernelCall(f"batch_matmul_{kind}", left, right, output))


# ADD, MUL, MAXIMUM and MINIMUM.


BROADCAST = OfLayer("the shapes of its operands differ")
INT32_SUMS = "2023-03-30"
"""Day from which ADD takes int32 (pull request 1847)."""


def differing(view: OperatorView) -> str:
    """Operands of different shapes."""
    shapes = LEFT.of(view).shape, SECOND.of(view).shape
    return f"the shapes differ, {list(shapes[0])} and {list(shapes[1])}" if shapes[0] != shapes[1] else ""


def _pairs(float_at: str, broadcast_at: str) -> tuple[KernelLimit, ...]:
    """CMSIS-NN for equal shapes of int8 and int16, reference code for all else."""
    return (
        in_float(float_at),
        other_type(float_at, LEFT, *NUMBERS),
        Row(broadcast_at, REFERENCE, where(LEFT, INTEGER, differing), cause="broadcast", layer=BROADCAST),
    )


ADD = in_file(
    "cmsis_nn/add.cc",
    {
        296: given(LEFT), 299: given(SECOND), 302: given(OUTPUT),
    },
    *asked_since(
        TYPE_CHECKS,
        Row(":304", PREPARE, same_type(LEFT, OUTPUT)),
        Row(":305", PREPARE, typed(LEFT, *NUMBERS, "INT32")),
        Row(":310", PREPARE, same_type(LEFT, SECOND), cause="activation-type"),
    ),
    *int16_points(314, LEFT, SECOND, OUTPUT),
    *SUM_FACTORS,
    {327: where(OUTPUT, ("INT32",), no_steps(LEFT)), 329: where(OUTPUT, ("INT32",), no_steps(SECOND))},
    *_pairs(":353", ":132"),
    _type_until("INT32", ":353", INT32_SUMS, OUTPUT),
    Row(":229", WRONG, where(OUTPUT, ("INT32",), no_activation)),
)  # fmt: skip
ADD_PLAIN = in_file(
    "add_common.cc",
    {88: given(LEFT), 91: given(SECOND), 94: given(OUTPUT)},
    Row(":42", ABORTS_PREPARE, where(OUTPUT, INTEGER, with_steps(OUTPUT))),
    *SUM_FACTORS,
    {104: where(OUTPUT, ("INT32",), no_steps(LEFT)), 106: where(OUTPUT, ("INT32",), no_steps(SECOND))},
    Row("add.cc:188", INVOKE, typed(OUTPUT, *NUMBERS, "INT32")),
    _type_until("INT32", "add.cc:188", INT32_SUMS, OUTPUT),
    Row("add.cc:63", WRONG, where(OUTPUT, ("INT32",), no_activation)),
    *(Row("add.cc:181", WRONG, same_type(operand, OUTPUT)) for operand in (LEFT, SECOND)),
)
MUL_PLAIN = in_file(
    "mul_common.cc",
    {44: given(LEFT), 47: given(SECOND), 50: given(OUTPUT), 55: same_type(LEFT, SECOND)},
    *FUSED_ACTIVATION,
    *(
        limit._replace(condition=where(OUTPUT, INTEGER, limit.condition))
        for limit in int16_points(73, LEFT, SECOND, OUTPUT, by=LEFT)
    ),
    *MULTIPLIED,
)
MUL = (*MUL_PLAIN, *_pairs("cmsis_nn/mul.cc:123", "cmsis_nn/mul.cc:171"))


def _pair(entry: str, p: Preparation) -> None:
    kind = "s16" if LEFT.of(p.view).elem_type == "INT16" and entry.startswith("elementwise") else "s8"
    left, right, output = (activation_dims(operand.of(p.view).shape) for operand in (LEFT, SECOND, OUTPUT))
    p.runs(f"arm_{entry}_{kind}", KernelCall(f"{entry}_{kind}", left, right, output))


def unequal_steps(view: OperatorView) -> str:
    """Inputs in other steps than the output."""
    steps = [operand.of(view).quantization for operand in (LEFT, SECOND, OUTPUT)]
    text = "the kernel compares stored values, and scales or zero-points of inputs and output differ"
    return text if any(step != steps[2] for step in steps) else ""


def taken_for_one_value(view: OperatorView) -> str:
    """Ranks other than 2 to 4."""
    text = "the kernel takes a shape of another rank than 2 to 4 for a single value"
    ranks = [len(operand.of(view).shape) for operand in (LEFT, SECOND, OUTPUT)]
    return "" if all(2 <= rank <= 4 for rank in ranks) else text


_EXTREMES_SINCE, _ANY_RANK = "2025-02-05", "2026-05-27"
EXTREMES_PLAIN = in_file(
    "maximum_minimum.h",
    *(Row(f":{line}", INVOKE, touched(operand)) for line, operand in ((43, LEFT), (44, SECOND), (45, OUTPUT))),
    *LARGEST,
    Row(
        "tensorflow/lite/kernels/internal/reference/maximum_minimum.h:38", WRONG, unequal_steps, cause="unequal-scales"
    ),
    Row(COUNTED, ABORTS_INVOKE, as_many_elements("INT8", same_rank=True)),
)
EXTREMES = in_file(
    "cmsis_nn/maximum_minimum.cc",
    *EXTREMES_PLAIN[:3],
    *LARGEST,
    in_float(":67", OUTPUT),
    Row(":63", WRONG, unequal_steps, layer=OfLayer(
        "the kernel compares stored values, and scales or zero-points differ", (Cause.UNEQUAL_SCALES,)
    )),
    Row(":59", WRONG, where(OUTPUT, INT8, taken_for_one_value), "", _EXTREMES_SINCE, _ANY_RANK, "rank", OfLayer(
        "the kernel of this revision takes a tensor of one dimension for one value", sure=False
    )),
    *(Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, where(OUTPUT, INT8, ranked(operand, 0, 4)), since=_ANY_RANK,
          cause="rank")
      for operand in (LEFT, SECOND, OUTPUT)),
    Row("maximum_minimum.cc", PREPARE, where(OUTPUT, INT16, always("int16")), until="2024-09-09",
        cause="activation-type", layer=NO_INT16),
    not_yet("cmsis_nn/maximum_minimum.cc", _EXTREMES_SINCE),
    other_type(":67", OUTPUT, "INT8", layer=INT8_ALONE),
)  # fmt: skip


# PAD, PADV2 and TRANSPOSE.


AMOUNTS, ORDER, FILL = (
    KernelOperand(1, "its paddings"),
    KernelOperand(1, "its order of axes"),
    KernelOperand(2, "its value"),
)
MOVES_SINCE = "2025-03-20"


def values(view: OperatorView, tensor: TfliteTensor, count: int) -> tuple[int, ...]:
    """The first `count` int32 values of a constant. Raises Unpredictable where the file holds fewer."""
    data = view.model.bytes_of(tensor.buffer)
    if len(data) < 4 * count:
        raise Unpredictable(f"'{tensor.name}' has {len(data)} bytes; {4 * count} are read")
    return unpack_from(f"<{count}i", data)


def with_value(condition: Condition) -> Condition:
    """The condition, for a pad with a value."""
    return lambda view: condition(view) if view.input(2) is not None else ""


def padded_sizes(view: OperatorView) -> str:
    """The output is as large as input and paddings say."""
    data, output = DATA.of(view).shape, OUTPUT.of(view).shape
    pads = values(view, AMOUNTS.of(view), 2 * len(output))
    wanted = [size + pads[2 * axis] + pads[2 * axis + 1] for axis, size in enumerate(data[: len(output)])]
    same = list(output[: len(wanted)]) == wanted
    return "" if same else f"its output has shape {list(output)}; {wanted} is taken"


def pad_of_five(view: OperatorView) -> str:
    """Several blocks of four dimensions."""
    shape = DATA.of(view).shape
    lost = f"of {shape[0]} images along the first only one is written" if len(shape) == 5 and shape[0] > 1 else ""
    return lost and f"the kernel pads the last four dimensions alone; {lost}"


def pad_of_four(view: OperatorView) -> str:
    """Another number of dimensions than 4."""
    rank = len(DATA.of(view).shape)
    return "" if rank == 4 else f"the kernel reads four sizes of a shape that has {rank}"


def transpose_of_five(view: OperatorView) -> str:
    """More than four dimensions."""
    text = "the kernel takes four dimensions at most, the error is dropped and the output is never written"
    return text if len(DATA.of(view).shape) > 4 else ""


def order_within(view: OperatorView) -> str:
    """The order names axes of the input."""
    rank = len(DATA.of(view).shape)
    bad = [axis for axis in values(view, ORDER.of(view), rank) if not 0 <= axis < rank]
    return f"axis {bad[0]} of an input with {rank} dimensions" if bad else ""


TOO_MANY_AXES = OfLayer("five dimensions are the most that Prepare takes")
PAD_PLAIN = in_file(
    "pad_common.cc",
    {
        36: inputs(2, 3), 37: outputs, 41: given(DATA), 44: given(AMOUNTS), 51: given(OUTPUT),
        53: same_type(DATA, OUTPUT),
    },
    Row(":56", PREPARE, ranked(DATA, 0, 5), cause="rank", layer=TOO_MANY_AXES),
    {60: with_value(same_type(DATA, FILL)), 62: with_value(single_value(FILL))},
    Row(
        ":66",
        PREPARE,
        equal(
            "its paddings have {} elements; {} are taken",
            lambda v: (prod(AMOUNTS.of(v).shape), 2 * len(OUTPUT.of(v).shape)),
        ),
    ),
    {
        72: stored(AMOUNTS), 79: padded_sizes,
        110: with_value(where(DATA, INT8, same("zero-point", zero_point, OUTPUT, FILL))),
        112: with_value(where(DATA, INT8, same("scale", scale, OUTPUT, FILL))),
    },
    *PADDED,
)  # fmt: skip
PAD = in_file(
    "cmsis_nn/pad.cc",
    in_float(":88"),
    *PAD_PLAIN,
    Row(":54", WRONG, where(DATA, INT8, pad_of_five), "", "2026-05-27", cause="rank", layer=OfLayer(
        "the kernel pads the last four dimensions alone, and writes the first of several blocks"
    )),
    Row(":48", WRONG, where(DATA, INT8, pad_of_four), "", MOVES_SINCE, "2026-05-27", "rank", OfLayer(
        "the kernel of this revision reads four sizes whatever the rank", sure=False
    )),
    not_yet("cmsis_nn/pad.cc", MOVES_SINCE),
    other_type(":109", DATA, "INT8", layer=INT8_ALONE),
)  # fmt: skip
ORDERED = in_file(
    "transpose_common.cc",
    {27: inputs(2), 28: outputs},
    *(Row(":30", PREPARE, given(operand)) for operand in (DATA, ORDER, OUTPUT)),
    Row(":33", PREPARE, ranked(DATA, 0, 5), cause="rank", layer=TOO_MANY_AXES),
    {35: same_type(DATA, OUTPUT)},
    *asked_since(CONSTANT_CHECKS, Row(":37", PREPARE, stored(ORDER))),
    {44: ranked(ORDER, 1, 1)},
    Row(":45", PREPARE, lambda v: "" if ORDER.of(v).shape[0] == len(DATA.of(v).shape) else
        f"its order has {ORDER.of(v).shape[0]} axes for {len(DATA.of(v).shape)} dimensions"),
    Row(":47", PREPARE, order_within),
)  # fmt: skip
TRANSPOSE_PLAIN = (*ORDERED, Row("transpose.cc:65", INVOKE, typed(DATA, *NUMBERS)))
TRANSPOSE = in_file(
    "cmsis_nn/transpose.cc",
    in_float(":76"),
    *ORDERED,
    Row(":93", INVOKE, typed(DATA, *NUMBERS)),
    Row(":30", WRONG, where(DATA, INT8, transpose_of_five), "", MOVES_SINCE, "", "rank", OfLayer(
        "the kernel takes four dimensions at most, the error is dropped and the output is never written"
    )),
    Row("transpose.cc", PREPARE, where(DATA, INT16, always("int16")), until="2025-03-17",
        cause="activation-type", layer=NO_INT16),
    not_yet("cmsis_nn/transpose.cc", MOVES_SINCE),
    other_type(":86", DATA, "INT8", layer=INT8_ALONE),
)  # fmt: skip


def _moves(p: Preparation, entry: str) -> KernelCall:
    data, output = (activation_dims(operand.of(p.view).shape) for operand in (DATA, OUTPUT))
    return KernelCall(entry, data, NO_FILTER, output)


def _pad(p: Preparation) -> None:
    """What is added in front is in the order of `activation_dims`; unknown for more than four axes."""
    rank = len(DATA.of(p.view).shape)
    amounts = values(p.view, AMOUNTS.of(p.view), 2 * rank)[::2]
    front = NO_FILTER if rank > 4 else Dims(*(0,) * (4 - rank), *amounts)
    p.runs("arm_pad_s8", _moves(p, "pad_s8")._replace(pad_front=front))


def _transpose(p: Preparation) -> None:
    rank = len(DATA.of(p.view).shape)
    if rank <= 4:
        order = values(p.view, ORDER.of(p.view), rank)
        p.runs("arm_transpose_s8", _moves(p, "transpose_s8")._replace(permutation=order))


# AVERAGE_POOL_2D, MAX_POOL_2D and SOFTMAX.


LUT_BYTES = 513 * 2
"""One of the two tables of the int16 softmax."""
INT16_POOLS = "2023-01-17"
"""Day from which pools take int16 (pull request 1591)."""
POOL_CHECKS = "2025-04-04"
"""Day from which pools check scales."""


def pooled_scales(view: OperatorView) -> str:
    """Input and output have one scale, to a millionth."""
    scales = scale(DATA.of(view)), scale(OUTPUT.of(view))
    near = single(abs(scales[0] - scales[1])) <= 1.0e-6
    return "" if near else f"its input has scale {scales[0]:g} and its output {scales[1]:g}"


pooled_points = same("zero-point", zero_point, DATA, OUTPUT)
"""Input and output have one zero-point."""


def first_image(view: OperatorView) -> str:
    """A batch."""
    batch = DATA.of(view).shape[0]
    return f"only the first of {batch} images is pooled" if batch > 1 else ""


_UNEQUAL = OfLayer("input and output have different scales or zero-points", (Cause.UNEQUAL_SCALES,))
POOL_PLAIN = in_file(
    "pooling_common.cc",
    {61: given(DATA), 64: given(OUTPUT)},
    Row(":73", PREPARE, where(DATA, INTEGER, pooled_scales), since=POOL_CHECKS, layer=_UNEQUAL),
    Row(":74", PREPARE, where(DATA, INTEGER, pooled_points), since=POOL_CHECKS, cause="unequal-scales"),
    *(row._replace(condition=where(DATA, INTEGER, row.condition)) for row in POOLED_ACTIVATION),
    Row(":86", PREPARE, typed(DATA, *NUMBERS)),
    _int16_until("pooling.cc", INT16_POOLS),
)
POOL = in_file(
    "cmsis_nn/pooling.cc",
    *POOL_PLAIN,
    in_float(":212"),
    Row(":170", PREPARE, where(DATA, INTEGER, images(DATA, OUTPUT))),
    Row("cmsis_nn/pooling.cc", WRONG, where(DATA, INTEGER, lambda v: pooled_scales(v) or pooled_points(v)),
        until=POOL_CHECKS, layer=OfLayer(
            "the kernel pools stored values, and scales or zero-points differ; no check of this revision sees it",
        (Cause.UNEQUAL_SCALES,),
        sure=False,
    )),
    Row("cmsis_nn/pooling.cc", WRONG, where(DATA, INTEGER, first_image), "", "", "2026-06-01", "batch", OfLayer(
        "the kernel pools the first image of a batch alone"
    )),
)  # fmt: skip


def _pool(stem: str, p: Preparation) -> None:
    if p.reference:
        return
    data, output = DATA.of(p.view), OUTPUT.of(p.view)
    kernel = Pair(p.view.option("filter_height"), p.view.option("filter_width"))
    entry = f"{stem}_{'s16' if data.elem_type == 'INT16' else 's8'}"
    call = _slide(p.view, entry, data, kernel)._replace(
        input_dims=dims(data), filter_dims=Dims(1, kernel.h, kernel.w, 1), output_dims=dims(output)
    )
    if stem == "avgpool":
        p.request_positive(p.routed(call).buffer_size)
    p.runs(f"arm_{entry}", call)


@condition
def near(view: OperatorView, divisor: int) -> str:
    """The output's scale is 1 / `divisor`, to a thousandth of it."""
    step = scale(OUTPUT.of(view))
    exact = abs(step - 1 / divisor) <= single(0.001) / divisor
    return "" if exact else f"its output has scale {step:g}; 1/{divisor} is taken"


def one_in_256(view: OperatorView) -> str:
    """The output's scale is 1/256."""
    step = scale(OUTPUT.of(view))
    return "" if step == 1 / 256 else f"its output has scale {step:.9g}; 1/256 is taken"


SOFTMAX_OUTPUT = OfLayer(
    "its output needs scale 1/256 and zero-point -128 (int16: 1/32768 and 0, behind int8 1/65536 and -32768)",
    (Cause.SOFTMAX_SCALE,),
)


def of_int8(types: tuple[str, ...], rule: Condition) -> Condition:
    """The condition, where int8 becomes one of the types."""
    return where(DATA, INT8, where(OUTPUT, types, rule))


SOFTMAX_STEPS = in_file(
    "softmax_common.cc",
    Row(":91", PREPARE, where(DATA, INT16, pointed(DATA, 0)), layer=INT16_POINT),
    Row(":92", PREPARE, where(DATA, INT16, pointed(OUTPUT, 0)), layer=SOFTMAX_OUTPUT),
    Row(":93", PREPARE, where(DATA, INT16, near(32768)), cause="softmax-scale"),
    Row(":98", PREPARE, of_int8(INT16, pointed(OUTPUT, -32768)), layer=SOFTMAX_OUTPUT),
    Row(":99", PREPARE, of_int8(INT16, near(65536)), cause="softmax-scale"),
    Row(":103", PREPARE, of_int8(INT8, pointed(OUTPUT, -128)), layer=SOFTMAX_OUTPUT),
    Row(":104", PREPARE, of_int8(INT8, one_in_256), cause="softmax-scale"),
    *SOFTMAX_RANGE,
)
"""CalculateSoftmaxParams, by the types of input and output."""


def types_together(view: OperatorView) -> str:
    """Input and output have one type, or int8 becomes int16."""
    kinds = DATA.of(view).elem_type, OUTPUT.of(view).elem_type
    together = kinds[0] == kinds[1] or kinds == ("INT8", "INT16")
    return "" if together else f"its input is {kinds[0]} and its output {kinds[1]}; they are not taken together"


SOFTMAX = in_file(
    "cmsis_nn/softmax.cc",
    {
        47: inputs(1), 48: outputs, 50: given(DATA), 51: ranked(DATA, 1, 99), 53: given(OUTPUT),
    },
    *asked_since(TYPE_CHECKS, Row(":55", PREPARE, types_together), Row(":60", PREPARE, typed(DATA, *NUMBERS))),
    in_float(":98"),
    *SOFTMAX_STEPS,
)  # fmt: skip
SOFTMAX_PLAIN = in_file(
    "softmax_common.cc",
    {
        148: inputs(1), 149: outputs, 151: given(DATA), 152: ranked(DATA, 1, 99), 154: given(OUTPUT),
        49: where(OUTPUT, INT16, typed(DATA, *INTEGER)), 52: unless(OUTPUT, INT16, same_type(DATA, OUTPUT)),
        57: where(DATA, INT16, pointed(OUTPUT, 0)),
    },
    *SOFTMAX_STEPS,
    Row(":133", PREPARE, typed(DATA, *NUMBERS)),
)  # fmt: skip


def _softmax(p: Preparation) -> None:
    data = DATA.of(p.view)
    kinds = data.elem_type, OUTPUT.of(p.view).elem_type
    if data.elem_type == "INT16":
        p.persistent += [LUT_BYTES] * 2
    entry = {("INT8", "INT8"): "softmax_s8", ("INT8", "INT16"): "softmax_s8_s16"}.get(kinds, "softmax_s16")
    rows = Dims(prod(data.shape[:-1]), 1, 1, data.shape[-1])
    p.runs(f"arm_{entry}", KernelCall(entry, rows, NO_FILTER, rows))


# SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM.


LSTM_GATES = 8
"""Four gates, each with the sums of its input weights and of its recurrent weights."""
TIMES, BIAS, STATE = (
    KernelOperand(2, "its weights of time"),
    KernelOperand(3, "its bias"),
    KernelOperand(4, "its state"),
)
HIDDEN, CELL = KernelOperand(18, "its hidden state"), KernelOperand(19, "its cell state")


def readable_svdf(view: OperatorView) -> str:
    """Shapes that the kernel reads unseen. Raises Unpredictable where a size is not there."""
    if min(len(operand.of(view).shape) for operand in (DATA, FILTER, TIMES)) < 2 or view.option("rank") < 1:
        raise Unpredictable("an SVDF whose inputs have fewer than two dimensions, or whose rank is 0")
    return ""


def bias_scale(view: OperatorView) -> str:
    """The bias has the scale of state times weights. Raises Unpredictable without a bias."""
    if view.input(3) is None:
        raise Unpredictable("an SVDF without a bias: the kernel reads the scale of one that is not there")
    step, wanted = scale(BIAS.of(view)), scale(STATE.of(view)) * scale(TIMES.of(view))
    return "" if abs(step - wanted) < 1e-5 else f"its bias has scale {step:g}; {wanted:g} is taken"


def _svdf_rows(file: str, first: int) -> tuple[KernelLimit, ...]:
    """PrepareSvdf, which both builds have alike; `first` is the line of its first check."""

    def row(line: int, condition: Condition) -> KernelLimit:
        return Row(f"{file}:{first + line}", PREPARE, condition)

    return (
        *(row(line, given(operand)) for line, operand in ((0, DATA), (3, FILTER), (6, TIMES), (11, STATE))),
        row(15, readable_svdf),
        row(18, lambda v: f"{FILTER.of(v).shape[0]} filters are no multiple of its rank {v.option('rank')}"
            if FILTER.of(v).shape[0] % v.option("rank") else ""),
        row(23, typed(DATA, "FLOAT32", "INT8")),
        row(32, given(OUTPUT)),
        row(57, lambda v: "" if STATE.of(v).is_variable else "its state is no variable"),
        row(59, inputs(5)),
        row(85, where(DATA, INT8, bias_scale)),
    )  # fmt: skip


SVDF, SVDF_PLAIN = (
    (*_svdf_rows("cmsis_nn/svdf.cc", 75), in_float("cmsis_nn/svdf.cc:391")._replace(layer=None)),
    _svdf_rows("svdf_common.cc", 379),
)


def _svdf(p: Preparation) -> None:
    """Kernel sums: kept for good with SPEED, worked out in each run with SIZE, which needs a buffer to be there."""
    batch, shape = DATA.of(p.view).shape[0], FILTER.of(p.view).shape
    p.request(4 * batch * shape[0])
    if DATA.of(p.view).elem_type == "INT8":
        p.request(4 * batch * (shape[0] // p.view.option("rank")))
    if p.reference:
        return
    filters = Dims(shape[0], TIMES.of(p.view).shape[1], 1, shape[1])
    units = shape[0] // p.view.option("rank")
    call = KernelCall("svdf_s8", Dims(batch, 1, 1, shape[1]), filters, Dims(batch, 1, 1, units))
    sums = max(p.routed(call).buffer_size or 0, 0)
    if sums and p.build.speed:
        if not p.view.constant(FILTER.of(p.view)):
            raise Refused(
                "its filter is computed; a constant alone is taken (micro/kernels/cmsis_nn/svdf.cc:196)", Stage.PREPARE
            )
        p.persistent.append(sums)
    elif sums:
        p.request(sums)
    if TIMES.of(p.view).elem_type == "INT16":
        p.runs("arm_svdf_state_s16_s8", call._replace(entry="svdf_state_s16_s8"))
        return
    if not p.build.speed and sums:
        p.functions.append("arm_vector_sum_s8")
    elif not p.build.speed:
        p.fails = Refused("there is no scratch buffer for its sums (micro/kernels/cmsis_nn/svdf.cc:320)", Stage.INVOKE)
    p.runs("arm_svdf_s8", call)


@condition
def constants(view: OperatorView, *positions: int) -> str:
    """The file holds some inputs."""
    computed = [position for position in positions if not view.constant(view.input(position))]
    return f"input {computed[0]} is computed; a constant alone is taken" if computed else ""


@condition
def readable_lstm(view: OperatorView, *operands: KernelOperand) -> str:
    """Shapes that the kernel reads unseen. Raises Unpredictable where a size is not there."""
    shapes = [operand.of(view).shape for operand in operands]
    if min(map(len, shapes)) < 2:
        raise Unpredictable(f"shapes {' and '.join(str(list(shape)) for shape in shapes)} of input and hidden state")
    return ""


LSTM = in_file(
    "cmsis_nn/unidirectional_sequence_lstm.cc",
    {337: outputs, 338: inputs(24)},
    *(Row(":350", PREPARE, given(operand)) for operand in (DATA, HIDDEN, CELL)),
    *asked_since("2025-10-17", Row(":355", PREPARE, constants(*range(1, 9))),
                 Row(":360", PREPARE, constants(*range(12, 16)))),
    {
        390: typed(CELL, "FLOAT32", "INT16"),
        373: readable_lstm(DATA, HIDDEN),
    },
    Row(":438", REFERENCE, lambda v: "" if DATA.of(v).elem_type in INTEGER and CELL.of(v).elem_type == "INT16" else
        "float", cause="float"),
)  # fmt: skip
LSTM_PLAIN = in_file(
    "unidirectional_sequence_lstm.cc",
    {45: outputs, 46: inputs(24)},
    *checks("lstm_eval.cc", {60: given(HIDDEN), 67: given(CELL)}),
    {81: typed(CELL, "FLOAT32", "INT16"), 63: readable_lstm(HIDDEN)},
)


def _states(p: Preparation, count: int) -> None:
    shape = HIDDEN.of(p.view).shape
    for _ in range(count):
        p.request(shape[0] * shape[1] * BITS[CELL.of(p.view).elem_type] // 8)


def _lstm(p: Preparation) -> None:
    data, (batch, width) = DATA.of(p.view), HIDDEN.of(p.view).shape[:2]
    if not p.reference:
        p.persistent += [(4 if data.elem_type == "INT8" else 8) * width] * LSTM_GATES
    _states(p, 4 if p.reference else 3)
    entry = f"lstm_unidirectional_{'s8' if data.elem_type == 'INT8' else 's16'}"
    features, steps = data.shape[-1], prod(data.shape[:-1]) // max(batch, 1)
    call = KernelCall(entry, Dims(batch, 1, steps, features), NO_FILTER, Dims(batch, 1, steps, width))
    p.runs(f"arm_{entry}", call._replace(time_major=bool(p.view.option("time_major"))))


# All kernels.


KERNELS: dict[str, Kernel] = {
    "CONV_2D": Kernel(CONV, _conv),
    "DEPTHWISE_CONV_2D": Kernel(DEPTHWISE, _depthwise),
    "TRANSPOSE_CONV": Kernel(TRANSPOSED, _transposed),
    "FULLY_CONNECTED": Kernel(DENSE, _dense),
    "BATCH_MATMUL": Kernel(PRODUCTS, _products),
    "AVERAGE_POOL_2D": Kernel(POOL, partial(_pool, "avgpool")),
    "MAX_POOL_2D": Kernel(POOL, partial(_pool, "max_pool")),
    "SOFTMAX": Kernel(SOFTMAX, _softmax),
    "ADD": Kernel(ADD, partial(_pair, "elementwise_add")),
    "MUL": Kernel(MUL, partial(_pair, "elementwise_mul")),
    "MAXIMUM": Kernel(EXTREMES, partial(_pair, "maximum")),
    "MINIMUM": Kernel(EXTREMES, partial(_pair, "minimum")),
    "PAD": Kernel(PAD, _pad),
    "PADV2": Kernel(PAD, _pad),
    "TRANSPOSE": Kernel(TRANSPOSE, _transpose),
    "SVDF": Kernel(SVDF, _svdf),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel(LSTM, _lstm),
}
"""Operators with a kernel of CMSIS-NN."""
PLAIN: dict[str, Kernel] = {
    "CONV_2D": Kernel(CONV_PLAIN, partial(_conv_plain, 0), WITHOUT),
    "DEPTHWISE_CONV_2D": Kernel(DEPTHWISE_PLAIN, partial(_conv_plain, 3), WITHOUT),
    "TRANSPOSE_CONV": Kernel(TRANSPOSED_PLAIN, _transposed, WITHOUT),
    "FULLY_CONNECTED": Kernel(DENSE_PLAIN, _dense_plain, WITHOUT),
    "BATCH_MATMUL": Kernel(PRODUCTS_PLAIN, _products_plain, WITHOUT),
    "AVERAGE_POOL_2D": Kernel(POOL_PLAIN, reference=WITHOUT),
    "MAX_POOL_2D": Kernel(POOL_PLAIN, reference=WITHOUT),
    "SOFTMAX": Kernel(SOFTMAX_PLAIN, _softmax, WITHOUT),
    "ADD": Kernel(ADD_PLAIN, reference=WITHOUT),
    "MUL": Kernel(MUL_PLAIN, reference=WITHOUT),
    "MAXIMUM": Kernel(EXTREMES_PLAIN, reference=WITHOUT),
    "MINIMUM": Kernel(EXTREMES_PLAIN, reference=WITHOUT),
    "PAD": Kernel(PAD_PLAIN, reference=WITHOUT),
    "PADV2": Kernel(PAD_PLAIN, reference=WITHOUT),
    "TRANSPOSE": Kernel(TRANSPOSE_PLAIN, reference=WITHOUT),
    "SVDF": Kernel(SVDF_PLAIN, _svdf, WITHOUT),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel(LSTM_PLAIN, partial(_states, count=4), WITHOUT),
}
"""The same in a build without CMSIS-NN."""


def came_on(operator: TfliteOperator) -> str:
    """Day that brought an operator; empty where all reviewed revisions have it, and where none has."""
    custom = CUSTOM.get(operator.custom_code)
    return custom.since if operator.op == "CUSTOM" and custom else NEW_OPERATORS.get(operator.op, "")


def kernel_of(operator: TfliteOperator, revision: TflmRevision, *, with_cmsis_nn: bool = True) -> Kernel | None:
    """The kernel of an operator; None where a revision of TensorFlow Lite Micro has none."""
    op, name = operator.op, operator.custom_code
    if not holds(revision, came_on(operator), ""):
        return None
    if op == "CUSTOM" and name in CUSTOM:
        row = CUSTOM[name]
        known = "" if row.limits else "; what its kernel checks is not followed"
        registers = f"{CUSTOM_METHODS[name]}() of the resolver registers it, since {row.since}"
        text = f"{name} has no CMSIS-NN kernel; {registers}{known}"
        return Kernel(row.limits, decode, text)
    kernel = (KERNELS if with_cmsis_nn else PLAIN).get(op)
    if op in LIMITS:
        kernel = Kernel(LIMITS[op], REQUESTS.get(op, lambda _: None), f"{op} has no CMSIS-NN kernel")
    more = (row for table in (TYPED, BIASED, STATED) for row in table.get(op, ()))
    return None if kernel is None else kernel._replace(rows=(*kernel.rows, *more))
