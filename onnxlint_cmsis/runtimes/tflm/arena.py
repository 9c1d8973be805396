"""How many bytes of arena a model takes, part by part (lite/micro/micro_allocator.cc, micro_interpreter.cc).

The head grows from the arena's start: activations and scratch. The tail grows down from its end: what stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.formats.tflite.memory_plan import stated_plan
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.lifetimes import Scratch, planned_buffers
from onnxlint_cmsis.runtimes.tflm.operator_view import quantized, tensor_bytes
from onnxlint_cmsis.runtimes.tflm.planner import ALIGNMENT, PlannedBuffer, align, laid_out
from onnxlint_cmsis.runtimes.tflm.structures import ArenaBytes

WORD = 4


class OperatorMemory(NamedTuple):
    """What one operator asks for that stays."""

    options: int
    """Bytes of its options."""
    alignment: int
    """Alignment of the options."""
    init: tuple[int, ...]
    """Bytes of each request of Init."""
    prepare: tuple[int, ...]
    """Bytes of each request of Prepare."""


class ArenaLayout(NamedTuple):
    """Arena of one model in one build, for an arena that ends at a multiple of 16."""

    head: int
    """Bytes of planned activations and scratch."""
    tail: int
    """Bytes that stay: structures, operators' data, quantization."""
    planning: int
    """Bytes needed while planning, which can exceed what is used."""
    persistent: dict[str, int]
    """Bytes of the tail by category, with what alignment adds."""
    plan: tuple[PlannedBuffer, ...]
    """Planned buffers with life and offset."""
    scratch: tuple[Scratch, ...]
    """Scratch requests in order."""

    @property
    def used(self) -> int:
        """What `arena_used_bytes()` answers."""
        return self.head + self.tail

    @property
    def needed(self) -> int:
        """Smallest arena in which AllocateTensors succeeds.

        Temporaries of one Prepare are left out: in a model of one small operator they can ask for some tens more.
        """
        return max(self.used, self.planning)

    @property
    def to_write(self) -> int:
        """Size to declare: `needed` up to a multiple of ALIGNMENT, without the temporaries that `needed` leaves out."""
        return align(self.needed)

    @property
    def alive_bytes(self) -> tuple[int, ...]:
        """Bytes alive in each step; operator k runs in step k + 1, counted over what control flow runs.

        A result that lies on an operand of its operator counts from the next step on.
        """
        changes = [0] * (max((buffer.last for buffer in self.plan), default=-1) + 2)
        handed_on = {(buffer.offset, buffer.size, buffer.last) for buffer in self.plan if buffer.first < buffer.last}
        for buffer in self.plan:
            if buffer.last >= 0:
                shared = (buffer.offset, buffer.size, buffer.first) in handed_on
                changes[max(buffer.first, 0) + shared] += buffer.room
                changes[buffer.last + 1] -= buffer.room
        return tuple(accumulate(changes[:-1]))


class _Tail:
    """The end of the arena, filled downwards."""

    def __init__(self) -> None:
        self.position = 0
        self.parts: dict[str, int] = {}

    def take(self, category: str, sizes: Iterable[int], alignment: int) -> None:
        """Place pieces one after the other, each start rounded down to the alignment."""
        before = self.position
        for size in sizes:
            self.position = (self.position - size) // alignment * alignment
        if before != self.position:
            self.parts[category] = self.parts.get(category, 0) + before - self.position


def lay_out(
    model: TfliteModel,
    operators: Sequence[OperatorMemory],
    scratch: tuple[Scratch, ...],
    sizes: ArenaBytes,
    variables: int = 0,
) -> ArenaLayout:
    """The arena of a model whose operators ask for what `operators` says, in order over all subgraphs.

    `variables` are the resource variables for which the application makes a table in the same arena
    (MicroResourceVariables::Create, lite/micro/micro_resource_variable.cc:30).
    """
    tail = _Tail()
    tail.take("infrastructure", sizes.allocator, WORD)
    if variables:
        tail.take("resource_variables", (sizes.variables, sizes.variable * variables), ALIGNMENT)
    _structures(tail, model, sizes)
    for operator in operators:
        tail.take("builtin_data", (operator.options,), operator.alignment)
    for operator in operators:
        tail.take("op_data_init", operator.init, ALIGNMENT)
    for operator in operators:
        tail.take("op_persistent_prepare", operator.prepare, ALIGNMENT)
    if scratch:
        tail.take("scratch_handles", (sizes.handle * len(scratch),), WORD)
    _variables(tail, model)
    before_ends = -tail.position
    _ends(tail, model, sizes)
    plan = laid_out(planned_buffers(model, scratch))
    head = max((buffer.end for buffer in plan), default=0)
    planning = _planning(model, scratch, len(plan), sizes) + align(before_ends)
    return ArenaLayout(head, -tail.position, planning, tail.parts, plan, scratch)


def _structures(tail: _Tail, model: TfliteModel, sizes: ArenaBytes) -> None:
    tail.take("infrastructure", (sizes.builtin_allocator, sizes.subgraph * len(model.subgraphs)), WORD)
    for subgraph in model.subgraphs:
        tail.take("eval_tensors", (sizes.eval_tensor * len(subgraph.tensors),), WORD)
    for subgraph in model.subgraphs:
        tail.take("node_and_registration", (sizes.node * len(subgraph.operators),), WORD)


def _variables(tail: _Tail, model: TfliteModel) -> None:
    """Tensors that keep their values, but those that an offline plan places."""
    stated = stated_plan(model)
    offsets = stated.offsets if stated else ()
    tensors = (tensor for subgraph in model.subgraphs for tensor in subgraph.tensors)
    for index, tensor in enumerate(tensors):
        if tensor.is_variable and (index >= len(offsets) or offsets[index] < 0):
            tail.take("variable_tensors", (tensor_bytes(tensor),), ALIGNMENT)


def _ends(tail: _Tail, model: TfliteModel, sizes: ArenaBytes) -> None:
    """What `input(i)` and `output(i)` answer: pointers, tensors and their quantization."""
    main = model.subgraphs[0]
    for indices in (main.inputs, main.outputs):
        tail.take("io_tensors", (sizes.handle * len(indices),), ALIGNMENT)
        for index in indices:
            tensor = main.tensors[index]
            tail.take("io_tensors", (sizes.tensor,), WORD)
            if tensor.quantization and quantized(tensor):
                zero_points = WORD * (1 + len(tensor.quantization.scales))
                tail.take("io_tensors", (sizes.affine, zero_points), WORD)


def _planning(model: TfliteModel, scratch: tuple[Scratch, ...], planned: int, sizes: ArenaBytes) -> int:
    """Bytes of the head while buffers are planned."""
    requests = sizes.scratch_request * (len(scratch) + sizes.spare_requests)
    tensors = sum(len(subgraph.tensors) for subgraph in model.subgraphs)
    allocations = sizes.allocation * (tensors + len(scratch))
    return align(requests + WORD * len(model.subgraphs) + allocations) + sizes.planned * planned
