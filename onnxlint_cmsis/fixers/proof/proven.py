"""What a proof asks of a model, whatever format it has and whatever runs it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.proof_results import IfBranch
    from onnxlint_cmsis.fixers.proof.inputs import Input
    from onnxlint_cmsis.ground.types import InputShapes


Array = npt.NDArray[np.generic]


class RuntimeRefusalError(Exception):
    """The runtime does not take or run the model; the text is its first line."""


def first_line(error: Exception) -> str:
    """What an exception of a library says, in one line of at most 200 characters and dots."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]} ..."


class UnreachedError(Exception):
    """A change lies where inputs may not lead; the text names the node."""


class RunLevel(Protocol):
    """A way in which a runtime computes: a level of optimisation, a set of kernels."""

    @property
    def value(self) -> str:
        """Name in messages."""


class Session(Protocol):
    """A model ready to run."""

    outputs: list[tuple[str, str]]
    """Name and type of each output."""

    def run(self, feed: Mapping[str, Array], names: Sequence[str] | None = None) -> list[Any]:
        """Outputs in order, or other tensors by name. Raises RuntimeRefusalError."""


class ProvenModel(Protocol):
    """One of the two models that a proof compares."""

    runtime: str
    """Name of what runs it, in messages."""

    def inputs(self, shapes: InputShapes) -> list[Input]:
        """Inputs. Raises UnfedError."""

    @property
    def plain_level(self) -> RunLevel:
        """A way to compute in which every node computes for itself what the file says."""

    @property
    def shipped_level(self) -> RunLevel:
        """The way in which the runtime computes where nobody says otherwise."""

    def levels(self) -> Sequence[RunLevel]:
        """Ways to compute in which both models have to agree, in order."""

    def inner_level(self) -> tuple[RunLevel, int]:
        """How to look at values inside, and by how much integers may differ there."""

    def session(self, level: RunLevel, inner: Sequence[str] = ()) -> Session:
        """The model ready to run, with tensors inside that can be asked for. Raises RuntimeRefusalError."""

    def computed(self) -> Sequence[str]:
        """Tensors that the main graph computes, in order."""

    def unit_outputs(self) -> frozenset[str]:
        """Outputs that hold nothing but values of operators whose range is 0 to 1."""

    def fault(self, new: Any) -> str | None:
        """Why another model may not replace this one whatever it computes; None where it may."""

    def unreached(
        self, new: Any, known: Collection[IfBranch], feeds: Iterable[Mapping[str, Array]]
    ) -> tuple[IfBranch, ...]:
        """Branches that a change reaches into, and `known` ones, that no input leads into.

        Raises UnreachedError, RuntimeRefusalError.
        """
