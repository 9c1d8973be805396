"""Why an output is not known to be equal: the first layer that computes something the old file does not."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.certificate.values import Lanes

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.certificate.comparison import Verification
    from onnxlint_cmsis.analysis.certificate.table import Key, Numbers
    from onnxlint_cmsis.model.graph import Node


def reasons(known: Verification) -> tuple[str | None, ...]:
    """For each output the layer that makes it another one, as a clause; its fault where no layer is to blame.

    None for an output that is equal.
    """
    told, blamed = dict[int, str](), _blamed(known) if any(known.faults) else {}
    clauses: list[str | None] = [*known.faults]
    for number, (name, fault) in enumerate(zip(known.new.graph.outputs, known.faults, strict=False)):
        if fault and (first := blamed.get(name)):
            *_, node, tensor, lane = first
            if node.index not in told:
                told[node.index] = f"layer '{node.label}' ({node.op_type}) {_wrong(known, node, tensor, lane)}"
            clauses[number] = told[node.index]
    return tuple(clauses)


def _blamed(known: Verification) -> dict[str, tuple[bool, int, Node, str, int]]:
    """The first layer behind each tensor that makes a lane which the old file does not, and such a tensor and lane.

    A layer that only moves elements comes last where lines are told apart: a band keeps lines that the old file has
    whole.
    """
    old, new = known.old, known.new
    have = np.zeros(new.table.count, bool)
    for kept in old.values.values():
        if isinstance(kept, Lanes):
            have[kept.ids] = True
    blamed: dict[str, tuple[bool, int, Node, str, int]] = {}
    for number, node in enumerate(new.graph.nodes):
        firsts = [blamed[name] for name in node.inputs if name in blamed]
        for name in node.outputs:
            value = new.values.get(name)
            if isinstance(value, Lanes) and (other := value.ids[~have[value.ids]]).size:
                firsts.append((bool(new.apart) and new.keeps(node), number, node, name, int(other[0])))
                break
        if firsts:
            blamed.update(dict.fromkeys(filter(None, node.outputs), min(firsts, key=itemgetter(0, 1))))
    return blamed


def _wrong(known: Verification, node: Node, name: str, lane: int) -> str:
    covered = node.index not in known.new.opaque
    return _difference(known, name, lane) if covered else f"is not covered: {known.new.opaque[node.index]}"


WORDS = {
    "sum": (
        "adds another bias", "reads another zero-point", "reads another type",
        "has another window", "has other weights or reads other lanes", "has another border",
    ),
    "scaled": ("", "has other scales", "has scales that kernels multiply otherwise"),
    "requantize": ("", "has another multiplier", "has another shift", "has another zero-point", "makes another type",
                   "has other bounds", "has other bounds", *["has a multiplier that kernels compute otherwise"] * 2),
}  # fmt: skip
"""What it means that a part of a number differs, in the order of its parts."""


def _difference(known: Verification, name: str, lane: int) -> str:
    """What a lane has that no lane of the old tensor of this name has, as little as it can be."""
    table, value = known.new.table, known.old.values.get(name)
    lanes = {int(number) for number in value.ids.flat} if isinstance(value, Lanes) else set[int]()
    told = [_differing(table, table.key(lane), table.key(other)) for other in sorted(lanes)]
    close = min((words for words in told if words), key=len, default=[])
    return " and ".join(close) or "computes what no layer of the old file does"


def _differing(table: Numbers, key: Key, other: Key) -> list[str]:
    """What differs between two lanes; nothing where they are of different kinds."""
    if key[0] != other[0] or len(key) != len(other):
        return []
    if key[0] == "at" and key[2:] == other[2:]:
        return _differing(table, table.key(key[1]), table.key(other[1]))
    words = WORDS.get(key[0], ())
    parts = list(zip(key[1:], other[1:], strict=True))
    inner: list[str] = []
    if key[0] in ("scaled", "requantize") and parts[0][0] != parts[0][1]:
        inner = _differing(table, table.key(parts[0][0]), table.key(parts[0][1]))
        if not inner:
            return []
    told = [word for word, (a, b) in zip(words, parts, strict=False) if word and a != b]
    if key[0] == "sum" and key[1] != other[1]:
        told[0] = f"adds {key[1]} to its sum; the old file adds {other[1]}"
    return [*inner, *dict.fromkeys(told)]
