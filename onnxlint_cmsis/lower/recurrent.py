"""LSTM as `arm_lstm_unidirectional_*`."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.layer import Layer, product
from onnxlint_cmsis.lower.layout import NO_DIMS
from onnxlint_cmsis.lower.stored_types import activation_type
from onnxlint_cmsis.lower.verdict import Cause, Decision, refused
from onnxlint_cmsis.types import Dims, KernelCall

ACTIVATIONS = ("sigmoid", "tanh", "tanh")
"""Those of the gates, the cell and the output, in ONNX and in CMSIS-NN."""
INITIAL = (5, 6)
"""Positions of the hidden and the cell state that the first step starts from."""
SEQUENCE_LENS, PEEPHOLES = 4, 7
"""Positions of inputs that CMSIS-NN has no argument for."""


def lower_lstm(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower LSTM: input [batch, 1, time, features], output [batch, 1, time, hidden], either order of batch and time.

    `cmsis_nn_lstm_params` has `time_major`, and nothing for what `_not_expressible` names.
    """
    shape = graph.shape(node.inputs[0]) or (None, None, None)
    if len(shape) != 3:
        return refused(Cause.RANK, f"its input has {len(shape)} axes; ONNX asks for 3")
    wrong = _not_expressible(node)
    if wrong:
        return refused(Cause.ATTRIBUTE, wrong)
    batch, time = shape[:2] if node.int("layout") else shape[1::-1]
    features = shape[2]
    recurrent = graph.shape(node.inputs[2]) if len(node.inputs) > 2 else None
    hidden = node.int("hidden_size") or (recurrent[-1] if recurrent else None)
    kind, assumed = activation_type(graph, node.inputs[0], assume)
    call = KernelCall(
        f"lstm_unidirectional_{kind}", Dims(batch, 1, time, features), NO_DIMS, Dims(batch, 1, time, hidden),
        initial_state=_initial_state(graph, node),
    )  # fmt: skip
    columns = None if features is None or hidden is None else features + hidden
    return Layer(node, call, {}, 1, assumed, product(batch, time, 4, hidden, columns))


def _initial_state(graph: Graph, node: Node) -> bool | None:
    """Whether `initial_h` or `initial_c` is given and not zero throughout; None where its values are not known."""
    found = [_nonzero(graph, node.inputs[place]) for place in INITIAL if place < len(node.inputs)]
    return True if True in found else None if None in found else False


def _nonzero(graph: Graph, name: str) -> bool | None:
    if not name:
        return False
    stored = graph.constants.get(name)
    if stored is not None:
        values = stored.values()
        return None if values is None else stored.overridable or any(values)
    producer = graph.producers.get(name)
    return _nonzero(graph, producer.inputs[0]) if producer is not None and producer.is_op("Expand") else True


def _not_expressible(node: Node) -> str:
    """Why CMSIS-NN's LSTM cannot compute this one; empty where it can."""
    direction = node.text("direction", "forward")
    if direction != "forward":
        return f"its direction is {direction}; CMSIS-NN's LSTM runs forward only"
    named = node.attributes.get("activations")
    activations = tuple(str(name).lower() for name in named) if isinstance(named, tuple) else ACTIVATIONS
    if activations != ACTIVATIONS:
        return f"its activations are {', '.join(activations)}; CMSIS-NN's LSTM has {', '.join(ACTIVATIONS)}"
    if node.attributes.get("clip"):
        return "it clips the cell's input (clip); CMSIS-NN's LSTM does not"
    if node.int("input_forget"):
        return "its input and forget gates are coupled (input_forget); CMSIS-NN's LSTM has both"
    for position, name in ((SEQUENCE_LENS, "sequence_lens"), (PEEPHOLES, "peepholes (P)")):
        if len(node.inputs) > position and node.inputs[position]:
            return f"it has {name}; CMSIS-NN's LSTM has no such argument"
    return ""
