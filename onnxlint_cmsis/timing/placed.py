"""Cycles of layers where weights and arena lie in two memories, and what takes them."""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Parts(NamedTuple):
    """Cycles by what takes them, in the middle of the range."""

    weights: float = 0.0
    """Reading weights from their memory."""
    activations: float = 0.0
    """Reading and writing activations in the arena's memory."""
    runtime: float = 0.0
    """What the runtime does in each run and for each operator."""
    kernels: float = 0.0
    """Functions of CMSIS-NN, apart from memory."""
    reference: float = 0.0
    """Reference code."""
    conversions: float = 0.0
    """Copies to another memory order, and operators that quantize or dequantize."""

    @property
    def shares(self) -> dict[str, float]:
        """Each part of the whole, 0 to 1."""
        whole = sum(self) or 1.0
        return {name: round(cycles / whole, 3) for name, cycles in self._asdict().items()}


class Placed(NamedTuple):
    """Cycles where weights and arena lie in two memories."""

    weights: str = ""
    """Memory of weights; empty where a calibration has it."""
    arena: str = ""
    """Memory of activations."""
    least: float = 0.0
    """Cycles, at least."""
    most: float = 0.0
    """At most."""
    parts: Parts = Parts()
    """What takes them."""

    def more(self, cycles: float) -> Placed:
        """The cycles with others, known in the middle, of the same error."""
        times = max(0.0, 1 + 2 * cycles / (self.least + self.most or 1.0))
        return self._replace(least=self.least * times, most=self.most * times)

    def less(self, others: Sequence[Placed]) -> Placed:
        """The cycles without others in the same memories."""
        columns = zip(self.parts, *(other.parts for other in others), strict=True)
        parts = Parts(*(max(0.0, mine - sum(theirs)) for mine, *theirs in columns))
        least, most = (
            self.least - sum(other.least for other in others),
            self.most - sum(other.most for other in others),
        )
        return self._replace(least=max(0.0, least), most=max(0.0, most), parts=parts)


def added(start: Placed, layers: Sequence[Placed], run: tuple[float, float]) -> Placed:
    """The cycles of layers in the same memories, and the least and most that the runtime takes once in a run."""
    parts = Parts(*map(sum, zip(*(layer.parts for layer in layers), strict=True)))
    parts = parts._replace(runtime=parts.runtime + sum(run) / 2)
    least, most = (run[0] + sum(layer.least for layer in layers), run[1] + sum(layer.most for layer in layers))
    return start._replace(least=least, most=most, parts=parts)
