"""Values inside two models: behind a Sigmoid, an ArgMax or a comparison, outputs stay while a channel is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.proof.compare import Spread
from onnxlint_cmsis.fixers.proof.element_map import ElementMap, aligned
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.proof.inputs import Feed
    from onnxlint_cmsis.fixers.proof.proven import Array, ProvenModel, RunLevel
    from onnxlint_cmsis.fixers.proof.runner import Runner


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
