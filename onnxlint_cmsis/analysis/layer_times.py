"""The work of a model's layers, as far as their costs are known, and the time that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.lower.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.ground.types import Target
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.timing.device import Device
    from onnxlint_cmsis.timing.predicted_time import PredictedTime
    from onnxlint_cmsis.timing.work import LayerWork


def model_time(
    model: ModelAnalysis,
    target: Target,
    kernels: Sequence[LoweredLayer],
    reference: Sequence[LoweredLayer],
    unknown: int,
) -> PredictedTime | None:
    """The time of layers that CMSIS-NN computes and of those that reference code does; None without a clock."""
    device = device_of(model, target)
    if device is None:
        return None
    from onnxlint_cmsis.timing.predicted_time import predicted_time

    works = [
        *(layer_work(model, record, target, Outcome.CMSIS_NN) for record in kernels),
        *(layer_work(model, record, target, Outcome.REFERENCE) for record in reference),
        *_copies(model, target),
    ]
    known = [work for work in works if work is not None]
    return predicted_time(device, known, unknown)


def device_of(model: ModelAnalysis, target: Target) -> Device | None:
    """Where the model runs; None without a clock."""
    settings = model.settings
    clock = dict(zip(settings.targets, settings.clocks, strict=False)).get(target)
    if clock is None:
        return None
    from onnxlint_cmsis.timing.device import Device
    from onnxlint_cmsis.timing.memories import UNKNOWN

    memory = dict(zip(settings.targets, settings.memories, strict=False)).get(target, (UNKNOWN, UNKNOWN))
    return Device(target.cpu, clock, *memory, settings.runtime.name, settings.calibration)


def layer_work(model: ModelAnalysis, record: LoweredLayer, target: Target, verdict: Outcome) -> LayerWork | None:
    """What a layer with this verdict does in a run; None where its cost is not known."""
    from onnxlint_cmsis.timing.cores import OTHER, core_of, kind_of
    from onnxlint_cmsis.timing.fetches import Fetches, fetches
    from onnxlint_cmsis.timing.work import LayerWork

    ends, core = model.cost(record, target, verdict).ends, core_of(target.cpu)
    if ends is None:
        return None
    call = record.layer.call if record.layer else None
    if call is None or core is None or verdict is not Outcome.CMSIS_NN:
        return LayerWork(OTHER, *ends)
    turns = model.turns(record.node) or 1
    weights, activations = fetches(call, core)
    kernel = model.route(call, target).effective
    return LayerWork(kind_of(kernel), *ends, Fetches(turns * weights, turns * activations))


def _copies(model: ModelAnalysis, target: Target) -> Iterator[LayerWork]:
    from onnxlint_cmsis.timing.cores import OTHER
    from onnxlint_cmsis.timing.work import LayerWork

    for copy in model.copies:
        ends = model.copy_range(copy, target)
        if ends:
            yield LayerWork(OTHER, *ends)
