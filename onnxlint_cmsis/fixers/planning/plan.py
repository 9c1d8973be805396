"""A fix as data: the lanes that every class keeps and gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

    from onnxlint_cmsis.analysis.dimensions import Dimensions
    from onnxlint_cmsis.model.graph import Graph


Kept = Mapping[int, tuple[int | None, ...]]
"""Class id to the old lane that each new lane holds, None for a new zero lane."""


@dataclass(frozen=True, eq=False)
class Plan:
    """New lanes of every class that changes; a class that is not named keeps all its lanes."""

    kept: dict[int, tuple[int | None, ...]]
    """Class id to the old lane that each new lane holds, None for a new zero lane."""
    increments: Mapping[int, npt.NDArray[np.generic]] = field(default_factory=dict)
    """`Node.index` of a reader to what its bias gains per output channel: along the old output axis, in the bias' own
    unit, integers where the bias is stored in integers."""
    read: Mapping[str, npt.NDArray[np.bool_]] | None = None
    """Elements of every tensor that count for some output, the others may change; None where all count.

    Of the tensor's rank, with length 1 along axes where nothing differs; a tensor that is not named counts nowhere.
    """

    @property
    def sizes(self) -> dict[int, int]:
        """New size of every class that changes."""
        return {leaf: len(lanes) for leaf, lanes in self.kept.items()}


class PlanStep(NamedTuple):
    """One plan and the model that it is for."""

    graph: Graph
    """The model before the plan."""
    dimensions: Dimensions
    """Classes of that model."""
    plan: Plan
    """What changes."""
