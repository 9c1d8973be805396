"""Predicted against observed in one layer: which kernel ran, what it returned, what differs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import numpy as np

from firmware_check.instructions import DISAGREES, instructions_of
from firmware_check.other_plans import defects_of_plan, unseen_of_plan
from firmware_check.predicted_hazards import Trouble, known_defects, unseen
from firmware_check.verdict import ComparedOutputs, Differences, Disagreement, LayerVerdict
from onnxlint_cmsis.checks.rules import scale_out_of_range
from onnxlint_cmsis.checks.rules.scale_out_of_range import REGISTER
from onnxlint_cmsis.cmsis_nn.compiler_defects import SCALAR_SOFTMAX
from onnxlint_cmsis.cmsis_nn.library import Route, route
from onnxlint_cmsis.ground.types import Function, Isa, Target
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.host.onnx_runtime import TOLERANCE, softmax_wide_steps

if TYPE_CHECKING:
    from firmware_check.build import Bench
    from firmware_check.layer_trace import Observed
    from firmware_check.program import Step
    from firmware_check.run import LayerReport
    from onnxlint_cmsis.runtimes.executorch.plan import Plan


ARGUMENT_ERROR = -1
"""ARM_CMSIS_NN_ARG_ERROR, which a kernel returns where it has no buffer."""
SHARE = 0.05
"""Part of a layer's outputs that may differ by one unit: rounding where multipliers of 31 bits and floats disagree."""
SHARES = {
    "avgpool": 0.3, "softmax": 1.0, "add": 0.3, "mul": 0.3, "requantize": 0.3, "lookup": 1.0, "pad": 0.0,
    "transpose_conv": 0.3,
}  # fmt: skip
"""Part of the outputs that may differ by one unit where a layer rounds halves in another direction than ONNX, or
approximates.

A constant of half a step makes every sum of a lookup a half. Where the strides of a transposed convolution exceed its
window, outputs are its bias alone, which is rounded alike in a whole channel."""
CURVE_ERROR = 2.0**-23
"""Absolute error of ONNX Runtime's curves, which are polynomials in float32; more than a step of the least scales."""
_FEW = 4
"""Outputs that may differ however few there are."""
_SCALAR_SOFTMAX = "arm_nn_softmax_common_s8"
_UNEVEN = "the traced and the untraced build give different outputs"


def judge(
    step: Step,
    bench: Bench,
    observed: Observed,
    reports: tuple[LayerReport, LayerReport],
    outputs: ComparedOutputs,
) -> LayerVerdict:
    """Put prediction and observation of one layer side by side; `reports` are the traced and the untraced build's."""
    traced, plain = reports
    target = bench.target
    predicted = route(step.call, target) if step.call is not None and step.function else None
    plan = step.plan.outcome(target) if step.plan is not None else None
    wrong, damage = _values(outputs.runtime, step), damage_of(traced, plain)
    if step.output.quantization.floating:
        wrong += _values(outputs.arithmetic, step)
    differing = (_UNEVEN,) if outputs.uneven else ()
    trouble = Trouble(traced.status, tuple(wrong), tuple(damage), differing)
    defects = [
        Disagreement(*defect) for defect in (*known_defects(predicted, trouble), *defects_of_plan(plan, trouble))
    ]
    unlike = [] if step.output.quantization.floating else _unlike(outputs.arithmetic, step)
    if (wrong or unlike) and (lost := bits_lost(step, target)):
        said = f"{'; '.join((*wrong, *unlike))}; as predicted: {lost}"
        defects.append(Disagreement(scale_out_of_range.RULE.code, said))
        unlike = []
    texts = [("FWC001", text) for text in _dispatch(step, predicted, observed, traced, plan)]
    texts += [] if defects else [("FWC002", text) for text in wrong] + [("FWC003", text) for text in damage]
    texts += [("FWC002", text) for text in unlike]
    texts += [("FWC003", text) for text in _elsewhere(plan, traced, plain)]
    absent = [*unseen(predicted, trouble, target, bench.compiler.assembly), *unseen_of_plan(plan, trouble)]
    texts += [] if defects else [("FWC001", text) for text in differing]
    if plain.status != traced.status:
        texts.append(("FWC001", f"status {traced.status} in the traced build, {plain.status} in the untraced one"))
    texts += [("FWC001", text) for text in absent]
    instructions = instructions_of(step, bench, traced.status, plain.instructions)
    if instructions.verdict == DISAGREES:
        texts.append(("FWC004", instructions.disagreement))
    return LayerVerdict(
        step.label, step.output.tensor, step.op_type, step.function, step.reason, predicted, observed,
        traced.status, traced.scratch, instructions, outputs.runtime,
        tuple(Disagreement(*disagreement) for disagreement in texts), tuple(defects),
        (*_remarks(step, bench, predicted, observed), *outputs.remarks), outputs.arithmetic, traced.written,
    )  # fmt: skip


def bits_lost(step: Step, target: Target) -> str:
    """Which zero-point of a sum or product loses bits in code for DSP instructions, as a clause; empty for none."""
    if target.isa is not Isa.DSP or step.call is None or step.call.function not in (Function.ADD, Function.MUL):
        return ""
    zeros = (value.quantization.zero_point for value in step.inputs)
    wide = next((zero for zero in zeros if not -REGISTER <= zero < REGISTER), None)
    return "" if wide is None else f"its zero-point is {wide:,}, and kernels with DSP instructions keep 16 bits of it"


def _remarks(step: Step, bench: Bench, predicted: Route | None, observed: Observed) -> tuple[str, ...]:
    """Code that is left out of the build for a compiler, or C code that it is given instead."""
    ran, said = {call.name for call in observed.tree}, []
    if step.function in SCALAR_SOFTMAX.functions and SCALAR_SOFTMAX.hits(bench.target) and _SCALAR_SOFTMAX in ran:
        said.append(f"{_SCALAR_SOFTMAX} ran: {SCALAR_SOFTMAX.what}")
    if predicted is not None and not bench.compiler.assembly:
        left = [hazard.id for hazard in predicted.hazards if hazard.assembly]
        said += [f"{name} cannot occur: inline assembly alone has it, which this build leaves out" for name in left]
    return tuple(said)


def _allowed(step: Step) -> int:
    if step.plan is not None:
        return 0
    if step.function == "arm_softmax_s16":
        return softmax_wide_steps(cast(int, step.numbers["row"]))
    curve = int(CURVE_ERROR / step.output.quantization.scale) if step.form == "reference_lookup" else 0
    return TOLERANCE[step.output.quantization.bits] + curve


def _values(differences: Differences | None, step: Step) -> list[str]:
    if differences is None:
        return []
    if differences.strain is not None:
        if differences.strain <= 1:
            return []
        return [
            f"outputs differ from {differences.runtime}'s by up to {differences.largest:.2g}, "
            f"{differences.strain:.3g} times what rounding allows"
        ]
    allowed, share = _allowed(step), _share(step)
    differing = (
        f"{differences.count:,} of {differences.total:,} outputs differ from {differences.runtime}'s, by up to "
        f"{differences.largest}"
    )
    if differences.largest > allowed:
        return [f"{differing} (allowed: {allowed})"]
    if differences.count > share * differences.total + _FEW:
        return [f"{differing} (allowed: {share:.0%} of them)"]
    return []


def _unlike(differences: Differences | None, step: Step) -> list[str]:
    if differences is None or not differences.count:
        return []
    text = (
        f"{differences.count} of {differences.total} outputs differ from {step.function}'s arithmetic in plain integers"
    )
    return [f"{text}, by up to {differences.largest}"]


def _share(step: Step) -> float:
    """Part of a layer's outputs that may differ by what is allowed for one."""
    if step.output.quantization.bits == 16:
        return 1.0
    return SHARES.get(step.form.removeprefix("reference_"), SHARE) + _rounded_twice(step)


def _rounded_twice(step: Step) -> float:
    """Part of a layer's outputs that two roundings bring to the other side of a half.

    The high half of the doubled product is rounded, and its right shift by n bits again (arm_nn_requantize): where the
    first leaves exactly a half, 1 in 2^n, it has rounded up every second time.
    """
    shifts = next((array.values for array in step.arrays if array.name == "shifts"), None)
    if shifts is None:
        return 0.0
    bits = -np.minimum(shifts, 0).astype(np.float64)
    return float(np.where(bits, 2.0 ** -(bits + 1), 0).mean())


def dispatch_of(step: Step, target: Target, observed: Observed, report: LayerReport) -> list[str]:
    """What of a call's kernels, status and scratch is not as predicted."""
    predicted = route(step.call, target) if step.call is not None and step.function else None
    return _dispatch(step, predicted, observed, report)


def _dispatch(
    step: Step, predicted: Route | None, observed: Observed, report: LayerReport, plan: Plan | None = None
) -> list[str]:
    if predicted is None:
        return [f"it returned status {report.status}"] if report.status else []
    disagreements = []
    chain = predicted.chain or ((predicted.kernel,) if predicted.kernel else ())
    if not _same_chain(chain, observed.chain):
        disagreements.append(f"predicted kernels {_arrows(chain)}, observed {_arrows(observed.chain)}")
    elif plan is not None and plan.verdict is Outcome.REFUSED:  # it returns before it gets further
        return disagreements if report.status == ARGUMENT_ERROR else [f"it returned status {report.status}"]
    elif predicted.effective and not _same_chain((predicted.effective,), (observed.effective,)):
        disagreements.append(f"predicted to do the work: {predicted.effective}, observed: {observed.effective}")
    if predicted.status is not None and predicted.status != report.status:
        disagreements.append(f"predicted status {predicted.status}, returned {report.status}")
    if step.plan is not None and step.plan.scratch is not None:  # no size function is asked
        return disagreements
    overruns = any(hazard.kind == "overrun" for hazard in predicted.hazards)
    if step.output.quantization.floating and not overruns and report.written > max(predicted.used or 0, 0):
        text = f"predicted to write {predicted.used or 0:,} bytes of scratch at most, {report.written:,} were written"
        disagreements.append(text)
    sizes = (predicted.buffer_size, predicted.reverse_buffer_size)
    for size, answered in zip(sizes, report.scratch, strict=True):
        if size is not None and size >= 0 and size != answered:
            disagreements.append(f"predicted {size:,} bytes of scratch, the size function answers {answered:,}")
    return disagreements


def _same_chain(predicted: tuple[str, ...], observed: tuple[str, ...]) -> bool:
    """Tell whether kernels are the same; the tables write `arm_concatenation_s8_[wxyz]` for one of four."""
    return len(predicted) == len(observed) and all(
        re.fullmatch(pattern, name) for pattern, name in zip(predicted, observed, strict=True)
    )


def _elsewhere(plan: Plan | None, traced: LayerReport, plain: LayerReport) -> list[str]:
    """What a plan says of memory that is overwritten, and was not seen to the byte."""
    if plan is None:
        return []
    texts, reach, low = [], max(traced.reach, plain.reach), low_of(traced, plain)
    if plan.behind and reach != plan.behind:
        texts.append(f"predicted {plan.behind:,} bytes overwritten behind its scratch, observed {reach:,}")
    if plan.low[1] > plan.low[0] and (low[1] != plan.low[1] or not plan.low[0] <= low[0] <= max(plan.low[0], VECTORS)):
        texts.append(
            f"predicted that addresses from {plan.low[0]:,} to before {plan.low[1]:,} are written, observed: {low}"
        )
    return texts


VECTORS = 64
"""Bytes of the vectors; behind them each build has other bytes, so that the first one that changed is known."""


def low_of(traced: LayerReport, plain: LayerReport) -> tuple[int, int]:
    """First address at the start of the flash that changed in one of the builds, and one behind the last."""
    changed = [report.low for report in (traced, plain) if report.low[1]]
    return (min(low[0] for low in changed), max(low[1] for low in changed)) if changed else (0, 0)


def damage_of(traced: LayerReport, plain: LayerReport) -> list[str]:
    """What is said of the guards around scratch and output, and of the start of the flash."""
    damage, reach, low = [], max(traced.reach, plain.reach), low_of(traced, plain)
    for what, count in (("scratch", traced.scratch_damage), ("its output", traced.output_damage)):
        if count:
            far = f", the last one {reach:,} behind its end" if what == "scratch" and reach else ""
            damage.append(f"{count:,} guard bytes around {what} were overwritten{far}")
    if low[1]:
        damage.append(f"bytes {low[0]:,} to {low[1] - 1:,} of the flash were overwritten")
    if plain.scratch_damage and not traced.scratch_damage:
        damage.append(f"{plain.scratch_damage:,} guard bytes around scratch were overwritten in the untraced build")
    return damage


def _arrows(chain: tuple[str, ...]) -> str:
    return " -> ".join(chain) or "none"
