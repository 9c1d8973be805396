"""Ranges of activations: measured with a user's inputs, or stated by the scales of a quantized model."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.analysis.fraction_bits import RealRange
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.lower.find_quantization import of_integers, of_result
from onnxlint_cmsis.lower.quantization import INTEGERS, AffineQuantization
from onnxlint_cmsis.lower.stored_types import STORED, quantizes
from onnxlint_cmsis.model.graph import Graph

Measured = Mapping[str, RealRange]
"""Range of a tensor by its name."""


def range_of(graph: Graph, tensor: str, measured: Measured) -> RealRange | None:
    """Range of an activation: measured, else from its scale; None for neither."""
    if tensor in measured:
        return measured[tensor]
    producer = graph.producers.get(tensor)
    if graph.elem_type(tensor) in STORED:
        return _stated(of_integers(graph, tensor))
    carried = of_result(graph, producer) if producer is not None and operator_of(producer).roles.quantized else None
    reader = next((node for node in graph.consumers.get(tensor, ()) if quantizes(node)), None)
    return _stated(carried or (of_result(graph, reader) if reader is not None else None))


def _stated(quantization: AffineQuantization | None) -> RealRange | None:
    """Range of the real numbers that a quantized tensor can hold."""
    bounds = INTEGERS.get(quantization.elem_type) if quantization else None
    if quantization is None or bounds is None or not quantization.scales or not quantization.zero_points:
        return None
    if len(quantization.scales) != 1 or len(quantization.zero_points) != 1:
        return None
    scale, zero = quantization.scales[0], quantization.zero_points[0]
    return RealRange(*(scale * (bound - zero) for bound in bounds))
