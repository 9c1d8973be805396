"""Milliseconds that a model is predicted to take: a range with its source, or why there is none."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.cycles import CycleRange, cycle_range
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxlint_cmsis.ground.types import Target


DIGITS = 3
"""Significant digits of a bound."""
NARROWS = "; --config memory=tcm or memory=sram narrows it"
"""What to do where the placement is open."""


class PredictedTime(NamedTuple):
    """The time of one run of a model on one target."""

    clock: int
    """Hertz."""
    cycles: CycleRange
    """Cycles per instruction."""
    instructions: tuple[int, int]
    """Least and most predicted instructions of the layers of known cost; 0 where no cost is known."""
    left_out: int
    """Layers of unknown cost, which the range leaves out."""

    @property
    def reason(self) -> str:
        """Why there is no range; empty where there is one."""
        return self.cycles.reason or ("" if self.instructions[1] else "the cost of no layer is known")

    def without(self, instructions: int, layers: int) -> PredictedTime:
        """The time without layers of these instructions."""
        least, most = self.instructions
        return self._replace(instructions=(least - instructions, most - instructions), left_out=self.left_out + layers)

    @property
    def milliseconds(self) -> tuple[float, float] | None:
        """Lower and upper bound, rounded away from each other."""
        if self.reason:
            return None
        least, most = self.instructions
        first, last = (1000 * least * self.cycles.low / self.clock, 1000 * most * self.cycles.high / self.clock)
        return _rounded(first, floor), _rounded(last, ceil)

    @property
    def text(self) -> str:
        """The range with its source in one sentence."""
        return self.range if self.milliseconds is None else f"{self.range} {self.basis}"

    @property
    def range(self) -> str:
        """`predicted 284 to 362 ms`, or why there is no prediction."""
        if self.milliseconds is None:
            return f"no prediction: {self.reason}"
        low, high = map(_shown, self.milliseconds)
        return f"{'predicted at least' if self.left_out else 'predicted'} {low} to {high} ms"

    @property
    def at_clock(self) -> str:
        """`predicted 284 to 362 ms at 80 MHz`."""
        return f"{self.range} at {clock_text(self.clock)}"

    @property
    def basis(self) -> str:
        """Clock, layers left out, cycles per instruction and their source."""
        low, high = self.cycles.low, self.cycles.high
        layers = "1 layer" if self.left_out == 1 else f"{self.left_out:,} layers"
        without = f" without {layers} of unknown cost" if self.left_out else ""
        factor = f"{low:.2f} to {high:.2f} cycles per instruction, ±{100 * (high - low) / (high + low):.0f} %"
        return (
            f"at {clock_text(self.clock)}{without} ({factor}: {self.cycles.source}{NARROWS * self.cycles.open_memory})"
        )

    @property
    def fields(self) -> dict[str, object]:
        """The range as plain data; `predicted_ms` is null where `reason` says why."""
        bounds = self.milliseconds
        return {
            "clock_hz": self.clock,
            "predicted_ms": None if bounds is None else {"low": bounds[0], "high": bounds[1]},
            "cycles_per_instruction": {"low": self.cycles.low, "high": self.cycles.high} if self.cycles.high else None,
            "unknown_layers_left_out": self.left_out,
            "source": self.cycles.source,
            "reason": self.reason,
        }


def predicted_time(
    target: Target, clock: int, memory: str, instructions: tuple[int, int], left_out: int
) -> PredictedTime:
    """The time of predicted instructions, the least and the most, at a clock in hertz, with one of PLACEMENTS."""
    return PredictedTime(clock, cycle_range(target, memory), instructions, left_out)


def clock_text(clock: int) -> str:
    """`120 MHz`, `32.768 kHz`, `1,001 Hz`."""
    for unit, hertz in (("MHz", 1_000_000), ("kHz", 1_000)):
        if clock >= hertz and clock * 1000 % hertz == 0:
            return f"{clock / hertz:,.3f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{clock:,} Hz"


def _decimals(value: float) -> int:
    """Decimals that leave DIGITS significant digits; a whole number, such as 0, keeps all it has."""
    return max(0, DIGITS - 1 - floor(log10(value))) if value else 0


def _rounded(value: float, towards: Callable[[float], int]) -> float:
    scale = 10.0 ** _decimals(value)
    return towards(value * scale) / scale


def _shown(value: float) -> str:
    return f"{value:,.{_decimals(value)}f}"
