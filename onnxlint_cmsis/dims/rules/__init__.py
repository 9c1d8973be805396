"""One small function per operator: what it ties, what it locks and why. A new operator is a row in one table."""

from __future__ import annotations

from onnxlint_cmsis.dims.rules.control import CONTROL
from onnxlint_cmsis.dims.rules.convolutions import CONVOLUTIONS
from onnxlint_cmsis.dims.rules.elementwise import ELEMENTWISE
from onnxlint_cmsis.dims.rules.microsoft import MICROSOFT
from onnxlint_cmsis.dims.rules.mixing import MIXING
from onnxlint_cmsis.dims.rules.pact import PACT
from onnxlint_cmsis.dims.rules.products import PRODUCTS
from onnxlint_cmsis.dims.rules.quantize import QUANTIZE
from onnxlint_cmsis.dims.rules.resizing import RESIZING
from onnxlint_cmsis.dims.rules.rule import Rule
from onnxlint_cmsis.dims.rules.shaping import SHAPING
from onnxlint_cmsis.dims.rules.slicing import SLICING

RULES: dict[str, dict[str, Rule]] = {
    "": {
        **PACT,
        **ELEMENTWISE,
        **CONVOLUTIONS,
        **PRODUCTS,
        **MIXING,
        **QUANTIZE,
        **SHAPING,
        **SLICING,
        **RESIZING,
        **CONTROL,
    },
    "com.microsoft": MICROSOFT,
    "PACTOps": PACT,
}
"""Rules by operator domain and operator; what has no row is locked."""


def rule_for(domain: str, op_type: str) -> Rule | None:
    """Rule of an operator, None where it has none."""
    return RULES.get(domain, {}).get(op_type)
