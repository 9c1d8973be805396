"""The largest sum that a layer's kernel can reach for its weights, against the 32 bits that it is kept in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.find_quantization import of_weights
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.real_values import Read
from onnxlint_cmsis.lower.stored_types import weights_behind
from onnxlint_cmsis.model.graph import Graph

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]

MOST = 2**52
"""Largest bias that is counted with: sums with it fit 64 bits."""
LIMIT = 2**31
"""Lowest sum that int32 does not hold."""


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

    @property
    def text(self) -> str:
        """What overflows, as a clause."""
        shifted = f", shifted to the left by {self.shift}" if self.shift else ""
        channels = f"{self.channels} channels" if self.channels > 1 else f"channel {self.channel}"
        return (
            f"sums of {channels} can overflow int32: for some input channel {self.channel} reaches "
            f"{self.largest:,}{shifted}; 2,147,483,647 is the most"
        )


class SumTerms(NamedTuple):
    """What is known of a layer's sums without its weights."""

    reach: tuple[int, int]
    """Lowest and highest input less the zero-point."""
    products: int
    """Products of a sum that are added in 32 bits."""
    bias: Whole
    """Bias of each channel in units of the sums; 0 where the function adds it in 64 bits."""
    shifts: Whole
    """Shift to the left of each channel; 0 where the sum has 64 bits by then."""

    @property
    def doubtful(self) -> bool:
        """Tell whether some weights of 8 bits would make a sum overflow."""
        import numpy as np

        guess = self.products * 128 * max(map(abs, self.reach))
        return bool((self.shifted(guess + np.abs(self.bias)) >= LIMIT).any())

    def shifted(self, largest: Whole) -> NDArray[np.float64]:
        """Sum of each channel behind its shift; exact below `LIMIT`."""
        import numpy as np

        return np.ldexp(largest.astype(np.float64), self.shifts)

    def worst_channel(self, weights: Whole) -> SumBound | None:
        """The channel that overflows most, of weights [channel, column] less their zero-points; None where none does.

        Columns stand in the order in which the kernel adds them.
        """
        import numpy as np

        rows = weights[:, : self.products]
        ends = np.stack([rows * self.reach[0], rows * self.reach[1]])
        highest, lowest = ends.max(axis=0).sum(axis=1) + self.bias, ends.min(axis=0).sum(axis=1) + self.bias
        shifted = self.shifted(np.maximum(highest, -1 - lowest))  # -2**31 fits
        worst, channels = int(np.argmax(shifted)), int((shifted >= LIMIT).sum())
        largest = max(int(highest[worst]), -int(lowest[worst]))
        return SumBound(worst, largest, int(self.shifts[worst]), channels) if channels else None


def left_shifts(multipliers: NDArray[np.float64]) -> Whole:
    """Bits by which arm_nn_requantize shifts sums to the left before it multiplies them."""
    import numpy as np

    shifts: Whole = np.maximum(np.frexp(multipliers)[1], 0).astype(np.int64)
    return shifts


def overflow_of(graph: Graph, record: LoweredLayer, read: Read, products: int) -> SumBound | None:
    """The worst channel of a layer of which sums overflow for some input; None where none does, or it is not known.

    `products` of each sum are added in 32 bits. Weights are read only where sizes and bias alone leave it open.
    """
    import numpy as np

    terms = _terms(graph, record, products)
    if terms is None or record.weights is None or not terms.doubtful:
        return None
    rows = stored_rows(graph, record, read)
    if rows is None:
        return None
    zeros = np.resize(np.array(record.weights.zero_points, np.int64), len(rows))
    return terms.worst_channel(rows.astype(np.int64) - zeros[:, None])


def stored_rows(graph: Graph, record: LoweredLayer, read: Read) -> NDArray[Any] | None:
    """Integer weights that lie in the file as the layer reads them, a row for each output channel; None for others."""
    channels = record.call.output_dims.c if record.call else None
    if not channels or not _shape(graph, record):
        return None
    constant = weights_behind(graph, record.node.inputs[_weights_position(record)])
    values = read(constant.name) if constant else None
    if values is None or values.dtype.kind not in "iu" or values.size % channels:
        return None
    return _rows_of_weights(record, values, channels)


def _terms(graph: Graph, record: LoweredLayer, products: int) -> SumTerms | None:
    import numpy as np

    layer, weights, result = record.layer, record.weights, record.output
    source = record.inputs[0] if record.inputs else None
    if record.call is None or layer is None or weights is None or source is None or result is None:
        return None
    count, shape = layer.call.output_dims.c, _shape(graph, record)
    if not count or not shape or not weights.scales or len(weights.scales) not in (1, count) or not result.scale:
        return None
    columns = math.prod(shape) // count
    if layer.call.function is Function.TRANSPOSE_CONV:
        columns = math.prod(shape) // shape[1]
    lowest, highest = (-(2 ** (source.bits - 1)), 2 ** (source.bits - 1) - 1)
    zero = source.signed_zero_points[0]
    reach, none = (lowest - zero, highest - zero), np.zeros(count, np.int64)
    if source.bits == 16:  # bias and shift have 64 bits
        return SumTerms(reach, min(columns, products), none, none)
    with np.errstate(all="ignore"):  # scales of damaged files
        units = source.scale * np.resize(np.array(weights.scales, np.float64), count)
        return SumTerms(reach, columns, _bias_in_units(graph, record, units), left_shifts(units / result.scale))


def _shape(graph: Graph, record: LoweredLayer) -> tuple[int, ...]:
    """Sizes of weights that lie in the file as the layer reads them; nothing for others."""
    tensor = record.node.inputs[_weights_position(record)]
    producer = graph.producers.get(tensor)
    stored = graph.constants.get(producer.inputs[0] if producer else tensor)
    direct = stored is not None and stored is weights_behind(graph, tensor)
    return stored.shape if stored and direct and stored.shape == graph.shape(tensor) else ()


def _weights_position(record: LoweredLayer) -> int:
    return operator_of(record.node).roles.second


def _bias_in_units(graph: Graph, record: LoweredLayer, units: NDArray[np.float64]) -> Whole:
    """Bias of each channel in units of the sums; 0 where there is none or it is not known."""
    import numpy as np

    node, position = record.node, operator_of(record.node).roles.bias
    constant = weights_behind(graph, node.inputs[position]) if node.has(position) else None
    values = constant.values() if constant else None
    if constant is None or values is None or len(values) not in (1, len(units)) or not units.all():
        return np.zeros(len(units), np.int64)
    stored = of_weights(graph, node, position)
    reals = np.resize(np.array(values, np.float64), len(units))
    if stored is not None and stored.scales and stored.zero_points:
        zeros, scales = np.array(stored.zero_points, np.float64), np.array(stored.scales, np.float64)
        reals = (reals - np.resize(zeros, len(units))) * np.resize(scales, len(units))
    counted = reals if stored is None and constant.elem_type == "int32" else reals / units
    bias: Whole = np.rint(np.clip(np.where(np.isfinite(counted), counted, 0), -MOST, MOST)).astype(np.int64)
    return bias


def _rows_of_weights(record: LoweredLayer, values: NDArray[Any], channels: int) -> NDArray[Any]:
    """Weights as one row for each output channel, in CMSIS-NN's order."""
    import numpy as np

    function = record.call.function if record.call else ""
    if function is Function.TRANSPOSE_CONV:
        return np.moveaxis(values, 1, 0).reshape(channels, -1)
    dense = function is Function.FULLY_CONNECTED
    if dense and not record.node.int("transB"):
        return np.moveaxis(values, -1, 0).reshape(channels, -1)
    return np.moveaxis(values, 1, -1).reshape(channels, -1) if values.ndim > 2 else values.reshape(channels, -1)
