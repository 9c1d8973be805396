"""Findings: what is said about one place of one model, and where that place is."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.records import dataclass
from onnxlint_cmsis.ground.types import Freedom, Level, Source
from onnxlint_cmsis.ground.words import RETRAIN

MEASURED = "measured."
"""Start of the properties that say what measured pairs of layers gained on each CPU."""
UNSAFELY = "fixable_unsafely"
"""Property of a finding that a fix answers with --unsafe-fixes alone."""

AFTER_PROOF = "fixable_after_proof"
"""Property of such a finding that a fix answers without --unsafe-fixes too, where ONNX Runtime's outputs then stay."""

OPEN = "open_effect"
"""Property of a finding on sizes that are not known: the worst effect that they can have."""

PRICE = "fix_price"
"""Property of a finding that a fix answers: what the whole model takes before and after the fix, in words."""

PROMISES = ("fixable", UNSAFELY, AFTER_PROOF)
"""Properties that say what a fix does about a finding."""


class Effect(str, Enum):
    """What a finding does to whoever runs the model, the worst first."""

    STOPS = "stops"
    """The model does not load, or a kernel returns an error."""
    WRONG = "wrong results"
    """No error is seen; values are wrong, or memory beside a buffer is read or written."""
    DOES_NOT_FIT = "does not fit"
    """RAM, flash or stack is too small."""
    NO_KERNEL = "no kernel"
    """No kernel is known that computes a layer: the application has to bring one."""
    INVALID = "invalid file"
    """The file is damaged or lacks data, which has to be mended first."""
    MAY_FAIL = "may fail"
    """It may stop or give wrong values: a build, an input or what a converter writes decides."""
    UNKNOWN = "unknown"
    """What happens depends on what is not known, such as a size."""
    REFERENCE = "in reference code"
    """Reference code computes it, slower than CMSIS-NN would."""
    COSTS = "costs"
    """It runs and is right, and could take less."""
    NOTE = "note"
    """Nothing happens on the device."""

    @property
    def rank(self) -> int:
        """Place in this order, 0 for the worst."""
        return _RANKS[self]

    @property
    def decides(self) -> bool:
        """Tell whether the model does not run there or may not be right, so that the verdict is about it."""
        return self.rank <= Effect.UNKNOWN.rank


_RANKS = {effect: rank for rank, effect in enumerate(Effect)}


class Location(NamedTuple):
    """Where in a model a finding is."""

    path: str
    """File as the user named it."""
    node: str = ""
    """Node name, or `Conv#12` (operator and position) where the model gives none; empty for the whole file."""
    op_type: str = ""
    """ONNX operator."""
    tensor: str = ""
    """Tensor whose dimension the finding speaks of."""
    graph: str = ""
    """Path of enclosing subgraphs or functions; empty for the main graph."""
    offset: int = -1
    """First byte of the node in the file; -1 where unknown."""
    length: int = -1
    """Bytes of the node in the file; -1 where unknown."""


class PythonPlace(NamedTuple):
    """Where in a PyTorch program a node was written."""

    module: str
    """Path of the module: `encoder.0.conv`; empty where unknown."""
    file: str
    """Python file as the exporter names it; empty where unknown."""
    line: int
    """Line in that file, 0 where unknown."""

    @property
    def text(self) -> str:
        """`models.py:46`; empty where unknown."""
        return f"{self.file.rpartition('/')[2]}:{self.line}" if self.file else ""


class Resize(NamedTuple):
    """A channel count within reach of a better kernel, and whether it may change."""

    variable: str
    """CMSIS-NN's name: `input_dims.c`, `ch_mult`."""
    tensor: str
    """Tensor that carries the dimension."""
    axis: int
    """Axis of the tensor."""
    have: int
    """Size now."""
    want: int
    """Nearest size above that satisfies the condition."""
    freedom: Freedom
    """FREE, COUPLED or LOCKED."""
    layers: tuple[str, ...] = ()
    """Layers whose weights decide the size."""
    lock: str = ""
    """Where LOCKED: the node and the reason."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Content:
    """What is said about one place of one model."""

    message: str
    """What is the matter: node, operator, numbers, condition."""
    location: Location
    """Where."""
    targets: tuple[str, ...] = ()
    """Labels of the targets it holds for; empty where it does not depend on a target."""
    resize: Resize | None = None
    """The channel count it asks for, if any."""
    taken: str = ""
    """Kernel that runs now."""
    wanted: str = ""
    """Kernel that would run."""
    sources: tuple[Source, ...] = ()
    """C source the statement rests on."""
    properties: dict[str, str | int | float | bool] = field(default_factory=dict, hash=False)
    """Further facts for JSON and SARIF."""
    cause: str = ""
    """Why, a key of the causes of its rule; empty where the rule has none."""
    group: str = ""
    """Findings of one rule, level and group are reported as one. Empty where it stands alone."""
    remedy: str = ""
    """What to do about it, as sentences."""
    brief: str = ""
    """The message without what people need only when they look closer; empty where there is no such part."""
    brief_remedy: str = ""
    """The remedy without what people need only when they look closer; empty where there is no such part."""

    @property
    def text(self) -> str:
        """What is the matter and what to do about it."""
        return f"{self.message} {self.mending()}".strip()

    def mending(self, *, brief: bool = False) -> str:
        """The remedy, and whether a fix applies it; empty for neither."""
        remedy = (brief and self.brief_remedy) or self.remedy
        hazard, price = "hazard" in self.properties, self.properties.get(PRICE)
        whole = f" In all: {price}." if price else ""
        if self.properties.get(AFTER_PROOF):
            fix = "--fix does it where ONNX Runtime's outputs stay the same, else --fix --unsafe-fixes."
        elif self.properties.get(UNSAFELY):
            does = "adds a Pad node behind the input instead" if hazard else "does it where outputs change by one step"
            fix = f"--fix --unsafe-fixes {does}{'' if hazard else ' at most'}."
        elif self.properties.get("fixable") and "--fix" not in remedy:
            fix = f"--fix {'repairs' if hazard else 'does'} it.{whole}"
        else:
            return f"{remedy}{whole}"
        if RETRAIN in remedy:
            return f"{fix} Or by hand: {remedy}"
        return f"{remedy} {fix}".strip()


@dataclass(frozen=True, eq=False, repr=False)
class Statement(Content):
    """What a check says; the row of its rule makes a finding of it."""

    level: Level | None = None
    """A milder level than the rule's; None for the rule's."""
    effect: Effect | None = None
    """Another effect than the rule's; None for the rule's, or what is left of it at a milder level."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RuleStamp:
    """The rule that a finding belongs to."""

    code: str
    """Stable code."""
    name: str
    """Kebab name."""
    level: Level
    """note, warning or error."""


@dataclass(frozen=True)
class Finding(Content, RuleStamp):
    """One thing the linter says: a rule, then what it says about one place of one model."""

    others: tuple[Finding, ...] = ()
    """Findings of its group at other places, which this one stands for as well."""
    asks: bool = False
    """Whether it asks the reader for something, so that reports for people show it though it is a note."""
    effect: Effect = Effect.NOTE
    """What it does to whoever runs the model."""

    @property
    def selector(self) -> str:
        """What selects it in settings and suppressions: its code, with its cause where it has one (`CNN401[rank]`)."""
        return f"{self.code}[{self.cause}]" if self.cause else self.code

    @property
    def decides(self) -> bool:
        """Tell whether its effect does (`Effect.decides`)."""
        return self.effect.decides

    @property
    def locked(self) -> bool:
        """Tell whether it is about a channel count that may not change."""
        bound = self.resize is not None and self.resize.freedom is Freedom.LOCKED
        return bound or self.properties.get("freedom") == Freedom.LOCKED.value

    @property
    def complete(self) -> str:
        """The text with targets and sources, for readers that show nothing else."""
        brackets = [f"on {targets_text(self.targets)}"] if self.targets else []
        brackets += [str(source) for source in self.sources]
        return f"{self.text} [{'; '.join(brackets)}]" if brackets else self.text


def targets_text(labels: tuple[str, ...]) -> str:
    """Targets with what they share said once: `cortex-m4, cortex-m55 (CMSIS-NN 6.0.0 and 7.0.0, gcc)`."""
    cpus: dict[str, list[str]] = {}
    for label in labels:
        cpu, _, rest = label.partition(", ")
        cpus.setdefault(rest, []).append(cpu)
    releases: dict[tuple[str, str], list[str]] = {}
    for rest, names in cpus.items():
        library, _, built = rest.partition(", ")
        releases.setdefault((", ".join(names), built), []).append(library)
    texts = []
    for (names_text, built), (first, *more) in releases.items():
        *names, last = (first, *(name.removeprefix("CMSIS-NN ") for name in more))
        library = f"{', '.join(names)} and {last}" if names else last
        texts.append(f"{names_text} ({', '.join(filter(None, (library, built)))})")
    return ", ".join(texts)
