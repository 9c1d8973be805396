"""Many calls in one firmware, each alone; one that faults is taken out and the others run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firmware_check.defects import Trouble
from firmware_check.errors import FirmwareError, LayerEndedError, TooLargeError
from firmware_check.evidence.call_steps import call_step
from firmware_check.execution import execute
from firmware_check.groups import groups_of
from firmware_check.judging import damage_of, dispatch_of
from firmware_check.program import side_by_side
from firmware_check.verdict import TOLERANCE, compare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from firmware_check.build import Bench
    from firmware_check.evidence.call_steps import CallStep
    from firmware_check.execution import Executed
    from firmware_check.observe import Observed
    from firmware_check.program import Step
    from onnxlint_cmsis.types import KernelCall


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


def run_calls(calls: Mapping[str, KernelCall], bench: Bench, folder: Path) -> dict[str, CallRun]:
    """Run calls by their labels; those that cannot run on the board are left out."""
    return run_steps([call_step(label, call, bench.library) for label, call in calls.items()], bench, folder)


def run_steps(steps: Sequence[CallStep], bench: Bench, folder: Path) -> dict[str, CallRun]:
    """Run calls that are made already."""
    made = {each.step.label: each for each in steps}
    groups, _ = groups_of([each.step for each in made.values()], bench.board, bench.target)
    found: dict[str, CallRun] = {}
    for number, group in enumerate(groups):
        found |= _group([made[step.label] for step in group], bench, folder / f"group_{number}")
    return found


def _group(made: Sequence[CallStep], bench: Bench, folder: Path) -> dict[str, CallRun]:
    """One group; where the firmware ends in a layer, that layer apart and the others again."""
    if not made:
        return {}
    program, given = side_by_side([each.step for each in made]), [array for each in made for array in each.sources]
    try:
        done = execute(program, bench, folder, "calls", [given])
    except LayerEndedError as error:
        ended = CallRun(Trouble(0, (), (str(error),)), None, ended=str(error))
        rest = [each for each in made if each.step.label != error.label]
        return {error.label: ended, **_group(rest, bench, folder / "again")}
    except TooLargeError:
        raise
    except FirmwareError as error:
        if len(made) == 1:
            return {made[0].step.label: CallRun(Trouble(0, (), (str(error),)), None, ended=str(error))}
        middle = len(made) // 2
        first = _group(made[:middle], bench, folder / "first")
        return {**first, **_group(made[middle:], bench, folder / "second")}
    return {each.step.label: _judged(each, done, number, bench) for number, each in enumerate(made)}


def _judged(made: CallStep, done: Executed, number: int, bench: Bench) -> CallRun:
    reports = done.traced.layers[number], done.plain.layers[number]
    trouble = Trouble(reports[0].status, _wrong(made, done.plain.outputs[0][number]), tuple(damage_of(*reports)))
    unlike = dispatch_of(made.step, bench.target, done.observed[number], reports[0])
    return CallRun(trouble, done.observed[number], tuple(unlike))


def _wrong(made: CallStep, output: np.ndarray) -> tuple[str, ...]:
    if made.expected is None:
        return ()
    found = compare(output, made.expected)
    if found.largest <= (0 if made.step.form in EXACT else TOLERANCE[_bits(made.step)]):
        return ()
    return (f"{found.count} of {found.total} values wrong, by up to {found.largest}",)


def _bits(step: Step) -> int:
    return step.output.quantization.bits
