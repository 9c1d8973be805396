"""Fits the instructions of each turn of ExecuTorch's own code to what was measured.

`python lab/fit_executorch.py` writes onnxlint_cmsis/runtimes/executorch/own_instructions.json from the records of
lab/measure_executorch.py. The bounds of a core are the closest ones that hold the calls of the fit in all builds, moved
apart by MARGIN. Calls held apart tell by how much they lie outside before that; the fit does not see them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from typing import Any

import z3

from fit_tflm_reference import same
from measure_executorch import NAMES, records, spans_of, tensors_of
from onnxlint_cmsis.cmsis_nn.targets import CPUS
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.runtimes.executorch.cost import INSTRUCTIONS, turns_of
from onnxlint_cmsis.runtimes.measured_cores import CORES

MARGIN = 10
"""Percent by which bounds are moved apart."""
MeasuredTurns = tuple[str, dict[str, int], list[int]]
"""Part of a call, its turns, and the least and the most instructions in all builds."""
ISAS: dict[str, Isa] = {core: CPUS[cpu] for cpu, core in CORES.items()}
"""The instruction set of each measured core."""


def bound(rows: list[MeasuredTurns], end: int, floor: dict[str, Fraction]) -> dict[str, Fraction]:
    """The closest instructions of each turn whose sums are at most (end 0) or at least (end 1) what was measured.

    Closest are those with the largest or the least sum of their shares of it. None is below its floor.
    """
    solver = z3.Optimize()
    unknowns = {name: z3.Real(name) for name in floor}
    solver.add(*(unknowns[name] >= lowest for name, lowest in floor.items()))
    total: Any = 0
    for _, turns, measured in rows:
        predicted = sum(times * unknowns[name] for name, times in turns.items())
        solver.add(predicted <= measured[0] if end == 0 else predicted >= measured[1])
        total += predicted / measured[end]
    (solver.maximize if end == 0 else solver.minimize)(total)
    assert solver.check() == z3.sat
    model = solver.model()
    return {name: model.eval(unknown, model_completion=True).as_fraction() for name, unknown in unknowns.items()}


def outside(turns: dict[str, int], costs: dict[str, list[float]], measured: list[int]) -> float:
    """Share by which a measured call lies outside of bounds."""
    least, most = (sum(times * costs[name][end] for name, times in turns.items()) for end in (0, 1))
    return max(0.0, 1 - measured[0] / least if least else 0.0, measured[1] / most - 1)


def measured_kinds() -> dict[str, dict[str, list[MeasuredTurns]]]:
    """Kind of code and core to its calls."""
    kinds: dict[str, dict[str, list[MeasuredTurns]]] = defaultdict(lambda: defaultdict(list))
    for row in records():
        for core, span in spans_of(row).items():
            turns = turns_of(NAMES[row["op"]], *tensors_of(row), ISAS[core])
            if turns:
                kind, counts = turns
                kinds[kind][core].append(("apart" if row["apart"] else "fit", counts, span))
    return kinds


def main() -> None:
    """Fit all kinds of code on all cores. A core whose numbers are those of another has its name in their place."""
    kernels: dict[str, Any] = defaultdict(dict)
    errors: dict[str, Any] = defaultdict(dict)
    for kind, cores in sorted(measured_kinds().items()):
        for core, rows in sorted(cores.items()):
            seen = [row for row in rows if row[0] == "fit"]
            least = bound(seen, 0, dict.fromkeys(seen[0][1], Fraction(0)))
            most = bound(seen, 1, least)
            closest = {name: [float(least[name]), float(most[name])] for name in least}
            apart = [outside(turns, closest, measured) for part, turns, measured in rows if part == "apart"]
            errors[kind][core] = round(100 * max(apart), 1)
            costs = {
                name: [round(low * (1 - MARGIN / 100), 3), round(high * (1 + MARGIN / 100), 3)]
                for name, (low, high) in closest.items()
            }
            alike = (
                other for other, known in kernels[kind].items() if isinstance(known, dict) and same(rows, costs, known)
            )
            kernels[kind][core] = next(alike, costs)
    data = {"compiler": "gcc 12.2", "kernels": kernels, "apart_error_percent": errors, "margin_percent": MARGIN}
    INSTRUCTIONS.write_text(json.dumps(data, separators=(",", ":"), sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
