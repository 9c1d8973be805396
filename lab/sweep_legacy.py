"""Runs every function for q7 and q15 of CMSIS 5 against its definition, and prints what no row of hazards tells.

`python lab/sweep_legacy.py DIR... [--calls N]` with checkouts of CMSIS 5 (5.6.0 to 5.9.0), on an emulated Cortex-M3 and
M4; needs arm-none-eabi-gcc and qemu-system-arm. Layers get sizes from the pool of the firmware check, with numbers
up to both ends of their types, no shift and long shifts; other functions get rows of random numbers. Returns 1 where a
call does not do what is told.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from firmware_check.build import Bench
from firmware_check.evidence.call_layer import CallStep
from firmware_check.evidence.call_line import call_text
from firmware_check.evidence.call_runs import run_steps
from firmware_check.legacy.arithmetic import QNumbers
from firmware_check.legacy.candidates import LEGACY_POOL, legacy_pool
from firmware_check.legacy.cmsis_5 import open_cmsis_5
from firmware_check.legacy.legacy_call import WITHOUT_WEIGHTS, legacy_step, step_with
from firmware_check.legacy.score_calls import SOFTMAX_BIAS, activation_step, row_step, softmax, softmax_step
from firmware_check.options import board_named
from firmware_check.program import Elements
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.ground.types import KernelCall, Target

CPUS = ("cortex-m3", "cortex-m4")
TOGETHER = 60
"""Calls in one firmware."""


def rows(bits: int, chance: np.random.Generator) -> Elements:
    """A row of scores: over the whole range, or near to each other."""
    size, wide = int(chance.integers(1, 33)), 1 << (bits - 1)
    spread = int(chance.choice([4, 12, 60, 130, 2 * wide]))
    low = int(chance.integers(-wide, wide - min(spread, 2 * wide) + 1))
    values = chance.integers(low, min(low + spread, wide), size, dtype=np.int64)
    return np.asarray(values, np.int8 if bits == 8 else np.int16)


def other_steps(release: str, count: int, chance: np.random.Generator) -> Iterator[CallStep]:
    """Softmax, activations by table and products."""
    for number in range(count):
        for bits in (8, 16):
            data, kind = rows(bits, chance), f"q{bits - 1}"
            yield softmax_step(f"softmax {kind} {number}", data)
            width, wide = int(chance.integers(0, 4)), 1 << (bits - 1)
            for name in ("SIGMOID", "TANH"):
                yield activation_step(f"{name} {kind} {number}", data, name, width)
            shift = int(chance.integers(0, bits))
            second = chance.permutation(data)
            product = (data.astype(np.int64) * second + ((1 << shift) >> 1)) >> shift
            yield row_step(
                f"mult {kind} {number}", f"nn_mult_{kind}", data, np.clip(product, -wide, wide - 1),
                f"source, (int{bits}_t *)weights, result, {shift}, {data.size}", arrays={"weights": second},
            )  # fmt: skip
        if release != "cmsis5-5.6.0":
            batch, depth = int(chance.integers(1, 5)), int(chance.integers(1, 13))
            data = chance.integers(-128, 128, (batch, depth)).astype(np.int8)
            yield row_step(
                f"softmax batch {number}", "softmax_with_batch_q7", data.reshape(-1), softmax(data).reshape(-1),
                f"source, {batch}, {depth}, result", allowed=SOFTMAX_BIAS[8],
            )  # fmt: skip


def layer_steps(target: Target, count: int, chance: random.Random) -> Iterator[CallStep]:
    """Layers of every entry point, each with usual numbers or with those of the ends of the types."""
    for entry in LEGACY_POOL:
        calls = [call for call in legacy_pool(entry) if route(call, target).kernel]
        for number, call in enumerate(chance.sample(calls, min(count, len(calls)))):
            usual = legacy_step(f"{entry} {number}", call, target, seed=number)
            yield at_the_ends(usual, call, target, number) if number % 2 else usual


def at_the_ends(usual: CallStep, call: KernelCall, target: Target, seed: int) -> CallStep:
    """The same call with the least and the largest numbers of its types, and another shift."""
    arrays = {array.name: array.values for array in usual.step.arrays}
    if usual.step.op_type in WITHOUT_WEIGHTS or "weights" not in arrays:
        return usual
    chance = np.random.default_rng(seed)
    bits = usual.step.inputs[0].quantization.bits
    source = chance.choice([-(1 << (bits - 1)), -1, 0, (1 << (bits - 1)) - 1], usual.sources[0].size)
    kind, shape = arrays["weights"].dtype, [size or 0 for size in call.input_dims]
    depth = max(1, arrays["weights"].size // max(call.output_dims.c or 1, 1))
    largest = min(np.iinfo(kind).max, max(1, (1 << 29) // (depth << (bits - 1))))
    weights = chance.choice([-largest, -1, 0, largest], arrays["weights"].size).astype(kind)
    form = _weights_form(usual, call, weights)
    bias = chance.choice([np.iinfo(kind).min, 0, np.iinfo(kind).max], arrays["bias"].size).astype(kind)
    numbers = QNumbers(
        source.astype(np.int8 if bits == 8 else np.int16).reshape(shape), form, bias, int(chance.integers(0, 9)),
        int(chance.choice([0, 1, 7, 15])), bits,
    )  # fmt: skip
    return step_with(usual.step.label, call, target, numbers)


def _weights_form(usual: CallStep, call: KernelCall, weights: Elements) -> Elements:
    """Weights as the definition takes them: OHWI, 1HWO or [out_c, depth]."""
    dims = [size or 0 for size in call.filter_dims]
    if usual.step.op_type.startswith("fully_connected"):
        return weights.reshape(call.output_dims.c or 1, -1)
    return weights.reshape(dims)


def untold(bench: Bench, count: int) -> Iterator[str]:
    """What calls of one release did on one core that no row tells, and which did not run."""
    chance = np.random.default_rng(7)
    steps = [*other_steps(bench.target.release, count, chance), *layer_steps(bench.target, count, random.Random(7))]
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(steps), TOGETHER):
            some = steps[first : first + TOGETHER]
            for label, run in run_steps(some, bench, Path(folder) / str(first)).items():
                step = next(step.step for step in some if step.step.label == label)
                told = step.call is not None and route(step.call, bench.target).hazards
                wrong = [*run.trouble.wrong, *run.trouble.damage, *filter(None, (run.ended, run.failed))]
                if wrong and not told:
                    what = call_text(step.call) if step.call else label
                    yield f"{bench.target.label}: {label}: {step.function}: {what}: {'; '.join(wrong)}"
    print(f"{bench.target.label}: {len(steps)} calls", file=sys.stderr)


def main(arguments: list[str]) -> int:
    """Run and print; 1 where something is not told."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--calls", type=int, default=40)
    args = parser.parse_args(arguments)
    failed = 0
    for folder in args.folders:
        for cpu in CPUS:
            for line in untold(Bench(board_named(cpu), open_cmsis_5(folder), 600.0, jobs=1), args.calls):
                print(line, flush=True)
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
