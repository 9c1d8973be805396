"""Repairs that give integers another type, done first and proven as the file is written."""

from __future__ import annotations

from onnxlint_cmsis.analysis.proof_results import shipped_text
from onnxlint_cmsis.fixers.attempt import prover_of
from onnxlint_cmsis.fixers.planning.repairable import repairs_for
from onnxlint_cmsis.fixers.progress import Progress
from onnxlint_cmsis.fixers.rewriting import rewritten_by
from onnxlint_cmsis.fixers.snapshot import Snapshot


def retyped(start: Snapshot) -> Progress:
    """Do the repairs that change types, where they are proven. Raises UnreadableError, NotAppliedError.

    ONNX Runtime fuses other nodes, and takes other kernels, for int8 than for uint8: a Concat or MaxPool of int8 and
    the layer before it may stay in float. With its optimisers off both models compute the same numbers, as a device
    does, and have to be equal bit for bit. Where outputs differ with those that it is shipped with, only --unsafe-fixes
    does the repair.
    """
    done = Progress(start)
    if not start.request.compared:
        return done
    for row in (row for row in repairs_for(start.analysis.format) if row.as_written):
        done = done.then(rewritten_by(row, done.state, start.request.options.budget))
    if not done.layers:
        return Progress(start, left=done.left)
    proof = prover_of(start).written(done.state.data)
    if not proof.equal:
        trouble = f"it is not proven that the outputs would stay: {proof.reason}" if proof.ran else proof.reason
        return Progress(start, left={layer.step: trouble for layer in done.layers})
    differs = shipped_text(proof)
    if differs and not start.request.options.unsafe:
        return Progress(start, left={layer.step: f"{differs}; --unsafe-fixes does it" for layer in done.layers})
    return Progress(restarted(start, done.state.data), done.layers, done.left, proof=proof)


def restarted(start: Snapshot, data: bytes) -> Snapshot:
    """A model that replaces the first one: nothing is compared with what was before it."""
    return Snapshot(start.path, data, start.request, start.prices).without(start.left_alone)
