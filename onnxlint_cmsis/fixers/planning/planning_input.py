"""What planning is given: the channel axes of a model's layers, and the classes whose growth has unknown cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.dimensions import Dimensions
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.problem import SearchWork
from onnxlint_cmsis.fixers.planning.sites import Site, site_of
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import Lowered
from onnxlint_cmsis.model.axes import all_leaves
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.pairwise import ADD, DIV, MAX, MIN, MUL, SUB
from onnxlint_cmsis.operators.slicing import PAD

Fixable = Callable[[Finding], bool]
"""Whether a fix may act on a finding: its rule runs on the file and is fixable, and no suppression accepts it."""

FREE_WITH_CONSTANT = (ADD, DIV, MAX, MIN, MUL, SUB)
"""Operators that are fused into a layer where one operand is constant: bias, scale, clip."""


NewBias = Callable[[Site, int, int], int]
"""Bits of one element of the bias that a layer without one gets where a class has so many channels; 0 for no bias."""


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
    new_bias: NewBias | None = None
    """Biases that take up the constants of channels that go; None where no channel can."""

    @property
    def graph(self) -> Graph:
        """Graph of the model."""
        return self.model.graph

    @property
    def lowered(self) -> Lowered:
        """Layers of the model."""
        return self.model.lowered

    @property
    def dimensions(self) -> Dimensions:
        """Classes of the model."""
        return self.model.dimensions


def planning_input(model: ModelAnalysis, prices: Prices, fixable: Fixable = lambda _finding: True) -> PlanningInput:
    """Planning's input from a model."""
    layers = [(layer, site_of(layer, model.dimensions)) for layer in model.lowered.layers]
    sites = tuple(site for _, site in layers if site)
    others = tuple(layer for layer, site in layers if site is None)
    return PlanningInput(model, sites, others, _unpriced(model, sites, prices), fixable, SearchWork())


def _unpriced(model: ModelAnalysis, sites: tuple[Site, ...], prices: Prices) -> dict[int, str]:
    """Classes along a node whose cost is unknown, with the first such node."""
    graph, lowered, dimensions = model.graph, model.lowered, model.dimensions
    priced = {
        site.layer.node.index: set(site.leaves)
        for site in sites
        if all(price.instructions is not None for price in prices.of_layer(site.layer))
    }
    folded = {label for layer in lowered.layers for label in layer.folded}
    fused = {node.index for layer in lowered.layers for node in layer.fused}
    foreign = {node.index for node, _ in lowered.foreign}
    reasons: dict[int, str] = {}
    for node in graph.nodes:
        free = node.index in fused or (operator_of(node) is PAD and node.label in folded) or _free(graph, node)
        if node.index not in graph.once and (node.index in foreign or not free):
            for leaf in _leaves(node, graph, dimensions):
                if dimensions.class_with_id(leaf) and leaf not in priced.get(node.index, ()):
                    reasons.setdefault(leaf, node.label)
    return reasons


def _free(graph: Graph, node: Node) -> bool:
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
            yield from all_leaves(dimensions.axes(name))
