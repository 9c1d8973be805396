"""Layers with a known hazard rewritten, where an exact way round needs other nodes and not other channel counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.answers import findings_of, layer_hazards
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.repairable import RepairSite, fewer_risks, repairs_for
from onnxlint_cmsis.fixers.progress import Progress, RewrittenLayer, step_of_site, until_settled
from onnxlint_cmsis.fixers.steps import Reasons, Rewritten, over_budget

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.planning.fits.row import RepairMade, RepairRow
    from onnxlint_cmsis.fixers.planning.prices import Price
    from onnxlint_cmsis.fixers.snapshot import Snapshot
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.lower.layer import Layer


MAX_REWRITINGS = 4
"""Rounds over all repairs: what one of them makes may need another one."""
REWRITING_STAYS = "it was tried, and the layer would still meet a known hazard"


def rewritten(state: Snapshot, *, free: bool, since: Snapshot | None) -> Progress:
    """Rewrite layers, by the free repairs only where that is asked for. Raises UnreadableError.

    Constants may grow as far as the budget allows beyond those of `since`; as far as it takes without one.
    """
    exact = (row for row in repairs_for(state.analysis.format) if row.exact and not row.as_written)
    rows = [row for row in exact if row.free or not free]

    def with_every_repair(progress: Progress) -> Progress:
        for row in rows:
            room = None if since is None else progress.state.room(since)
            progress = progress.then(rewritten_by(row, progress.state, room))
        return progress

    done = until_settled(Progress(state), with_every_repair, MAX_REWRITINGS)
    needing = {site.record.node.outputs[0] for site in done.state.repair_sites}
    left: Reasons = {
        step: why for step, why in done.left.items() if isinstance(step, Rewritten) and step.output in needing
    }
    return done._replace(left=left)


def rewritten_by(row: RepairRow, state: Snapshot, room: int | None) -> Progress:
    """Rewrite layers by one repair: all at once, less those that it does not help. Raises UnreadableError.

    `room` is by how many bytes constants may grow; None for as many as it takes.
    """
    left: Reasons = {}
    sites = []
    for site in asked(row, state):
        why = state.left_alone.get(step_of_site(site)) or row.refusal(state.graph, site.record)
        if why:
            left[step_of_site(site)] = why
        else:
            sites.append(site)
    while sites:
        repaired = state.repaired(sites)
        left |= {step_of_site(site): why for site, why in repaired.refused}
        if not repaired.repairs:
            break
        new = state.followed(repaired.data, Plan({}))
        useless = [site for site, repair in repaired.repairs if not _rewriting_helps(state, new, site, repair)]
        if not useless and (room is None or new.stored - state.stored <= room):
            return Progress(new, tuple(_layer(state, new, site, repair) for site, repair in repaired.repairs), left)
        if not useless and room is not None:
            useless = [repaired.repairs[-1][0]]
            growth, budget = new.stored - state.stored, state.request.options.budget
            left[step_of_site(useless[0])] = over_budget(budget, growth)
        left |= {step_of_site(site): REWRITING_STAYS for site in useless if step_of_site(site) not in left}
        sites = [site for site, _ in repaired.repairs if site not in useless]
    return Progress(state, (), left)


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


def _now(new: Snapshot, repair: RepairMade) -> list[Layer]:
    """The layers that do the work of a rewritten one."""
    return [layer for layer in new.lowered.layers if layer.node.outputs[0] in repair.made_by]


def _rewriting_helps(state: Snapshot, new: Snapshot, site: RepairSite, repair: RepairMade) -> bool:
    """Tell whether the layers that do the work now meet fewer hazards, and more on no target."""
    if site.record.layer is None:
        return bool(site.row.rule)
    if not _now(new, repair):
        return False
    had = [price.route for price in state.prices.of_layer(site.record.layer)]
    prices = [new.prices.of_layer(layer) for layer in _now(new, repair)]
    return fewer_risks(had, [[row[target].route for row in prices] for target in range(len(had))])


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
