"""Proofs that models may replace one model, which runs once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path

from onnxlint_cmsis.analysis.proof_results import Difference, IfBranch, Proof, ValueChange
from onnxlint_cmsis.fixers.proof.element_map import ElementMap
from onnxlint_cmsis.fixers.proof.inner import InnerTensors
from onnxlint_cmsis.fixers.proof.inputs import Feed, UnfedError
from onnxlint_cmsis.fixers.proof.models import proven_model
from onnxlint_cmsis.fixers.proof.proven import ProvenModel, RunLevel, RuntimeRefusalError, UnreachedError
from onnxlint_cmsis.fixers.proof.runner import RANDOM, Renamed, Runner
from onnxlint_cmsis.fixers.proof.value_changes import Watched, changes
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import InputShapes

INNER = (3, RANDOM, 5)
"""Inputs with which values inside the models are compared: a mixture of both ends, and two that are random."""
INPUTS = 16
"""Inputs that a proof tries."""
BESIDE = (3, RANDOM)
"""Inputs that are tried beside a certificate: a mixture of both ends, and one that is random."""
MANY_INPUTS = 200
"""Inputs on which it is measured how far a runtime's own kernels make two equal models differ, which is rare."""


class Spot(NamedTuple):
    """How to show that two models differ."""

    level: RunLevel
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

    def __init__(
        self, load: Callable[[], ProvenModel], beside: Path | None, input_shapes: InputShapes, seed: int = 0
    ) -> None:
        """`load` gives the model, if it is needed; it may raise NotAppliedError.

        `beside` is the model's file: its name says what format all of them have, external data lie in its folder.
        """
        self._load, self._beside, self._shapes, self._seed = load, beside, input_shapes, seed

    @cached_property
    def _model(self) -> ProvenModel:
        """The model as it is. Raises NotAppliedError."""
        return self._load()

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
        inputs: Sequence[int] = range(INPUTS),
        same: ElementMap | None = None,
        branches: Collection[IfBranch] = (),
    ) -> ProofOutcome:
        """Compare a model with the one that it is to replace; values inside where more than BESIDE is tried.

        Raises NotAppliedError.
        """
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
        if not verdict.proof.equal or inputs == BESIDE:
            return verdict
        return self._inside(runner, changed, same or {}, verdict.proof)

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
            strict = runner.compared(changed, range(inputs), plain).comparison
            apart = next((difference for difference in strict.differences() if difference.largest), None)
            if apart is not None:
                reason = f"output `{apart.output}` differs by {apart.largest:g} ({plain.value})"
                return self._failed(reason, strict.differences(), strict.runs)
            shipped = self._model.shipped_level
            loose = runner.compared(changed, range(many), shipped, to_the_end=True).comparison
        except RuntimeRefusalError as error:
            return self._failed(self._refused(plain, error))
        proof = Proof(True, "", True, loose.differences(), strict.runs, runtime=self._model.runtime)
        return proof._replace(written=loose.runs)

    def outputs(self, new: bytes) -> Proof:
        """Compare the outputs of a model that need not be made of the first one. Raises NotAppliedError."""
        changed, runner = proven_model(new, self._beside), self._runner
        if isinstance(runner, str):
            return self._failed(runner, ran=False)
        level = self._model.levels()[0]
        try:
            names = runner.names_of_inputs(changed)
            same = runner.session(level).outputs == changed.session(level).outputs
        except RuntimeRefusalError as error:
            return self._failed(self._refused(level, error), ran=False)
        except UnfedError as error:
            return self._failed(str(error), ran=False)
        if not same:
            return self._failed("its outputs have other names or types", ran=False)
        if names is None:
            return self._failed("its inputs have other sizes or types", ran=False)
        return self._outputs(runner, Renamed(changed, names), range(INPUTS)).proof

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

    def _outputs(self, runner: Runner, new: ProvenModel | Renamed, numbers: Sequence[int]) -> ProofOutcome:
        """Outputs of both models on the same inputs, at every comparable level."""
        tried = 0
        differences: tuple[Difference, ...] = ()
        for level in self._model.levels():
            try:
                compared = runner.compared(new, numbers, level)
            except RuntimeRefusalError as error:
                return ProofOutcome(self._failed(self._refused(level, error), differences, tried))
            comparison = compared.comparison
            reason, apart, tried = comparison.reason(), comparison.differences(), comparison.runs
            differences = differences or apart
            if reason:
                worst = () if compared.worst is None else (compared.worst,)
                spot = Spot(level, (*worst, *map(runner.feed, INNER)))
                return ProofOutcome(self._failed(f"{reason} ({level.value})", apart, tried), spot)
        return ProofOutcome(Proof(True, "", True, differences, tried, runtime=self._model.runtime))

    def _inside(self, runner: Runner, new: ProvenModel, same: ElementMap, proof: Proof) -> ProofOutcome:
        """The proof with the models' inner values."""
        level, steps = self._model.inner_level()
        spot = Spot(level, tuple(map(runner.feed, INNER)), steps)
        try:
            inner = InnerTensors(runner, new, same, level).compared(spot.feeds, spot.steps)
        except RuntimeRefusalError as error:
            return ProofOutcome(proof._replace(equal=False, reason=self._refused(level, error)))
        reason = f"{inner.reason} ({level.value})" if inner.reason else ""
        return ProofOutcome(
            proof._replace(equal=not reason, reason=reason, inner=inner.tensors), spot if reason else None
        )

    def _unreached(
        self, runner: Runner, new: ProvenModel, numbers: Sequence[int], known: Collection[IfBranch]
    ) -> Proof | None:
        """Part of the change that no input reaches; None where all is reached."""
        try:
            unreached = self._model.unreached(new, known, runner.feeds(numbers))
        except (UnreachedError, RuntimeRefusalError) as error:
            return self._failed(f"{error}; whether it is ever run is not known")
        if not unreached:
            return None
        reason = f"no input leads into the changed branch of {unreached[0].node}"
        return self._failed(reason)._replace(unreached=unreached)

    def _failed(
        self, reason: str, differences: tuple[Difference, ...] = (), tried: int = 0, *, ran: bool = True
    ) -> Proof:
        return Proof(False, reason, ran, differences, tried, runtime=self._model.runtime)

    def _refused(self, level: RunLevel, error: Exception) -> str:
        return f"{self._model.runtime} ({level.value}): {error}"
