"""What planning finds out about a class of channel counts, and the words of the rules on sizes for it."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.ground.findings import Finding, Location, Resize, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.ground.words import and_more, quoted

FIX = "--fix does it after proof; --diff shows it first."
"""What to do about a class whose best size is another."""


class NewCost(NamedTuple):
    """What layers take with a class's new size that are of unknown cost now."""

    layers: tuple[str, ...]
    """The layers."""
    instructions: int
    """Predicted instructions of all of them."""


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
    became_known: tuple[NewCost, ...] = ()
    """For each target what layers take then whose cost is unknown now, as that of a layer that stops is."""

    @property
    def grows(self) -> bool:
        """Tell whether the class gets more channels."""
        return self.want > self.group.size

    @property
    def shrinks(self) -> bool:
        """Tell whether the class gets fewer channels."""
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
    gains = [f"{-gain:+,} on {target.cpu}" for gain, target in zip(fact.saved, fact.targets, strict=True)]
    for index, new in enumerate(fact.became_known):
        if new.layers:
            named = and_more(quoted(new.layers))
            gains[index] += f" and {new.instructions:,} for {named}, whose cost is unknown until then"
    return ", ".join(gains).replace(" on ", " predicted instructions on ", 1)


def saved_facts(fact: ClassFact) -> dict[str, str | int | float | bool]:
    """Saved instructions and added bytes, for programs."""
    saved: dict[str, str | int | float | bool] = {}
    for gain, whole, target in zip(fact.saved, fact.plan_saved, fact.targets, strict=True):
        saved |= {f"instructions_saved.{target.cpu}": gain, f"plan_instructions_saved.{target.cpu}": whole}
    for new, target in zip(fact.became_known, fact.targets, strict=bool(fact.became_known)):
        saved |= {f"became_known.{target.cpu}": new.instructions} if new.layers else {}
    return {**saved, "bytes_added": fact.bytes}


def dead_text(fact: ClassFact) -> str:
    """`of 16 channels 3 are constant and 2 are unread`."""
    size, counts = fact.group.size, [(fact.constants, "constant"), (fact.unread, "unread")]
    named = " and ".join(f"{number} are {word}" for number, word in counts if number)
    return f"of {size} channels {named}" if named else f"some of {size} channels can go"


def _layers(group: DimensionClass) -> str:
    names = quoted(decider.label for decider in group.deciders)
    return f"{and_more(names)} {'decides' if len(names) == 1 else 'decide'} it"
