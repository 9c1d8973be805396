"""What the Prepare of reference kernels asks for, and what broken operators end in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import prod

from onnxlint_cmsis.runtimes.tflm.broken_conditions import KernelOutcome
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import FailedCheck, Preparation, Refused, Stage, Unpredictable
from onnxlint_cmsis.runtimes.tflm.revision_days import SCRATCH_AXES
from onnxlint_cmsis.runtimes.tflm.revisions import TflmRevision, holds
from onnxlint_cmsis.runtimes.tflm.rows import KernelLimit, Objection

IN_PREPARE = (KernelOutcome.ALLOCATE_FAILS, KernelOutcome.ABORTS_PREPARE, KernelOutcome.HALTS_PREPARE)


def broken(view: OperatorView, limit: KernelLimit, revision: TflmRevision) -> Objection | None:
    """What an operator has that a limit does not allow in a revision; None where it is kept, or not there yet.

    Raises Unpredictable where the kernel reads what is not there.
    """
    return limit.condition(view) if holds(revision, limit.since, limit.until) else None


def hold(p: Preparation, limits: Iterable[KernelLimit]) -> None:
    """Write down what becomes of an operator that breaks a limit. Raises Refused where Prepare returns an error."""
    for limit in limits:
        stage = Stage.PREPARE if limit.outcome in IN_PREPARE else Stage.INVOKE
        if (p.fails and stage is Stage.INVOKE) or not holds(p.build.revision, limit.since, limit.until):
            continue
        text = p.objection(limit.condition)
        if not text:
            continue
        advice = f"; {limit.advice}" if limit.advice else ""
        reason = f"{text} ({limit.source.removeprefix('tensorflow/lite/')}){advice}"
        if limit.outcome is KernelOutcome.UNREAD:
            raise Unpredictable(reason, limit.key)
        if limit.outcome is KernelOutcome.ALLOCATE_FAILS:
            raise Refused(reason, stage, limit.key)
        if limit.outcome is KernelOutcome.INVOKE_FAILS:
            p.fails = Refused(reason, stage, limit.key)
        elif limit.outcome in (KernelOutcome.ABORTS_PREPARE, KernelOutcome.ABORTS_INVOKE):
            p.halted = p.halted or FailedCheck(stage, reason, limit.key)
        elif limit.outcome is KernelOutcome.REFERENCE:
            p.reference, p.reference_cause = p.reference or text, p.reference_cause or limit.key
        elif limit.outcome is KernelOutcome.WRONG:
            p.wrong_cause = p.wrong_cause if p.wrong else limit.key
            p.wrong.append(reason)
        else:
            p.failed_checks.append(FailedCheck(stage, reason, limit.key))


WORD = 4
INT8_ADD_N, INT8_CUMSUM, INT8_LOG_SOFTMAX = 40, 36, 28
"""Data of the int8 form (K/add_n.cc, K/cumsum.cc, K/log_softmax.cc)."""


def _copies_shape(p: Preparation) -> None:
    """CreateWritableTensorDimsWithCopy (K/kernel_util.cc:128)."""
    output = p.view.output()
    if output is not None:
        p.persistent.append(WORD * (1 + len(output.shape)))


def _reshape(p: Preparation) -> None:
    output = p.view.output()
    if output is not None and -1 in output.shape:
        _copies_shape(p)


def _axes_and_place(p: Preparation) -> None:
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
    if holds(p.build.revision, SCRATCH_AXES, ""):
        _axes_and_place(p)


def _mirror_pad(p: Preparation) -> None:
    data = p.view.input(0)
    if data is not None:
        p.request(WORD * len(data.shape))
        p.request(WORD * len(data.shape))


def _int8_data(size: int, p: Preparation) -> None:
    """So many bytes of the int8 form."""
    output = p.view.output()
    if output is not None and output.elem_type == "INT8":
        p.persistent.append(size)


def _add_n(p: Preparation) -> None:
    _int8_data(INT8_ADD_N, p)
    p.request(WORD * len(p.view.operator.inputs))


def _var_handle(p: Preparation) -> None:
    variables = p.view.variable.variables if p.view.variable else 0
    p.reference += (
        "; AllocateTensors fails unless the application hands the interpreter MicroResourceVariables for"
        f" {variables} variable{'s' if variables > 1 else ''}"
    )


def _assign_variable(p: Preparation) -> None:
    use = p.view.variable
    p.memory_known = not p.view.constant(p.view.input(0))
    if use is not None and use.allocates:
        p.persistent.append(use.bytes_)


REQUESTS: dict[str, Callable[[Preparation], None]] = {
    "RESHAPE": _reshape,
    "MEAN": _mean_or_sum,
    "SUM": _mean_or_sum,
    "MIRROR_PAD": _mirror_pad,
    "ADD_N": _add_n,
    "CUMSUM": partial(_int8_data, INT8_CUMSUM),
    "LOG_SOFTMAX": partial(_int8_data, INT8_LOG_SOFTMAX),
    "VAR_HANDLE": _var_handle,
    "ASSIGN_VARIABLE": _assign_variable,
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL"), _axes_and_place),
    **dict.fromkeys(("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "GATHER", "GATHER_ND", "L2_POOL_2D"), _copies_shape),
}
"""Operators whose Prepare asks for memory; the others ask for none. That of EMBEDDING_LOOKUP is not known."""
