"""Proofs that models may take one model's place; that model runs once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.formats.onnx_graph.inline_external import inlined
from onnxlint_cmsis.proof.branches import UnreachedError, changed_branches, unreached
from onnxlint_cmsis.proof.element_map import ElementMap
from onnxlint_cmsis.proof.feeds import Feed
from onnxlint_cmsis.proof.inner_tensors import InnerTensors
from onnxlint_cmsis.proof.inputs import UnfedError
from onnxlint_cmsis.proof.levels import levels, quantizes_floats
from onnxlint_cmsis.proof.onnx_runtime import Optimization, RuntimeRefusalError
from onnxlint_cmsis.proof.runner import Runner
from onnxlint_cmsis.proof.static_checks import static_reason
from onnxlint_cmsis.proof.steps import Watched, changes
from onnxlint_cmsis.results.proof_result import Difference, IfBranch, Proof, ValueChange
from onnxlint_cmsis.types import InputShapes

if TYPE_CHECKING:
    from onnx import ModelProto

RANDOM = 4
"""The first input that is random throughout (`feeds.FORMS`)."""
INNER = (3, RANDOM, 5)
"""Inputs with which values inside the models are compared: a mixture of both ends, and two that are random."""
INPUTS = 16
"""Inputs that a proof tries."""


class Spot(NamedTuple):
    """How to show that two models differ."""

    level: Optimization
    """Level to run them at."""
    feeds: tuple[Feed, ...]
    """Inputs."""
    steps: int = 0
    """By how much integers inside may differ."""


class ProofOutcome(NamedTuple):
    """A proof, and how to see why it failed."""

    proof: Proof
    """What came of comparing two models."""
    spot: Spot | None = None
    """First difference; None where there is none, or where it lies in something else than their values."""


class Prover:
    """Compares models with the one that they are to replace."""

    def __init__(self, model: bytes, beside: Path | None, input_shapes: InputShapes, seed: int = 0) -> None:
        """`beside` is a file in whose folder external data lie, also those of models that are compared with it."""
        self._bytes, self._beside, self._shapes, self._seed = model, beside, input_shapes, seed

    @cached_property
    def _data(self) -> bytes:
        """The model with its external data. Raises NotAppliedError."""
        return inlined(self._bytes, self._beside)

    @cached_property
    def _model(self) -> ModelProto:
        from onnx import ModelProto

        model: ModelProto = ModelProto.FromString(self._data)
        return model

    @cached_property
    def _runner(self) -> Runner | str:
        """The model ready to run, or why nothing can be said of another one."""
        try:
            runner = Runner(self._model, self._data, self._seed, self._shapes)
            changes = runner.changes()
        except (UnfedError, RuntimeRefusalError) as error:
            return f"ONNX Runtime cannot run the model as it is: {error}"
        return "it gives other outputs when it is run again on the same input" if changes else runner

    def prove(
        self,
        new: bytes,
        *,
        inputs: int = INPUTS,
        same: ElementMap | None = None,
        branches: Collection[IfBranch] = (),
    ) -> ProofOutcome:
        """Compare a model with the one that it is to replace; see `verify.prove`. Raises NotAppliedError."""
        new, runner = inlined(new, self._beside), self._runner
        if isinstance(runner, str):
            return ProofOutcome(Proof(False, runner, False, (), 0))
        reason = static_reason(self._data, new)
        if reason:
            return ProofOutcome(Proof(False, reason, True, (), 0))
        changed: ModelProto = type(self._model).FromString(new)
        missed = _unreached(runner, changed, inputs, branches)
        if missed is not None:
            return ProofOutcome(missed)
        verdict = self._outputs(runner, new, inputs)
        return self._inside(runner, changed, same or {}, verdict.proof) if verdict.proof.equal else verdict

    def _outputs(self, runner: Runner, new: bytes, count: int) -> ProofOutcome:
        """Outputs of both models on the same inputs, at every comparable level."""
        tried = 0
        differences: tuple[Difference, ...] = ()
        for level in levels(self._model):
            try:
                found = runner.compared(new, count, level)
            except RuntimeRefusalError as error:
                return ProofOutcome(Proof(False, f"ONNX Runtime ({level.value}): {error}", True, differences, tried))
            reason, apart, tried = found.comparison.reason(), found.comparison.differences(), found.comparison.runs
            differences = differences or apart
            if reason:
                proof = Proof(False, f"{reason} ({level.value})", True, apart, tried)
                worst = () if found.worst is None else (found.worst,)
                return ProofOutcome(proof, Spot(level, (*worst, *map(runner.feed, INNER))))
        return ProofOutcome(Proof(True, "", True, differences, tried))

    def written(self, new: bytes, inputs: int = INPUTS) -> Proof:
        """Compare a model that holds other types, with optimisation off; how far it is apart otherwise is told.

        Raises NotAppliedError.
        """
        new, runner = inlined(new, self._beside), self._runner
        if isinstance(runner, str):
            return Proof(False, runner, False, (), 0)
        reason = static_reason(self._data, new)
        if reason:
            return Proof(False, reason, True, (), 0)
        try:
            found = [runner.compared(new, inputs, level) for level in (Optimization.NONE, Optimization.DEFAULT)]
        except RuntimeRefusalError as error:
            return Proof(False, f"ONNX Runtime: {error}", True, (), 0)
        strict, loose = (each.comparison for each in found)
        apart = next((one for one in strict.differences() if one.largest), None)
        if apart is not None:
            reason = f"output `{apart.output}` differs by {apart.largest:g} ({Optimization.NONE.value})"
            return Proof(False, reason, True, strict.differences(), strict.runs)
        return Proof(True, "", True, loose.differences(), loose.runs, written=bool(loose.differs))

    def changes(self, new: bytes, watched: Sequence[Watched], count: int) -> tuple[ValueChange, ...] | str:
        """How far a model that is meant to compute other numbers is from the first one; or why nothing can be said.

        Raises NotAppliedError, RuntimeRefusalError.
        """
        new, runner = inlined(new, self._beside), self._runner
        if isinstance(runner, str):
            return runner
        return static_reason(self._data, new) or changes(runner, new, watched, count)

    def look(self, new: bytes, same: ElementMap, spot: Spot) -> str:
        """The first tensor of `same` that differs, else the first output; empty where neither is seen to differ.

        Tensors are in the order of the nodes. Far quicker than a proof. Raises NotAppliedError.
        """
        data, runner = inlined(new, self._beside), self._runner
        if isinstance(runner, str):
            return ""
        changed: ModelProto = type(self._model).FromString(data)
        try:
            inside = InnerTensors(self._model, changed, same, spot.level).compared(spot.feeds, spot.steps)
            return inside.differs or runner.differing_output(data, spot.level, spot.feeds)
        except RuntimeRefusalError:
            return ""

    def _inside(self, runner: Runner, new: ModelProto, same: ElementMap, proof: Proof) -> ProofOutcome:
        """The proof with the models' inner values; fused kernels are kept where floats are quantized."""
        quantizes = quantizes_floats(self._model)
        level = Optimization.DEFAULT if quantizes else Optimization.NONE
        spot = Spot(level, tuple(map(runner.feed, INNER)), int(quantizes))
        try:
            found = InnerTensors(self._model, new, same, level).compared(spot.feeds, spot.steps)
        except RuntimeRefusalError as error:
            return ProofOutcome(proof._replace(equal=False, reason=f"ONNX Runtime ({level.value}): {error}"))
        reason = f"{found.reason} ({level.value})" if found.reason else ""
        return ProofOutcome(
            proof._replace(equal=not reason, reason=reason, inner=found.tensors), spot if reason else None
        )


def _unreached(runner: Runner, new: ModelProto, count: int, known: Collection[IfBranch]) -> Proof | None:
    """Part of the change that no input reaches; None where all is reached."""
    try:
        changed = changed_branches(runner.model.graph, new.graph)
        found = unreached(runner.model, {*changed, *known}, runner.feeds(count))
    except (UnreachedError, RuntimeRefusalError) as error:
        return Proof(False, f"{error}; whether it is ever run is not known", True, (), 0)
    if not found:
        return None
    return Proof(False, f"no input leads into the changed branch of {found[0].node}", True, (), 0, unreached=found)
