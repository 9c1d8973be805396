"""What a measurement says of a board, as a file holds it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.timing.cores import Core, core_of

if TYPE_CHECKING:
    from onnxlint_cmsis.timing.work import LayerWork

VERSION = 1
"""Of the file; another is refused."""
LARGEST_SCALE = 4.0
"""Cycles for each cycle of a kernel's factor above which, or below 1 over which, the unit of a log is no cycle."""
LARGEST_ERROR = 0.5
"""Part of the time from which a fit says nothing."""
LONGEST_SOURCE = 200
"""Characters."""


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
        return sum(sum(self.numbers(layer)) for layer in layers)

    def numbers(self, layer: LayerWork) -> tuple[float, float, float, float]:
        """Cycles of a layer's kernel, of its weights, of its activations and of its operator. Raises TimingError."""
        core = core_of(self.cpu)
        if core is None:
            raise TimingError(f"{self.cpu} has no factors of kernels")
        kernel, weights, activations, operator = terms(core, layer)
        return (
            self.scale * kernel, self.weights * weights, self.activations * activations, self.operator * operator
        )  # fmt: skip

    def text(self) -> str:
        """The file."""
        return json.dumps({"version": VERSION, **self._asdict()}, indent=2) + "\n"


def calibration_of(text: str) -> Calibration:
    """The calibration that a file holds. Raises TimingError."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        raise TimingError("it is no JSON") from None
    if not isinstance(record, dict) or record.pop("version", None) != VERSION:
        raise TimingError(f"it is no calibration of version {VERSION}")
    numbers = ("scale", "weights", "activations", "operator", "error")
    if {*record} != {*Calibration._fields} or not all(_is_amount(record[name]) for name in numbers):
        raise TimingError(f"it has other fields than {', '.join(Calibration._fields)}")
    if core_of(str(record["cpu"])) is None:
        raise TimingError(f"{str(record['cpu'])[:LONGEST_SOURCE]!r} has no factors of kernels")
    if not 1 / LARGEST_SCALE <= record["scale"] <= LARGEST_SCALE or record["error"] > LARGEST_ERROR:
        raise TimingError(
            f"scale is not between {1 / LARGEST_SCALE} and {LARGEST_SCALE}, or error is above {LARGEST_ERROR}"
        )
    source = record["source"]
    if not isinstance(source, str) or len(source) > LONGEST_SOURCE or not source.isprintable():
        raise TimingError(f"source is no printable text of {LONGEST_SOURCE} characters at most")
    return Calibration(**record)


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e12


def terms(core: Core, layer: LayerWork) -> tuple[float, float, float, float]:
    """What the four numbers of a fit multiply in a layer."""
    instructions = (layer.least + layer.most) / 2
    return instructions * core.factor(layer.kind), layer.fetches.weights, layer.fetches.activations, 1.0
