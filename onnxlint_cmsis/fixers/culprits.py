"""The classes that made a proof fail: those resized where two models first differ, found without further proofs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.differences import resized_classes
from onnxlint_cmsis.fixers.planning.plan import PlanStep
from onnxlint_cmsis.fixers.proof.element_map import element_map
from onnxlint_cmsis.fixers.snapshot import plan_of, resized_step
from onnxlint_cmsis.fixers.steps import Padded, Reasons, Step
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.axes import all_leaves

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.dimensions import DimensionClass, Dimensions
    from onnxlint_cmsis.fixers.attempt import Attempt
    from onnxlint_cmsis.fixers.proof.prove import Prover
    from onnxlint_cmsis.model.graph import Graph


MAX_LOOKS = 32
"""Looks for the first difference; what is behind the last one is left out."""
LATE = "it was not tried: a proof with more classes failed"
"""Why a class stays that is at the last difference seen or behind it."""


class Culprits:
    """The classes that a failed attempt differs by."""

    def __init__(self, failed: Attempt, prover: Prover) -> None:
        self._failed, self._prover = failed, prover
        self.changed = dict(_changed(failed))
        self._same = element_map(failed.start.graph, failed.end.steps())
        self._differs = ""
        self._looks = 0

    def reasons(self) -> Reasons:
        """Classes without which no difference is seen, with the reason; none where they are not found."""
        if self._failed.spot is None:
            return {}
        self._differs = self._prover.look(self._failed.end.data, self._same, self._failed.spot)
        blamed: set[Step] = set()
        while self._differs and self._looks < MAX_LOOKS:
            into, along = self._blamed(blamed)
            for names in filter(None, (into, along, into | along)):
                seen = self._without(blamed | names)
                if seen != self._differs:
                    break
            else:
                break
            blamed |= names
            self._differs = seen
        graph = self._failed.base.graph
        producer = graph.producers.get(self._differs)
        last = len(graph.nodes) if producer is None else producer.index  # no layer is behind where nothing differs
        late = [
            name
            for name, group in self.changed.items()
            if group and any(layer.node >= last for layer in (*group.deciders, *group.readers))
        ]
        return dict.fromkeys(blamed, self._failed.trouble) | dict.fromkeys(late, LATE)

    def _blamed(self, known: Iterable[Step]) -> tuple[set[Step], set[Step]]:
        """Classes of the inputs of the nodes before the difference, then those of their outputs."""
        base = self._failed.base
        between = blame(base.graph, base.dimensions, self._differs, self._same.keys())
        groups = {name: group for name, group in self.changed.items() if name not in known}
        into = {name for name, group in groups.items() if group and group.id in between.into}
        pads = {name for name, group in groups.items() if isinstance(name, Padded) and name.tensor in between.inputs}
        along = {name for name, group in groups.items() if group and group.id in between.along - between.into}
        return into | pads, along

    def _without(self, names: set[Step]) -> str:
        """The first tensor that differs where some of the classes stay; empty where none is seen to."""
        self._looks += 1
        base, first = self._failed.base, self._failed.first
        left = {group.id for name, group in self.changed.items() if group and name in names}
        sizes = {leaf: size for leaf, size in first.decision.sizes.items() if leaf not in left}
        if not sizes or self._failed.spot is None:
            return ""
        plan = plan_of(first._replace(decision=first.decision._replace(sizes=sizes)), base.request.options)
        try:
            data = base.editor.resized(base.data, base.graph, base.dimensions, plan)
        except NotAppliedError:
            return ""
        step = PlanStep(base.graph, base.dimensions, plan)
        same = element_map(self._failed.start.graph, [*base.steps(), step])
        return self._prover.look(data, same, self._failed.spot)


def _changed(failed: Attempt) -> Iterator[tuple[Step, DimensionClass | None]]:
    """Classes that an attempt changes, or would have, and inputs that it pads."""
    decided = [failed.base.dimensions.classes[leaf] for leaf in failed.first.decision.sizes]
    changed = [group for group, _ in resized_classes(failed.base, failed.end)]
    for group in sorted({group.id: group for group in (*decided, *changed)}.values(), key=lambda group: group.id):
        yield resized_step(failed.base, group), group
    for name in failed.added:
        yield name, None


class Blame(NamedTuple):
    """Classes resized between a differing tensor and the agreeing ones before it."""

    into: frozenset[int]
    """Leaves along the tensors that agree and that the nodes between read."""
    along: frozenset[int]
    """Other leaves along what these nodes make, and along their constants."""
    inputs: frozenset[str]
    """Inputs of the model that these nodes read."""


def blame(graph: Graph, dimensions: Dimensions, tensor: str, agreeing: Collection[str]) -> Blame:
    """Classes to blame where `tensor` is the first of those compared that differs; `agreeing` are all compared."""
    read: set[int] = set()
    computed = set(all_leaves(dimensions.axes(tensor)))
    inputs: set[str] = set()
    pending, seen = [tensor], {tensor}
    while pending:
        name = pending.pop()
        producer = graph.producers.get(name)
        if producer is None:
            inputs |= {name} & set(graph.inputs)
            continue
        for position, source in enumerate(producer.inputs):
            axes = dimensions.input_axes(producer.index, position) or dimensions.axes(source)
            (read if source in agreeing or source in graph.inputs else computed).update(all_leaves(axes))
            if source and source not in seen and source not in agreeing:
                seen.add(source)
                pending.append(source)
        pending += [output for body in producer.bodies for output in body.outputs if output not in seen]
        seen.update(output for body in producer.bodies for output in body.outputs)
    return Blame(frozenset(read), frozenset(computed - read), frozenset(inputs))
