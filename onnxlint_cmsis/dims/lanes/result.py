"""What the lane analysis hands on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ClassLanes(NamedTuple):
    """Lanes of one class. `live`, `exact` and `unsafe` share them out; all are ascending."""

    leaf: int
    """`DimensionClass.id`."""
    live: tuple[int, ...]
    """Lanes that have to stay; never empty, and all of them where the class is locked."""
    exact: tuple[int, ...]
    """Lanes that may go, any number of them, with every output as it was."""
    unsafe: tuple[int, ...]
    """Lanes that may go only if a constant is added to a bias in float."""
    constants: tuple[int, ...]
    """Lanes that hold one value for every input, where they are read at all; of locked classes too."""
    unread: tuple[int, ...]
    """Lanes whose value nobody uses; of locked classes too, and none of `constants`."""


class Lanes(NamedTuple):
    """Lanes of all classes."""

    classes: dict[int, ClassLanes]
    """By `DimensionClass.id`."""

    def increments(self, removed: Mapping[int, Collection[int]]) -> dict[int, NDArray[np.generic]]:
        """What each reader's bias gains per output channel when these lanes of these classes go, by `Node.index`.

        Along the old output axis, in the bias' own unit: int64 for slots of kind `int32` and `dequantized`, float64
        for `float`. Readers whose sums stay as they are are left out. Raises ValueError for a lane that may not go.
        """
        raise NotImplementedError

    def constants_of(self, tensor: str, axis: int) -> NDArray[np.float64]:
        """Value of each index along an axis of a tensor, NaN where it is live."""
        raise NotImplementedError
