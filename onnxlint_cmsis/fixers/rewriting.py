"""One model read, planned, resized and rewritten in memory; nothing is proven or written here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.analysis import AnalysisSettings, ModelAnalysis
from onnxlint_cmsis.cmsis_nn.library import predicted
from onnxlint_cmsis.fixers.edits.resize import InputPad, with_input_pad
from onnxlint_cmsis.fixers.planning.answers import findings_of, hazards_along, layer_hazards
from onnxlint_cmsis.fixers.planning.consent import Asked, PlanLimits, agreed_plan
from onnxlint_cmsis.fixers.planning.factors import BITS
from onnxlint_cmsis.fixers.planning.fits.input_pad import MOST_ADDED, paddable_inputs
from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan, kept_lanes
from onnxlint_cmsis.fixers.planning.plan import Plan, PlanStep
from onnxlint_cmsis.fixers.planning.planning_input import PlanningInput, planning_input
from onnxlint_cmsis.fixers.planning.policies import FixOptions
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.repairable import needed, repairs_for
from onnxlint_cmsis.fixers.planning.subgraphs import unprovable
from onnxlint_cmsis.fixers.planning.unchangeable import refused
from onnxlint_cmsis.fixers.repairs.table import Editor, RepairedBytes, editor_of, repaired_model
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import packed_bytes

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis, Place
    from onnxlint_cmsis.analysis.classes import DimensionClass, Dimensions
    from onnxlint_cmsis.cmsis_nn.library import Route
    from onnxlint_cmsis.fixers.planning.fits.input_pad import PaddableInput
    from onnxlint_cmsis.fixers.planning.fits.row import RepairMade, RepairRow
    from onnxlint_cmsis.fixers.planning.prices import Price
    from onnxlint_cmsis.fixers.planning.repairable import RepairSite
    from onnxlint_cmsis.fixers.proof.compare import ProvenModel
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.lower.layer import Layer
    from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
    from onnxlint_cmsis.model.graph import Constant, Graph


# The request to fix one file.


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


# A model between two rounds of fixing, read anew from its bytes each time.


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
        self.analysis = analysis or ModelAnalysis(path, request.analysis, data)
        self.prices = prices or Prices(
            request.analysis.targets, predicted, self.analysis.route, self.analysis.settings.runtime.library
        )
        self.left_alone: Mapping[ClassName, str] = {}
        """Classes that stay as they are, with the reason."""
        self.source: tuple[Snapshot, Plan] | None = None
        """The model before and the plan that changed it; None for the file itself."""
        self.held = False
        """Whether the constants that a plan relies on are held against a run first; a certificate needs none."""
        self._plans: dict[frozenset[Place], ModelPlan] = {}

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
        return tuple(needed(self.analysis))

    def without(self, left_alone: Mapping[ClassName, str]) -> Snapshot:
        """The same model with some classes kept."""
        same = Snapshot(self.path, self.data, self.request, self.prices, self.analysis)
        same.left_alone = dict(left_alone)
        return same

    def held_against_run(self) -> Snapshot:
        """The same model, with constants that a run shows to be wrong left alone."""
        same = self.without(self.left_alone)
        same.held, same._plans = True, self._plans
        return same

    @cached_property
    def refusals(self) -> dict[int, str]:
        """Classes that cannot be changed, cannot be proven or are left alone, with the reason; by class id."""
        names = {group.id: name_of(self, group) for group in self.dimensions.classes} if self.left_alone else {}
        asked = {leaf: self.left_alone[name] for leaf, name in names.items() if name in self.left_alone}
        return refused(self.graph, self.dimensions) | unprovable(self.graph, self.dimensions) | asked

    @cached_property
    def plan(self) -> ModelPlan:
        """The plan of the model; classes without a finding that may be acted on stay."""
        wrong: frozenset[Place] = frozenset()
        plan = self._survey(wrong)
        while self.held and (more := self.disproved(plan) - wrong):
            wrong |= more
            plan = self._survey(wrong)
        return plan

    def _survey(self, disproved: frozenset[Place]) -> ModelPlan:
        if disproved not in self._plans:
            limits = PlanLimits(self.refusals, self.request.fixable, self.request.accepted)
            plan = agreed_plan(self.analysis, self.prices, self._options(), limits, disproved)
            self._plans[disproved] = plan
        return self._plans[disproved]

    def disproved(self, plan: ModelPlan) -> frozenset[Place]:
        """Constants along the classes that a plan cuts that a run shows to be wrong."""
        if plan.lanes is None:
            return frozenset()
        classes = self.dimensions.classes
        cut = [classes[leaf] for leaf, want in plan.decision.sizes.items() if want < classes[leaf].size]
        axes = [member for group in cut for member in group.members if member[0] in self.graph.producers]
        from onnxlint_cmsis.fixers.proof.prove import disproved

        return disproved(self.proven, self.request.analysis.input_shapes, plan.lanes, axes) if axes else frozenset()

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

    def changes(self) -> list[tuple[Snapshot, Plan]]:
        """The plans that made it from the model of the file, with the model before each, the first one first."""
        return [*self.source[0].changes(), self.source] if self.source else []

    def steps(self) -> list[PlanStep]:
        """The same as planning knows them."""
        return [PlanStep(before.graph, before.dimensions, plan) for before, plan in self.changes()]

    def changed(self, plan: Plan) -> Snapshot:
        """The model with a plan applied. Raises NotAppliedError."""
        return self.followed(self.editor.resized(self.data, self.graph, self.dimensions, plan), plan)

    def repaired(self, sites: Sequence[RepairSite], records: tuple[LoweredLayer, ...] = ()) -> RepairedBytes:
        """The model with layers repaired; `records` are those of repairs that look at other layers."""
        editor = self.editor
        begin = partial(editor.edit, self.data, self.graph, partial(clean, self), records)
        return repaired_model(begin, editor.repairs, sites)

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
    return packed_bytes(elements, BITS.get(constant.elem_type, 8))


def name_of(snapshot: Snapshot, group: DimensionClass) -> ClassName:
    """A class by its tensors that no fix renames: those that nodes make, and the first outputs of its layers."""
    graph = snapshot.graph
    members = [f"{tensor}:{axis}" for tensor, axis in group.members if tensor in graph.producers]
    layers = [graph.nodes[layer.node].outputs[0] for layer in (*group.deciders, *group.readers)]
    return (*members, "", *layers)


def plan_of(plan: ModelPlan, options: FixOptions) -> Plan:
    """The decision as lanes to keep and amounts to add to biases."""
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


# A Pad node behind a model's input, where only more input channels step around a known hazard.


PADDED = "input"
"""First part of the name that an input with a Pad has among classes."""


class Unlocked(NamedTuple):
    """A model with a Pad behind an input."""

    state: Snapshot
    """The model."""
    name: ClassName
    """The input and the channels that were added: PADDED, tensor, number."""
    text: str
    """What was added, for the report."""


def unlocked(state: Snapshot, without: Collection[ClassName] = ()) -> Unlocked | None:
    """The model with a Pad behind the first input where that lowers the number of known hazards.

    Only where a fix may act on a finding that tells of one of them, and the input is neither refused nor one
    of `without`. How many instructions a Pad costs is unknown before CMSIS-NN 7.0.0, so it is added for no other gain,
    and only with --unsafe-fixes. Raises UnreadableError.
    """
    if not state.analysis.format.adds_operators:
        return None
    view = planning_input(state.analysis, state.prices)
    for given in paddable_inputs(state.graph, state.dimensions):
        hazards = hazards_along(view, state.prices, given.group)
        asked = any(state.request.fixable(state.graph, finding) for finding in hazards)
        more = _more(state, view, given) if asked else 0
        name = (PADDED, given.name, str(more))
        barred = not more or name in state.left_alone or name in without
        new = None if barred else _behind(state, given, more)
        if new is not None:
            text = f"a Pad node gives input '{given.name}' {more} more channels of zeros; its own cost is not counted"
            return Unlocked(new, name, text)
    return None


def _behind(state: Snapshot, given: PaddableInput, more: int) -> Snapshot | None:
    """The model with the Pad; None where that fails or does not lower the number of known hazards."""
    try:
        rank = len(state.dimensions.axes(given.name) or ())
        pad = InputPad(given.name, given.real, rank, given.group.size, more)
        padded = with_input_pad(state.data, state.path, state.request.analysis.input_shapes, pad)
    except UnreadableError:
        raise
    except NotAppliedError:
        return None
    new = state.followed(padded, Plan({})) if padded is not None else state
    return new if _hazards(new) < _hazards(state) else None


def _hazards(state: Snapshot) -> int:
    return sum(price.hazards for layer in state.lowered.layers for price in state.prices.of_layer(layer))


def _more(state: Snapshot, view: PlanningInput, given: PaddableInput) -> int:
    """Fewest channels to add for the fewest hazards; 0 where none helps."""
    sites = [site for site in view.sites if given.group.id in site.leaves]

    def hazards(more: int) -> tuple[int, ...]:
        sized = ((site, site.channels({given.group.id: given.group.size + more})) for site in sites)
        prices = [state.prices.at(site, channels) for site, channels in sized if channels]
        return tuple(sum(row[target].risks for row in prices) for target in range(len(state.request.analysis.targets)))

    present = hazards(0)
    better = [
        more for more in range(MOST_ADDED + 1) if all(a <= b for a, b in zip(hazards(more), present, strict=True))
    ]
    return min(better, key=lambda more: (sum(hazards(more)), more))


# Layers with a known hazard rewritten where an exact way round needs other nodes, not other channel counts.


REWRITTEN = "rewritten"
"""First part of the name that a repair of a layer has among classes."""
MAX_REWRITINGS = 4
"""Rounds over all repairs: what one of them makes may need another one."""
REWRITING_STAYS = "it was tried, and the layer would still meet a known hazard"


class RewrittenLayer(NamedTuple):
    """One layer that was rewritten."""

    row: RepairRow
    """The repair."""
    output: str
    """First output of the layer before."""
    label: str
    """The layer before, as messages name it."""
    hazards: tuple[str, ...]
    """Names of the hazards that the repair answers."""
    repair: RepairMade
    """What was done."""
    instructions: tuple[int | None, ...]
    """Predicted instructions on each target before; None where unknown."""
    new_instructions: tuple[int | None, ...]
    """Predicted instructions of the layers that do the work now; None where that of a layer is unknown."""
    steps: float | None = None
    """Largest change of a value seen, in its steps; None for an exact repair."""

    @property
    def name(self) -> ClassName:
        """Its name among classes."""
        return REWRITTEN, self.row.name, self.output


class Rewritten(NamedTuple):
    """A model after its rewriting."""

    state: Snapshot
    """The model; the same one where nothing was rewritten."""
    layers: tuple[RewrittenLayer, ...]
    """What was rewritten, in the order in which it was done."""
    left: Reasons
    """Repairs that were needed and not done, with the reason as a clause."""


def rewritten(state: Snapshot, *, free: bool, room: int | None) -> Rewritten:
    """The model with its layers rewritten, by the free repairs only where that is asked for.

    `room` is by how many bytes constants may grow; None for as many as it takes. Raises UnreadableError.
    """
    done: list[RewrittenLayer] = []
    left: Reasons = {}
    exact = (row for row in repairs_for(state.analysis.format) if row.exact and not row.as_written)
    first, rows = state, [row for row in exact if row.free or not free]
    for _ in range(MAX_REWRITINGS):
        before = len(done)
        for row in rows:
            new = rewritten_by(row, state, None if room is None else room - (state.stored - first.stored))
            state = new.state
            done += new.layers
            left |= new.left
        if len(done) == before:
            break
    needing = {site.record.node.outputs[0] for site in state.repair_sites}
    return Rewritten(state, tuple(done), {name: why for name, why in left.items() if name[2] in needing})


def rewritten_by(row: RepairRow, state: Snapshot, room: int | None) -> Rewritten:
    """The model rewritten by one repair: all layers at once, less those that it does not help.

    `room` is as for `rewritten`. Raises UnreadableError.
    """
    left: Reasons = {}
    sites = []
    for site in asked(row, state):
        why = state.left_alone.get(name_of_site(site)) or row.refusal(state.graph, site.record)
        if why:
            left[name_of_site(site)] = why
        else:
            sites.append(site)
    while sites:
        repaired = state.repaired(sites)
        left |= {name_of_site(site): why for site, why in repaired.refused}
        if not repaired.repairs:
            break
        new = state.followed(repaired.data, Plan({}))
        useless = [site for site, repair in repaired.repairs if not _rewriting_helps(state, new, site, repair)]
        if not useless and (room is None or new.stored - state.stored <= room):
            return Rewritten(new, tuple(_layer(state, new, site, repair) for site, repair in repaired.repairs), left)
        if not useless and room is not None:
            useless = [repaired.repairs[-1][0]]
            growth, budget = new.stored - state.stored, state.request.options.budget
            left[name_of_site(useless[0])] = f"fix-budget-bytes {budget} does not allow it: {growth:,} bytes more"
        left |= {name_of_site(site): REWRITING_STAYS for site in useless if name_of_site(site) not in left}
        sites = [site for site, _ in repaired.repairs if site not in useless]
    return Rewritten(state, (), left)


def asked(row: RepairRow, state: Snapshot) -> Iterator[RepairSite]:
    """Layers that need a repair and have a finding on which a fix may act."""
    for site in state.repair_sites:
        if site.row is row and any(state.request.fixable(state.graph, finding) for finding in _findings(state, site)):
            yield site


def _findings(state: Snapshot, site: RepairSite) -> Iterator[Finding]:
    """Findings that tell of what a repair answers."""
    if site.row.rule:
        findings = findings_of(state.analysis, site.row.rule)
        return (finding for finding in findings if finding.location.node == site.record.node.label or site.row.whole)
    if site.record.layer is None:
        return iter(())
    hazards = layer_hazards(state.analysis, state.prices, site.record.layer)
    return (finding for finding in hazards if finding.properties.get("hazard") in site.row.hazards)


def name_of_site(site: RepairSite) -> ClassName:
    """The name of a repair among classes."""
    return REWRITTEN, site.row.name, site.record.node.outputs[0]


def clean(state: Snapshot, call: KernelCall) -> bool:
    """Whether no target meets a known hazard in a call, nor may for sizes that are not known."""
    return not any(price.risks for price in state.prices.of(call))


def _now(new: Snapshot, repair: RepairMade) -> list[Layer]:
    """The layers that do the work of a rewritten one."""
    return [layer for layer in new.lowered.layers if layer.node.outputs[0] in repair.made_by]


def _rewriting_helps(state: Snapshot, new: Snapshot, site: RepairSite, repair: RepairMade) -> bool:
    """Whether the layers that do the work now meet fewer hazards, and more on no target."""
    if site.record.layer is None:
        return bool(site.row.rule)
    if not _now(new, repair):
        return False
    had = [risks(price.route) for price in state.prices.of_layer(site.record.layer)]
    prices = [new.prices.of_layer(layer) for layer in _now(new, repair)]
    has = [set().union(*(risks(row[target].route) for row in prices)) for target in range(len(had))]
    return has != had and all(now <= before for now, before in zip(has, had, strict=True))


def risks(route: Route) -> set[str]:
    """Names of the hazards of a route, and of those that symbolic sizes leave open."""
    return {hazard.id for hazard in (*route.hazards, *route.open_hazards)}


def _layer(state: Snapshot, new: Snapshot, site: RepairSite, repair: RepairMade) -> RewrittenLayer:
    node, layer = site.record.node, site.record.layer
    if layer is None:
        unknown = (None,) * len(state.prices.targets)
        return RewrittenLayer(site.row, node.outputs[0], node.label, (), repair, unknown, unknown)
    had = state.prices.of_layer(layer)
    prices = [new.prices.of_layer(working) for working in _now(new, repair)]
    return RewrittenLayer(
        site.row,
        node.outputs[0],
        node.label,
        site.hazards,
        repair,
        tuple(price.instructions for price in had),
        tuple(instructions_of([row[target] for row in prices]) for target in range(len(had))),
    )


def instructions_of(prices: Sequence[Price]) -> int | None:
    """Instructions of layers together; None where those of a layer are not known."""
    known = [price.instructions for price in prices if price.instructions is not None]
    return sum(known) if len(known) == len(prices) else None
