"""Reference kernels of TensorFlow Lite Micro: the least and the most instructions that they take.

One number would be false: the build and the data decide. A range goes over the builds in reference_instructions.json,
which lab/fit_tflm_reference.py makes: gcc 12.2 with -O3 and NDEBUG, and with -O2 and checks, as the Makefile has it.
They were measured on firmware of the newest revision under QEMU: tests/data/cost_tflm_reference.jsonl.gz. Older
revisions have other loops, so that no range is given for them.
"""

from __future__ import annotations

from math import ceil, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.cmsis_nn.library import MOST_INSTRUCTIONS
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.lower.operands import operands_of
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.measured_cores import core_of, instruction_table
from onnxlint_cmsis.runtimes.tflite_names import tflite_name
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.reference_turns import ReferenceCall, turns_of
from onnxlint_cmsis.runtimes.tflm.revisions import NEWEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
    from onnxlint_cmsis.model.graph import Graph
    from onnxlint_cmsis.runtimes.judged_layers import JudgedLayer
    from onnxlint_cmsis.runtimes.runtime import Runtime

INSTRUCTIONS = Path(__file__).with_name("reference_instructions.json")
"""Operator with its types, CPU's build and compiler's build to the instructions of each turn: one number, or least and
most. A CPU's build that names another one has the same."""
BROADCASTS = ("ADD", "MUL")
"""Operators of which CMSIS-NN takes equal shapes of integers."""
DATA: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "PRELU", "BATCH_MATMUL"), (0, 1)),
    **dict.fromkeys(("ADD", "MUL", "SUB", "DIV", "MAXIMUM", "MINIMUM"), (0, 1)),
    **dict.fromkeys(("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"), (0, 1)),
    "TRANSPOSE_CONV": (2, 1),
    "SPLIT": (1,),
}
"""Inputs that are data or weights, the data first; all of CONCATENATION and PACK, the first of others."""
NUMBERS = {"MEAN": 1, "SUM": 1, "REDUCE_MAX": 1, "SPLIT": 0, "SPLIT_V": 2, "STRIDED_SLICE": 3, "ARG_MAX": 1}
"""Inputs with axes or steps that decide which loops run."""


def kernel_name(call: ReferenceCall) -> str:
    """The kernel in `INSTRUCTIONS`: `ADD float32`, `QUANTIZE int8 int16`."""
    return " ".join(filter(None, (call.op, call.elem_type, call.result_type)))


def _builds(call: ReferenceCall, target: Target, commit: str) -> dict[str, dict[str, float | list[float]]]:
    """Instructions of each turn in each build; none for what was not measured."""
    if commit != NEWEST:
        return {}
    core = core_of(target, floating="float32" in (call.elem_type, call.result_type))
    cores: dict[str, dict[str, dict[str, float | list[float]]]]
    cores = instruction_table(INSTRUCTIONS)["kernels"].get(kernel_name(call), {})
    return cores.get(core, {})


def turning_range(view: OperatorView, target: Target, runtime: Runtime) -> tuple[int, int] | None:
    """Least and most instructions of the operands that BATCH_MATMUL turns in each run (batch_matmul.cc).

    A constant is turned once. None where it turns some and nothing is known.
    """
    call = operator_call(view)
    if call is None:
        return None
    turned = dict(zip(("left", "right"), map(prod, call.inputs), strict=True))
    tensors = [view.input(position) for position in (0, 1)]
    idle = call.options.get("adj_x") is not True, bool(call.options.get("adj_y"))
    for side, tensor, stays in zip(("left", "right"), tensors, idle, strict=True):
        if stays or (tensor is not None and view.constant(tensor)):
            del turned[side]
    builds = _builds(call, target, runtime.commit).values() if turned else []
    if turned and not builds:
        return None
    ends = [
        [sum(times * pair(costs[side])[end] for side, times in turned.items()) for costs in builds] for end in (0, 1)
    ]
    return int(min(ends[0], default=0)), ceil(max(ends[1], default=0))


def reference_range(call: ReferenceCall, target: Target, commit: str) -> tuple[int, int] | None:
    """Least and most instructions of a reference kernel of a revision of TensorFlow Lite Micro.

    None for an operator, a type, a revision, a compiler or a CPU that was not measured, and where CMSIS-NN adds or
    multiplies.
    """
    builds = _builds(call, target, commit)
    integers = call.elem_type in ("int8", "int16")
    if not builds or (call.op in BROADCASTS and integers and all(shape == call.output for shape in call.inputs)):
        return None
    turns = turns_of(call)
    if turns is None or any(times and name not in next(iter(builds.values())) for name, times in turns.items()):
        return None
    ends = [
        [sum(times * pair(costs.get(name, 0))[end] for name, times in turns.items()) for end in (0, 1)]
        for costs in builds.values()
    ]
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    return (int(least), ceil(most)) if most < MOST_INSTRUCTIONS else None


def pair(instructions: float | list[float]) -> tuple[float, float]:
    """Least and most of one turn, which are one number where the data do not decide."""
    return (instructions[0], instructions[1]) if isinstance(instructions, list) else (instructions, instructions)


def operator_call(view: OperatorView) -> ReferenceCall | None:
    """The call of a `.tflite` operator; None where the file leaves open what decides its loops."""
    op, output = view.operator.op, view.output()
    positions = range(len(view.operator.inputs)) if op in ("CONCATENATION", "PACK") else DATA.get(op, (0,))
    tensors = [view.input(position) for position in positions]
    first = tensors[0] if tensors else None
    if first is None or output is None or None in tensors:
        return None
    options = dict(view.operator.options) | {"results": len(view.operator.outputs)}
    if op in NUMBERS:
        decided = _decided(view, first)
        if decided is None:
            return None
        options |= decided
    kind, result = first.elem_type.lower(), output.elem_type.lower()
    shapes = [list(tensor.shape) for tensor in tensors if tensor is not None]
    return ReferenceCall(op, kind, shapes, list(output.shape), "" if result == kind else result, options)


def _decided(view: OperatorView, data: TfliteTensor) -> dict[str, Any] | None:
    """Axes of a reduction or a split, or the step of a slice's last axis, which are constants."""
    op = view.operator.op
    tensor = view.input(NUMBERS[op])
    if tensor is None or tensor.elem_type != "INT32" or not view.constant(tensor):
        return None
    bytes_ = view.model.bytes_of(tensor.buffer)
    numbers = [int.from_bytes(bytes_[at : at + 4], "little", signed=True) for at in range(0, len(bytes_), 4)]
    if not numbers or (op == "STRIDED_SLICE" and not data.shape):
        return None
    if op == "STRIDED_SLICE":
        dropped = bool(view.option("shrink_axis_mask") >> (len(data.shape) - 1) & 1)
        return {"step": 1 if dropped else numbers[-1], "last_dropped": dropped}
    if op in ("SPLIT", "SPLIT_V", "ARG_MAX"):
        return {"axis": numbers[0]}
    return {"axes": sorted(number % max(len(data.shape), 1) for number in numbers)}


def operator_range(view: OperatorView, target: Target, runtime: Runtime) -> tuple[int, int] | None:
    """Least and most instructions of the reference kernel of a `.tflite` operator; None where nothing is known."""
    call = operator_call(view)
    return None if call is None else reference_range(call, target, runtime.commit)


SHAPES_DECIDE = (
    "MEAN", "LOGISTIC", "CONCATENATION", "ADD", "MUL", "TRANSPOSE", "SUB", "DIV", "TANH", "LEAKY_RELU", "HARD_SWISH",
    "ELU", "MAXIMUM", "MINIMUM", "PAD", "REDUCE_MAX", "SUM",
)  # fmt: skip
"""Operators of which shapes and types alone decide the loops of integers."""


def layer_range(graph: Graph, layer: JudgedLayer, target: Target, runtime: Runtime) -> tuple[int, int] | None:
    """The same for a layer of an ONNX model that becomes one operator with a reference kernel.

    An image lies in either memory order until a converter decides: the range holds both.
    """
    record = layer.record
    first = record.inputs[0] if record.inputs else None
    op = tflite_name(record)
    if not runtime.reads_tflite or layer.verdict is not Outcome.REFERENCE or first is None:
        return None
    kind = f"int{first.bits}"
    if op not in SHAPES_DECIDE or f"{op} {kind}" not in instruction_table(INSTRUCTIONS)["kernels"]:
        return None
    operands, paired = operands_of(record.node), len(DATA.get(op, ())) == 2
    shapes = _sizes(graph, (*operands, record.node.outputs[0]))
    if shapes is None or (paired and len(shapes) != 3):
        return None
    rank = max(map(len, shapes))
    if paired:
        shapes = [[1] * (rank - len(shape)) + shape for shape in shapes]
    orders = [tuple(range(rank))] + ([(0, *range(2, rank), 1)] if rank > 2 else [])
    ranges = []
    for order in orders:
        *inputs, output = ([shape[axis] for axis in order] if len(shape) == rank else shape for shape in shapes)
        ranges.append(reference_range(ReferenceCall(op, kind, inputs, output), target, runtime.commit))
    known = [ends for ends in ranges if ends is not None]
    return (min(least for least, _ in known), max(most for _, most in known)) if known else None


def _sizes(graph: Graph, tensors: Iterable[str]) -> list[list[int]] | None:
    """Shapes of tensors; None where a size is unknown, or 0."""
    shapes = [graph.shape(name) for name in tensors]
    if any(shape is None or not all(shape) for shape in shapes):
        return None
    return [[size or 0 for size in shape or ()] for shape in shapes]
