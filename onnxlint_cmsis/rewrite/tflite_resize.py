"""Apply a plan to a `.tflite` file: buffers, scales, biases, options and shapes of a class at the right indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.algebra.axes import leaves, resized
from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.formats.onnx_graph import tensor_codes
from onnxlint_cmsis.formats.tflite.file_places import TensorPlace
from onnxlint_cmsis.formats.tflite.new_objects import NewTensor
from onnxlint_cmsis.formats.tflite.tflite_edit import TfliteEdit
from onnxlint_cmsis.graph.model import StoredQuantization
from onnxlint_cmsis.rewrite.build import StoredElements
from onnxlint_cmsis.rewrite.constant_layouts import Places, check_plan
from onnxlint_cmsis.rewrite.model_edits import BiasEdit, ConstantEdit, model_edits
from onnxlint_cmsis.rewrite.size_numbers import AttributeEdit
from onnxlint_cmsis.rewrite.tflite_constants import new_bias, stored_elements
from onnxlint_cmsis.rewrite.tflite_places import TflitePlaces
from onnxlint_cmsis.rewrite.uses import Use, Uses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxlint_cmsis.dims.result import Dimensions
    from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.planning.lane_plan import Kept, Plan


def apply_to_tflite(data: bytes, graph: Graph, dimensions: Dimensions, plan: Plan) -> bytes:
    """The bytes of a new file; `graph` and `dimensions` are those of `data`. Raises NotAppliedError, ModelError."""
    return _Resize(data, graph, dimensions, plan).data()


class _Resize:
    """One plan applied to one file."""

    def __init__(self, data: bytes, graph: Graph, dimensions: Dimensions, plan: Plan) -> None:
        self._edit = TfliteEdit(graph.path, data)
        self._uses, self._plan = Uses(graph, dimensions), plan
        self._places = TflitePlaces(self._edit.model, graph)
        self._scales: dict[TensorPlace, StoredQuantization] = {}

    def data(self) -> bytes:
        """The new file."""
        check_plan(self._uses, self._plan)
        edits = model_edits(self._uses, self._plan, self._read)
        for constant in edits.constants:
            self._constant(constant)
        for edit in edits.attributes:
            self._attribute(edit)
        for bias in edits.biases:
            self._bias(bias)
        self._follow(self._plan.kept)
        return self._edit.data()

    def _read(self, use: Use) -> StoredElements:
        """Elements of a stored constant. Raises NotAppliedError."""
        return stored_elements(self._edit.model, self._edit.tensor(self._places.read_by(use)))

    def _constant(self, edit: ConstantEdit) -> None:
        """Write a constant in place, or as a copy for its uses."""
        place = self._places.read_by(edit.uses[0])
        tensor = self._edit.tensor(place)
        raw = tensor_codes.packed(edit.codes, tensor_codes.BITS[edit.elem_type])
        scales = _moved(tensor, edit.places)
        if edit.copied:
            new = NewTensor(f"{tensor.name}_2", tensor.elem_type, edit.codes.shape, raw, scales)
            copy = self._edit.add_tensor(place.subgraph, new)
            for use in edit.uses:
                self._edit.set_input(self._places.operator(use[0]), use[1], copy)
        else:
            self._edit.set_values(place, raw)
            self._edit.set_shape(place, edit.codes.shape)
            if scales is not None and scales != tensor.quantization:
                self._edit.set_quantization(place, scales)
                self._scales[place] = scales
        for use in edit.uses:
            self._restate(use, edit)

    def _restate(self, use: Use, edit: ConstantEdit) -> None:
        """Repeat in an operator's options the sizes that its input gives, where they stood there before."""
        place = self._places.operator(use[0])
        stated = self._edit.operator(place).options.get("new_shape")
        if use[1] == 1 and isinstance(stated, tuple) and len(stated) == edit.codes.size:
            values = edit.codes.view(np.dtype(edit.elem_type)).reshape(-1)
            self._edit.set_option(place, "new_shape", tuple(int(value) for value in values))

    def _attribute(self, edit: AttributeEdit) -> None:
        """Write one number of an option."""
        place = self._places.operator(edit.node)
        value = self._edit.option(place, edit.attribute)
        if isinstance(value, tuple):
            numbers = [int(each) for each in value]
            numbers[edit.element] = edit.value
            self._edit.set_option(place, edit.attribute, tuple(numbers))
        else:
            self._edit.set_option(place, edit.attribute, edit.value)

    def _bias(self, bias: BiasEdit) -> None:
        """Give a layer a bias that holds its increments, in the unit of its sum."""
        node = self._uses.graph.nodes[bias.reader]
        data, weights = self._places.tensors[node.inputs[0]], self._places.tensors[node.inputs[1]]
        factors = self._scales.get(weights, self._edit.tensor(weights).quantization)
        values = bias.codes.view(np.dtype(bias.elem_type))
        new = new_bias(self._edit.tensor(data), self._edit.tensor(weights), factors, values)
        place = self._places.operator(bias.node)
        self._edit.set_input(place, bias.position, self._edit.add_tensor(place.subgraph, new))

    def _follow(self, kept: Kept) -> None:
        """Give every tensor that operators compute its new sizes. Raises NotAppliedError."""
        sizes = {leaf: len(lanes) for leaf, lanes in kept.items()}
        for key, place in self._places.tensors.items():
            axes = self._uses.dimensions.axes(key) or ()
            if self._uses.stored(key) or not any(leaf in sizes for axis in axes for leaf in leaves(axis)):
                continue
            shape = [resized(axis, sizes) for axis in axes]
            if None in shape:
                raise NotAppliedError(f"the new shape of `{key}` is not known")
            stored = self._edit.tensor(place).quantization
            if stored is not None and len(stored.scales) > 1:
                raise NotAppliedError(f"`{key}` has a scale for each channel and is computed")
            self._edit.set_shape(place, [size or 0 for size in shape])


def _moved(tensor: TfliteTensor, places: Sequence[Places | None]) -> StoredQuantization | None:
    """Scales and zero-points where their axis is rearranged; a new index takes those of the first one.

    A vector has one axis, whatever older converters wrote. Raises NotAppliedError for scales that lie along no axis.
    """
    old = tensor.quantization
    if old is None or len(old.scales) < 2 or not places:
        return old
    axis = old.axis if len(places) > 1 else 0
    if not 0 <= axis < len(places) or tensor.shape[axis] != len(old.scales):
        raise NotAppliedError(f"`{tensor.name}` has {len(old.scales)} scales that do not lie along axis {old.axis}")
    chosen = places[axis]
    if chosen is None:
        return old
    scales = tuple(old.scales[index or 0] for index in chosen)
    if len(old.zero_points) != len(old.scales):
        return old._replace(scales=scales)
    return old._replace(scales=scales, zero_points=tuple(old.zero_points[index or 0] for index in chosen))
