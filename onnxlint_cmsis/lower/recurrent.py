"""LSTM as `arm_lstm_unidirectional_*`."""

from __future__ import annotations

from onnxlint_cmsis.ground.types import Dims, Function, KernelCall, Size
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import Cause, Decision, no_kernel
from onnxlint_cmsis.lower.dims import NO_DIMS
from onnxlint_cmsis.lower.find_quantization import is_zero
from onnxlint_cmsis.lower.layer import Layer, product_of
from onnxlint_cmsis.lower.stored_types import activation_type, weights_behind
from onnxlint_cmsis.model.graph import Graph, Node

ACTIVATIONS = ("sigmoid", "tanh", "tanh")
"""Those of the gates, the cell and the output, in ONNX and in CMSIS-NN."""


INITIAL = slice(5, 7)
"""Positions of the hidden and the cell state that the first step starts from."""


SEQUENCE_LENS, PEEPHOLES = 4, 7
"""Positions of inputs that CMSIS-NN has no argument for."""


def lower_lstm(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower LSTM: input [batch, 1, time, features], output [batch, 1, time, hidden], either order of batch and time.

    `cmsis_nn_lstm_params` has `time_major`, and nothing for what `_not_expressible` names.
    """
    shape = graph.shape(node.inputs[0]) or (None, None, None)
    if len(shape) != 3:
        return no_kernel(Cause.RANK, f"its input has {len(shape)} axes; ONNX asks for 3")
    batch, time = shape[:2] if node.int("layout") else shape[1::-1]
    wrong = _recurrent_not_expressible(graph, node, time)
    if wrong:
        return no_kernel(Cause.ATTRIBUTE, wrong)
    features = shape[2]
    recurrent = graph.shape(node.inputs[2])
    hidden = node.int("hidden_size") or (recurrent[-1] if recurrent else None)
    kind, assumed = activation_type(graph, node.inputs[0], assume)
    # Whether `initial_h` or `initial_c` is given and not zero throughout; None where its values are not known.
    zero = [is_zero(graph, name) for name in node.inputs[INITIAL] if name]
    call = KernelCall(
        Function.LSTM.entry(kind), Dims(batch, 1, time, features), NO_DIMS, Dims(batch, 1, time, hidden),
        initial_state=True if False in zero else None if None in zero else False,
        time_major=not node.int("layout"),
    )  # fmt: skip
    columns = None if features is None or hidden is None else features + hidden
    return Layer(node, call, {}, 1, assumed, product_of(batch, time, 4, hidden, columns))


def _recurrent_not_expressible(graph: Graph, node: Node, steps: Size) -> str | None:
    """Why CMSIS-NN's LSTM cannot compute this one; None where it can."""
    direction = node.text("direction", "forward")
    named = node.attributes.get("activations")
    activations = tuple(str(name).lower() for name in named) if isinstance(named, tuple) else ACTIVATIONS
    lengths, peepholes = (node.inputs[at] if at < len(node.inputs) else "" for at in (SEQUENCE_LENS, PEEPHOLES))
    said = (
        (direction != "forward", f"its direction is {direction}; CMSIS-NN's LSTM runs forward only"),
        (
            activations != ACTIVATIONS,
            f"its activations are {', '.join(activations)}; CMSIS-NN's LSTM has {', '.join(ACTIVATIONS)}",
        ),
        (node.attributes.get("clip"), "it clips the cell's input (clip); CMSIS-NN's LSTM does not"),
        (
            node.int("input_forget"),
            "its input and forget gates are coupled (input_forget); CMSIS-NN's LSTM has both",
        ),
        (
            lengths and not _whole(graph, lengths, steps),
            "it has sequence_lens; CMSIS-NN's LSTM has no such argument",
        ),
        (
            peepholes and not is_zero(graph, peepholes),
            "it has peepholes (P); CMSIS-NN's LSTM has no such argument",
        ),
    )
    return next((text for holds, text in said if holds), None)


def _whole(graph: Graph, lengths: str, steps: Size) -> bool:
    """Tell whether every sequence is as long as the input, so that the lengths say nothing."""
    stored = weights_behind(graph, lengths)
    values = stored.values() if stored is not None and not stored.overridable else None
    return values is not None and all(value == steps for value in values)
