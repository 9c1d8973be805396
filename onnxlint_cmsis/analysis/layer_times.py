"""The work of a model's layers, as far as their costs are known, and the time that each and all of them take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.operators.answers import CONVERTED
from onnxlint_cmsis.operators.shaping import TRANSPOSE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.ground.types import Target
    from onnxlint_cmsis.lower.layout_copies import LayoutCopy
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.timing.device import Device
    from onnxlint_cmsis.timing.predicted_time import PredictedTime
    from onnxlint_cmsis.timing.work import LayerWork


class Times(NamedTuple):
    """The time of a model and of each of its layers on one target."""

    model: PredictedTime | None = None
    """All layers of known cost, the copies between them, and what the runtime does once; None without a clock."""
    layers: tuple[tuple[str, PredictedTime], ...] = ()
    """Labels of the nodes that have a time, each with it."""


def model_times(
    model: ModelAnalysis,
    target: Target,
    kernels: Sequence[LoweredLayer],
    reference: Sequence[LoweredLayer],
    unknown: int,
) -> Times:
    """The times of layers that CMSIS-NN computes and of those that reference code does; nothing without a clock."""
    device = device_of(model, target)
    if device is None:
        return Times()
    from onnxlint_cmsis.timing.predicted_time import NO_COST, layer_time, predicted_time

    works = [
        *((record.node, layer_work(model, record, target, Outcome.CMSIS_NN)) for record in kernels),
        *((record.node, layer_work(model, record, target, Outcome.REFERENCE)) for record in reference),
    ]
    works.sort(key=lambda pair: pair[0].index)
    known = [(node.label, work) for node, work in works if work is not None]
    floats = sum(
        unmeasured(record) and model.cost(record, target, Outcome.CMSIS_NN).ends is not None for record in kernels
    )
    copies = [work for copy in model.copies if (work := copy_work(model, copy, target))]
    time = predicted_time(device, [*(work for _, work in known), *copies], unknown + floats)
    if floats and not known and time.reason == NO_COST:
        time = time._replace(reason=NO_FLOATS)
    layers = () if time.reason else tuple((label, layer_time(device, work)) for label, work in known)
    return Times(time, layers)


NO_FLOATS = "no public measurement of CMSIS-NN's float kernels"


def unmeasured(record: LoweredLayer) -> bool:
    """Tell whether CMSIS-NN computes the layer in float: no source has cycles of such a kernel."""
    return record.call is not None and record.call.floating is not None


def time_of_layer(model: ModelAnalysis, record: LoweredLayer, target: Target, verdict: Outcome) -> PredictedTime | None:
    """The time of a layer with this verdict; None without a clock, without a known cost, and in later runs."""
    if record.node.index in model.graph.once:
        return None
    return _time(model, target, lambda: layer_work(model, record, target, verdict))


def time_of_copy(model: ModelAnalysis, copy: LayoutCopy, target: Target) -> PredictedTime | None:
    """The time of a copy between memory orders; None without a clock or a known cost."""
    return _time(model, target, lambda: copy_work(model, copy, target))


def _time(model: ModelAnalysis, target: Target, work: Callable[[], LayerWork | None]) -> PredictedTime | None:
    device = device_of(model, target)
    done = work() if device else None
    if device is None or done is None:
        return None
    from onnxlint_cmsis.timing.predicted_time import layer_time

    time = layer_time(device, done)
    return None if time.reason else time


def device_of(model: ModelAnalysis, target: Target) -> Device | None:
    """Where the model runs; None without a clock."""
    settings = model.settings
    clock = dict(zip(settings.targets, settings.clocks, strict=False)).get(target)
    if clock is None:
        return None
    from onnxlint_cmsis.timing.device import Device
    from onnxlint_cmsis.timing.memories import UNKNOWN

    memory = dict(zip(settings.targets, settings.memories, strict=False)).get(target, (UNKNOWN, UNKNOWN))
    code_cache = dict(zip(settings.targets, settings.code_caches, strict=False)).get(target)
    return Device(target.cpu, clock, *memory, settings.runtime.name, settings.calibration, code_cache)


def layer_work(model: ModelAnalysis, record: LoweredLayer, target: Target, verdict: Outcome) -> LayerWork | None:
    """What a layer with this verdict does in a run; None where its cost is not known, or its kernel not measured."""
    from onnxlint_cmsis.timing.cores import OTHER, core_of, kind_of
    from onnxlint_cmsis.timing.fetches import Fetches, fetches
    from onnxlint_cmsis.timing.work import LayerWork

    ends, core = model.cost(record, target, verdict).ends, core_of(target.cpu)
    if ends is None or (verdict is Outcome.CMSIS_NN and unmeasured(record)):
        return None
    operator = operator_of(record.node)
    converts = operator.elements in CONVERTED or operator is TRANSPOSE
    call = record.layer.call if record.layer else None
    if call is None or core is None or verdict is not Outcome.CMSIS_NN:
        return LayerWork(OTHER, *ends, part="conversions" if converts else "reference")
    turns = model.turns(record.node) or 1
    kernel = model.route(call, target).effective
    once = fetches(call, core, kernel)
    lines = Fetches(*(turns * count for count in once))
    return LayerWork(kind_of(kernel), *ends, lines, "conversions" if converts else "kernels")


def copy_work(model: ModelAnalysis, copy: LayoutCopy, target: Target) -> LayerWork | None:
    """What a copy between memory orders does in a run; None where its cost is not known."""
    from onnxlint_cmsis.timing.cores import OTHER
    from onnxlint_cmsis.timing.work import LayerWork

    ends = model.copy_range(copy, target)
    return LayerWork(OTHER, *ends, part="conversions") if ends else None
