"""Layers with a known hazard rewritten, where an exact way round needs other nodes and not other channel counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.answers import findings_of, layer_hazards
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.repairable import repairs_for
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.cmsis_nn.library import Route
    from onnxlint_cmsis.fixers.planning.fits.row import RepairMade, RepairRow
    from onnxlint_cmsis.fixers.planning.prices import Price
    from onnxlint_cmsis.fixers.planning.repairable import RepairSite
    from onnxlint_cmsis.fixers.snapshot import ClassName, Reasons, Snapshot
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.lower.layer import Layer


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
