"""Other scales and zero-points for integer tensors, with all that makes, reads or adds to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.repairs.carriers import IntegerCarriers
from onnxlint_cmsis.fixers.repairs.kept_clamp import keep_clamp
from onnxlint_cmsis.fixers.repairs.rescaled_bias import rescale_bias
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.find_quantization import keeps_scale, of_integers
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.lower.stored_types import dequantizes, quantizes
from onnxlint_cmsis.operators.answers import Elements
from onnxlint_cmsis.operators.curve import RELU

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.quantization import AffineQuantization
    from onnxlint_cmsis.model.graph import Node


QUANTIZED_AT = (1, 2)
"""Inputs of QuantizeLinear and DequantizeLinear with scale and zero-point."""


class StoredParameters(NamedTuple):
    """Stored constants of a quantization."""

    scale: str
    """The scale."""
    zero_point: str
    """The zero-point."""


class Requantizing:
    """New parameters for integer tensors of one model in the making."""

    def __init__(self, edit: GraphEdit) -> None:
        self._edit, self.carriers = edit, IntegerCarriers(edit.graph, edit.records)

    def give(self, tensors: tuple[str, ...], wanted: AffineQuantization) -> None:
        """Give tensors and all that hold their integers a scale and zero-point. Raises NotAppliedError."""
        every = dict.fromkeys(name for tensor in tensors for name in self.carriers.alike(tensor))
        old = {name: of_integers(self._edit.graph, name) for name in every}
        changing = {name: had for name, had in old.items() if had is not None and not had.equals(wanted)}
        left = [name for name in changing if name not in self._edit.requantized_tensors]
        if not left:
            return
        parameters = self._stored(left[0], wanted)
        for name in left:
            self._change(name, changing[name], wanted, parameters)
        self._edit.requantized_tensors.update(left)
        for record in self._edit.records:
            node = record.node
            source = node.inputs[operator_of(node).roles.first] if record.weights else ""
            if source and (name := self.carriers.carrier(source)) in left:
                rescale_bias(self._edit, record, changing[name].scale, wanted.scale)

    def outputs(self, tensors: tuple[str, ...]) -> tuple[str, ...]:
        """Outputs of the model that hold the integers of these tensors."""
        every = dict.fromkeys(name for tensor in tensors for name in self.carriers.alike(tensor))
        return tuple(name for name in every if name in self._edit.graph.ends)

    def _stored(self, tensor: str, wanted: AffineQuantization) -> StoredParameters:
        scale = np.array(wanted.scale, "<f4").view("<u4").reshape(())
        zero = np.array((wanted.zero_points or (0,))[0] & (1 << wanted.bits) - 1, f"<u{max(wanted.bits // 8, 1)}")
        return StoredParameters(
            self._edit.add_constant(f"{tensor}_new_scale", "float32", scale),
            self._edit.add_constant(f"{tensor}_new_zero_point", wanted.elem_type, zero),
        )

    def _change(
        self, tensor: str, old: AffineQuantization, wanted: AffineQuantization, parameters: StoredParameters
    ) -> None:
        """Change what makes and reads a tensor. Raises NotAppliedError."""
        graph = self._edit.graph
        if tensor in graph.inputs:
            raise NotAppliedError(f"input `{tensor}` of the model holds its integers")
        producer = graph.producers.get(tensor)
        if producer is None:
            raise NotAppliedError(f"its integers are those of the constant `{tensor}`")
        if len(old.scales or ()) != 1 or old.elem_type != wanted.elem_type:
            raise NotAppliedError(f"`{tensor}` has several scales or another type")
        self._set(producer, -1, tensor, old, parameters)
        for reader in graph.consumers.get(tensor, ()):
            for position in (index for index, name in enumerate(reader.inputs) if name == tensor):
                self._set(reader, position, tensor, old, parameters)
        keep_clamp(self._edit, tensor, old, wanted, parameters)

    def _set(self, node: Node, value: int, tensor: str, old: AffineQuantization, parameters: StoredParameters) -> None:
        """Give one value of a node its new parameters; -1 is the node's result. Raises NotAppliedError."""
        carried = parameters_of(node, value)
        ends = quantizes(node) if value < 0 else dequantizes(node) and value == 0
        if carried is not None or ends:
            scale, zero_point = (carried.scale, carried.zero_point) if carried else QUANTIZED_AT
            self._edit.connect(node, scale, parameters.scale)
            self._edit.connect(node, zero_point, parameters.zero_point)
        elif operator_of(node).elements is Elements.PADDED:
            given, constant = node.inputs[2], self._edit.graph.constants.get(node.inputs[2])
            values = (0,) if not given else constant.values() if constant else None
            if values is None or tuple(values) != (old.zero_points or (0,))[:1]:
                raise NotAppliedError(f"{node.label} pads integers with another number than their zero-point")
            self._edit.connect(node, 2, parameters.zero_point)
        elif not keeps_scale(node) or operator_of(node) is RELU:
            raise NotAppliedError(f"{node.label} reads or makes the integers of `{tensor}` as they are")


def outputs_told(names: tuple[str, ...], scale: str, zero: int) -> str:
    """What whoever reads integers of the model has to change; empty where no output holds any."""
    if not names:
        return ""
    listed = ", ".join(f"`{name}`" for name in names)
    return f"whoever reads output {listed} has to take scale {scale} and zero-point {zero} from now on"
