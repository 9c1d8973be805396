"""The plan of one model: its layers and classes, its lanes, and the sizes that a policy chooses."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from functools import cache

from onnxlint_cmsis.analysis.analysis import TensorIndex
from onnxlint_cmsis.analysis.constants import FLOAT, BiasSlot, bias_slot
from onnxlint_cmsis.analysis.known_view import MAX_KNOWN
from onnxlint_cmsis.analysis.lanes import Lanes
from onnxlint_cmsis.fixers.planning.decision import SizeDecision, decide
from onnxlint_cmsis.fixers.planning.planning_input import NewBias, PlanningInput
from onnxlint_cmsis.fixers.planning.policies import FixOptions
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.problem import WORK
from onnxlint_cmsis.fixers.planning.sites import Site
from onnxlint_cmsis.formats.onnx.tensors import BITS
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.axes import leaves

ENDED_LANES = f"the search for dead channels ended early, after {MAX_KNOWN:,} values of tensors: there may be more"
ENDED_SIZES = f"the search for sizes ended early, after {WORK:,} steps: other sizes may be better"


class ModelPlan(NamedTuple):
    """The plan of one model on some targets."""

    view: PlanningInput
    """Layers and classes."""
    prices: Prices
    """Prices of its layers."""
    lanes: Lanes | None
    """Lanes of its classes; None where weights are not to be read."""
    decision: SizeDecision
    """Chosen sizes."""
    options: FixOptions
    """Options of the fix."""
    refused: Mapping[int, str]
    """Classes that had to stay as they are, with the reason."""
    accepted: tuple[Finding, ...] = ()
    """Findings that the user accepted; their classes keep their sizes."""

    @property
    def ended(self) -> tuple[str, ...]:
        """Searches that stopped before they were through, as clauses."""
        return (
            *([ENDED_LANES] if self.lanes is not None and self.lanes.view.ended else []),
            *([ENDED_SIZES] if self.decision.ended else []),
        )


def plan_model(
    view: PlanningInput,
    prices: Prices,
    options: FixOptions,
    refused: Mapping[int, str],
    disproved: Collection[TensorIndex] = (),
) -> ModelPlan:
    """Analyse a model and choose sizes.

    `refused` names classes that must stay as they are; `disproved` are places that were seen to hold other values than
    the analysis says.
    """
    lanes = view.model.lanes(disproved) if options.weights else None
    if lanes is not None:
        view = view._replace(new_bias=new_biases(view, lanes, options))
    decision = decide(view, prices, options, live_counts(lanes, options), refused)
    return ModelPlan(view, prices, lanes, decision, options, dict(refused))


def live_counts(lanes: Lanes | None, options: FixOptions) -> dict[int, int]:
    """Number of live lanes of each class that has removable ones."""
    if lanes is None:
        return {}
    counts = {}
    for leaf, group in lanes.classes.items():
        stay = len(group.live) + (0 if options.unsafe else len(group.unsafe))
        if stay < len(group.live) + len(group.exact) + len(group.unsafe):
            counts[leaf] = stay
    return counts


def new_biases(view: PlanningInput, lanes: Lanes, options: FixOptions) -> NewBias:
    """Which layers without a bias get one where lanes of a class go that hold constants other than 0."""
    graph, classes = view.graph, view.dimensions.classes

    @cache
    def empty_slot(node: int) -> BiasSlot | None:
        slot = bias_slot(graph, graph.nodes[node])
        return slot if slot and not slot.tensor else None

    @cache
    def gaining(leaf: int, size: int) -> Set[int]:
        have = classes[leaf].size
        gone = {*range(have)}.difference(kept_lanes(lanes, leaf, have, size, options))
        readers = lanes.readers.items() if gone else ()
        along = {node: reader for node, reader in readers if leaf in leaves(reader.axis) and empty_slot(node)}
        return lanes._replace(readers=along).increments({leaf: gone}).keys() if gone else frozenset()

    def bits(site: Site, leaf: int, size: int) -> int:
        node = site.layer.node
        slot = empty_slot(node.index) if node.index in gaining(leaf, size) else None
        if slot is None:
            return 0
        if slot.kind == FLOAT:
            return BITS[graph.elem_type(node.inputs[0])]
        return 64 if len(slot.scales) > 1 else 32  # an int32, and the scale of each channel where it is dequantized

    return bits


def kept_lanes(lanes: Lanes | None, leaf: int, have: int, want: int, options: FixOptions) -> tuple[int | None, ...]:
    """Old lane of each of `want` new lanes: live lanes first, then others, then None for new ones."""
    if want >= have or lanes is None:
        return (*range(have), *[None] * (want - have))
    group = lanes.classes[leaf]
    may_go = sorted((*group.exact, *(group.unsafe if options.unsafe else ())))
    gone = set(may_go[len(may_go) - (have - want) :])
    return tuple(lane for lane in range(have) if lane not in gone)
