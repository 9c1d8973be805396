"""Edits of the numbers in the file that name sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnxlint_cmsis.analysis.constants import Use
from onnxlint_cmsis.analysis.dimensions import SizeName
from onnxlint_cmsis.fixers.planning.uses import Uses
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.axes import leaves, resized
from onnxlint_cmsis.operators.answers import Elements


class AttributeEdit(NamedTuple):
    """One number of one attribute."""

    node: int
    """`Node.index`."""
    attribute: str
    """Attribute."""
    element: int
    """Element of a list, 0 for a single number."""
    value: int
    """New number."""


SizeNumbers = dict[Use, dict[int, int]]
"""For each use of a constant of sizes: element to new number."""


def attribute_edits(uses: Uses, sizes: Mapping[int, int]) -> list[AttributeEdit]:
    """Attributes that name the sizes of changed classes."""
    return [
        AttributeEdit(name.node, name.attribute, name.element, _value(name, sizes))
        for name in _touched(uses, sizes)
        if name.position < 0
    ]


def number_edits(uses: Uses, sizes: Mapping[int, int]) -> dict[str, SizeNumbers]:
    """Stored constants that name the sizes of changed classes, use by use.

    Raises NotAppliedError where such a number is read for other things as well, or is not in the file itself.
    """
    edits: dict[str, SizeNumbers] = {}
    for name in _touched(uses, sizes):
        if name.position < 0:
            continue
        key = _origin(uses, name)
        if not key:
            raise NotAppliedError(f"the size in `{name.tensor}` is computed, so it cannot be written")
        for use in _uses_of(uses, name, key, sizes):
            edits.setdefault(key, {}).setdefault(use, {})[name.index] = _value(name, sizes)
    return edits


def _touched(uses: Uses, sizes: Mapping[int, int]) -> Iterator[SizeName]:
    """Numbers in the file that name a size which changes."""
    for name in uses.dimensions.size_names:
        if any(leaf in sizes for part in name.parts for leaf in leaves(part)):
            yield name


def _value(name: SizeName, sizes: Mapping[int, int]) -> int:
    """The new number. Raises NotAppliedError where it names a size that is not known."""
    parts = [resized(part, sizes) for part in name.parts]
    if None in parts:
        raise NotAppliedError("a number in the file names a size that is not known")
    return name.sign * sum(part or 0 for part in parts)


def _origin(uses: Uses, name: SizeName) -> str:
    """Stored constant that the number is in; empty where it is computed, or in an attribute."""
    key = name.tensor
    while key and not uses.stored(key):
        producer = uses.graph.producers.get(key)
        key = producer.inputs[0] if producer is not None and operator_of(producer).elements is Elements.SAME else ""
    return key


def _uses_of(uses: Uses, name: SizeName, key: str, sizes: Mapping[int, int]) -> list[Use]:
    """The use that reads the number, or all uses that hand it on to its reader."""
    if uses.graph.nodes[name.node].inputs[name.position] == key:
        return [(name.node, name.position)]
    _check_readers(uses, key)
    for other in uses.dimensions.size_names:
        if other.index != name.index or _origin(uses, other) != key:
            continue
        direct = uses.graph.nodes[other.node].inputs[other.position] == key
        if not direct and _value(other, sizes) != _value(name, sizes):
            raise NotAppliedError(f"element {name.index} of `{key}` names two sizes that change differently")
    return [use for use in uses.by_key[key] if operator_of(uses.graph.nodes[use[0]]).carries_sizes]


def _check_readers(uses: Uses, key: str) -> None:
    """Raise NotAppliedError if a node reads the number for anything but a size, directly or through others."""
    known = {name.node for name in uses.dimensions.size_names if _origin(uses, name) == key}
    pending = [node for node, _ in uses.consumers(key) if operator_of(node).carries_sizes]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if node.index in seen:
            continue
        seen.add(node.index)
        if operator_of(node).carries_sizes:
            if any(uses.handed_out(output) for output in node.outputs):
                raise NotAppliedError(f"the size in `{key}` leaves the graph")
            pending.extend(reader for output in node.outputs for reader, _ in uses.consumers(output))
        elif node.index not in known:
            raise NotAppliedError(f"{node.label} reads the size in `{key}` for something else")
