"""Operators that PACT quantization exports: domain PACTOps, or the default domain in models prepared for Deeploy."""

from __future__ import annotations

from onnxlint_cmsis.dims.rules.elementwise import broadcast
from onnxlint_cmsis.dims.rules.rule import Rule

PACT: dict[str, Rule] = {"RequantShift": broadcast}
"""RequantShift(x, mul, add) is `clip(floor((x * mul + add) / div))` element by element, broadcast as torch does.

Source: quantlib (pulp-platform), `RequantShift.forward` and `symbolic` of the PACT operators.
"""
