"""Checks of the kernels that run reference code: a row for each, with its line, its outcome and its days."""

from __future__ import annotations

from onnxlint_cmsis.runtimes.tflm.broken_conditions import PREPARE
from onnxlint_cmsis.runtimes.tflm.check_rows import Row
from onnxlint_cmsis.runtimes.tflm.operator_conditions import dynamic, sized
from onnxlint_cmsis.runtimes.tflm.reference_control import CONTROL
from onnxlint_cmsis.runtimes.tflm.reference_curves import CURVES
from onnxlint_cmsis.runtimes.tflm.reference_moves import MOVES
from onnxlint_cmsis.runtimes.tflm.reference_pairs import PAIRS
from onnxlint_cmsis.runtimes.tflm.reference_reductions import REDUCTIONS
from onnxlint_cmsis.runtimes.tflm.rows import KernelLimit

NEW_OPERATORS = {
    "EMBEDDING_LOOKUP": "2023-07-26",
    "BATCH_MATMUL": "2023-09-06",
    "REVERSE_V2": "2025-07-10",
    "REDUCE_MIN": "2025-08-05",
    "DYNAMIC_UPDATE_SLICE": "2025-11-10",
    "REDUCE_ALL": "2026-01-08",
}
"""Operators that a resolver can add from a day on (lite/micro/micro_mutable_op_resolver.h); all others since before."""
LIMITS: dict[str, tuple[KernelLimit, ...]] = {
    op: rows for table in (MOVES, CURVES, PAIRS, REDUCTIONS, CONTROL) for ops, rows in table for op in ops.split()
}
"""Checks of every operator that runs reference code; a resolver can add these operators and those of CMSIS-NN."""
SIZED = Row("tensorflow/lite/micro/memory_helpers.cc:47", PREPARE, sized)
"""A check of the allocator, for every operator."""
DYNAMIC = Row("tensorflow/lite/micro/micro_interpreter_graph.cc:167", PREPARE, dynamic, since="2025-08-22")
"""A check of the interpreter behind every Prepare."""
