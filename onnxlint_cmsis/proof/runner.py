"""The model that another is compared with, and inputs that it runs on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.proof.compare import OutputComparison, unit_outputs
from onnxlint_cmsis.proof.feeds import Feed, Setting, feed, settings
from onnxlint_cmsis.proof.inputs import Input, model_inputs
from onnxlint_cmsis.proof.runtime import Optimization, RuntimeRefusalError, RuntimeSession
from onnxlint_cmsis.types import InputShapes

if TYPE_CHECKING:
    from onnx import ModelProto

PROBE = 4
"""Inputs with which a setting is tried: zeros, both ends, and a mixture."""
MORE_SETTINGS = 2
"""Settings of symbolic sizes that are proven, where the first model runs with so many; the second one in brief."""


class Runner:
    """A model and the settings of its open sizes with which it runs.

    Raises UnfedError for inputs that cannot be made, RuntimeRefusalError for a model that runs with none.
    """

    def __init__(
        self, model: ModelProto, data: bytes, seed: int, shapes: InputShapes, level: Optimization = Optimization.DEFAULT
    ):
        self.model, self.data, self.level = model, data, level
        self._seed = seed
        self._inputs: list[Input] = model_inputs(model, shapes)
        self._session = RuntimeSession(data, level)
        self._settings = self._that_run()

    def session(self, level: Optimization) -> RuntimeSession:
        """The model ready to run at a level. Raises RuntimeRefusalError."""
        return self._session if level is self.level else RuntimeSession(self.data, level)

    def feed(self, number: int) -> Feed:
        """The `number`-th input with the first setting."""
        return feed(self._inputs, self._settings[0], number, self._seed)

    def feeds(self, count: int) -> Iterator[Feed]:
        """So many inputs with the first setting, a few with the others."""
        for place, setting in enumerate(self._settings):
            for number in range(min(count, PROBE) if place else count):
                yield feed(self._inputs, setting, number, self._seed)

    def changes(self) -> bool:
        """Whether outputs are others when the model is run again, as operators with random numbers make them."""
        values = self.feed(PROBE)
        found = OutputComparison(self._session.outputs, frozenset())
        found.add(self._session.run(values), self._session.run(values))
        return any(one.largest for one in found.differences())

    def compared(self, new: bytes, count: int, level: Optimization) -> OutputComparison:
        """Outputs beside those of another model. Raises RuntimeRefusalError."""
        old, other = self.session(level), RuntimeSession(new, level)
        found = OutputComparison(old.outputs, unit_outputs(self.model))
        for values in self.feeds(count):
            found.add(old.run(values), other.run(values))
        return found

    def _that_run(self) -> list[Setting]:
        """Settings with which the model runs; raises what it said to the first where there is none."""
        found: list[Setting] = []
        refusals: list[RuntimeRefusalError] = []
        for setting in settings(self._inputs):
            if found and setting.wide != found[0].wide:
                continue
            try:
                for number in range(PROBE):
                    self._session.run(feed(self._inputs, setting, number, self._seed))
            except RuntimeRefusalError as error:
                refusals.append(error)
                continue
            found.append(setting)
            if len(found) == MORE_SETTINGS:
                break
        if not found:
            raise refusals[0]
        return found
