"""The proof of one fix: constants, levels, runs and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import product
from math import floor, inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.fix_results import Difference, IfBranch, Proof, ValueChange
from onnxlint_cmsis.fixers.proof.compare import (
    Array,
    ElementMap,
    OutputComparison,
    ProvenModel,
    RunLevel,
    RuntimeRefusalError,
    Session,
    Spread,
    UnreachedError,
    aligned,
)
from onnxlint_cmsis.fixers.proof.inputs import Feed, Input, Setting, UnfedError, feed_of, settings
from onnxlint_cmsis.fixers.proof.models import proven_model
from onnxlint_cmsis.formats.names import UNKNOWN, canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import InputShapes
from onnxlint_cmsis.lower.checks import real_range
from onnxlint_cmsis.lower.layer import parameters_of
from onnxlint_cmsis.lower.quantization import of_input, of_integers, of_result, real_values, wrong_scale
from onnxlint_cmsis.model.roles import Form, Quantized
from onnxlint_cmsis.operators.curve import CLIP
from onnxlint_cmsis.operators.record import Elements, real_attribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.analysis.analysis import Place
    from onnxlint_cmsis.analysis.lanes import Lanes
    from onnxlint_cmsis.lower.quantization import AffineQuantization, Read
    from onnxlint_cmsis.model.graph import Graph, Node
    from onnxlint_cmsis.model.roles import Roles
    from onnxlint_cmsis.operators.record import Operator


# How far a change moves values, in steps of their quantization.


SHARE = 1 / 255
"""Step of a value without a quantization, as a share of the range that is seen of it."""


class Affine(NamedTuple):
    """What integers mean: real = scale * (integer - zero point)."""

    scale: float
    """Scale."""
    zero_point: int
    """Zero-point."""


class Watched(NamedTuple):
    """A value of both models."""

    name: str
    """Name in the first model, for reports."""
    new_name: str
    """Name in the second one."""
    old: Affine | None
    """Quantization in the first model; None where it has none or is not known."""
    new: Affine | None
    """Quantization in the second model; None where it has none or is not known."""


def changes(runner: Runner, new: ProvenModel, watched: Sequence[Watched], count: int) -> tuple[ValueChange, ...]:
    """The largest change of each value over so many inputs. Raises RuntimeRefusalError.

    Measured without the runtime's optimisers, and for outputs also as the runtime is shipped: some fused kernels of
    ONNX Runtime are a step off what the file says (its Softmax of integers reads a table).
    """
    plain = _measured(runner, new, watched, count, runner.model.plain_level)
    outputs = {name for name, _ in runner.session(runner.model.plain_level).outputs}
    handed_out = [value for value in watched if value.name == value.new_name and value.name in outputs]
    shipped = _measured(runner, new, handed_out, count, runner.model.shipped_level)
    steps = {change.value: change.steps for change in shipped}
    return tuple(change._replace(shipped_steps=steps.get(change.value)) for change in plain)


def _measured(
    runner: Runner, new: ProvenModel, watched: Sequence[Watched], count: int, level: RunLevel
) -> tuple[ValueChange, ...]:
    extents = [_Extent(value) for value in watched]
    names, new_names = [value.name for value in watched], [value.new_name for value in watched]
    before, after = runner.model.session(level, names), new.session(level, new_names)
    for feed in runner.feeds(range(count)):
        pairs = zip(extents, before.run(feed, names), after.run(feed, new_names), strict=True)
        for extent, old, changed in pairs:
            extent.add(old, changed)
    return tuple(extent.change() for extent in extents)


class _Extent:
    """The largest change of one value so far."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._largest = 0.0
        self._low, self._high = 0.0, 0.0

    def add(self, old: Any, new: Any) -> None:
        """Take note of the value in one run of each model."""
        before, after = _reals(old, self._watched.old), _reals(new, self._watched.new)
        if before is None or after is None or before.shape != after.shape:
            self._largest = float("inf")
            return
        equal = (before == after) | (np.isnan(before) & np.isnan(after))
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.where(equal, 0.0, np.abs(before - after))
        self._largest = max(self._largest, float(np.where(np.isnan(apart), np.inf, apart).max(initial=0)))
        finite = before[np.isfinite(before)]
        self._low = min(self._low, float(finite.min(initial=0)))
        self._high = max(self._high, float(finite.max(initial=0)))

    def change(self) -> ValueChange:
        """What was seen."""
        scales = [affine.scale for affine in (self._watched.old, self._watched.new) if affine is not None]
        step = max(scales, default=(self._high - self._low) * SHARE)
        steps = self._largest / step if step else self._largest and float("inf")
        return ValueChange(self._watched.name, self._largest, step, steps)


def _reals(value: Any, affine: Affine | None) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Real numbers of a value; None for one that has none."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        return None
    reals = value.astype(np.float64)
    return (reals - affine.zero_point) * affine.scale if affine is not None and value.dtype.kind in "iu" else reals


# How far values can be apart, whatever the inputs: both models compute real numbers, and round where they quantize.


class Side(NamedTuple):
    """One of two models."""

    graph: Graph
    """Its nodes and tensors."""
    read: Read
    """Values of its constants."""

    def stored(self, tensor: str) -> NDArray[np.float64] | None:
        """The real numbers of a constant; None for what is computed."""
        return real_values(self.graph, self.read, tensor) if tensor else None


def most_apart(old: Side, new: Side) -> dict[str, float]:
    """How far the real values of tensors of two models can be apart; those without a bound are left out.

    Tensors and nodes of both models are told by the names of their outputs.
    """
    apart = dict.fromkeys(new.graph.inputs, 0.0)
    for node in new.graph.nodes:
        was = old.graph.producers.get(node.outputs[0]) if node.outputs else None
        if was is None or node.bodies or new.stored(node.outputs[0]) is not None:
            continue
        told, tells = ((end.op_type, end.domain, end.attributes, len(end.inputs)) for end in (was, node))
        if told != tells:
            continue
        bound = _result_apart(old, was, new, node, apart)
        if bound is not None and isfinite(bound):
            apart.update(dict.fromkeys(filter(None, node.outputs), bound))
    return apart


def _result_apart(old: Side, was: Node, new: Side, node: Node, apart: Mapping[str, float]) -> float | None:
    """How far a node's result can be apart where its inputs are as far as they can be."""
    operator, source, clamp = operator_of(node), operator_of(node), (-inf, inf)
    names = [*node.inputs]
    if operator.quantizes:
        names[0], clamp = _unclamped(old, new, names[0])
        producer = new.graph.producers.get(names[0])
        source = operator_of(producer) if producer else UNKNOWN
    carried = operator.roles.quantized_of(len(node.inputs))
    if operator.dequantizes or operator.quantizes:
        carried = (Quantized(0 if operator.dequantizes else -1, 1, 2),)
    parameters = {position for value in carried for position in (value.scale, value.zero_point)}
    inputs = {
        position: _input_apart(old, before, new, name, apart)
        for position, (before, name) in enumerate(zip(was.inputs, names, strict=True))
        if position not in parameters
    }
    known = {position: bound for position, bound in inputs.items() if bound is not None}
    if len(known) < len(inputs):
        return None
    for side, end in ((old, was), (new, node)):
        for value in carried:
            if value.value >= 0 and not _read_as_written(side, end, value.value):
                return None
    plain = operator.quantizes or operator.dequantizes
    bound = known[0] if plain else _computed_apart(operator, new, node, known)
    if bound is None or not any(value.value < 0 for value in carried):
        return bound
    limits = source.bounds or (-inf, inf)
    return _rounded_apart(bound, of_result(old.graph, was), of_result(new.graph, node), limits, clamp)


def _unclamped(old: Side, new: Side, name: str) -> tuple[str, tuple[float, float]]:
    """A tensor in front of the Clip that the second model has more than the first, and the ends of that."""
    node = new.graph.producers.get(name)
    if name in old.graph.producers or node is None or canonical(node) != CLIP.name or len(node.inputs) != 3:
        return name, (-inf, inf)
    ends = [new.stored(end) for end in node.inputs[1:]]
    if any(end is None or end.size != 1 for end in ends):
        return name, (-inf, inf)
    low, high = (float(end.item()) for end in ends if end is not None)
    return node.inputs[0], (low, high)


def _read_as_written(side: Side, node: Node, position: int) -> bool:
    """Whether a node takes integers to mean what their producer means by them; constants mean what the node says."""
    if not node.has(position) or side.stored(node.inputs[position]) is not None:
        return True
    taken, written = of_input(side.graph, node, position), of_integers(side.graph, node.inputs[position])
    return taken is not None and written is not None and taken.equals(written)


def _input_apart(old: Side, was: str, new: Side, name: str, apart: Mapping[str, float]) -> float | None:
    before, after = old.stored(was), new.stored(name)
    if before is None or after is None:
        return 0.0 if was == name == "" else apart.get(name) if was == name and before is after else None
    return float(np.abs(before - after).max(initial=0)) if before.shape == after.shape else None


def _computed_apart(operator: Operator, new: Side, node: Node, inputs: Mapping[int, float]) -> float | None:
    """How far the real numbers are apart that a node computes, before it rounds them."""
    if not any(inputs.values()):
        return 0.0
    roles, data = operator.roles, {*operator.roles.data_of(node)}
    if operator.epilogue or any(bound for position, bound in inputs.items() if position not in {*data, roles.bias}):
        return None
    if roles.form is not None:
        return _summed_apart(roles, new, node, inputs)
    furthest = max(inputs.get(position, 0.0) for position in data)
    if operator.slope is not None:
        return operator.slope * furthest
    return furthest if operator.moves or operator.elements is Elements.PADDED else None


def _summed_apart(roles: Roles, new: Side, node: Node, inputs: Mapping[int, float]) -> float | None:
    """The same of sums over weights: the sizes of the weights of the channel where they are largest."""
    weights = new.stored(node.inputs[roles.second])
    if weights is None or roles.form is None or parameters_of(node, roles.second) or inputs.get(roles.second):
        return None
    sizes, axis = np.abs(weights), roles.form.outputs(weights.ndim)
    if roles.form is Form.GEMM:
        sizes, axis = sizes * abs(real_attribute(node, "alpha", 1.0)), 1 - node.int("transB")
    rest = tuple(other for other in range(weights.ndim) if other != axis % weights.ndim or weights.ndim == 1)
    added = inputs.get(roles.bias, 0.0) * (abs(real_attribute(node, "beta", 1.0)) if roles.form is Form.GEMM else 1.0)
    return float(sizes.sum(axis=rest).max(initial=0)) * inputs.get(roles.first, 0.0) + added


def _rounded_apart(
    bound: float,
    old: AffineQuantization | None,
    new: AffineQuantization | None,
    limits: tuple[float, float],
    clamp: tuple[float, float],
) -> float | None:
    """How far two numbers within `limits` are apart once each is rounded and clamped by its own quantization.

    The second one is clamped by `clamp` before.
    """
    if old is None or new is None:
        return None
    for side in (old, new):
        if not side.known or len(side.scales or ()) != 1 or side.bits <= 4 or wrong_scale(side) is not None:
            return None
    further = (floor(bound / new.scale * (1 + CLOSE)) + 1) * new.scale if bound else 0.0
    if old.equals(new) and clamp == (-inf, inf):
        return further
    ends = real_range(old), real_range(new)
    halves = [(np.arange(2**side.bits) + 0.5) * side.scale + end[0] for side, end in zip((old, new), ends, strict=True)]
    corners = np.clip(np.concatenate([[*limits, *clamp, *ends[0], *ends[1]], *halves]), *limits)
    pairs = product(_both_ways(corners, old, ends[0]), _both_ways(np.clip(corners, *clamp), new, ends[1]))
    return further + max(float(np.abs(before - after).max()) for before, after in pairs)


def _both_ways(
    numbers: NDArray[np.float64], to: AffineQuantization, ends: tuple[float, float]
) -> Iterator[NDArray[np.float64]]:
    """Numbers rounded to steps and clamped, halves downwards and halves upwards."""
    steps = np.clip(numbers, *ends) / to.scale
    for away in (-CLOSE, CLOSE):
        yield np.clip(np.floor(steps + 0.5 + away) * to.scale, *ends)


# The reference model: its inputs and outputs, computed once.


PROBE = 4
"""Inputs with which a setting is tried: zeros, both ends, and a mixture."""
MORE_SETTINGS = 2
"""Settings of symbolic sizes that are proven, where the first model runs with so many; the second one in brief."""
KEPT_BYTES = 64 << 20
"""Bytes of inputs and outputs that are kept for further proofs; beyond it the model runs again."""


class Compared(NamedTuple):
    """Outputs of two models on the same inputs."""

    comparison: OutputComparison
    """How far they are apart."""
    worst: Feed | None
    """The input with the largest difference; None where nothing differs."""


class Renamed:
    """A model whose inputs go by other names; what a session of it is given has those of another model."""

    def __init__(self, model: ProvenModel, names: Mapping[str, str]) -> None:
        """`names` has the model's own name for each that its sessions are given."""
        self._model, self._names = model, names

    def session(self, level: RunLevel) -> Session:
        """The model ready to run. Raises RuntimeRefusalError."""
        return RenamedSession(self._model.session(level), self._names)


class RenamedSession:
    """A model ready to run, with other names for its inputs."""

    def __init__(self, session: Session, names: Mapping[str, str]) -> None:
        self._session, self._names = session, names
        self.outputs = session.outputs

    def run(self, feed: Mapping[str, Array], names: Sequence[str] | None = None) -> list[Any]:
        """Outputs in order, or other tensors by name. Raises RuntimeRefusalError."""
        return self._session.run({self._names[name]: value for name, value in feed.items()}, names)


class Runner:
    """A model and the settings of its open sizes with which it runs.

    Raises UnfedError for inputs that cannot be made, RuntimeRefusalError for a model that runs with none.
    """

    def __init__(  # noqa: PLR0913
        self,
        model: ProvenModel,
        seed: int,
        shapes: InputShapes,
        level: RunLevel | None = None,
        inner: Sequence[str] = (),
        *,
        tried: Sequence[int] = range(PROBE),
    ) -> None:
        """`level` is the model's first unless another is given; `inner` are tensors that are asked for as well.

        `tried` are the numbers of the inputs with which a setting has to run.
        """
        self.model, self.level = model, level or model.levels()[0]
        self._seed, self._tried = seed, tried
        self._shapes = shapes
        self._inputs: list[Input] = model.inputs(shapes)
        self._sessions = {self.level: model.session(self.level, inner)}
        self._kept: dict[tuple[object, ...], Any] = {}
        self._room = KEPT_BYTES
        self._opened: tuple[tuple[RunLevel, Sequence[str]], Session] | None = None
        self._settings = self._that_run()

    def session(self, level: RunLevel) -> Session:
        """The model ready to run at a level. Raises RuntimeRefusalError."""
        if level not in self._sessions:
            self._sessions[level] = self.model.session(level)
        return self._sessions[level]

    def opened(self, level: RunLevel, inner: Sequence[str]) -> Session:
        """The model with tensors inside that can be asked for; the last one is kept. Raises RuntimeRefusalError."""
        if self._opened is None or self._opened[0] != (level, inner):
            self._opened = (level, inner), self.model.session(level, inner)
        return self._opened[1]

    def feed(self, number: int, setting: Setting | None = None) -> Feed:
        """The `number`-th input, with the first setting unless another is given."""
        chosen = setting or self._settings[0]
        key = ("feed", chosen, number)
        if key not in self._kept:
            return self._keep(key, feed_of(self._inputs, chosen, number, self._seed))  # type: ignore[no-any-return]
        return self._kept[key]  # type: ignore[no-any-return]

    def feeds(self, numbers: Sequence[int]) -> Iterator[Feed]:
        """Inputs with the first setting, a few with the others."""
        return (self.feed(number, setting) for number, setting in self._trials(numbers))

    def changes(self) -> bool:
        """Whether a second run gives other outputs, as operators with random numbers do."""
        values = self.feed(PROBE)
        comparison = OutputComparison(self.session(self.level).outputs, frozenset())
        comparison.add(self._outputs(self.level, PROBE, self._settings[0]), self.session(self.level).run(values))
        return any(difference.largest for difference in comparison.differences())

    def compared(
        self, new: ProvenModel | Renamed, numbers: Sequence[int], level: RunLevel, *, to_the_end: bool = False
    ) -> Compared:
        """Outputs beside those of another model; no more are tried once the two cannot be equal, but `to_the_end`.

        Raises RuntimeRefusalError.
        """
        old, other = self.session(level), new.session(level)
        comparison, worst = OutputComparison(old.outputs, self.model.unit_outputs()), None
        with ThreadPoolExecutor(1) as beside:
            for number, setting in self._trials(numbers):
                values = self.feed(number, setting)
                computed = beside.submit(other.run, values)
                if comparison.add(self._outputs(level, number, setting), computed.result()):
                    worst = values
                if comparison.failed and not to_the_end:
                    break
        return Compared(comparison, worst)

    def differing_output(self, new: ProvenModel, level: RunLevel, feeds: Iterable[Feed]) -> str:
        """The first output that differs on some inputs; empty where none does. Raises RuntimeRefusalError."""
        old, other = self.session(level), new.session(level)
        comparison = OutputComparison(old.outputs, self.model.unit_outputs())
        for values in feeds:
            comparison.add(old.run(values), other.run(values))
        return comparison.differs

    def names_of_inputs(self, new: ProvenModel) -> dict[str, str] | None:
        """What another model calls the inputs, in their order; None where it takes others. Raises UnfedError."""
        others = new.inputs(self._shapes)
        if len(others) != len(self._inputs):
            return None
        for mine, other in zip(self._inputs, others, strict=True):
            pairs = zip(mine.shape, other.shape, strict=False)
            fits = all(size == its or isinstance(size, str) or isinstance(its, str) for size, its in pairs)
            if mine.dtype != other.dtype or len(mine.shape) != len(other.shape) or not fits:
                return None
        return {mine.name: other.name for mine, other in zip(self._inputs, others, strict=True)}

    def _trials(self, numbers: Sequence[int]) -> Iterator[tuple[int, Setting]]:
        """Numbers of inputs, each with a setting: all with the first setting, a few with the second."""
        for rank, setting in enumerate(self._settings):
            for number in numbers:
                if not rank or number < PROBE:
                    yield number, setting

    def _outputs(self, level: RunLevel, number: int, setting: Setting) -> list[Any]:
        """Outputs on one input. Raises RuntimeRefusalError."""
        key = (level, setting, number)
        if key not in self._kept:
            return self._keep(key, self.session(level).run(self.feed(number, setting)))  # type: ignore[no-any-return]
        return self._kept[key]  # type: ignore[no-any-return]

    def _keep(self, key: tuple[object, ...], values: Any) -> Any:
        """Keep inputs or outputs while there is room; arrays only, as other values do not tell their bytes."""
        arrays = list(values.values() if isinstance(values, dict) else values)
        if all(isinstance(array, np.ndarray) for array in arrays):
            taken = sum(array.nbytes for array in arrays)
            if taken <= self._room:
                self._room -= taken
                self._kept[key] = values
        return values

    def _that_run(self) -> list[Setting]:
        """Settings with which the model runs; where there are none, raises the error of the first."""
        settled: list[Setting] = []
        refusals: list[Exception] = []
        for setting in settings(self._inputs):
            if settled and setting.wide != settled[0].wide:
                continue
            try:
                for number in self._tried:
                    self._outputs(self.level, number, setting)
            except (RuntimeRefusalError, UnfedError) as error:
                refusals.append(error)
                continue
            settled.append(setting)
            if len(settled) == MORE_SETTINGS:
                break
        if not settled:
            raise refusals[0]
        return settled


# Values inside: behind a saturated Sigmoid, an ArgMax or a comparison, outputs stay the same while a channel is lost.


TOLERANCE = 1e-3
"""Largest difference of inner float values, as a share of their range: where large numbers cancel, rounding alone takes
more of what is left than of an output's range (3e-5 was seen). Of channels set to zero in published models none was
missed by it that 1e-5 had found."""
TOGETHER = 64
"""Tensors fetched in one run, so that not all of a large model are held at once."""


class Inner(NamedTuple):
    """Result of the comparison."""

    reason: str
    """The first tensor that differs, as a clause; empty where none does."""
    tensors: int
    """Tensors that were compared."""
    differs: str
    """Name of that tensor."""


class InnerTensors:
    """The tensors of an element map that both models make, in the order in which the first one makes them."""

    def __init__(self, old: Runner, new: ProvenModel, same: ElementMap, level: RunLevel) -> None:
        """Raises RuntimeRefusalError."""
        computed = {*new.computed()}
        self.names = [name for name in old.model.computed() if name in same and name in computed]
        self._same, self._sessions = same, []
        if self.names:
            self._sessions = [old.opened(level, self.names), new.session(level, self.names)]

    def compared(self, feeds: Iterable[Feed], steps: int) -> Inner:
        """Compare the tensors of both models. Raises RuntimeRefusalError.

        Integers may differ by `steps`: what is looked at is not fused with what follows, and another kernel may round
        what lies between two integers the other way.
        """
        spreads: dict[str, Spread] = {}
        for feed in feeds if self.names else ():
            for first in range(0, len(self.names), TOGETHER):
                for name, before, after in self._values(feed, self.names[first : first + TOGETHER]):
                    spreads.setdefault(name, Spread()).add(before, after)
        faults = {name: spread.fault(TOLERANCE, steps) for name, spread in spreads.items()}
        differs = next((name for name, fault in faults.items() if fault), "")
        reason = f"inner tensor `{differs}` {faults[differs]}" if differs else ""
        return Inner(reason, len(spreads), differs)

    def _values(self, feed: Feed, names: Sequence[str]) -> Iterator[tuple[str, Array, Array]]:
        """Values of each tensor in both models."""
        old, new = (session.run(feed, names) for session in self._sessions)
        for name, before, after in zip(names, old, new, strict=True):
            arrays = hasattr(before, "ndim") and hasattr(after, "ndim")
            pair = aligned(before, after, self._same[name]) if arrays else None
            if pair is not None:
                yield name, *pair


# Proofs that models may replace one model, which runs once.


RANDOM = 4
"""The first input that is random throughout (`inputs.FORMS`)."""
INNER = (3, RANDOM, 5)
"""Inputs with which values inside the models are compared: a mixture of both ends, and two that are random."""
INPUTS = 16
"""Inputs that a proof tries."""
BESIDE = (3, RANDOM)
"""Inputs that are tried beside a certificate: a mixture of both ends, and one that is random."""
MANY_INPUTS = 200
"""Inputs on which it is measured how far a runtime's own kernels make two equal models differ, which is rare."""


class Spot(NamedTuple):
    """How to show that two models differ."""

    level: RunLevel
    """Level to run them at."""
    feeds: tuple[Feed, ...]
    """Inputs."""
    steps: int = 0
    """By how much integers inside may differ."""


class ProofOutcome(NamedTuple):
    """A proof, and how to see why it failed."""

    proof: Proof
    """What came of comparing two models."""
    spot: Spot | None = None
    """First difference; None where there is none, or where it lies in something else than their values."""


class Prover:
    """Compares models with the one that they are to replace."""

    def __init__(
        self, load: Callable[[], ProvenModel], beside: Path | None, input_shapes: InputShapes, seed: int = 0
    ) -> None:
        """`load` gives the model, if it is needed; it may raise NotAppliedError.

        `beside` is the model's file: its name says what format all of them have, external data lie in its folder.
        """
        self._load, self._beside, self._shapes, self._seed = load, beside, input_shapes, seed

    @cached_property
    def _model(self) -> ProvenModel:
        """The model as it is. Raises NotAppliedError."""
        return self._load()

    @cached_property
    def _runner(self) -> Runner | str:
        """The model ready to run, or why nothing can be said of another one."""
        try:
            runner = Runner(self._model, self._seed, self._shapes)
            changes = runner.changes()
        except (UnfedError, RuntimeRefusalError) as error:
            return f"{self._model.runtime} cannot run the model as it is: {error}"
        return "it gives other outputs when it is run again on the same input" if changes else runner

    def prove(
        self,
        new: bytes,
        *,
        inputs: Sequence[int] = range(INPUTS),
        same: ElementMap | None = None,
        branches: Collection[IfBranch] = (),
    ) -> ProofOutcome:
        """Compare a model with the one that it is to replace; values inside where more than BESIDE is tried.

        Raises NotAppliedError.
        """
        changed, runner = proven_model(new, self._beside), self._runner
        if isinstance(runner, str):
            return ProofOutcome(self._failed(runner, ran=False))
        fault = self._model.fault(changed)
        if fault:
            return ProofOutcome(self._failed(fault))
        missed = self._unreached(runner, changed, inputs, branches)
        if missed is not None:
            return ProofOutcome(missed)
        verdict = self._outputs(runner, changed, inputs)
        if not verdict.proof.equal or inputs == BESIDE:
            return verdict
        return self._inside(runner, changed, same or {}, verdict.proof)

    def written(self, new: bytes, inputs: int = INPUTS, many: int = MANY_INPUTS) -> Proof:
        """Compare a model that holds other types as the file says it, without the runtime's optimisers.

        How far `many` outputs are apart with the optimisers that the runtime is shipped with is told, and no fault.
        Raises NotAppliedError.
        """
        changed, runner = proven_model(new, self._beside), self._runner
        if isinstance(runner, str):
            return self._failed(runner, ran=False)
        fault = self._model.fault(changed)
        if fault:
            return self._failed(fault)
        plain = self._model.plain_level
        try:
            strict = runner.compared(changed, range(inputs), plain).comparison
            apart = next((difference for difference in strict.differences() if difference.largest), None)
            if apart is not None:
                reason = f"output `{apart.output}` differs by {apart.largest:g} ({plain.value})"
                return self._failed(reason, strict.differences(), strict.runs)
            shipped = self._model.shipped_level
            loose = runner.compared(changed, range(many), shipped, to_the_end=True).comparison
        except RuntimeRefusalError as error:
            return self._failed(self._refused(plain, error))
        proof = Proof(True, "", True, loose.differences(), strict.runs, runtime=self._model.runtime)
        return proof._replace(written=loose.runs)

    def outputs(self, new: bytes) -> Proof:
        """Compare the outputs of a model that need not be made of the first one. Raises NotAppliedError."""
        changed, runner = proven_model(new, self._beside), self._runner
        if isinstance(runner, str):
            return self._failed(runner, ran=False)
        try:
            level = self._model.levels()[0]
            same = runner.session(level).outputs == changed.session(level).outputs
        except RuntimeRefusalError as error:
            return self._failed(self._refused(level, error), ran=False)
        if not same:
            return self._failed("its outputs have other names or types", ran=False)
        try:
            names = runner.names_of_inputs(changed)
        except UnfedError as error:
            return self._failed(str(error), ran=False)
        if names is None:
            return self._failed("its inputs have other sizes or types", ran=False)
        return self._outputs(runner, Renamed(changed, names), range(INPUTS)).proof

    def changes(self, new: bytes, watched: Sequence[Watched], count: int) -> tuple[ValueChange, ...] | str:
        """How far a model that is meant to compute other numbers is from the first one; or why nothing can be said.

        Raises NotAppliedError, RuntimeRefusalError.
        """
        changed, runner = proven_model(new, self._beside), self._runner
        if isinstance(runner, str):
            return runner
        return self._model.fault(changed) or changes(runner, changed, watched, count)

    def look(self, new: bytes, same: ElementMap, spot: Spot) -> str:
        """The first tensor of `same` that differs, else the first output; empty where neither is seen to differ.

        Tensors are in the order of the nodes. Far quicker than a proof. Raises NotAppliedError.
        """
        changed, runner = proven_model(new, self._beside), self._runner
        if isinstance(runner, str):
            return ""
        try:
            inside = InnerTensors(runner, changed, same, spot.level).compared(spot.feeds, spot.steps)
            return inside.differs or runner.differing_output(changed, spot.level, spot.feeds)
        except RuntimeRefusalError:
            return ""

    def _outputs(self, runner: Runner, new: ProvenModel | Renamed, numbers: Sequence[int]) -> ProofOutcome:
        """Outputs of both models on the same inputs, at every comparable level."""
        tried = 0
        differences: tuple[Difference, ...] = ()
        for level in self._model.levels():
            try:
                compared = runner.compared(new, numbers, level)
            except RuntimeRefusalError as error:
                return ProofOutcome(self._failed(self._refused(level, error), differences, tried))
            comparison = compared.comparison
            reason, apart, tried = comparison.reason(), comparison.differences(), comparison.runs
            differences = differences or apart
            if reason:
                worst = () if compared.worst is None else (compared.worst,)
                spot = Spot(level, (*worst, *map(runner.feed, INNER)))
                return ProofOutcome(self._failed(f"{reason} ({level.value})", apart, tried), spot)
        return ProofOutcome(Proof(True, "", True, differences, tried, runtime=self._model.runtime))

    def _inside(self, runner: Runner, new: ProvenModel, same: ElementMap, proof: Proof) -> ProofOutcome:
        """The proof with the models' inner values."""
        level, steps = self._model.inner_level()
        spot = Spot(level, tuple(map(runner.feed, INNER)), steps)
        try:
            inner = InnerTensors(runner, new, same, level).compared(spot.feeds, spot.steps)
        except RuntimeRefusalError as error:
            return ProofOutcome(proof._replace(equal=False, reason=self._refused(level, error)))
        reason = f"{inner.reason} ({level.value})" if inner.reason else ""
        return ProofOutcome(
            proof._replace(equal=not reason, reason=reason, inner=inner.tensors), spot if reason else None
        )

    def _unreached(
        self, runner: Runner, new: ProvenModel, numbers: Sequence[int], known: Collection[IfBranch]
    ) -> Proof | None:
        """Part of the change that no input reaches; None where all is reached."""
        try:
            unreached = self._model.unreached(new, known, runner.feeds(numbers))
        except (UnreachedError, RuntimeRefusalError) as error:
            return self._failed(f"{error}; whether it is ever run is not known")
        if not unreached:
            return None
        reason = f"no input leads into the changed branch of {unreached[0].node}"
        return self._failed(reason)._replace(unreached=unreached)

    def _failed(
        self, reason: str, differences: tuple[Difference, ...] = (), tried: int = 0, *, ran: bool = True
    ) -> Proof:
        return Proof(False, reason, ran, differences, tried, runtime=self._model.runtime)

    def _refused(self, level: RunLevel, error: Exception) -> str:
        return f"{self._model.runtime} ({level.value}): {error}"


# Constants of the lane analysis against the runtime.


CLOSE = 1e-5
"""Relative difference of real values that rounding may make; integers have to be equal."""


def values_inside(
    model: ProvenModel, names: Sequence[str], *, seed: int = 0, input_shapes: InputShapes | None = None
) -> dict[str, Array]:
    """Run-time values of named tensors of the main graph for one random input, with optimisation off.

    Empty where the model does not run; names that are no tensors of the main graph are left out.
    """
    computed = {*model.computed()}
    chosen = [name for name in dict.fromkeys(names) if name in computed]
    if not chosen:
        return {}
    try:
        runner = Runner(model, seed, input_shapes or {}, model.plain_level, chosen, tried=(RANDOM,))
        values = runner.session(model.plain_level).run(runner.feed(RANDOM), chosen)
    except (UnfedError, RuntimeRefusalError):
        return {}
    return dict(zip(chosen, values, strict=True))


def disproved(
    model: ProvenModel, input_shapes: InputShapes, lanes: Lanes, axes: Collection[tuple[str, int]]
) -> frozenset[Place]:
    """Places whose run-time value differs from the constant that the analysis gives.

    `axes` are (tensor, axis) to look at. One random input, optimisation off; empty where the model does not run.
    """
    values = values_inside(model, [tensor for tensor, _ in axes], input_shapes=input_shapes)
    wrong: set[Place] = set()
    for tensor, axis in axes:
        if tensor in values and values[tensor].ndim > axis:
            expected = lanes.constants_of(tensor, axis)
            lines = np.moveaxis(values[tensor], axis, 0).reshape(values[tensor].shape[axis], -1)
            wrong.update((tensor, axis, index) for index in _differing(lines, expected))
    return frozenset(wrong)


def _differing(lines: NDArray[np.generic], expected: NDArray[np.float64]) -> list[int]:
    """Indices that do not hold their constant throughout."""
    indices = []
    for index in np.flatnonzero(~np.isnan(expected)):
        line = lines[index].astype(np.float64)
        allowed = CLOSE * max(1.0, abs(expected[index])) if lines.dtype.kind == "f" else 0.0
        if line.size and np.abs(line - expected[index]).max() > allowed:
            indices.append(int(index))
    return indices
