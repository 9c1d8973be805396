"""What `--fix` makes of a model, worked out in memory: nothing is run or written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.fix_results import FixResult
from onnxlint_cmsis.fixers.attempt import worked_out
from onnxlint_cmsis.fixers.fix_model import fix_model
from onnxlint_cmsis.fixers.planning.policies import LEAST
from onnxlint_cmsis.fixers.planning.unchangeable import check_model
from onnxlint_cmsis.fixers.report import Fixed
from onnxlint_cmsis.fixers.snapshot import Snapshot
from onnxlint_cmsis.fixers.within_room import outgrown
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.fixers.attempt import Attempt
    from onnxlint_cmsis.fixers.request import FixRequest


class Rehearsal(NamedTuple):
    """What `--fix` makes of a model for which RAM or flash is named."""

    fixed: Fixed
    """What is known to be equal for every input."""
    outgrown: str = ""
    """What the model would need with more channels, as a clause; empty where that is there, or none are added."""
    unfixed: bool = False
    """Whether it stays as it is, since without these channels it would not fit either."""


def rehearsed(model: ModelAnalysis, request: FixRequest) -> Rehearsal:
    """Work out what `--fix` makes of a model that was read; `request` is what it would get."""
    try:
        fixed = fix_model(model.path, model.data, request._replace(compared=False))
        if fixed.outgrown or fixed.result.changed:
            return Rehearsal(fixed, fixed.outgrown, bool(fixed.outgrown) and fixed.end is None)
        grown = outgrown(model, unproven(model, request).end.analysis)
        least = request._replace(options=request.options._replace(policy=LEAST))
        unfixed = grown and outgrown(model, unproven(model, least).end.analysis, fitted=True)
        return Rehearsal(fixed, grown, bool(unfixed))
    except (ModelError, NotAppliedError, UnreadableError) as error:
        return Rehearsal(Fixed(FixResult(request.options.policy, False, False, str(error), failed=True), None))


def unproven(model: ModelAnalysis, request: FixRequest) -> Attempt:
    """Work out a fix that a runtime has yet to prove. Raises NotAppliedError and UnreadableError."""
    start = Snapshot(model.path, model.data, request, analysis=model)
    check_model(start.graph)
    start.editor.check_readable(model.data, model.path)
    return worked_out(start)
