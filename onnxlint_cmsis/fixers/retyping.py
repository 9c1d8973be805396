"""Repairs that give integers another type, done first and proven as the file is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.proof_results import shipped_text
from onnxlint_cmsis.fixers.attempt import prover_of
from onnxlint_cmsis.fixers.planning.repairable import repairs_for
from onnxlint_cmsis.fixers.rewriting import rewritten_by
from onnxlint_cmsis.fixers.snapshot import Snapshot
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.proof_results import Proof
    from onnxlint_cmsis.fixers.rewriting import RewrittenLayer
    from onnxlint_cmsis.fixers.snapshot import Reasons


class Retyped(NamedTuple):
    """A model whose integers have other types."""

    state: Snapshot
    """The model, as a start for all other fixes; the same one where nothing was done."""
    layers: tuple[RewrittenLayer, ...]
    """What was done."""
    left: Reasons
    """What was needed and not done, with the reason as a clause."""
    proof: Proof | None
    """The proof; None where nothing was done."""


def retyped(start: Snapshot) -> Retyped:
    """The model with the repairs that change types, where they are proven. Raises UnreadableError, NotAppliedError.

    ONNX Runtime fuses other nodes, and takes other kernels, for int8 than for uint8: a Concat or MaxPool of int8 and
    the layer before it may stay in float. With its optimisers off both models compute the same numbers, as a device
    does, and have to be equal bit for bit. Where outputs differ with those that it is shipped with, only --unsafe-fixes
    does the repair.
    """
    state = start
    layers: tuple[RewrittenLayer, ...] = ()
    left: Reasons = {}
    for row in (row for row in repairs_for(start.analysis.format) if row.as_written):
        new = rewritten_by(row, state, start.request.options.budget)
        state, layers, left = new.state, (*layers, *new.layers), left | new.left
    if not layers:
        return Retyped(start, (), left, None)
    proof = prover_of(start).written(state.data)
    if not proof.equal:
        trouble = f"it is not proven that the outputs would stay: {proof.reason}" if proof.ran else proof.reason
        return Retyped(start, (), {layer.name: trouble for layer in layers}, None)
    differs = shipped_text(proof)
    if differs and not start.request.options.unsafe:
        return Retyped(start, (), {layer.name: f"{differs}; --unsafe-fixes does it" for layer in layers}, None)
    return Retyped(restarted(start, state.data), layers, left, proof)


def restarted(start: Snapshot, data: bytes) -> Snapshot:
    """A model that replaces the first one: nothing is compared with what was before it."""
    return Snapshot(start.path, data, start.request, start.prices)
