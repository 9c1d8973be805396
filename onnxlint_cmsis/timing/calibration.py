"""One measurement on a board, fitted, so that it says the time of every other model there.

Cycles of a run are scale x what the kernels' factors say + lines of weights x one number + lines of activations x
another + operators x a third: four numbers, none below 0, by least squares of relative errors. A total alone gives the
scale.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.timing.cores import core_of
from onnxlint_cmsis.timing.memories import LineCost, line_cost, placements
from onnxlint_cmsis.timing.overheads import OVERHEADS, Overhead

if TYPE_CHECKING:
    from onnxlint_cmsis.timing.cores import Core
    from onnxlint_cmsis.timing.predicted_time import Device, LayerWork

VERSION = 1
"""Of the file; another is refused."""
LEAST_ERROR = 0.05
"""A fit promises no less, as firmware differs by as much from build to build."""
ERROR_OF_TOTAL = 0.35
"""What a total alone promises: on seven boards nine of ten nets lie so near, where another net gave the scale."""
COUNTS = 0.01
"""Part of a net from which a layer's residual counts."""
SHORTEST = 100_000
"""Cycles of a run below which what surrounds kernels is as much as these."""
FEWEST = 5
"""Layers from which on four numbers are fitted."""
LARGEST_SCALE = 4.0
"""Cycles for each cycle of a kernel's factor above which, or below 1 over which, the unit of the log is no cycle."""


class TimingError(ValueError):
    """A measurement or a file that gives no calibration."""


class Calibration(NamedTuple):
    """What a board adds to the factors of its CPU."""

    cpu: str
    """CPU."""
    scale: float
    """Cycles for each cycle that the kernels' factors say."""
    weights: float
    """Cycles of a line of weights."""
    activations: float
    """Cycles of a line of activations."""
    operator: float
    """Cycles of each operator."""
    error: float
    """Part of the time by which a net may lie off."""
    source: str
    """Model and log that it comes from."""

    def cycles(self, layers: Sequence[LayerWork]) -> float:
        """Cycles of layers, in the middle."""
        core = core_of(self.cpu)
        if core is None:
            raise TimingError(f"{self.cpu} has no factors of kernels")
        rows = [_row(core, layer) for layer in layers]
        given = (self.scale, self.weights, self.activations, self.operator)
        return sum(number * value for row in rows for number, value in zip(given, row, strict=True))

    def text(self) -> str:
        """The file."""
        return json.dumps({"version": VERSION, **self._asdict()}, indent=2) + "\n"


def calibration_of(text: str) -> Calibration:
    """The calibration that a file holds. Raises TimingError."""
    try:
        record = json.loads(text)
    except ValueError:
        raise TimingError("it is no JSON") from None
    if not isinstance(record, dict) or record.pop("version", None) != VERSION:
        raise TimingError(f"it is no calibration of version {VERSION}")
    numbers = ("scale", "weights", "activations", "operator", "error")
    if {*record} != {*Calibration._fields} or not all(_is_amount(record[name]) for name in numbers):
        raise TimingError(f"it has other fields than {', '.join(Calibration._fields)}")
    if core_of(str(record["cpu"])) is None:
        raise TimingError(f"{record['cpu']!r} has no factors of kernels")
    return Calibration(**record)


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e12


def fitted(device: Device, layers: Sequence[LayerWork], cycles: Sequence[float], source: str) -> Calibration:
    """The calibration that layers and their measured cycles give. Raises TimingError."""
    import numpy as np

    total = sum(cycles)
    if len(layers) < FEWEST:
        return fitted_total(device, layers, total, source)
    core = _core(device, layers, total)
    rows, measured = np.array([_row(core, layer) for layer in layers]), np.array(cycles, dtype=float)
    weight = 1 / np.maximum(measured, COUNTS * total)
    best, least = np.zeros(4), np.inf
    for columns in ([0, *others] for size in range(4) for others in combinations((1, 2, 3), size)):
        answer, *_ = np.linalg.lstsq(rows[:, columns] * weight[:, None], measured * weight, rcond=None)
        numbers = np.zeros(4)
        numbers[columns] = answer
        residual = float((((rows @ numbers - measured) * weight) ** 2).sum())
        if (answer >= 0).all() and residual < least:
            best, least = numbers, residual
    _refuse_unit(float(best[0]))
    large = measured >= COUNTS * total
    errors = np.abs(rows @ best - measured)[large] / measured[large]
    error = max(LEAST_ERROR, float(np.quantile(errors, 0.9)))
    scale, weights, arena, operator = (round(float(number), 6) for number in best)
    return Calibration(core.cpu, scale, weights, arena, operator, round(error, 4), source)


def fitted_total(device: Device, layers: Sequence[LayerWork], cycles: float, source: str) -> Calibration:
    """The calibration that the measured cycles of a whole run give. Raises TimingError.

    It scales what is predicted in the middle; a memory that is not given is the first one usual.
    """
    core = _core(device, layers, cycles)
    if cycles < SHORTEST or device.weights == "xip":
        short = f"less than {SHORTEST:,} cycles" if cycles < SHORTEST else "weights in xip"
        raise TimingError(f"a total alone says too little ({short}): log the time of each layer")
    (weights, arena), *_ = placements(core, device.weights, device.arena)
    lines = [line_cost(core, name, device.clock) or LineCost(0.0, 0.0) for name in (weights, arena)]
    overhead = OVERHEADS.get(device.runtime, Overhead()).operator
    given = (1.0, sum(lines[0]) / 2, sum(lines[1]) / 2, sum(overhead) / 2)
    rows = [_row(core, layer) for layer in layers]
    scale = cycles / sum(number * value for row in rows for number, value in zip(given, row, strict=True))
    _refuse_unit(scale)
    own, of_weights, of_arena, of_operator = (round(scale * number, 6) for number in given)
    return Calibration(core.cpu, own, of_weights, of_arena, of_operator, ERROR_OF_TOTAL, source)


def _core(device: Device, layers: Sequence[LayerWork], cycles: float) -> Core:
    core = core_of(device.cpu)
    if core is None:
        raise TimingError(f"no public measurement of {device.cpu}: its kernels have no factors")
    if not cycles or not any(layer.least for layer in layers):
        raise TimingError("nothing of known cost was measured")
    return core


def _row(core: Core, layer: LayerWork) -> tuple[float, float, float, float]:
    """What the four numbers of a fit multiply in a layer."""
    instructions = (layer.least + layer.most) / 2
    return instructions * core.factor(layer.kind), layer.fetches.weights, layer.fetches.activations, 1.0


def _refuse_unit(scale: float) -> None:
    if not 1 / LARGEST_SCALE <= scale <= LARGEST_SCALE:
        raise TimingError(
            f"the log has {scale:.3g} times the cycles that the kernels' factors say: its unit is no cycle, or the "
            "build is not optimized"
        )
