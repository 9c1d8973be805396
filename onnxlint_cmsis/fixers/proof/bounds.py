"""How far values can be apart, whatever the inputs: both models compute real numbers, and round where they quantize."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import floor, inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.formats.names import UNKNOWN, canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.find_quantization import of_input, of_integers, of_result
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.lower.quantization import AffineQuantization, wrong_scale
from onnxlint_cmsis.lower.real_values import Read, real_values
from onnxlint_cmsis.lower.shared_scales import real_range
from onnxlint_cmsis.model.roles import Form, Quantized, Roles
from onnxlint_cmsis.operators.answers import Elements
from onnxlint_cmsis.operators.curve import CLIP
from onnxlint_cmsis.operators.views import real_attribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.model.graph import Graph, Node
    from onnxlint_cmsis.operators.record import Operator


class Side(NamedTuple):
    """One of two models."""

    graph: Graph
    """Its nodes and tensors."""
    read: Read
    """Values of its constants."""

    def stored(self, tensor: str) -> NDArray[np.float64] | None:
        """The real numbers of a constant; None for what is computed."""
        return real_values(self.graph, self.read, tensor) if tensor else None


def most_apart(old: Side, new: Side) -> dict[str, float]:
    """How far the real values of tensors of two models can be apart; those without a bound are left out.

    Tensors and nodes of both models are told by the names of their outputs.
    """
    apart = dict.fromkeys(new.graph.inputs, 0.0)
    for node in new.graph.nodes:
        was = old.graph.producers.get(node.outputs[0]) if node.outputs else None
        if was is None or node.bodies or new.stored(node.outputs[0]) is not None:
            continue
        told, tells = ((end.op_type, end.domain, end.attributes, len(end.inputs)) for end in (was, node))
        if told != tells:
            continue
        bound = _result_apart(old, was, new, node, apart)
        if bound is not None and isfinite(bound):
            apart.update(dict.fromkeys(filter(None, node.outputs), bound))
    return apart


def _result_apart(old: Side, was: Node, new: Side, node: Node, apart: Mapping[str, float]) -> float | None:
    """How far a node's result can be apart where its inputs are as far as they can be."""
    operator, source, clamp = operator_of(node), operator_of(node), (-inf, inf)
    names = [*node.inputs]
    if operator.quantizes:
        names[0], clamp = _unclamped(old, new, names[0])
        producer = new.graph.producers.get(names[0])
        source = operator_of(producer) if producer else UNKNOWN
    carried = operator.roles.quantized_of(len(node.inputs))
    if operator.dequantizes or operator.quantizes:
        carried = (Quantized(0 if operator.dequantizes else -1, 1, 2),)
    parameters = {position for value in carried for position in (value.scale, value.zero_point)}
    inputs = {
        position: _input_apart(old, before, new, name, apart)
        for position, (before, name) in enumerate(zip(was.inputs, names, strict=True))
        if position not in parameters
    }
    known = {position: bound for position, bound in inputs.items() if bound is not None}
    if len(known) < len(inputs):
        return None
    for side, end in ((old, was), (new, node)):
        for value in carried:
            if value.value >= 0 and not _read_as_written(side, end, value.value):
                return None
    plain = operator.quantizes or operator.dequantizes
    bound = known[0] if plain else _computed_apart(operator, new, node, known)
    if bound is None or not any(value.value < 0 for value in carried):
        return bound
    limits = source.bounds or (-inf, inf)
    return _rounded_apart(bound, of_result(old.graph, was), of_result(new.graph, node), limits, clamp)


def _unclamped(old: Side, new: Side, name: str) -> tuple[str, tuple[float, float]]:
    """A tensor in front of the Clip that the second model has more than the first, and the ends of that."""
    node = new.graph.producers.get(name)
    if name in old.graph.producers or node is None or canonical(node) != CLIP.name or len(node.inputs) != 3:
        return name, (-inf, inf)
    ends = [new.stored(end) for end in node.inputs[1:]]
    if any(end is None or end.size != 1 for end in ends):
        return name, (-inf, inf)
    low, high = (float(end.item()) for end in ends if end is not None)
    return node.inputs[0], (low, high)


def _read_as_written(side: Side, node: Node, position: int) -> bool:
    """Tell if a node takes integers to mean what their producer means by them; constants mean what the node says."""
    if not node.has(position) or side.stored(node.inputs[position]) is not None:
        return True
    taken, written = of_input(side.graph, node, position), of_integers(side.graph, node.inputs[position])
    return taken is not None and written is not None and taken.equals(written)


def _input_apart(old: Side, was: str, new: Side, name: str, apart: Mapping[str, float]) -> float | None:
    before, after = old.stored(was), new.stored(name)
    if before is None or after is None:
        return 0.0 if was == name == "" else apart.get(name) if was == name and before is after else None
    return float(np.abs(before - after).max(initial=0)) if before.shape == after.shape else None


def _computed_apart(operator: Operator, new: Side, node: Node, inputs: Mapping[int, float]) -> float | None:
    """How far the real numbers are apart that a node computes, before it rounds them."""
    if not any(inputs.values()):
        return 0.0
    roles, data = operator.roles, {*operator.roles.data_of(node)}
    if operator.epilogue or any(bound for position, bound in inputs.items() if position not in {*data, roles.bias}):
        return None
    if roles.form is not None:
        return _summed_apart(roles, new, node, inputs)
    furthest = max(inputs.get(position, 0.0) for position in data)
    if operator.slope is not None:
        return operator.slope * furthest
    return furthest if operator.moves or operator.elements is Elements.PADDED else None


def _summed_apart(roles: Roles, new: Side, node: Node, inputs: Mapping[int, float]) -> float | None:
    """The same of sums over weights: the sizes of the weights of the channel where they are largest."""
    weights = new.stored(node.inputs[roles.second])
    if weights is None or roles.form is None or parameters_of(node, roles.second) or inputs.get(roles.second):
        return None
    sizes, axis = np.abs(weights), roles.form.outputs(weights.ndim)
    if roles.form is Form.GEMM:
        sizes, axis = sizes * abs(real_attribute(node, "alpha", 1.0)), 1 - node.int("transB")
    rest = tuple(other for other in range(weights.ndim) if other != axis % weights.ndim or weights.ndim == 1)
    added = inputs.get(roles.bias, 0.0) * (abs(real_attribute(node, "beta", 1.0)) if roles.form is Form.GEMM else 1.0)
    return float(sizes.sum(axis=rest).max(initial=0)) * inputs.get(roles.first, 0.0) + added


def _rounded_apart(
    bound: float,
    old: AffineQuantization | None,
    new: AffineQuantization | None,
    limits: tuple[float, float],
    clamp: tuple[float, float],
) -> float | None:
    """How far two numbers within `limits` are apart once each is rounded and clamped by its own quantization.

    The second one is clamped by `clamp` before.
    """
    if old is None or new is None:
        return None
    for side in (old, new):
        if not side.known or len(side.scales or ()) != 1 or side.bits <= 4 or wrong_scale(side) is not None:
            return None
    further = (floor(bound / new.scale * (1 + CLOSE)) + 1) * new.scale if bound else 0.0
    if old.equals(new) and clamp == (-inf, inf):
        return further
    ends = real_range(old), real_range(new)
    halves = [(np.arange(2**side.bits) + 0.5) * side.scale + end[0] for side, end in zip((old, new), ends, strict=True)]
    corners = np.clip(np.concatenate([[*limits, *clamp, *ends[0], *ends[1]], *halves]), *limits)
    pairs = product(_both_ways(corners, old, ends[0]), _both_ways(np.clip(corners, *clamp), new, ends[1]))
    return further + max(float(np.abs(before - after).max()) for before, after in pairs)


def _both_ways(
    numbers: NDArray[np.float64], to: AffineQuantization, ends: tuple[float, float]
) -> Iterator[NDArray[np.float64]]:
    """Numbers rounded to steps and clamped, halves downwards and halves upwards."""
    steps = np.clip(numbers, *ends) / to.scale
    for away in (-CLOSE, CLOSE):
        yield np.clip(np.floor(steps + 0.5 + away) * to.scale, *ends)


CLOSE = 1e-5
"""Relative difference of real values that rounding may make; integers have to be equal."""
