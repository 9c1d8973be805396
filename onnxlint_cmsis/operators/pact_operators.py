"""Operators that PACT quantization exports: domain PACTOps, or the default domain in models prepared for Deeploy."""

from __future__ import annotations

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.record import Operator, alias
from onnxlint_cmsis.operators.ties.elementwise_ties import broadcast

DOMAIN = "PACTOps"

REQUANT_SHIFT = Operator("RequantShift", broadcast, Elements.REQUANTIZED, Risk.NONE, Layout.EITHER)
"""RequantShift(x, mul, add) is `clip(floor((x * mul + add) / div))` element by element, broadcast as torch does.

Source: quantlib (pulp-platform), `RequantShift.forward` and `symbolic` of the PACT operators.
"""

PACT = (REQUANT_SHIFT, alias("RequantShift", DOMAIN, REQUANT_SHIFT))
