"""Symbolic sizes leave questions about layers open.

A route, an error, a wrong result, an overrun or a size above 16 bits depends on a symbolic size. The finding says
once per model how many layers are open and which inputs lack sizes. A symbolic first dimension of an input is the
batch, and 1. In a `.tflite` file sizes are open where an input's `shape_signature` has -1 behind the batch; there the
finding also names what is not read: subgraphs that only another signature enters, and constants in an unknown form.

**What to do.** Give the sizes: `--input-shape input=1,3,96,96`, or the setting `input-shapes`.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.file_problem import FileCheck, FileProblem
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject, Subject
from onnxlint_cmsis.ground.findings import OPEN, Effect, Location, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.runtimes.execution import FileExecution

RULE = Rule(
    code="CNN005",
    name="undecided",
    level=Level.WARNING,
    effect=Effect.UNKNOWN,
    summary="Symbolic sizes leave questions about layers open.",
    docs=__doc__,
    bad=Example("""
g (float[1, 4, H, 8] x) => (float[N, C, H, W] y) <float[4, 4, 3, 3] w = {1}> {
    y = Conv<pads = [1, 1, 1, 1]>(x, w)
}
"""),
    good=Example(
        """
g (float[1, 4, H, 8] x) => (float[N, C, H, W] y) <float[4, 4, 3, 3] w = {1}> {
    y = Conv<pads = [1, 1, 1, 1]>(x, w)
}
""",
        options="--input-shape x=1,4,8,8",
    ),
    kinds=(Cause.SHAPE.value, "undecided"),
)


IN_FILE = " Convert it with them too: the device runs the sizes in the file."


def run(subject: ModelSubject | FileProblem) -> Iterator[Statement]:
    """Yield the one statement on what unknown sizes leave open in a model, or what a reader left out of one."""
    if isinstance(subject, FileProblem):
        yield from FileCheck("Nothing can be done: the linter does not read these parts.")(subject)
        return
    questions = _Questions()
    for layer in subject.layers():
        questions.add(layer)
    for node in subject.lowered.undecided:
        questions.add_shape(node.label)
    graph = subject.model.graph
    parts, brief = (" and ".join(questions.parts(shown)) for shown in (2, 1))
    if parts:
        unread = any(problem.kind == "external" for problem in graph.problems)
        unknown = "Values that are not read" if unread else "Unknown sizes"
        facts: dict[str, str | int | float | bool] = {OPEN: questions.worst.value}
        in_file = graph.open_inputs and isinstance(subject.model.execution, FileExecution)
        yield Statement(
            f"{unknown} leave open {parts}.",
            Location(graph.path),
            remedy=f"{questions.wanting(graph)}.{IN_FILE if in_file else ''}",
            properties=facts,
            brief=f"{unknown} leave open {brief}.",
        )


class _Questions:
    """What unknown sizes leave open in one model."""

    def __init__(self) -> None:
        self._layers: dict[str, None] = {}
        self._threatened: dict[str, None] = {}
        self._codes: dict[str, Effect] = {}
        self._sizes: set[str] = set()

    def add(self, layer: Subject) -> None:
        """Take in what is open of one layer on one target: its kernel, its status, or a hazard."""
        label, route = layer.layer.node.label, layer.route
        if route.undecided:
            self._layers[label] = None
            self._sizes |= route.undecided
        elif route.open_hazards:
            self._threatened[label] = None
            self._codes |= {layer.code_of(hazard.kind): _effect_of(hazard.kind) for hazard in route.open_hazards}
            self._sizes |= {name for hazard in route.open_hazards for name in hazard.unknown(route.seen)}

    def add_shape(self, label: str) -> None:
        """Take in a layer that has no call, since its operands' ranks or sizes are not known well enough."""
        self._layers[label] = None
        self._sizes.add("the shape of an operand")

    @property
    def worst(self) -> Effect:
        """The worst that sizes can make of the model; a kernel that is not known may return an error."""
        effects = [Effect.STOPS] if self._layers else [*self._codes.values()]
        return min(effects, key=lambda effect: effect.rank, default=Effect.UNKNOWN)

    def parts(self, shown: int) -> Iterator[str]:
        """What is open, as objects of a sentence with so many names of layers."""
        if self._layers:
            yield f"which code computes {_counted(list(self._layers), shown)}"
        threatened = [label for label in self._threatened if label not in self._layers]
        if threatened:
            codes = sorted(self._codes, key=lambda code: (self._codes[code].rank, code))
            dangers = (f"{_DANGERS[self._codes[code]]} ({code})" for code in codes)
            yield f"whether {_counted(threatened, shown)} {' or '.join(dangers)}"

    def wanting(self, graph: Graph) -> str:
        """What a user can do; where the inputs are complete, what is missing inside."""
        inputs = graph.open_inputs
        if inputs:
            return f"Give the sizes marked ? with --input-shape: {'; '.join(inputs)}"
        if any(problem.kind == "external" for problem in graph.problems):
            return "Mend the external data first, of which another finding tells"
        missing = ", ".join(sorted(self._sizes))
        return (
            f"Export it with constant sizes inside; the inputs have theirs, from which {missing} does not follow. "
            "In PyTorch torch.onnx.export(..., dynamo=True) does"
        )


_DANGERS = {Effect.STOPS: "stop", Effect.WRONG: "compute wrong values", Effect.NOTE: "are less exact"}
"""What layers may do, by the effect of the rule on it."""


def _effect_of(kind: str) -> Effect:
    from onnxlint_cmsis.checks.rule_registry import check_of_kind

    return check_of_kind(kind).rule.effect


def _counted(names: list[str], shown: int) -> str:
    listed = ", ".join(f"'{name}'" for name in names[:shown]) + (", ..." if len(names) > shown else "")
    return f"{len(names)} {'layer' if len(names) == 1 else 'layers'} ({listed})"
