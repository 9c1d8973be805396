"""Names and arguments of the operators in ExecuTorch programs, and how each is read.

Tensors stand in the order of memory, so that an image is NHWC and weights are OHWI, as in `.tflite` files. What a
program computes is not followed: it holds multipliers in place of scales.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from onnxlint_cmsis.formats.format import RELEASES
from onnxlint_cmsis.formats.onnx.names import OPERATORS
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Form, Roles, Stated, Sums
from onnxlint_cmsis.model.tensors import NotFollowedError
from onnxlint_cmsis.operators.answers import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.curve import at_its_place
from onnxlint_cmsis.operators.mixing_ties import along_axis
from onnxlint_cmsis.operators.new_lane import AS_READ, NO_NEW_LANES
from onnxlint_cmsis.operators.product import fully_connected
from onnxlint_cmsis.operators.record import COMPUTES, NO_SHAPE_ARITHMETIC, OPAQUE, READS_ALL, Operator, alias, replace
from onnxlint_cmsis.operators.size_rules import same_sizes
from onnxlint_cmsis.operators.tflite_ties import reshape

EXECUTORCH = "executorch"
"""Domain of the operators in programs."""

BACKEND = "cortex_m::"
"""Namespace of the operators of ExecuTorch's backend for Cortex-M."""

RESIZING = tuple(BACKEND + name for name in ("quantize_per_tensor", "dequantize_per_tensor", "minimum", "maximum"))
"""Operators of the backend whose kernels resize their result to what their inputs are when they run (resize_tensor in
backends/cortex_m/ops, 1.1.0 to main); results of all others keep the largest sizes."""


class Signature(NamedTuple):
    """The arguments of an operator in front of its result, in some releases."""

    names: tuple[str, ...]
    """Their names, in order."""
    since: str
    """First release with them, a key of RELEASES."""
    until: str = ""
    """First release with others; empty where the newest has them."""

    def holds(self, day: str) -> bool:
        """Tell whether the release of a day has them."""
        return RELEASES[self.since] <= day and (not self.until or day < RELEASES[self.until])


def _signatures(*texts: tuple[str, str] | tuple[str, str, str]) -> tuple[Signature, ...]:
    return tuple(Signature(tuple(text.split()), *releases) for text, *releases in texts)


_RESCALED = "input_offset output_offset requantize_multipliers requantize_shifts activation_min activation_max"
_ADD = "self self_zero_point self_multiplier self_shift other other_zero_point other_multiplier other_shift"
_ADDED = f"{_ADD} output_zero_point output_multiplier output_shift"
_CONV = f"input weight bias stride padding dilation {_RESCALED}"
_DEPTHWISE = f"input weight bias stride padding dilation depth_multiplier {_RESCALED}"
_TRANSPOSE_CONV = f"input weight bias stride padding output_padding dilation {_RESCALED}"
_AVERAGE = "input kernel_size stride padding zero_point multiplier shift"
_AVERAGE_CEIL = "input kernel_size stride padding ceil_mode zero_point multiplier shift scratch"
_MATMUL = "lhs lhs_zero_point rhs_transposed rhs_zero_point output_zero_point output_multiplier output_shift"
_MAX = "input kernel_size stride padding dilation ceil_mode input_zero_point output_zero_point activation_min"
_MUL = "self self_zero_point other other_zero_point output_zero_point output_multiplier output_shift"
_LINEAR = (
    "input weights bias kernel_sum input_offset filter_offset output_offset requantize_multipliers requantize_shifts "
    "activation_max activation_min"
)
_BETWEEN = "input scale zero_point quant_min quant_max dtype"

_IMAGES: Mapping[str, tuple[Signature, ...]] = {
    "quantized_conv2d": _signatures((_CONV, "1.1.0", "1.4.0"), (f"{_CONV} scratch", "1.4.0")),
    "quantized_depthwise_conv2d": _signatures((_DEPTHWISE, "1.1.0", "1.4.0"), (f"{_DEPTHWISE} scratch", "1.4.0")),
    "quantized_transpose_conv2d": _signatures(
        (_TRANSPOSE_CONV, "1.2.0", "1.4.0"), (f"{_TRANSPOSE_CONV} scratch output_scratch", "1.4.0")
    ),
    "quantized_avg_pool2d": _signatures(
        (_AVERAGE, "1.1.0", "1.4.0"), (f"{_AVERAGE} scratch", "1.4.0", "cff6f4dd"), (_AVERAGE_CEIL, "cff6f4dd")
    ),
    "quantized_max_pool2d": _signatures((f"{_MAX} activation_max", "1.2.0")),
}
"""Operators on images; 1.5.1 has them once more with `_nhwc` behind, whose tensors have their channels last."""
NHWC = "_nhwc"
SIGNATURES: Mapping[str, tuple[Signature, ...]] = MappingProxyType(
    {
        f"{BACKEND}{name}": signatures
        for name, signatures in {
            **_IMAGES,
            **{f"{name}{NHWC}": (rows[-1]._replace(since="1.5.1"),) for name, rows in _IMAGES.items()},
            "quantize_per_tensor": _signatures((_BETWEEN, "1.0.1")),
            "dequantize_per_tensor": _signatures((_BETWEEN, "1.0.1")),
            "quantized_add": _signatures(
                (_ADDED, "1.0.1", "1.3.0"), (f"{_ADDED} activation_min activation_max", "1.3.0")
            ),
            "quantized_mul": _signatures((_MUL, "1.1.0")),
            "quantized_div": _signatures(
                ("self self_zero_point other other_zero_point output_zero_point output_scale", "cff6f4dd")
            ),
            "quantized_activation": _signatures(("input lut", "1.4.0")),
            "minimum": _signatures(("self other", "1.1.0")),
            "maximum": _signatures(("self other", "1.1.0")),
            "quantized_linear": _signatures((_LINEAR, "1.1.0")),
            "softmax": _signatures(
                ("input dim input_zero_point output_zero_point input_multiplier input_shift diff_min", "1.1.0")
            ),
            "transpose": _signatures(("input perm", "1.1.0")),
            "pad": _signatures(("input pre_pad post_pad pad_value", "1.2.0")),
            "quantized_batch_matmul": _signatures((_MATMUL, "1.2.0", "1.4.0"), (f"{_MATMUL} scratch", "1.4.0")),
        }.items()
    }
)
"""Arguments by operator, oldest first: by their number a call is read, and the releases that made it are told.

Source: executorch, backends/cortex_m/ops/operators.yaml at the tag of each release, at cff6f4dd and of 1.5.1 as its
wheel has it.
"""


def signature_of(op: str, count: int) -> Signature | None:
    """The arguments of an operator that are so many; None where no reviewed release has such ones."""
    return next((row for row in SIGNATURES.get(op, ()) if len(row.names) == count), None)


KEPT_BY = ("scratch", "output_scratch", "requantize_multipliers", "requantize_shifts", "kernel_sum", "lut")
"""Tensor arguments that are no operands: numbers of the kernel, and memory that it works in."""

NOT_FOLLOWED: Mapping[str, Any] = {"values": OPAQUE, "demand": READS_ALL, "risk": Risk.NONE, "bounds": None}
"""The numbers that it computes."""
NOWHERE = Stated()
"""The shapes of the tensors tell."""
IMAGE = Roles(
    weights=(1,), form=Form.CHANNELS_LAST, sums=Sums.INTEGERS, bias=2, channels_last=True, numbers={"group": NOWHERE}
)
FACTORS = Roles(data=(0, 1), numbers={"transA": Stated(default=0), "transB": Stated(default=1)})
WINDOW = Roles(channels_last=True)


def _row(name: str, of: str, **facets: Any) -> Operator:
    """An operator that is read as one of ONNX."""
    facets = {"layout": Layout.ORDERED, "fold": NO_SHAPE_ARITHMETIC, **NOT_FOLLOWED, **facets}
    return alias(name, EXECUTORCH, OPERATORS["", of], **facets)


def _at_its_place(name: str) -> Operator:
    return replace(at_its_place(name, zero=True), domain=EXECUTORCH, values=OPAQUE)


def _opaque(name: str, because: str) -> Operator:
    """An operator whose axes are not followed."""
    axes = NotFollowed(because)
    return Operator(name, axes, Elements.COMPUTED, Risk.NONE, Layout.ORDERED, domain=EXECUTORCH, new_lane=NO_NEW_LANES)


def _same_order(node: Node, context: Context) -> None:
    """A copy in the same order of memory."""
    axes, result = context.need(0), context.axes_of(node.outputs[0])
    if result is None or [*map(context.size, axes)] != [*map(context.size, result)]:
        raise NotFollowedError("it copies a tensor into another order of memory")
    context.output_as(0, axes)


def _movement(name: str, axes: Any, elements: Elements) -> Operator:
    return Operator(name, axes, elements, Risk.NONE, Layout.ORDERED, domain=EXECUTORCH, new_lane=AS_READ, zero=(0,))


def _images() -> tuple[Operator, ...]:
    """Operators on images, in both forms."""
    rows = []
    for end in ("", NHWC):
        front = f"{BACKEND}quantized_"
        rows += [
            _row(f"{front}conv2d{end}", "Conv", roles=IMAGE),
            _row(f"{front}depthwise_conv2d{end}", "Conv", roles=IMAGE._replace(form=Form.DEPTHWISE_LAST)),
            _row(f"{front}transpose_conv2d{end}", "ConvTranspose", roles=IMAGE._replace(form=Form.TRANSPOSED_LAST)),
            _row(f"{front}avg_pool2d{end}", "AveragePool", roles=WINDOW),
            _row(f"{front}max_pool2d{end}", "MaxPool", roles=WINDOW),
        ]
    return tuple(rows)


PTE_OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        operator.name: operator
        for operator in (
            *_images(),
            _row(
                f"{BACKEND}quantized_linear",
                "MatMul",
                axes=fully_connected,
                roles=Roles(weights=(1,), form=Form.ROWS, sums=Sums.INTEGERS, bias=2),
            ),
            _row(f"{BACKEND}quantized_batch_matmul", "MatMul", roles=FACTORS),
            _row(f"{BACKEND}quantized_add", "Add", sizes=COMPUTES),
            _row(f"{BACKEND}quantized_mul", "Mul", sizes=COMPUTES),
            _row(f"{BACKEND}quantized_div", "Div", sizes=COMPUTES, own_numbers=True),
            _row(f"{BACKEND}minimum", "Min", sizes=COMPUTES),
            _row(f"{BACKEND}maximum", "Max", sizes=COMPUTES),
            _row(f"{BACKEND}softmax", "Softmax", axes=along_axis, roles=Roles(numbers={"axis": Stated(default=-1)})),
            _opaque(f"{BACKEND}transpose", "its axes are those of PyTorch, not of memory"),
            _opaque(f"{BACKEND}pad", "its amounts are not followed"),
            *map(
                _at_its_place,
                (
                    f"{BACKEND}quantize_per_tensor",
                    f"{BACKEND}dequantize_per_tensor",
                    f"{BACKEND}quantized_activation",
                ),
            ),
            replace(_movement("dim_order_ops::_clone_dim_order", _same_order, Elements.SAME), sizes=same_sizes),
            *(
                _movement(name, reshape, Elements.RENAMED)
                for name in ("executorch_prim::et_view", "aten::view_copy", "aten::_unsafe_view")
            ),
        )
    }
)
"""Records by operator; of those of PyTorch only what keeps elements where they are."""
