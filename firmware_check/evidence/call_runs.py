"""Many calls in one firmware, each alone; one that faults is taken out and the others run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from firmware_check.build import Bench
from firmware_check.errors import FirmwareError, LayerEndedError, RunEndedError, TooLargeError
from firmware_check.evidence.call_layer import CallStep, call_step
from firmware_check.execution import Executed, execute
from firmware_check.float_arithmetic import FloatOutput
from firmware_check.groups import groups_of
from firmware_check.judging import damage_of, dispatch_of
from firmware_check.layer_trace import Observed
from firmware_check.predicted_hazards import Trouble
from firmware_check.program import side_by_side
from firmware_check.verdict import compare, compare_floats
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.runtimes.host.onnx_runtime import TOLERANCE

EXACT = ("legacy_call", "transpose", "maximum", "minimum")
"""Forms of calls that have to give every bit: they shift, move or choose where others multiply."""


class CallRun(NamedTuple):
    """What one call did."""

    trouble: Trouble
    """Status, wrong values, overwritten guards."""
    observed: Observed | None
    """Functions that ran; None where the firmware ended in the call."""
    unlike: tuple[str, ...] = ()
    """What of kernels, status and scratch is not as predicted."""
    ended: str = ""
    """How the firmware ended in the call, if it did."""
    failed: str = ""
    """Why no firmware ran, if none did."""
    off: float = 0.0
    """Of floats: largest error as a part of the larger of the result and 0.5."""


def run_calls(calls: Mapping[str, KernelCall], bench: Bench, folder: Path) -> dict[str, CallRun]:
    """Run calls by their labels; those that cannot run on the board are left out."""
    return run_steps([call_step(label, call, bench.library) for label, call in calls.items()], bench, folder)


def run_steps(steps: Sequence[CallStep], bench: Bench, folder: Path) -> dict[str, CallRun]:
    """Run calls that are made already."""
    distinct = {step.step.label: step for step in steps}
    groups, _ = groups_of([step.step for step in distinct.values()], bench.board, bench.target)
    runs: dict[str, CallRun] = {}
    for number, group in enumerate(groups):
        runs |= _group([distinct[step.label] for step in group], bench, folder / f"group_{number}")
    return runs


def _group(steps: Sequence[CallStep], bench: Bench, folder: Path) -> dict[str, CallRun]:
    """One group; where the firmware ends in a layer, that layer apart and the others again."""
    if not steps:
        return {}
    program, given = side_by_side([step.step for step in steps]), [array for step in steps for array in step.sources]
    try:
        done = execute(program, bench, folder, "calls", [given])
    except LayerEndedError as error:
        ended = CallRun(Trouble(0, (), (str(error),)), None, ended=str(error))
        rest = [step for step in steps if step.step.label != error.label]
        return {error.label: ended, **_group(rest, bench, folder / "again")}
    except (TooLargeError, RunEndedError):
        raise
    except FirmwareError as error:
        if len(steps) == 1:
            return {steps[0].step.label: CallRun(Trouble(0, (), ()), None, failed=str(error))}
        middle = len(steps) // 2
        first = _group(steps[:middle], bench, folder / "first")
        return {**first, **_group(steps[middle:], bench, folder / "second")}
    return {step.step.label: _judged(step, done, number, bench) for number, step in enumerate(steps)}


def _judged(step: CallStep, done: Executed, number: int, bench: Bench) -> CallRun:
    reports = done.traced.layers[number], done.plain.layers[number]
    output = done.plain.outputs[0][number]
    trouble = Trouble(reports[0].status, _wrong(step, output), tuple(damage_of(*reports)))
    unlike = dispatch_of(step.step, bench.target, done.observed[number], reports[0])
    return CallRun(trouble, done.observed[number], tuple(unlike), off=_off(step, output))


def _off(step: CallStep, output: np.ndarray) -> float:
    if not isinstance(step.expected, FloatOutput):
        return 0.0
    error = np.abs(output.astype(np.float64) - step.expected.values)
    return float(np.nan_to_num(error / np.maximum(np.abs(step.expected.values), 0.5), nan=np.inf).max(initial=0))


def _wrong(step: CallStep, output: np.ndarray) -> tuple[str, ...]:
    if step.expected is None:
        return ()
    if isinstance(step.expected, FloatOutput):
        floats = compare_floats(output, step.expected.values, step.expected.allowed)
        if (floats.strain or 0) <= 1:
            return ()
        return (f"values wrong by up to {floats.largest:.2g}, {floats.strain:.2g} times what rounding allows",)
    differences = compare(output, step.expected)
    if differences.largest <= (0 if step.step.form in EXACT else TOLERANCE[step.step.output.quantization.bits]):
        return ()
    return (f"{differences.count} of {differences.total} values wrong, by up to {differences.largest}",)
