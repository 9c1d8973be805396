"""The reference model: its inputs and outputs, computed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from onnxlint_cmsis.fixers.proof.compare import OutputComparison
from onnxlint_cmsis.fixers.proof.inputs import Feed, Input, Setting, UnfedError, feed_of, settings
from onnxlint_cmsis.fixers.proof.proven import Array, ProvenModel, RunLevel, RuntimeRefusalError, Session
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import InputShapes

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
        """Tell whether a second run gives other outputs, as operators with random numbers do."""
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


RANDOM = 4
"""The first input that is random throughout (`inputs.FORMS`)."""
