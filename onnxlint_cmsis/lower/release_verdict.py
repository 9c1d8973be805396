"""The verdict on a node in one release: the model's own facts, and the limits of that release's functions."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.releases import RELEASES
from onnxlint_cmsis.cmsis_nn.route import Route
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.plain_code import in_plain_code, stem_of
from onnxlint_cmsis.lower.verdict import Cause, Decision, Verdict
from onnxlint_cmsis.types import entry_parts

AS_DENSE = ("conv-grouped-as-dense", "conv-s16-grouped-as-dense", "conv-s4-grouped-as-dense")
"""Hazards of releases that compute a grouped convolution as a dense one."""
FILTER_OFFSET_SINCE = "6.0.0"
"""First release whose fully connected functions read the zero-point of the weights (arm_nn_vec_mat_mult_t_s8.c)."""


def on_release(record: LoweredLayer, route: Route | None, release: str) -> Decision | None:
    """Why no function of a release computes a node; None where one does. `route` is that of its call, if any."""
    if record.verdict is not Verdict.CMSIS_NN or record.layer is None or route is None:
        return Decision(record.verdict, record.cause or Cause.NO_FUNCTION, record.reason, record.code)
    stem, kind = entry_parts(record.layer.call.entry)
    if route.reason:
        several = stem == "fully_connected" and record.layer.call.per_channel
        cause = Cause.NO_PER_CHANNEL if several else Cause.NO_FUNCTION
        return in_plain_code(kind, stem, cause, route.reason)
    if any(hazard.id in AS_DENSE for hazard in route.hazards):
        text = f"CMSIS-NN {release} computes a grouped convolution as a dense one"
        return in_plain_code(kind, stem, Cause.GROUPS, text)
    if _ignores_zero_point(record, release):
        text = f"CMSIS-NN {release} ignores the zero-point of a fully connected layer's weights"
        return in_plain_code(kind, stem, Cause.WEIGHT_ZERO_POINT, text)
    return None


def _ignores_zero_point(record: LoweredLayer, release: str) -> bool:
    dense = record.layer is not None and stem_of(record.layer.call.entry) == "fully_connected"
    offset = record.weights is not None and any(record.weights.signed_zero_points)
    return dense and offset and RELEASES.index(release) < RELEASES.index(FILTER_OFFSET_SINCE)
