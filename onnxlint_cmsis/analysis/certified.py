"""What the checker knows of two files as data, the certificate, and in words: why outputs are not known to be equal."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.certificate import DAMAGED, Lanes, verify
from onnxlint_cmsis.analysis.fix_results import Certificate, CertifiedTensor, LaneSums
from onnxlint_cmsis.analysis.lane_numbers import digest
from onnxlint_cmsis.model.graph import ModelError
from onnxlint_cmsis.operators.integers import Fixed, quantized_multiplier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.certificate import Ids, Model, Verification
    from onnxlint_cmsis.analysis.lane_numbers import Key, Numbers
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.operators.integers import Quantization


# What the checker is asked on the way: within bounds, and where an error of a damaged file ends nothing.


ENOUGH = 1 << 18
"""Numbers of lanes that the checker may need where nobody asked for it: models of integers need fewer, and it takes
2 seconds and 100 MB at most."""


def certificate_of(old: ModelAnalysis, new: ModelAnalysis) -> Certificate | None:
    """The certificate of two files; None where they are not known to be equal."""
    try:
        return certificate(verify(old.as_stored, new.as_stored, ENOUGH), old.data, new.data)
    except (ModelError, RecursionError, *DAMAGED):
        return None


def why_not_equal(old: ModelAnalysis, new: ModelAnalysis) -> str:
    """Why outputs of two files are not known to be equal, as a clause; empty where they are."""
    try:
        known = verify(old.as_stored, new.as_stored, ENOUGH)
    except (ModelError, RecursionError, *DAMAGED) as error:
        return f"they cannot be read for it: {error}"
    told = zip(known.new.graph.outputs or ("",), known.faults, strict=False)
    return next((reason(known, name, fault) for name, fault in told if fault), "")


# The certificate: which lanes stay and where they went, constants of those that are gone, and the sums behind them.


def certificate(known: Verification, old: bytes, new: bytes) -> Certificate | None:
    """The facts by which two files are equal; None where some output is not known to be."""
    if not known.equal:
        return None
    return Certificate(hashlib.sha256(old).hexdigest(), hashlib.sha256(new).hexdigest(), tuple(_tensors(known)))


def _tensors(known: Verification) -> Iterator[CertifiedTensor]:
    for node in known.new.graph.nodes:
        for name in node.outputs:
            old, new = known.old.values.get(name), known.new.values.get(name)
            if not (isinstance(old, Lanes) and isinstance(new, Lanes) and old.integers and new.integers) or new.scale:
                continue  # with a scale it is what a DequantizeLinear says of integers that are told themselves
            axis = _axis(old, new)
            same = np.array_equal(old.ids, new.ids) and old.plane == new.plane
            if axis is not None and not (same and _stored(known.old, name) == _stored(known.new, name)):
                yield _tensor(known, node.label, name, axis)


def _axis(old: Lanes, new: Lanes) -> int | None:
    """The axis of the lanes: the one whose size differs, else the only one that no lane lies over, else the last."""
    if len(old.shape) != len(new.shape):
        return None
    resized = [axis for axis, sizes in enumerate(zip(old.shape, new.shape, strict=True)) if len({*sizes}) > 1]
    told = [axis for axis, size in enumerate(new.shape) if size > 1 and axis not in new.plane]
    axis = resized[0] if resized else told[-1] if told else None
    return None if len(resized) > 1 or axis in (*old.plane, *new.plane) else axis


def _stored(model: Model, name: str) -> set[bytes]:
    """What stands for the constants between a tensor and the integers that it is computed from."""
    pending, seen, digests = [name], {name}, set()
    while pending:
        producer = model.graph.producers.get(pending.pop())
        for source in producer.inputs if producer else ():
            value = model.values.get(source)
            if isinstance(value, Fixed):
                digests.add(digest(value.array))
            elif source not in seen and not (isinstance(value, Lanes) and value.integers):
                seen.add(source)
                pending.append(source)
    return digests


def _tensor(known: Verification, label: str, name: str, axis: int) -> CertifiedTensor:
    table, sides = known.new.table, (known.old, known.new)
    values = [side.values[name] for side in sides]
    rows = [_rows(value.ids, axis) for value in values if isinstance(value, Lanes)]
    before, after = ([row.tobytes() for row in side] for side in rows)
    position_of = {lane: position for position, lane in reversed([*enumerate(before)])}
    stays = {*after}
    gone = [lane for lane, numbers in enumerate(before) if numbers not in stays]
    constants = [
        int(table.low[rows[0][lane][0]]) if table.are(rows[0][lane], "constant").all() else None for lane in gone
    ]
    return CertifiedTensor(
        name, label, axis, len(before), len(after),
        lanes=tuple(map(position_of.get, after)),
        gone=tuple(gone),
        constants=tuple(constants),
        sums=_sums(known.new, name, axis, range(len(after))),
        gone_sums=_sums(known.old, name, axis, gone),
    )  # fmt: skip


def _rows(ids: Ids, axis: int) -> Ids:
    """Numbers with the lanes first."""
    rows: Ids = ids.swapaxes(0, axis).reshape(ids.shape[axis], -1)
    return rows


def _sums(model: Model, name: str, axis: int, lanes: Sequence[int]) -> LaneSums | None:
    """The sums that lanes are rounded from; None where they are not all sums, or where there are no lanes."""
    value, stated = model.rounded.get(name, (None, None))
    if value is None or stated is None or not lanes or value.ids.shape[axis] != value.ids.size:
        return None
    rows = [_sum(model.table, int(value.ids.flat[lane]), stated) for lane in lanes]
    told = [row for row in rows if row is not None]
    return LaneSums(*zip(*told, strict=True)) if len(told) == len(rows) else None


def _sum(table: Numbers, number: int, stated: Quantization) -> tuple[Any, ...] | None:
    key, least, most = table.key(number), stated.least, -stated.least - 1
    if key[0] == "clip":
        least, most, key = stated.step(key[2]), stated.step(key[3]), table.key(key[1])
    if key[0] != "scaled" or table.key(key[1])[0] != "sum":
        return None
    _, inner, step, _ = key
    bias, edge = table.key(inner)[1], table.key(inner)[-1]
    multiplier, shift = quantized_multiplier(step / stated.scale)
    bounds = int(table.low[inner]), int(table.high[inner])
    return bias, *bounds, multiplier, shift, stated.zero, least, most, edge != b""


def untrue(stated: object, true: object, fact: str = "") -> str:
    """The first fact of a certificate that does not hold, as a clause; empty where all hold and none is left out."""
    if isinstance(stated, dict) and isinstance(true, dict):
        if missing := [name for name in true if name not in stated]:
            return f"{fact or 'the certificate'} does not tell {missing[0]}"
        if more := [name for name in stated if name not in true]:
            return f"{fact or 'the certificate'} tells {more[0]!r}, which means nothing"
        pairs = [(stated[name], true[name], f"{fact}.{name}" if fact else name) for name in true]
    elif isinstance(stated, list) and isinstance(true, list) and len(stated) == len(true):
        pairs = [(a, b, f"{fact}[{index}]") for index, (a, b) in enumerate(zip(stated, true, strict=True))]
    else:
        equal = type(stated) is type(true) and stated == true
        return "" if equal else f"{fact} is {_short(stated)}; in the files it is {_short(true)}"
    return next(filter(None, (untrue(*pair) for pair in pairs)), "")


def _short(value: object) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:80]} ..."


# Why an output is not known to be equal: the first layer that computes something the old file does not.


def reason(known: Verification, output: str, fault: str) -> str:
    """The layer that makes an output of the new file another one, as a clause; `fault` where no layer is to blame."""
    old, new = known.old, known.new
    have = {int(lane) for value in old.values.values() if isinstance(value, Lanes) for lane in value.ids.flat}
    for node in _behind(new, output):
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
