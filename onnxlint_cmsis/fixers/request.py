"""The request to fix one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.accepted.consent import Consent, fix_options
from onnxlint_cmsis.analysis import AnalysisSettings
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.planning.agreed_plan import Asked
from onnxlint_cmsis.planning.plan_options import FixOptions

if TYPE_CHECKING:
    from onnxlint_cmsis.config.settings import Settings


class FixRequest(NamedTuple):
    """Request of a fix."""

    analysis: AnalysisSettings
    """What the model is analysed for."""
    options: FixOptions
    """Policy and bounds."""
    fixable: Asked = lambda _graph, _finding: True
    """Whether a fix may act on a finding; a class that answers none of these stays as it is."""
    accepted: Asked = lambda _graph, _finding: False
    """Whether a finding is accepted; a class whose size is stays as it is."""


def fix_request(settings: Settings, path: str = "") -> FixRequest:
    """The request that a file's settings make; with a path, accepted findings are not acted on."""
    request = FixRequest(settings.analysis, fix_options(settings))
    if not path:
        return request
    consent = Consent(settings, path)
    return request._replace(fixable=consent.fixable, accepted=consent.accepted)
