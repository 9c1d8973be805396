"""Proofs that models may take one model's place; that model runs once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path

from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.proof.element_map import ElementMap
from onnxlint_cmsis.proof.feeds import Feed
from onnxlint_cmsis.proof.inner_tensors import InnerTensors
from onnxlint_cmsis.proof.inputs import UnfedError
from onnxlint_cmsis.proof.proven_format import proven_model
from onnxlint_cmsis.proof.proven_model import ProvenModel, RunLevel, RuntimeRefusalError, UnreachedError
from onnxlint_cmsis.proof.runner import Runner
from onnxlint_cmsis.proof.steps import Watched, changes
from onnxlint_cmsis.results.proof_result import Difference, IfBranch, Proof, ValueChange
from onnxlint_cmsis.types import InputShapes

RANDOM = 4
"""The first input that is random throughout (`feeds.FORMS`)."""
INNER = (3, RANDOM, 5)
"""Inputs with which values inside the models are compared: a mixture of both ends, and two that are random."""
INPUTS = 16
"""Inputs that a proof tries."""
MANY_INPUTS = 200
"""Inputs on which it is measured how far a runtime's own kernels make two equal models differ, which is rare."""


class Spot(NamedTuple):
    """How to show that two models differ."""

    level: RunLevel
    """RunLevel to run them at."""
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
        """`beside` is the model's file: its name says what format all of them have, external data lie in its folder."""
        self._bytes, self._beside, self._shapes, self._seed = model, beside, input_shapes, seed

    @cached_property
    def _model(self) -> ProvenModel:
        """The model as it is. Raises NotAppliedError."""
        return proven_model(self._bytes, self._beside)

    @cached_property
    def _runner(self) -> Runner | str:
        """The model ready to run, or why nothing can be said of another one."""
        try:
            runner = Runner(self._model, self._seed, self._shapes)
            changes = runner.changes()
        except (UnfedError, RuntimeRefusalError) as error:
            return f"{self._model.runtime} cannot run the model as it is: {error}"
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
        changed, runner = proven_model(new, self._beside), self._runner
        if isinstance(runner, str):
            return ProofOutcome(self._failed(runner, ran=False))
        fault = self._model.fault(changed)
        if fault:
            return ProofOutcome(self._failed(fault))
        missed = self._unreached(runner, changed, inputs, branches)
        if missed is not None:
            return ProofOutcome(missed)
        verdict = self._outputs(runner, changed, inputs)
        return self._inside(runner, changed, same or {}, verdict.proof) if verdict.proof.equal else verdict

    def written(self, new: bytes, inputs: int = INPUTS, many: int = MANY_INPUTS) -> Proof:
        """Compare a model that holds other types as the file says it, without the runtime's optimisers.

        How far `many` outputs are apart with the optimisers that the runtime is shipped with is told, and no fault.
        Raises NotAppliedError.
        """
        changed, runner = proven_model(new, self._beside), self._runner
        if isinstance(runner, str):
            return self._failed(runner, ran=False)
        fault = self._model.fault(changed)
        if fault:
            return self._failed(fault)
        plain = self._model.plain_level
        try:
            strict = runner.compared(changed, inputs, plain).comparison
            apart = next((one for one in strict.differences() if one.largest), None)
            if apart is not None:
                reason = f"output `{apart.output}` differs by {apart.largest:g} ({plain.value})"
                return self._failed(reason, strict.differences(), strict.runs)
            shipped = self._model.shipped_level
            loose = runner.compared(changed, many, shipped, to_the_end=True).comparison
        except RuntimeRefusalError as error:
            return self._failed(self._refused(plain, error))
        proof = Proof(True, "", True, loose.differences(), strict.runs, runtime=self._model.runtime)
        return proof._replace(written=loose.runs)

    def changes(self, new: bytes, watched: Sequence[Watched], count: int) -> tuple[ValueChange, ...] | str:
        """How far a model that is meant to compute other numbers is from the first one; or why nothing can be said.

        Raises NotAppliedError, RuntimeRefusalError.
        """
        changed, runner = proven_model(new, self._beside), self._runner
        if isinstance(runner, str):
            return runner
        return self._model.fault(changed) or changes(runner, changed, watched, count)

    def look(self, new: bytes, same: ElementMap, spot: Spot) -> str:
        """The first tensor of `same` that differs, else the first output; empty where neither is seen to differ.

        Tensors are in the order of the nodes. Far quicker than a proof. Raises NotAppliedError.
        """
        changed, runner = proven_model(new, self._beside), self._runner
        if isinstance(runner, str):
            return ""
        try:
            inside = InnerTensors(runner, changed, same, spot.level).compared(spot.feeds, spot.steps)
            return inside.differs or runner.differing_output(changed, spot.level, spot.feeds)
        except RuntimeRefusalError:
            return ""

    def _outputs(self, runner: Runner, new: ProvenModel, count: int) -> ProofOutcome:
        """Outputs of both models on the same inputs, at every comparable level."""
        tried = 0
        differences: tuple[Difference, ...] = ()
        for level in self._model.levels():
            try:
                found = runner.compared(new, count, level)
            except RuntimeRefusalError as error:
                return ProofOutcome(self._failed(self._refused(level, error), differences, tried))
            reason, apart, tried = found.comparison.reason(), found.comparison.differences(), found.comparison.runs
            differences = differences or apart
            if reason:
                worst = () if found.worst is None else (found.worst,)
                spot = Spot(level, (*worst, *map(runner.feed, INNER)))
                return ProofOutcome(self._failed(f"{reason} ({level.value})", apart, tried), spot)
        return ProofOutcome(Proof(True, "", True, differences, tried, runtime=self._model.runtime))

    def _inside(self, runner: Runner, new: ProvenModel, same: ElementMap, proof: Proof) -> ProofOutcome:
        """The proof with the models' inner values."""
        level, steps = self._model.inner_level()
        spot = Spot(level, tuple(map(runner.feed, INNER)), steps)
        try:
            found = InnerTensors(runner, new, same, level).compared(spot.feeds, spot.steps)
        except RuntimeRefusalError as error:
            return ProofOutcome(proof._replace(equal=False, reason=self._refused(level, error)))
        reason = f"{found.reason} ({level.value})" if found.reason else ""
        return ProofOutcome(
            proof._replace(equal=not reason, reason=reason, inner=found.tensors), spot if reason else None
        )

    def _unreached(self, runner: Runner, new: ProvenModel, count: int, known: Collection[IfBranch]) -> Proof | None:
        """Part of the change that no input reaches; None where all is reached."""
        try:
            found = self._model.unreached(new, known, runner.feeds(count))
        except (UnreachedError, RuntimeRefusalError) as error:
            return self._failed(f"{error}; whether it is ever run is not known")
        if not found:
            return None
        reason = f"no input leads into the changed branch of {found[0].node}"
        return self._failed(reason)._replace(unreached=found)

    def _failed(
        self, reason: str, differences: tuple[Difference, ...] = (), tried: int = 0, *, ran: bool = True
    ) -> Proof:
        return Proof(False, reason, ran, differences, tried, runtime=self._model.runtime)

    def _refused(self, level: RunLevel, error: Exception) -> str:
        return f"{self._model.runtime} ({level.value}): {error}"
