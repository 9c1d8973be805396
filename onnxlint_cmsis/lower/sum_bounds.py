"""The largest sum that a layer's kernel can reach for its weights, against the 32 bits that it is kept in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.graph.model import Graph
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import operands
from onnxlint_cmsis.lower.quantization import of_weights
from onnxlint_cmsis.lower.stored_types import weights_behind
from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]
    Read = Callable[[str], NDArray[Any] | None]

MOST = 2**52
"""Largest bias that is counted with: sums with it fit 64 bits."""
LIMIT = 2**31
"""Absolute sum from which on int32 may not hold it."""
FAST_COLUMNS = 512
"""Columns that the s16 kernels add in 32 bits before they go on in 64 (MAX_COL_COUNT)."""


class SumBound(NamedTuple):
    """The channel of a layer whose sums can become largest."""

    channel: int
    """Its index."""
    largest: int
    """Largest absolute sum, bias included, for some input."""
    shift: int
    """Bits by which the sum is shifted to the left before it is multiplied; 0 for a multiplier below 1."""
    channels: int
    """How many channels overflow."""


def overflow_of(graph: Graph, record: LoweredLayer, read: Read) -> SumBound | None:
    """The worst channel of a layer of which sums overflow for some input; None where none does, or it is not known.

    Weights are read only where sizes and bias alone leave it open. int8 layers keep sums in int32; int16 layers do so
    in the last of an odd number of output pixels (arm_convolve_s16.c), with more columns than FAST_COLUMNS.
    """
    import numpy as np

    numbers = _numbers(graph, record)
    if numbers is None or not (numbers.shifted(numbers.guess + np.abs(numbers.bias)) >= LIMIT).any():
        return None
    largest = _largest_sums(graph, record, numbers, read)
    if largest is None:
        return None
    sums = numbers.shifted(largest)
    worst, channels = int(np.argmax(sums)), int((sums >= LIMIT).sum())
    return SumBound(worst, int(largest[worst]), int(numbers.shifts[worst]), channels) if channels else None


class _Numbers(NamedTuple):
    """What is known of a layer's sums without its weights."""

    reach: tuple[int, int]
    """Lowest and highest input less the zero-point."""
    guess: int
    """Largest sum without bias that any weights could give."""
    bias: Whole
    """Bias of each channel in units of the sums; 0 where the function adds it in 64 bits."""
    shifts: Whole
    """Shift to the left of each channel."""

    def shifted(self, largest: Whole) -> NDArray[np.float64]:
        """Largest absolute sum of each channel, before or behind the shift; exact below `LIMIT`."""
        import numpy as np

        return np.ldexp(largest.astype(np.float64), self.shifts)


def _numbers(graph: Graph, record: LoweredLayer) -> _Numbers | None:
    import numpy as np

    layer, weights, result = record.layer, record.weights, record.output
    source = record.inputs[0] if record.inputs else None
    if record.call is None or layer is None or weights is None or source is None or result is None:
        return None
    count, shape = layer.call.output_dims.c, _shape(graph, record)
    if not count or not shape or not weights.scales or len(weights.scales) not in (1, count) or not result.scale:
        return None
    columns = math.prod(shape) // count
    if layer.call.entry.startswith("transpose_conv"):
        columns = math.prod(shape) // shape[1]
    lowest, highest = (-(2 ** (source.bits - 1)), 2 ** (source.bits - 1) - 1)
    zero = source.signed_zero_points[0]
    reach = lowest - zero, highest - zero
    wide = source.bits == 16
    if wide and not (record.call.entry == "convolve_s16" and columns > FAST_COLUMNS and _odd(record)):
        return None
    guess = columns * 128 * max(map(abs, reach))
    if wide:
        return _Numbers(reach, guess, np.zeros(count, np.int64), np.zeros(count, np.int64))
    with np.errstate(all="ignore"):  # scales of damaged files
        units = source.scale * np.resize(np.array(weights.scales, np.float64), count)
        shifts = np.maximum(np.frexp(units / result.scale)[1], 0).astype(np.int64)
        return _Numbers(reach, guess, _bias(graph, record, units), shifts)


def _odd(record: LoweredLayer) -> bool:
    """Whether a layer has an odd number of output pixels, as far as is known."""
    dims = record.call.output_dims if record.call else None
    return bool(dims and dims.h and dims.w and dims.h * dims.w % 2)


def _shape(graph: Graph, record: LoweredLayer) -> tuple[int, ...]:
    """Sizes of weights that lie in the file as the layer reads them; nothing for others."""
    tensor = record.node.inputs[_place(record)]
    producer = graph.producers.get(tensor)
    stored = graph.constants.get(producer.inputs[0] if producer and producer.inputs else tensor)
    direct = stored is not None and stored is weights_behind(graph, tensor)
    return stored.shape if stored and direct and stored.shape == graph.shape(tensor) else ()


def _place(record: LoweredLayer) -> int:
    return operands(record.node.domain, record.node.op_type).weights


def _bias(graph: Graph, record: LoweredLayer, units: NDArray[np.float64]) -> Whole:
    """Bias of each channel in units of the sums; 0 where there is none or it is not known."""
    import numpy as np

    place = operands(record.node.domain, record.node.op_type).bias
    inputs = record.node.inputs
    constant = weights_behind(graph, inputs[place]) if 0 <= place < len(inputs) and inputs[place] else None
    values = constant.values() if constant else None
    if constant is None or values is None or len(values) not in (1, len(units)) or not units.all():
        return np.zeros(len(units), np.int64)
    stored = of_weights(graph, record.node, place)
    reals = np.resize(np.array(values, np.float64), len(units))
    if stored is not None and stored.scales and stored.zero_points:
        zeros, scales = np.array(stored.zero_points, np.float64), np.array(stored.scales, np.float64)
        reals = (reals - np.resize(zeros, len(units))) * np.resize(scales, len(units))
    counted = reals if stored is None and constant.elem_type == "int32" else reals / units
    bias: Whole = np.rint(np.clip(np.where(np.isfinite(counted), counted, 0), -MOST, MOST)).astype(np.int64)
    return bias


def _largest_sums(graph: Graph, record: LoweredLayer, numbers: _Numbers, read: Read) -> Whole | None:
    """For each channel the largest absolute sum over all inputs in reach, bias included; None where not known."""
    import numpy as np

    constant = weights_behind(graph, record.node.inputs[_place(record)])
    values = read(constant.name) if constant else None
    if values is None or record.weights is None or values.dtype.kind not in "iu":
        return None
    matrix = _rows(record, values.astype(np.int64), len(numbers.bias))
    matrix = matrix - np.resize(np.array(record.weights.zero_points, np.int64), len(matrix))[:, None]
    ends = np.stack([matrix * numbers.reach[0], matrix * numbers.reach[1]])
    sums = np.stack([ends.max(axis=0).sum(axis=1), ends.min(axis=0).sum(axis=1)]) + numbers.bias
    largest: Whole = np.abs(sums).max(axis=0)
    return largest


def _rows(record: LoweredLayer, values: NDArray[Any], channels: int) -> NDArray[Any]:
    """Weights as one row for each output channel."""
    import numpy as np

    entry = record.call.entry if record.call else ""
    if entry.startswith("transpose_conv"):
        return np.moveaxis(values, 1, 0).reshape(channels, -1)
    dense = entry.startswith("fully_connected")
    if dense and not record.node.int("transB"):
        return np.moveaxis(values, -1, 0).reshape(channels, -1)
    return values.reshape(channels, -1)
