"""Numbers use few of the integers that their type has.

* Weights with one scale for the whole layer: a channel with at most 15 of 255 integers beside one with more than half
  of them. In fully connected layers it is a note, as not every runtime takes a scale for each output.
* An operand of Add, Sub or Concat that changes the result by no more than one step.
* A note: a result that provably uses less than half of its integers, 0 counted in, or of which more than one channel
  in 16 changes by at most 16 steps beside others that may use half.

The rule reads weights, in files up to `size-checks-limit`, and not with `weights = false`.

**What to do.** Give each output channel its own scale. Where channels share the scale of a result, multiply the
weights of a channel by a number before, and divide what reads the channel by it. Else calibrate with data that the
device will see, or quantize in 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, TypeGuard

from numpy.typing import NDArray

from onnxlint_cmsis.checks.quantizer_advice import advice
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Function, Level
from onnxlint_cmsis.lower.find_quantization import of_integers
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import operands_of
from onnxlint_cmsis.lower.quantization import AffineQuantization
from onnxlint_cmsis.lower.signed_sums import SignedSums, signed_sums, sums_of_integers
from onnxlint_cmsis.lower.stored_types import EIGHT_BITS, SIXTEEN_BITS, dequantizes
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.node_location import node_location
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.model.searches import along

_MODEL = """
g (int8[1, 2, 8, 8] x) => (int8[1, 2, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[2, 1, 1, 1] w = {WEIGHTS}, SCALES> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear<axis = 0>(w, t, u)
    c = Conv<group = 2>(a, b)
    y = QuantizeLinear(c, s, z)
}
"""

RULE = Rule(
    code="CNN517",
    name="few-levels",
    level=Level.WARNING,
    effect=Effect.NOTE,
    summary="Numbers use few of the integers that their type has.",
    docs=__doc__,
    bad=Example(_MODEL.replace("WEIGHTS", "1, 127").replace("SCALES", "float t = {0.01}, int8 u = {0}")),
    good=Example(
        _MODEL.replace("WEIGHTS", "100, 127").replace("SCALES", "float[2] t = {0.005, 0.01}, int8[2] u = {0, 0}")
    ),
)

FEW = 16
"""What uses less than one in so many of its integers has few."""
JOINED = ("Add", "Sub", "Sum", "Concat")
"""Operators whose operands share the scale of the result."""


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each layer with such weights or such a result, and for each such operand."""
    for record in subject.lowered.records:
        weights = [*_weights(subject, record)]
        yield from weights or _results(subject, record)
        if canonical(record.node) in JOINED:
            yield from _operands(subject.model.graph, record.node)


def _weights(subject: ModelSubject, record: LoweredLayer) -> Iterator[Statement]:
    """A layer whose one scale leaves some output channels few integers."""
    import numpy as np

    graph, node, layer = subject.model.graph, record.node, record.layer
    form, second = operator_of(node).roles.form, operator_of(node).roles.second
    if layer is None or form is None or not record.weighted or not node.has(second):
        return
    producer = graph.producers.get(node.inputs[second])
    tensor = producer.inputs[0] if producer is not None and dequantizes(producer) else node.inputs[second]
    numbers = record.weights or of_stored(graph, tensor)
    if numbers is None or not numbers.known or len(numbers.scales or ()) != 1 or tensor not in graph.constants:
        return
    stored = subject.model.read_allowed(tensor)
    if not _holds_integers(stored) or numbers.elem_type not in EIGHT_BITS:
        return
    axis = 0 if form is Form.GEMM and node.int("transB") else form.outputs(stored.ndim)
    rows, zero = np.moveaxis(stored, axis, 0).reshape(stored.shape[axis], -1), (numbers.zero_points or (0,))[0]
    low, high = (ends.astype(np.int64) - zero for ends in (rows.min(axis=1), rows.max(axis=1)))
    reach = np.maximum(np.abs(low), np.abs(high))
    few, worst, best = _few(reach, 127)
    if not few:
        return
    named = f"{node.op_type} '{node.label}'"
    ends = [f"{low[at]} to {high[at]}" for at in (worst, best)]
    text = (
        f"{named}: {few} of {reach.size} output channels have few integers, as one scale holds for all: the"
        f" weights of channel {worst} those from {ends[0]}, of channel {best} those from {ends[1]}."
    )
    dense = layer.call.function is Function.FULLY_CONNECTED
    remedy = advice(graph, "Quantize the weights with one scale for each output channel", "per_channel=True")
    level = Level.NOTE if dense else None
    yield Statement(
        text, node_location(graph.path, node), level=level, group="dense weights" if dense else "weights", remedy=remedy
    )


def _holds_integers(stored: NDArray[Any] | None) -> TypeGuard[NDArray[Any]]:
    """Tell whether weights were read, and are integers of at least two axes; a damaged file may have none of them."""
    return stored is not None and stored.ndim > 1 and stored.size > 0 and stored.dtype.kind in "iu"


def _few(reach: NDArray[Any], full: float) -> tuple[int, int, int]:
    """How many channels hold few integers beside one that holds most, and the channels with the least and the most.

    `reach` is the largest distance from 0 in each channel, `full` that of the type; a channel of zeros is not counted.
    """
    import numpy as np

    few = (reach > 0) & (reach * FEW <= full)
    if reach.max(initial=0) * 2 <= full or not few.any():
        return 0, 0, 0
    return int(few.sum()), int(np.argmin(np.where(few, reach, np.inf))), int(np.argmax(reach))


def _operands(graph: Graph, node: Node) -> Iterator[Statement]:
    """An operand of which all that it can hold is at most one step of the result."""
    if not node.outputs:  # as a damaged file may have it
        return
    result, named = quantized(graph, node.outputs[0]), f"{node.op_type} '{node.label}'"
    for tensor in operands_of(node):
        operand = quantized(graph, tensor)
        if operand is None or result is None or tensor in graph.constants:
            continue
        held, step = operand.scale * (2**operand.bits - 1), result.scale
        if 0 < held <= step:
            text = (
                f"{named}: '{tensor}' ({operand.elem_type}, scale {operand.scale:.3g}) moves the result by one step at"
                f" most: all that it can hold spans {held:.3g}, and the step is {step:.3g}."
            )
            remedy = "Calibrate with data that the device will see; if the operand is that small, leave it out."
            yield Statement(text, node_location(graph.path, node), group="operand", remedy=remedy)


def quantized(graph: Graph, tensor: str) -> AffineQuantization | None:
    """Quantization of an activation with one scale, through the Q/DQ around it; None for any other."""
    stored = of_stored(graph, tensor)
    if stored is None:
        producer = graph.producers.get(tensor)
        if producer is not None and dequantizes(producer):
            tensor = producer.inputs[0]
        else:
            tensor = along(graph, "quantized by a reader", tensor, partial(_quantized_by_reader, graph))
        if not graph.elem_type(tensor).startswith("float"):
            stored = of_integers(graph, tensor)
    usable = stored is not None and stored.known and len(stored.scales or ()) == 1 and stored.scale > 0
    return stored if usable and stored and stored.elem_type in EIGHT_BITS | SIXTEEN_BITS else None


def _quantized_by_reader(graph: Graph, tensor: str) -> str:
    readers = graph.consumers.get(tensor, ())
    return next((reader.outputs[0] for reader in readers if operator_of(reader).quantizes), tensor)


def of_stored(graph: Graph, tensor: str) -> AffineQuantization | None:
    """Quantization that the file keeps on the tensor; None where it keeps none."""
    kept = graph.quantization.get(tensor)
    if kept is None or len(kept.scales) != len(kept.zero_points):
        return None
    return AffineQuantization(graph.elem_type(tensor), kept.scales, kept.zero_points, kept.axis)


def _results(subject: ModelSubject, record: LoweredLayer) -> Iterator[Statement]:
    """A layer whose result holds less than half of its integers whatever goes in, or has channels that hold few."""
    import numpy as np

    graph, node = subject.model.graph, record.node
    first = operator_of(node).roles.first
    if not node.has(first):  # as a damaged file may have it
        return
    result = record.output or of_stored(graph, next(iter(node.outputs), ""))
    source = next(iter(record.inputs), None) or of_stored(graph, node.inputs[first])
    sums = _sums(subject, record, source) if source and result and _per_tensor(source, result) else None
    if sums is None or source is None or result is None:
        return
    bounds = np.iinfo(source.elem_type)
    lowest, highest = (source.scale * (bound - (source.zero_points or (0,))[0]) for bound in (bounds.min, bounds.max))
    limits, zero = np.iinfo(result.elem_type), (result.zero_points or (0,))[0]
    with np.errstate(all="ignore"):  # scales of damaged files
        low, high = sums.least_and_most(lowest, highest)
        spans = (high - low) / result.scale
        low, high = np.floor(low / result.scale) + zero - 1, np.ceil(high / result.scale) + zero + 1
    if not (np.isfinite(low).all() and np.isfinite(high).all()) or spans.max(initial=0) <= 1:  # always one number
        return
    low, high = np.clip(low, limits.min, limits.max), np.clip(high, limits.min, limits.max)
    named = f"{node.op_type} '{node.label}'"
    where, all_ = node_location(graph.path, node), int(limits.max) - int(limits.min) + 1
    least, most = min(int(low.min()), zero), max(int(high.max()), zero)
    if (most - least + 1) * 2 < all_:
        held = f"{least} and {most} of {limits.min} to {limits.max}"
        text = f"{named}: whatever goes in, its result stays between {held}."
        remedy = "Give the result a smaller scale: calibrate with data that the device will see."
        yield Statement(text, where, level=Level.NOTE, group="range", remedy=remedy)
        return
    few, best = (spans > 1) & (spans * FEW <= all_), int(np.argmax(high - low))
    if few.sum() * FEW <= few.size or (high - low)[best] * 2 <= all_:
        return
    worst = int(np.argmin(np.where(few, spans, np.inf)))
    text = (
        f"{named}: whatever goes in, the results of {few.sum()} of {few.size} output channels change by few"
        f" steps of the one scale: those of channel {worst} by {spans[worst]:.3g} at most, those of channel {best} may"
        f" lie between {int(low[best])} and {int(high[best])}."
    )
    remedy = "Equalize the channels before quantizing, or take these channels out and train again."
    yield Statement(text, where, level=Level.NOTE, group="channels", remedy=remedy)


def _per_tensor(*numbers: AffineQuantization) -> bool:
    """Tell whether each has one scale above 0 and a type of 8 or 16 bits."""
    return all(
        quantization.known
        and len(quantization.scales or ()) == 1
        and quantization.scale > 0
        and quantization.elem_type in EIGHT_BITS | SIXTEEN_BITS
        for quantization in numbers
    )


def _sums(subject: ModelSubject, record: LoweredLayer, source: AffineQuantization) -> SignedSums | None:
    """Sums of a layer's weights, and its bias, in real numbers; None where they are not known."""
    import numpy as np

    graph, node, roles = subject.model.graph, record.node, operator_of(record.node).roles
    form = roles.form
    if record.layer is None or form is None or form.transposed or not record.weighted or not node.has(roles.second):
        return None  # a damaged file may have no weights
    if not graph.quantization:
        with np.errstate(all="ignore"):  # scales of damaged files
            return signed_sums(graph, subject.model.read_allowed, record) if record.weights else None
    numbers, stored = of_stored(graph, node.inputs[roles.second]), subject.model.read_allowed(node.inputs[roles.second])
    if numbers is None or not numbers.known or not _holds_integers(stored):
        return None
    rows = np.moveaxis(stored, form.outputs(stored.ndim), 0).reshape(stored.shape[form.outputs(stored.ndim)], -1)
    bias = subject.model.read_allowed(node.inputs[roles.bias]) if node.has(roles.bias) else np.zeros(1)
    if bias is None or bias.size not in (1, len(rows)) or len(numbers.scales or ()) not in (1, len(rows)):
        return None
    with np.errstate(all="ignore"):  # scales of damaged files
        units = source.scale * np.array(numbers.scales, np.float64)
        return sums_of_integers(rows, numbers, np.broadcast_to(bias.reshape(-1) * units, (len(rows),)))
