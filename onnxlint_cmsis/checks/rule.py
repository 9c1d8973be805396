"""The row of a rule, its examples, and the stamp that makes a finding of what its check says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.facts import FixAction
from onnxlint_cmsis.cmsis_nn.library import Route, route, wrapper_of
from onnxlint_cmsis.ground.findings import Content, Effect, Finding, Resize, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall, Level, Source, Target
from onnxlint_cmsis.lower.decision import Decision
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.on_release import on_release
from onnxlint_cmsis.lower.operands import operands_of
from onnxlint_cmsis.model.node_location import node_location

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis


class RuleScope(str, Enum):
    """What a rule's `run` takes."""

    FILE = "file"
    """One `FileProblem`: what reading a file, or a file beside it, brought up."""
    MODEL = "model"
    """The `ModelSubject`."""
    CLASS = "class"
    """One `ClassFact`: a class of channel counts with the size that planning gives it."""
    LAYER = "layer"
    """One `Subject`: a layer on a target."""
    RUNTIME = "runtime"
    """One `RuntimeRemark`: what a runtime makes of layers, for one reason."""
    RAM = "RAM"
    """One `RamNeed`: what a model needs on a target, and what is there."""
    FLASH = "flash"
    """One `FlashNeed`: what the constants of a model need on a target, and what is there."""
    IMAGE = "image"
    """One `ImageSubject`: a firmware image or a library, with what is set for it."""
    DEPLOYMENT = "deployment"
    """One `Deployment`: a model in a firmware image."""


class Example(NamedTuple):
    """A model with options: what a rule is tried on."""

    model: str | bytes | None
    """Graph in ONNX's textual syntax, where `{v}` fills a constant with v; bytes as they are.

    None for no file, or for one that `shown` names; the tests build that one.
    """
    options: str = ""
    """Options of the command line, separated by spaces."""
    files: Mapping[str, str] = {}
    """Name and text of other files in the model's folder."""
    shown: str = ""
    """What a file that is no text holds."""
    name: str = "model.onnx"
    """Name of the file."""


def quantized_layer(  # noqa: PLR0913
    lines: str,
    shape: str,
    result: str = "",
    *,
    kind: str = "int8",
    zero: int = 0,
    scale: float = 0.1,
    constants: str = "",
) -> str:
    """Graph of lines that make `c` of `a`, both quantized: `a` with scale 0.1 and a zero-point, `c` with a scale.

    `constants` follow those of the two; the result has the input's shape unless it has its own.
    """
    body = "\n".join(f"    {line.strip()}" for line in lines.strip().splitlines())
    more = f", {constants}" if constants else ""
    return f"""
<ir_version: 10, opset_import: ["" : 21]>
g ({kind}[{shape}] x) => ({kind}[{result or shape}] y)
<float s = {{0.1}}, {kind} z = {{{zero}}}, float t = {{{scale:g}}}{more}> {{
    a = DequantizeLinear(x, s, z)
{body}
    y = QuantizeLinear(c, t, z)
}}
"""


class RuleCause(NamedTuple):
    """One reason for which a rule reports something, by which its findings can be selected (`CNN401[rank]`)."""

    key: str
    """Word in square brackets behind the code."""
    what: str
    """Why it happens, as a sentence."""
    do: str
    """What to do about it, as a sentence; it says so where there is nothing to do."""
    source: str
    """Where a runtime's source says so: a file, with lines where few decide."""
    bad: Example
    """A model that is reported for it."""
    good: Example
    """The bad model, mended."""


class Rule(NamedTuple):
    """One rule."""

    code: str
    """Stable code."""
    name: str
    """Kebab name; its module has it with underscores."""
    level: Level
    """Highest level it reports at; a finding may be milder."""
    effect: Effect
    """What it does to whoever runs the model; a finding may say another."""
    summary: str
    """What the rule is about, in one sentence."""
    docs: str | None
    """Markdown: the docstring of the rule's module, None where Python drops docstrings."""
    bad: Example
    """A model that it reports."""
    good: Example
    """The bad model, mended."""
    kinds: tuple[str, ...] = ()
    """What it reports, each with one rule: kinds of ModelError, other file problems, hazards, verdicts, runtimes."""
    action: FixAction | None = None
    """What a fix may do for its findings."""
    asks: bool = False
    """Whether its notes ask the reader for something, so that reports for people show them too."""
    causes: tuple[RuleCause, ...] = ()
    """Reasons by which its findings can be told apart; none where one reason is all there is."""

    @property
    def selectors(self) -> tuple[str, ...]:
        """What its findings have in `Finding.selector`: the code, with each cause where it has causes."""
        return tuple(f"{self.code}[{cause.key}]" for cause in self.causes) or (self.code,)

    @property
    def explanation(self) -> str:
        """Markdown of the rule's page without its heading."""
        import inspect

        return "\n\n".join(filter(None, (inspect.cleandoc(self.docs or self.summary), causes_text(self.causes))))

    def cause(self, key: str) -> RuleCause:
        """A cause of the rule. Raises KeyError for one that it does not have."""
        for cause in self.causes:
            if cause.key == key:
                return cause
        raise KeyError(f"{self.code} has no cause {key}")


def causes_text(causes: Iterable[RuleCause]) -> str:
    """Causes as a list in Markdown; empty for none."""
    return "\n".join(f"* `{cause.key}`: {cause.what} **What to do.** {cause.do}" for cause in causes)


def stamped(rule: Rule, said: Statement) -> Finding:
    """The finding that a rule makes of a statement: a warning at least where it decides the verdict.

    Raises KeyError for a cause that its table does not have.
    """
    if rule.causes or said.cause:
        rule.cause(said.cause)
    level = rule.level if said.level is None else min(rule.level, said.level)
    content = {field.name: getattr(said, field.name) for field in fields(Content)}
    effect = said.effect or _left(rule.effect, rule.level, level)
    level = max(level, Level.WARNING) if effect.decides else level
    return Finding(rule.code, rule.name, level, asks=rule.asks, effect=effect, **content)


def _left(effect: Effect, worst: Level, level: Level) -> Effect:
    """What is left of a rule's effect at a milder level, which says that it is not sure to happen."""
    if level is worst or not effect.decides:
        return effect
    if level is not Level.WARNING:
        return Effect.NOTE
    return Effect.MAY_FAIL if effect.rank < Effect.MAY_FAIL.rank else effect


# What checks look at: one layer on one target with its route and channel counts, or a whole model.


REACH = 16
"""How many channels a check looks ahead: the largest step a routing condition asks for (`input_dims.c > 16`)."""


class Subject(NamedTuple):
    """One layer on one target."""

    model: ModelAnalysis
    """The model."""
    layer: Layer
    """The layer."""
    target: Target
    """Where it will run."""
    route: Route
    """What runs it there."""
    code_of: Callable[[str], str]
    """Code of the rule that reports a kind of hazard, for messages that name it."""

    @property
    def asked(self) -> KernelCall:
        """The call that the model asks for; a runtime may make another one."""
        return self.model.asked.get(self.layer.node.index, self.layer.call)

    def routed(self, call: KernelCall) -> Route:
        """Route of a changed call on the same target."""
        return self.model.route(call, self.target)

    def routed_in(self, release: str) -> Route:
        """Route of the call in a release, whatever library the runtime brings."""
        return route(self.layer.call, self.target._replace(release=release))

    def candidates(self, variable: str) -> Iterator[tuple[int, Route]]:
        """Sizes above the present one within REACH, nearest first, with the route each would take."""
        have = self.size(variable)
        channel = self.layer.channels.get(variable)
        if have is None or channel is None:
            return
        step = channel.factor
        for size in range(have + step, have + step * REACH + 1, step):
            yield size, self.routed(self.layer.resized(variable, size))

    def size(self, variable: str) -> int | None:
        """Present size of a variable of the call."""
        return self.layer.call.variables().get(variable)

    def entry_sources(self) -> tuple[Source, ...]:
        """Where the nearest release that has the call's entry point has it; nothing where none does."""
        wrapper = wrapper_of(self.layer.call.entry)
        source = wrapper.source_near(self.target.release)
        return (source,) if source else ()

    def tensors(self) -> dict[str, str]:
        """Tensors whose sizes the call's dimensions are, as far as there is one: `output_dims` -> `y`."""
        node = self.layer.node
        weights = next((channel.tensor for channel in self.layer.channels.values()), "")
        filters = weights if weights in node.inputs[1:] else ""
        places = {"input_dims": self._input(), "filter_dims": filters}
        places["output_dims"] = next(iter(node.outputs), "")
        return {dims: tensor for dims, tensor in places.items() if tensor}

    def _input(self) -> str:
        """Tensor the kernel reads: the layer's first operand, or what the Pad nodes read whose padding it includes."""
        tensor = next(iter(operands_of(self.layer.node)), "")
        for label in self.layer.folded:
            producer = self.model.graph.producers.get(tensor)
            while producer is not None and producer.label != label and producer.inputs:
                producer = self.model.graph.producers.get(producer.inputs[0])
            tensor = producer.inputs[0] if producer is not None else ""
        return tensor

    def say(self, message: str) -> Statement:
        """Make a statement about this layer; `message` is what follows `Conv 'name'`."""
        node = self.layer.node
        text = f"{node.op_type} '{node.label}': {message}"
        location = node_location(self.model.graph.path, node)
        return Statement(text, location, targets=(self.target.label,), taken=self.route.kernel)

    def resize(self, variable: str, want: int) -> Resize:
        """Describe a change of a channel count and whether it may happen."""
        from onnxlint_cmsis.checks.facts import resize

        return resize(self.model.dimensions, self.layer, variable, want)


class ReleaseRefusal(NamedTuple):
    """A layer that the release of a target does not compute."""

    record: LoweredLayer
    """The node."""
    decision: Decision
    """Who computes it instead, and why."""
    subject: Subject
    """The layer on the target."""


@dataclass(frozen=True, eq=False)
class ModelSubject:
    """A model on all its targets."""

    model: ModelAnalysis
    """The model."""
    lowered: Lowered
    """Its layers that are to be judged, and its other nodes."""
    code_of: Callable[[str], str]
    """Code of the rule that reports a kind of hazard."""

    def layers(self) -> Iterator[Subject]:
        """Each layer on each target."""
        for layer in self.lowered.layers:
            for target, taken in self.model.routes(layer):
                yield Subject(self.model, layer, target, taken, self.code_of)

    @cached_property
    def release_refusals(self) -> tuple[ReleaseRefusal, ...]:
        """Layers that a target's release does not compute, with the reason; worked out once for all rules."""
        records = {record.node.index: record for record in self.lowered.records}
        refusals = []
        for layer in self.layers():
            record = records[layer.layer.node.index]
            refusal = on_release(record, layer.route, layer.target.release)
            if refusal:
                refusals.append(ReleaseRefusal(record, refusal, layer))
        return tuple(refusals)


def with_resize(said: Statement, change: Resize, wanted: str) -> Statement:
    """The statement with the channel count it asks for; its location names the tensor that carries it."""
    location = said.location._replace(tensor=change.tensor)
    return replace(said, resize=change, wanted=wanted, location=location)


def freedom_text(change: Resize) -> str:
    """Say in words who else moves with a channel count: `COUPLED with 'conv1', 'conv2'`."""
    where = f"axis {change.axis} of '{change.tensor}' is {change.freedom.value}"
    if change.lock:
        return f"{where} ({change.lock})"
    names = ", ".join(f"'{name}'" for name in change.layers)
    return f"{where}: {names} {'decides' if len(change.layers) == 1 else 'decide'} it"
