"""Predicted against observed, layer by layer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from firmware_check import softmax_s16
from onnxlint_cmsis.cmsis_nn.cost import cost_of_route
from onnxlint_cmsis.cmsis_nn.route import route

if TYPE_CHECKING:
    from firmware_check.observe import Observed
    from firmware_check.program import Step
    from firmware_check.run import LayerReport
    from onnxlint_cmsis.cmsis_nn.route import Route
    from onnxlint_cmsis.types import Target

RULES = {
    "FWC001": "dispatch-not-as-predicted",
    "FWC002": "output-not-as-onnx-runtime",
    "FWC003": "memory-overrun",
    "FWC004": "instructions-not-as-predicted",
    "FWC005": "output-changed",
    "FWC006": "not-better",
}
"""Code of each kind of disagreement to its name."""

COST_TOLERANCE = 0.1, 200
"""Share, and instructions, by which a measurement may miss the prediction. Requantization branches on its values, so
that channels whose weights are all zero take up to a tenth less."""

MEASURED_CPUS = ("cortex-m3", "cortex-m4", "cortex-m55")
"""CPUs that the cost model was measured on, one of each instruction set."""
DATA_DEPENDENT = ("arm_softmax_s8",)
"""Functions whose instructions depend on the data, so that no count is wrong: softmax leaves out what lies further
below the largest of its row than diff_min (4.0.0 and later, arm_nn_softmax_common_s8.c and arm_softmax_s8.c)."""

TOLERANCE = {8: 1, 16: 2}
"""Bits of an output to its largest difference from ONNX Runtime's that counts as right: one unit of rounding. For int16
CMSIS-NN, as TensorFlow Lite, takes multipliers of 16 bits, which are off by up to one unit in 2^15; its int16 softmax
has another bound."""


@dataclass(frozen=True)
class Disagreement:
    """One thing that is not as predicted or not right."""

    code: str
    """One of RULES."""
    text: str
    """Found and expected value."""


@dataclass(frozen=True)
class Differences:
    """A layer's output against that of the host for the same inputs."""

    count: int
    """Elements that differ."""
    largest: int
    """Largest difference, in units of the output's scale."""
    total: int
    """Elements compared."""
    runtime: str = "ONNX Runtime"
    """What made the values that they are held against."""


@dataclass(frozen=True)
class LayerVerdict:
    """One layer: the prediction, the run, and whether they agree."""

    label: str
    """ONNX node."""
    tensor: str
    """ONNX tensor that it makes."""
    op_type: str
    """Operator."""
    function: str
    """C function of CMSIS-NN called; empty for plain C."""
    reason: str
    """Why plain C computes it, else empty."""
    predicted: Route | None
    """onnxlint_cmsis's prediction; None where no CMSIS-NN call is made."""
    observed: Observed
    """What ran, from the traced build."""
    status: int
    """Status the call returned."""
    scratch: tuple[int, int]
    """Bytes that the size functions answered."""
    instructions: int
    """Instructions in the untraced build, not cycles."""
    differences: Differences | None
    """Against ONNX Runtime; None where it does not run the layer."""
    predicted_instructions: int | None
    """onnxlint_cmsis's prediction; None where its cost model has none."""
    disagreements: tuple[Disagreement, ...]
    """Everything that is not as predicted or not right."""


def compare(ours: np.ndarray, expected: np.ndarray, runtime: str = "ONNX Runtime") -> Differences:
    """Count the elements that differ."""
    gap = np.abs(ours.astype(np.int64) - expected.astype(np.int64))
    return Differences(int(np.count_nonzero(gap)), int(gap.max(initial=0)), gap.size, runtime)


def judge(
    step: Step,
    target: Target,
    observed: Observed,
    reports: tuple[LayerReport, LayerReport],
    differences: Differences | None,
) -> LayerVerdict:
    """Put prediction and observation of one layer side by side; `reports` are the traced and the untraced build's.

    Instructions are judged only on the CPUs whose code was measured for the cost model.
    """
    traced, plain = reports
    predicted = route(step.call, target) if step.call is not None and step.function else None
    instructions = None
    if step.call is not None and predicted is not None and target.cpu in MEASURED_CPUS:
        instructions = cost_of_route(step.call, target, predicted)
    texts = [("FWC001", text) for text in _dispatch(predicted, observed, traced)]
    texts += [("FWC002", text) for text in _values(predicted, differences, _allowed(step))]
    texts += [("FWC003", text) for text in _memory(traced, plain)]
    texts += [("FWC001", text) for text in _builds(traced, plain)]
    if step.function not in DATA_DEPENDENT:
        texts += [("FWC004", text) for text in _cost(instructions, plain.instructions)]
    return LayerVerdict(
        step.label, step.output.tensor, step.op_type, step.function, step.reason, predicted, observed,
        traced.status, traced.scratch, plain.instructions, differences, instructions,
        tuple(Disagreement(*each) for each in texts),
    )  # fmt: skip


def _allowed(step: Step) -> int:
    if step.function == "arm_softmax_s16":
        return softmax_s16.allowed_difference(cast(int, step.numbers["row"]))
    return TOLERANCE[step.output.quantization.bits]


def _values(predicted: Route | None, differences: Differences | None, allowed: int) -> list[str]:
    if differences is None or differences.largest <= allowed:
        return []
    known = [hazard.id for hazard in predicted.hazards] if predicted else []
    why = f"; a known defect of this release: {', '.join(known)}" if known else ""
    number = f"{differences.count} of {differences.total} outputs differ"
    found = f"{number} from {differences.runtime}'s, by up to {differences.largest}"
    return [f"{found} (allowed: {allowed}){why}"]


def _cost(predicted: int | None, measured: int) -> list[str]:
    if predicted is None or abs(measured - predicted) <= max(COST_TOLERANCE[0] * predicted, COST_TOLERANCE[1]):
        return []
    return [f"predicted {predicted} instructions, measured {measured}"]


def _dispatch(predicted: Route | None, observed: Observed, report: LayerReport) -> list[str]:
    if predicted is None:
        return [f"it returned status {report.status}"] if report.status else []
    found = []
    chain = predicted.chain or ((predicted.kernel,) if predicted.kernel else ())
    if not _same_chain(chain, observed.chain):
        found.append(f"predicted kernels {_arrows(chain)}, observed {_arrows(observed.chain)}")
    elif predicted.effective and not _same_chain((predicted.effective,), (observed.effective,)):
        found.append(f"predicted to do the work: {predicted.effective}, observed: {observed.effective}")
    if predicted.status is not None and predicted.status != report.status:
        found.append(f"predicted status {predicted.status}, returned {report.status}")
    sizes = (predicted.buffer_size, predicted.reverse_buffer_size)
    for size, answered in zip(sizes, report.scratch, strict=True):
        if size is not None and size >= 0 and size != answered:
            found.append(f"predicted {size} bytes of scratch, the size function answers {answered}")
    return found


def _same_chain(predicted: tuple[str, ...], observed: tuple[str, ...]) -> bool:
    """Whether kernels are the same; the tables write `arm_concatenation_s8_[wxyz]` for one of four."""
    return len(predicted) == len(observed) and all(
        re.fullmatch(pattern, name) for pattern, name in zip(predicted, observed, strict=True)
    )


def _memory(traced: LayerReport, plain: LayerReport) -> list[str]:
    found = []
    for what, count in (("scratch", traced.scratch_damage), ("its output", traced.output_damage)):
        if count:
            found.append(f"{count} guard bytes around {what} were overwritten")
    if plain.scratch_damage and not traced.scratch_damage:
        found.append(f"{plain.scratch_damage} guard bytes around scratch were overwritten in the untraced build")
    return found


def _builds(traced: LayerReport, plain: LayerReport) -> list[str]:
    """The builds with and without trace have to do the same."""
    same = plain.status == traced.status
    return [] if same else [f"status {traced.status} in the traced build, {plain.status} in the untraced one"]


def _arrows(chain: tuple[str, ...]) -> str:
    return " -> ".join(chain) or "none"
