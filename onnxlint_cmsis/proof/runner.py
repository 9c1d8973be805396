"""The reference model: its inputs and outputs, computed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.proof.compare import OutputComparison
from onnxlint_cmsis.proof.feeds import Feed, Setting, feed, settings
from onnxlint_cmsis.proof.inputs import Input, UnfedError
from onnxlint_cmsis.proof.proven_model import ProvenModel, RunLevel, RuntimeRefusalError, Session
from onnxlint_cmsis.types import InputShapes

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
            return self._keep(key, feed(self._inputs, chosen, number, self._seed))  # type: ignore[no-any-return]
        return self._kept[key]  # type: ignore[no-any-return]

    def feeds(self, count: int) -> Iterator[Feed]:
        """So many inputs with the first setting, a few with the others."""
        return (self.feed(number, setting) for number, setting in self._places(count))

    def changes(self) -> bool:
        """Whether a second run gives other outputs, as operators with random numbers do."""
        values = self.feed(PROBE)
        found = OutputComparison(self.session(self.level).outputs, frozenset())
        found.add(self._outputs(self.level, PROBE, self._settings[0]), self.session(self.level).run(values))
        return any(one.largest for one in found.differences())

    def compared(self, new: ProvenModel, count: int, level: RunLevel, *, to_the_end: bool = False) -> Compared:
        """Outputs beside those of another model; no more are tried once the two cannot be equal, but `to_the_end`.

        Raises RuntimeRefusalError.
        """
        old, other = self.session(level), new.session(level)
        found, worst = OutputComparison(old.outputs, self.model.unit_outputs()), None
        with ThreadPoolExecutor(1) as beside:
            for number, setting in self._places(count):
                values = self.feed(number, setting)
                made = beside.submit(other.run, values)
                if found.add(self._outputs(level, number, setting), made.result()):
                    worst = values
                if found.failed and not to_the_end:
                    break
        return Compared(found, worst)

    def differing_output(self, new: ProvenModel, level: RunLevel, feeds: Iterable[Feed]) -> str:
        """The first output that differs on some inputs; empty where none does. Raises RuntimeRefusalError."""
        old, other = self.session(level), new.session(level)
        found = OutputComparison(old.outputs, self.model.unit_outputs())
        for values in feeds:
            found.add(old.run(values), other.run(values))
        return found.differs

    def _places(self, count: int) -> Iterator[tuple[int, Setting]]:
        for place, setting in enumerate(self._settings):
            for number in range(min(count, PROBE) if place else count):
                yield number, setting

    def _outputs(self, level: RunLevel, number: int, setting: Setting) -> list[Any]:
        """Outputs on one input. Raises RuntimeRefusalError."""
        key = (level, setting, number)
        if key not in self._kept:
            return self._keep(key, self.session(level).run(self.feed(number, setting)))  # type: ignore[no-any-return]
        return self._kept[key]  # type: ignore[no-any-return]

    def _keep(self, key: tuple[object, ...], made: Any) -> Any:
        """Keep inputs or outputs while there is room; arrays only, as other values do not tell their bytes."""
        arrays = list(made.values() if isinstance(made, dict) else made)
        if all(isinstance(one, np.ndarray) for one in arrays):
            taken = sum(one.nbytes for one in arrays)
            if taken <= self._room:
                self._room -= taken
                self._kept[key] = made
        return made

    def _that_run(self) -> list[Setting]:
        """Settings with which the model runs; where there are none, raises the error of the first."""
        found: list[Setting] = []
        refusals: list[Exception] = []
        for setting in settings(self._inputs):
            if found and setting.wide != found[0].wide:
                continue
            try:
                for number in self._tried:
                    self._outputs(self.level, number, setting)
            except (RuntimeRefusalError, UnfedError) as error:
                refusals.append(error)
                continue
            found.append(setting)
            if len(found) == MORE_SETTINGS:
                break
        if not found:
            raise refusals[0]
        return found
