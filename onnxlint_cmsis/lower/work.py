"""How much a node computes, and the copies for layout that firmware adds."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from math import prod
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.names import canonical, derived_values, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.checks import computed_from_constants, softmax_axes
from onnxlint_cmsis.lower.elementwise import NO_FUNCTION, resize_decision, slice_decision
from onnxlint_cmsis.lower.epilogue import CLAMPS, is_clamp
from onnxlint_cmsis.lower.layer import (
    CURVES,
    Assumptions,
    Cause,
    Decision,
    Stored,
    Verdict,
    channels_last,
    in_reference_code,
    lies_in,
    moved_places,
    no_kernel,
    operands_of,
    product_of,
    reshaped,
    row_major,
    transposed,
)
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.quantization import MOVES, activation_type, dequantizes, quantizes
from onnxlint_cmsis.model.graph import Body, Graph, Node
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.operators.record import MOVING, Elements
from onnxlint_cmsis.operators.weighted import GEMM, MATMUL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from onnxlint_cmsis.ground.types import Size
    from onnxlint_cmsis.lower.layer import Places


# How much a node computes: multiply-accumulates, and where it has none the elements it goes over.
#
# Elements count as multiply-accumulates, so that one limit holds for every rule. In firmware of 60 models under QEMU
# (instructions, gcc 12.2, CMSIS-NN 4.0.0, 7.0.0 and main), a multiply-accumulate of CMSIS-NN's layers took 3.6 on
# Cortex-M4 and 1.1 on Cortex-M55; 2 lies between. An element of reference code took 5 from a table, 15 to 18 in a copy,
# 35 to 54 in a pool or Concat that changes the scale, 82 to 270 in a sum of unequal shapes, 180 to 2,200 in Softmax.


TABLE, COPY, ELEMENT = 3, 8, 20
"""Multiply-accumulates that an element counts as: looked up in a table, copied, or computed anew."""
COPIES = (*MOVING, Elements.JOINED, Elements.PADDED)
"""Elements of operators that only copy; what they give out counts."""
ENOUGH = 0.05
"""Share of a model's work from which on reference code is a warning, in every rule."""
SMALLEST = 0.01
"""Least share that is given as a number."""


class Work(NamedTuple):
    """What a node computes in a run of the model."""

    macs: int | None
    """Multiply-accumulates; 0 where it has none, None where a size is unknown, or how often a loop turns."""
    elements: int | None = 0
    """Elements where there are none: of the input or the output, whichever has more; None as for `macs`."""
    per_element: int = ELEMENT
    """Multiply-accumulates that an element counts as."""

    @property
    def effort(self) -> int | None:
        """Multiply-accumulates, or as many as the elements count for; None where one of them is."""
        return self.macs or (None if self.macs is None or self.elements is None else self.per_element * self.elements)

    def times(self, turns: int | None) -> Work:
        """The same so often."""
        macs, elements = (number and product_of(number, turns) for number in self[:2])  # nothing stays nothing
        return self._replace(macs=macs, elements=elements)


def work_of(graph: Graph, record: LoweredLayer) -> Work:
    """Work of one node, from the call that its geometry asks for, or from the shapes of its tensors."""
    macs = record.layer.macs if record.layer else None
    if macs is None:
        macs = macs_of(graph, record.node)
    if macs != 0:
        return Work(macs)
    node = record.node
    if operator_of(node).elements in COPIES and record.cause is not Cause.UNEQUAL_SCALES:
        return Work(0, _elements(graph, node.outputs), COPY)
    both = (*operands_of(node)[:1], *node.outputs[:1])
    return Work(0, _elements(graph, both), TABLE if record.code == "lookup" else ELEMENT)


# How often the body of a loop runs.


LOOPS = ("Loop", "Scan", "WHILE")
"""Operators that run a body again and again."""
AXES_SINCE = 9
"""First opset in which Scan has no batch in front."""


def turns_of(graph: Graph) -> dict[str, int | None]:
    """How often the nodes of each loop's subgraphs run in a run of the model, by path; None where that is not known.

    A subgraph within that of a loop has its own entry; `turns_at` finds that of a node.
    """
    turns: dict[str, int | None] = {}
    for holder in graph.nodes:
        kind = canonical(holder)
        if kind not in LOOPS or not holder.bodies:
            continue
        first = _turns(graph, holder, kind)
        for body in holder.bodies:
            checked = body.attribute == "cond_subgraph"  # once more, to find that the loop ends
            number = None if first is None or body.path in turns else first + checked
            turns[body.path] = product_of(number, turns_at(turns, holder.graph))
    return turns


def turns_at(turns: Mapping[str, int | None], path: str) -> int | None:
    """How often a node in the subgraph of a path runs: once where no loop holds it."""
    while path:
        if path in turns:
            return turns[path]
        path = path.rpartition("/")[0]
    return 1


def _turns(graph: Graph, holder: Node, kind: str) -> int | None:
    body = holder.bodies[-1]
    if kind == "WHILE":
        return _counted(graph, holder, holder.bodies[0].outputs, body)
    if kind == "Scan":
        count = max(min(holder.int("num_scan_inputs"), len(holder.inputs)), 0)
        axes = holder.ints("scan_input_axes", (0,) * count)
        shapes = [graph.shape(name) for name in holder.inputs[len(holder.inputs) - count :]]
        if holder.opset < AXES_SINCE or len(axes) != len(shapes):
            return None
        sizes = [
            shape[axis] for shape, axis in zip(shapes, axes, strict=True) if shape and -len(shape) <= axis < len(shape)
        ]
        return next((size for size in sizes if size is not None), None)
    goes_on = body.outputs[0] if body.outputs else ""
    for _ in graph.nodes:  # a damaged file may go in circles
        node = graph.producers.get(goes_on)
        if node is None or canonical(node) != "Identity":
            break
        goes_on = node.inputs[0]
    kept = len(body.inputs) > 1 and goes_on == body.inputs[1]
    begins = not holder.inputs[1] or _number(graph, holder.inputs[1]) == 1
    endless = begins if kept else begins and _number(graph, goes_on) == 1
    turns = _number(graph, holder.inputs[0])
    return max(turns, 0) if endless and turns is not None else None


def _counted(graph: Graph, holder: Node, conditions: Sequence[str], body: Body) -> int | None:
    """Turns of a WHILE that counts: it goes on while numbers, to which each turn adds a constant, are below others."""
    turns: list[int] = []
    pending, seen = list(conditions), set[str]()
    while pending:
        name = pending.pop()
        node = graph.producers.get(name)
        if node is None or len(node.inputs) < 2 or name in seen:
            return None
        seen.add(name)
        if canonical(node) == "And":
            pending += node.inputs
            continue
        counter, end = node.inputs[0], _number(graph, node.inputs[1])
        formal = holder.bodies[0].inputs
        if canonical(node) != "Less" or end is None or counter not in formal:
            return None
        position = formal.index(counter)
        if position >= min(len(holder.inputs), len(body.inputs), len(body.outputs)):
            return None
        step = graph.producers.get(body.outputs[position])
        begin = _number(graph, holder.inputs[position])
        if step is None or canonical(step) != "Add" or body.inputs[position] not in step.inputs or begin is None:
            return None
        others = [name for name in step.inputs if name != body.inputs[position]]
        added = _number(graph, others[0]) if len(others) == 1 else None
        if added is None or added <= 0:
            return None
        turns.append(max(-((begin - end) // added), 0))
    return min(turns, default=None)


def _number(graph: Graph, tensor: str) -> int | None:
    """The one integer that a constant holds; None for anything else."""
    stored = graph.constants.get(tensor)
    values = stored.values() if stored is not None and not stored.overridable else None
    return int(values[0]) if values is not None and len(values) == 1 and isinstance(values[0], int) else None


def share_of_work(work: Mapping[int, Work], nodes: Iterable[int]) -> float | None:
    """Part of all work that some nodes do, each given by its index; None where a size is unknown."""
    part, whole = total(work[index].effort for index in nodes), total(row.effort for row in work.values())
    return None if part is None or not whole else part / whole


def total(numbers: Iterable[int | None]) -> int | None:
    """Sum of numbers, None where one is unknown."""
    sizes = list(numbers)
    known = [number for number in sizes if number is not None]
    return sum(known) if len(known) == len(sizes) else None


def percent(share: float) -> str:
    """`97 %`, `less than 1 %`; 100 % is all."""
    shown = share if share >= 1 else min(share, 1 - SMALLEST)
    return f"{shown:.0%}".replace("%", " %") if share >= SMALLEST else "less than 1 %"


def macs_of(graph: Graph, node: Node) -> int | None:
    """Multiply-accumulates of operators that multiply by weights or matrices; 0 for all others."""
    operator = operator_of(node)
    form = operator.roles.form
    if form is not None and form.convolves:
        return _convolution(graph, node)
    if operator.root in (MATMUL, GEMM):
        roles = operator.roles
        result, left = _shape(graph, node.outputs, 0), _shape(graph, node.inputs, roles.data[0])
        if roles.form is Form.ROWS:  # the data may be rows of another length, taken apart
            left = _shape(graph, node.inputs, roles.weights[0])
        if result is None or not left:
            return None
        turned = len(left) > 1 and node.int(roles.stated("transA").attribute)
        return product_of(*result, left[-2 if turned else -1])
    return _in_steps(graph, node, operator.roles.recurrent) if operator.roles.recurrent else 0


def _convolution(graph: Graph, node: Node) -> int | None:
    """Each element of the output, or of a transposed convolution's input, goes with one filter, for any rank."""
    roles = operator_of(node).roles
    weights, form = _shape(graph, node.inputs, roles.weights[0]), roles.form
    data = _shape(graph, node.inputs, roles.data[0]) if form and form.transposed else _shape(graph, node.outputs, 0)
    if weights is None or data is None or form is None:
        return None
    left_out = (form.inputs if form.transposed else form.outputs)(len(weights))
    return product_of(*data, *(size for axis, size in enumerate(weights) if axis != left_out))


def _elements(graph: Graph, tensors: Iterable[str]) -> int | None:
    """Elements of the largest of some tensors; None where a size is unknown."""
    shapes = [graph.shape(name) for name in tensors if name]
    counts = [None if shape is None else product_of(*shape) for shape in shapes]
    known = [count for count in counts if count is not None]
    return max(known) if len(known) == len(counts) and known else None


def _shape(graph: Graph, names: tuple[str, ...], position: int) -> tuple[Size, ...] | None:
    return graph.shape(names[position]) if position < len(names) and names[position] else None


def _in_steps(graph: Graph, node: Node, matrices: Iterable[int]) -> int | None:
    """Every step of every sequence multiplies by all matrices."""
    data = _shape(graph, node.inputs, 0)
    shapes = [graph.shape(node.inputs[position]) for position in matrices if node.has(position)]
    if data is None or None in shapes:
        return None
    return product_of(*data[:-1], total(product_of(*shape) for shape in shapes if shape is not None))


# Copies between memory orders: where a layer wants its input in another order than the layer in front left it in.
#
# No node stands for such a copy. The application that calls CMSIS-NN's functions makes it, as the firmware check does:
# images are NHWC, rows of a Reshape or a MatMul are in ONNX's order. Inputs of the model lie as they need the fewest.


IMAGES = (
    *(Function.CONVOLVE, Function.DEPTHWISE, Function.TRANSPOSE_CONV, Function.AVERAGE_POOL, Function.MAX_POOL),
    Function.BATCH_NORM,
)
"""Functions that read and write NHWC."""
KEEPS = ("lookup", "requantize", Function.ACTIVATION)
"""Code that goes over memory, whatever its order."""
ANY_ORDER = (Function.SOFTMAX, Function.PAD, Function.TRANSPOSE, "move")
"""What takes every order of axes and writes the same; a softmax wants the axes of its rows last."""
SEVERAL = (Function.ADD, Function.MUL, Function.MAXIMUM, Function.MINIMUM, Function.CONCATENATION)
"""Functions of several activations, which lie in one order."""
MAY_GO = "a converter such as onnx2tf may remove the copy"
CHANNELS_LAST = "CMSIS-NN wants channels last here"
ONNX_ORDER = "ONNX counts elements in another order here"


class LayoutCopy(NamedTuple):
    """One copy in front of a layer."""

    node: Node
    """Layer, or Reshape or Transpose, that wants the other order."""
    tensor: str
    """What is copied."""
    shape: tuple[int, ...]
    """Its sizes in ONNX's order."""
    places: Places
    """Loops of the copy."""
    reason: str
    """Why, as a clause."""

    @property
    def label(self) -> str:
        """Name of the copy, which no node has."""
        return f"{self.node.label}:transpose"

    @property
    def elements(self) -> int:
        """Elements copied."""
        return prod(self.shape)


class MemoryLayout(NamedTuple):
    """Where the tensors of a model lie, for the memory order of its inputs that needs the fewest copies."""

    copies: tuple[LayoutCopy, ...]
    """The copies, in file order."""
    stored: Mapping[str, Stored]
    """Each activation that a layer reads or writes."""


def memory_layout(graph: Graph, lowered: Lowered) -> MemoryLayout:
    """The copies of a model, and where its activations lie."""
    fixed = derived_values(graph, sizes=True) | graph.constants.keys()
    first = _Walk(graph, lowered, fixed, inputs_channels_last=False).layout()
    if not first.copies:
        return first
    last = _Walk(graph, lowered, fixed, inputs_channels_last=True).layout()
    return first if len(first.copies) < len(last.copies) else last


class _Walk:
    """A walk over the nodes in file order."""

    def __init__(self, graph: Graph, lowered: Lowered, fixed: AbstractSet[str], *, inputs_channels_last: bool) -> None:
        """`fixed` are the tensors that are the same in every run."""
        self._graph = graph
        self._records = {record.node.index: record for record in lowered.records}
        self._fixed = fixed
        self._inputs_channels_last = inputs_channels_last
        self._stored: dict[str, Stored] = {}
        self._copies: list[LayoutCopy] = []

    def layout(self) -> MemoryLayout:
        for node in self._graph.nodes:
            if not node.inputs or self._shape(node.outputs[0]) is None:
                continue
            result = self._result(node, self._records.get(node.index))
            if result is not None:
                self._stored[node.outputs[0]] = result
        return MemoryLayout(tuple(self._copies), self._stored)

    def _result(self, node: Node, record: LoweredLayer | None) -> Stored | None:
        """Where the first output of a node lies; None where the host or another program writes it."""
        shape = self._shape(node.outputs[0])
        values = [value for value in map(self._value, node.inputs) if value is not None]
        if shape is None or not values:
            return None
        if record is None:
            return self._seen(node, values[0], shape)
        if record.verdict not in (Verdict.CMSIS_NN, Verdict.REFERENCE):
            return None
        return self._computed(node, record, values, shape)

    def _seen(self, node: Node, value: Stored, shape: tuple[int, ...]) -> Stored | None:
        """What an operator that is no layer makes of a value: another view, or the same memory."""
        elements = operator_of(node).elements
        if elements is Elements.TRANSPOSED:
            order = node.permutation(len(value.shape))
            return transposed(self._plain(node, value), order) if order else None
        if value.shape == shape:
            return value
        if elements in MOVES and prod(shape) == prod(value.shape):
            return reshaped(value, shape)
        if elements is Elements.PADDED:  # the layer behind it pads
            return Stored(shape, self._plain(node, value).order)
        return None

    def _computed(self, node: Node, record: LoweredLayer, values: list[Stored], shape: tuple[int, ...]) -> Stored:
        """What a layer makes of its inputs, copied where it wants another order."""
        first, own = values[0], tuple(range(len(shape)))
        function = record.code or (record.layer.call.function if record.layer else "")
        if function in SEVERAL:
            return self._together(node, values, shape)
        if function in IMAGES:
            self._ordered(node, first, channels_last(len(first.shape)))
            return Stored(shape, channels_last(len(shape)))
        if function in KEEPS and first.shape == shape:
            return first
        if function in (*KEEPS, *ANY_ORDER):
            first = self._plain(node, first)
            if function == Function.SOFTMAX and len(first.shape) == len(shape):
                axes = softmax_axes(node, len(shape))
                first = self._ordered(node, first, (*(axis for axis in first.order if axis not in axes), *axes))
            return Stored(shape, first.order if len(first.order) == len(shape) else own)
        if function != Function.FULLY_CONNECTED or not _rows_in_memory(first):
            for value in values:
                self._ordered(node, value, tuple(range(len(value.shape))))
        return Stored(shape, own)

    def _together(self, node: Node, values: Iterable[Stored], shape: tuple[int, ...]) -> Stored:
        """Operands in the order of the first that has the result's rank; those of other shapes are made larger."""
        plain = [self._plain(node, value) for value in values]
        joined = len(plain[0].shape) == len(shape) and operator_of(node).elements is Elements.JOINED
        leading = (value for value in plain if value.shape == shape)
        order = plain[0].order if joined else next((value.order for value in leading), tuple(range(len(shape))))
        for value in plain:
            if value.shape == shape or (joined and len(value.shape) == len(order)):
                self._ordered(node, value, order)
        return Stored(shape, order)

    def _value(self, tensor: str) -> Stored | None:
        """Where an activation lies; None for a constant and where a size is unknown."""
        if tensor in self._stored:
            return self._stored[tensor]
        shape = self._shape(tensor)
        if not tensor or shape is None or tensor in self._fixed:
            return None
        rank = len(shape)
        self._stored[tensor] = Stored(shape, channels_last(rank) if self._inputs_channels_last else tuple(range(rank)))
        return self._stored[tensor]

    def _shape(self, tensor: str) -> tuple[int, ...] | None:
        shape = self._graph.shape(tensor)
        sizes = tuple(size for size in shape or () if size is not None)
        return None if shape is None or len(sizes) < len(shape) else sizes

    def _plain(self, node: Node, value: Stored) -> Stored:
        """The value with a memory order that its shape describes."""
        whole = value.folded_from is None
        return value if whole else self._ordered(node, value, tuple(range(len(value.shape))))

    def _ordered(self, node: Node, value: Stored, order: tuple[int, ...]) -> Stored:
        """The value in this memory order; copied where it lies otherwise."""
        if lies_in(value, order):
            return Stored(value.shape, order)
        if value.folded_from is not None:
            source = value.folded_from
            plain = self._moved(node, source, tuple(range(len(source.shape))))
            return self._ordered(node, reshaped(plain, value.shape), order)
        return self._moved(node, value, order)

    def _moved(self, node: Node, value: Stored, order: tuple[int, ...]) -> Stored:
        reason = CHANNELS_LAST if row_major(value) else ONNX_ORDER
        self._copies.append(LayoutCopy(node, node.inputs[0], value.shape, moved_places(value, order), reason))
        return Stored(value.shape, order)


def _rows_in_memory(value: Stored) -> bool:
    """Whether rows lie one after the other, so that the order of the columns of weights makes up for theirs."""
    source = value.folded_from or value
    rows = prod(value.shape[:-1])
    for count in range(len(source.order) + 1):
        leading = source.order[:count]
        if prod(source.shape[axis] for axis in leading) == rows:
            return list(leading) == sorted(leading) and set(leading) == set(range(count))
    return False


# Operators without a function of CMSIS-NN, and operators without anything to compute.


INTEGERS = frozenset({"int64", "int32", "bool"})
"""Element types of shape arithmetic, which is no layer."""
CLAMP = "no layer in front takes it as its clamp, and arm_relu_q7 and arm_relu6_s8 know neither scale nor zero-point"
CLAMP_SCALE = (
    "the scale changes between the layer in front and it, so that no kernel clamps along; arm_relu_q7 and arm_relu6_s8"
    " know neither scale nor zero-point"
)
PLANE_RANK = 4
"""Axes of a tensor with channels and a plane."""
NO_S8_FUNCTION = "CMSIS-NN has no s8 function for it"
S16_FUNCTION = "it can call arm_nn_activation_s16, which 4.0.0 and later have, and whose results are not known here"


def without_function(graph: Graph, node: Node, assume: Assumptions, clampable: Collection[str] = ()) -> Decision | None:
    """The verdict on a node without a lowering; None where there is nothing to compute.

    `clampable` are tensors of integers that functions with a clamp have written.
    """
    if operator_of(node).free or is_shape_arithmetic(graph, node):
        return None
    kind, _ = activation_type(graph, node.inputs[0], assume)
    name = canonical(node)
    if name in CLAMPS:
        return _clamp(graph, node, kind, clampable)
    if name == "Slice":
        return slice_decision(graph, node, assume)
    if name in ("Resize", "Upsample"):
        return resize_decision(graph, node, assume)
    if name in CURVES:
        of_curve = S16_FUNCTION if kind == "s16" else NO_S8_FUNCTION
        reason = of_curve if name in ("Sigmoid", "Tanh") else NO_FUNCTION
        return in_reference_code(kind, "lookup", Cause.NO_FUNCTION, reason)
    plane = name == "ReduceMean" and len(graph.shape(node.inputs[0]) or ()) == PLANE_RANK
    return no_kernel(
        Cause.NO_FUNCTION, f"{NO_FUNCTION}; AvgPool2d with the plane as window has one" if plane else NO_FUNCTION
    )


def _clamp(graph: Graph, node: Node, kind: str, clampable: Collection[str]) -> Decision:
    if not is_clamp(graph, node):
        return no_kernel(Cause.OPERAND_COMPUTED, "its bounds are computed at run time")
    behind = _behind_scale_alone(graph, node, clampable)
    cause = Cause.CLAMP_SCALE if behind else Cause.NO_FUNCTION
    return in_reference_code(kind, "requantize", cause, CLAMP_SCALE if behind else CLAMP)


def _behind_scale_alone(graph: Graph, node: Node, clampable: Collection[str]) -> bool:
    """Whether nothing but a change of scale keeps a clamp out of the function in front."""
    pair = graph.producers.get(node.inputs[0])
    if not dequantizes(pair) or pair is None or pair.inputs[0] not in clampable:
        return False
    producer = graph.producers[pair.inputs[0]]
    between = (pair.inputs[0], node.inputs[0], *(producer.inputs[:1] if quantizes(producer) else ()))
    return all(len(graph.consumers.get(tensor, ())) == 1 and tensor not in graph.outputs for tensor in between)


def is_shape_arithmetic(graph: Graph, node: Node) -> bool:
    """Whether all inputs and outputs are integers, as in arithmetic on shapes."""
    types = {graph.elem_type(name) for name in (*node.inputs[:1], *node.outputs[:1])}
    return types <= INTEGERS


# Float islands: nodes of a quantized model that compute in float, connected by float tensors.


IN_FLOAT = (Cause.FLOAT, Cause.FLOAT_RESULT)
"""Causes of nodes that compute in float, or whose result stays float."""


class FloatIsland(NamedTuple):
    """Connected nodes that compute in float."""

    records: tuple[LoweredLayer, ...]
    """Those that have something to compute, in file order."""
    first: tuple[str, ...]
    """Tensors that it begins at: quantized ones, and inputs of the model."""
    last: tuple[str, ...]
    """Tensors that it ends at: what QuantizeLinear reads, and outputs of the model."""
    dynamic: bool
    """Whether a scale that is known only at run time is at one of its ends."""


def islands(graph: Graph, lowered: Lowered) -> Iterator[FloatIsland]:
    """Each float island, in file order."""
    walk = _Islands(graph, lowered)
    for record in lowered.beside:
        if record.cause in IN_FLOAT and record.node.index not in walk.seen:
            yield walk.around(record.node)


class _Islands:
    """One walk over a graph."""

    def __init__(self, graph: Graph, lowered: Lowered) -> None:
        self._graph = graph
        self._records = {record.node.index: record for record in lowered.records}
        self.seen: set[int] = set()
        """Nodes of islands met so far, by `Node.index`."""

    def around(self, node: Node) -> FloatIsland:
        """The island of one node: all reachable nodes that neither quantize nor are integer layers."""
        waiting, nodes = [node], [node]
        self.seen.add(node.index)
        first: dict[str, None] = {}
        last: dict[str, None] = {}
        dynamic = False
        while waiting:
            here = waiting.pop()
            for tensor in here.inputs:
                producer = self._graph.producers.get(tensor)
                if producer is not None and self._inside(producer):
                    self._enter(producer, waiting, nodes)
                elif tensor and not computed_from_constants(self._graph, tensor):
                    first[tensor] = None
                    dynamic = dynamic or self._dynamic(producer)
            for tensor in here.outputs:
                for reader in self._graph.consumers.get(tensor, ()):
                    if self._inside(reader):
                        self._enter(reader, waiting, nodes)
                    else:
                        last[tensor] = None
                        dynamic = dynamic or self._dynamic(reader)
                if tensor in self._graph.outputs:
                    last[tensor] = None
        records = [self._records[record.index] for record in nodes if record.index in self._records]
        ordered = sorted(records, key=lambda record: record.node.index)
        return FloatIsland(tuple(ordered), tuple(first), tuple(last), dynamic)

    def _enter(self, node: Node, waiting: list[Node], nodes: list[Node]) -> None:
        if node.index not in self.seen:
            self.seen.add(node.index)
            waiting.append(node)
            nodes.append(node)

    def _inside(self, node: Node) -> bool:
        """Whether a node computes on float tensors."""
        if quantizes(node) or dequantizes(node) or node.bodies:
            return False
        record = self._records.get(node.index)
        if record is None:
            return operator_of(node).elements not in (Elements.MEASURED, Elements.STORED)
        return record.cause in IN_FLOAT or (record.cause is Cause.NO_FUNCTION and record.verdict is Verdict.NO_KERNEL)

    def _dynamic(self, node: Node | None) -> bool:
        if node is None:
            return False
        record = self._records.get(node.index)
        if record is not None and record.cause is Cause.DYNAMIC_QUANTIZATION:
            return True
        return operator_of(node).elements is Elements.MEASURED
