"""What to do about an operator of a `.tflite` file, where more is known than the cause of a finding.

Each line was done in Keras 3 with the converter of TensorFlow 2.21, and gave a file that runs.
"""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.remark import FIXED_BATCH, REPEATED
from onnxlint_cmsis.runtimes.tflm.operator_conditions import numbers_of
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView

PLANE_RANK, TIME_RANK = 4, 3
"""Axes of a tensor with a plane and with time."""


class _Advice(NamedTuple):
    causes: tuple[str, ...]
    """Causes of the findings."""
    operators: tuple[str, ...]
    """Operators; none for all."""
    do: str | Callable[[OperatorView], str]
    """What to do, as a sentence; empty where it does not help this operator."""


def _fixed_batch(view: OperatorView) -> str:
    """Sizes that SHAPE gives at run time, which all follow from a batch that is not fixed."""
    if not any(operator.op == "SHAPE" for operator in view.subgraph.operators):
        return ""
    computed = [tensor for tensor in view.tensors if tensor.elem_type == "INT32" and not view.constant(tensor)]
    return FIXED_BATCH if computed else ""


def _reduced(view: OperatorView) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape of the data, and the axes that are reduced, in order; no axes where these are not stored."""
    data, axes = view.input(0), view.input(1)
    if data is None or axes is None or not view.constant(axes):
        return (), ()
    numbers = numbers_of(view, axes, "INT32") or ()
    return data.shape, tuple(sorted({int(axis) % max(len(data.shape), 1) for axis in numbers}))


def _pooled(view: OperatorView, keras: str, torch: str) -> str:
    shape, axes = _reduced(view)
    if len(shape) == PLANE_RANK and axes == (1, 2):
        window = f"(({shape[1]}, {shape[2]}))"
        return f"{keras}2D{window} in Keras, nn.{torch}2d{window} in PyTorch"
    if len(shape) == TIME_RANK and axes == (1,):
        return f"{keras}1D({shape[1]}) in Keras, nn.{torch}1d({shape[1]}) in PyTorch"
    return ""


def _mean(view: OperatorView) -> str:
    pool = _pooled(view, "AveragePooling", "AvgPool")
    if pool:
        return f"Train it as an average pool of that window: {pool}."
    shape, axes = _reduced(view)
    if axes == (len(shape) - 1,):
        return (
            "Train with BatchNormalization right behind a Dense or Conv in place of LayerNormalization: it goes into "
            "their weights."
        )
    return "Nothing: no pool runs over these axes."


def _largest(view: OperatorView) -> str:
    pool = _pooled(view, "MaxPooling", "MaxPool")
    return f"Train it as a max pool of that window: {pool}." if pool else ""


def _computed_operands(view: OperatorView) -> str:
    if any(view.constant(view.input(position)) for position in (0, 1)):
        return ""
    return REPEATED


def _frames(view: OperatorView) -> str:
    """A TimeDistributed layer, which cuts frames out of a tensor of five axes."""
    data = view.input(0)
    if data is None or len(data.shape) <= PLANE_RANK:
        return ""
    frames = data.shape[1]
    return (
        f"Take the {frames} frames as the batch in place of TimeDistributed: keras.Input(frame, batch_size={frames}), "
        f"and behind the layers keras.ops.reshape(x, (1, {frames}, -1))."
    )


ADVICE = (
    _Advice(("check", "operator", "sizes", "unpredictable"), (), _fixed_batch),
    _Advice(("check", "rank"), ("STRIDED_SLICE", "TRANSPOSE"), _frames),
    _Advice(
        ("kernel",),
        ("TRANSPOSE_CONV",),
        "Leave the activation out of Conv2DTranspose, and put a Conv2D(filters, 1, activation='relu') behind it.",
    ),
    _Advice(("operator",), ("GELU",), "Train with relu or silu in place of gelu."),
    _Advice(
        ("check",),
        ("EXP", "LOG"),
        "Build the network without it: with relu, silu or elu in place of softplus, mish or selu.",
    ),
    _Advice(
        ("operator",),
        ("TILE",),
        "Build the network without it: in place of UpSampling2D take Resizing(height, width, "
        "interpolation='nearest') of Keras, or Conv2DTranspose.",
    ),
    _Advice(("mean",), (), _mean),
    _Advice(("broadcast",), (), _computed_operands),
    _Advice(("no-function",), ("REDUCE_MAX",), _largest),
)


def advice(view: OperatorView, cause: str) -> str:
    """What to do about one operator, as a sentence; empty where the cause's own words hold."""
    for row in ADVICE:
        if cause in row.causes and (not row.operators or view.operator.op in row.operators):
            do = row.do if isinstance(row.do, str) else row.do(view)
            if do:
                return do
    return ""
