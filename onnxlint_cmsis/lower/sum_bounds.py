"""The largest sum that a layer's kernel can reach for its weights, against the 32 bits that it is kept in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from onnxlint_cmsis.graph.model import Graph
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import operands
from onnxlint_cmsis.lower.quantization import AffineQuantization, of_weights
from onnxlint_cmsis.lower.stored_types import weights_behind

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    numbers = _numbers(graph, record)
    if numbers is None or not numbers.overflowing([numbers.guess + abs(each) for each in numbers.bias]):
        return None
    largest = _largest_sums(graph, record, numbers, read)
    found = numbers.overflowing(largest)
    if not found:
        return None
    worst = max(found, key=lambda index: largest[index] << numbers.shifts[index])
    return SumBound(worst, largest[worst], numbers.shifts[worst], len(found))


class _Numbers(NamedTuple):
    """What is known of a layer's sums without its weights."""

    reach: tuple[int, int]
    """Lowest and highest input less the zero-point."""
    guess: int
    """Largest sum without bias that any weights could give."""
    bias: list[int]
    """Bias of each channel in units of the sums; 0 where the function adds it in 64 bits."""
    shifts: list[int]
    """Shift to the left of each channel."""

    def overflowing(self, largest: list[int]) -> list[int]:
        """Channels whose largest absolute sum leaves 32 bits, before or behind the shift."""
        return [index for index, each in enumerate(largest) if each << self.shifts[index] >= LIMIT]


def _numbers(graph: Graph, record: LoweredLayer) -> _Numbers | None:
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
    scales = list(weights.scales) * (count // len(weights.scales))
    multipliers = [source.scale * scale / result.scale for scale in scales]
    shifts = [0 if wide else max(0, math.frexp(each)[1]) for each in multipliers]
    bias = [0] * count if wide else _bias(graph, record, [source.scale * scale for scale in scales])
    return _Numbers(reach, columns * 128 * max(map(abs, reach)), bias, shifts)


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


def _bias(graph: Graph, record: LoweredLayer, units: list[float]) -> list[int]:
    """Bias of each channel in units of the sums; 0 where there is none or it is not known."""
    place = operands(record.node.domain, record.node.op_type).bias
    inputs = record.node.inputs
    constant = weights_behind(graph, inputs[place]) if 0 <= place < len(inputs) and inputs[place] else None
    values = constant.values() if constant else None
    if constant is None or values is None or len(values) not in (1, len(units)) or not all(units):
        return [0] * len(units)
    stored = of_weights(graph, record.node, place)
    reals = list(_reals(list(values) * (len(units) // len(values)), stored))
    if stored is None and constant.elem_type == "int32":
        return [_whole(value) for value in reals]
    return [_whole(real / unit) for real, unit in zip(reals, units, strict=True)]


def _whole(number: float) -> int:
    """The nearest integer within `MOST`, beyond which a bias overflows all the same; 0 for what is not finite."""
    return round(min(max(number, -MOST), MOST)) if math.isfinite(number) else 0


def _reals(values: list[int | float], stored: AffineQuantization | None) -> Iterator[float]:
    """Numbers that integers stand for; a bias that no scale is stored for stands for itself."""
    if stored is None or not stored.scales or not stored.zero_points:
        yield from values
        return
    for index, value in enumerate(values):
        yield (value - stored.zero_points[index % len(stored.zero_points)]) * stored.scales[index % len(stored.scales)]


def _largest_sums(graph: Graph, record: LoweredLayer, numbers: _Numbers, read: Read) -> list[int]:
    """For each channel the largest absolute sum over all inputs in reach, bias included; nothing where not known."""
    import numpy as np

    constant = weights_behind(graph, record.node.inputs[_place(record)])
    values = read(constant.name) if constant else None
    if values is None or record.weights is None or values.dtype.kind not in "iu":
        return []
    matrix = _rows(record, values.astype(np.int64), len(numbers.bias))
    matrix = matrix - np.resize(np.array(record.weights.zero_points, np.int64), len(matrix))[:, None]
    ends = np.stack([matrix * numbers.reach[0], matrix * numbers.reach[1]])
    sums = np.stack([ends.max(axis=0).sum(axis=1), ends.min(axis=0).sum(axis=1)]) + np.array(numbers.bias, np.int64)
    return [int(each) for each in np.abs(sums).max(axis=0)]


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
