"""Which layers of two versions of a model are the same layer: by weights, neighbours, name, and sizes.

Numbers and names of tensors move when an operator is inserted or another converter writes the file. Weights stay, or
nearly so when they are quantized anew or trained on, and so do the layers that a layer reads and that read it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.folded_weights import folded
from onnxlint_cmsis.lower.real_values import dequantized, real_values
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Node

ALIKE = 0.9
"""Cosine of the profiles of two layers from which they are one layer."""
FEWEST = 4
"""Channels from which a profile tells layers apart."""
SAME_WORK = {"MatMul": "Gemm", "GlobalAveragePool": "AveragePool", "ReduceMean": "AveragePool"}
"""Operators that exporters, quantizers and fixes write in place of another one."""
SMALLEST = 1e-3
"""Length of such a vector, as a share of the largest sum, up to which all channels are alike."""
MOST_ROUNDS = 64
"""Rounds of pairing by neighbours, each of which may be evidence for the next."""
MOST_STEPS = 8
"""Nodes between a layer and its stored weights: dequantization, a transposition, a change of shape."""


class LayerKey(NamedTuple):
    """What tells a layer from others, whatever its place in the file."""

    name: str
    """Its node, or the tensor that an operator without a name writes."""
    op: str
    """Operator, in the words of all formats; of those in SAME_WORK the first."""
    weights: str = ""
    """Hash of the values of its largest constant in sorted order, which a transposition does not change; or empty."""
    sizes: tuple[Hashable, ...] = ()
    """Sizes of what it reads and writes."""
    tensor: str = ""
    """Tensor that it writes first."""
    reads: tuple[str, ...] = ()
    """Tensors that it reads, in order."""
    label: str = ""
    """Label of its node in this version."""
    sources: frozenset[str] = frozenset()
    """Labels of the layers that it reads."""
    profile: tuple[float, ...] = ()
    """Sum of the real weights of each output channel less the mean of all, as a vector of length 1; or empty."""


def layer_keys(model: ModelAnalysis) -> dict[str, LayerKey]:
    """Return the key of every layer by its label. Reads weights."""
    sources = _sources(model)
    return {
        record.node.label: LayerKey(
            "",
            SAME_WORK.get(canonical(record.node), canonical(record.node)),
            _weights(model, record.node),
            tensor=record.node.outputs[0],
            reads=tuple(record.node.inputs),
            label=record.node.label,
            sources=sources[record.node.index],
            profile=_profile(model, record),
        )
        for record in model.lowered.records
    }


def _sources(model: ModelAnalysis) -> dict[int, frozenset[str]]:
    """Labels of the layers that each node reads, directly or behind nodes that are no layers; by number."""
    layers = {record.node.index for record in model.lowered.records}
    makers: dict[str, frozenset[str]] = {}
    sources: dict[int, frozenset[str]] = {}
    for node in model.graph.nodes:
        sources[node.index] = frozenset().union(*(makers.get(name, frozenset()) for name in node.reads))
        behind = frozenset((node.label,)) if node.index in layers else sources[node.index]
        makers.update(dict.fromkeys(node.outputs, behind))
    return sources


def _profile(model: ModelAnalysis, record: LoweredLayer) -> tuple[float, ...]:
    """What stays of weights in other steps, in another order of axes and after some more training."""
    import numpy as np

    values = _real_weights(model, record)
    if values is None or values.ndim < 2:
        return ()
    sums = values.reshape(len(values), -1).sum(1)
    apart = sums - sums.mean()
    length = float(np.linalg.norm(apart))
    tells = np.isfinite(length) and length > np.abs(sums).max() * SMALLEST
    return tuple((apart / length).tolist()) if tells else ()


def _real_weights(model: ModelAnalysis, record: LoweredLayer) -> NDArray[np.float64] | None:
    """Real weights, output channels first; None where they are not stored."""
    import numpy as np

    graph, node, position = model.graph, record.node, operator_of(record.node).roles.second
    steps = graph.quantization.get(node.inputs[position]) if node.has(position) else None
    try:
        if steps is None:
            layer = folded(graph, model.read, record) if record.weighted else None
            return layer.weights if layer else None
        values = real_values(graph, model.read, node.inputs[position])
    except (OSError, ModelError):
        return None
    if values is None or values.ndim < 2:
        return None
    scales, zeros = (np.array(numbers, np.float64) for numbers in (steps.scales, steps.zero_points))
    real = dequantized(values, scales, zeros, steps.axis)
    return None if real is None else np.moveaxis(real, 0 if len(real) > 1 else -1, 0)


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


_Score = tuple[float, bool, bool]
"""Share of the neighbours that two layers have in common, and whether their sizes and their names are equal."""
Matches = dict[int, int]
"""Position in the second version by position in the first."""


def paired(before: Sequence[LayerKey], after: Sequence[LayerKey]) -> Matches:
    """Return the layers that both versions have, in file order of the first.

    Equal weights decide first, then weights that are nearly equal, neighbours, and names. What is left is paired
    between two pairs of neighbours in the files, then by sizes where one layer has them, and by the name alone.
    """
    matches: Matches = {}
    for same in (_by_weights, _by_weights_alone):
        _match_equal(before, after, matches, same)
    _match_alike(before, after, matches)
    _match_beside(before, after, matches)
    _match_equal(before, after, matches, lambda key: (key.op, key.name))
    _match_beside(before, after, matches)
    for same in (lambda key: (key.op, key.sizes), lambda key: key.op):
        _match_between(before, after, matches, same)
    _match_only(before, after, matches)
    _match_equal(before, after, matches, lambda key: key.name)
    return dict(sorted(matches.items()))


def _by_weights(key: LayerKey) -> Hashable:
    return (key.op, key.weights, key.sizes) if key.weights else None


def _by_weights_alone(key: LayerKey) -> Hashable:
    return key.weights or None


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


def _match_alike(before: Sequence[LayerKey], after: Sequence[LayerKey], matches: Matches) -> None:
    """Pair layers whose weights point the same way, the nearest first."""
    import numpy as np

    old, new = _left(before, after, matches)
    kinds: dict[Hashable, tuple[list[int], list[int]]] = {}
    for side, (keys, numbers) in enumerate(((before, old), (after, new))):
        for number in numbers:
            if len(keys[number].profile) >= FEWEST:
                kinds.setdefault((keys[number].op, len(keys[number].profile)), ([], []))[side].append(number)
    for first, second in kinds.values():
        if not first or not second:
            continue
        left, right = (np.array([keys[n].profile for n in side]) for keys, side in ((before, first), (after, second)))
        likeness = left @ right.T
        for rank in np.argsort(-likeness, axis=None, kind="stable").tolist():
            row, column = divmod(rank, len(second))
            if likeness[row, column] < ALIKE:
                break
            if first[row] not in matches and second[column] not in matches.values():
                matches[first[row]] = second[column]


def _match_beside(before: Sequence[LayerKey], after: Sequence[LayerKey], matches: Matches) -> None:
    """Pair layers that stand beside the same paired layers, the surest first: each pair is evidence for others."""
    sides = [_neighbours(keys) for keys in (before, after)]
    for _ in range(MOST_ROUNDS):
        old, new = _left(before, after, matches)
        by_op: dict[str, list[int]] = {}
        for number in new:
            by_op.setdefault(after[number].op, []).append(number)
        scores: dict[tuple[int, int], _Score] = {}
        for first in old:
            known = [{matches[number] for number in side if number in matches} for side in sides[0][first]]
            for second in by_op.get(before[first].op, ()) if any(known) else ():
                beside = sum(len(mine & others) for mine, others in zip(known, sides[1][second], strict=True))
                if beside:
                    both = sum(map(len, (*sides[0][first], *sides[1][second]))) - beside
                    was, now = before[first], after[second]
                    scores[first, second] = (beside / both, was.sizes == now.sizes, was.name == now.name)
        surest = _best(scores)
        if not surest:
            return
        matches.update(surest)


def _neighbours(keys: Sequence[LayerKey]) -> list[tuple[set[int], set[int]]]:
    """Numbers of the layers that each one reads, and of those that read it."""
    numbers = {key.label: number for number, key in enumerate(keys) if key.label}
    sides: list[tuple[set[int], set[int]]] = [(set(), set()) for _ in keys]
    for number, key in enumerate(keys):
        for source in (numbers[label] for label in key.sources if label in numbers):
            sides[number][0].add(source)
            sides[source][1].add(number)
    return sides


def _best(scores: Mapping[tuple[int, int], _Score]) -> Matches:
    """Of the pairs that are better than any other pair of either layer, those that share the most."""
    rows: dict[tuple[int, int], list[_Score]] = {}
    for pair, score in scores.items():
        for side, number in enumerate(pair):
            rows.setdefault((side, number), []).append(score)
    best = {side: max(row) if row.count(max(row)) == 1 else None for side, row in rows.items()}
    pairs = {pair: score for pair, score in scores.items() if score == best[0, pair[0]] == best[1, pair[1]]}
    most = max((share for share, _, _ in pairs.values()), default=0.0)
    return {old: new for (old, new), (share, _, _) in pairs.items() if share == most}


def _match_only(before: Sequence[LayerKey], after: Sequence[LayerKey], matches: Matches) -> None:
    """Pair layers whose operator and sizes no other layer that is left has."""
    old, new = (
        Counter((keys[number].op, keys[number].sizes) for number in side)
        for keys, side in zip((before, after), _left(before, after, matches), strict=True)
    )
    single = {kind for kind in old.keys() & new.keys() if old[kind] == new[kind] == 1}
    _match_equal(before, after, matches, lambda key: (key.op, key.sizes) if (key.op, key.sizes) in single else None)


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
