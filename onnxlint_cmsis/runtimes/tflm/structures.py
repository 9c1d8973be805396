"""Bytes of TensorFlow Lite Micro's structures, per revision, as gcc lays them out for Arm with short enums."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.revisions import NEWEST


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
