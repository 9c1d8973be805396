"""How far a layer's sums can reach: its positive and its negative weights, added for each output channel.

Weights that lie in the file as integers are added as integers. Real numbers of all of them, in eight times the memory,
are made only where something behind the layer goes into the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.folded_weights import INTO_WEIGHTS, folded, own_bias
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.quantization import AffineQuantization
from onnxlint_cmsis.lower.real_values import Read
from onnxlint_cmsis.lower.stored_types import EIGHT_BITS
from onnxlint_cmsis.lower.sums import stored_rows
from onnxlint_cmsis.model.graph import Graph

Numbers = NDArray[np.float64]


LONG = 2**15
"""Columns whose sum of integers of 16 bits may leave 32 bits."""


class SignedSums(NamedTuple):
    """Real numbers for each output channel."""

    positive: Numbers
    """Sum of the weights above 0."""
    negative: Numbers
    """Sum of the weights below 0."""
    bias: Numbers
    """Bias."""

    def least_and_most(self, lowest: float, highest: float) -> tuple[Numbers, Numbers]:
        """The least and the largest result where every input lies in a range; padding is 0, which all can be."""
        least = self.positive * lowest + self.negative * highest + self.bias
        return least, self.positive * highest + self.negative * lowest + self.bias


def signed_sums(graph: Graph, read: Read, record: LoweredLayer) -> SignedSums | None:
    """The sums of a layer, with what behind it goes into its weights; None where they are not known."""
    rows = _integers(graph, read, record)
    if rows is not None and record.weights is not None:
        bias = own_bias(graph, read, record.node, len(rows))
        return None if bias is None else sums_of_integers(rows, record.weights, bias)
    layer = folded(graph, read, record)
    if layer is None or not layer.weights.size or layer.weights.shape[0] != layer.bias.size:
        return None
    rows = layer.weights.reshape(layer.bias.size, -1)
    return SignedSums(*_added(rows, np.abs(rows), np.float64), layer.bias)


def sums_of_integers(rows: NDArray[Any], numbers: AffineQuantization, bias: Numbers) -> SignedSums | None:
    """The sums of integers [output channel, column]; None where scales or zero-points are not one for each channel."""
    scales, zeros = (np.array(values or (0,), np.float64) for values in (numbers.scales, numbers.zero_points))
    if any(array.size not in (1, len(rows)) for array in (scales, zeros)):
        return None
    fits = np.can_cast(rows.dtype, np.int16) and rows.shape[1] < LONG and not zeros.any()
    if fits:  # the size of the lowest integer fits the type without a sign
        positive, negative = _added(rows, np.abs(rows).view(f"u{rows.itemsize}"), np.int32)
    else:
        real = rows - zeros[:, None]
        positive, negative = _added(real, np.abs(real), np.float64)
    return SignedSums(positive * scales, negative * scales, bias)


def _added(rows: NDArray[Any], sizes: NDArray[Any], summed: type[np.number[Any]]) -> tuple[Numbers, Numbers]:
    """Sum of the numbers above 0 and of those below 0 in each row, from their sizes; numpy adds in type `summed`."""
    total, size = (numbers.sum(axis=1, dtype=summed) for numbers in (rows, sizes))
    return (total + size) / 2, (total - size) / 2


def _integers(graph: Graph, read: Read, record: LoweredLayer) -> NDArray[Any] | None:
    """The weights of a layer as the file has them; None where more than their scales comes between."""
    node, numbers = record.node, record.weights
    behind = record.epilogue.absorbed if record.epilogue else ()
    if numbers is None or not numbers.known or numbers.elem_type not in EIGHT_BITS or node.number("alpha", 1.0) != 1:
        return None
    return None if any(canonical(after) in INTO_WEIGHTS for after in behind) else stored_rows(graph, record, read)
