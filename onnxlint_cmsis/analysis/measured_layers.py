"""What a device measured beside what is predicted: layer by layer, and what the pattern over kernels tells of a build.

The factors are those of person_detect on a Cortex-M4 in QEMU, measured by predicted instructions: a kernel with one
setting of the build against the same kernel as it is predicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log, sqrt
from statistics import median
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.profile_runs import runs_in
from onnxlint_cmsis.analysis.profile_sums import sums_in
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.images.profiles import Profile

LEAST = 10_000
"""Predicted instructions of the smallest layer whose factor counts: below, what surrounds a kernel is as much."""
OFF = 1.5
"""Factor by which a layer is told to be off those of its kernel."""
FEWEST = 3
"""Layers of a kernel from which on one can be off the others."""
SURE = 3.0
"""Factor from which on a cause is sure where the unit is instructions or cycles."""
NEAR = 0.16
"""Largest distance, as a logarithm, of factors from a cause's for the cause to be named."""
FAR = 0.3
"""Least distance of factors from those of a sound build."""

CAUSES: Mapping[str, Mapping[str, float]] = {
    "": {"1x1": 1.02, "3x3": 0.96, "depthwise": 1.02, "pool": 1.02},
    "reference code computes it, not CMSIS-NN": {"1x1": 34.0, "3x3": 10.3, "depthwise": 8.2, "pool": 6.2},
    "CMSIS-NN is not optimized (-O0)": {"1x1": 20.0, "3x3": 10.4, "depthwise": 4.1, "pool": 4.1},
    "memcpy is called for every four bytes (-fno-builtin)": {"1x1": 3.99, "3x3": 2.12, "depthwise": 1.02, "pool": 1.02},
    "CMSIS-NN does not use the DSP extension": {"1x1": 1.53, "3x3": 1.11, "depthwise": 1.02, "pool": 2.54},
}
"""Measured by predicted instructions of kernels, by what is wrong with the build; empty for a sound one."""
KERNELS = {
    "arm_convolve_1x1_s8_fast": "1x1", "arm_depthwise_conv_3x3_s8": "3x3", "arm_depthwise_conv_s8": "depthwise",
    "arm_avgpool_s8": "pool",
}  # fmt: skip
"""Kernels whose factors are known."""


class MeasuredLayer(NamedTuple):
    """A layer with what was measured."""

    report: LayerReport
    """The prediction."""
    value: float
    """The median of the runs, in the unit of the profile."""
    factor: float | None
    """Measured by predicted, over the median of that of all large layers; None where nothing is predicted."""


class MeasuredModel(NamedTuple):
    """A model with a profile."""

    profile: Profile
    """The log."""
    layers: tuple[MeasuredLayer, ...]
    """Each operator; none where the log does not match."""
    runs: int
    """Runs in the log."""
    remarks: tuple[str, ...]
    """What the numbers tell, as sentences."""


def measured_model(reports: Sequence[LayerReport], profile: Profile) -> MeasuredModel:
    """Lay a profile over the layers of a model on one target, by order and name."""
    operators = [report.op for report in reports]
    if profile.fault:
        return MeasuredModel(profile, (), 0, (profile.fault,))
    if not profile.events:
        sums = sums_in(operators, profile)
        if sums.fault:
            return MeasuredModel(profile, (), 0, (sums.fault,))
        return MeasuredModel(profile._replace(total=sums.total), (), 1, sums.remarks)
    laid = runs_in(operators, profile)
    if laid.fault:
        return MeasuredModel(profile, (), 0, (laid.fault,))
    values = [median(run[index].value for run in laid.runs) for index in range(len(reports))]
    ratios = {
        index: value / report.instructions
        for index, (value, report) in enumerate(zip(values, reports, strict=True))
        if report.instructions and report.instructions >= LEAST and value
    }
    unit = median(ratios.values()) if ratios else 0.0
    layers = tuple(
        MeasuredLayer(report, value, value / report.instructions / unit if report.instructions and unit else None)
        for report, value in zip(reports, values, strict=True)
    )
    remarks = (*laid.remarks, *_cause(reports, ratios, profile.unit), *_off(reports, ratios))
    total = sum(event.value for run in laid.runs for event in run)
    return MeasuredModel(profile._replace(total=total), layers, len(laid.runs), remarks)


def _cause(reports: Sequence[LayerReport], ratios: Mapping[int, float], unit: str) -> tuple[str, ...]:
    """What is wrong with the build, where the factors of kernels fit one cause and no sound build."""
    groups: dict[str, list[float]] = {}
    for index, ratio in ratios.items():
        kind = KERNELS.get(reports[index].kernel)
        if kind:
            groups.setdefault(kind, []).append(ratio)
    seen = {kind: log(median(values)) for kind, values in groups.items()}
    if len(seen) < 2 or not all("cortex-m4" in report.target for report in reports[:1]):
        return ()
    scaled = unit == "instructions"
    distances = {cause: _distance(seen, factors, scaled=scaled) for cause, factors in CAUSES.items()}
    best = min(distances, key=lambda cause: distances[cause])
    if not best or distances[best] > NEAR or distances[""] < FAR:
        return ()
    share = exp(sum(log(CAUSES[best][kind]) for kind in seen) / len(seen))
    sure = scaled and share >= SURE
    word = "" if sure else "Perhaps "
    text = f"{word}{best}: the kernels' factors are those of such a build."
    return (text[0].upper() + text[1:],)


def _distance(seen: Mapping[str, float], factors: Mapping[str, float], *, scaled: bool) -> float:
    """Root mean square of the differences, as logarithms; without the unit where it is not known."""
    differences = [value - log(factors[kind]) for kind, value in seen.items()]
    middle = 0.0 if scaled else sum(differences) / len(differences)
    return sqrt(sum((difference - middle) ** 2 for difference in differences) / len(differences))


def _off(reports: Sequence[LayerReport], ratios: Mapping[int, float]) -> tuple[str, ...]:
    """Layers that take more than the others of their kernel do."""
    said = []
    for index, ratio in ratios.items():
        same = [other for number, other in ratios.items() if reports[number].kernel == reports[index].kernel]
        if len(same) >= FEWEST and reports[index].kernel and ratio > OFF * median(same):
            report, times = reports[index], ratio / median(same)
            said.append(
                f"{report.node} takes {times:.1f} times what the other layers of {report.kernel} take: look where its "
                "weights and activations lie."
            )
    return tuple(said)
