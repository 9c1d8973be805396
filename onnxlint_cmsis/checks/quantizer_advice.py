"""Which program quantized a model, and advice in the words of its options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.lower.quantization import AffineQuantization
from onnxlint_cmsis.model.graph import Graph

if TYPE_CHECKING:
    pass


ONNX_RUNTIME = "onnx.quantize"
"""`producer_name` that `onnxruntime.quantization` writes (quant_utils.py)."""
LONGEST_OPTION = 130
"""Characters of an option that a message holds: one tensor's numbers."""
_WITH = ": with ONNX Runtime's quantizer, "
_OVERRIDES = "TensorQuantOverrides"
_ENDING = r"(_QuantizeLinear_Input|_(Dequ|Qu)antizeLinear_Output|_(de)?quantized)(_\d+)?$"
"""What ONNX Runtime's quantizer puts behind the name of a tensor of the float model."""


def advice(graph: Graph, wanted: str, option: str = "") -> str:
    """What to change: the property, and the option of ONNX Runtime's quantizer where that wrote the model."""
    if graph.producer != ONNX_RUNTIME or not option:
        return f"{wanted}."
    return f"{wanted}{_WITH}{option}."


def brief_advice(text: str) -> str:
    """Advice whose option stands in brackets; `--explain` shows that of single tensors."""
    wanted, mark, option = text.removesuffix(".").partition(_WITH)
    if not mark:
        return text
    return f"{wanted} (see --explain)." if _OVERRIDES in option else f"{wanted} (ONNX Runtime: {option})."


def option_apart(text: str) -> tuple[str, str]:
    """Advice whose option is too long for a message, and that option; the advice and nothing where it is short."""
    head, mark, option = text.partition("extra_options=")
    if not mark or len(option) <= LONGEST_OPTION:
        return text, ""
    return f"{head}TensorQuantOverrides (in full as `option` in --explain and JSON).", mark + option.removesuffix(".")


def float_name(tensor: str) -> str:
    """Name that a tensor of a quantized model had in the float model, which options refer to."""
    return re.sub(_ENDING, "", tensor)


def overrides(wanted: Mapping[str, AffineQuantization]) -> str:
    """Option that gives tensors of the float model a scale and zero-point each."""
    entries = [
        f'"{float_name(tensor)}": [{{"scale": np.array({numbers.scale:.9g}, np.float32), '
        f'"zero_point": np.array({(numbers.zero_points or (0,))[0]}, np.{numbers.elem_type})}}]'
        for tensor, numbers in wanted.items()
    ]
    return f'extra_options={{"TensorQuantOverrides": {{{", ".join(entries)}}}}}'
