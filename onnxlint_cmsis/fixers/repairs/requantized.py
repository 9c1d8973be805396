"""Repairs of scales, zero-points, types and biases: equal scales, kept clamps, signed integers, useless pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.classes import DEQUANTIZED, INT32, bias_slot
from onnxlint_cmsis.fixers.edits.onnx import dequantizer_domain
from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.fits.signed_integers import filled_with, hands_on, unsigned_tensors
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.checks import common_of, function_output, holds, linked_groups, real_range
from onnxlint_cmsis.lower.epilogue import CLAMPING, is_clamp
from onnxlint_cmsis.lower.layer import parameters_of
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.quantization import (
    MOVES,
    STORED,
    AffineQuantization,
    dequantizes,
    keeps_scale,
    of_integers,
    quantizes,
    weights_behind,
)
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.curve import CLIP, RELU
from onnxlint_cmsis.operators.quantization import DEQUANTIZE_LINEAR, QUANTIZE_LINEAR
from onnxlint_cmsis.operators.record import Elements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.fixers.edits.onnx import GraphEdit
    from onnxlint_cmsis.formats.onnx.document import Codes
    from onnxlint_cmsis.lower.checks import ScaleNumbers


# The bias of a layer in another unit, where the scale of its input changes.


LIMITS = np.iinfo(np.int32)


def rescale_bias(edit: GraphEdit, record: LoweredLayer, old: float, new: float) -> None:
    """Store a layer's bias in steps of the new input scale times weight scale. Raises NotAppliedError.

    `old` and `new` are the scales of the layer's input. A bias in float stays.
    """
    graph, node = edit.graph, record.node
    slot = bias_slot(graph, node)
    if slot is None:
        position = operator_of(node).roles.bias
        if node.has(position):
            raise NotAppliedError(f"the bias of {node.label} is not stored as it is used")
    if slot is None or not slot.tensor or slot.kind not in (INT32, DEQUANTIZED):
        return
    reader = graph.nodes[slot.node]
    if slot.kind == INT32:
        integers = _reals(edit.stored(reader, slot.position).codes)
        edit.connect(reader, slot.position, _rescaled(edit, slot.tensor, integers * (old / new)))
        return
    dequantizer = graph.producers[reader.inputs[slot.position]]  # which gets the new scales
    integers = _reals(edit.stored(dequantizer, 0).codes)
    weights = np.array(record.weights.scales if record.weights and record.weights.scales else (1.0,), np.float32)
    units, have = np.float32(new) * weights, edit.stored(dequantizer, 1).codes
    if units.size not in (1, integers.size):
        raise NotAppliedError(f"the scales of {node.label} are not one for each output channel")
    reals = integers.reshape(-1) * np.resize(np.array(slot.scales), integers.size)
    numbers = (reals / np.resize(units, integers.size)).reshape(integers.shape)
    edit.connect(dequantizer, 0, _rescaled(edit, slot.tensor, numbers))
    if have.size < units.size:
        edit.set_attributes(dequantizer, axis=int(np.argmax(integers.shape)))
        if len(dequantizer.inputs) > 2:
            edit.connect(dequantizer, 2, "")  # zeros, one for each scale
    scales = units if have.size < units.size else np.resize(units, have.size).reshape(have.shape)
    edit.connect(dequantizer, 1, edit.add_constant(f"{slot.tensor}_new_scale", "float32", scales.view("<u4")))


def _reals(codes: Codes) -> NDArray[np.float64]:
    """Numbers of an int32 constant."""
    return codes.view(np.int32).astype(np.float64)


def _rescaled(edit: GraphEdit, tensor: str, numbers: NDArray[np.float64]) -> str:
    """Store rounded numbers as int32. Raises NotAppliedError where one has no room."""
    rounded = np.rint(numbers)
    if rounded.size and (rounded.min() < LIMITS.min or rounded.max() > LIMITS.max):
        raise NotAppliedError(f"the numbers of `{tensor}` leave int32 in the new unit")
    return edit.add_constant(f"{tensor}_rescaled", "int32", rounded.astype(np.int32).view("<u4"))


# A bias of zeros for a convolution without one, where the kernel adds offsets to the address of a missing bias.


def apply_zero_bias(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Store int32 zeros, behind a DequantizeLinear of input scale times weight scale where the layer wants reals."""
    node, slot = record.node, bias_slot(edit.graph, record.node)
    channels = record.layer.call.output_dims.c if record.layer else None
    if slot is None or channels is None:
        raise NotAppliedError(f"the output channels of {node.label} are not known")
    like = f"{node.name or node.outputs[0]}_bias"
    name = edit.add_constant(like, "int32", np.zeros(channels, "<u4"))
    if slot.kind == DEQUANTIZED:
        scales = np.array(slot.scales, "<f4").view("<u4")
        scales = scales if scales.size > 1 else scales.reshape(())
        zeros, scale = name, edit.add_constant(f"{name}_scale", "float32", scales)
        name = edit.fresh(f"{zeros}_real")
        domain = dequantizer_domain(edit.graph, node.inputs[operator_of(node).roles.weights[0]])
        axis = {"axis": 0} if scales.ndim else {}
        edit.insert(node, DEQUANTIZE_LINEAR.name, [zeros, scale], [name], domain=domain, **axis)
    edit.connect(node, slot.position, name)
    return RepairMade("gets a bias of zeros", (node.outputs[0],))


# Integer tensors that nodes read and make, and tensors with the same integers, moved or clamped.


class IntegerCarriers:
    """The integer tensors of one model."""

    def __init__(self, graph: Graph, records: Iterable[LoweredLayer]) -> None:
        self._graph = graph
        self._ends = {record.node.outputs[0]: record.epilogue.tensor for record in records if record.epilogue}

    def carrier(self, tensor: str) -> str:
        """The integers behind a tensor that a node reads or makes; empty where there are none."""
        graph = self._graph
        for _ in range(len(graph.nodes) + 1):
            if graph.elem_type(tensor) in STORED:
                return tensor
            if tensor in self._ends:
                tensor = self._ends[tensor]
                continue
            producer = graph.producers.get(tensor)
            moves = producer is not None and (dequantizes(producer) or operator_of(producer).elements in MOVES)
            if producer is None or not moves or not producer.inputs:
                return ""
            tensor = producer.inputs[0]
        return ""

    def alike(self, tensor: str) -> tuple[str, ...]:
        """A tensor with all that hold its integers moved, chosen from or clamped, with the same parameters."""
        members, waiting = {tensor: None}, [tensor]
        while waiting:
            name = waiting.pop()
            for other in (*self._before(name), *self._behind(name)):
                if other not in members:
                    members[other] = None
                    waiting.append(other)
        return tuple(members)

    def _behind(self, tensor: str) -> Iterator[str]:
        for reader in self._graph.consumers.get(tensor, ()):
            if dequantizes(reader) and tensor == reader.inputs[0]:
                yield from self._requantized(tensor, reader.outputs[0])
            elif keeps_scale(reader) and parameters_of(reader, -1) is None and not quantizes(reader):
                yield reader.outputs[0]

    def _requantized(self, tensor: str, real: str) -> Iterator[str]:
        """Integers that a QuantizeLinear of the same parameters makes of a real tensor that is moved or clamped."""
        for reader in self._graph.consumers.get(real, ()):
            if quantizes(reader) and reader.inputs[0] == real:
                if self._same(tensor, reader.outputs[0]):
                    yield reader.outputs[0]
            elif self._real_step(reader, real):
                yield from self._requantized(tensor, reader.outputs[0])

    def _before(self, tensor: str) -> Iterator[str]:
        producer = self._graph.producers.get(tensor)
        if producer is None or not producer.inputs:
            return
        if quantizes(producer):
            source = self._source(producer.inputs[0])
            if source and self._same(tensor, source):
                yield source
        elif keeps_scale(producer) and parameters_of(producer, -1) is None:
            yield from (name for name in producer.inputs if self._graph.elem_type(name) in STORED and name)

    def _source(self, real: str) -> str:
        """Integers that a real tensor is made of by DequantizeLinear, moves and clamps; empty where there are none."""
        for _ in range(len(self._graph.nodes) + 1):
            producer = self._graph.producers.get(real)
            if producer is None or not producer.inputs:
                return ""
            if dequantizes(producer):
                return producer.inputs[0]
            if not self._real_step(producer, producer.inputs[0]):
                return ""
            real = producer.inputs[0]
        return ""

    def _real_step(self, node: Node, real: str) -> bool:
        moves = operator_of(node).elements in MOVES and not (quantizes(node) or dequantizes(node))
        return bool(node.outputs) and node.inputs[0] == real and (moves or is_clamp(self._graph, node))

    def _same(self, *tensors: str) -> bool:
        """Whether two integer tensors have the same parameters."""
        first, second = (of_integers(self._graph, tensor) for tensor in tensors)
        return first is not None and second is not None and first.equals(second)


# The bounds of a tensor's old integers kept as a Clip, where its new ones reach farther.


BOUNDS_AS_INPUTS = 11
"""First operator set whose Clip takes its bounds as inputs."""
INFINITE = float("inf")


def keep_clamp(
    edit: GraphEdit, tensor: str, old: AffineQuantization, wanted: AffineQuantization, parameters: tuple[str, str]
) -> None:
    """Clamp what is stored in a tensor to its old range where the new one is wider by half a step or more.

    Saturation clamps: ONNX Runtime's quantizer leaves a Relu out where the zero-point is the lowest integer. Kernels
    with weights, Add, Mul and pools compute a Clip along; behind other nodes none is added. `parameters` are
    the names of the new scale and zero-point. Raises NotAppliedError.
    """
    record = next((record for record in edit.records if record.epilogue and record.epilogue.tensor == tensor), None)
    if record is None or record.layer is None or record.layer.call.function not in CLAMPING:
        return
    (low, high), (least, most), half = real_range(old), real_range(wanted), wanted.scale / 2
    floor, ceiling = _clamped(edit.graph, record)
    bounds = (
        low if max(least, floor) < low - half else None,
        high if min(most, ceiling) > high + half else None,
    )
    producer = edit.graph.producers[tensor]
    if bounds == (None, None):
        return
    if quantizes(producer):
        clipped = edit.fresh(f"{tensor}_clipped")
        _clip(edit, producer, (edit.inputs(producer)[0], clipped), bounds)
        edit.connect(producer, 0, clipped)
    elif tensor in edit.graph.outputs:
        raise NotAppliedError(f"`{tensor}` is an output of the model, which no Clip can follow under its name")
    else:
        real, clipped, within = (edit.fresh(f"{tensor}_{word}") for word in ("real", "clipped", "within"))
        edit.insert_behind(producer, QUANTIZE_LINEAR.name, [clipped, *parameters], [within])
        _clip(edit, producer, (real, clipped), bounds, behind=True)
        edit.insert_behind(producer, DEQUANTIZE_LINEAR.name, [tensor, *parameters], [real])
        for reader in edit.graph.consumers.get(tensor, ()):
            for position in (position for position, name in enumerate(reader.inputs) if name == tensor):
                edit.connect(reader, position, within)


def _clip(
    edit: GraphEdit,
    node: Node,
    tensors: tuple[str, str],
    bounds: tuple[float | None, float | None],
    *,
    behind: bool = False,
) -> None:
    """Put a Clip right before or behind a node; `tensors` are its source and result."""
    source, result = tensors
    insert = edit.insert_behind if behind else edit.insert
    if edit.default_opset < BOUNDS_AS_INPUTS:
        low, high = bounds
        insert(node, CLIP.name, [source], [result], min=-INFINITE if low is None else low, max=high or INFINITE)
        return
    names = [
        "" if bound is None else edit.add_constant(f"{result}_{word}", "float32", np.array(bound, "<f4").view("<u4"))
        for word, bound in zip(("least", "most"), bounds, strict=True)
    ]
    insert(node, CLIP.name, [source, *names], [result])


def _clamped(graph: Graph, record: LoweredLayer) -> tuple[float, float]:
    """Bounds that the clamps of a layer give already."""
    low, high = -INFINITE, INFINITE
    for node in record.epilogue.clamps if record.epilogue else ():
        if operator_of(node) is RELU:
            low = max(low, 0.0)
            continue
        numbers = [weights_behind(graph, name) if name else None for name in node.inputs[1:3]]
        values = [constant.values() if constant is not None else None for constant in numbers]
        if values and values[0]:
            low = max(low, float(values[0][0]))
        if len(values) > 1 and values[1]:
            high = min(high, float(values[1][0]))
    return low, high


# Other scales and zero-points for integer tensors, with all that makes, reads or adds to them.


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
        return tuple(name for name in every if name in self._edit.graph.outputs)

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


# Softmax's result with the scale and zero-point that CMSIS-NN gives it.


def apply_softmax_output(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Change the scale and zero-point of the result and of all that reads it. Raises NotAppliedError."""
    fixed = function_output(record)
    if fixed is None or record.output is None or record.epilogue is None:
        return RepairMade("", ())
    wanted, words = fixed
    requantizing = Requantizing(edit)
    requantizing.give((record.epilogue.tensor,), wanted)
    zero = (wanted.zero_points or (0,))[0]
    old_zero = (record.output.zero_points or (0,))[0]
    text = f"writes scale {words} and zero-point {zero}, not {record.output.scale:.6g} and {old_zero}"
    told = [outputs_told(requantizing.outputs((record.epilogue.tensor,)), words, zero)]
    return RepairMade("; ".join(filter(None, (text, *told))), ())


def outputs_told(names: tuple[str, ...], scale: str, zero: int) -> str:
    """What whoever reads integers of the model has to change; empty where no output holds any."""
    if not names:
        return ""
    listed = ", ".join(f"`{name}`" for name in names)
    return f"whoever reads output {listed} has to take scale {scale} and zero-point {zero} from now on"


# One scale and zero-point for all that a function copies integers between: pools, Concat, Pad, Transpose, Max, Min.


def apply_equal_scales(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Give all tensors that hang together with the node's one scale and zero-point. Raises NotAppliedError."""
    requantizing = Requantizing(edit)
    group = _group(edit, requantizing, record)
    if not group:
        raise NotAppliedError("no tensor of the graph holds its integers")
    wanted = _wanted(edit.graph, requantizing, group)
    requantizing.give(tuple(group), wanted)
    zero = (wanted.zero_points or (0,))[0]
    told = outputs_told(requantizing.outputs(tuple(group)), f"{wanted.scale:.9g}", zero)
    text = f"reads and writes one scale, {wanted.scale:.6g}, and zero-point {zero}"
    return RepairMade("; ".join(filter(None, (text, told))), ())


def _group(edit: GraphEdit, requantizing: Requantizing, record: LoweredLayer) -> ScaleNumbers:
    """Integer tensors that need one quantization, with what they have."""
    name = requantizing.carriers.carrier
    groups = linked_groups(edit.records, [record], name)
    ends = [(name(record.node.inputs[0]), record.inputs[0]), (name(record.node.outputs[0]), record.output)]
    if not groups:
        return {tensor: numbers for tensor, numbers in ends if tensor and numbers is not None}
    return {tensor: numbers for group in groups for tensor, numbers in group.items() if tensor}


def _wanted(graph: Graph, requantizing: Requantizing, group: ScaleNumbers) -> AffineQuantization:
    """What all of a group get: that of an input of the model where it is part of it. Raises NotAppliedError."""
    every = {name for tensor in group for name in requantizing.carriers.alike(tensor)}
    given = [numbers for name in sorted(every & {*graph.inputs}) if (numbers := of_integers(graph, name)) is not None]
    if not given:
        common = common_of(group.values())
        return common._replace(scales=tuple(float(np.float32(scale)) for scale in common.scales or ()))
    if not all(holds(given[0], *real_range(numbers)) for numbers in (*given, *group.values())):
        raise NotAppliedError("an input of the model holds its integers, whose scale is too narrow for its output")
    return given[0]


# uint8 as int8: 128 off each integer and off each zero-point, so that every real number stays.


OFFSET = 0x80
"""128, which is added to or taken off the bit pattern of 8 bits by flipping the highest one."""


def apply_signed_integers(edit: GraphEdit, _record: LoweredLayer) -> RepairMade:
    """Make int8 of all uint8 tensors that can be. Raises NotAppliedError.

    Inputs and outputs of the model keep their type, and so does what an operator ties to them. What operators between
    the tensors clamp to or pad with becomes int8 as well.
    """
    tensors = list(unsigned_tensors(edit.graph))
    shifting = _Shifting(edit)
    for tensor in tensors:
        shifting.retype(tensor)
    text = f"and {len(tensors) - 1} more tensors become int8: 128 off their integers and zero-points"
    return RepairMade(text if len(tensors) > 1 else "reads int8: 128 off its integers and zero-point", ())


class _Shifting:
    """Tensors and zero-points of one model in the making, 128 lower."""

    def __init__(self, edit: GraphEdit) -> None:
        self._edit = edit
        self._done: set[tuple[int, int]] = set()
        """Integers that are int8 already, by node and input."""
        self._constants: dict[tuple[str, tuple[int, ...]], str] = {}
        """New constants by the old ones, or by the shape of those that are not given."""

    def retype(self, tensor: str) -> None:
        """Make int8 of one tensor. Raises NotAppliedError."""
        edit, graph = self._edit, self._edit.graph
        ends = [
            (node, position)
            for node in graph.consumers.get(tensor, ())
            for position, name in enumerate(node.inputs)
            if name == tensor
        ]
        if graph.stores(tensor):
            for node, position in ends:
                self._connect(node, position, tensor, ())
        else:
            edit.forget(tensor)
            ends.append((graph.producers[tensor], -1))
        for node, value in ends:
            for position, default in _integers_of_type(node, value):
                self._shift(node, position, default)
            if quantizes(node):
                edit.set_attributes(node, "output_dtype")

    def _shift(self, node: Node, position: int, default: bool) -> None:
        """Take 128 off an integer that a node reads; `default` tells that one that is not given stands for 0."""
        if (node.index, position) in self._done:
            return
        self._done.add((node.index, position))
        name = node.inputs[position] if position < len(node.inputs) else ""
        if name or default:
            shape: tuple[int, ...] = ()
            if not name and not hands_on(node) and position - 1 < len(node.inputs):
                shape = tuple(
                    size or 1 for size in self._edit.graph.shape(node.inputs[position - 1]) or ()
                )  # its scale's
            self._connect(node, position, name, shape)

    def _connect(self, node: Node, position: int, name: str, shape: tuple[int, ...]) -> None:
        """Make a node read a constant 128 lower; without a name one of zeros."""
        edit = self._edit
        if (name, shape) not in self._constants:
            codes = edit.stored(node, position).codes if name else np.zeros(shape, np.uint8)
            constant = edit.add_constant(f"{name or 'zero_point'}_int8", "int8", codes ^ np.uint8(OFFSET))
            self._constants[name, shape] = constant
        edit.connect(node, position, self._constants[name, shape])


def _integers_of_type(node: Node, value: int) -> Iterator[tuple[int, bool]]:
    """Inputs that hold an integer of a value's type; whether one that is missing stands for 0."""
    if hands_on(node) and parameters_of(node, value) is None:
        padded = operator_of(node).elements is Elements.PADDED
        return ((position, padded) for position in filled_with(node))
    carried = parameters_of(node, value)
    return iter([(carried.zero_point if carried else 2, True)])


# DequantizeLinear and QuantizeLinear taken out where the second gives back the integers that the first reads.


def apply_useless_pairs(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Let all that read the QuantizeLinear read what the DequantizeLinear reads."""
    node, graph = record.node, edit.graph
    source = edit.inputs(graph.producers[node.inputs[0]])[0]
    for reader in graph.consumers.get(node.outputs[0], ()):
        for position, name in enumerate(reader.inputs):
            if name == node.outputs[0]:
                edit.connect(reader, position, source)
    return RepairMade("goes, with the DequantizeLinear before it", ())
