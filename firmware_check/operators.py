"""Operators that ONNX Runtime does not have: no layer of such a model can be compared with it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from firmware_check.errors import FirmwareError
from onnxlint_cmsis.fixers.proof.onnx_runtime import onnx_runtime
from onnxlint_cmsis.formats.onnx.functions import domain_of
from onnxlint_cmsis.formats.onnx.walk import all_nodes

if TYPE_CHECKING:
    import onnx


_DEFAULT = "ai.onnx"
"""Name of the domain whose name may be left out."""


def refuse_unknown(model: onnx.ModelProto) -> None:
    """FirmwareError names the operators that neither ONNX Runtime nor the model itself defines."""
    onnx_runtime()
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

    known = {(domain_of(schema.domain), schema.name) for schema in get_all_operator_schema()}
    known |= {(domain_of(function.domain), function.name) for function in model.functions}
    used = Counter((domain_of(node.domain), node.op_type) for node in all_nodes(model))
    unknown = {operator: count for operator, count in used.items() if operator not in known}
    if unknown:
        named = ", ".join(
            f"{op_type} of domain {domain or _DEFAULT} ({count} node{'s' if count > 1 else ''})"
            for (domain, op_type), count in unknown.items()
        )
        raise FirmwareError(
            f"ONNX Runtime, which every layer is compared with, does not have {named}; check the model with ONNX's own "
            f"operators in {'their' if len(unknown) > 1 else 'its'} place, quantized (QDQ or QOperator format) or float"
        )
