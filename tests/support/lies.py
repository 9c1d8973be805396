"""Lies told to the checker: PYTHONPATH=tests python -m support.lies FOLDER... [--count 10000] [--seed 1].

A lie is the new file of a pair with one thing changed by one: a weight, a bias, a scale, a shift, a zero-point, the
place of a lane, another constant, an option, an operand. The pairs are models of the folders and random ones, each with
its fix. What the checker calls equal to the old file runs on 200 inputs beside the new one, which the runtime computes
by the same kernels; a difference is printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.cli.fix_promises import fix_request
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fixers.fix_model import fix_model
from onnxlint_cmsis.formats.format import TFLITE, format_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.model.model_error import ModelError
from support.one_off import Lie
from support.onnx_lies import onnx_lie
from support.proofs import prove
from support.tflite_lies import tflite_lie
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


class Pair(NamedTuple):
    """A model and what it is to be replaced by."""

    name: str
    """File name, whose end tells the format."""
    old: bytes
    new: bytes


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
