"""Reference kernels of TensorFlow Lite Micro: the least and the most instructions that they take.

One number would be false: the build (-O2, -O3 or -Os, with or without checks, newlib or newlib-nano) and the data
decide. The ranges hold all of these. They were measured on firmware of the newest revision, gcc 12.2, under QEMU on
Cortex-M3, M4 and M55: tests/data/cost_tflm_reference.jsonl.gz. Older revisions have other loops in MEAN, ADD and MUL,
so that no range is given for them.
"""

from __future__ import annotations

from itertools import groupby
from math import prod
from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.library import COMPILER, is_measured
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, Target
from onnxlint_cmsis.lower.operands import operands_of
from onnxlint_cmsis.runtimes.runtime import TFLM, RuntimeVerdict, Turns, instructions_of, steps_up, tflite_name
from onnxlint_cmsis.runtimes.tflm.revisions import NEWEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxlint_cmsis.model.graph import Graph, Node
    from onnxlint_cmsis.runtimes.conditions import JudgedLayer
    from onnxlint_cmsis.runtimes.runtime import Runtime


WITHOUT_LONG_PRODUCTS = ("cortex-m0", "cortex-m0+", "cortex-m23")
"""CPUs that nothing was measured on: they lack the 64-bit products that scale the results, and wide copies."""
BYTES = {"int8": 1, "int16": 2}
BROADCASTS = ("ADD", "MUL")
"""Operators whose reference kernel was measured with operands of unequal shapes, as CMSIS-NN takes equal ones."""
COSTS: dict[tuple[str, str], dict[Isa, Turns]] = {
    ("MEAN", "int8"): {
        Isa.SCALAR: {
            "element": (19.1, 71),
            "axis": (25.3, 39),
            "line": (7.7, 10.8),
            "result": (24.1, 46),
            "call": (891, 1380),
        },
        Isa.DSP: {
            "element": (19.4, 73),
            "axis": (25.3, 39),
            "line": (7.8, 11.1),
            "result": (24, 50),
            "call": (855, 1369),
        },
        Isa.MVE: {
            "element": (25, 82.1),
            "axis": (21.4, 44.6),
            "line": (7.1, 10.7),
            "result": (22.5, 48.5),
            "call": (850, 1377),
        },
    },
    ("MEAN", "int16"): {
        Isa.SCALAR: {
            "element": (21.1, 72),
            "axis": (25.2, 37),
            "line": (13.6, 31),
            "result": (18.6, 50),
            "call": (715, 1152),
        },
        Isa.DSP: {
            "element": (13.5, 73),
            "axis": (23.7, 37),
            "line": (13.2, 29.7),
            "result": (18, 49),
            "call": (702, 1107),
        },
        Isa.MVE: {
            "element": (26.5, 83.6),
            "axis": (21.2, 42.2),
            "line": (13.5, 30.5),
            "result": (16.3, 49.3),
            "call": (671, 1140),
        },
    },
    ("LOGISTIC", "int8"): {
        Isa.SCALAR: {"element": (11, 842), "call": (92, 324)},
        Isa.DSP: {"element": (11, 842), "call": (92, 324)},
        Isa.MVE: {"element": (11, 853), "call": (71.8, 254)},
    },
    ("LOGISTIC", "int16"): {
        Isa.SCALAR: {"element": (16.5, 31), "call": (121, 239)},
        Isa.DSP: {"element": (16.5, 29.4), "call": (121, 235)},
        Isa.MVE: {"element": (16.5, 29.7), "call": (113, 285)},
    },
    ("CONCATENATION", "int8"): {
        Isa.SCALAR: {"byte": (0.4, 0.7), "run": (29.2, 65), "input": (91, 423), "call": (191, 500)},
        Isa.DSP: {"byte": (0.4, 0.7), "run": (29.3, 66), "input": (88, 417), "call": (191, 501)},
        Isa.MVE: {"byte": (0.39, 0.71), "run": (28.9, 65.7), "input": (91.4, 422), "call": (204, 488)},
    },
    ("CONCATENATION", "int16"): {
        Isa.SCALAR: {"byte": (0.4, 0.7), "run": (29.1, 68), "input": (82, 424), "call": (181, 509)},
        Isa.DSP: {"byte": (0.4, 0.7), "run": (29.2, 69), "input": (84, 425), "call": (177, 504)},
        Isa.MVE: {"byte": (0.39, 0.71), "run": (28.9, 68), "input": (83.5, 421), "call": (192, 499)},
    },
    ("ADD", "int8"): {
        Isa.SCALAR: {"element": (67, 184), "line": (36, 64), "call": (1343, 2894)},
        Isa.DSP: {"element": (67, 184), "line": (31, 64), "call": (1324, 2870)},
        Isa.MVE: {"element": (68.7, 187), "line": (35.9, 64.1), "call": (1355, 2907)},
    },
    ("ADD", "int16"): {
        Isa.SCALAR: {"element": (50, 171), "line": (35, 119), "call": (1576, 2912)},
        Isa.DSP: {"element": (52, 171), "line": (31, 119), "call": (1424, 2893)},
        Isa.MVE: {"element": (51.5, 172), "line": (33.5, 129), "call": (1450, 2990)},
    },
    ("MUL", "int8"): {
        Isa.SCALAR: {"element": (32, 72), "line": (28.5, 58), "call": (1300, 3042)},
        Isa.DSP: {"element": (32, 72), "line": (28, 58), "call": (1281, 3017)},
        Isa.MVE: {"element": (32, 71.9), "line": (28.1, 58.6), "call": (1317, 3066)},
    },
    ("MUL", "int16"): {
        Isa.SCALAR: {"element": (39, 70), "line": (37, 63), "call": (1300, 2956)},
        Isa.DSP: {"element": (38, 70), "line": (33, 61), "call": (1281, 2934)},
        Isa.MVE: {"element": (39, 70.4), "line": (36.7, 62.5), "call": (1317, 2957)},
    },
    ("TRANSPOSE", "int16"): {
        Isa.SCALAR: {"element": (4.4, 7.8), "line": (22.1, 45), "call": (330, 490)},
        Isa.DSP: {"element": (4.5, 7.7), "line": (22.3, 44), "call": (311, 478)},
        Isa.MVE: {"element": (3.2, 7.9), "line": (30.4, 48.5), "call": (310, 480)},
    },
}
"""Operator and type to the least and the most instructions of each turn; TRANSPOSE of int8 is CMSIS-NN's."""


class ReferenceCall(NamedTuple):
    """An operator that a reference kernel computes; shapes as TensorFlow Lite has them."""

    op: str
    """Operator in TensorFlow Lite's words."""
    elem_type: str
    """`int8` or `int16`."""
    inputs: list[list[int]]
    """Shapes of its activations."""
    output: list[int]
    """Shape of its result."""


def turns(call: ReferenceCall) -> dict[str, int]:
    """How often the parts of a kernel run, by the names in `COSTS`.

    MEAN visits every element and its axes (kernels/internal/reference/reduce.h). CONCATENATION copies a run of bytes
    for each input and outer index (concatenation.h). ADD and MUL that broadcast join neighbouring axes in which the
    same operand repeats, and run the last of these loops over elements (broadcast_loop.h). TRANSPOSE loops over the
    last axis (transpose.h).
    """
    output, elements = call.output, prod(call.output)
    if call.op == "MEAN":
        shape = call.inputs[0]
        size = prod(shape)
        return {"element": size, "axis": size * len(shape), "line": steps_up(shape), "result": elements, "call": 1}
    if call.op == "CONCATENATION":
        axis = next((at for at, size in enumerate(output) if any(shape[at] != size for shape in call.inputs)), 0)
        runs = prod(output[:axis]) * len(call.inputs)
        return {"byte": elements * BYTES[call.elem_type], "run": runs, "input": len(call.inputs), "call": 1}
    loops = _joined(call.inputs, output) if call.op in BROADCASTS else output
    return {"element": elements, "line": steps_up(loops), "call": 1}


def measured_own_code(target: Target) -> bool:
    """Whether code of runtimes was measured on the target's CPU, or on one that runs its code to a few percent."""
    return is_measured(target) and target.cpu not in WITHOUT_LONG_PRODUCTS


def reference_range(call: ReferenceCall, target: Target, commit: str) -> tuple[int, int] | None:
    """Least and most instructions of a reference kernel of a revision of TensorFlow Lite Micro.

    None for an operator, a type, a revision, a compiler or a CPU that was not measured, and where equal shapes are
    added or multiplied.
    """
    row = COSTS.get((call.op, call.elem_type))
    if row is None or target.compiler != COMPILER or commit != NEWEST or not measured_own_code(target):
        return None
    if call.op in BROADCASTS and all(shape == call.output for shape in call.inputs):
        return None
    return instructions_of(row[target.isa], turns(call))


def operator_range(graph: Graph, node: Node, target: Target, runtime: Runtime) -> tuple[int, int] | None:
    """Least and most instructions of the reference kernel of a `.tflite` operator; None where nothing is known."""
    kind = graph.elem_type(node.inputs[0])
    if (node.op_type, kind) not in COSTS:
        return None
    data = node.inputs if node.op_type == "CONCATENATION" else node.inputs[: 2 if node.op_type in BROADCASTS else 1]
    shapes = _sizes(graph, (*data, *node.outputs[:1]))
    if shapes is None or (node.op_type == "CONCATENATION" and len(set(map(len, shapes))) > 1):
        return None
    return reference_range(ReferenceCall(node.op_type, kind, shapes[:-1], shapes[-1]), target, runtime.commit)


def layer_range(graph: Graph, layer: JudgedLayer, target: Target, runtime: Runtime) -> tuple[int, int] | None:
    """The same for a layer of an ONNX model that becomes one operator with a reference kernel.

    An image lies in either memory order until a converter decides: the range holds both.
    """
    record = layer.record
    first = record.inputs[0] if record.inputs else None
    op = tflite_name(record)
    if runtime.name != TFLM or layer.verdict is not RuntimeVerdict.REFERENCE or first is None:
        return None
    if (op, f"int{first.bits}") not in COSTS:
        return None
    shapes = _sizes(graph, (*operands_of(record.node), record.node.outputs[0]))
    if shapes is None or (op in BROADCASTS and len(shapes) != 3):
        return None
    rank = max(map(len, shapes))
    if op in BROADCASTS:
        shapes = [[1] * (rank - len(shape)) + shape for shape in shapes]
    orders = [tuple(range(rank))] + ([(0, *range(2, rank), 1)] if rank > 2 else [])
    ranges = []
    for order in orders:
        *inputs, output = ([shape[axis] for axis in order] if len(shape) == rank else shape for shape in shapes)
        ranges.append(reference_range(ReferenceCall(op, f"int{first.bits}", inputs, output), target, runtime.commit))
    known = [ends for ends in ranges if ends is not None]
    return (min(least for least, _ in known), max(most for _, most in known)) if known else None


def _sizes(graph: Graph, tensors: Iterable[str]) -> list[list[int]] | None:
    """Shapes of tensors; None where a size is unknown, or 0."""
    shapes = [graph.shape(name) for name in tensors]
    if any(shape is None or not all(shape) for shape in shapes):
        return None
    return [[size or 0 for size in shape or ()] for shape in shapes]


def _joined(inputs: list[list[int]], output: list[int]) -> list[int]:
    """The loops of a broadcast, outermost first."""
    extended = [[1] * (len(output) - len(shape)) + shape for shape in inputs]
    axes = [(tuple(shape[at] == 1 for shape in extended), size) for at, size in enumerate(output) if size != 1]
    return [prod(size for _, size in group) for _, group in groupby(axes, key=lambda axis: axis[0])]
