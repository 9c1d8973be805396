"""What removed constant lanes add to a layer's sums: whether its bias can absorb it, and whether exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.constants import FLOAT, BiasSlot, FactorScales, bias_slot, factor_scales
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.operators.views import real_attribute

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.known_view import KnownView
    from onnxlint_cmsis.analysis.weighted import Weighted
    from onnxlint_cmsis.model.graph import Graph
    from onnxlint_cmsis.model.intervals import Floats, Mask


LIMIT = 2.0**31 - 1
"""Largest int32."""
WHOLE = 1e-3
"""How far a float32 number may be from the whole multiple of its scale that it stands for, in units of the scale."""


class Absorbed(NamedTuple):
    """Columns that one layer can do without, [groups x columns]."""

    exact: Mask
    """Columns that may go with the sums as they were: zeros, and constants that an integer bias takes."""
    unsafe: Mask
    """Those, and constants that a bias takes only up to rounding."""
    added: Floats | None
    """What the bias gains for each column, [groups, rows, columns], in its own unit; None where only zeros may go."""
    kind: str
    """`BiasSlot.kind`."""


def absorbed(weighted: Weighted, view: KnownView) -> Absorbed:
    """Constants of its data that a layer's bias can absorb."""
    node = view.graph.nodes[weighted.node]
    data = view.known(node.inputs[weighted.data])
    if data is None:
        raise ValueError(f"{node.label} sums over an axis of a tensor of unknown rank")
    columns = weighted.columns(data)
    known, zero = ~columns.varies & ~columns.zero & weighted.plain, columns.zero
    slot = bias_slot(view.graph, node) if known.any() else None
    if slot is None or np.isnan(weighted.taps.values).any():
        return Absorbed(zero.reshape(-1), zero.reshape(-1), None, FLOAT)
    values = np.where(known, (columns.low + columns.high) / 2, 0)
    added, exact = _added(weighted, view.graph, slot, values)
    exact &= known & (columns.low == columns.high)
    if slot.kind != FLOAT:
        most = np.abs(added).sum(axis=2).reshape(-1)
        if slot.tensor:
            held = view.known(slot.tensor)
            most = most + (np.nan if held is None else np.abs(held.low).reshape(-1))
        if not (most <= LIMIT).all():  # int32 does not hold the bias with all constants added
            return Absorbed(zero.reshape(-1), zero.reshape(-1), None, FLOAT)
    return Absorbed((zero | exact).reshape(-1), (zero | known).reshape(-1), added, slot.kind)


def _added(weighted: Weighted, graph: Graph, slot: BiasSlot, values: Floats) -> tuple[Floats, Mask]:
    """Gain of the bias for each column, and the columns where it is exact."""
    if not weighted.real:
        return weighted.taps.values.sum(axis=3) * values[:, None, :], np.ones(values.shape, bool)
    node = graph.nodes[weighted.node]
    factor = weighted.factor / real_attribute(node, "beta", 1.0)
    added = weighted.taps.values.sum(axis=3) * values[:, None, :] * factor
    if slot.kind == FLOAT:
        return added, np.zeros(values.shape, bool)
    added = added / _per_row(slot.scales, weighted)[:, :, :, 0]
    factors = factor_scales(graph, node)
    if factors is None or not slot.exact:
        return added, np.zeros(values.shape, bool)
    whole, exact = _whole(weighted, factors, values)
    return np.where(exact[:, None, :], whole, added), exact


def _whole(weighted: Weighted, factors: FactorScales, values: Floats) -> tuple[Floats, Mask]:
    """Gain in integers, and the columns where weights and values are whole multiples of their scales."""
    weights, data = weighted.taps.values / _per_row(factors.weights, weighted), values / factors.data
    exact = (np.abs(data - np.rint(data)) < WHOLE) & (np.abs(weights - np.rint(weights)) < WHOLE).all(axis=(1, 3))
    return np.rint(weights).sum(axis=3) * np.rint(data)[:, None, :], exact


def _per_row(scales: tuple[float, ...], weighted: Weighted) -> Floats:
    """One number for each output channel, against weights [groups, rows, columns, taps]."""
    groups, rows = weighted.shape[:2]
    return np.broadcast_to(np.array(scales), groups * rows).reshape(groups, rows, 1, 1)
