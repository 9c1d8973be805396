"""Results of linting and fixing one file, as every output shows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict import rounded
from onnxlint_cmsis.ground.findings import PROMISES, UNSAFELY, Finding, PythonPlace
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.ground.words import and_more

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.fix_results import FixResult
    from onnxlint_cmsis.analysis.verdict import TargetVerdict
    from onnxlint_cmsis.cmsis_nn.time import PredictedTime


# Short names for layers: what tells them apart in their model. Converters join whole paths to names.


LONGEST = 24
"""Characters of a name that is short enough as it is, unless it is a path of PyTorch's exporter."""
QUOTED = r"(?<!\w)'([^'\n]+)'(?!\w)"
"""A name in a message; an apostrophe is no quote."""
WIDEST = 56
"""Characters of a name in text; of a longer one without a short form the two ends."""
MOST_PARTS = 5
"""Last parts of a path that a short form has at most."""
_DOTS = "..."
_ENDING = r"(1_prequant|_prequant|_quant|_dequant)?(__\d+)?$"
"""What tf2onnx and quantizers append to a name."""
_TITLE = r"[A-Z][A-Za-z0-9]*"
"""Operator without a number behind it."""


def short_names(layers: Sequence[str], others: Iterable[str] = (), modules: Mapping[str, str] = {}) -> dict[str, str]:
    """Short forms of those names that have one; no two names share one, and none is a name of the model.

    `layers` are all nodes that compute, in file order; `others` are further names, such as those of tensors;
    `modules` are the modules that layers were exported from, as far as the file names them.
    """
    names = list(dict.fromkeys((*layers, *others)))
    first = list(dict.fromkeys(layers))
    owned, endings, taken = _owned(first), _endings(names), {*names}
    short_of: dict[str, str] = {}
    for group in (names, first):  # layers last: their forms depend on no other name
        dotted = {name: _dotted(name) for name in group}
        inner = {module.rpartition(".")[0] for module, _ in dotted.values()}
        wanted = {
            name: modules.get(name) or _joined(*dotted[name], inner) or owned.get(name, "") or endings.get(name, "")
            for name in group
        }
        used = Counter(wanted.values())
        forms = {
            name: short
            for name, short in wanted.items()
            if short and (len(short) < len(name) or name in modules) and used[short] == 1 and short not in taken
        }
        of_layers = {*forms.values()} if group is first else set()
        short_of = {
            name: short for name, short in short_of.items() if name not in first and short not in of_layers
        } | forms
    cuts = distinct_cuts([short_of.get(name, name) for name in names], WIDEST, taken)
    shown = {name: cuts.get(short_of.get(name, name), short_of.get(name, name)) for name in names}
    return {name: text for name, text in shown.items() if text != name}


def distinct_cuts(texts: Iterable[str], width: int, taken: Iterable[str] = ()) -> dict[str, str]:
    """The texts that are too long without their middle, each different from the others and from those `taken`."""
    every = list(dict.fromkeys(texts))
    used = {*taken, *(text for text in every if len(text) <= width)}
    short: dict[str, str] = {}
    for text in (text for text in every if len(text) > width):
        short[text] = next(cut for cut in _cuts(text, width) if cut not in used)
        used.add(short[text])
    return short


def cut(text: str, width: int) -> str:
    """The text without its middle where it is too long."""
    return text if len(text) <= width else next(_cuts(text, width))


def _cuts(text: str, width: int) -> Iterator[str]:
    """Ways to shorten a text: its two ends, then with a number in place of the start of the second."""
    room = max(width - len(_DOTS), 2)
    for end in dict.fromkeys((2 * room // 3, room // 3, room - 1)):
        yield f"{text[: room - end]}{_DOTS}{text[len(text) - end :]}"[:width]
    for number in count(2):
        tag = f"~{number}"
        yield f"{text[: max(width - len(tag), 0)]}{tag}"


def _joined(module: str, operator: str, inner: set[str]) -> str:
    """`encoder.0.conv`; with the operator where the module holds further modules, or the operator a number."""
    if module and module not in inner and re.fullmatch(_TITLE, operator):
        return module
    return f"{module}.{operator}" if module else operator


def _dotted(name: str) -> tuple[str, str]:
    """Module and operator in a name of PyTorch's exporter: `/encoder/encoder.0/conv/Conv`; both empty elsewhere."""
    if not name.startswith("/"):
        return "", ""
    *parts, operator = re.sub(_ENDING, "", name[1:]).split("/")
    module = ""
    for part in parts:
        module = part if not module or part.startswith(f"{module}.") else f"{module}.{part}"
    return module, operator


def _owned(layers: Sequence[str]) -> dict[str, str]:
    """For each long name the part that it has more often than any other layer: `conv2d_13` of a fused name."""
    counts: dict[str, dict[str, int]] = {}
    for name in layers:
        for part in (re.sub(_ENDING, "", part) for part in re.split("[;/]", name) if part):
            of_part = counts.setdefault(part, {})
            of_part[name] = of_part.get(name, 0) + 1
    best: dict[str, tuple[int, str]] = {}
    for part, of_part in counts.items():
        (owner, most), *rest = sorted(of_part.items(), key=lambda item: -item[1])[:2]
        alone = not rest or rest[0][1] != most
        if alone and len(owner) > LONGEST and of_part[owner] >= best.get(owner, (0, ""))[0]:
            best[owner] = of_part[owner], part
    return {name: part for name, (_, part) in best.items()}


def _endings(names: Sequence[str]) -> dict[str, str]:
    """For each long path its fewest last parts, two or more, that no other name ends in; two where all are shared."""
    paths = {name: name.rsplit(";", maxsplit=1)[-1].split("/") for name in names}
    paths = {name: parts for name, parts in paths.items() if len(name) > LONGEST and len(parts) > 2}
    counts = range(2, MOST_PARTS + 1)
    used = Counter("/".join(parts[-number:]) for parts in paths.values() for number in counts if number < len(parts))
    endings = {}
    for name, parts in paths.items():
        tails = ["/".join(parts[-number:]) for number in counts if number < len(parts)]
        endings[name] = next((tail for tail in tails if used[tail] == 1), tails[0])
    return endings


# Fingerprints of findings that survive unrelated edits of the model: no offsets, no channel counts, no path.


_DIGITS = 32


def identity(finding: Finding) -> str:
    """Hash of the rule with its cause, and of the subject: subgraph, node, tensor, resized variable.

    Of findings that are reported as one: hash of the rule with its cause, and of their group.
    """
    import hashlib

    where, resize = finding.location, finding.resize
    subject = (where.graph, where.node, where.tensor, resize.variable if resize else "")
    parts = (finding.selector, *(("group", finding.group) if finding.others else subject))
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def fingerprints(findings: Sequence[Finding]) -> tuple[str, ...]:
    """`identity:occurrence` of each finding of one file; equal identities are numbered from 1 in order."""
    seen: dict[str, int] = {}
    result = []
    for finding in findings:
        key = identity(finding)
        seen[key] = seen.get(key, 0) + 1
        result.append(f"{key}:{seen[key]}")
    return tuple(result)


# Findings of one group as one, where they are reported; suppressions and baselines speak of each by itself.


SHOWN = 2
"""Other places that a message names."""
SAVED = "instructions_saved."
"""Start of the properties that have the predicted instructions saved on each CPU."""
PLAN = "plan_"
"""What stands before these for all changes of a plan together; those of single classes do not add up."""


def grouped(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of one file by what they do, the worst first; those of one group as one at the first's place.

    They have one rule, cause, level, effect, group and set of targets, and a fix does the same about them.
    """
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        alone = () if finding.group else (number,)
        promised = tuple(bool(finding.properties.get(name)) for name in PROMISES)
        key = (finding.selector, finding.level, finding.effect, finding.group, finding.targets, promised, *alone)
        groups.setdefault(key, []).append(finding)
    return tuple(sorted((_joint(group) for group in groups.values()), key=lambda finding: finding.effect.rank))


def _joint(group: list[Finding]) -> Finding:
    """The first finding, with a sentence that names the places of the others."""
    first, *others = group
    if not others:
        return first
    more = f"The same holds {'for ' if _named(others) else ''}{_places(others)}."
    message = " ".join(filter(None, (f"{first.message.removesuffix('.')}. {more}", _gain(first, PLAN))))
    return replace(first, message=message, others=tuple(others))


def brief_text(finding: Finding) -> str:
    """What is the matter in few words; what all changes of a plan save comes first."""
    if not finding.brief:
        return finding.message
    plan = _gain(finding, PLAN, brief=True)
    if finding.others:
        return " ".join(filter(None, (plan, finding.brief, f"Also {_places([*finding.others])}.")))
    gain = _gain(finding, "", brief=True)
    whole = {name: value for name, value in finding.properties.items() if name.startswith(f"{PLAN}{SAVED}")}
    alone = all(finding.properties.get(name.removeprefix(PLAN)) == value for name, value in whole.items())
    said = f"{finding.brief.removesuffix('.')}: {gain}" if gain else finding.brief
    return said if alone else f"{plan} {said}"


def _places(others: list[Finding]) -> str:
    """`'b', 'c', 'd' and 28 more`; `2 more times` where none has a name."""
    named = _named(others)
    rest = len(others) - len(named)
    if not named:
        return f"{rest} more {'time' if rest == 1 else 'times'}"
    return and_more(named, len(named), len(others))


def _named(others: list[Finding]) -> list[str]:
    """The first names, in quotes."""
    names = list(dict.fromkeys(finding.location.node or finding.location.tensor for finding in others))
    return [f"'{name}'" for name in names if name][:SHOWN]


def _gain(finding: Finding, of: str, *, brief: bool = False) -> str:
    """What its class saves, `-1,234 predicted instructions on cortex-m4, +16 bytes.`; with PLAN what the plan does.

    In brief three digits for each of its targets, in their order: `-1.63M / -271k predicted instructions`.
    """
    start = f"{of}{SAVED}"
    saved = {name.removeprefix(start): gain for name, gain in finding.properties.items() if name.startswith(start)}
    if not saved:
        return ""
    short = " / ".join(f"{'+' if int(gain) < 0 else '-'}{rounded(abs(int(gain)))}" for gain in saved.values())
    exact = ", ".join(f"{-int(gain):+,} on {cpu}" for cpu, gain in saved.items())
    gains = f"{short} predicted instructions" if brief else exact.replace(" on ", " predicted instructions on ", 1)
    if not of:
        return f"{gains}, {finding.properties['bytes_added']:+,} bytes."
    if brief and finding.properties.get("fixable") and all(int(gain) > 0 for gain in saved.values()):
        return f"--fix saves {gains.replace('-', '').replace(' predicted', '')} in all."
    return f"{'All that --fix changes' if finding.properties.get('fixable') else 'All such changes'}: {gains}."


# What linting tells of a model as a whole, as plain data for every reporter.


class LayerShare(NamedTuple):
    """The layers of one verdict on one target."""

    layers: int
    """How many."""
    macs: int
    """Their multiply-accumulates, as far as these are known."""
    nodes: tuple[str, ...]
    """Their nodes; none for CMSIS-NN, whose are the rest."""


class TargetSummary(NamedTuple):
    """A model on one target."""

    target: str
    """Label."""
    cmsis_nn: LayerShare
    """Layers that functions of CMSIS-NN compute."""
    reference_code: LayerShare
    """Layers that reference code computes; a range of its instructions is known at most."""
    refused: LayerShare
    """Layers that no code is known to compute, or that the runtime refuses."""
    undecided: LayerShare
    """Layers that a size leaves open."""
    instructions: int
    """Predicted instructions (not cycles) of the layers whose cost is one number."""
    measured_on: str
    """Build that the instructions were measured on."""
    unknown_cost: int
    """Layers with neither a number nor a range, which the instructions leave out."""
    constants: int
    """Bytes of weights, biases, multipliers and shifts, as far as sizes are known."""
    flash: int
    """Bytes that lie in flash beside code: the constants, of a file that a runtime reads on the device the file."""
    scratch: int | None
    """Bytes of the largest scratch buffer, as far as sizes are known; None where the runtime asks for unknown ones."""
    arena_used: int | None = None
    """Bytes of the runtime's arena, to the byte; None where the file does not tell."""
    arena_needed: int | None = None
    """Bytes that have to be given for it."""
    arena_to_write: int | None = None
    """Bytes to declare for it, with the runtime's alignment."""
    time: PredictedTime | None = None
    """What a run takes at the target's clock; None where no clock is given."""
    instructions_range: tuple[int, int] | None = None
    """Least and most instructions, those of layers and copies with a range among them; None where none has a range."""
    cmsis_nn_share: tuple[float, float] | None = None
    """Least and most part of the instructions that CMSIS-NN retires; None where no other code is known to run, or where
    the cost of a layer is not known."""

    @property
    def cost_known(self) -> bool:
        """Whether the cost of a layer is known, or there is no layer."""
        shares = (self.cmsis_nn, self.reference_code, self.refused, self.undecided)
        return not self.unknown_cost or self.unknown_cost < sum(share.layers for share in shares)


class FileSummary(NamedTuple):
    """A model on all its targets."""

    targets: tuple[TargetSummary, ...]
    """Each target."""
    macs: int
    """Multiply-accumulates of all layers, as far as these are known."""
    unknown_macs: int
    """Layers whose multiply-accumulates are not known."""
    arena: int | None
    """Bytes of activations, at least: other runtimes lay them out in more. None where a size is unknown."""
    copies: tuple[str, ...] = ()
    """Copies between memory orders that the application makes, and for which no node stands."""


# Result of linting and fixing one file, from the engine to the reporters.


class FileResult(NamedTuple):
    """One file of a run."""

    path: str
    """The file as the user named it; reporters get it relative to the working directory where it is below it."""
    findings: tuple[Finding, ...]
    """Findings in file order, after selection and suppression; reporters get those that are to be shown."""
    fail_on: Level
    """Lowest level that fails the run for this file."""
    readable: bool = True
    """False where there was no model to analyse."""
    notes: tuple[str, ...] = ()
    """How the file was read, such as `analysed as the int8 model it will become`."""
    statistics: tuple[tuple[str, int], ...] = ()
    """Counts of the analysis, by name: nodes, layers, suppressed findings."""
    error: str = ""
    """Internal error that ended the analysis of the file, in one line."""
    model: bool = True
    """False for a configuration or baseline file that findings are about."""
    fix: FixResult | None = None
    """What came of fixing it; None where no fix was asked for."""
    skipped: tuple[str, ...] = ()
    """Codes of rules that did not run because the model is too large for them."""
    summary: FileSummary | None = None
    """What the model is and needs as a whole; None where it was not analysed."""
    verdicts: tuple[TargetVerdict, ...] = ()
    """Whether it runs on each target, and is right, whichever findings are shown; none for a file that is no model."""
    hidden: tuple[Finding, ...] = ()
    """Findings below the level that is shown."""
    names: Mapping[str, str] = {}
    """Short forms of names in the model, for people; only names that have one."""
    places: Mapping[str, PythonPlace] = {}
    """Where in a PyTorch program layers were written, by label."""
    matches: Mapping[str, int] = {}
    """Findings that each suppression of the configuration accepts here, by where it is written."""
    unfetched: bool = False
    """Whether constants lie in files beside a model that is no local file; they were not fetched."""
    left_out: tuple[str, ...] = ()
    """Those of the notes that say which checks did not run, or not to their end."""
    line: int = 1
    """Line of a C file on which the array begins that holds the model; 1 for a file of its own."""

    @property
    def told(self) -> tuple[Finding, ...]:
        """All findings, those below the level that is shown too."""
        return (*self.findings, *self.hidden)

    @property
    def fixable(self) -> int:
        """How many of them a fix would answer."""
        return sum(bool(finding.properties.get("fixable")) for finding in self.told)

    @property
    def fixable_unsafely(self) -> int:
        """How many more it would answer with --unsafe-fixes."""
        return sum(bool(finding.properties.get(UNSAFELY)) for finding in self.told)
