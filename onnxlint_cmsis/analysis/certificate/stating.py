"""State a certificate: lanes that stay and where they went, constants of those that are gone, and the sums behind."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.certificate.facts import Certificate, CertifiedTensor, LaneSums
from onnxlint_cmsis.analysis.certificate.table import digest
from onnxlint_cmsis.analysis.certificate.values import Lanes
from onnxlint_cmsis.operators.integers import quantized_multiplier
from onnxlint_cmsis.operators.scaled_numbers import Fixed, Quantization

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnxlint_cmsis.analysis.certificate.comparison import Verification
    from onnxlint_cmsis.analysis.certificate.reading import Model
    from onnxlint_cmsis.analysis.certificate.table import Ids, Numbers


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


def untrue(stated: object, true: object, fact: str = "") -> str | None:
    """The first fact of a certificate that does not hold, as a clause; None where all hold and none is left out."""
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
        return None if equal else f"{fact} is {_short(stated)}; in the files it is {_short(true)}"
    return next(filter(None, (untrue(*pair) for pair in pairs)), None)


def _short(value: object) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:80]} ..."
