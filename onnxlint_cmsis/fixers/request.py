"""The request to fix one file."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.fixers.planning.consent import Asked
from onnxlint_cmsis.fixers.planning.policies import FixOptions
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class FixRequest(NamedTuple):
    """Request of a fix."""

    analysis: AnalysisSettings
    """What the model is analysed for."""
    options: FixOptions
    """Policy and bounds."""
    fixable: Asked = lambda _graph, _finding: True
    """Whether a fix may act on a finding; a class that answers none of these stays as it is."""
    plans: Callable[[str], bool] = lambda _code: False
    """Whether a fix may act on findings of a rule on memory plans, by its code."""
    accepted: Asked = lambda _graph, _finding: False
    """Whether a finding is accepted; a class whose size is stays as it is."""
    compared: bool = True
    """Whether a runtime runs the model before and after; where not, outputs are taken as equal."""
