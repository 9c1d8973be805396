"""Layers of a model that a known hazard meets and that a repair fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.verdict import Verdict
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.rewrite.repairs.format_repairs import repairs_for

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.findings import Finding
    from onnxlint_cmsis.rewrite.repairs.repair import RepairRow


class RepairSite(NamedTuple):
    """One layer that needs a repair."""

    row: RepairRow
    """The repair."""
    record: LoweredLayer
    """The layer."""
    hazards: tuple[str, ...]
    """Names of its hazards that the repair answers."""


def needed(model: ModelAnalysis) -> Iterator[RepairSite]:
    """Each layer that some target needs a repair for, with each repair that answers, in the order of the table."""
    met = {id(record): _hazards(model, record) for record in _records(model)}
    for row in repairs_for(model.path):
        for node in row.nodes(model.graph) if row.nodes else ():
            yield RepairSite(row, LoweredLayer(node, Verdict.UNDECIDED), ())
        for record in model.lowered.beside if row.causes else ():
            if record.cause is not None and record.cause.value in row.causes:
                yield RepairSite(row, record, ())
        for record in _records(model) if row.hazards else ():
            found = tuple(name for name in met[id(record)] if name in row.hazards)
            if found:
                yield RepairSite(row, record, found)


def repair_for(model: ModelAnalysis, finding: Finding) -> RepairRow | None:
    """The first repair that answers a finding and fits its layer; None where there is none. Nothing is tried."""
    for row in (row for row in repairs_for(model.path) if row.rule and row.rule == finding.name and row.nodes):
        fitting = row.nodes(model.graph) if row.nodes else iter(())
        return row if any(fitting) else None
    for row in (row for row in repairs_for(model.path) if row.rule and row.rule == finding.name and row.causes):
        for record in model.lowered.beside:
            cause = record.cause.value if record.cause else ""
            if record.node.label == finding.location.node and cause in row.causes:
                return None if row.refusal(model.graph, record) else row
    hazard = finding.properties.get("hazard")
    for row in repairs_for(model.path) if hazard else ():
        if hazard in row.hazards:
            for record in _records(model):
                if record.node.label == finding.location.node and not row.refusal(model.graph, record):
                    return row
    return None


def _records(model: ModelAnalysis) -> Iterator[LoweredLayer]:
    return (record for record in model.lowered.records if record.verdict is Verdict.CMSIS_NN and record.layer)


def _hazards(model: ModelAnalysis, record: LoweredLayer) -> tuple[str, ...]:
    """Names of the hazards of a layer, on any target."""
    if record.layer is None:
        return ()
    routes = (route for _, route in model.routes(record.layer))
    return tuple(dict.fromkeys(hazard.id for route in routes for hazard in route.hazards))
