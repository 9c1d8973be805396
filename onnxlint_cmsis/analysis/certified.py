"""What the checker is asked on the way: within bounds, and where an error of a damaged file ends nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.certificate import DAMAGED, verify
from onnxlint_cmsis.analysis.certificates import certificate
from onnxlint_cmsis.analysis.unequal import reason
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.certificate_data import Certificate


ENOUGH = 1 << 18
"""Numbers of lanes that the checker may need where nobody asked for it: models of integers need fewer, and it takes
2 seconds and 100 MB at most."""


def certificate_of(old: ModelAnalysis, new: ModelAnalysis) -> Certificate | None:
    """The certificate of two files; None where they are not known to be equal."""
    try:
        return certificate(verify(old.as_stored, new.as_stored, ENOUGH), old.data, new.data)
    except (ModelError, RecursionError, *DAMAGED):
        return None


def why_not_equal(old: ModelAnalysis, new: ModelAnalysis) -> str:
    """Why outputs of two files are not known to be equal, as a clause; empty where they are."""
    try:
        known = verify(old.as_stored, new.as_stored, ENOUGH)
    except (ModelError, RecursionError, *DAMAGED) as error:
        return f"they cannot be read for it: {error}"
    told = zip(known.new.graph.outputs or ("",), known.faults, strict=False)
    return next((reason(known, name, fault) for name, fault in told if fault), "")
