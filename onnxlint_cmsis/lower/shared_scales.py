"""Tensors that need one scale and zero-point, since functions between them copy integers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import activations_of
from onnxlint_cmsis.lower.quantization import AffineQuantization, wrong_scale
from onnxlint_cmsis.lower.result_refusals import SAME_SCALE

ScaleNumbers = dict[str, AffineQuantization]
"""Tensors with their quantization."""


def one_scale(
    records: Iterable[LoweredLayer], wanted: Iterable[LoweredLayer], name: Callable[[str], str]
) -> ScaleNumbers:
    """Tensors that have to change for the wanted nodes to copy integers, with what they all need then.

    `records` are all nodes of the model: those that copy already have to go on doing so. `name` is what a tensor is
    called; tensors of one name are one.
    """
    changes: ScaleNumbers = {}
    for group in linked_groups(records, wanted, name):
        common = common_of(group.values())
        changes.update({key: common for key, numbers in group.items() if not numbers.equals(common)})
    return changes


def linked_groups(
    records: Iterable[LoweredLayer], wanted: Iterable[LoweredLayer], name: Callable[[str], str]
) -> list[ScaleNumbers]:
    """All tensors that have to have one quantization for the wanted nodes to copy integers, group by group."""
    groups: list[ScaleNumbers] = []
    for record in records:
        linked = _linked(record, name)
        touched = [group for group in groups if group.keys() & linked.keys()]
        groups = [group for group in groups if group not in touched]
        groups.append({key: numbers for group in (*touched, linked) for key, numbers in group.items()})
    meant = {key for record in wanted for key in _linked(record, name)}
    return [group for group in groups if group.keys() & meant]


def _linked(record: LoweredLayer, name: Callable[[str], str]) -> ScaleNumbers:
    """Operands and result of a node whose function copies integers; nothing where one of them is not known well."""
    if record.layer is None or record.output is None or record.layer.call.function not in SAME_SCALE:
        return {}
    pairs = zip(activations_of(record.node), record.inputs, strict=False)
    linked = {name(record.node.inputs[position]): numbers for position, numbers in pairs if numbers is not None}
    linked[name(record.node.outputs[0])] = record.output
    sound = all(
        numbers.known and len(numbers.scales or ()) == 1 and wrong_scale(numbers) is None for numbers in linked.values()
    )
    return linked if sound and len({numbers.elem_type for numbers in linked.values()}) == 1 else {}


def common_of(quantizations: Collection[AffineQuantization]) -> AffineQuantization:
    """One of them whose range holds those of all others, else the least range that does."""
    low, high = (
        pick(ends) for pick, ends in zip((min, max), zip(*map(real_range, quantizations), strict=True), strict=True)
    )
    for numbers in sorted(quantizations, key=lambda quantization: quantization.scale):
        if holds(numbers, low, high):
            return numbers
    kind = next(iter(quantizations))
    least, most = _integers(kind)
    scale = (high - low) / (most - least)
    return kind._replace(scales=(scale,), zero_points=(round(least - low / scale),))


def holds(numbers: AffineQuantization, low: float, high: float) -> bool:
    """Tell whether a quantization reaches both ends of a range, by half a step at least."""
    first, last = real_range(numbers)
    return first - numbers.scale / 2 <= low and high <= last + numbers.scale / 2


def real_range(numbers: AffineQuantization) -> tuple[float, float]:
    """Lowest and highest real number."""
    zero = (numbers.zero_points or (0,))[0]
    least, most = _integers(numbers)
    return (least - zero) * numbers.scale, (most - zero) * numbers.scale


def _integers(numbers: AffineQuantization) -> tuple[int, int]:
    """Lowest and highest integer of a type."""
    if numbers.elem_type.startswith("u"):
        return 0, 2**numbers.bits - 1
    return -(2 ** (numbers.bits - 1)), 2 ** (numbers.bits - 1) - 1
