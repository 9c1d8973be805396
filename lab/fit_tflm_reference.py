"""Fits the instructions of each turn of TensorFlow Lite Micro's reference kernels to what was measured.

`python lab/fit_tflm_reference.py` writes onnxlint_cmsis/runtimes/tflm/reference_instructions.json from the records of
lab/measure_tflm_reference.py. Calls held apart tell how far off a kernel is; the fit does not see them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import numpy as np

from measure_tflm_reference import call_of, records
from non_negative import non_negative
from onnxlint_cmsis.runtimes.tflm.reference_cost import INSTRUCTIONS, kernel_name, pair
from onnxlint_cmsis.runtimes.tflm.reference_turns import turns_of

MeasuredTurns = tuple[str, dict[str, int], list[int]]
"""Part of a call, its turns, and the least and the most instructions."""
SAME = 0.01
"""Share by which least and most of a kernel may differ and are one number."""


def fitted(rows: list[tuple[dict[str, int], float]]) -> dict[str, float]:
    """Instructions of each turn, from rows of turns and what they take together; errors count by their share."""
    names = list(dict.fromkeys(name for turns, _ in rows for name in turns))
    matrix = np.array([[turns.get(name, 0) / whole for name in names] for turns, whole in rows])
    used = matrix.any(axis=0)
    numbers = np.zeros(len(names))
    numbers[used] = non_negative(matrix[:, used], np.ones(len(rows)))
    return {name: round(float(number), 3) for name, number in zip(names, numbers, strict=True)}


SINGLE = "sp"
"""End of a build for Cortex-M7 with a floating-point unit for 32 bits alone; of most kernels it is that for 64 bits."""
RANGE, MOST_OFF = 0.03, 0.5
"""Share from which on what the fit leaves open becomes a range, which is as much wider again, and its widest."""
LARGEST = 15
"""Percent by which 95 of 100 calls held apart are off at most; a kernel above is unknown on that core."""
SMALL = 1000
"""Instructions of a call below which its error is told as a share of this number."""


def error(turns: dict[str, int], costs: dict[str, Any], measured: list[int]) -> float:
    """Share by which a measured call lies outside of its range in the build that it was measured in."""
    least, most = (sum(times * pair(costs.get(name, 0))[end] for name, times in turns.items()) for end in (0, 1))
    return max(0.0, (least - measured[0]) / max(least, SMALL), (measured[1] - most) / max(most, SMALL))


def percentile(errors: list[float]) -> float:
    """What 95 of 100 are below."""
    return float(np.percentile(errors, 95))


def costs_of(rows: list[MeasuredTurns]) -> dict[str, Any]:
    """Instructions of each turn of a kernel in one build: a number, or least and most."""
    seen = [(turns, measured) for part, turns, measured in rows if part == "fit"]
    least = fitted([(turns, measured[0]) for turns, measured in seen])
    most = fitted([(turns, measured[1]) for turns, measured in seen])
    equal = all(high - low <= SAME * high for _, (low, high) in seen)
    costs: dict[str, Any] = {name: most[name] if equal else [least[name], most[name]] for name in most}
    left = [error(turns, costs, measured) for turns, measured in seen]
    off = min(max(left) + RANGE, MOST_OFF) if percentile(left) > RANGE else 0.0
    if not off:
        return costs
    return {
        name: [round(pair(cost)[0] * (1 - off), 3), round(pair(cost)[1] * (1 + off), 3)] for name, cost in costs.items()
    }


def same(rows: list[MeasuredTurns], costs: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether numbers say the same of all measured calls as others do, but for SAME."""
    if costs.keys() != other.keys():
        return False
    apart = {name: [pair(cost)[end] - pair(other[name])[end] for end in (0, 1)] for name, cost in costs.items()}
    return all(
        abs(sum(times * apart[name][end] for name, times in turns.items() if name in apart)) <= SAME * measured[end]
        for _, turns, measured in rows
        for end in (0, 1)
    )


def main() -> None:
    """Fit all kernels in all builds; one whose turns do not tell what it takes is left out on that core.

    A core whose numbers are those of another has its name in their place.
    """
    by_kernel: dict[tuple[str, str], dict[str, list[MeasuredTurns]]] = defaultdict(lambda: defaultdict(list))
    for row in records():
        call = call_of(row)
        turns = turns_of(call)
        if turns:
            for build, measured in row["instructions"].items():
                core, _, options = build.rpartition("-")
                by_kernel[kernel_name(call), core][options].append((row["part"], turns, measured))
    kernels: dict[str, Any] = defaultdict(dict)
    errors: dict[str, Any] = defaultdict(dict)
    for (kernel, core), builds in sorted(by_kernel.items()):
        costs: dict[str, dict[str, Any]] = {}
        for options, rows in sorted(builds.items()):
            numbers = costs_of(rows)
            if numbers != costs.get(options.removesuffix(SINGLE)):
                costs[options] = numbers
        alike = (
            (other, of_other)
            for other, of_other in kernels.get(kernel, {}).items()
            if isinstance(of_other, dict)
            and of_other.keys() == costs.keys()
            and all(same(builds[options], costs[options], of_other[options]) for options in costs)
        )
        name, used = next(alike, ("", costs))
        apart: dict[str, list[float]] = {}
        for options, numbers in used.items():
            off = [error(turns, numbers, measured) for part, turns, measured in builds[options] if part == "apart"]
            apart[f"{core}-{options}"] = [round(100 * percentile(off), 1), round(100 * max(off), 1)]
        if max(percent for percent, _ in apart.values()) <= LARGEST:
            kernels[kernel][core] = name or costs
            errors[kernel] |= apart
    data = {"compiler": "gcc 12.2", "kernels": kernels, "apart_error_percent": errors}
    INSTRUCTIONS.write_text(json.dumps(data, separators=(",", ":"), sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
