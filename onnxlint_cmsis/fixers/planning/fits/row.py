"""One way to rewrite a layer: what it does, which hazards it answers, and why it may not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph, Node


class RepairRow(NamedTuple):
    """One way to rewrite a layer; the results stay the same, or nearly so where it is not exact.

    `fixers/repairs` has what does it, by name.
    """

    name: str
    """Kebab name."""
    what: str
    """What it does to the layer, as a clause without subject."""
    price: str
    """What it costs, as a clause; the fix report has the predicted instructions."""
    unfit: Callable[[Graph, LoweredLayer], str | None] | None = None
    """Why it does not fit a layer, as a clause; None where it fits each that `refusal` takes."""
    hazards: frozenset[str] = frozenset()
    """Names of the hazards that it answers."""
    free: bool = False
    """Whether it costs next to nothing, so that it is done before any channel count is changed."""
    rule: str = ""
    """Name of the rule whose findings it answers, where these are no hazards."""
    nodes: Callable[[Graph], Iterator[Node]] | None = None
    """Nodes that it is for, with `rule`; the record of such a node has nothing else."""
    whole: bool = False
    """Whether it is for the whole model, so that any finding of the rule asks for it."""
    causes: frozenset[str] = frozenset()
    """Causes of reference code that it answers, with `rule`."""
    as_written: bool = False
    """Whether it changes types, so that it is proven with ONNX Runtime's optimisers off."""
    exact: bool = True
    """Whether the results stay the same; if not, it is done with --unsafe-fixes alone."""
    calls: Callable[[LoweredLayer], Iterator[KernelCall]] | None = None
    """Calls that do the layer's work, or equal parts of it, after the repair, the best first; with `hazards`."""
    clean: bool = False
    """Whether it takes the first of the calls that meets no known hazard, and none that meets some."""

    def refusal(self, graph: Graph, record: LoweredLayer) -> str | None:
        """Why it leaves a layer as it is, as a clause; None where it fits."""
        if self.nodes is not None and record.node.graph:
            return f"{record.node.label} is in a subgraph"
        return self.unfit(graph, record) if self.unfit is not None else None


class RepairMade(NamedTuple):
    """What a repair did to one layer."""

    text: str
    """What was done, as a clause without subject."""
    made_by: tuple[str, ...]
    """First outputs of the layers that now do the work of the old one; empty where no layer was rewritten."""
