"""What rules share to say: facts about a class, the file's problem, fixes, freedom, options of a quantizer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.dimensions import DimensionClass, Dimensions
from onnxlint_cmsis.ground.findings import Location, Resize, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom, Level, Target
from onnxlint_cmsis.ground.words import and_more, quoted
from onnxlint_cmsis.lower.layer import Channel, Layer
from onnxlint_cmsis.lower.quantization import AffineQuantization
from onnxlint_cmsis.model.axes import Axis, leaves, resized
from onnxlint_cmsis.model.graph import Graph

if TYPE_CHECKING:
    from onnxlint_cmsis.ground.findings import Finding


# What planning finds out about one class of channel counts, and what the rules on sizes share to say it.


SHOWN = 3
"""Layers that a message names."""

FIX = "--fix does it after proof; --diff shows it first."
"""What to do about a class whose best size is another."""


class ClassFact(NamedTuple):
    """One class with the size that a policy gives it; the present one where it is LOCKED and has dead channels."""

    group: DimensionClass
    """The class."""
    want: int
    """Size that the policy gives the class."""
    location: Location
    """The first layer that decides or reads it."""
    targets: tuple[Target, ...]
    """CPUs that were planned for."""
    constants: int = 0
    """Channels that hold the same value for every input; 0 where weights were not read."""
    unread: int = 0
    """Channels that no layer reads."""
    tensor: str = ""
    """Tensor that carries the class, alone where there is one."""
    axis: int = 0
    """Axis of that tensor."""
    saved: tuple[int, ...] = ()
    """Predicted instructions that the size saves on each target, all other classes changed."""
    measured: tuple[str, ...] = ()
    """Builds that the predictions were measured on, where those are of other releases than the targets'."""
    bytes: int = 0
    """Bytes that the constants grow by."""
    plan_saved: tuple[int, ...] = ()
    """Predicted instructions that all changes of the plan save together on each target."""
    repaired: tuple[tuple[str, str], ...] = ()
    """Hazards that the size steps around, each with its node: `conv-1xn-wrong-values`, `row`."""

    @property
    def grows(self) -> bool:
        """Whether the class gets more channels."""
        return self.want > self.group.size

    @property
    def shrinks(self) -> bool:
        """Whether the class gets fewer channels."""
        return self.want < self.group.size


def about_class(fact: ClassFact, text: str) -> Statement:
    """Say something of a class; `text` is what follows `Conv 'name'`."""
    layer = (fact.group.deciders or fact.group.readers)[0]
    labels = tuple(target.label for target in fact.targets)
    return Statement(f"{layer.op_type} '{layer.label}': {text}", fact.location, targets=labels)


def about_size(fact: ClassFact, what: str) -> Statement:
    """Say what a new size gives the whole model if all other classes change too; `what` names the change."""
    group = fact.group
    text = f"{what}: {price_text(fact)}. {group.freedom.value}: {_layers(group)}."
    names = tuple(decider.label for decider in group.deciders)
    resize = Resize("output_dims.c", fact.tensor, fact.axis, group.size, fact.want, group.freedom, names)
    facts = {**saved_facts(fact), "fixable": True}
    brief = about_class(fact, f"{what}.").message
    return replace(about_class(fact, text), resize=resize, properties=facts, remedy=FIX, brief=brief)


def unpromised(finding: Finding) -> Finding:
    """A finding on a size of a model that no fix can change: the same without the word that --fix does it."""
    properties = {name: value for name, value in finding.properties.items() if name != "fixable"}
    return replace(finding, properties=properties, remedy="" if finding.remedy == FIX else finding.remedy)


def price_text(fact: ClassFact) -> str:
    """`-1,234 predicted instructions on cortex-m4 (not cycles), +16 bytes`."""
    where = f", measured on {' and '.join(fact.measured)}" if fact.measured else ""
    return f"{_gains(fact)} (not cycles{where}), {fact.bytes:+,} bytes"


def brief_price(fact: ClassFact) -> str:
    """`-1,234 predicted instructions on cortex-m4, +16 bytes`, where a summary below says that these are no cycles."""
    return f"{_gains(fact)}, {fact.bytes:+,} bytes"


def _gains(fact: ClassFact) -> str:
    gains = ", ".join(f"{-gain:+,} on {target.cpu}" for gain, target in zip(fact.saved, fact.targets, strict=True))
    return gains.replace(" on ", " predicted instructions on ", 1)


def saved_facts(fact: ClassFact) -> dict[str, str | int | float | bool]:
    """Saved instructions and added bytes, for programs."""
    saved: dict[str, str | int | float | bool] = {}
    for gain, whole, target in zip(fact.saved, fact.plan_saved, fact.targets, strict=True):
        saved |= {f"instructions_saved.{target.cpu}": gain, f"plan_instructions_saved.{target.cpu}": whole}
    return {**saved, "bytes_added": fact.bytes}


def dead_text(fact: ClassFact) -> str:
    """`of 16 channels 3 are constant and 2 are unread`."""
    size, counts = fact.group.size, [(fact.constants, "constant"), (fact.unread, "unread")]
    named = " and ".join(f"{number} are {word}" for number, word in counts if number)
    return f"of {size} channels {named}" if named else f"some of {size} channels can go"


def _layers(group: DimensionClass) -> str:
    names = quoted(decider.label for decider in group.deciders)
    return f"{and_more(names, SHOWN)} {'decides' if len(names) == 1 else 'decide'} it"


# What the rules of scope FILE share: one message about one place.


class FileProblem(NamedTuple):
    """What is wrong with a file, or with a node of it."""

    message: str
    """What was found and what is allowed."""
    location: Location
    """The file, or the node."""
    level: Level | None = None
    """A milder level than the rule's; None for the rule's."""
    group: str = ""
    """Problems of one group are reported as one. Empty for one that stands alone."""
    do: str = ""
    """What mends it, as a sentence; empty where the rule says it."""


_PARTICULARS = r"`[^`]*`|'[^']*'|\d+(?:, \d+)*"


def group_of(message: str) -> str:
    """What is the same in messages on equal problems: no names, no numbers."""
    return re.sub(_PARTICULARS, "#", message)


class FileCheck(NamedTuple):
    """The problems of a file that a rule claims."""

    do: str
    """What to do about those that do not say it, as a sentence."""

    def __call__(self, problem: FileProblem) -> Iterator[Statement]:
        """Say what is wrong."""
        text = f"{problem.message.removesuffix('.')}."
        said = Statement(text, problem.location, level=problem.level, group=problem.group)
        yield replace(said, remedy=problem.do or self.do)


# What a fix does to channel counts, and under which policies; an explicit table. A rule's row names its action.


class FixAction(NamedTuple):
    """One reason to change a channel count."""

    name: str
    """Name, in one word."""
    policies: tuple[str, ...]
    """Values of --fix-policy under which it is done."""
    what: str
    """What it does, as a clause without subject."""
    asked: bool = False
    """Whether it is done only where the settings name the rule, since it saves nothing."""


REPAIR = FixAction(
    "repair",
    ("faster", "route", "align"),
    "gives channels a count at which no kernel returns an error or wrong values, or runs past a buffer",
)
ROUTE = FixAction("route", ("route",), "adds channels until a routing condition holds")
GROW = FixAction(
    "grow",
    ("faster", "align"),
    "adds channels where that saves predicted instructions; with the policy align up to the multiple",
)
REMOVE = FixAction("remove", ("faster",), "takes out channels that are constant or unread")
REWRITE = FixAction("rewrite", ("faster", "route", "align"), "rewrites nodes so that the same is computed without it")
RETYPE = FixAction(
    "retype",
    ("faster", "route", "align"),
    "makes int8 of uint8, where `fixable` or `extend-fixable` names the rule (--fixable CNN504): it saves nothing",
    asked=True,
)
RESCALE = FixAction(
    "rescale",
    ("faster", "route", "align"),
    "changes scales and zero-points, with --unsafe-fixes: outputs change by at most one step on the inputs tried",
)
PLAN = FixAction(
    "plan",
    ("faster", "route", "align"),
    "writes a memory plan into the file, with --ram or --board; the graph stays as it is",
)

ACTIONS = (REPAIR, ROUTE, GROW, REMOVE, REWRITE, RETYPE, RESCALE, PLAN)


# Whether a layer's channel count may change: the class behind it, who else decides it, or what locks it.


_ORDER = (Freedom.FREE, Freedom.COUPLED, Freedom.LOCKED)


def resize(dimensions: Dimensions, layer: Layer, variable: str, want: int) -> Resize:
    """Describe the change of a channel count to `want`.

    An axis made of several classes (a concatenation, a grid) changes by one of them: the freest whose lanes add up.
    """
    channel = layer.channels[variable]
    have = layer.call.variables()[variable] or 0
    group, lock = _class_behind(dimensions, layer, variable, (want - have) // channel.factor)
    names = tuple(decider.label for decider in group.deciders) if group else ()
    if group is not None and group.freedom is not Freedom.LOCKED:
        return Resize(variable, channel.tensor, channel.axis, have, want, group.freedom, names)
    return Resize(variable, channel.tensor, channel.axis, have, want, Freedom.LOCKED, names, lock)


def _class_behind(dimensions: Dimensions, layer: Layer, variable: str, more: int) -> tuple[DimensionClass | None, str]:
    """The class to change, or the reason why there is none."""
    channel = layer.channels[variable]
    if variable == "ch_mult":
        group = dimensions.multiplier_class(layer.node.index)
        return group, _first_lock(group, dimensions, channel, "the layer has no multiplier")
    axes = dimensions.axes(channel.tensor)
    if axes is None:
        return None, f"the rank of '{channel.tensor}' is unknown"
    groups = [group for group in _changeable(dimensions, axes[channel.axis], more) if group]
    group = min(groups, key=lambda group: _ORDER.index(group.freedom), default=None)
    reason = f"its structure {dimensions.channel_text(channel.tensor, channel.axis)} does not reach the size"
    return group, _first_lock(group, dimensions, channel, reason)


def _changeable(dimensions: Dimensions, axis: Axis, more: int) -> list[DimensionClass]:
    """Classes of an axis that can grow so that the axis grows by `more` elements."""
    groups = []
    for leaf in leaves(axis):
        if leaf >= len(dimensions.classes) or axis.size is None:
            continue
        group = dimensions.classes[leaf]
        one_more = resized(axis, {leaf: group.size + 1})
        if one_more is not None and more % (one_more - axis.size) == 0:
            groups.append(group)
    return groups


def _first_lock(group: DimensionClass | None, dimensions: Dimensions, channel: Channel, otherwise: str) -> str:
    if group is not None and group.locks:
        return str(group.locks[0])
    locks = dimensions.locks(channel.tensor, channel.axis) if dimensions.axes(channel.tensor) else ()
    return str(locks[0]) if locks else otherwise


# Which program quantized a model, and how its advice is put into words.


ONNX_RUNTIME = "onnx.quantize"
"""`producer_name` that `onnxruntime.quantization` writes (quant_utils.py)."""
LONGEST_OPTION = 130
"""Characters of an option that a message holds: one tensor's numbers."""
_WITH = ": with ONNX Runtime's quantizer, "
_OVERRIDES = "TensorQuantOverrides"
_ENDING = r"(_QuantizeLinear_Input|_(Dequ|Qu)antizeLinear_Output|_(de)?quantized)(_\d+)?$"
"""What ONNX Runtime's quantizer puts behind the name of a tensor of the float model."""


def advice(graph: Graph, wanted: str, option: str = "") -> str:
    """What to change: the property, and the option of ONNX Runtime's quantizer where that wrote the model."""
    if graph.producer != ONNX_RUNTIME or not option:
        return f"{wanted}."
    return f"{wanted}{_WITH}{option}."


def brief_advice(text: str) -> str:
    """Advice whose option stands in brackets; `--explain` shows that of single tensors."""
    wanted, mark, option = text.removesuffix(".").partition(_WITH)
    if not mark:
        return text
    return f"{wanted} (see --explain)." if _OVERRIDES in option else f"{wanted} (ONNX Runtime: {option})."


def option_apart(text: str) -> tuple[str, str]:
    """Advice whose option is too long for a message, and that option; the advice and nothing where it is short."""
    head, mark, option = text.partition("extra_options=")
    if not mark or len(option) <= LONGEST_OPTION:
        return text, ""
    return f"{head}TensorQuantOverrides (--explain shows it; in JSON it is `option`).", mark + option.removesuffix(".")


def float_name(tensor: str) -> str:
    """Name that a tensor of a quantized model had in the float model, which options refer to."""
    return re.sub(_ENDING, "", tensor)


def overrides(wanted: Mapping[str, AffineQuantization]) -> str:
    """Option that gives tensors of the float model a scale and zero-point each."""
    entries = [
        f'"{float_name(tensor)}": [{{"scale": np.array({numbers.scale:.9g}, np.float32), '
        f'"zero_point": np.array({(numbers.zero_points or (0,))[0]}, np.{numbers.elem_type})}}]'
        for tensor, numbers in wanted.items()
    ]
    return f'extra_options={{"TensorQuantOverrides": {{{", ".join(entries)}}}}}'
