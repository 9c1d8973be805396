"""The verdict on a node in one release: the model's own facts, and the limits of that release's functions."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.library import Route, computes_groups_as_dense, reads_weight_offset
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.decision import Cause, Decision
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.reference_code import in_reference_code


def on_release(record: LoweredLayer, route: Route | None, release: str) -> Decision | None:
    """Why no function of a release computes a node; None where one does. `route` is that of its call, if any."""
    if record.verdict is not Outcome.CMSIS_NN or record.layer is None or route is None:
        return Decision(record.verdict, record.cause or Cause.NO_FUNCTION, record.reason, record.code)
    function, kind = record.layer.call.function, record.layer.call.types
    if route.reason:
        several = function is Function.FULLY_CONNECTED and record.layer.call.per_channel
        cause = Cause.NO_PER_CHANNEL if several else Cause.NO_FUNCTION
        return in_reference_code(kind, function, cause, route.reason)
    if computes_groups_as_dense(route):
        text = f"CMSIS-NN {release} computes a grouped convolution as a dense one"
        return in_reference_code(kind, function, Cause.GROUPS, text)
    dense = record.layer is not None and record.layer.call.function is Function.FULLY_CONNECTED
    offset = record.weights is not None and any(record.weights.signed_zero_points)
    if dense and offset and not reads_weight_offset(release):
        text = f"CMSIS-NN {release} ignores the zero-point of a fully connected layer's weights"
        return in_reference_code(kind, function, Cause.WEIGHT_ZERO_POINT, text)
    return None
