"""What one layer does in a run."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.timing.fetches import Fetches


class LayerWork(NamedTuple):
    """What one layer does in a run."""

    kind: str
    """Kind of its kernel."""
    least: int
    """Instructions, at least."""
    most: int
    """At most."""
    fetches: Fetches = Fetches()
    """Lines of memory."""
    part: str = "kernels"
    """Field of Parts that its instructions count to."""
