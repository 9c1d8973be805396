"""Instructions of one layer: what is predicted, what was counted, and whether the two agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from firmware_check.compilers import GCC, label_of
from onnxlint_cmsis.cmsis_nn.compilers import GCC_12, measured_compilers
from onnxlint_cmsis.cmsis_nn.cost_error import ZERO, DocumentedError, documented_error, reference_error
from onnxlint_cmsis.cmsis_nn.library import copy_range, cost_of_route, instructions_range, reference_range
from onnxlint_cmsis.ground.types import Isa

if TYPE_CHECKING:
    from firmware_check.build import Bench
    from firmware_check.program import Step
    from onnxlint_cmsis.cmsis_nn.compilers import MeasuredCompiler
    from onnxlint_cmsis.cmsis_nn.library import Route


Ends = tuple[int, int]
"""Least and most instructions; equal where one number holds."""
AGREES, DISAGREES, NOT_JUDGED = "agrees", "DISAGREES", "not judged"
CODES = {
    "reference_lookup": "lookup",
    "reference_requantize": "requantize",
    "reference_add": "elementwise_add",
    "reference_mul": "elementwise_mul",
    "reference_concat": "concatenation",
}
"""Form of reference code to the kind that has a range."""
REPEATING = ("reference_add", "reference_mul")
"""Those of them that may read an operand of fewer elements several times."""


@dataclass(frozen=True)
class Instructions:
    """Instructions of one layer, not cycles."""

    counted: int
    """What the untraced build took."""
    predicted: Ends | None = None
    """What onnxlint_cmsis predicts; None where it has no number."""
    documented: DocumentedError | None = None
    """What the prediction may be off by; None where there is none."""
    zeros: int = 0
    """Instructions that it may take less for channels whose weights are all zero."""
    unjudged: str = ""
    """Why the two are not held against each other, as a clause; empty where they are."""

    @property
    def off(self) -> int:
        """Instructions that were counted beyond the predicted ones, negative below them."""
        least, most = self.predicted or (self.counted, self.counted)
        return self.counted - max(least, min(most, self.counted))

    @property
    def share(self) -> float:
        """The same as a part of the nearer end."""
        least, most = self.predicted or (1, 1)
        return self.off / max(1, least if self.off < 0 else most)

    @property
    def allowed(self) -> int:
        """Instructions that `off` may be."""
        if self.predicted is None or self.documented is None:
            return 0
        least, most = self.predicted
        return self.documented.of(least) + self.zeros if self.off < 0 else self.documented.of(most)

    @property
    def verdict(self) -> str:
        """`agrees`, `DISAGREES` or `not judged`."""
        if self.unjudged or self.predicted is None:
            return NOT_JUDGED
        return AGREES if abs(self.off) <= self.allowed else DISAGREES

    @property
    def disagreement(self) -> str:
        """What is said where they disagree."""
        return (
            f"instructions: {told(self.predicted)} predicted, {self.counted:,} counted ({100 * self.share:+.3g} %; at "
            f"most {self.documented} documented)"
        )


def told(ends: Ends | None) -> str:
    """A number, a range, or `-` for none."""
    if ends is None:
        return "-"
    return f"{ends[0]:,}" if ends[0] == ends[1] else f"{ends[0]:,} to {ends[1]:,}"


def instructions_of(step: Step, bench: Bench, predicted: Route | None, status: int, counted: int) -> Instructions:
    """Hold what was counted in a layer against what is predicted; `status` is what its call returned."""
    if status:
        return Instructions(counted, unjudged=f"it returned status {status}")
    if step.function and step.call is not None and predicted is not None:
        return _of_call(step, bench, predicted, counted)
    return _of_reference_code(step, bench, counted)


def _of_call(step: Step, bench: Bench, predicted: Route, counted: int) -> Instructions:
    call, target = step.call, bench.target
    assert call is not None
    if "block" in step.numbers:
        return Instructions(counted, unjudged="its call runs once for each row, and the number is that of one call")
    number = cost_of_route(call, target, predicted)
    ends = instructions_range(call, target, predicted) or (None if number is None else (number, number))
    if ends is None:
        known = measured_compilers(target)
        what = f"{predicted.effective or 'this call'} here" if known else f"code of {label_of(bench.compiler)}"
        return Instructions(counted, unjudged=f"no number is known of {what}")
    error = documented_error(call, target, predicted)
    return Instructions(counted, ends, error, ZERO * _zero_outputs(step), _unlike_measured(bench))


def _zero_outputs(step: Step) -> int:
    """Outputs of channels whose weights are all zero; none where two weights lie in a byte."""
    weights = next((array.values for array in step.arrays if array.name == "weights"), None)
    channels = (step.call and step.call.output_dims.c) or 0
    if weights is None or not channels or weights.size % channels:
        return 0
    by_channel = weights.reshape(-1, channels).T if step.form == "depthwise" else weights.reshape(channels, -1)
    return step.output.count // channels * int(np.count_nonzero(~by_channel.any(axis=1)))


def _unlike_measured(bench: Bench) -> str:
    """How the build differs from all that was measured, as a clause; empty where it does not."""
    (row, *_), target = measured_compilers(bench.target), bench.target
    if not _is(row, target.compiler_version):
        return f"{row.label} was measured, not {target.compiler} {target.compiler_version}"
    if not bench.compiler.assembly and target.isa is Isa.MVE:
        return "this build has C code in place of the inline assembly that was measured"
    if not bench.library.as_measured:
        return f"{bench.library.origin} is not the CMSIS-NN {target.release} that was measured"
    return ""


def _of_reference_code(step: Step, bench: Bench, counted: int) -> Instructions:
    """Code of this check, which gcc compiles."""
    name, _, version = label_of(GCC).partition(" ")
    target = bench.target._replace(compiler=name, compiler_version=version)
    width = step.output.quantization.bits // 8
    if step.form == "reference_move":
        ends = copy_range(target, cast("list[tuple[int, int]]", step.numbers["places"]))
    elif step.form in CODES:
        ends = reference_range(target, CODES[step.form], step.output.shape, width, repeats=step.form in REPEATING)
    else:
        ends = None
    if ends is None:
        return Instructions(counted, unjudged=f"no range is known of this reference code on {target.cpu}")
    why = "" if _is(GCC_12, version) else f"{GCC_12.label} was measured, not {name} {version}"
    return Instructions(counted, ends, reference_error(target), unjudged=why)


def _is(row: MeasuredCompiler, version: str) -> bool:
    """Whether a compiler of this version is the one that was measured."""
    return f"{version}.".startswith(f"{row.version}.")
