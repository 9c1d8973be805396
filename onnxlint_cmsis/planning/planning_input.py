"""Input of planning: the channel axes of its layers, and the classes whose growth has unknown cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onnxlint_cmsis.algebra.axes import leaves
from onnxlint_cmsis.analysis import ModelAnalysis
from onnxlint_cmsis.dims.result import Dimensions
from onnxlint_cmsis.findings import Finding
from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import Lowered
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.pairwise_operators import ADD, DIV, MAX, MIN, MUL, SUB
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.slicing_operators import PAD
from onnxlint_cmsis.planning.channel_axes import Site, site_of
from onnxlint_cmsis.planning.price import Prices
from onnxlint_cmsis.planning.problem import SearchWork

Fixable = Callable[[Finding], bool]
"""Whether a fix may act on a finding: its rule runs on the file and is fixable, and no suppression accepts it."""

FREE_WITH_CONSTANT = (ADD, DIV, MAX, MIN, MUL, SUB)
"""Operators that are fused into a layer where one operand is constant: bias, scale, clip."""


class PlanningInput(NamedTuple):
    """One model on some targets."""

    model: ModelAnalysis
    """The model."""
    sites: tuple[Site, ...]
    """Layers whose channel counts are axes of classes."""
    others: tuple[Layer, ...]
    """All other layers; their prices do not move."""
    unpriced: dict[int, str]
    """Class to the label of a node along it that has no known cost."""
    fixable: Fixable
    """Which findings on layers count."""
    work: SearchWork
    """What the searches for sizes may still do together."""

    @property
    def graph(self) -> Graph:
        """Its graph."""
        return self.model.graph

    @property
    def lowered(self) -> Lowered:
        """Its layers."""
        return self.model.lowered

    @property
    def dimensions(self) -> Dimensions:
        """Its classes."""
        return self.model.dimensions


def planning_input(model: ModelAnalysis, prices: Prices, fixable: Fixable = lambda _finding: True) -> PlanningInput:
    """Planning's input from a model."""
    found = [(layer, site_of(layer, model.dimensions)) for layer in model.lowered.layers]
    sites = tuple(site for _, site in found if site)
    others = tuple(layer for layer, site in found if site is None)
    return PlanningInput(model, sites, others, _unpriced(model, sites, prices), fixable, SearchWork())


def _unpriced(model: ModelAnalysis, sites: tuple[Site, ...], prices: Prices) -> dict[int, str]:
    graph, lowered, dimensions = model.graph, model.lowered, model.dimensions
    priced = {
        site.layer.node.index: set(site.leaves)
        for site in sites
        if all(price.instructions is not None for price in prices.of(site.layer.call))
    }
    folded = {label for layer in lowered.layers for label in layer.folded}
    fused = {node.index for layer in lowered.layers for node in layer.fused}
    foreign = {node.index for node, _ in lowered.foreign}
    found: dict[int, str] = {}
    for node in graph.nodes:
        free = node.index in fused or (operator_of(node) is PAD and node.label in folded) or _free(graph, node)
        if node.index in foreign or not free:
            for leaf in _leaves(node, graph, dimensions):
                if dimensions.class_with_id(leaf) and leaf not in priced.get(node.index, ()):
                    found.setdefault(leaf, node.label)
    return found


def _free(graph: Graph, node: Node) -> bool:
    """Whether an operator costs nothing."""
    operator = operator_of(node)
    if operator in FREE_WITH_CONSTANT:
        return any(name in graph.constants or _dequantized(graph, name) for name in node.inputs)
    return operator.free


def _dequantized(graph: Graph, name: str) -> bool:
    """Tell whether a tensor is a stored constant behind DequantizeLinear."""
    producer = graph.producers.get(name)
    return producer is not None and operator_of(producer).dequantizes and producer.inputs[0] in graph.constants


def _leaves(node: Node, graph: Graph, dimensions: Dimensions) -> Iterator[int]:
    """Leaves along the run-time tensors of a node."""
    for name in (*node.inputs, *node.outputs):
        if name and name not in graph.constants and not _dequantized(graph, name):
            for axis in dimensions.axes(name) or ():
                yield from leaves(axis)
