"""Checks of what a call does on the device: the hazards of its route."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.subjects import Subject
from onnxlint_cmsis.cmsis_nn.library import Route
from onnxlint_cmsis.ground.findings import Content, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class HazardCheck(NamedTuple):
    """The hazards of some kinds."""

    kinds: tuple[str, ...]
    """Kinds of the hazard rows it reports."""

    def __call__(self, subject: Subject) -> Iterator[Statement]:
        """Yield one statement for each hazard of these kinds on one layer and target."""
        for hazard in subject.route.hazards:
            if hazard.kind in self.kinds:
                from onnxlint_cmsis.checks.hazard_statements import statement

                yield statement(subject, hazard)

    def there(self, said: Content, route: Route) -> bool:
        """Tell whether what was said holds for another route of its layer."""
        return any(hazard.id == said.properties["hazard"] for hazard in route.hazards)
