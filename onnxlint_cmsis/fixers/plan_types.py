"""What planning hands to applying, and applying to those who show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.types import Size

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Kept = Mapping[int, tuple[int | None, ...]]
"""Class id to the old lane that each new lane holds, None for a new zero lane (`dims.axes.placement`)."""


InputShapes = Mapping[str, tuple[Size, ...]]
"""Sizes of inputs by name, None for one that stays symbolic (`--input-shape`)."""


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


class TensorEdit(NamedTuple):
    """One stored constant that changes, or a copy that is made because its uses change differently."""

    tensor: str
    """Key of the stored constant; empty for a bias, or its scale, that a layer had none of so far."""
    uses: tuple[tuple[int, int], ...]
    """`Node.index` and input of the uses that read it in this form."""
    copied: bool
    """A new tensor; the one of that name, if any, stays for the other uses."""
    old_shape: tuple[int, ...]
    """Sizes now."""
    new_shape: tuple[int, ...]
    """Sizes after."""
    old_bytes: int
    """Bytes of values now, 0 for a copy."""
    new_bytes: int
    """Bytes of values after."""


class NotAppliedError(Exception):
    """A plan cannot be applied to this model; the text is one clause that says what stands in the way."""


class UnreadableError(NotAppliedError):
    """External data cannot be read; the text names tensor and file."""
