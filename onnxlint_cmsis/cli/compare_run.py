"""Two versions of a model, run beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.format import Format, part
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.proof_results import Proof
    from onnxlint_cmsis.fixers.proof.models import ProofRuntime
    from onnxlint_cmsis.ground.types import InputShapes


class BothVersions(NamedTuple):
    """What is run: two versions, and the sizes that their inputs leave open."""

    format: Format
    """Format of the first."""
    path: str
    """Its path, beside which the external data of both lie."""
    old: bytes
    """Its bytes."""
    new_format: Format
    """Format of the second."""
    new: bytes
    """Its bytes."""
    input_shapes: InputShapes
    """Sizes of inputs."""


def outputs_of_both(given: BothVersions) -> Proof:
    """Compare the outputs of two versions on the inputs of a proof, in another process, which a runtime may end."""
    from onnxlint_cmsis.ground.workers import Ended, team

    with team(1) as (worker,):
        worker.give(_compared, given)
        answer = worker.take()
    return _not_compared(f"their process ended {answer.how}") if isinstance(answer, Ended) else answer


def _compared(given: BothVersions) -> Proof:
    from onnxlint_cmsis.fixers.proof.models import proven_model
    from onnxlint_cmsis.fixers.proof.prove import Prover

    if given.format.name != given.new_format.name:
        return _not_compared("the files are of two formats")
    if not given.format.prover:
        return _not_compared(f"nothing here runs {given.format.suffix} files")
    runtime: ProofRuntime = part(given.format.prover)
    if missing := runtime.missing():
        return _not_compared(missing)
    try:
        path = Path(given.path)
        return Prover(lambda: proven_model(given.old, path), path, given.input_shapes).outputs(given.new)
    except (NotAppliedError, ModelError) as error:
        return _not_compared(str(error))


def _not_compared(reason: str) -> Proof:
    from onnxlint_cmsis.analysis.proof_results import Proof

    return Proof(False, reason, False, (), 0)
