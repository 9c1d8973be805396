"""A model between two rounds of fixing, read anew from its bytes each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.analysis import ModelAnalysis, TensorIndex
from onnxlint_cmsis.cmsis_nn.library import predicted
from onnxlint_cmsis.fixers.planning.consent import PlanLimits, agreed_plan
from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan, kept_lanes
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.subgraphs import unprovable
from onnxlint_cmsis.fixers.planning.unchangeable import refused
from onnxlint_cmsis.formats.onnx.tensors import BITS
from onnxlint_cmsis.ground.types import KernelCall, packed_bytes

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.dimensions import DimensionClass, Dimensions
    from onnxlint_cmsis.fixers.planning.plan import Plan, PlanStep
    from onnxlint_cmsis.fixers.planning.policies import FixOptions
    from onnxlint_cmsis.fixers.planning.repairable import RepairSite
    from onnxlint_cmsis.fixers.proof.proven import ProvenModel
    from onnxlint_cmsis.fixers.repairs.editor import Editor, RepairedBytes
    from onnxlint_cmsis.fixers.request import FixRequest
    from onnxlint_cmsis.fixers.steps import Resized, Step
    from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
    from onnxlint_cmsis.model.graph import Constant, Graph


class Snapshot:
    """The bytes of a model, with its analysis."""

    def __init__(
        self,
        path: str,
        data: bytes | None,
        request: FixRequest,
        prices: Prices | None = None,
        analysis: ModelAnalysis | None = None,
    ) -> None:
        """Read the model, unless its analysis is at hand; no data stand for the bytes of that. Raises ModelError."""
        self.path, self.request, self._data = path, request, data
        self.analysis = analysis or ModelAnalysis(path, request.analysis, data)
        self.prices = prices or Prices(
            request.analysis.targets, predicted, self.analysis.route, self.analysis.settings.runtime.library
        )
        self.left_alone: Mapping[Step, str] = {}
        """Steps that are not taken, with the reason."""
        self.source: tuple[Snapshot, Plan] | None = None
        """The model before and the plan that changed it; None for the file itself."""
        self.held = False
        """Whether the constants that a plan relies on are held against a run first; a certificate needs none."""
        self._plans: dict[frozenset[TensorIndex], ModelPlan] = {}

    @property
    def data(self) -> bytes:
        """The bytes of the model, without its external data. Raises OSError."""
        return self.analysis.data if self._data is None else self._data

    @cached_property
    def proven(self) -> ProvenModel:
        """The model as a runtime takes it. Raises NotAppliedError."""
        from onnxlint_cmsis.fixers.proof.models import proven_model

        return proven_model(self.data, Path(self.path))

    @property
    def graph(self) -> Graph:
        """Its nodes, tensors and constants."""
        return self.analysis.graph

    @property
    def editor(self) -> Editor:
        """What rewrites it. Raises NotAppliedError where nothing rewrites files of its format."""
        from onnxlint_cmsis.fixers.repairs.editor import editor_of

        return editor_of(self.analysis.format)

    @property
    def lowered(self) -> Lowered:
        """Layers of the model."""
        return self.analysis.lowered

    @property
    def dimensions(self) -> Dimensions:
        """Classes of its channels."""
        return self.analysis.dimensions

    @cached_property
    def stored(self) -> int:
        """Bytes of the constants that the file stores."""
        return sum(map(bytes_of, self.graph.constants.values()))

    @cached_property
    def repair_sites(self) -> tuple[RepairSite, ...]:
        """Its layers that a known hazard meets and that a repair fits."""
        from onnxlint_cmsis.fixers.planning.repairable import needed

        return tuple(needed(self.analysis))

    def without(self, left_alone: Mapping[Step, str]) -> Snapshot:
        """The same model, on which some more steps are not taken."""
        return self._same(self.request, {**self.left_alone, **left_alone})

    def rehearsing(self) -> Snapshot:
        """The same model, whose outputs are taken as equal whatever is done."""
        return self._same(self.request._replace(compared=False), self.left_alone)

    def _same(self, request: FixRequest, left_alone: Mapping[Step, str]) -> Snapshot:
        same = Snapshot(self.path, self._data, request, self.prices, self.analysis)
        same.left_alone = dict(left_alone)
        if same.left_alone == self.left_alone and self.source is None:
            same._plans = self._plans
        return same

    def held_against_run(self) -> Snapshot:
        """The same model, with constants that a run shows to be wrong left alone."""
        same = self.without({})
        same.held = True
        return same

    @cached_property
    def refusals(self) -> dict[int, str]:
        """Classes that cannot be changed, cannot be proven or are left alone, with the reason; by class id."""
        names = {group.id: resized_step(self, group) for group in self.dimensions.classes} if self.left_alone else {}
        asked = {leaf: self.left_alone[name] for leaf, name in names.items() if name in self.left_alone}
        return {**self.analysis.once(_refusals), **asked}

    @cached_property
    def plan(self) -> ModelPlan:
        """The plan of the model; classes without a finding that may be acted on stay."""
        wrong: frozenset[TensorIndex] = frozenset()
        plan = self._survey(wrong)
        while self.held and (more := self.disproved(plan) - wrong):
            wrong |= more
            plan = self._survey(wrong)
        return plan

    def _survey(self, disproved: frozenset[TensorIndex]) -> ModelPlan:
        if disproved not in self._plans:
            limits = PlanLimits(self.refusals, self.request.fixable, self.request.accepted)
            plan = agreed_plan(self.analysis, self.prices, self._options(), limits, disproved)
            self._plans[disproved] = plan
        return self._plans[disproved]

    def disproved(self, plan: ModelPlan) -> frozenset[TensorIndex]:
        """Constants along the classes that a plan cuts that a run shows to be wrong."""
        if plan.lanes is None:
            return frozenset()
        classes = self.dimensions.classes
        cut = [classes[leaf] for leaf, want in plan.decision.sizes.items() if want < classes[leaf].size]
        axes = [member for group in cut for member in group.members if member[0] in self.graph.producers]
        from onnxlint_cmsis.fixers.proof.disproved import disproved

        return disproved(self.proven, self.request.analysis.input_shapes, plan.lanes, axes) if axes else frozenset()

    def _options(self) -> FixOptions:
        """The request, with the budget reduced by the bytes of earlier rounds."""
        options = self.request.options
        if options.budget is None or options.weights or self.source is None:
            return options
        return options._replace(budget=max(0, self.room(self.first) or 0))

    def room(self, since: Snapshot) -> int | None:
        """Bytes by which constants may still grow beyond those of `since`; None for as many as it takes."""
        budget = self.request.options.budget
        return None if budget is None else budget - (self.stored - since.stored)

    @property
    def first(self) -> Snapshot:
        """The model of the file, before all plans."""
        snapshot = self
        while snapshot.source is not None:
            snapshot = snapshot.source[0]
        return snapshot

    def changes(self) -> list[tuple[Snapshot, Plan]]:
        """The plans that made it from the model of the file, with the model before each, the first one first."""
        return [*self.source[0].changes(), self.source] if self.source else []

    def steps(self) -> list[PlanStep]:
        """The same as planning knows them."""
        from onnxlint_cmsis.fixers.planning.plan import PlanStep

        return [PlanStep(before.graph, before.dimensions, plan) for before, plan in self.changes()]

    def changed(self, plan: Plan) -> Snapshot:
        """The model with a plan applied. Raises NotAppliedError."""
        return self.followed(self.editor.resized(self.data, self.graph, self.dimensions, plan), plan)

    def repaired(self, sites: Sequence[RepairSite], records: tuple[LoweredLayer, ...] = ()) -> RepairedBytes:
        """The model with layers repaired; `records` are those of repairs that look at other layers."""
        from onnxlint_cmsis.fixers.repairs.editor import repaired_model

        editor = self.editor
        begin = partial(editor.edit, self.data, self.graph, self.clean, records, self.analysis.read)
        return repaired_model(begin, editor.repairs, sites)

    def clean(self, call: KernelCall) -> bool:
        """Tell whether no target meets a known hazard in a call, nor may for sizes that are not known."""
        return not any(price.risks for price in self.prices.of(call))

    def followed(self, data: bytes, plan: Plan) -> Snapshot:
        """The model after a plan."""
        new = Snapshot(self.path, data, self.request, self.prices)
        new.left_alone, new.source = self.left_alone, (self, plan)
        return new


def _refusals(model: ModelAnalysis) -> dict[int, str]:
    """Classes that cannot be changed or cannot be proven, with the reason; by class id."""
    return refused(model.graph, model.dimensions) | unprovable(model.graph, model.dimensions)


def bytes_of(constant: Constant) -> int:
    """Bytes that the elements of a constant take in a file."""
    elements = 1
    for size in constant.shape:
        elements *= size
    return packed_bytes(elements, BITS.get(constant.elem_type, 8))


def resized_step(snapshot: Snapshot, group: DimensionClass) -> Resized:
    """Name the step that gives a class another size."""
    from onnxlint_cmsis.fixers.steps import Resized

    graph = snapshot.graph
    members = tuple(f"{tensor}:{axis}" for tensor, axis in group.members if tensor in graph.producers)
    layers = tuple(graph.nodes[layer.node].outputs[0] for layer in (*group.deciders, *group.readers))
    return Resized(members, layers)


def plan_of(plan: ModelPlan, options: FixOptions) -> Plan:
    """The decision as lanes to keep and amounts to add to biases."""
    from onnxlint_cmsis.fixers.planning.plan import Plan

    kept, removed = {}, {}
    for leaf, want in plan.decision.sizes.items():
        have = plan.view.dimensions.classes[leaf].size
        kept[leaf] = kept_lanes(plan.lanes, leaf, have, want, options)
        gone = set(range(have)) - set(kept[leaf])
        if gone:
            removed[leaf] = sorted(gone)
    if plan.lanes is None or not removed:
        return Plan(kept)
    return Plan(kept, plan.lanes.increments(removed), plan.lanes.read)
