"""What kernels check of an operator's tensors and options: one function for each condition, with its words."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from struct import calcsize, unpack_from

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.element_types import FORMATS, UNSIZED
from onnxlint_cmsis.runtimes.tflm.operands import DATA, LEFT, SECOND, KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView, quantized, scale, zero_point
from onnxlint_cmsis.runtimes.tflm.rows import Condition, Objection, condition


@condition
def equal(view: OperatorView, text: str, pair: Callable[[OperatorView], tuple[object, object]]) -> Objection | None:
    """Two numbers of the operator are one; `text` names both."""
    numbers = pair(view)
    return None if numbers[0] == numbers[1] else text.format(*numbers)


WORKED_OUT = ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "GATHER", "GATHER_ND", "EMBEDDING_LOOKUP")
"""Operators whose Prepare writes the sizes of its output."""
MOST_AXES = 6
"""RuntimeShape::kMaxSmallSize (lite/kernels/internal/runtime_shape.h:38)."""


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
def any_zero(view: OperatorView, operand: KernelOperand) -> Objection | None:
    """No value of a constant is 0."""
    zero = 0 in (numbers_of(view, operand.of(view)) or ())
    return f"{operand.title} is a constant with a 0 in it, by which it divides" if zero else None
