"""Types in which tensors are stored: behind Q/DQ pairs, and through operators that only move elements."""

from __future__ import annotations

from functools import partial

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.model.graph import Constant, Graph, Node
from onnxlint_cmsis.model.searches import Onward, along
from onnxlint_cmsis.operators.answers import UNCHANGED, Elements

FOUR_BITS = frozenset({"int4", "uint4"})


EIGHT_BITS = frozenset({"int8", "uint8"})


SIXTEEN_BITS = frozenset({"int16", "uint16"})


STORED = FOUR_BITS | EIGHT_BITS | SIXTEEN_BITS
"""Element types of quantized tensors."""


MOVES = UNCHANGED | {Elements.TRANSPOSED}
"""Elements of operators that keep the elements of a tensor and their scale."""


_BEHIND = MOVES | {Elements.DEQUANTIZED, Elements.QUANTIZED, Elements.CAST}


def quantizes(node: Node | None) -> bool:
    """Tell whether there is a node and it is QuantizeLinear of any domain."""
    return node is not None and operator_of(node).quantizes


def dequantizes(node: Node | None) -> bool:
    """Tell whether there is a node and it is DequantizeLinear of any domain."""
    return node is not None and operator_of(node).dequantizes


def stored_type(graph: Graph, tensor: str) -> str:
    """Element type a tensor is stored in: that before DequantizeLinear, behind what only moves it, else its own."""
    stored: str | None = along(graph, "stored type", tensor, partial(_stored_behind, graph))
    return stored or ""


def _stored_behind(graph: Graph, tensor: str) -> str | Onward:
    producer = graph.producers.get(tensor)
    if producer is None or not producer.inputs or graph.elem_type(tensor) in STORED:
        return graph.elem_type(tensor)
    if dequantizes(producer):
        return graph.elem_type(producer.inputs[0])
    return Onward(producer.inputs[0]) if operator_of(producer).elements in MOVES else graph.elem_type(tensor)


def weights_behind(graph: Graph, tensor: str) -> Constant | None:
    """Constant a weight comes from, through Q/DQ and what only moves it; None where it is computed."""
    constant: Constant | None = along(graph, "constant behind", tensor, partial(_constant_behind, graph))
    return constant


def _constant_behind(graph: Graph, tensor: str) -> Constant | Onward | None:
    if tensor in graph.constants:
        return graph.constants[tensor]
    producer = graph.producers.get(tensor)
    if producer is None or operator_of(producer).elements not in _BEHIND:
        return None
    return Onward(producer.inputs[0])


def numbers_behind(graph: Graph, tensor: str) -> tuple[int | float, ...] | None:
    """Numbers of that constant; None where it is computed or cannot be read."""
    constant = weights_behind(graph, tensor)
    return constant.values() if constant else None


def data_type(graph: Graph, activation: str, weights: str, assume: Assumptions) -> tuple[str, bool]:
    """CMSIS-NN suffix of a layer (`s8`, `s16`, `s4`, `f32`, `f16`) and whether it rests on `assume`.

    A layer that stays float is what the model says.

    s4 kernels take s8 activations with 4-bit weights; s16 kernels take s16 activations with s8 weights.
    """
    stored = "" if assume.island else stored_type(graph, activation)
    behind = weights_behind(graph, weights) if weights else None
    four_bits = behind is not None and behind.elem_type in FOUR_BITS
    if stored in SIXTEEN_BITS:
        return "s16", False
    if stored in EIGHT_BITS:
        return ("s4" if four_bits else "s8"), False
    if assume.stays_float:
        return assume.data_type, False
    return ("s4" if four_bits else assume.data_type), True


def activation_type(graph: Graph, tensor: str, assume: Assumptions) -> tuple[str, bool]:
    """As `data_type`, for kernels without weights, which know s8 and s16: activations of s4 layers are s8."""
    kind, assumed = data_type(graph, tensor, "", assume)
    return ("s8" if kind == "s4" else kind), assumed
