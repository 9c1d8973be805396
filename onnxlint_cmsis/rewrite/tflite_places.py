"""The way back from the flat graph to a `.tflite` file: operators and tensors by where the file has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.formats.tflite.file_places import OperatorPlace, TensorPlace

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.rewrite.uses import Use


class TflitePlaces:
    """All nodes of a graph by `Node.index`, and its values by key."""

    def __init__(self, model: TfliteModel, graph: Graph) -> None:
        """Raises NotAppliedError where the graph is not that of the file."""
        self._model = model
        self._operators: dict[int, OperatorPlace] = {}
        self.tensors: dict[str, TensorPlace] = {}
        """Tensors that operators read or write."""
        places = {
            operator.span.offset: OperatorPlace(number, index)
            for number, subgraph in enumerate(model.subgraphs)
            for index, operator in enumerate(subgraph.operators)
        }
        for node in graph.nodes:
            place = places.get(node.offset)
            if place is None:
                raise NotAppliedError("the graph is not that of the model")
            self._operators[node.index] = place
            operator = model.subgraphs[place.subgraph].operators[place.number]
            for keys, tensors in ((node.inputs, operator.inputs), (node.outputs, operator.outputs)):
                found = zip(keys, tensors, strict=True)
                self.tensors |= {key: TensorPlace(place.subgraph, tensor) for key, tensor in found if key}

    def operator(self, index: int) -> OperatorPlace:
        """The operator of a node."""
        return self._operators[index]

    def read_by(self, use: Use) -> TensorPlace:
        """The tensor that a node reads."""
        place = self._operators[use[0]]
        return TensorPlace(place.subgraph, self._model.subgraphs[place.subgraph].operators[place.number].inputs[use[1]])
