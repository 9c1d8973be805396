"""What one operator may be off in one host."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.runtimes.host.bounds import EQUAL, Bound
from onnxlint_cmsis.runtimes.host.hosts import Host
from onnxlint_cmsis.runtimes.host.layer import HostLayer, NoScaleError
from onnxlint_cmsis.runtimes.host.rows import COPIES, ROWS, HostRow

FLOATS = "computes in float, where the last bits may differ"
UNMEASURED = "has not been measured"
PLAIN_WHOLE = ("ADD", "SUB", "MUL")
"""Operators that are exact on integers without scales."""


class LayerDifference(NamedTuple):
    """What one operator may be off in one host."""

    node: Node
    """The operator."""
    bound: Bound
    """By how much, on equal inputs."""
    why: str
    """Why, as what the host does; empty where it is equal."""

    @property
    def equal(self) -> bool:
        """Tell whether equal inputs give equal results."""
        return self.bound.steps == 0


def difference(layer: HostLayer, host: Host) -> LayerDifference:
    """What the table says of an operator."""
    row = row_of(layer, host)
    node, kind = layer.node, layer.kind
    if row is None:
        if kind.startswith("float"):
            return LayerDifference(node, Bound(None), FLOATS)
        exact = kind in ("int32", "int64") and node.op_type in PLAIN_WHOLE
        return LayerDifference(node, EQUAL, "") if exact else LayerDifference(node, Bound(None), UNMEASURED)
    try:
        with np.errstate(all="ignore"):  # scales of damaged files
            bound = row.rule(layer)
    except NoScaleError:
        return LayerDifference(node, Bound(None), "has a tensor without a scale that it can have")
    return LayerDifference(node, bound, "" if bound.steps == 0 else bound.why or row.why)


def row_of(layer: HostLayer, host: Host) -> HostRow | None:
    """The first row that fits an operator; None for none."""
    op, kind = layer.node.op_type, layer.kind
    rows = (row for row in ROWS if op in row.ops and host in row.hosts and (kind in row.kinds or not row.kinds))
    return next(rows, None)


UNROUNDED = frozenset({*COPIES, "DEQUANTIZE", "RELU6", "RELU_N1_TO_1"})
"""Operators that give their inputs' steps back."""


def handed_on(layer: LayerDifference, apart: Collection[int]) -> int | None:
    """Steps that a layer's results are apart where its inputs are by `apart`; None for no bound.

    A bound through further layers would hold with each of them at its worst, which no input reaches: of 97 such bounds
    7 were.
    """
    if not any(apart):
        return layer.bound.steps
    return max(apart) if layer.equal and layer.node.op_type in UNROUNDED else None
