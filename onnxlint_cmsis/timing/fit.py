"""One measurement on a board, fitted, so that it says the time of every other model there.

Cycles of a run are scale x what the kernels' factors say + lines of weights x one number + lines of activations x
another + operators x a third: four numbers, none below 0, by least squares of relative errors. A number that the layers
cannot tell, as lines of weights of a net of depthwise layers, is that of the named or usual memory. A total alone gives
the scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from onnxlint_cmsis.timing.calibration import LARGEST_ERROR, LARGEST_SCALE, Calibration, TimingError, terms
from onnxlint_cmsis.timing.cores import Core, core_of
from onnxlint_cmsis.timing.device import OVERHEADS, Device, Overhead
from onnxlint_cmsis.timing.memories import LineCost, line_cost, placements

if TYPE_CHECKING:
    from onnxlint_cmsis.timing.work import LayerWork

LEAST_ERROR = 0.05
"""A fit promises no less, as firmware differs by as much from build to build."""
UNTOLD_ERROR = 0.10
"""What a fit promises at least whose layers cannot tell the memory of weights, and which takes the table's."""
ERROR_OF_TOTAL = 0.35
"""What a total alone promises: nine of ten nets of tests/data/calibrated_times.json lie so near."""
COUNTS = 0.01
"""Part of a net from which a layer's residual counts."""
SHORTEST = 100_000
"""Cycles of a run below which what surrounds kernels is as much as these."""
SLOW = (0.0, 10.0, 10.0, 1000.0)
"""Cycles of a line of weights and of activations, and of an operator, that a board may have."""
TOLD = 0.01
"""Part of a net's cycles from which a number can be told from its layers."""
WEIGHTS = 1
"""Place of the cycles of a line of weights among the four numbers."""
FEWEST = 5
"""Layers from which on four numbers are fitted."""


def fitted(device: Device, layers: Sequence[LayerWork], cycles: Sequence[float], source: str) -> Calibration:
    """The calibration that layers and their measured cycles give. Raises TimingError."""
    import numpy as np

    total = sum(cycles)
    if len(layers) < FEWEST:
        return fitted_total(device, layers, total, source)
    core = _core(device, layers, total)
    rows, measured = np.array([terms(core, layer) for layer in layers]), np.array(cycles, dtype=float)
    weight = 1 / np.maximum(measured, COUNTS * total)
    usual = np.array(_usual(core, device))
    told = [
        number for number in (WEIGHTS, 2, 3) if rows[:, number].sum() * max(usual[number], SLOW[number]) >= TOLD * total
    ]
    start = np.where([number in (0, *told) for number in range(4)], 0.0, usual)
    rest = measured - rows @ start
    best, least = start, np.inf
    for columns in ([0, *others] for size in range(4) for others in combinations(told, size)):
        answer, *_ = np.linalg.lstsq(rows[:, columns] * weight[:, None], rest * weight, rcond=None)
        numbers = start.copy()
        numbers[columns] = answer
        residual = float((((rows @ numbers - measured) * weight) ** 2).sum())
        if (answer >= 0).all() and residual < least:
            best, least = numbers, residual
    _refuse_unit(float(best[0]))
    large = measured >= COUNTS * total
    errors = np.abs(rows @ best - measured)[large] / measured[large]
    error = max(LEAST_ERROR if WEIGHTS in told else UNTOLD_ERROR, float(np.quantile(errors, 0.9)))
    if error > LARGEST_ERROR:
        raise TimingError(f"one in ten layers lies {100 * error:.0f} % off every fit: it is the log of another build")
    scale, weights, arena, operator = (round(float(number), 6) for number in best)
    return Calibration(core.cpu, scale, weights, arena, operator, round(error, 4), source)


def fitted_total(device: Device, layers: Sequence[LayerWork], cycles: float, source: str) -> Calibration:
    """The calibration that the measured cycles of a whole run give. Raises TimingError.

    It scales what is predicted in the middle.
    """
    core = _core(device, layers, cycles)
    if cycles < SHORTEST:
        raise TimingError(f"a total of less than {SHORTEST:,} cycles says too little: log the time of each layer")
    given = _usual(core, device)
    rows = [terms(core, layer) for layer in layers]
    scale = cycles / sum(number * value for row in rows for number, value in zip(given, row, strict=True))
    _refuse_unit(scale)
    own, of_weights, of_arena, of_operator = (round(scale * number, 6) for number in given)
    return Calibration(core.cpu, own, of_weights, of_arena, of_operator, ERROR_OF_TOTAL, source)


def _usual(core: Core, device: Device) -> tuple[float, float, float, float]:
    """The four numbers before a measurement, in the middle; a memory that is not given is the first one usual."""
    (weights, arena), *_ = placements(core, device.weights, device.arena)
    lines = [line_cost(core, name, device.clock) or LineCost(0.0, 0.0) for name in (weights, arena)]
    overhead = OVERHEADS.get(device.runtime, Overhead()).operator
    return 1.0, sum(lines[0]) / 2, sum(lines[1]) / 2, sum(overhead) / 2


def _core(device: Device, layers: Sequence[LayerWork], cycles: float) -> Core:
    core = core_of(device.cpu)
    if core is None:
        raise TimingError(f"no public measurement of {device.cpu}: its kernels have no factors")
    if not cycles or not any(layer.least for layer in layers):
        raise TimingError("nothing of known cost was measured")
    return core


def _refuse_unit(scale: float) -> None:
    if not 1 / LARGEST_SCALE <= scale <= LARGEST_SCALE:
        raise TimingError(
            f"the log has {scale:.3g} times the cycles that the kernels' factors say: its unit is no cycle, or the "
            "build is not optimized"
        )
