"""Layers that can be computed in groups of channels: a convolution that a depthwise one follows, channel by channel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel, TfliteOperator, TfliteTensor

TYPES = ("INT8", "INT16")
"""Types of activations whose layers are certified channel by channel, and that CONCATENATION joins."""
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D")
RANK = 4
ROWS, COLUMNS, CHANNELS = 1, 2, 3
"""Axes of a result that parts of it are joined along."""


class Segment(NamedTuple):
    """Operators that follow each other in the main subgraph."""

    operators: tuple[int, ...]
    """Their numbers."""
    size: int
    """Channels that the first one makes, or rows or columns of the result of the last one."""
    axis: int = CHANNELS
    """CHANNELS for groups of channels, ROWS or COLUMNS for bands of them."""

    @property
    def parts(self) -> str:
        """What it is computed in."""
        return {ROWS: "bands of rows", COLUMNS: "bands of columns", CHANNELS: "groups of channels"}[self.axis]

    def label(self, model: TfliteModel) -> str:
        """`CONV_2D#2..DEPTHWISE_CONV_2D#3`."""
        ends = self.operators[0], self.operators[-1]
        return "..".join(f"{model.subgraphs[0].operators[number].op}#{number}" for number in ends)


def segments(model: TfliteModel) -> Iterator[Segment]:
    """Every segment, those that end with a pool also without it."""
    main = model.subgraphs[0]
    readers = Counter(number for operator in main.operators for number in operator.inputs)
    readers.update(main.outputs)
    for start, operator in enumerate(main.operators):
        if operator.op != "CONV_2D" or not _cuttable(model, main, operator):
            continue
        numbers, depthwise = [start], False
        channels = main.tensors[operator.outputs[0]].shape[-1]
        for number in range(start + 1, len(main.operators)):
            before, following = main.operators[number - 1], main.operators[number]
            alone = following.inputs[:1] == before.outputs and readers[before.outputs[0]] == 1
            if not alone or not _follows(model, main, following, channels, depthwise=depthwise):
                break
            numbers.append(number)
            depthwise = depthwise or following.op == "DEPTHWISE_CONV_2D"
            if depthwise:
                yield Segment(tuple(numbers), channels)


def _follows(model: TfliteModel, main: Subgraph, operator: TfliteOperator, channels: int, *, depthwise: bool) -> bool:
    """Tell if an operator computes each channel by itself, and may stand there: one depthwise, then at most pools."""
    if operator.op == "DEPTHWISE_CONV_2D":
        cuttable = not depthwise and _cuttable(model, main, operator)
        return cuttable and main.tensors[operator.outputs[0]].shape[-1] == channels
    if operator.op == "PAD":
        return not depthwise and _plain(main, operator) and _pads_planes(model, main, operator)
    return operator.op in POOLS and depthwise and _plain(main, operator)


def _plain(main: Subgraph, operator: TfliteOperator) -> bool:
    """Tell whether data and result are of one type of rank 4 with one scale."""
    tensors = [main.tensors[number] for number in (operator.inputs[0], *operator.outputs)]
    return (
        len(tensors) == 2
        and tensors[0].elem_type == tensors[1].elem_type
        and all(tensor.elem_type in TYPES and _one_scale(tensor) for tensor in tensors)
    )


def _one_scale(tensor: TfliteTensor) -> bool:
    stored = tensor.quantization
    known = len(tensor.shape) == RANK and not tensor.is_variable and tensor.signature[-1:] != (-1,)
    return known and (stored is None or len(stored.scales) <= 1)


def _cuttable(model: TfliteModel, main: Subgraph, operator: TfliteOperator) -> bool:
    """Tell whether weights and bias are constants that can be cut along the output channels; no group reads a part."""
    if len(operator.inputs) not in (2, 3) or not _plain(main, operator):
        return False
    data, weights = (main.tensors[number] for number in operator.inputs[:2])
    if len(weights.shape) != RANK:
        return False
    channels = main.tensors[operator.outputs[0]].shape[-1]
    axis = channel_axis(operator)
    whole = operator.op == "DEPTHWISE_CONV_2D" or weights.shape[-1] == data.shape[-1]
    bias = [main.tensors[number] for number in operator.inputs[2:] if number >= 0]
    return (
        weights.shape[axis] == channels
        and whole
        and all(_stored(model, tensor) for tensor in (weights, *bias))
        and all(tensor.shape == (channels,) for tensor in bias)
    )


def _stored(model: TfliteModel, tensor: TfliteTensor) -> bool:
    """Tell whether a constant is stored element by element in whole bytes, with one scale or one for each channel."""
    return model.is_constant(tensor) and not tensor.encoding and tensor.elem_type != "INT4"


def _pads_planes(model: TfliteModel, main: Subgraph, operator: TfliteOperator) -> bool:
    """Tell whether a PAD adds no channels and no images."""
    amounts = main.tensors[operator.inputs[1]] if len(operator.inputs) == 2 else None
    if amounts is None or amounts.elem_type != "INT32" or amounts.shape != (RANK, 2) or not model.is_constant(amounts):
        return False
    data, result = (main.tensors[number].shape for number in (operator.inputs[0], operator.outputs[0]))
    return data[0] == result[0] and data[-1] == result[-1]


def channel_axis(operator: TfliteOperator) -> int:
    """The axis of the weights that has the output channels."""
    return 3 if operator.op == "DEPTHWISE_CONV_2D" else 0
