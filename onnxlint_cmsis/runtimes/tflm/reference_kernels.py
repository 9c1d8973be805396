"""Operators without a CMSIS-NN kernel: what their Prepare asks for. Its own checks are not followed here."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from onnxlint_cmsis.runtimes.tflm.convolution_checks import INTEGER
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation

WORD = 4
INT8_ADD_N, INT8_CUMSUM, INT8_LOG_SOFTMAX = 40, 36, 28
"""Data of the int8 form (K/add_n.cc, K/cumsum.cc, K/log_softmax.cc)."""
NOT_FOLLOWED = frozenset({"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "EMBEDDING_LOOKUP"})
"""Operators whose requests are not written down: they depend on the application, or on what a run makes of shapes."""


def reference(p: Preparation) -> None:
    """A kernel of TensorFlow Lite Micro's own."""
    op = p.view.operator.op
    p.reference = f"{op} has no CMSIS-NN kernel"
    p.memory_known = op not in NOT_FOLLOWED
    asks = REQUESTS.get(op)
    if asks:
        asks(p)


def _copies_shape(p: Preparation) -> None:
    """CreateWritableTensorDimsWithCopy (K/kernel_util.cc:128)."""
    output = p.view.output()
    if output is not None:
        p.persistent.append(WORD * (1 + len(output.shape)))


def _reshape(p: Preparation) -> None:
    output = p.view.output()
    if output is not None and -1 in output.shape:
        _copies_shape(p)


def _reduction(p: Preparation) -> None:
    """PrepareMinMax and PrepareAll (K/reduce_common.cc:211, 278)."""
    data, axes = p.view.input(0), p.view.input(1)
    if data is not None and axes is not None:
        p.request(WORD * len(data.shape))
        p.request(WORD * prod(axes.shape))


def _mean_or_sum(p: Preparation) -> None:
    """PrepareMeanOrSum (K/reduce_common.cc:239)."""
    data, output = p.view.input(0), p.view.output()
    if data is not None and output is not None and data.elem_type in INTEGER:
        p.request(WORD * prod(output.shape))
    _reduction(p)


def _mirror_pad(p: Preparation) -> None:
    data = p.view.input(0)
    if data is not None:
        p.request(WORD * len(data.shape))
        p.request(WORD * len(data.shape))


def _add_n(p: Preparation) -> None:
    if _is_int8(p.view):
        p.persistent.append(INT8_ADD_N)
    p.request(WORD * len(p.view.operator.inputs))


def _cumsum(p: Preparation) -> None:
    if _is_int8(p.view):
        p.persistent.append(INT8_CUMSUM)


def _log_softmax(p: Preparation) -> None:
    if _is_int8(p.view):
        p.persistent.append(INT8_LOG_SOFTMAX)


def _is_int8(view: OperatorView) -> bool:
    output = view.output()
    return output is not None and output.elem_type == "INT8"


REQUESTS: dict[str, Callable[[Preparation], None]] = {
    "RESHAPE": _reshape,
    "MEAN": _mean_or_sum,
    "SUM": _mean_or_sum,
    "MIRROR_PAD": _mirror_pad,
    "ADD_N": _add_n,
    "CUMSUM": _cumsum,
    "LOG_SOFTMAX": _log_softmax,
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL"), _reduction),
    **dict.fromkeys(("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "GATHER", "GATHER_ND", "L2_POOL_2D"), _copies_shape),
}
"""Operators whose Prepare asks for memory; the others ask for none."""
