"""Q-formats in the rows of `onnxlint-cmsis layers --api legacy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.q_formats.layer_formats import ModelFormats

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.q_formats.activation_ranges import Measured

    Row = dict[str, object]


def with_formats(rows: list[Row], model: ModelAnalysis, calibration: str) -> list[Row]:
    """The rows with `q_format`, null for a node that is no call.

    Raises:
        CalibrationError: the calibration file cannot be read, does not fit, or the model does not run.

    """
    measured: Measured = {}
    if calibration:
        from onnxlint_cmsis.proof.tensor_ranges import tensor_ranges

        measured = tensor_ranges(model.data, model.settings.input_shapes, calibration)
    formats = ModelFormats(model.graph, model.lowered, model.read, measured).all()
    labels = {record.node.label: formats.get(record.node.index) for record in model.lowered.records}
    found = {label: each._asdict() if each else None for label, each in labels.items()}
    return [{**row, "q_format": found[str(row["node"])]} for row in rows]
