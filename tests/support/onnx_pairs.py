"""Random pairs of ONNX models: PYTHONPATH=tests python -m support.onnx_pairs [--count 10000] [--seed 1].

A pair is a small model of one or two operators, in float, in plain integers, between QuantizeLinear and
DequantizeLinear or as QOperators, and the same with one thing changed: an attribute, a type, a constant, an option, the
operator set, a name, an operand. Some changes keep the meaning. What the checker calls equal runs in ONNX Runtime
without optimisers, on random and extreme inputs; a difference is printed, and the exit code is 1. Integers that the
device computes may differ by a step in ONNX Runtime, which computes QDQ nodes in float.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import ONNX
from onnxlint_cmsis.model.model_error import ModelError
from support.onnx_changes import CHANGES, changed
from support.onnx_drafts import model
from support.onnx_pair_runs import DIFFERS, EQUAL, NOT_LOADED, NOT_RUN, REFUSED, STEP, Apart

OUTCOMES = (EQUAL, REFUSED, DIFFERS, STEP, NOT_LOADED, NOT_RUN)


def hunt(count: int, seed: int, tell: Callable[[str], None] = print) -> Counter[tuple[str, str]]:
    """How many changes of each kind came to which end; those that make a difference are told."""
    counted: Counter[tuple[str, str]] = Counter()
    runtime = Apart()
    for number in range(seed, seed + count):
        rng = random.Random(number)
        old = model(rng)
        kind, new = changed(old, rng)
        before, after = old.SerializeToString(), new.SerializeToString()
        if before == after:
            continue
        try:
            equal = verify(ONNX.load("a.onnx", before), ONNX.load("b.onnx", after)).equal
        except ModelError:
            counted[kind, NOT_LOADED] += 1
            continue
        outcome = runtime.run_pair(before, after, number) if equal else REFUSED
        if outcome.startswith((DIFFERS, STEP)):
            tell(f"{number} {kind}: {outcome} ({', '.join(node.op_type for node in old.graph.node)})")
        counted[kind, outcome.partition(":")[0]] += 1
    runtime.pool.shutdown()
    return counted


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    counted = hunt(args.count, args.seed, lambda line: print(line, flush=True))
    print(f"| change | {' | '.join(OUTCOMES)} |\n|---|{'---|' * len(OUTCOMES)}")
    for kind in CHANGES:
        print(f"| {kind} | {' | '.join(str(counted[kind, outcome]) for outcome in OUTCOMES)} |")
    print(f"| all | {' | '.join(str(sum(counted[kind, end] for kind in CHANGES)) for end in OUTCOMES)} |")
    return int(any(counted[kind, DIFFERS] for kind in CHANGES))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
