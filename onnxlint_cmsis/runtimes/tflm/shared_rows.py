"""What several kernels check, and what is said of layers of ONNX models."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.ground.types import Dims, KernelCall, Level, Pair
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.runtimes.tflm.broken_conditions import PREPARE, WRONG
from onnxlint_cmsis.runtimes.tflm.check_rows import REFERENCE, Row, asked_since
from onnxlint_cmsis.runtimes.tflm.element_types import FLOAT, INT16
from onnxlint_cmsis.runtimes.tflm.operands import DATA, OUTPUT, KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_conditions import always, equal, pointed, same_type, typed, unless, where
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Unpredictable
from onnxlint_cmsis.runtimes.tflm.revision_days import TYPE_CHECKS
from onnxlint_cmsis.runtimes.tflm.rows import Condition, KernelLimit, Objection, OfLayer, condition
from onnxlint_cmsis.runtimes.tflm.shared_checks import INT16_POINT
from onnxlint_cmsis.runtimes.tflm.windows import NO_FILTER, window

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
def in_pairs(view: OperatorView, data: KernelOperand, *pairs: tuple[str, str], alike: bool = False) -> Objection | None:
    """Input and filter have types that go together; `alike` where one type for both does too."""
    types = data.of(view).elem_type, FILTER.of(view).elem_type
    text = f"{data.title} is {types[0]} and its filter {types[1]}; hybrid models are not taken"
    return None if types in pairs or (alike and types[0] == types[1]) else text


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
def images(view: OperatorView, *operands: KernelOperand) -> Objection | None:
    """Four sizes and a stride, which are read unseen. Raises Unpredictable where one is not there, or below 1."""
    for operand in operands:
        shape = operand.of(view).shape
        if len(shape) != 4 or min(shape) < 1:
            raise Unpredictable(f"shape {list(shape)} where four sizes of at least 1 are expected")
    for name in ("stride_h", "stride_w"):
        if view.option(name) < 1:
            raise Unpredictable(f"{name} is {view.option(name)}; at least 1 is allowed")
    return None


@condition
def filter_scales(view: OperatorView, axis: int) -> Objection | None:
    """The filter has one scale, or one for each channel."""
    stored, shape = FILTER.of(view).quantization, FILTER.of(view).shape
    count = len(stored.scales) if stored else 0
    return None if count in (1, shape[axis]) else f"its filter of shape {list(shape)} has {count} scales"


as_many_points = equal(
    "its filter has {} scales and {} zero-points",
    lambda v: (len(q.scales), len(q.zero_points)) if (q := FILTER.of(v).quantization) else (0, 0),
)
"""The filter has a zero-point for each scale."""


def offset_filter(view: OperatorView) -> Objection | None:
    """A filter that is not symmetric, as the kernel takes it."""
    stored = FILTER.of(view).quantization
    point = next((point for point in stored.zero_points if point), 0) if stored else 0
    return f"the kernel neither checks nor uses the zero-point of the weights, {point}" if point else None


def ignored_point(source: str, data: KernelOperand = DATA, layer: OfLayer = FILTER_POINT) -> KernelLimit:
    """Return the row of a kernel that takes the zero-point of its weights for 0."""
    return Row(source, WRONG, where(data, INTEGER, offset_filter), layer=layer)


def dims(tensor: TfliteTensor) -> Dims:
    """Shape of rank 4 as CMSIS-NN's dims."""
    return Dims(*tensor.shape)


def slide(view: OperatorView, entry: str, image: TfliteTensor, kernel: Pair, *, dilated: bool = False) -> KernelCall:
    """A call with stride, dilation and padding of a window over an image; its tensors are still to be set."""
    stride = Pair(view.option("stride_h"), view.option("stride_w"))
    dilation = Pair(*(view.option(f"dilation_{side}_factor", 1) if dilated else 1 for side in "hw"))
    pads = window(view.text("padding"), Pair(*image.shape[1:3]), kernel, stride, dilation)
    return KernelCall(entry, NO_FILTER, NO_FILTER, NO_FILTER, stride, pads.before, pads.after, dilation)
