"""Changed constants, attributes and biases put into an ONNX model."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.planning.elements import StoredElements
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx import element_codes
from onnxlint_cmsis.formats.onnx.tensors import ELEM_TYPES, elem_name
from onnxlint_cmsis.formats.onnx.walk import all_names
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.operators.control import CONSTANT
from onnxlint_cmsis.operators.quantization import DEQUANTIZE_LINEAR

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

    from onnxlint_cmsis.fixers.edits.onnx_sites import Home, NodeSite
    from onnxlint_cmsis.formats.onnx.element_codes import Codes
    from onnxlint_cmsis.model.graph import Graph


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
            return StoredElements(element_codes.read(home.tensor, self.path), elem_name(home.tensor.data_type))
        value = home.attribute
        if value is not None and value.name == "value_ints":
            return StoredElements(np.array(value.ints, dtype="<i8").view("<u8"), "int64")
        if value is not None and value.name == "value_floats":
            return StoredElements(np.array(value.floats, dtype="<f4").view("<u4"), "float32")
        raise NotAppliedError(f"a Constant in the form of {value.name if value else 'nothing'} is not edited")

    def write(self, home: Home, codes: Codes) -> None:
        """Replace a stored constant."""
        if home.tensor is not None:
            element_codes.write(home.tensor, codes)
        elif home.attribute is not None and home.attribute.name == "value_ints":
            home.attribute.ints[:] = codes.view("<i8").tolist()
        elif home.attribute is not None:
            home.attribute.floats[:] = codes.view("<f4").tolist()

    def add(self, graph: GraphProto, like: str, elem_type: str, codes: Codes) -> str:
        """Store a new constant under a name like another's; returns the name."""
        return self.store(graph, self.fresh(like), elem_type, codes)

    def store(self, graph: GraphProto, name: str, elem_type: str, codes: Codes) -> str:
        """Store a new constant under a name that is kept for it; returns the name."""
        from onnx import TensorProto

        tensor = TensorProto(name=name, data_type=NUMBERS[elem_type])
        element_codes.write(tensor, codes)
        if self.model.ir_version >= INPUTS_TOO:
            graph.initializer.append(tensor)
        else:
            from onnx import helper

            constant = helper.make_node(CONSTANT.name, [], [tensor.name], value=tensor)
            constant.attribute[0].t.ClearField("name")
            graph.node.insert(0, constant)
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

    def dequantize(self, site: NodeSite, values: str, scales: str, domain: str, *, axis: int | None) -> str:
        """Put a DequantizeLinear before a node; returns the name of its output.

        `axis` is None for a single scale: operator sets before 13 know no other and no such attribute.
        """
        from onnx import helper

        real = self.fresh(f"{values}_real")
        node = helper.make_node(DEQUANTIZE_LINEAR.name, [values, scales], [real], real, domain=domain, axis=axis)
        index = next(index for index, present in enumerate(site.scope.graph.node) if present is site.node)
        site.scope.graph.node.insert(index, node)
        return real


def connect(node: NodeProto, position: int, name: str) -> None:
    """Make a node read a tensor at an input, present or new."""
    node.input.extend([""] * (position + 1 - len(node.input)))
    node.input[position] = name


def dequantizer_domain(graph: Graph, weights: str) -> str:
    """Domain of the DequantizeLinear that makes a layer's weights real."""
    producer = graph.producers[weights]
    while not operator_of(producer).dequantizes:
        producer = graph.producers[producer.inputs[0]]
    return producer.domain


def forget(graph: GraphProto, tensors: Collection[str]) -> None:
    """Take out what a graph states of the types and shapes of tensors."""
    for value in [value for value in graph.value_info if value.name in tensors]:
        graph.value_info.remove(value)


def set_number(node: NodeProto, name: str, element: int, value: int) -> None:
    """Write one number of an integer attribute."""
    attribute = next(candidate for candidate in node.attribute if candidate.name == name)
    if attribute.ints:
        attribute.ints[element] = value
    else:
        attribute.i = value
