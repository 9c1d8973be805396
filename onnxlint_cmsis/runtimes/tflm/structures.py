"""Bytes of TensorFlow Lite Micro's structures, per revision, as gcc lays them out for Arm with short enums."""

from __future__ import annotations

from typing import NamedTuple

from onnxlint_cmsis.runtimes.tflm.build import TflmBuild


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

    allocator: tuple[int, ...] = (36, 44, 36, 8)
    """SingleArenaBufferAllocator, GreedyMemoryPlanner, MicroAllocator, MicroBuiltinDataAllocator."""
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


ARENA: dict[str, ArenaBytes] = {"90b983c2b3f1480642e040bbd2ddb37b998f3424": ArenaBytes()}
"""By revision."""

OPERATORS: dict[str, dict[str, OperatorBytes]] = {
    "90b983c2b3f1480642e040bbd2ddb37b998f3424": {
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
        "SVDF": OperatorBytes(8, 4, 40, 44),
        "UNIDIRECTIONAL_SEQUENCE_LSTM": OperatorBytes(16, 4, 912),
        "BATCH_MATMUL": OperatorBytes(3, 1, 36),
        "RESHAPE": OperatorBytes(36, 4, 0),
        "PAD": OperatorBytes(0, 1, 56),
        "PADV2": OperatorBytes(0, 1, 56),
        "MEAN": OperatorBytes(1, 1, 44),
        "CONCATENATION": OperatorBytes(8, 4, 24),
        "STRIDED_SLICE": OperatorBytes(24, 4, 84),
        "LEAKY_RELU": OperatorBytes(4, 4, 24),
        "LOGISTIC": OperatorBytes(0, 1, 16),
        "RELU": OperatorBytes(0, 1, 28),
        "HARD_SWISH": OperatorBytes(0, 1, 20),
        "QUANTIZE": OperatorBytes(0, 1, 32),
        "DEQUANTIZE": OperatorBytes(0, 1, 32),
        "TRANSPOSE": OperatorBytes(0, 1, 0),
        "MAXIMUM": OperatorBytes(0, 1, 0),
        "MINIMUM": OperatorBytes(0, 1, 0),
    }
}
"""By revision and operator. An operator that is not here has bytes that were never measured."""


def operator_bytes(op: str, build: TflmBuild) -> OperatorBytes | None:
    """The structures of an operator in one build; None where they were never measured."""
    row = OPERATORS.get(build.revision.commit, {}).get(op)
    if row is None or build.speed or row.init_for_size < 0:
        return row
    return row._replace(init=row.init_for_size)
