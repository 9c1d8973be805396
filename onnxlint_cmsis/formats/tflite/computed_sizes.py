"""Sizes of results of an operator of a file, which states those of its inputs."""

from __future__ import annotations

from onnxlint_cmsis.formats.tflite.constants import constant, elem_type
from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel, TfliteOperator
from onnxlint_cmsis.formats.tflite.operand_sizes import Shape
from onnxlint_cmsis.formats.tflite.result_sizes import result_sizes
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.graph import TFLITE, Node


class SubgraphView:
    """Tensors of a subgraph of the file under their numbers as names."""

    def __init__(self, model: TfliteModel, subgraph: Subgraph) -> None:
        self._model, self._tensors = model, subgraph.tensors

    def input_shape(self, node: Node, position: int) -> tuple[Size, ...] | None:
        """Sizes as the file states them, None for -1."""
        if not node.has(position):
            return None
        return tuple(None if size < 0 else size for size in self._tensors[int(node.inputs[position])].shape)

    def elem_type(self, name: str) -> str:
        """Element type, empty where it holds no numbers or is left out."""
        return elem_type(self._tensors[int(name)]) if name else ""

    def ints(self, node: Node, position: int) -> list[int] | None:
        """Whole numbers of a constant input."""
        tensor = self._tensors[int(node.inputs[position])] if node.has(position) else None
        if tensor is None or not self._model.is_constant(tensor):
            return None
        values = constant(self._model, tensor, tensor.name).integers()
        return None if values is None else [*values]


def computed_sizes(model: TfliteModel, subgraph: Subgraph, operator: TfliteOperator) -> tuple[Shape, ...]:
    """Sizes of each result, worked out of the stated sizes of the inputs. Raises NotComputedError."""
    node = Node(
        index=0,
        name="",
        op_type=operator.title,
        domain=TFLITE,
        opset=operator.version,
        inputs=tuple(str(number) if number >= 0 else "" for number in operator.inputs),
        outputs=tuple(map(str, operator.outputs)),
        attributes={name: int(value) if isinstance(value, bool) else value for name, value in operator.options.items()},
    )
    return result_sizes(node, SubgraphView(model, subgraph))
