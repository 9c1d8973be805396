"""How many times the instructions layers in float take that CMSIS-NN would compute in int8."""

from __future__ import annotations

from collections.abc import Iterable

from onnxlint_cmsis.cmsis_nn.library import cost_of_route, route
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.model.graph import StoredQuantization
from onnxlint_cmsis.runtimes.runtime import Runtime
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.kernels import kernel_of
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Known, Preparation
from onnxlint_cmsis.runtimes.tflm.reference_cost import operator_range

WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
"""Operators whose float kernels are compared."""
STEPS = StoredQuantization((0.5,), (0,))
"""Scale and zero-point of what becomes int8; no cost looks at them."""


def in_int8(view: OperatorView, build: TflmBuild) -> int | None:
    """Instructions of CMSIS-NN for an operator of the same sizes in int8; None where they are not known."""
    tensors = list(view.subgraph.tensors)
    for number in (*view.operator.inputs, *view.operator.outputs):
        if number >= 0 and tensors[number].elem_type == "FLOAT32":
            tensors[number] = tensors[number]._replace(elem_type="INT8", quantization=STEPS)
    kernel = kernel_of(view.operator, build.revision)
    if kernel is None:
        return None
    alone = view._replace(subgraph=view.subgraph._replace(tensors=tuple(tensors)))
    preparation = Preparation(alone, build, Known([{}], {}), 0)
    kernel.then(preparation)
    call = preparation.call
    if call is None:
        return None
    library = build.kernels_of(call.entry)
    return cost_of_route(call, library, route(call, library))


def times_int8(
    views: Iterable[OperatorView], target: Target, build: TflmBuild, runtime: Runtime
) -> tuple[float, float] | None:
    """Least and most instructions of float layers with weights as multiples of those in int8; None if one is unknown.

    None as well where no operator has weights.
    """
    least = most = integers = 0
    for view in views:
        if view.operator.op in WEIGHTED:
            ends, alone = operator_range(view, target, runtime), in_int8(view, build)
            if ends is None or not alone:
                return None
            least, most, integers = least + ends[0], most + ends[1], integers + alone
    return (least / integers, most / integers) if integers else None
