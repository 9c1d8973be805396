"""What `onnxlint-cmsis layers` shows: every layer of a model with the kernel that runs it, on every target."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from onnxlint_cmsis.formats.suffixes import is_tflite_path
from onnxlint_cmsis.layer_rows import Row, layer_rows, operator_row
from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.cmsis_nn.cost.predicted_time import PredictedTime
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.tflite_analysis import TfliteAnalysis


class Total(NamedTuple):
    """What the layers of a model are and need together on one target."""

    target: str
    """Label of the target."""
    measured_on: str
    """CPU that the instructions were measured on, and the release where it is another than the target's."""
    instructions: int
    """Predicted instructions (not cycles) of the layers whose cost is one number."""
    layers: int
    """How many layers have a number or a range."""
    unknown_layers: int
    """How many the sum leaves out."""
    macs: int
    """Multiply-accumulates of all layers, as far as these are known."""
    constants: int
    """Bytes of weights, biases, multipliers and shifts; of a `.tflite` file those of the constants in it."""
    scratch: int
    """Bytes of the largest scratch buffer."""
    arena: int | None
    """Bytes of activations, at least; None where a size is unknown, and where `arena_used` says it exactly."""
    arena_used: int | None = None
    """Bytes of the arena of TensorFlow Lite Micro, to the byte; None for an ONNX model."""
    time: PredictedTime | None = None
    """What a run takes at the target's clock; None where no clock is given."""
    instructions_range: tuple[int, int] | None = None
    """Least and most instructions, those of layers and copies with a range among them; None where none has a range."""
    copies: int = 0
    """Copies between memory orders, for which no node stands."""

    @property
    def cost_known(self) -> bool:
        """Whether the cost of a layer is known, or there is no layer."""
        return bool(self.layers) or not self.unknown_layers


class LayersReport(NamedTuple):
    """The layers of a model on every target."""

    rows: list[Row]
    """One row per layer and target, in file order, layers without a kernel too."""
    totals: list[Total]
    """The sums of each target."""
    names: Mapping[str, str]
    """Short forms of the layers' names, for people."""
    notes: tuple[str, ...] = ()
    """Which runtime and library the model is judged for; empty where the application calls the functions."""


def layers_report(
    path: str,
    settings: Settings,
    data: bytes | None = None,
    model: ModelAnalysis | None = None,
    calibration: str = "",
) -> LayersReport:
    """What `layers` shows of a file, or of `data` in its place; `model` is its analysis.

    `calibration` is a file of inputs that give the Q-formats of the legacy API. Raises ModelError, CalibrationError.
    """
    from onnxlint_cmsis.open_model import open_model

    model = model or open_model(path, settings.analysis, data)
    from onnxlint_cmsis.coverage.naming import layer_names

    names = layer_names(model).names
    if is_tflite_path(path):
        return _operators_report(cast("TfliteAnalysis", model), names)
    from onnxlint_cmsis.layer_rows import copy_rows
    from onnxlint_cmsis.runtimes.runtime import runtime_notes

    places = [(copy.node.index, copy_rows(model, copy, settings.targets)) for copy in model.copies]
    places += [(record.node.index, layer_rows(model, record, settings.targets)) for record in model.lowered.records]
    rows = [row for _, rows in sorted(places, key=lambda place: place[0]) for row in rows]
    if settings.api == "legacy":
        from onnxlint_cmsis.layer_formats_rows import with_formats

        rows = with_formats(rows, model, calibration)
    notes = runtime_notes(settings.runtime, converted=True)
    return LayersReport(rows, _totals(model) if rows else [], names, notes)


def _operators_report(model: TfliteAnalysis, names: Mapping[str, str]) -> LayersReport:
    """The operators of a `.tflite` file, with what they compute and cost."""
    from onnxlint_cmsis.runtimes.runtime import runtime_notes
    from onnxlint_cmsis.tflite_files.operator_rows import operator_rows

    records = {record.node.index: record for record in model.lowered.records}
    rows = []
    for found in operator_rows(model):
        record = records.get(found.node.index) if found.node else None
        rows.append({**found.row, **operator_row(model, record, found.target)})
    notes = (*runtime_notes(model.settings.runtime), *model.remarks_on_build)
    return LayersReport(rows, _totals(model) if rows else [], names, notes)


def layers_table(path: str, settings: Settings, data: bytes | None = None) -> list[Row]:
    """The rows alone. Raises ModelError."""
    return layers_report(path, settings, data).rows


def _totals(model: ModelAnalysis) -> list[Total]:
    """The sums of each target, as the summary of linting has them."""
    from onnxlint_cmsis.coverage.summarize import summarize

    summary, every = summarize(model), len(model.repeated)
    return [
        Total(
            target.target,
            target.measured_on,
            target.instructions,
            every - target.unknown_cost,
            target.unknown_cost,
            summary.macs,
            target.constants,
            target.scratch,
            summary.arena,
            target.arena_used,
            target.time,
            target.instructions_range,
            len(model.copies),
        )
        for target in summary.targets
    ]
