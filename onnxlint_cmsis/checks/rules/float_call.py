"""A float function is faster when it is called in another way.

Without their scratch buffer (`ctx->buf` NULL) and with packed weights functions for f32 and f16 take other kernels. On
Cortex-M4, M7 and M33 most depthwise layers whose window is not 3x3 are faster without the buffer, and packed weights
are slower. On Cortex-M55 a convolution without its buffer runs up to 7 times as many instructions, and packed weights
are faster.

It is a warning where the layers that want the same save 5 % of the instructions of all float layers. The rule is silent
where a layer saves less than 5 % of its own, where the costs are ranges that overlap or one is unknown, and where the
other way has a hazard (CNN302) or a larger error (CNN305).

**What to do.** Change the call of the layers that are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations

from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject, Subject
from onnxlint_cmsis.cmsis_nn.library import Route, parameters
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import AS_ASKED, FloatCall, Function, KernelCall, Level, Target
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.work import ENOUGH

_MODEL = """
g (float[1, 16, 12, 12] x) => (float[N, C, H, W] y) <float[16, 1, 5, 5] w = {1}> {
    y = Conv<group = 16, pads = [2, 2, 2, 2]>(x, w)
}
"""

RULE = Rule(
    code="CNN141",
    name="float-call",
    level=Level.WARNING,
    effect=Effect.COSTS,
    summary="A float function is faster when it is called in another way.",
    docs=__doc__,
    bad=Example(_MODEL, options="--assume f32 --target cortex-m4"),
    good=Example(_MODEL, options="--assume f32 --target cortex-m4 --config float-scratch=none"),
)

LEAST = 0.05
"""Part of a layer's instructions that another call has to save: predictions are off by 2 to 4 %, rarely by more."""


class Switch(NamedTuple):
    """One thing that the caller of a float function decides, decided in one way."""

    decide: Callable[[FloatCall], FloatCall]
    """The call with it."""
    functions: tuple[Function, ...]
    """Functions that look at it."""
    setting: str
    """Setting that decides so for all layers."""
    words: str
    """What a layer is faster with or without; `{scratch}` stands for the bytes of its buffer."""
    do: str
    """What to change in the call, as a sentence."""


_BUFFERED, _PACKED = (Function.CONVOLVE, Function.DEPTHWISE), (Function.CONVOLVE, Function.FULLY_CONNECTED)
SWITCHES = (
    Switch(
        lambda call: call._replace(scratch=0), _BUFFERED, "float-scratch=none",
        "without its buffer of {scratch} bytes", "Call it with ctx->buf NULL.",
    ),
    Switch(
        lambda call: call._replace(scratch=AS_ASKED), _BUFFERED, "float-scratch=given",
        "with its buffer of {scratch} bytes", "Give it the buffer that its size function asks for.",
    ),
    Switch(
        lambda call: call._replace(packed=True), _PACKED, "float-weights=packed",
        "with packed weights", "Pack its weights.",
    ),
    Switch(
        lambda call: call._replace(packed=False), _PACKED, "float-weights=standard",
        "with standard weights", "Do not pack its weights.",
    ),
)  # fmt: skip


class Way(NamedTuple):
    """A way to call a layer's function."""

    switches: tuple[Switch, ...]
    """What is other than now."""
    call: KernelCall
    """The call."""
    route: Route
    """What runs."""
    least: int
    """Predicted instructions of a run, at least."""
    most: int
    """Predicted instructions of a run, at most."""

    @property
    def cost(self) -> str:
        """The instructions as text."""
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


class Change(NamedTuple):
    """A layer that is faster when it is called in another way."""

    layer: Subject
    """The layer on a target."""
    now: Way
    """How it is called."""
    best: Way
    """How it is faster."""

    @property
    def saved(self) -> int:
        """Predicted instructions that it saves, at least."""
        return self.now.least - self.best.most


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each layer that is faster when it is called in another way."""
    groups: dict[tuple[Target, tuple[Switch, ...]], list[Change]] = {}
    totals: dict[Target, int] = {}
    for layer in subject.layers():
        record = subject.lowered.by_index[layer.layer.node.index]
        now = _way(layer, record, ()) if layer.layer.call.floating else None
        if now is None:
            continue
        totals[layer.target] = totals.get(layer.target, 0) + now.most
        best = _best(layer, record, now)
        if best.switches:
            groups.setdefault((layer.target, best.switches), []).append(Change(layer, now, best))
    for (target, _), changes in groups.items():
        saved = sum(change.saved for change in changes)
        level = Level.WARNING if saved >= ENOUGH * totals[target] else Level.NOTE
        for change in changes:
            yield replace(_statement(change, saved), level=level)


def _best(layer: Subject, record: LoweredLayer, now: Way) -> Way:
    """The way that surely saves enough against any with fewer changes; the present one where there is none."""
    call, best = layer.layer.call, now
    fits = [
        row
        for row in SWITCHES
        if call.floating and call.function in row.functions and row.decide(call.floating) != call.floating
    ]
    for count in range(1, len(fits) + 1):
        ways = [_way(layer, record, switches) for switches in combinations(fits, count)]
        for way in sorted((way for way in ways if way), key=lambda way: way.most):
            if way.most < (1 - LEAST) * best.least and _as_right(way.route, now.route):
                best = way
    return best


def _as_right(other: Route, present: Route) -> bool:
    """Tell whether neither call has a hazard, and the other one no error that the present one does not have."""
    rows = {row.id for row in other.inexact} - {row.id for row in present.inexact}
    return not (rows or other.hazards or other.open_hazards or present.hazards)


def _way(layer: Subject, record: LoweredLayer, switches: tuple[Switch, ...]) -> Way | None:
    """The layer called with some switches changed; None where its cost is unknown."""
    call = layer.layer.call
    for row in switches:
        call = call._replace(floating=call.floating and row.decide(call.floating))
    called = record._replace(layer=layer.layer._replace(call=call))
    cost = layer.model.cost(called, layer.target, Outcome.CMSIS_NN)
    ends = cost.range if cost.instructions is None else (cost.instructions, cost.instructions)
    return ends and Way(switches, call, layer.routed(call), *ends)


def _statement(change: Change, saved: int) -> Statement:
    """What is said of a layer; `saved` are the instructions that all layers of its group save."""
    layer, now, best = change
    bytes_now, bytes_then = (
        constants.total if constants else 0 for constants in (parameters(way.call, layer.target) for way in (now, best))
    )
    words = " and ".join(row.words for row in best.switches).format(scratch=f"{best.route.buffer_size:,}")
    sure = now.least == now.most and best.least == best.most
    share = f" ({-change.saved / now.least:+.0%}{'' if sure else ' or more'})".replace("%", " %")
    grown = f", {bytes_then - bytes_now:+,} bytes of weights" if bytes_then != bytes_now else ""
    text = f"faster {words}: {best.cost} predicted instructions (not cycles) for {now.cost}{share}{grown}."
    cpu, settings = layer.target.cpu, " ".join(f"--config {row.setting}" for row in best.switches)
    return replace(
        layer.say(text),
        sources=layer.entry_sources(),
        properties={
            f"instructions_saved.{cpu}": change.saved,
            f"plan_instructions_saved.{cpu}": saved,
            "bytes_added": bytes_then - bytes_now,
            "options": settings,
        },
        group=settings,
        remedy=f"{' '.join(row.do for row in best.switches)} {settings} judges all layers so.",
        brief=layer.say(f"faster {words}.").message,
    )
