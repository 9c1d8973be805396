"""What is asked of a fix, and the sizes that a policy chooses under it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.planning.answers import answered
from onnxlint_cmsis.planning.findings import asks, change_finding
from onnxlint_cmsis.planning.plan_model import Facts, Survey, survey
from onnxlint_cmsis.planning.plan_options import FixOptions
from onnxlint_cmsis.types import InputShapes, Target

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.result import DimensionClass, Dimensions
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.layer import Lowered
    from onnxlint_cmsis.planning.plan_model import Read
    from onnxlint_cmsis.planning.price import Prices
    from onnxlint_cmsis.types import Finding

Asked = Callable[["Graph", "Finding"], bool]
"""A question about a finding of a model."""

UNASKED = "its findings are accepted, ignored or not fixable"
"""Why a class stays that answers no finding which a fix may act on."""


class FixRequest(NamedTuple):
    """What is asked of a fix."""

    targets: tuple[Target, ...]
    """CPUs."""
    assume: str
    """What layers that compute in float become."""
    one_channel: str
    """What a convolution over one channel becomes."""
    input_shapes: InputShapes
    """Sizes of inputs."""
    options: FixOptions
    """Policy and bounds."""
    fixable: Asked = lambda _graph, _finding: True
    """Whether a fix may act on a finding; a class that answers none of these stays as it is."""
    accepted: Asked = lambda _graph, _finding: False
    """Whether a finding is accepted; a class whose size is stays as it is."""


class Planned(NamedTuple):
    """One model as planning reads it."""

    graph: Graph
    """The model."""
    lowered: Lowered
    """Its layers."""
    dimensions: Dimensions
    """Its classes."""
    prices: Prices
    """Prices of its layers."""
    read: Read
    """Reads the values of stored constants."""


def requested_sizes(
    model: Planned,
    request: FixRequest,
    refused: Mapping[int, str],
    disproved: Collection[tuple[str, int, int]] = (),
) -> Survey:
    """The sizes that the request's policy chooses; a class that answers no finding it may act on stays as it is.

    `refused` names classes that must stay, with the reason; `disproved` are (tensor, axis, index) that were seen to
    hold other values than the lane analysis says.
    """
    graph, dimensions = model.graph, model.dimensions
    facts = Facts(graph, model.lowered, dimensions, model.prices, partial(request.fixable, graph))
    barred = dict(refused)
    accepted: list[Finding] = []
    while True:
        found = survey(facts, request.options, model.read, barred, disproved)
        groups = [dimensions.classes[leaf] for leaf in found.decision.sizes]
        more = {group.id: reason for group in groups if (reason := _unasked(request, found, group, accepted))}
        if not more:
            return found._replace(accepted=tuple(accepted))
        barred |= more


def _unasked(request: FixRequest, found: Survey, group: DimensionClass, accepted: list[Finding]) -> str:
    """Why a class may not get its new size; empty where it may. Adds the finding that it has and keeps."""
    graph = found.view.graph
    finding = change_finding(found, group)
    if request.accepted(graph, finding):
        accepted.append(finding)
        return UNASKED
    sized = [finding] if asks(found, group, finding) else []
    if any(request.fixable(graph, one) for one in (*sized, *answered(found, group))):
        return ""
    accepted += sized
    return UNASKED
