"""Values inside two models held against each other, where their outputs alone would show little.

Behind a Sigmoid that is far from its middle, an ArgMax or a comparison, an output stays the same while a channel is
lost; the sums before it do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.proof.branches import with_outputs
from onnxlint_cmsis.proof.compare import Spread
from onnxlint_cmsis.proof.element_map import ElementMap, aligned
from onnxlint_cmsis.proof.runtime import Array, Optimization, RuntimeSession

if TYPE_CHECKING:
    from onnx import ModelProto

    from onnxlint_cmsis.proof.feeds import Feed

TOLERANCE = 1e-3
"""Largest difference of inner float values, as a share of their range: where large numbers cancel, rounding alone takes
more of what is left than of an output's range (3e-5 was seen). Of channels set to zero in published models none was
missed by it that 1e-5 had found."""
TOGETHER = 64
"""Tensors fetched in one run, so that not all of a large model are held at once."""


class Inner(NamedTuple):
    """What came of it."""

    reason: str
    """The first tensor that differs, as a clause; empty where none does."""
    tensors: int
    """Tensors that were compared."""


def compare_inner(  # noqa: PLR0913
    old: ModelProto, new: ModelProto, same: ElementMap, level: Optimization, feeds: Iterable[Feed], *, steps: int
) -> Inner:
    """Compare the tensors of a element_map that both models make. Raises RuntimeRefusalError.

    Integers may differ by `steps`: what is looked at is not fused with what follows, and another kernel may round what
    lies between two integers the other way.
    """
    names = [name for name in same if name in _made(old) & _made(new)]
    if not names:
        return Inner("", 0)
    sessions = RuntimeSession(with_outputs(old, names), level), RuntimeSession(with_outputs(new, names), level)
    spreads: dict[str, Spread] = {}
    for feed in feeds:
        for first in range(0, len(names), TOGETHER):
            chosen = names[first : first + TOGETHER]
            for name, one, other in _values(sessions, feed, chosen, same):
                spreads.setdefault(name, Spread()).add(one, other)
    faults = ((name, spread.fault(TOLERANCE, steps)) for name, spread in spreads.items())
    reason = next((f"inner tensor `{name}` {fault}" for name, fault in faults if fault), "")
    return Inner(reason, len(spreads))


def _made(model: ModelProto) -> set[str]:
    return {name for node in model.graph.node for name in node.output if name}


def _values(
    sessions: tuple[RuntimeSession, RuntimeSession], feed: Feed, names: Sequence[str], same: ElementMap
) -> Iterator[tuple[str, Array, Array]]:
    """What both models have of each tensor."""
    old, new = (session.run(feed, names) for session in sessions)
    for name, one, other in zip(names, old, new, strict=True):
        pair = aligned(one, other, same[name]) if hasattr(one, "ndim") and hasattr(other, "ndim") else None
        if pair is not None:
            yield name, *pair
