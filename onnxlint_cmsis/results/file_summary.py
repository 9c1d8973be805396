"""What linting tells of a model as a whole, as plain data for every reporter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.cmsis_nn.cost.predicted_time import PredictedTime

PLAIN = "plain code"
"""What computes layers beside CMSIS-NN where the application does."""


class LayerShare(NamedTuple):
    """The layers of one verdict on one target."""

    layers: int
    """How many."""
    macs: int
    """Their multiply-accumulates, as far as these are known."""
    nodes: tuple[str, ...]
    """Their nodes; none for CMSIS-NN, whose are the rest."""


class TargetSummary(NamedTuple):
    """A model on one target."""

    target: str
    """Label."""
    cmsis_nn: LayerShare
    """Layers that functions of CMSIS-NN compute."""
    plain: LayerShare
    """Layers that plain or reference code computes; a range of its instructions is known at most."""
    refused: LayerShare
    """Layers that neither computes."""
    undecided: LayerShare
    """Layers that a size leaves open."""
    instructions: int
    """Predicted instructions (not cycles) of the layers whose cost is one number."""
    measured_on: str
    """Build that the instructions were measured on."""
    unknown_cost: int
    """Layers with neither a number nor a range, which the instructions leave out."""
    constants: int
    """Bytes of weights, biases, multipliers and shifts, as far as sizes are known."""
    scratch: int
    """Bytes of the largest scratch buffer, as far as it is known."""
    arena_used: int | None = None
    """Bytes of the runtime's arena, to the byte; None where the file does not tell."""
    arena_needed: int | None = None
    """Bytes that have to be given for it."""
    time: PredictedTime | None = None
    """What a run takes at the target's clock; None where no clock is given."""
    instructions_range: tuple[int, int] | None = None
    """Least and most instructions, those of layers and copies with a range among them; None where none has a range."""
    cmsis_nn_share: tuple[float, float] | None = None
    """Least and most part of the instructions that CMSIS-NN retires; None where no other code is known to run, or where
    the cost of a layer is not known."""

    @property
    def cost_known(self) -> bool:
        """Whether the cost of a layer is known, or there is no layer."""
        shares = (self.cmsis_nn, self.plain, self.refused, self.undecided)
        return not self.unknown_cost or self.unknown_cost < sum(share.layers for share in shares)


class FileSummary(NamedTuple):
    """A model on all its targets."""

    targets: tuple[TargetSummary, ...]
    """Each target."""
    macs: int
    """Multiply-accumulates of all layers, as far as these are known."""
    unknown_macs: int
    """Layers whose multiply-accumulates are not known."""
    arena: int | None
    """Bytes of activations, at least: other runtimes lay them out in more. None where a size is unknown."""
    copies: tuple[str, ...] = ()
    """Copies between memory orders that the application makes, and for which no node stands."""
    beside: str = PLAIN
    """What computes layers beside CMSIS-NN: `plain code` of the application, `reference code` of a runtime."""
