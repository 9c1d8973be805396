"""Prove that two models compute the same, and look at values inside one.

The default level of ONNX Runtime decides, since it is what people run: there, Q/DQ around a layer become an integer
kernel, and integers have to agree bit for bit. With optimisation off they have to as well, unless the model quantizes
what it computed in float: a sum of floats taken in another order differs in its last bit, and a value on the border
between two steps may then go the other way, which says nothing about the integers that a device computes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.fixers.branches import Branch, UnreachedError, changed_branches, unreached, with_outputs
from onnxlint_cmsis.fixers.compare import Comparison, Difference, unit_outputs
from onnxlint_cmsis.fixers.correspond import QUANTIZING, Correspondence
from onnxlint_cmsis.fixers.feeds import Feed, Setting, feed, settings
from onnxlint_cmsis.fixers.inner import compare_inner
from onnxlint_cmsis.fixers.inputs import Input, UnfedError, model_inputs
from onnxlint_cmsis.fixers.plan_types import InputShapes, NotAppliedError
from onnxlint_cmsis.fixers.runtime import Array, Level, RuntimeRefusalError, Session, whole
from onnxlint_cmsis.fixers.statics import static_reason
from onnxlint_cmsis.onnx_graph.walk import all_nodes

if TYPE_CHECKING:
    from onnx import ModelProto

PROBE = 4
"""Inputs with which a setting is tried: zeros, both ends, and a mixture."""
INNER = (3, 4, 5)
"""Inputs with which values inside the models are compared: a mixture of both ends, and two that are random."""
MORE_SETTINGS = 2
"""Settings of symbolic sizes that are proven, where the first model runs with so many; the second one in brief."""


class Proof(NamedTuple):
    """What came of comparing two models."""

    equal: bool
    """Whether the second may take the first one's place."""
    reason: str
    """Why not, empty where it may."""
    ran: bool
    """Whether ONNX Runtime runs the first model, and twice the same; if not, nothing is said of the second."""
    differences: tuple[Difference, ...]
    """Each output of the model, in order, at the default level."""
    inputs: int
    """Inputs tried."""
    inner: int = 0
    """Values inside the model that were compared as well."""
    unreached: tuple[Branch, ...] = ()
    """Branches of If that the change reaches into and no input leads into."""


def prove(  # noqa: PLR0913
    before: bytes | Path,
    after: bytes | Path,
    *,
    seed: int = 0,
    inputs: int = 16,
    input_shapes: InputShapes | None = None,
    beside: Path | None = None,
    same: Correspondence | None = None,
    branches: Collection[Branch] = (),
) -> Proof:
    """Compare a model with the one that is to replace it.

    onnx.checker and shape inference say of the second what they say of the first; inputs and outputs keep names,
    types, shapes and order; in ONNX Runtime integers are equal bit for bit, floats differ by at most
    `compare.TOLERANCE` of the output's range, and so do the values of `same` inside the models. A model that gives
    other outputs when it is run again is not proven. `beside` is a file in whose folder external data of models given
    as bytes lie; `branches` are those that the change is known to reach into, besides those whose text differs. Raises
    NotAppliedError for external data that cannot be read, OSError for files.
    """
    from onnx import ModelProto

    old, new = whole(before, beside), whole(after, beside if isinstance(before, bytes) else before)
    model = ModelProto.FromString(old)
    try:
        runner = _Runner(model, old, seed, input_shapes or {})
    except (UnfedError, RuntimeRefusalError) as error:
        return Proof(False, f"ONNX Runtime cannot run the model as it is: {error}", False, (), 0)
    if runner.changes():
        return Proof(False, "it gives other outputs when it is run again on the same input", False, (), 0)
    reason = static_reason(old, new)
    if reason:
        return Proof(False, reason, True, (), 0)
    return runner.unreached(new, inputs, branches) or runner.compare(new, inputs, same or {})


def observe(
    model: bytes | Path,
    names: Sequence[str],
    *,
    seed: int = 0,
    input_shapes: InputShapes | None = None,
    beside: Path | None = None,
) -> dict[str, Array]:
    """Run-time values of named tensors of the main graph for one random input, with optimisation off.

    Empty where the model does not run or external data cannot be read (`beside` as for `prove`); names that are no
    tensors of the main graph are left out.
    """
    from onnx import ModelProto

    try:
        parsed = ModelProto.FromString(whole(model, beside))
        made = {name for node in parsed.graph.node for name in node.output if name}
        chosen = [name for name in dict.fromkeys(names) if name in made]
        runner = _Runner(parsed, with_outputs(parsed, chosen), seed, input_shapes or {}, level=Level.NONE)
        values = runner.first.run(feed(runner.inputs, runner.settings[0], 4, seed), chosen) if chosen else []
    except (UnfedError, RuntimeRefusalError, NotAppliedError):
        return {}
    return dict(zip(chosen, values, strict=True))


class _Runner:
    """The first model, with inputs that it runs on."""

    def __init__(self, model: ModelProto, data: bytes, seed: int, shapes: InputShapes, level: Level = Level.DEFAULT):
        self.data = data
        self.seed = seed
        self.model = model
        self.inputs: list[Input] = model_inputs(model, shapes)
        self.level = level
        self.first = Session(data, level)
        self.settings = self._settings()

    def compare(self, new: bytes, count: int, same: Correspondence) -> Proof:
        """Both models on the same inputs, at every level that says something, and inside at the last of these."""
        tried = 0
        differences: tuple[Difference, ...] = ()
        for level in (Level.DEFAULT, Level.NONE):
            if level is Level.NONE and _quantizes_floats(self.model):
                continue
            try:
                first = self.first if level is self.level else Session(self.data, level)
                sessions = first, Session(new, level)
                found, tried = self._run(sessions, count)
            except RuntimeRefusalError as error:
                return Proof(False, f"ONNX Runtime ({level.value}): {error}", True, differences, tried)
            differences = differences or found.differences()
            reason = found.reason()
            if reason:
                return Proof(False, f"{reason} ({level.value})", True, found.differences(), tried)
        return self._inside(new, same, Proof(True, "", True, differences, tried))

    def changes(self) -> bool:
        """Whether the first model gives other outputs when it is run again, as operators with random numbers do."""
        values = feed(self.inputs, self.settings[0], PROBE, self.seed)
        found = Comparison(self.first.outputs, frozenset())
        found.add(self.first.run(values), self.first.run(values))
        return any(one.largest for one in found.differences())

    def _inside(self, new: bytes, same: Correspondence, proof: Proof) -> Proof:
        """The proof with what is inside the models; fused kernels are kept where floats are quantized."""
        level = Level.DEFAULT if _quantizes_floats(self.model) else Level.NONE
        feeds = (feed(self.inputs, self.settings[0], number, self.seed) for number in INNER)
        try:
            found = compare_inner(self.model, type(self.model).FromString(new), same, level, feeds)
        except RuntimeRefusalError as error:
            return proof._replace(equal=False, reason=f"ONNX Runtime ({level.value}): {error}")
        reason = f"{found.reason} ({level.value})" if found.reason else ""
        return proof._replace(equal=not reason, reason=reason, inner=found.tensors)

    def unreached(self, new: bytes, count: int, known: Collection[Branch]) -> Proof | None:
        """What of the change no input reaches; None where all is reached."""
        try:
            changed = changed_branches(self.model.graph, type(self.model).FromString(new).graph)
            found = unreached(self.model, {*changed, *known}, self._feeds(count))
        except (UnreachedError, RuntimeRefusalError) as error:
            return Proof(False, f"{error}; whether it is ever run is not known", True, (), 0)
        if not found:
            return None
        return Proof(False, f"no input leads into the changed branch of {found[0].node}", True, (), 0, unreached=found)

    def _feeds(self, count: int) -> Iterator[Feed]:
        for number, setting in self._numbers(count):
            yield feed(self.inputs, setting, number, self.seed)

    def _numbers(self, count: int) -> Iterator[tuple[int, Setting]]:
        """All inputs with the first setting, a few with the others."""
        for place, setting in enumerate(self.settings):
            for number in range(min(count, PROBE) if place else count):
                yield number, setting

    def _run(self, sessions: tuple[Session, Session], count: int) -> tuple[Comparison, int]:
        found = Comparison(sessions[0].outputs, unit_outputs(self.model))
        for values in self._feeds(count):
            found.add(sessions[0].run(values), sessions[1].run(values))
        return found, sum(1 for _ in self._numbers(count))

    def _settings(self) -> list[Setting]:
        """Settings with which the model runs; raises what it said to the first where there is none."""
        found: list[Setting] = []
        refusals: list[RuntimeRefusalError] = []
        for setting in settings(self.inputs):
            if found and setting.wide != found[0].wide:
                continue
            try:
                for number in range(PROBE):
                    self.first.run(feed(self.inputs, setting, number, self.seed))
            except RuntimeRefusalError as error:
                refusals.append(error)
                continue
            found.append(setting)
            if len(found) == MORE_SETTINGS:
                break
        if not found:
            raise refusals[0]
        return found


def _quantizes_floats(model: ModelProto) -> bool:
    return any(node.op_type in QUANTIZING for node in all_nodes(model))
