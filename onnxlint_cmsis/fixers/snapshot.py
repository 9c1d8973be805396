"""One model between two rounds of fixing, read anew from its bytes each time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.cost import predicted
from onnxlint_cmsis.formats.onnx_graph.elem_types import ELEM_TYPES
from onnxlint_cmsis.open_model import open_model
from onnxlint_cmsis.planning.agreed_plan import PlanLimits, agreed_plan
from onnxlint_cmsis.planning.lane_plan import Plan
from onnxlint_cmsis.planning.plan_model import ModelPlan, kept_lanes
from onnxlint_cmsis.planning.price import Prices
from onnxlint_cmsis.proof.element_map import PlanStep
from onnxlint_cmsis.proof.subgraph_classes import unprovable
from onnxlint_cmsis.rewrite.model_bytes import resized
from onnxlint_cmsis.rewrite.refusals import refused
from onnxlint_cmsis.rewrite.repairs.needed import needed

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis, Place
    from onnxlint_cmsis.dims.result import DimensionClass, Dimensions
    from onnxlint_cmsis.fixers.request import FixRequest
    from onnxlint_cmsis.graph.model import Constant, Graph
    from onnxlint_cmsis.lower.lowered import Lowered
    from onnxlint_cmsis.planning.plan_options import FixOptions
    from onnxlint_cmsis.rewrite.repairs.needed import RepairSite

_BITS = dict(ELEM_TYPES.values())

ClassName = tuple[str, ...]
"""A class by what stays the same from round to round: see `name_of`."""
Reasons = dict[ClassName, str]
"""Classes, each with a clause about it."""


class Snapshot:
    """The bytes of a model, with its analysis."""

    def __init__(
        self,
        path: str,
        data: bytes,
        request: FixRequest,
        prices: Prices | None = None,
        analysis: ModelAnalysis | None = None,
    ) -> None:
        """Read the model, unless its analysis is at hand. Raises ModelError."""
        self.path, self.data, self.request = path, data, request
        self.analysis = analysis or open_model(path, request.analysis, data)
        self.prices = prices or Prices(
            request.analysis.targets, predicted, self.analysis.route, self.analysis.settings.runtime.library
        )
        self.left_alone: Mapping[ClassName, str] = {}
        """Classes that stay as they are, with the reason."""
        self.source: tuple[Snapshot, Plan] | None = None
        """What this one was made from, and how; None for the file itself."""

    @property
    def graph(self) -> Graph:
        """Its nodes, tensors and constants."""
        return self.analysis.graph

    @property
    def lowered(self) -> Lowered:
        """Its layers."""
        return self.analysis.lowered

    @property
    def dimensions(self) -> Dimensions:
        """Its classes."""
        return self.analysis.dimensions

    @cached_property
    def stored(self) -> int:
        """Bytes of the constants that the file stores."""
        return sum(map(bytes_of, self.graph.constants.values()))

    @cached_property
    def repair_sites(self) -> tuple[RepairSite, ...]:
        """Its layers that a known hazard meets and that a repair fits."""
        return tuple(needed(self.analysis))

    def without(self, left_alone: Mapping[ClassName, str]) -> Snapshot:
        """The same model with some classes kept."""
        same = Snapshot(self.path, self.data, self.request, self.prices, self.analysis)
        same.left_alone = dict(left_alone)
        return same

    @cached_property
    def refusals(self) -> dict[int, str]:
        """Classes that cannot be changed, cannot be proven or are left alone, with the reason; by class id."""
        names = {group.id: name_of(self, group) for group in self.dimensions.classes} if self.left_alone else {}
        asked = {leaf: self.left_alone[name] for leaf, name in names.items() if name in self.left_alone}
        return refused(self.graph, self.dimensions) | unprovable(self.graph, self.dimensions) | asked

    def survey(self, disproved: Collection[Place] = ()) -> ModelPlan:
        """The plan of the model; classes without a finding that may be acted on stay."""
        limits = PlanLimits(self.refusals, self.request.fixable, self.request.accepted)
        return agreed_plan(self.analysis, self.prices, self._options(), limits, disproved)

    def _options(self) -> FixOptions:
        """The request, with the budget reduced by the bytes of earlier rounds."""
        options = self.request.options
        if options.budget is None or options.weights or self.source is None:
            return options
        return options._replace(budget=max(0, options.budget - (self.stored - self.first.stored)))

    @property
    def first(self) -> Snapshot:
        """The model of the file, before all plans."""
        snapshot = self
        while snapshot.source is not None:
            snapshot = snapshot.source[0]
        return snapshot

    def steps(self) -> list[PlanStep]:
        """The plans that made it from the model of the file, the first one first."""
        if self.source is None:
            return []
        before, plan = self.source
        return [*before.steps(), PlanStep(before.graph, before.dimensions, plan)]

    def changed(self, plan: Plan) -> Snapshot:
        """The model with a plan applied. Raises NotAppliedError."""
        return self.followed(resized(self.data, self.graph, self.dimensions, plan), plan)

    def followed(self, data: bytes, plan: Plan) -> Snapshot:
        """The model after a plan."""
        new = Snapshot(self.path, data, self.request, self.prices)
        new.left_alone, new.source = self.left_alone, (self, plan)
        return new


def bytes_of(constant: Constant) -> int:
    """Bytes that the elements of a constant take in a file."""
    elements = 1
    for size in constant.shape:
        elements *= size
    return (elements * _BITS.get(constant.elem_type, 8) + 7) // 8


def name_of(snapshot: Snapshot, group: DimensionClass) -> ClassName:
    """A class by its tensors that no fix renames: those that nodes make, and the first outputs of its layers."""
    graph = snapshot.graph
    members = [f"{tensor}:{axis}" for tensor, axis in group.members if tensor in graph.producers]
    layers = [graph.nodes[layer.node].outputs[0] for layer in (*group.deciders, *group.readers)]
    return (*members, "", *layers)


def plan_of(found: ModelPlan, options: FixOptions) -> Plan:
    """The decision as lanes to keep and amounts to add to biases."""
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
