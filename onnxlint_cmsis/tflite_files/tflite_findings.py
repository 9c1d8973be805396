"""Findings on a `.tflite` file: what its runtime does, and what is known against the functions it calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis import ModelAnalysis
from onnxlint_cmsis.checks.run_checks import call_findings, merged, remark_findings
from onnxlint_cmsis.checks.subject import node_location
from onnxlint_cmsis.formats.tflite.read_file import read_tflite
from onnxlint_cmsis.formats.tflite.to_graph import to_graph
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.runtime import runtime_notes
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.preparation import Stage
from onnxlint_cmsis.tflite_files.builds import build_for
from onnxlint_cmsis.tflite_files.tflite_fit import tflite_fit
from onnxlint_cmsis.tflite_files.tflm_remarks import remarks
from onnxlint_cmsis.types import Location

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import AnalysisSettings
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator, TflmReport
    from onnxlint_cmsis.types import Finding, Target


WITHOUT_CMSIS_NN = "The build has reference kernels alone and no CMSIS-NN (--cmsis-nn-build NONE)."


class TfliteFindings(NamedTuple):
    """What is said of one file."""

    graph: Graph
    """The file as a graph."""
    findings: tuple[Finding, ...]
    """Findings on its operators, in file order."""
    notes: tuple[str, ...]
    """What it was judged for."""
    layers: int
    """Operators that CMSIS-NN functions compute on the first target."""


def tflite_findings(path: str, settings: AnalysisSettings, data: bytes | None = None) -> TfliteFindings:
    """Judge a file, or `data` in its place, on every target. Raises ModelError."""
    model = read_tflite(path, data)
    graph = to_graph(model)
    analysis = ModelAnalysis(path, settings, data, graph=graph)
    nodes = nodes_of(model, graph)
    found: list[Finding] = []
    layers = 0
    reports: list[TflmReport] = []
    places: list[Location] = []
    for target in settings.targets:
        reports.append(_report(model, settings, target, checks=True))
        strict = reports[-1].operators
        lax = _report(model, settings, target, checks=False).operators
        places = [place_of(path, row, node) for row, node in zip(strict, nodes, strict=True)]
        found += remark_findings(remarks(strict, lax, places, target.label))
        found += _hazards(analysis, lax, nodes, target)
        layers = layers or sum(bool(row.functions) for row in strict)
    fit = tflite_fit(model, settings, reports, places)
    notes = (*runtime_notes(settings.runtime), *_without(settings), *fit.notes)
    return TfliteFindings(graph, _in_order([*found, *fit.findings], nodes), notes, layers)


def _without(settings: AnalysisSettings) -> tuple[str, ...]:
    """The note that no function of CMSIS-NN is called."""
    return (WITHOUT_CMSIS_NN,) if settings.cmsis_nn_build == "NONE" else ()


def _report(model: TfliteModel, settings: AnalysisSettings, target: Target, *, checks: bool) -> TflmReport:
    return interpret(model, build_for(settings.runtime, target, settings.cmsis_nn_build, checks=checks))


def nodes_of(model: TfliteModel, graph: Graph) -> list[Node | None]:
    """The graph's node of every operator, subgraph by subgraph; None in subgraphs that the main one never runs."""
    by_offset = {node.offset: node for node in graph.nodes}
    return [by_offset.get(each.span.offset) for subgraph in model.subgraphs for each in subgraph.operators]


def place_of(path: str, row: TflmOperator, node: Node | None) -> Location:
    """Where an operator is: its index, the tensor it writes, its bytes."""
    if node is None:
        return Location(path, f"{row.op}#{row.index}", row.op, graph=f"subgraph {row.subgraph}")
    return node_location(path, node)


def _hazards(
    analysis: ModelAnalysis, rows: tuple[TflmOperator, ...], nodes: list[Node | None], target: Target
) -> Iterator[Finding]:
    """What is known against the calls that are made; an operator at which every build stops makes none."""
    for row, node in zip(rows, nodes, strict=True):
        if node is not None and row.call is not None and row.stage != Stage.PREPARE:
            yield from call_findings(analysis, Layer(node, row.call), target)


def _in_order(found: list[Finding], nodes: list[Node | None]) -> tuple[Finding, ...]:
    """Findings of all targets in the operators' order, those that differ in the target alone as one."""
    order = {node.offset: place for place, node in enumerate(nodes) if node is not None}
    return tuple(sorted(merged(found), key=lambda each: order.get(each.location.offset, len(order))))
