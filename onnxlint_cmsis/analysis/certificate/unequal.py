"""Why an output is not known to be equal: the first layer that computes something the old file does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.certificate.values import Lanes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.analysis.certificate.comparison import Verification
    from onnxlint_cmsis.analysis.certificate.reading import Model
    from onnxlint_cmsis.analysis.certificate.table import Key, Numbers
    from onnxlint_cmsis.model.graph import Node


def reason(known: Verification, output: str, fault: str) -> str:
    """The layer that makes an output of the new file another one, as a clause; `fault` where no layer is to blame."""
    old, new = known.old, known.new
    have = {int(lane) for value in old.values.values() if isinstance(value, Lanes) for lane in value.ids.flat}
    nodes = [*_behind(new, output)]
    for node in sorted(nodes, key=new.keeps) if new.apart else nodes:  # a band keeps lines that the old file has whole
        for name in node.outputs:
            value = new.values.get(name)
            if not isinstance(value, Lanes):
                continue
            other = [int(lane) for lane in value.ids.flat if int(lane) not in have]
            if other and node.index in new.opaque:
                return f"layer '{node.label}' ({node.op_type}) is not covered: {new.opaque[node.index]}"
            if other:
                return f"layer '{node.label}' ({node.op_type}) {_difference(known, name, other[0])}"
    return fault


def _behind(model: Model, output: str) -> Iterator[Node]:
    """Nodes that an output is computed by, in their order."""
    graph, waiting, needed = model.graph, [output], set[int]()
    while waiting:
        node = graph.producers.get(waiting.pop())
        if node is not None and node.index not in needed:
            needed.add(node.index)
            waiting += node.inputs
    return (node for node in graph.nodes if node.index in needed)


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
