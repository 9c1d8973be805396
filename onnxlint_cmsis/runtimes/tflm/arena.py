"""The arena of TensorFlow Lite Micro: its structures, lifetimes and planner, to the byte."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import unpack_from

from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel, TfliteOperator
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.runtime import TflmBuild
from onnxlint_cmsis.runtimes.tflm.preparation import HANDLE, quantized, tensor_bytes
from onnxlint_cmsis.runtimes.tflm.revisions import NEWEST

# Bytes of TensorFlow Lite Micro's structures, per revision, as gcc lays them out for Arm with short enums.


class OperatorBytes(NamedTuple):
    """What the arena holds for every operator of a kind, whatever its sizes."""

    options: int
    """Bytes of the options (TfLite*Params); 0 for none."""
    alignment: int
    """Alignment of the options."""
    init: int
    """Bytes that Init asks for; 0 for none."""
    init_for_size: int = -1
    """The same where the build is optimized for size; -1 for no difference."""


class ArenaBytes(NamedTuple):
    """What the arena holds for every model."""

    allocator: tuple[int, ...] = (36, 44, 36)
    """SingleArenaBufferAllocator, GreedyMemoryPlanner, MicroAllocator."""
    variables: int = 12
    """MicroResourceVariables."""
    variable: int = 20
    """MicroResourceVariable, one for every variable that the application makes room for."""
    builtin_allocator: int = 8
    """MicroBuiltinDataAllocator."""
    subgraph: int = 8
    """SubgraphAllocations."""
    eval_tensor: int = 12
    """TfLiteEvalTensor, one for every tensor, constants included."""
    node: int = 32
    """NodeAndRegistration."""
    tensor: int = 32
    """TfLiteTensor, one for every input and output of the model."""
    affine: int = 12
    """TfLiteAffineQuantization."""
    handle: int = 4
    """ScratchBufferHandle, and every pointer."""
    scratch_request: int = 12
    """ScratchBufferRequest."""
    spare_requests: int = 12
    """Requests that one Prepare may make (kMaxScratchBuffersPerOp)."""
    allocation: int = 24
    """AllocationInfo, one for every tensor and scratch request while planning."""
    planned: int = 40
    """What the planner holds for every buffer while planning."""


ARENA: dict[str, ArenaBytes] = {NEWEST: ArenaBytes()}
"""By the revision that brought them."""

_NOTHING = (
    "TRANSPOSE", "MAXIMUM", "MINIMUM", "BATCH_TO_SPACE_ND", "BROADCAST_ARGS", "BROADCAST_TO", "CEIL", "COS",
    "DYNAMIC_UPDATE_SLICE", "EXP", "EXPAND_DIMS", "FILL", "FLOOR", "FLOOR_DIV", "FLOOR_MOD", "GATHER_ND", "LOG",
    "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "LOG_SOFTMAX", "NEG", "ADD_N", "REVERSE_V2", "ROUND", "SIN",
    "SLICE", "SQRT", "SQUARE", "ZEROS_LIKE", "ASSIGN_VARIABLE", "READ_VARIABLE",
)  # fmt: skip
_COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
_REDUCTIONS = ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL")

OPERATORS: dict[str, dict[str, OperatorBytes]] = {
    NEWEST: {
        "CONV_2D": OperatorBytes(28, 4, 60),
        "DEPTHWISE_CONV_2D": OperatorBytes(28, 4, 60),
        "FULLY_CONNECTED": OperatorBytes(5, 1, 72),
        "TRANSPOSE_CONV": OperatorBytes(16, 4, 76),
        "SOFTMAX": OperatorBytes(4, 4, 64),
        "AVERAGE_POOL_2D": OperatorBytes(40, 4, 36),
        "MAX_POOL_2D": OperatorBytes(40, 4, 36),
        "ADD": OperatorBytes(2, 1, 60),
        "SUB": OperatorBytes(2, 1, 52),
        "MUL": OperatorBytes(1, 1, 36),
        "DIV": OperatorBytes(1, 1, 28),
        "SVDF": OperatorBytes(8, 4, 40, 44),
        "UNIDIRECTIONAL_SEQUENCE_LSTM": OperatorBytes(16, 4, 912),
        "BATCH_MATMUL": OperatorBytes(3, 1, 36),
        "RESHAPE": OperatorBytes(36, 4, 0),
        "SQUEEZE": OperatorBytes(36, 4, 0),
        "PAD": OperatorBytes(0, 1, 56),
        "PADV2": OperatorBytes(0, 1, 56),
        "MIRROR_PAD": OperatorBytes(1, 1, 20),
        "CONCATENATION": OperatorBytes(8, 4, 24),
        "STRIDED_SLICE": OperatorBytes(24, 4, 84),
        "LEAKY_RELU": OperatorBytes(4, 4, 24),
        "LOGISTIC": OperatorBytes(0, 1, 16),
        "TANH": OperatorBytes(0, 1, 16),
        "RELU": OperatorBytes(0, 1, 28),
        "RELU6": OperatorBytes(0, 1, 8),
        "PRELU": OperatorBytes(0, 1, 28),
        "ELU": OperatorBytes(0, 1, 256),
        "HARD_SWISH": OperatorBytes(0, 1, 20),
        "ABS": OperatorBytes(0, 1, 28),
        "RSQRT": OperatorBytes(0, 1, 28),
        "SQUARED_DIFFERENCE": OperatorBytes(0, 1, 112),
        "SELECT_V2": OperatorBytes(0, 1, 1),
        "QUANTIZE": OperatorBytes(0, 1, 32),
        "DEQUANTIZE": OperatorBytes(0, 1, 32),
        "CAST": OperatorBytes(2, 1, 0),
        "SHAPE": OperatorBytes(1, 1, 0),
        "ARG_MAX": OperatorBytes(1, 1, 0),
        "ARG_MIN": OperatorBytes(1, 1, 0),
        "CUMSUM": OperatorBytes(2, 1, 0),
        "GATHER": OperatorBytes(8, 4, 0),
        "PACK": OperatorBytes(8, 4, 0),
        "UNPACK": OperatorBytes(8, 4, 0),
        "SPLIT": OperatorBytes(4, 4, 0),
        "SPLIT_V": OperatorBytes(4, 4, 0),
        "DEPTH_TO_SPACE": OperatorBytes(4, 4, 0),
        "SPACE_TO_DEPTH": OperatorBytes(4, 4, 0),
        "SPACE_TO_BATCH_ND": OperatorBytes(0, 1, 4),
        "RESIZE_BILINEAR": OperatorBytes(2, 1, 0),
        "RESIZE_NEAREST_NEIGHBOR": OperatorBytes(2, 1, 0),
        "L2_NORMALIZATION": OperatorBytes(1, 1, 4),
        "L2_POOL_2D": OperatorBytes(40, 4, 0),
        "IF": OperatorBytes(8, 4, 8),
        "WHILE": OperatorBytes(8, 4, 8),
        "CALL_ONCE": OperatorBytes(4, 4, 8),
        "VAR_HANDLE": OperatorBytes(8, 4, 4),
        **dict.fromkeys(_REDUCTIONS, OperatorBytes(1, 1, 44)),
        **dict.fromkeys(_COMPARISONS, OperatorBytes(0, 1, 32)),
        **dict.fromkeys(_NOTHING, OperatorBytes(0, 1, 0)),
    }
}
"""By revision and operator; of an operator that is not here nothing is known.

Those of the firmware rows were measured there. The rest was compiled from the revision's headers and kernels for a
32-bit target with short enums, which gives the measured ones too.
"""


PLAIN_INIT: dict[str, dict[str, int]] = {
    NEWEST: {
        "CONV_2D": 56,
        "DEPTHWISE_CONV_2D": 56,
        "FULLY_CONNECTED": 48,
        "TRANSPOSE_CONV": 72,
        "SOFTMAX": 56,
        "AVERAGE_POOL_2D": 32,
        "MAX_POOL_2D": 32,
        "SVDF": 36,
        "UNIDIRECTIONAL_SEQUENCE_LSTM": 688,
        "BATCH_MATMUL": 16,
    }
}
"""Bytes that Init asks for in a build without CMSIS-NN, where they differ; measured in the firmware rows."""


def operator_bytes(op: str, build: TflmBuild) -> OperatorBytes | None:
    """The structures of an operator in one build; None where they were never measured.

    A custom operator has no options that are parsed; what its Init asks for counts as asked by Prepare.
    """
    if op == "CUSTOM":
        return OperatorBytes(0, 1, 0)
    row = OPERATORS.get(build.revision.layout, {}).get(op)
    if row is None:
        return None
    if not build.with_cmsis_nn:
        return row._replace(init=PLAIN_INIT[build.revision.layout].get(op, row.init))
    return row if build.speed or row.init_for_size < 0 else row._replace(init=row.init_for_size)


# Where TensorFlow Lite Micro puts its buffers (lite/micro/memory_planner/greedy_memory_planner.cc).
#
# Largest first; each goes into the first gap among the buffers that are alive at the same time.


ALIGNMENT = 16


def align(size: int) -> int:
    """The next multiple of 16."""
    return -(-size // ALIGNMENT) * ALIGNMENT


class PlannedBuffer(NamedTuple):
    """One buffer of the plan."""

    number: int
    """Number of the tensor, or of the scratch request behind all tensors."""
    size: int
    """Bytes asked for."""
    first: int
    """First step in which it is alive; -1 for one that no operator touches."""
    last: int
    """Last step in which it is alive."""
    offset: int = -1
    """First byte; -1 where it is still to be placed."""

    @property
    def room(self) -> int:
        """Bytes it takes, a multiple of 16."""
        return align(self.size)

    @property
    def end(self) -> int:
        """First byte behind it."""
        return self.offset + self.room


def place(buffers: Sequence[PlannedBuffer]) -> tuple[PlannedBuffer, ...]:
    """The buffers with their offsets, in the order given; an offset that is already there is kept (offline plan)."""
    fixed = [buffer for buffer in buffers if buffer.offset >= 0]
    free = [buffer for buffer in reversed(buffers) if buffer.offset < 0]
    free.sort(key=lambda buffer: -buffer.room)  # stable: of equal sizes the later comes first
    placed: list[PlannedBuffer] = []
    for buffer in (*fixed, *free):
        located = buffer if buffer.offset >= 0 else buffer._replace(offset=_first_gap(buffer, placed))
        position = next((i for i, other in enumerate(placed) if other.offset > located.offset), len(placed))
        placed.insert(position, located)
    by_number = {buffer.number: buffer for buffer in placed}
    return tuple(by_number[buffer.number] for buffer in buffers)


def _first_gap(wanted: PlannedBuffer, placed: list[PlannedBuffer]) -> int:
    """First offset at which a buffer fits between those alive with it; `placed` is in order of offset."""
    offset = 0
    for other in placed:
        if other.first > wanted.last or wanted.first > other.last:
            continue
        if other.offset - offset >= wanted.room:
            break
        offset = max(offset, other.end)
    return offset


# From which step to which each buffer of a model is alive (lite/micro/micro_allocation_info.cc).


OFFLINE_PLAN = "OfflineMemoryAllocation"
NEVER = -1

MAX_STEPS = 100_000
"""Steps that are followed; bodies of control flow that run each other can have more than there are operators."""


class TooManySteps(Exception):  # noqa: N818 - the model's doing
    """Control flow that runs more operators than MAX_STEPS."""


Scratch = tuple[int, int, int]
"""A scratch request: subgraph, operator, bytes."""


class Lifetimes:
    """Steps counted over all subgraphs that the model runs."""

    def __init__(self, model: TfliteModel, scratch: tuple[Scratch, ...]) -> None:
        self.model = model
        self.scratch = scratch
        self.step = 0
        counts = [len(subgraph.tensors) for subgraph in model.subgraphs]
        self.starts = [sum(counts[:index]) for index in range(len(counts))]
        self.first = [NEVER] * (sum(counts) + len(scratch))
        self.last = list(self.first)
        self._walk(0)

    def _touch(self, index: int, first: int, last: int) -> None:
        if self.first[index] == NEVER:
            self.first[index] = first
        self.last[index] = last

    def _walk(self, number: int) -> None:
        """One run of a subgraph."""
        subgraph, start = self.model.subgraphs[number], self.starts[number]
        for tensor in subgraph.inputs:
            self._touch(start + tensor, self.step, self.step)
        for index, operator in enumerate(subgraph.operators):
            self._operator(number, index, operator)
        for tensor in subgraph.outputs:
            self._touch(start + tensor, self.step, self.step)

    def _operator(self, number: int, index: int, operator: TfliteOperator) -> None:
        start = self.starts[number]
        self.step += 1
        if self.step > MAX_STEPS:
            raise TooManySteps(f"its control flow runs more than {MAX_STEPS} operators")
        begun = self.step
        for tensor in operator.outputs:
            self._touch(start + tensor, begun, self.last[start + tensor])
        for _, body in operator.bodies:
            self.step += 1
            self._walk(body)
        for tensor in (*operator.inputs, *operator.outputs):
            if tensor >= 0:
                self.last[start + tensor] = self.step
        tensors = len(self.first) - len(self.scratch)
        for request, (subgraph, owner, _) in enumerate(self.scratch):
            if (subgraph, owner) == (number, index):
                self._touch(tensors + request, begun, self.step)


def planned_buffers(model: TfliteModel, scratch: tuple[Scratch, ...]) -> tuple[PlannedBuffer, ...]:
    """Every buffer that the planner places: tensors that are computed, then scratch requests."""
    lives = Lifetimes(model, scratch)
    offsets = offline_offsets(model)
    buffers: list[PlannedBuffer] = []
    for subgraph, start in zip(model.subgraphs, lives.starts, strict=True):
        buffers += _tensors(model, subgraph, start, lives, offsets)
    count = len(lives.first) - len(scratch)
    for index, (_, _, size) in enumerate(scratch, count):
        buffers.append(PlannedBuffer(index, size, lives.first[index], lives.last[index]))
    return tuple(buffers)


def _tensors(
    model: TfliteModel, subgraph: Subgraph, start: int, lives: Lifetimes, offsets: tuple[int, ...]
) -> list[PlannedBuffer]:
    """Tensors of a subgraph that the planner places; VAR_HANDLE points its output at its own data."""
    planned = []
    handles = {output for operator in subgraph.operators if operator.op == HANDLE for output in operator.outputs}
    for index, tensor in enumerate(subgraph.tensors, start):
        size = tensor_bytes(tensor)
        offset = offsets[index] if index < len(offsets) else NEVER
        online = offset == NEVER
        placed = model.is_constant(tensor) or index - start in handles or (tensor.is_variable and online)
        if size and not placed:
            planned.append(PlannedBuffer(index, size, lives.first[index], lives.last[index], offset))
    return planned


def offline_offsets(model: TfliteModel) -> tuple[int, ...]:
    """Offsets that the file's metadata gives its tensors, -1 for one left to the planner; none without metadata."""
    for name, buffer in model.metadata:
        data = model.bytes_of(buffer) if name == OFFLINE_PLAN else b""
        if len(data) >= 12:
            count = min(int(unpack_from("<I", data, 8)[0]), (len(data) - 12) // 4)
            return unpack_from(f"<{count}i", data, 12)
    return ()


# How many bytes of arena a model takes, part by part (lite/micro/micro_allocator.cc, micro_interpreter.cc).
#
# The head grows from the arena's start: activations and scratch. The tail grows down from its end: what stays.


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

    def alive(self, step: int) -> tuple[PlannedBuffer, ...]:
        """Buffers alive in a step; operator k runs in step k + 1, counted over what control flow runs."""
        return tuple(buffer for buffer in self.plan if buffer.first <= step <= buffer.last)


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
    plan = place(planned_buffers(model, scratch))
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
    offsets = offline_offsets(model)
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
