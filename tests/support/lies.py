"""Lies told to the checker: PYTHONPATH=tests python -m support.lies FOLDER... [--count 10000] [--seed 1].

A lie is the new file of a pair with one thing changed by one: a weight, a bias, a scale, a shift, a zero-point, the
place of a lane, another constant, an option, an operand. The pairs are models of the folders and random ones, each with
its fix. What the checker calls equal to the old file runs on 200 inputs beside the new one, which the runtime computes
by the same kernels; a difference is printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper

from model_mutations import _numbers
from onnxlint_cmsis.analysis.certified import verify
from onnxlint_cmsis.cli.fix_promises import fix_request
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fixers.fix_model import fix_model
from onnxlint_cmsis.formats.flatbuffer import root_of
from onnxlint_cmsis.formats.format import TFLITE, format_of
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.model.model_error import ModelError
from support.proofs import prove
from support.tflite_plans import case
from support.tflite_steps import as_converted, random_chain

INPUTS = 200
"""Runs of a lie that is called equal."""
ROUND = 500
"""Lies between two lines that tell how far the command is."""
SLOWEST = 0.5
"""Seconds that the checker may take for a pair that is lied about."""
REFUSED, EQUAL, DIFFERS, NOT_LOADED, NOT_RUN = "refused", "equal", "differs", "not loaded", "not run"
OUTCOMES = (REFUSED, EQUAL, DIFFERS, NOT_LOADED, NOT_RUN)
WHOLE = {"INT8": "i1", "UINT8": "u1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8"}
"""Types of constants that lies are told about."""


class Pair(NamedTuple):
    """A model and what it is to be replaced by."""

    name: str
    """File name, whose end tells the format."""
    old: bytes
    new: bytes


class Lie(NamedTuple):
    """A file that is changed in one thing."""

    kind: str
    data: bytes


def planned(seed: int) -> Pair:
    """A random `.tflite` model with all channels taken out that may go, and up to two of zeros added to each class."""
    data = as_converted(seed) if seed % 3 == 0 else random_chain(seed, wide=seed % 3 == 2)
    more = {leaf: random.Random(f"{seed} {leaf}").randrange(3) for leaf in range(99)}
    return Pair(f"random{seed}.tflite", data, case(data, more).new)


def fixed(path: Path) -> Pair | None:
    """A model with its fix; with itself where nothing changes, None for no model."""
    data = path.read_bytes()
    try:
        new = fix_model(str(path), data, fix_request(make_settings(targets=["cortex-m55"], min_gain=0))).model
    except ModelError:
        return None
    return Pair(path.name, data, new or data)


def tell_lies(pairs: Sequence[Pair], count: int, seed: int) -> Counter[tuple[str, str]]:
    """How many lies of each kind came to which end; those that make a difference are printed."""
    counted: Counter[tuple[str, str]] = Counter()
    for rank, pair in enumerate(pairs):
        form, share = format_of(pair.name), range(rank, count, len(pairs))
        old = form.load(pair.name, pair.old)
        for number in share:
            lie = lied(pair, random.Random(f"{seed} {number}"))
            if lie is None:
                continue
            try:
                equal = verify(old, form.load(pair.name, lie.data)).equal
            except ModelError:
                counted[lie.kind, NOT_LOADED] += 1
                continue
            counted[lie.kind, _run(pair, lie, number) if equal else REFUSED] += 1
    return counted


def _run(pair: Pair, lie: Lie, number: int) -> str:
    label = f"{pair.name} {number}"
    try:
        proof = prove(pair.new, lie.data, beside=Path(pair.name), inputs=range(INPUTS))
    except (NotAppliedError, ModelError) as error:
        print(f"{label} {lie.kind}: {error}"[:300], flush=True)
        return NOT_RUN
    if proof.equal:
        return EQUAL
    print(f"{label} {lie.kind}: {proof.reason}"[:300], flush=True)
    return DIFFERS if proof.inputs and any(difference.largest for difference in proof.differences) else NOT_RUN


def lied(pair: Pair, rng: random.Random) -> Lie | None:
    """The new file of a pair with one thing changed; None where there is nothing of the kind that was drawn."""
    tell = tflite_lie if pair.name.endswith(TFLITE.suffix) else onnx_lie
    told = tell(pair.new, rng)
    return told if told is None or told.data != pair.new else None


def other(array: np.ndarray, kind: str, rng: random.Random) -> np.ndarray:
    """The array with an element one more or less, or with two slices exchanged."""
    array = array.copy()
    if kind == "lane":
        axis = rng.choice([axis for axis, size in enumerate(array.shape) if size > 1])
        order = [*range(array.shape[axis])]
        first, second = rng.sample(order, 2)
        order[first], order[second] = second, first
        return array.take(order, axis)
    position = rng.randrange(array.size)
    element = array.flat[position : position + 1]
    if array.dtype.kind != "f":
        array.flat[position] = (element.astype(np.int64) + rng.choice((1, -1))).astype(array.dtype)[0]
    elif kind == "shift":
        array.flat[position] = element[0] * array.dtype.type(rng.choice((2, 0.5)))
    else:
        array.flat[position] = np.nextafter(element[0], array.dtype.type(rng.choice((0, np.inf))))
    return array


def kind_of(array: np.ndarray, scales: bool, rng: random.Random) -> str:
    """What a change of a constant is called."""
    if array.dtype.kind == "f":
        return rng.choice(("scale", "shift")) if scales else "constant"
    if max(array.shape, default=0) > 1 and rng.random() < 0.3:
        return "lane"
    if array.dtype.itemsize == 1:
        return "weight" if array.ndim > 1 else "zero-point"
    return "bias" if array.dtype == np.int32 else "constant"


# ONNX: initializers, attributes, operands.


def onnx_lie(data: bytes, rng: random.Random) -> Lie | None:
    model = onnx.ModelProto.FromString(data)
    nodes = [*model.graph.node]
    drawn = rng.random()
    if drawn < 0.75:
        held = [tensor for tensor in model.graph.initializer if tensor.data_type in (1, 2, 3, 4, 5, 6, 7)]
        held = [tensor for tensor in held if numpy_helper.to_array(tensor).size and not tensor.external_data]
        if not held:
            return None
        tensor = rng.choice(held)
        array = numpy_helper.to_array(tensor)
        reads = [(node, position) for node in nodes for position, name in enumerate(node.input) if name == tensor.name]
        read_as_scale = any("Linear" in node.op_type and position % 2 for node, position in reads)
        kind = kind_of(array, read_as_scale, rng)
        tensor.CopyFrom(numpy_helper.from_array(other(array, kind, rng), tensor.name))
        return Lie(kind, model.SerializeToString())
    if drawn < 0.9:
        stated = [attribute for node in nodes for attribute in node.attribute if attribute.type in (1, 2, 7)]
        if not stated:
            return None
        attribute = rng.choice(stated)
        if attribute.type == onnx.AttributeProto.FLOAT:
            attribute.f = float(other(np.array([attribute.f], np.float32), "option", rng)[0])
        elif attribute.type == onnx.AttributeProto.INT:
            attribute.i += rng.choice((1, -1))
        elif attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] += rng.choice((1, -1))
        return Lie("option", model.SerializeToString())
    node = rng.choice([node for node in nodes if node.input])
    if node.op_type in ("Relu", "Clip") and rng.random() < 0.7:
        node.op_type = "Identity"
        del node.input[1:], node.attribute[:]
        return Lie("bound", model.SerializeToString())
    names = [name for some in nodes for name in some.input if name]
    node.input[rng.randrange(len(node.input))] = rng.choice(names)
    return Lie("operand", model.SerializeToString())


# `.tflite`: buffers, and the numbers beside them.


def tflite_lie(data: bytes, rng: random.Random) -> Lie | None:
    lie = bytearray(data)
    if rng.random() < 0.55:
        model = read_tflite("m.tflite", data)
        held = [
            t
            for t in model.subgraphs[0].tensors
            if t.buffer and model.buffers[t.buffer].length and t.elem_type in WHOLE
        ]
        if not held:
            return None
        tensor = rng.choice(held)
        span = model.buffers[tensor.buffer]
        array = np.frombuffer(data, WHOLE[tensor.elem_type], offset=span.offset, count=int(np.prod(tensor.shape)))
        array = array.reshape(tensor.shape)
        kind = kind_of(array, False, rng)
        lie[span.offset : span.offset + array.nbytes] = other(array, kind, rng).tobytes()
        return Lie(kind, bytes(lie))
    offset, letter = rng.choice([number for number in _numbers(root_of(SCHEMA, data)) if number[1] != "I"])
    width = struct.calcsize(f"<{letter}")
    (number,) = struct.unpack_from(f"<{letter}", data, offset)
    if letter == "f":
        kind = rng.choice(("scale", "shift"))
        struct.pack_into("<f", lie, offset, other(np.array([number], np.float32), kind, rng)[0])
        return Lie(kind, bytes(lie))
    lie[offset : offset + width] = ((int(number) + rng.choice((1, -1))) % 256**width).to_bytes(width, "little")
    return Lie("zero-point" if letter == "q" else "option", bytes(lie))


# The command.


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=80_000, help="bytes of the largest model of a folder")
    args = parser.parse_args(argv)
    pairs = [*chosen(args.folders, args.largest), *map(planned, range(24))]
    print(f"{len(pairs)} pairs, {sum(pair.old != pair.new for pair in pairs)} of them fixed", flush=True)
    counted: Counter[tuple[str, str]] = Counter()
    for start in range(0, args.count, ROUND):
        counted += tell_lies(pairs, min(ROUND, args.count - start), args.seed + start)
        print(f"{sum(counted.values()):,} lies", {end: _ended(counted, end) for end in OUTCOMES}, flush=True)
    kinds = sorted({kind for kind, _ in counted})
    print(f"| lie | {' | '.join(OUTCOMES)} |\n|---|{'---|' * len(OUTCOMES)}")
    for kind in kinds:
        print(f"| {kind} | {' | '.join(str(counted[kind, outcome]) for outcome in OUTCOMES)} |")
    print(f"| all | {' | '.join(str(_ended(counted, outcome)) for outcome in OUTCOMES)} |")
    return int(_ended(counted, DIFFERS) > 0)


def _ended(counted: Counter[tuple[str, str]], outcome: str) -> int:
    return sum(number for lie, number in counted.items() if lie[1] == outcome)


def chosen(folders: Sequence[Path], largest: int) -> Iterator[Pair]:
    """Pairs of the models of folders that the checker calls equal, and quickly."""
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in (".onnx", ".tflite")):
        pair = fixed(path) if path.stat().st_size <= largest else None
        if pair is None:
            continue
        form, start = format_of(path.name), time.process_time()
        equal = verify(form.load(path.name, pair.old), form.load(path.name, pair.new), 1 << 16).equal
        if equal and time.process_time() - start < SLOWEST:
            yield pair


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
