"""A plan applied to a `.tflite` file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.edits.tflite_constants import new_bias, stored_elements
from onnxlint_cmsis.fixers.edits.tflite_sites import TfliteSites
from onnxlint_cmsis.fixers.planning.layouts import Places, check_plan
from onnxlint_cmsis.fixers.planning.model_edits import BiasEdit, ConstantEdit, model_edits
from onnxlint_cmsis.fixers.planning.uses import Uses
from onnxlint_cmsis.formats.onnx import element_codes
from onnxlint_cmsis.formats.onnx.tensors import BITS
from onnxlint_cmsis.formats.tflite.edit import TfliteEdit
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.model.axes import leaves, resized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxlint_cmsis.analysis.constants import Use
    from onnxlint_cmsis.analysis.dimensions import Dimensions
    from onnxlint_cmsis.fixers.planning.elements import StoredElements
    from onnxlint_cmsis.fixers.planning.plan import Kept, Plan
    from onnxlint_cmsis.fixers.planning.size_numbers import AttributeEdit
    from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
    from onnxlint_cmsis.formats.tflite.places import TensorPlace
    from onnxlint_cmsis.model.graph import Graph, StoredQuantization


def apply_to_tflite(data: bytes, graph: Graph, dimensions: Dimensions, plan: Plan) -> bytes:
    """The bytes of a new file; `graph` and `dimensions` are those of `data`. Raises NotAppliedError, ModelError."""
    return _Resize(data, graph, dimensions, plan).data()


class _Resize:
    """One plan applied to one file."""

    def __init__(self, data: bytes, graph: Graph, dimensions: Dimensions, plan: Plan) -> None:
        self._edit = TfliteEdit(graph.path, data)
        self._uses, self._plan = Uses(graph, dimensions), plan
        self._sites = TfliteSites(self._edit, graph)
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
        return stored_elements(self._edit.model, self._edit.tensor(self._sites.read_by(use)))

    def _constant(self, edit: ConstantEdit) -> None:
        """Write a constant in place, or as a copy for its uses."""
        site = self._sites.read_by(edit.uses[0])
        scales = _moved(self._edit.tensor(site), edit.places)
        raw = element_codes.packed(edit.codes, BITS[edit.elem_type])
        self._sites.write(edit.uses, edit.codes.shape, raw, scales, copied=edit.copied)
        if scales is not None and not edit.copied:
            self._scales[site] = scales
        for use in edit.uses:
            self._restate(use, edit)

    def _restate(self, use: Use, edit: ConstantEdit) -> None:
        """Repeat in an operator's options the sizes that its input gives, where they stood there before."""
        site = self._sites.operator(use[0])
        stated = self._edit.operator(site).options.get("new_shape")
        if use[1] == 1 and isinstance(stated, tuple) and len(stated) == edit.codes.size:
            values = edit.codes.view(np.dtype(edit.elem_type)).reshape(-1)
            self._edit.set_option(site, "new_shape", tuple(int(value) for value in values))

    def _attribute(self, edit: AttributeEdit) -> None:
        """Write one number of an option."""
        site = self._sites.operator(edit.node)
        value = self._edit.option(site, edit.attribute)
        if isinstance(value, tuple):
            numbers = [int(number) for number in value]
            numbers[edit.element] = edit.value
            self._edit.set_option(site, edit.attribute, tuple(numbers))
        else:
            self._edit.set_option(site, edit.attribute, edit.value)

    def _bias(self, bias: BiasEdit) -> None:
        """Give a layer a bias that holds its increments, in the unit of its sum."""
        node = self._uses.graph.nodes[bias.reader]
        data, weights = self._sites.tensors[node.inputs[0]], self._sites.tensors[node.inputs[1]]
        factors = self._scales.get(weights, self._edit.tensor(weights).quantization)
        values = bias.codes.view(np.dtype(bias.elem_type))
        new = new_bias(self._edit.tensor(data), self._edit.tensor(weights), factors, values)
        site = self._sites.operator(bias.node)
        self._edit.set_input(site, bias.position, self._edit.add_tensor(site.subgraph, new))

    def _follow(self, kept: Kept) -> None:
        """Give every tensor that operators compute its new sizes. Raises NotAppliedError."""
        sizes = {leaf: len(lanes) for leaf, lanes in kept.items()}
        for key, site in self._sites.tensors.items():
            axes = self._uses.dimensions.axes(key) or ()
            if self._uses.stored(key) or not any(leaf in sizes for axis in axes for leaf in leaves(axis)):
                continue
            shape = [resized(axis, sizes) for axis in axes]
            if None in shape:
                raise NotAppliedError(f"the new shape of `{key}` is not known")
            stored = self._edit.tensor(site).quantization
            if stored is not None and len(stored.scales) > 1:
                raise NotAppliedError(f"`{key}` has a scale for each channel and is computed")
            self._edit.set_shape(site, [size or 0 for size in shape])


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
