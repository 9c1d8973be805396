"""Layers with a known hazard rewritten where an exact way round needs other nodes, not other channel counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.planning.answers import findings_of, layer_hazards
from onnxlint_cmsis.planning.lane_plan import Plan
from onnxlint_cmsis.rewrite.repairs.apply_repairs import repaired
from onnxlint_cmsis.rewrite.repairs.format_repairs import repairs_for

if TYPE_CHECKING:
    from onnxlint_cmsis.cmsis_nn.route import Route
    from onnxlint_cmsis.findings import Finding
    from onnxlint_cmsis.fixers.snapshot import ClassName, Reasons, Snapshot
    from onnxlint_cmsis.lower.layer import Layer
    from onnxlint_cmsis.rewrite.repairs.needed import RepairSite
    from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow
    from onnxlint_cmsis.types import KernelCall

REWRITTEN = "rewritten"
"""First part of the name that a repair of a layer has among classes."""
MAX_ROUNDS = 4
"""Rounds over all repairs: what one of them makes may need another one."""
STAYS = "it was tried, and the layer would still meet a known hazard"


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
    made: RepairMade
    """What was done."""
    instructions: tuple[int | None, ...]
    """Predicted instructions on each target before; None where unknown."""
    new_instructions: tuple[int | None, ...]
    """The same after, of the layers that do the work now; None where that of one is unknown."""
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
    first, rows = state, [row for row in repairs_for(state.path) if _here(row) and (row.free or not free)]
    for _ in range(MAX_ROUNDS):
        before = len(done)
        for row in rows:
            new = rewritten_by(row, state, None if room is None else room - (state.stored - first.stored))
            state = new.state
            done += new.layers
            left |= new.left
        if len(done) == before:
            break
    return Rewritten(state, tuple(done), {name: why for name, why in left.items() if _still(state, name)})


def _here(row: RepairRow) -> bool:
    """Whether a repair is exact, and proven with all others."""
    return row.exact and not row.as_written


def _still(state: Snapshot, name: ClassName) -> bool:
    """Whether the layer of a repair that was not done still needs one."""
    return any(site.record.node.outputs[0] == name[2] for site in state.repair_sites)


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
        found = repaired(state.data, state.graph, sites, partial(clean, state))
        left |= {name_of_site(site): why for site, why in found.refused}
        if not found.made:
            break
        new = state.followed(found.data, Plan({}))
        useless = [site for site, made in found.made if not _helps(state, new, site, made)]
        if not useless and (room is None or new.stored - state.stored <= room):
            return Rewritten(new, tuple(_layer(state, new, *one) for one in found.made), left)
        if not useless and room is not None:
            useless = [found.made[-1][0]]
            left[name_of_site(useless[0])] = _over_budget(state, new)
        left |= {name_of_site(site): STAYS for site in useless if name_of_site(site) not in left}
        sites = [site for site, _ in found.made if site not in useless]
    return Rewritten(state, (), left)


def asked(row: RepairRow, state: Snapshot) -> Iterator[RepairSite]:
    """Layers that need a repair and have a finding on which a fix may act."""
    for site in state.repair_sites:
        if site.row is row and any(state.request.fixable(state.graph, finding) for finding in _findings(state, site)):
            yield site


def _findings(state: Snapshot, site: RepairSite) -> Iterator[Finding]:
    """Findings that tell of what a repair answers."""
    if site.row.rule:
        found = findings_of(state.analysis, site.row.rule)
        return (one for one in found if one.location.node == site.record.node.label or site.row.whole)
    if site.record.layer is None:
        return iter(())
    hazards = layer_hazards(state.analysis, state.prices, site.record.layer)
    return (one for one in hazards if one.properties.get("hazard") in site.row.hazards)


def _over_budget(state: Snapshot, new: Snapshot) -> str:
    budget = state.request.options.budget
    return f"--fix-budget-bytes {budget} does not allow it: {new.stored - state.stored:,} bytes more"


def name_of_site(site: RepairSite) -> ClassName:
    """The name of a repair among classes."""
    return REWRITTEN, site.row.name, site.record.node.outputs[0]


def clean(state: Snapshot, call: KernelCall) -> bool:
    """Whether no target meets a known hazard in a call, nor may for sizes that are not known."""
    return not any(price.risks for price in state.prices.of(call))


def _now(new: Snapshot, made: RepairMade) -> list[Layer]:
    """The layers that do the work of a rewritten one."""
    return [layer for layer in new.lowered.layers if layer.node.outputs[0] in made.made_by]


def _helps(state: Snapshot, new: Snapshot, site: RepairSite, made: RepairMade) -> bool:
    """Whether the layers that do the work now meet fewer hazards, and more on no target."""
    if site.record.layer is None:
        return bool(site.row.rule)
    if not _now(new, made):
        return False
    had = [_risks(price.route) for price in state.prices.of(site.record.layer.call)]
    prices = [new.prices.of(layer.call) for layer in _now(new, made)]
    has = [set().union(*(_risks(row[place].route) for row in prices)) for place in range(len(had))]
    return has != had and all(one <= other for one, other in zip(has, had, strict=True))


def _risks(route: Route) -> set[str]:
    """Names of the hazards of a route, and of those that symbolic sizes leave open."""
    return {hazard.id for hazard in (*route.hazards, *route.open_hazards)}


def _layer(state: Snapshot, new: Snapshot, site: RepairSite, made: RepairMade) -> RewrittenLayer:
    node, layer = site.record.node, site.record.layer
    if layer is None:
        unknown = (None,) * len(state.prices.targets)
        return RewrittenLayer(site.row, node.outputs[0], node.label, (), made, unknown, unknown)
    had = state.prices.of(layer.call)
    prices = [new.prices.of(one.call) for one in _now(new, made)]
    return RewrittenLayer(
        site.row,
        node.outputs[0],
        node.label,
        site.hazards,
        made,
        tuple(price.instructions for price in had),
        tuple(_total([row[place].instructions for row in prices]) for place in range(len(had))),
    )


def _total(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
