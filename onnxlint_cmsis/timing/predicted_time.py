"""Milliseconds that layers and models are predicted to take, with their error, or why there is no prediction.

Cycles of a layer are instructions x the kernel's factor, lines of weights x cycles of a line where these lie, lines of
activations x cycles of a line where the arena lies, and what the runtime does for an operator. Those of a model are the
sum over its layers and what the runtime does once in each run.
"""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.timing.cores import OTHER, Core, core_of
from onnxlint_cmsis.timing.device import OVERHEADS, Device, Overhead
from onnxlint_cmsis.timing.fetches import LARGE_CACHE, SMALL_CACHE
from onnxlint_cmsis.timing.memories import LINE, UNKNOWN, line_cost, placements
from onnxlint_cmsis.timing.placed import Parts, Placed, added

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnxlint_cmsis.timing.calibration import Calibration
    from onnxlint_cmsis.timing.work import LayerWork


DIGITS = 3
"""Significant digits of a bound."""
ONE_NUMBER = 0.15
"""Error up to which a time is one number with its error; above it is a range."""


class PredictedTime(NamedTuple):
    """The time of one run of a layer or a model on one target."""

    clock: int
    """Hertz."""
    placed: tuple[Placed, ...] = ()
    """Cycles of the layers of known cost, for each pair of memories that weights and arena may lie in."""
    layers: int = 0
    """Layers of known cost."""
    left_out: int = 0
    """Layers of unknown time, which the range leaves out."""
    sources: tuple[str, ...] = ()
    """Addresses of what was measured."""
    reason: str = ""
    """Why there is no range; empty where there is one."""
    calibrated: str = ""
    """Measurement that it was fitted to; empty for public figures."""
    opens_code: bool = False
    """Whether it spans caches that hold the code and that do not, as the size is not known."""

    def without(self, times: Sequence[PredictedTime]) -> PredictedTime:
        """The time without layers, each of which has one of these times."""
        gone = [time for time in times if not time.reason]
        left = tuple(here.less([time.placed[number] for time in gone]) for number, here in enumerate(self.placed))
        layers, left_out = self.layers - len(gone), self.left_out + len(times)
        reason = self.reason or ("" if layers else NO_COST)
        return self._replace(placed=left, layers=layers, left_out=left_out, reason=reason)

    def more(self, cycles: Sequence[float]) -> PredictedTime:
        """The time with more cycles in each pair of memories, in the middle; the error stays that of the whole."""
        return self._replace(placed=tuple(here.more(number) for here, number in zip(self.placed, cycles, strict=True)))

    @property
    def cycles(self) -> tuple[float, float]:
        """Least and most of the layers of known cost."""
        least = min((here.least for here in self.placed), default=0.0)
        return least, max((here.most for here in self.placed), default=0.0)

    @property
    def memories(self) -> tuple[tuple[str, str], ...]:
        """Memories of weights and arena that the range covers; none where it is calibrated."""
        return tuple((here.weights, here.arena) for here in self.placed if not self.calibrated)

    @property
    def parts(self) -> Parts | None:
        """What takes the cycles; None without a prediction, and where it depends on memories that are not known."""
        return self.placed[0].parts if len(self.placed) == 1 and not self.reason else None

    @property
    def milliseconds(self) -> tuple[float, float] | None:
        """Lower and upper bound, rounded away from each other."""
        if self.reason:
            return None
        first, last = (1000 * cycles / self.clock for cycles in self.cycles)
        return _rounded(first, floor), _rounded(last, ceil)

    @property
    def error(self) -> float:
        """Half the range as a part of its middle."""
        return (self.cycles[1] - self.cycles[0]) / (self.cycles[1] + self.cycles[0] or 1.0)

    @property
    def is_number(self) -> bool:
        """Tell whether the memories are known and the range is narrow."""
        return not self.reason and len(self.placed) == 1 and self.error <= ONE_NUMBER

    @property
    def text(self) -> str:
        """The range with what it rests on in one sentence."""
        return self.range if self.reason else f"{self.range} {self.basis}"

    @property
    def range(self) -> str:
        """`predicted 284 to 362 ms`, `predicted 51 ms ± 12 %`, or why there is no prediction."""
        if self.reason:
            return f"no prediction: {self.reason}"
        return f"{'predicted at least' if self.left_out else 'predicted'} {self.amount}"

    @property
    def amount(self) -> str:
        """`284 to 362 ms`, `51 ms ± 12 %`; empty without a prediction."""
        if self.milliseconds is None:
            return ""
        if self.is_number:
            middle = shown_milliseconds(sum(self.cycles) / 2, self.clock)
            return f"{middle} ± {ceil(100 * self.error)} %"
        low, high = self.milliseconds
        return f"{_shown(low)} to {_shown(high)} ms"

    @property
    def at_clock(self) -> str:
        """`predicted 284 to 362 ms at 80 MHz`."""
        return f"{self.range} at {clock_text(self.clock)}"

    @property
    def basis(self) -> str:
        """Clock, layers left out, memories, and which setting narrows the range."""
        layers = "1 layer" if self.left_out == 1 else f"{self.left_out:,} layers"
        without = f" without {layers} of unknown time" if self.left_out else ""
        if self.calibrated:
            return f"at {clock_text(self.clock)}{without} (calibrated with {self.calibrated})"
        shown = "weights/arena in " + " or ".join(map("/".join, self.memories))
        narrow = ["--weights-in", "--arena-in"] if len(self.memories) > 1 else []
        return f"at {clock_text(self.clock)}{without} ({shown}{narrowed([*narrow, *CODE_CACHE * self.opens_code])})"

    @property
    def bounds(self) -> dict[str, object]:
        """The range alone as plain data; `predicted_ms` is null where there is none."""
        ends = self.milliseconds
        return {
            "predicted_ms": None if ends is None else {"low": ends[0], "high": ends[1]},
            "error": None if ends is None else round(self.error, 3),
        }

    @property
    def fields(self) -> dict[str, object]:
        """The range and all that it rests on as plain data; `reason` says why there is none."""
        return {
            "clock_hz": self.clock,
            **self.bounds,
            "shares": self.parts and self.parts.shares,
            "unknown_layers_left_out": self.left_out,
            "memories": [{"weights": weights, "arena": arena} for weights, arena in self.memories],
            "calibrated": self.calibrated,
            "sources": list(self.sources),
            "reason": self.reason,
        }


CODE_CACHE = ("--config code-cache",)
"""What says how large the cache before the flash is that code runs from."""


def narrowed(settings: Sequence[str]) -> str:
    """`; --weights-in and --arena-in narrow it`; empty without settings."""
    *first, last = settings or ("",)
    text = f"{', '.join(first)} and {last}" if first else last
    return text and f"; {text} narrow{'' if first else 's'} it"


NO_COST = "the cost of no layer is known"


def predicted_time(device: Device, layers: Sequence[LayerWork], left_out: int) -> PredictedTime:
    """The time of a run of a model: of its layers of known cost, beside `left_out` others."""
    start = _start(device, left_out)
    if start.reason:
        return start
    if not any(layer.most for layer in layers):
        return start._replace(reason=NO_COST)
    times = [layer_time(device, layer) for layer in layers]
    core, run = core_of(device.cpu), OVERHEADS.get(device.runtime, Overhead()).run
    ends = (0.0, 0.0)
    if core is not None and not start.calibrated:
        ends = (run[0] * core.bounds(OTHER)[0], run[1] * core.bounds(OTHER)[1])
    placed = tuple(
        added(here, [time.placed[number] for time in times], ends) for number, here in enumerate(start.placed)
    )
    spans = core is not None and not start.calibrated and any(layer.fetches.code for layer in layers)
    opens = spans and _spans_code(device)
    return start._replace(placed=placed, layers=len(layers), opens_code=opens)


def layer_time(device: Device, layer: LayerWork) -> PredictedTime:
    """The time of one layer of a run, with what the runtime does for its operator."""
    start, core = _start(device, 0), core_of(device.cpu)
    if start.reason or core is None:
        return start
    if device.calibration is not None and start.calibrated:
        return start._replace(placed=(_calibrated(device.calibration, layer),), layers=1)
    placed = tuple(_placed(core, device, layer, here.weights, here.arena) for here in start.placed)
    return start._replace(placed=placed, layers=1)


def _start(device: Device, left_out: int) -> PredictedTime:
    """A time without layers, in each pair of memories that the device may have; or why there is none."""
    core = core_of(device.cpu)
    without = PredictedTime(device.clock, left_out=left_out)
    if core is None:
        return without._replace(reason=f"no public measurement of {device.cpu}")
    if device.calibration is not None and device.calibration.cpu == core.cpu:
        source = device.calibration.source
        return without._replace(placed=(Placed(),), calibrated=source, sources=(source,))
    for name, setting in ((device.weights, "weights-in"), (device.arena, "arena-in")):
        if name != UNKNOWN and line_cost(core, name, device.clock) is None:
            also = f"{setting} also takes the cycles of a line of {LINE} bytes"
            return without._replace(reason=f"no public measurement of {name} on {core.cpu}; {also}")
    pairs = placements(core, device.weights, device.arena)
    known = [pair for pair in pairs if all(line_cost(core, name, device.clock) for name in pair)]
    return without._replace(placed=tuple(Placed(*pair) for pair in known), sources=core.sources)


def _placed(core: Core, device: Device, layer: LayerWork, weights: str, arena: str) -> Placed:
    """Cycles of a layer where weights and arena lie in two memories."""
    operator = OVERHEADS.get(device.runtime, Overhead()).operator
    costs = [line_cost(core, name, device.clock) for name in (weights, arena)]
    code = _code_cycles(core, device)
    ends = []
    for end, instructions in enumerate((layer.least, layer.most)):
        kernel = instructions * core.factor(layer.kind) * core.bounds(layer.kind)[end]
        kernel += layer.fetches.code * code[end]
        reads = [count * cost[end] for count, cost in zip(layer.fetches, costs, strict=False) if cost]
        ends.append((kernel, *reads, operator[end] * core.bounds(OTHER)[end]))
    least, most = map(sum, ends)
    kernel, of_weights, of_activations, of_operator = ((low + high) / 2 for low, high in zip(*ends, strict=True))
    parts = Parts(of_weights, of_activations, of_operator, **{layer.part: kernel})
    return Placed(weights, arena, least, most, parts)


def _code_cycles(core: Core, device: Device) -> tuple[float, float]:
    """Cycles of a line of code, least and most: none through a cache that holds the code or may be so large."""
    least, most = line_cost(core, "flash", device.clock) or (0.0, 0.0)
    if _spans_code(device):
        return 0.0, most
    holds = device.code_cache is not None and device.code_cache >= LARGE_CACHE
    return (0.0, 0.0) if holds else (least, most)


def _spans_code(device: Device) -> bool:
    """Tell whether the cache may hold the code, or not."""
    return device.code_cache is None or SMALL_CACHE < device.code_cache < LARGE_CACHE


def _calibrated(calibration: Calibration, layer: LayerWork) -> Placed:
    """Cycles of a layer that a measurement on the same board says."""
    ends = [
        [cycles * times for cycles in calibration.numbers(layer._replace(least=amount, most=amount))]
        for amount, times in ((layer.least, 1 - calibration.error), (layer.most, 1 + calibration.error))
    ]
    least, most = map(sum, ends)
    kernel, *others = ((low + high) / 2 for low, high in zip(*ends, strict=True))
    return Placed("", "", least, most, Parts(*others, **{layer.part: kernel}))


def shown_milliseconds(cycles: float, clock: int) -> str:
    """`16.2 ms`."""
    return f"{_shown(_rounded(1000 * cycles / clock, round))} ms"


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
