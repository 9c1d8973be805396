"""Instructions of one layer: what is predicted, what was counted, and whether the two agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from firmware_check.compilers import GCC, label_of
from onnxlint_cmsis.cmsis_nn.compilers import GCC_12, MeasuredCompiler, measured_compilers
from onnxlint_cmsis.cmsis_nn.cost_error import ZERO, DocumentedError, documented_error, reference_error
from onnxlint_cmsis.cmsis_nn.library import copy_range, cost_of_route, instructions_range, reference_range, route
from onnxlint_cmsis.ground.types import Isa, KernelCall, Target

if TYPE_CHECKING:
    from firmware_check.build import Bench
    from firmware_check.program import Step


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
COPY = "reference_move"
"""Form of reference code that copies."""
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


class LayerWork(NamedTuple):
    """What of a layer decides which instructions are predicted."""

    call: KernelCall | None
    """Its call of CMSIS-NN; None for reference code."""
    code: str = ""
    """Form of its reference code."""
    shape: tuple[int, ...] = ()
    """Output of reference code."""
    width: int = 1
    """Bytes of one element of it."""
    places: tuple[tuple[int, int], ...] = ()
    """Sizes and steps of the loops of a copy (`reference_move`)."""
    by_row: bool = False
    """Whether its call runs once for each row."""
    zero_outputs: int = 0
    """Outputs of channels whose weights are all zero."""


def work_of(step: Step) -> LayerWork:
    """What of a step decides its instructions."""
    if step.function and step.call is not None:
        return LayerWork(step.call, by_row="block" in step.numbers, zero_outputs=_zero_outputs(step))
    width = step.output.quantization.bits // 8
    places = cast("list[tuple[int, int]]", step.numbers.get("places", ())) if step.form == COPY else ()
    return LayerWork(None, step.form, step.output.shape, width, tuple((size, stride) for size, stride in places))


def instructions_of(step: Step, bench: Bench, status: int, counted: int) -> Instructions:
    """Hold what was counted in a layer against what is predicted; `status` is what its call returned."""
    work = work_of(step)
    own = label_of(GCC).partition(" ")[2]
    judged = judged_work(work, bench.target, own, status, counted)
    unlike = _unlike_measured(bench) if work.call and judged.predicted else ""
    return replace(judged, unjudged=judged.unjudged or unlike)


def judged_work(work: LayerWork, target: Target, own: str, status: int, counted: int) -> Instructions:
    """The same of a build as it was measured; `own` is the version of gcc that compiled reference code."""
    if status:
        return Instructions(counted, unjudged=f"it returned status {status}")
    return _of_call(work, work.call, target, counted) if work.call else _of_reference_code(work, target, own, counted)


def _of_call(work: LayerWork, call: KernelCall, target: Target, counted: int) -> Instructions:
    if work.by_row:
        return Instructions(counted, unjudged="its call runs once for each row, and the number is that of one call")
    taken = route(call, target)
    number = cost_of_route(call, target, taken)
    ends = instructions_range(call, target, taken) or (None if number is None else (number, number))
    if ends is None:
        known = measured_compilers(target)
        code = f"{target.compiler} {target.compiler_version}".strip()
        what = f"{taken.effective or 'this call'} here" if known else f"code of {code}"
        return Instructions(counted, unjudged=f"no number is known of {what}")
    return Instructions(counted, ends, documented_error(call, target, taken), ZERO * work.zero_outputs)


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


def _of_reference_code(work: LayerWork, build: Target, own: str, counted: int) -> Instructions:
    """Code of this check, which gcc compiles."""
    target = build._replace(compiler=GCC.name, compiler_version=own)
    if work.code == COPY:
        ends = copy_range(target, work.places)
    elif work.code in CODES:
        repeats = work.code in REPEATING
        ends = reference_range(target, CODES[work.code], work.shape, work.width, repeats=repeats)
    else:
        ends = None
    if ends is None:
        return Instructions(counted, unjudged=f"no range is known of this reference code on {target.cpu}")
    why = "" if _is(GCC_12, own) else f"{GCC_12.label} was measured, not {GCC.name} {own}"
    return Instructions(counted, ends, reference_error(target), unjudged=why)


def _is(row: MeasuredCompiler, version: str) -> bool:
    """Tell whether a compiler of this version is the one that was measured."""
    return f"{version}.".startswith(f"{row.version}.")
