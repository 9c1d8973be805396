"""Comparison of inner values of two models, where the outputs alone would show little.

Behind a Sigmoid that is far from its middle, an ArgMax or a comparison, an output stays the same while a channel is
lost; the sums before it do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.proof.compare import Spread
from onnxlint_cmsis.proof.element_map import ElementMap, aligned
from onnxlint_cmsis.proof.proven_model import Array, ProvenModel, RunLevel

if TYPE_CHECKING:
    from onnxlint_cmsis.proof.feeds import Feed
    from onnxlint_cmsis.proof.runner import Runner

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
        made = {*new.made()}
        self.names = [name for name in old.model.made() if name in same and name in made]
        self._same, self._sessions = same, []
        if self.names:
            self._sessions = [old.opened(level, self.names), new.session(level, self.names)]

    def compared(self, feeds: Iterable[Feed], steps: int) -> Inner:
        """Compare the tensors of both models. Raises RuntimeRefusalError.

        Integers may differ by `steps`: what is looked at is not fused with what follows, and another kernel may round
        what lies between two integers the other way.
        """
        spreads = self._spreads(feeds)
        faults = {name: spread.fault(TOLERANCE, steps) for name, spread in spreads.items()}
        differs = next((name for name, fault in faults.items() if fault), "")
        reason = f"inner tensor `{differs}` {faults[differs]}" if differs else ""
        return Inner(reason, len(spreads), differs)

    def _spreads(self, feeds: Iterable[Feed]) -> dict[str, Spread]:
        spreads: dict[str, Spread] = {}
        for feed in feeds if self.names else ():
            for first in range(0, len(self.names), TOGETHER):
                for name, one, other in self._values(feed, self.names[first : first + TOGETHER]):
                    spreads.setdefault(name, Spread()).add(one, other)
        return spreads

    def _values(self, feed: Feed, names: Sequence[str]) -> Iterator[tuple[str, Array, Array]]:
        """Values of each tensor in both models."""
        old, new = (session.run(feed, names) for session in self._sessions)
        for name, one, other in zip(names, old, new, strict=True):
            pair = aligned(one, other, self._same[name]) if hasattr(one, "ndim") and hasattr(other, "ndim") else None
            if pair is not None:
                yield name, *pair
