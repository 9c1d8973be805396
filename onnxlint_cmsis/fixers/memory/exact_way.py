"""What a model that does not fit takes with channel tiles and a memory plan, before either is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.memory_needs import DeviceFit, ExactWay
from onnxlint_cmsis.fixers.memory.channel_tiles import tiled
from onnxlint_cmsis.fixers.memory.fitting import Search
from onnxlint_cmsis.fixers.memory.newly_met import newly_met
from onnxlint_cmsis.fixers.memory.tiled_model import tiles_text
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.model.model_error import ModelError
from onnxlint_cmsis.runtimes.tflm.interpretation import Interpretation
from onnxlint_cmsis.runtimes.tflm.resolver import resolver_of

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.memory.fitting import Fit
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
    from onnxlint_cmsis.ground.types import Target


def with_exact_way(model: ModelAnalysis, fit: DeviceFit) -> DeviceFit:
    """A comparison with a device, with what the model takes at least; as it was where the model fits."""
    interpretation = model.execution
    if fit.ram is None or fit.ram.fits or not isinstance(interpretation, Interpretation):
        return fit
    target = next(target for target in model.settings.targets if target.label == fit.ram.target)
    way = _way(model, interpretation, target, fit.ram.room.ram or 0)
    return fit._replace(ram=fit.ram._replace(exact=way)) if way and way.bytes < fit.ram.bytes else fit


def _way(model: ModelAnalysis, interpretation: Interpretation, target: Target, room: int) -> ExactWay | None:
    """The least that was found; without tiles where these would meet a hazard."""
    search = Search(interpretation.file, lambda draft: interpretation.arenas_of(draft, (target,)), (room,))
    least = search.best()
    if least.tiles and _trouble(model, least):
        least = search.fit({})
    if not least.sizes:
        return None
    more = [method for method in _methods(least.draft.model) if method not in _methods(interpretation.file)]
    return ExactWay(least.sizes[0], tiles_text(least, interpretation.file), tuple(f"{method}()" for method in more))


def _trouble(model: ModelAnalysis, least: Fit) -> str:
    """Why the tiles may not be written, as a clause; empty where they may."""
    try:
        data = tiled(model.path, model.data, least.tiles)
        return newly_met(model, ModelAnalysis(model.path, model.settings, data))
    except (NotAppliedError, ModelError) as reason:
        return str(reason)


def _methods(model: TfliteModel) -> list[str]:
    operators = ((operator.op, operator.custom_code) for _, _, operator in model.operators())
    return [registration.method for registration in resolver_of(operators, whole=True).operators]
