"""Which layers of two versions of a model are the same layer: by weights, then by name, shapes and neighbours.

Numbers and names of tensors move when an operator is inserted or another converter writes the file; weights stay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.model.graph import Node

MOST_STEPS = 8
"""Nodes between a layer and its stored weights: dequantization, a transposition, a change of shape."""


class LayerKey(NamedTuple):
    """What tells a layer from others, whatever its place in the file."""

    name: str
    """Its node, or the tensor that an operator without a name writes."""
    op: str
    """Operator, in the words of all formats."""
    weights: str = ""
    """Hash of the values of its largest constant in sorted order, which a transposition does not change; or empty."""
    sizes: tuple[Hashable, ...] = ()
    """Sizes of what it reads and writes."""
    tensor: str = ""
    """Tensor that it writes first."""


def layer_keys(model: ModelAnalysis) -> dict[str, LayerKey]:
    """Return the key of every layer by its label. Reads weights."""
    return {
        node.label: LayerKey("", canonical(node), _weights(model, node), tensor=node.outputs[0])
        for node in (record.node for record in model.lowered.records)
    }


def _weights(model: ModelAnalysis, node: Node) -> str:
    """Hash of the largest constant that a node reads, directly or behind nodes that only convert it."""
    import numpy as np

    stored = [key for key in (_stored(model, name) for name in node.inputs) if key]
    largest = max(stored, key=lambda key: prod(model.graph.constants[key].shape), default="")
    try:
        values = model.read(largest) if largest else None
    except (OSError, ModelError):
        return ""
    if values is None or values.size < 2:
        return ""
    return hashlib.sha256(np.sort(values, axis=None).tobytes()).hexdigest()


def _stored(model: ModelAnalysis, name: str) -> str:
    """The constant that a tensor is made of; empty where it is no constant."""
    graph = model.graph
    for _ in range(MOST_STEPS):
        if not name or name in graph.constants:
            return name
        producer = graph.producers.get(name)
        name = producer.inputs[0] if producer and producer.inputs else ""
    return ""


Matches = dict[int, int]
"""Position in the second version by position in the first."""


def paired(before: Sequence[LayerKey], after: Sequence[LayerKey]) -> Matches:
    """Return the layers that both versions have, in file order of the first.

    Equal weights decide first, then names, then sizes. What is left is paired between two pairs of neighbours.
    """
    matches: Matches = {}
    for same in _PASSES:
        _match_equal(before, after, matches, same)
    for same in (lambda key: (key.op, key.sizes), lambda key: key.op):
        _match_between(before, after, matches, same)
    _match_equal(before, after, matches, lambda key: key.name)
    return dict(sorted(matches.items()))


def _by_weights(key: LayerKey) -> Hashable:
    return (key.op, key.weights, key.sizes) if key.weights else None


def _by_weights_alone(key: LayerKey) -> Hashable:
    return key.weights or None


def _by_name(key: LayerKey) -> Hashable:
    return (key.op, key.name)


_PASSES: tuple[Callable[[LayerKey], Hashable], ...] = (_by_weights, _by_weights_alone, _by_name)
"""What has to be equal, the surest first; None for a layer that cannot be told so."""


def _match_equal(
    before: Sequence[LayerKey], after: Sequence[LayerKey], matches: Matches, same: Callable[[LayerKey], Hashable]
) -> None:
    """Pair layers that are equal in something; several of a kind in their order, those of one name first."""
    left = _left(before, after, matches)
    kinds: dict[Hashable, tuple[list[int], list[int]]] = {}
    for side, (keys, numbers) in enumerate(zip((before, after), left, strict=True)):
        for number in numbers:
            kind = same(keys[number])
            if kind is not None:
                kinds.setdefault(kind, ([], []))[side].append(number)
    for old, new in kinds.values():
        named = {after[number].name: number for number in reversed(new)}
        for number in old:
            other = named.get(before[number].name)
            if other in new:
                matches[number] = other
                new.remove(other)
        matches.update(zip((number for number in old if number not in matches), new, strict=False))


def _match_between(
    before: Sequence[LayerKey], after: Sequence[LayerKey], matches: Matches, same: Callable[[LayerKey], Hashable]
) -> None:
    """Pair equal runs of layers that lie between the same neighbours."""
    for old, new in _gaps(before, after, matches):
        matcher = SequenceMatcher(None, [same(before[n]) for n in old], [same(after[n]) for n in new], autojunk=False)
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                matches[old[block.a + step]] = new[block.b + step]


def _gaps(
    before: Sequence[LayerKey], after: Sequence[LayerKey], matches: Matches
) -> Iterator[tuple[list[int], list[int]]]:
    """Unpaired layers of both versions between two neighbouring pairs whose order is the same."""
    anchors = [(-1, -1)]
    for old, new in sorted(matches.items()):
        if new > anchors[-1][1]:
            anchors.append((old, new))
    anchors.append((len(before), len(after)))
    free_old, free_new = (set(numbers) for numbers in _left(before, after, matches))
    for (first, start), (last, end) in pairwise(anchors):
        gap = (
            [number for number in range(first + 1, last) if number in free_old],
            [number for number in range(start + 1, end) if number in free_new],
        )
        if all(gap):
            yield gap


def _left(before: Sequence[LayerKey], after: Sequence[LayerKey], matches: Matches) -> tuple[list[int], list[int]]:
    taken = set(matches.values())
    return (
        [number for number in range(len(before)) if number not in matches],
        [number for number in range(len(after)) if number not in taken],
    )
