"""Kernels of TensorFlow Lite Micro by operator, with CMSIS-NN and without."""

from __future__ import annotations

from functools import partial

from onnxlint_cmsis.formats.tflite.file_model import TfliteOperator
from onnxlint_cmsis.runtimes.tflm import conv, dense, moves, recurrent
from onnxlint_cmsis.runtimes.tflm.bias_types import BIASED
from onnxlint_cmsis.runtimes.tflm.custom_operators import CUSTOM, decode
from onnxlint_cmsis.runtimes.tflm.kernel import Kernel
from onnxlint_cmsis.runtimes.tflm.pairs import ADD, ADD_PLAIN, EXTREMES, EXTREMES_PLAIN, MUL, MUL_PLAIN, prepare_pair
from onnxlint_cmsis.runtimes.tflm.pools import POOL, POOL_PLAIN, SOFTMAX, SOFTMAX_PLAIN, prepare_pool, prepare_softmax
from onnxlint_cmsis.runtimes.tflm.prepare_requests import REQUESTS
from onnxlint_cmsis.runtimes.tflm.reference_checks import LIMITS, NEW_OPERATORS
from onnxlint_cmsis.runtimes.tflm.resolver import CUSTOM_METHODS
from onnxlint_cmsis.runtimes.tflm.result_types import TYPED
from onnxlint_cmsis.runtimes.tflm.revisions import TflmRevision, holds
from onnxlint_cmsis.runtimes.tflm.shared_rows import WITHOUT
from onnxlint_cmsis.runtimes.tflm.sizes import STATED

KERNELS: dict[str, Kernel] = {
    "CONV_2D": Kernel(conv.CONV, conv.prepare_conv),
    "DEPTHWISE_CONV_2D": Kernel(conv.DEPTHWISE, conv.prepare_depthwise),
    "TRANSPOSE_CONV": Kernel(conv.TRANSPOSED, conv.prepare_transposed),
    "FULLY_CONNECTED": Kernel(dense.DENSE, dense.prepare_dense),
    "BATCH_MATMUL": Kernel(dense.PRODUCTS, dense.prepare_products),
    "AVERAGE_POOL_2D": Kernel(POOL, partial(prepare_pool, "avgpool")),
    "MAX_POOL_2D": Kernel(POOL, partial(prepare_pool, "max_pool")),
    "SOFTMAX": Kernel(SOFTMAX, prepare_softmax),
    "ADD": Kernel(ADD, partial(prepare_pair, "elementwise_add")),
    "MUL": Kernel(MUL, partial(prepare_pair, "elementwise_mul")),
    "MAXIMUM": Kernel(EXTREMES, partial(prepare_pair, "maximum")),
    "MINIMUM": Kernel(EXTREMES, partial(prepare_pair, "minimum")),
    "PAD": Kernel(moves.PAD, moves.prepare_pad),
    "PADV2": Kernel(moves.PAD, moves.prepare_pad),
    "TRANSPOSE": Kernel(moves.TRANSPOSE, moves.prepare_transpose),
    "SVDF": Kernel(recurrent.SVDF, recurrent.prepare_svdf),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel(recurrent.LSTM, recurrent.prepare_lstm),
}
"""Operators with a kernel of CMSIS-NN."""
PLAIN: dict[str, Kernel] = {
    "CONV_2D": Kernel(conv.CONV_PLAIN, partial(conv.prepare_plain_conv, 0), WITHOUT),
    "DEPTHWISE_CONV_2D": Kernel(conv.DEPTHWISE_PLAIN, partial(conv.prepare_plain_conv, 3), WITHOUT),
    "TRANSPOSE_CONV": Kernel(conv.TRANSPOSED_PLAIN, conv.prepare_transposed, WITHOUT),
    "FULLY_CONNECTED": Kernel(dense.DENSE_PLAIN, dense.prepare_plain_dense, WITHOUT),
    "BATCH_MATMUL": Kernel(dense.PRODUCTS_PLAIN, dense.prepare_plain_products, WITHOUT),
    "AVERAGE_POOL_2D": Kernel(POOL_PLAIN, reference=WITHOUT),
    "MAX_POOL_2D": Kernel(POOL_PLAIN, reference=WITHOUT),
    "SOFTMAX": Kernel(SOFTMAX_PLAIN, prepare_softmax, WITHOUT),
    "ADD": Kernel(ADD_PLAIN, reference=WITHOUT),
    "MUL": Kernel(MUL_PLAIN, reference=WITHOUT),
    "MAXIMUM": Kernel(EXTREMES_PLAIN, reference=WITHOUT),
    "MINIMUM": Kernel(EXTREMES_PLAIN, reference=WITHOUT),
    "PAD": Kernel(moves.PAD_PLAIN, reference=WITHOUT),
    "PADV2": Kernel(moves.PAD_PLAIN, reference=WITHOUT),
    "TRANSPOSE": Kernel(moves.TRANSPOSE_PLAIN, reference=WITHOUT),
    "SVDF": Kernel(recurrent.SVDF_PLAIN, recurrent.prepare_svdf, WITHOUT),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel(recurrent.LSTM_PLAIN, partial(recurrent.prepare_states, count=4), WITHOUT),
}
"""The same in a build without CMSIS-NN."""


BUILTIN = KERNELS.keys() | LIMITS.keys()
"""Builtin operators of the newest revision, each with a method of its resolver."""


def came_on(operator: TfliteOperator) -> str:
    """Day that brought an operator; empty where all reviewed revisions have it, and where none has."""
    custom = CUSTOM.get(operator.custom_code)
    return custom.since if operator.op == "CUSTOM" and custom else NEW_OPERATORS.get(operator.op, "")


def kernel_of(operator: TfliteOperator, revision: TflmRevision, *, with_cmsis_nn: bool = True) -> Kernel | None:
    """The kernel of an operator; None where a revision of TensorFlow Lite Micro has none."""
    op, name = operator.op, operator.custom_code
    if not holds(revision, came_on(operator), ""):
        return None
    if op == "CUSTOM" and name in CUSTOM:
        row = CUSTOM[name]
        known = "" if row.limits else "; what its kernel checks is not followed"
        registers = f"{CUSTOM_METHODS[name]}() of the resolver registers it, since {row.since}"
        text = f"{name} has no CMSIS-NN kernel; {registers}{known}"
        return Kernel(row.limits, decode, text)
    kernel = (KERNELS if with_cmsis_nn else PLAIN).get(op)
    if op in LIMITS:
        kernel = Kernel(LIMITS[op], REQUESTS.get(op, lambda _: None), f"{op} has no CMSIS-NN kernel")
    more = (row for table in (TYPED, BIASED, STATED) for row in table.get(op, ()))
    return None if kernel is None else kernel._replace(rows=(*kernel.rows, *more))
