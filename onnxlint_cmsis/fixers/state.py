"""One model between two rounds of fixing, read anew from its bytes each time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.cmsis_nn.cost import predicted
from onnxlint_cmsis.dims.classes import Dimensions, analyse
from onnxlint_cmsis.formats.onnx_graph.load import load
from onnxlint_cmsis.lower import lower
from onnxlint_cmsis.planning.answers import answered
from onnxlint_cmsis.planning.findings import asks, change_finding
from onnxlint_cmsis.planning.plan_model import Facts, Survey, kept_lanes, survey
from onnxlint_cmsis.planning.plan_options import FixOptions
from onnxlint_cmsis.planning.price import Prices
from onnxlint_cmsis.types import Size, Target

if TYPE_CHECKING:
    from onnx import ModelProto

    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.dims.result import DimensionClass
    from onnxlint_cmsis.fixers.plan_types import Plan
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.lowered import Lowered
    from onnxlint_cmsis.types import Finding


Place = tuple[str, int, int]
"""Tensor, axis, index."""
ClassName = tuple[str, ...]
"""A class by what stays the same from round to round: see `name_of`."""
Asked = Callable[["Graph", "Finding"], bool]


UNASKED = "its findings are accepted, ignored or not fixable"


class Request(NamedTuple):
    """What is asked of a fix."""

    targets: tuple[Target, ...]
    """CPUs."""
    assume: str
    """What layers that compute in float become."""
    one_channel: str
    """What a convolution over one channel becomes."""
    input_shapes: Mapping[str, tuple[Size, ...]]
    """Sizes of inputs."""
    options: FixOptions
    """Policy and bounds."""
    refused: Mapping[ClassName, str] = {}
    """Classes that stay as they are, with the reason."""
    fixable: Asked = lambda _graph, _finding: True
    """Whether a fix may act on a finding; a class that answers none of these stays as it is."""
    accepted: Asked = lambda _graph, _finding: False
    """Whether a finding is accepted; a class whose size is stays as it is."""


def request_of(settings: Settings, path: str = "") -> Request:
    """What a file's settings ask for; with a path, what rules, suppressions and the baseline leave alone stays."""
    from onnxlint_cmsis.accepted.consent import Consent

    options = FixOptions(
        policy=settings.fix_policy,
        align=settings.align,
        min_gain=settings.min_gain,
        budget=settings.fix_budget_bytes,
        unsafe=settings.unsafe_fixes,
        weights=settings.weights,
    )
    request = Request(settings.targets, settings.assume, settings.one_channel, settings.input_shapes, options)
    if not path:
        return request
    consent = Consent(settings, path)
    return request._replace(fixable=consent.fixable, accepted=consent.accepted)


class State:
    """The bytes of a model and what follows from them."""

    def __init__(
        self, path: str, data: bytes, request: Request, prices: Prices | None = None, graph: Graph | None = None
    ) -> None:
        """Read the model, unless `graph` is what it reads as. Raises ModelError."""
        self.path, self.data, self.request = path, data, request
        self.graph = graph or load(path, input_shapes=request.input_shapes, data=data)
        self.lowered: Lowered = lower(self.graph, request.assume, request.one_channel)
        self.dimensions: Dimensions = analyse(self.graph)
        self.prices = prices or Prices(request.targets, predicted)
        self.source: tuple[State, Plan] | None = None
        """What this one was made from, and how; None for the file itself."""

    @cached_property
    def model(self) -> ModelProto:
        """The model as a protobuf, without its external data."""
        import onnx

        return onnx.load_model_from_string(self.data)

    def refusing(self, refused: Mapping[ClassName, str]) -> State:
        """The same model, some of whose classes stay as they are."""
        request = self.request._replace(refused=dict(refused))
        return State(self.path, self.data, request, self.prices, self.graph)

    @cached_property
    def refusals(self) -> dict[int, str]:
        """Classes that cannot be changed, cannot be proven or are refused, with the reason; by class id."""
        from onnxlint_cmsis.fixers.bodies import unprovable
        from onnxlint_cmsis.fixers.resize import refused

        names = {group.id: name_of(self, group) for group in self.dimensions.classes} if self.request.refused else {}
        asked = {leaf: self.request.refused[name] for leaf, name in names.items() if name in self.request.refused}
        found = refused(self.model, self.graph, self.dimensions)
        return found | unprovable(self.graph, self.dimensions) | asked

    def survey(self, disproved: Collection[Place] = ()) -> Survey:
        """What planning makes of it; classes that answer no finding which it may act on stay as they are."""
        from onnxlint_cmsis.formats.onnx_graph.arrays import reader

        fixable = partial(self.request.fixable, self.graph)
        facts = Facts(self.graph, self.lowered, self.dimensions, self.prices, fixable)
        refusals, read = dict(self.refusals), reader(self.data, self.path)
        accepted: list[Finding] = []
        while True:
            found = survey(facts, self._options(), read, refusals, disproved)
            groups = [self.dimensions.classes[leaf] for leaf in found.decision.sizes]
            more = {group.id: reason for group in groups if (reason := self._unasked(found, group, accepted))}
            if not more:
                return found._replace(accepted=tuple(accepted))
            refusals |= more

    def _options(self) -> FixOptions:
        """What is asked for, less what earlier rounds took of the budget where no look at the weights tells it."""
        options = self.request.options
        if options.budget is None or options.weights or self.source is None:
            return options
        first = self
        while first.source is not None:
            first = first.source[0]
        return options._replace(budget=max(0, options.budget - (self.stored - first.stored)))

    @cached_property
    def stored(self) -> int:
        """Bytes of the constants that the file stores."""
        from onnxlint_cmsis.fixers.differences import bytes_of

        return sum(map(bytes_of, self.graph.constants.values()))

    def _unasked(self, found: Survey, group: DimensionClass, accepted: list[Finding]) -> str:
        """Why a class may not get its new size; empty where it may. Adds the finding that it has and keeps."""
        finding = change_finding(found, group)
        if self.request.accepted(self.graph, finding):
            accepted.append(finding)
            return UNASKED
        sized = [finding] if asks(found, group, finding) else []
        if any(self.request.fixable(self.graph, one) for one in chain(sized, answered(found, group))):
            return ""
        accepted += sized
        return UNASKED

    def changed(self, plan: Plan) -> State:
        """The model with a plan applied. Raises NotAppliedError."""
        from onnxlint_cmsis.fixers.resize import apply

        return self.followed(apply(self.model, self.graph, self.dimensions, plan), plan)

    def followed(self, model: ModelProto, plan: Plan) -> State:
        """The model that a plan made of this one."""
        new = State(self.path, model.SerializeToString(), self.request, self.prices)
        new.source = self, plan
        return new


def name_of(state: State, group: DimensionClass) -> ClassName:
    """A class by its tensors that no fix renames: those that nodes make, and the first outputs of its layers."""
    graph = state.graph
    members = [f"{tensor}:{axis}" for tensor, axis in group.members if tensor in graph.producers]
    layers = [graph.nodes[layer.node].outputs[0] for layer in (*group.deciders, *group.readers)]
    return (*members, "", *layers)


def plan_of(found: Survey, options: FixOptions) -> Plan:
    """The decision as lanes to keep and amounts to add to biases."""
    from onnxlint_cmsis.fixers.plan_types import Plan

    kept, removed = {}, {}
    for leaf, want in found.decision.sizes.items():
        have = found.view.dimensions.classes[leaf].size
        kept[leaf] = kept_lanes(found.lanes, leaf, have, want, options)
        gone = set(range(have)) - set(kept[leaf])
        if gone:
            removed[leaf] = sorted(gone)
    if found.lanes is None or not removed:
        return Plan(kept)
    return Plan(kept, found.lanes.increments(removed), found.lanes.read)
