"""Putting changed constants, attributes and biases into a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.formats.onnx_graph import tensor_codes
from onnxlint_cmsis.formats.onnx_graph.elem_types import ELEM_TYPES, elem_name
from onnxlint_cmsis.formats.onnx_graph.subgraph_walk import all_names
from onnxlint_cmsis.formats.onnx_graph.tensor_codes import Codes
from onnxlint_cmsis.operators.control_operators import CONSTANT
from onnxlint_cmsis.operators.quantization_operators import DEQUANTIZE_LINEAR
from onnxlint_cmsis.rewrite.build import StoredElements
from onnxlint_cmsis.rewrite.node_places import Home, NodePlace

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

NUMBERS = {name: number for number, (name, _) in ELEM_TYPES.items()}
"""Element type numbers by name."""
INPUTS_TOO = 4
"""IR version from which an initializer need not be a graph input as well."""


class Store:
    """Reads and writes the constants of one model."""

    def __init__(self, model: ModelProto, path: str) -> None:
        self.model = model
        self.path = path
        self._names = {name for name in all_names(model) if isinstance(name, str)}

    def read(self, home: Home) -> StoredElements:
        """Elements of a stored constant. Raises NotAppliedError."""
        if home.tensor is not None:
            return StoredElements(tensor_codes.read(home.tensor, self.path), elem_name(home.tensor.data_type))
        value = home.attribute
        if value is not None and value.name == "value_ints":
            return StoredElements(np.array(value.ints, dtype="<i8").view("<u8"), "int64")
        if value is not None and value.name == "value_floats":
            return StoredElements(np.array(value.floats, dtype="<f4").view("<u4"), "float32")
        raise NotAppliedError(f"a Constant in the form of {value.name if value else 'nothing'} is not edited")

    def write(self, home: Home, made: Codes) -> None:
        """Replace a stored constant."""
        if home.tensor is not None:
            tensor_codes.write(home.tensor, made)
        elif home.attribute is not None and home.attribute.name == "value_ints":
            home.attribute.ints[:] = made.view("<i8").tolist()
        elif home.attribute is not None:
            home.attribute.floats[:] = made.view("<f4").tolist()

    def add(self, graph: GraphProto, like: str, elem_type: str, made: Codes) -> str:
        """Store a new constant under a name like another's; returns the name."""
        return self.store(graph, self.fresh(like), elem_type, made)

    def store(self, graph: GraphProto, name: str, elem_type: str, made: Codes) -> str:
        """Store a new constant under a name that is kept for it; returns the name."""
        from onnx import TensorProto

        tensor = TensorProto(name=name, data_type=NUMBERS[elem_type])
        tensor_codes.write(tensor, made)
        if self.model.ir_version >= INPUTS_TOO:
            graph.initializer.append(tensor)
        else:
            self._insert(graph, 0, _constant(tensor))
        return tensor.name

    def fresh(self, like: str) -> str:
        """A name that nothing in the model has."""
        number, name = 2, f"{like}_2"
        while name in self._names:
            number += 1
            name = f"{like}_{number}"
        self._names.add(name)
        return name

    def unused(self, name: str) -> str:
        """The name itself where nothing in the model has it, else one like it."""
        if name in self._names:
            return self.fresh(name)
        self._names.add(name)
        return name

    def dequantize(self, site: NodePlace, values: str, scales: str, domain: str, *, axis: int | None) -> str:
        """Put a DequantizeLinear before a node; returns the name of its output.

        `axis` is None for a single scale: operator sets before 13 know no other and no such attribute.
        """
        from onnx import helper

        made = self.fresh(f"{values}_real")
        node = helper.make_node(DEQUANTIZE_LINEAR.name, [values, scales], [made], made, domain=domain, axis=axis)
        place = next(index for index, one in enumerate(site.scope.graph.node) if one is site.node)
        self._insert(site.scope.graph, place, node)
        return made

    def _insert(self, graph: GraphProto, place: int, node: NodeProto) -> None:
        graph.node.insert(place, node)


def connect(node: NodeProto, position: int, name: str) -> None:
    """Make a node read a tensor at an input, present or new."""
    node.input.extend([""] * (position + 1 - len(node.input)))
    node.input[position] = name


def set_number(node: NodeProto, name: str, element: int, value: int) -> None:
    """Write one number of an integer attribute."""
    attribute = next(one for one in node.attribute if one.name == name)
    if attribute.ints:
        attribute.ints[element] = value
    else:
        attribute.i = value


def _constant(tensor: TensorProto) -> NodeProto:
    from onnx import helper

    node: NodeProto = helper.make_node(CONSTANT.name, [], [tensor.name], value=tensor)
    node.attribute[0].t.ClearField("name")
    return node
