"""Operators that PACT quantization exports: domain PACTOps, or the default domain in models prepared for Deeploy."""

from __future__ import annotations

from onnxlint_cmsis.operators.answers import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.elementwise_ties import broadcast
from onnxlint_cmsis.operators.new_lane import NO_NEW_LANES, ZEROS
from onnxlint_cmsis.operators.record import Operator, alias

DOMAIN = "PACTOps"

REQUANT_SHIFT = Operator("RequantShift", broadcast, Elements.REQUANTIZED, Risk.NONE, Layout.EITHER, new_lane=ZEROS)
"""RequantShift(x, mul, add) is `clip(floor((x * mul + add) / div))` element by element, broadcast as torch does.

Source: quantlib (pulp-platform), `RequantShift.forward` and `symbolic` of the PACT operators.
"""

NO_DEFINITION = NotFollowed("no published definition says which channels it mixes")


def _declined(name: str) -> Operator:
    """An operator of which the models that use it state the shapes, and nothing else is known."""
    return Operator(name, NO_DEFINITION, Elements.COMPUTED, Risk.ALWAYS, Layout.EITHER, new_lane=NO_NEW_LANES)


SHAPE_KEEPING = tuple(map(_declined, ("iGELU", "iSoftmax", "iLayerNorm", "IntegerDiv")))
"""Operators whose result has the shape of the first input."""
INTEGER_MEAN = _declined("IntegerMean")
"""A mean over the axes of its attribute."""

DEFAULT = (REQUANT_SHIFT, *SHAPE_KEEPING, INTEGER_MEAN)
PACT = (*DEFAULT, *(alias(operator.name, DOMAIN, operator) for operator in DEFAULT))
