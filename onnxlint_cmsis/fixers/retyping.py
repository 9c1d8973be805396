"""Repairs that give integers another type, done first and proven as the file is written.

ONNX Runtime fuses other nodes, and takes other kernels, for int8 than for uint8: a Concat or MaxPool of int8 and the
layer before it may stay in float, and a number between two integers goes the other way. With its optimisers off both
models compute the same numbers, as a device does, and have to be equal bit for bit. With those that it is shipped with
outputs may still differ on a PC: where they are seen to, the repair is done with --unsafe-fixes alone. All further
fixes are proven against the new model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.rewriting import RewrittenLayer, rewritten_by
from onnxlint_cmsis.fixers.snapshot import Snapshot
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.proof.prover import Prover
from onnxlint_cmsis.results.proof_result import shipped_text
from onnxlint_cmsis.rewrite.repairs.format_repairs import repairs_for

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.snapshot import Reasons
    from onnxlint_cmsis.results.proof_result import Proof


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
    """The model with such repairs, where they are proven. Raises UnreadableError, NotAppliedError."""
    state = start
    layers: tuple[RewrittenLayer, ...] = ()
    left: Reasons = {}
    for row in (row for row in repairs_for(start.path) if row.as_written):
        new = rewritten_by(row, state, start.request.options.budget)
        state, layers, left = new.state, (*layers, *new.layers), left | new.left
    if not layers:
        return Retyped(start, (), left, None)
    prover = Prover(start.data, Path(start.path), start.request.analysis.input_shapes)
    proof = prover.written(state.data)
    if not proof.equal:
        trouble = f"it is not proven that the outputs would stay: {proof.reason}" if proof.ran else proof.reason
        return Retyped(start, (), {one.name: trouble for one in layers}, None)
    differs = shipped_text(proof)
    if differs and not start.request.options.unsafe:
        return Retyped(start, (), {one.name: f"{differs}; --unsafe-fixes does it" for one in layers}, None)
    return Retyped(Snapshot(start.path, state.data, start.request, start.prices), layers, left, proof)
