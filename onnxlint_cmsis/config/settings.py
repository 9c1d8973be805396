"""Every setting: its kind, checks, schema and default."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.cmsis_nn.releases import (
    COMPILERS,
    CPUS,
    DEFAULT_RELEASE,
    FAMILIES,
    INTEGER,
    LEGACY,
    REVIEWED,
    WRITTEN,
    normalise_release,
    parse_target,
    split_compiler,
)
from onnxlint_cmsis.config.keys import (
    BY_FORMAT,
    BYTE_UNITS,
    DEFAULT_TARGETS,
    EVERY_TARGET,
    FINDINGS,
    FIXING,
    FORMATS,
    JUDGED,
    LEAST,
    LEVELS,
    METADATA,
    MOST_HERTZ,
    ONE_CHANNEL,
    OUTPUT,
    POLICIES,
    READ_BY_PEOPLE,
    TARGETS,
    UNLIMITED,
    Glob,
    Key,
    byte_size,
    frequency,
    setting,
)
from onnxlint_cmsis.config.keys import HERTZ_UNITS as CLOCK_UNITS
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import AS_ASKED, PLACEMENTS, FloatCall, Level, MemoryRoom, Target
from onnxlint_cmsis.ground.words import alike, close_to
from onnxlint_cmsis.runtimes.runtime import AUTO, NAMES, Runtime, runtime_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onnxlint_cmsis.analysis.analysis import AnalysisSettings
    from onnxlint_cmsis.ground.findings import Finding


# Rule codes as users write them: codes, prefixes and kebab names; the rules that run, and their levels.


EVERY = "CNN"
_CODE = r"CNN[0-9]*"
_WITH_CAUSE = r"(?s)(.*?)\s*\[(.*)\]"


def resolve(text: str) -> str:
    """The code or prefix that a code, prefix or rule name stands for; ValueError names what exists.

    Behind a code or name may stand one of the rule's causes: `CNN401[rank]`.
    """
    wanted = text.strip()
    if wanted.upper() == EVERY:
        return EVERY
    from onnxlint_cmsis.checks.rule_registry import every_rule

    with_cause = re.fullmatch(_WITH_CAUSE, wanted)
    if with_cause:
        return _resolve_cause(text, *with_cause.groups())
    for rule in every_rule():
        if wanted.lower() == rule.name:
            return rule.code
    prefix = wanted.upper()
    if re.fullmatch(_CODE, prefix) and any(rule.code.startswith(prefix) for rule in every_rule()):
        return prefix
    raise ValueError(f"no rule has the code, prefix or name {text!r}; {_existing(wanted)}")


def _resolve_cause(text: str, rule: str, cause: str) -> str:
    """The code with a cause; ValueError names the causes that the rule has."""
    from onnxlint_cmsis.checks.rule_registry import every_rule

    code = resolve(rule)
    row = next((row for row in every_rule() if row.code == code), None)
    if row is None:
        raise ValueError(f"{text!r}: a cause stands behind a whole code or name, such as CNN401[rank]")
    if not row.causes:
        raise ValueError(f"{text!r}: {code} ({row.name}) has no causes")
    known = [known.key for known in row.causes]
    if cause.strip().lower() not in known:
        raise ValueError(f"{text!r}: {code} ({row.name}) has no cause {cause.strip()!r}; there are {', '.join(known)}")
    return f"{code}[{cause.strip().lower()}]"


def _existing(wanted: str) -> str:
    """The names that come close, or all codes."""
    from onnxlint_cmsis.checks.rule_registry import every_rule

    words = [word for rule in every_rule() for word in (rule.code, rule.name)]
    close = alike(wanted, words, cutoff=0.75)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"there are {', '.join(rule.code for rule in every_rule())}"


def longest(code: str, prefixes: Iterable[str]) -> int:
    """Length of the longest of the prefixes that the code starts with; -1 where none fits."""
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)


def enabled(code: str, settings: Settings, path: str) -> bool:
    """Whether the rule runs on the file: the longer prefix of select and ignore decides, ignore on a tie.

    `code` is that of a rule without causes, or a code with a cause.
    """
    selected, ignored = settings.select + settings.extend_select, settings.ignore + settings.extend_ignore
    if longest(code, selected) <= longest(code, ignored):
        return False
    return not any(longest(code, codes) >= 0 and glob.matches(path) for glob, codes in settings.per_file_ignores)


def fixable(settings: Settings, path: str) -> frozenset[str]:
    """Codes that a fix of the file may act on: their rules run on it, and fixable goes before unfixable.

    What has to be asked for is named more closely than as one of all rules.
    """
    from onnxlint_cmsis.checks.rule_registry import acting_rules

    able = settings.fixable + settings.extend_fixable
    return frozenset(
        rule.code
        for rule in acting_rules()  # none has causes
        if enabled(rule.code, settings, path)
        and longest(rule.code, able) > longest(rule.code, settings.unfixable)
        and not (rule.action and rule.action.asked and longest(rule.code, able) <= len(EVERY))
    )


def level_of(code: str, level: Level, settings: Settings) -> Level:
    """The level of a finding under the settings: the longest prefix wins, and a milder finding stays milder.

    `code` has the cause behind it where the rule has causes. A rule reports below its own level where nothing can be
    done about it; raising the rule leaves that as it is.
    """
    size = longest(code, settings.levels)
    if size < 0:
        return level
    from onnxlint_cmsis.checks.rule_registry import rule

    wanted = settings.levels[code[:size]]
    return wanted if level >= rule(code.partition("[")[0]).level else min(level, wanted)


def adjust(finding: Finding, settings: Settings) -> Finding | None:
    """The finding at the level the settings ask for, None where its rule does not run on the file."""
    if not enabled(finding.selector, settings, finding.location.path):
        return None
    level = level_of(finding.selector, finding.level, settings)
    if level == finding.level:
        return finding
    from dataclasses import replace

    return replace(finding, level=level)


# Boards whose name may stand for their RAM and flash: what the cited page says, and nothing more.


KIB = 1024
MIB = 1024 * KIB
MHZ = 1_000_000


class KnownBoard(NamedTuple):
    """One board."""

    name: str
    """Name in lower case, as its vendor writes it with dashes."""
    cpu: str
    """CPU of the core that runs the model."""
    ram: int
    """Bytes of RAM on the chip."""
    flash: int
    """Bytes of flash that code runs from."""
    clock: int
    """Hertz up to which the core runs; 0 where the page does not say it."""
    source: str
    """Page with the figures."""


_RIOT = "https://doc.riot-os.org/"
_ZEPHYR = "https://docs.zephyrproject.org/"
_ARDUINO = "https://github.com/arduino/docs-content/blob/main/content/hardware/03.nano/boards/"

KNOWN_BOARDS = (
    KnownBoard("nano-33-ble", "cortex-m4", 256 * KIB, MIB, 64 * MHZ, f"{_ARDUINO}nano-33-ble/tech-specs.yml"),
    KnownBoard("nucleo-f439zi", "cortex-m4", 256 * KIB, 2 * MIB, 180 * MHZ, f"{_RIOT}boards/nucleo-f439zi"),
    KnownBoard("nucleo-l433rc", "cortex-m4", 64 * KIB, 256 * KIB, 80 * MHZ, f"{_RIOT}boards/nucleo-l433rc"),
    KnownBoard("nucleo-l452re", "cortex-m4", 160 * KIB, 512 * KIB, 0, f"{_RIOT}boards/nucleo-l452re"),
    KnownBoard("nucleo-l4r5zi", "cortex-m4", 640 * KIB, 2 * MIB, 120 * MHZ, f"{_RIOT}boards/nucleo-l4r5zi"),
    KnownBoard("nucleo-l552ze-q", "cortex-m33", 256 * KIB, 512 * KIB, 110 * MHZ, f"{_RIOT}boards/nucleo-l552ze-q"),
    KnownBoard("nucleo-u575zi-q", "cortex-m33", 768 * KIB, 2 * MIB, 160 * MHZ, f"{_RIOT}boards/nucleo-u575zi-q"),
    KnownBoard(
        "rpi-pico",
        "cortex-m0+",
        264 * KIB,
        2 * MIB,
        133 * MHZ,
        f"{_ZEPHYR}3.7.0/boards/raspberrypi/rpi_pico/doc/index.html",
    ),
    KnownBoard(
        "rpi-pico2",
        "cortex-m33",
        520 * KIB,
        4 * MIB,
        150 * MHZ,
        f"{_ZEPHYR}4.1.0/boards/raspberrypi/rpi_pico2/doc/index.html",
    ),
    KnownBoard("stm32f746g-disco", "cortex-m7", 340 * KIB, MIB, 0, f"{_RIOT}group__boards__stm32f746g-disco.html"),
    KnownBoard(
        "stm32h747i-disco", "cortex-m7", MIB, 2 * MIB, 0, f"{_ZEPHYR}2.3.0/boards/arm/stm32h747i_disco/doc/index.html"
    ),
)
"""Boards in alphabetical order."""


def known_board(text: str) -> KnownBoard:
    """The board of a name; capitals and underscores count as small letters and dashes.

    Raises:
        ValueError: there is no such board; names those most alike, or all.

    """
    wanted = text.strip().lower().replace("_", "-")
    names = [board.name for board in KNOWN_BOARDS]
    if wanted not in names:
        near = alike(wanted, names)
        rest = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
        raise ValueError(f"board {text!r} is not known; {rest}; for another board give --ram and --flash")
    return KNOWN_BOARDS[names.index(wanted)]


# The table of settings: one row for each, and the frozen record that a file is linted with.


class Suppression(NamedTuple):
    """Accepted findings, from the configuration or the model."""

    rule: str
    """Code or prefix of codes."""
    path: Glob | None = None
    """Files it covers; None for every file of the configuration, or for the model that holds it."""
    node: str = ""
    """Node label the finding must have; empty for any."""
    graph: str | None = None
    """Enclosing subgraph or function the finding must be in; None for any."""
    tensor: str = ""
    """Tensor the finding must be about; empty for any."""
    reason: str = ""
    """Why it is accepted."""
    origin: str = ""
    """Where it is written: a configuration file, or the model or node that carries it."""


@dataclass(frozen=True)
class Settings:
    """Settings of one file: defaults, configuration file and command line resolved.

    Each field made by `setting` is one key: of the configuration file, the command line, --show-settings, the schema
    and docs/config.md. Its type is what the kind of the key makes of a value.
    """

    targets: tuple[Target, ...] = setting(
        "targets",
        [*DEFAULT_TARGETS],
        "CPUs that run the model: cortex-m4, m4+nodsp, m55+nomve. +nodsp and +nomve: the build switches these "
        "instructions off.",
        option="--target",
        group=TARGETS,
        metavar="CPU",
    )
    release: str = setting(
        "release", DEFAULT_RELEASE, "CMSIS-NN release.", option="--release", group=TARGETS, metavar="RELEASE"
    )
    api: str = setting(
        "choice",
        INTEGER.api,
        "Functions that are called: current (s8, s16, s4) or legacy (q7, q15). With legacy `release` is "
        "cmsis5-5.9.0 and `assume` is q7, unless they are set.",
        allowed=(INTEGER.api, LEGACY.api),
        option="--api",
        group=TARGETS,
    )
    runtime: Runtime = setting(
        "runtime",
        AUTO,
        "Who calls CMSIS-NN: direct (your application), tflm, executorch or tvm. @ and a commit or date choose a "
        "revision (tflm@2026-06). auto goes by the file: tflm for .tflite, executorch for .pte, else direct. A "
        "runtime brings its own CMSIS-NN, which is judged unless `release` is set.",
        option="--runtime",
        group=TARGETS,
        metavar="NAME[@VERSION]",
    )
    cmsis_nn_build: str = setting(
        "choice",
        "SPEED",
        "How TensorFlow Lite Micro's kernels are built. SPEED keeps sums of weights in the arena, SIZE works them"
        " out in each run (KERNELS_OPTIMIZED_FOR_SPEED, _SIZE), NONE has reference code alone.",
        allowed=("SPEED", "SIZE", "NONE"),
    )
    board: dict[str, KnownBoard] = setting(
        "board",
        "",
        "Board that stands for its RAM, flash, CPU and highest clock. `ram`, `flash`, `targets` and `clock` go "
        "before it. Text then has what to paste into an application of TensorFlow Lite Micro.",
        option="--board",
        group=TARGETS,
        metavar="[CPU=]NAME",
    )
    ram: dict[str, int] = setting(
        "memory",
        "",
        "RAM, for arena and scratch: 65536, 256K or 1M. K and KiB are 1,024 bytes, M and MiB 1,024 of those; kB "
        "is 1,000 bytes and MB 1,000,000. Without it no rule looks at RAM.",
        option="--ram",
        group=TARGETS,
        metavar="[CPU=]SIZE",
    )
    flash: dict[str, int] = setting(
        "memory",
        "",
        "Flash, for the model's constants. As `ram`.",
        option="--flash",
        group=TARGETS,
        metavar="[CPU=]SIZE",
    )
    stack: dict[str, int] = setting(
        "memory",
        "",
        "Stack for a scratch buffer, where the application calls CMSIS-NN itself. As `ram`.",
    )
    clock: dict[str, int] = setting(
        "frequency",
        "",
        "Clock, for a predicted time: 120MHz. The time is a range of milliseconds, for CPUs with public figures.",
        option="--clock",
        group=TARGETS,
        metavar="[CPU=]CLOCK",
    )
    memory: str = setting(
        "choice",
        PLACEMENTS[0],
        "Where activations and weights lie on a Cortex-M55, which narrows the time. tcm: both in tightly coupled "
        "memory; sram: activations in SRAM, weights in MRAM.",
        allowed=PLACEMENTS,
    )
    compiler: str = setting(
        "compiler",
        COMPILERS[0],
        "Compiler and its version: gcc@12.2, gcc@13.2, clang@19.1, armclang. Instructions are known for the first "
        "three; gcc without a version gives the range over both of its. Sources differ for armclang, and some versions "
        "of gcc make wrong code: without a version the finding says that yours may.",
        option="--compiler",
        group=TARGETS,
        metavar="CC[@VERSION]",
    )
    assume: str = setting(
        "choice",
        "s8",
        "Data type that a float model will have: s8, s16, s4, q7, q15, q7q15, f32 or f16. s16 has 16-bit "
        "activations, s4 4-bit weights; q7, q15 and q7q15 (16-bit activations, 8-bit weights in fully connected "
        "layers) go with the legacy API. With f32 and f16 `release` is main, unless it is set.",
        allowed=tuple(kind for family in FAMILIES for kind in family.types),
        option="--assume",
        group=JUDGED,
        metavar="TYPE",
    )
    float_weights: str = setting(
        "choice",
        "standard",
        "Form of the weights of f32 and f16 functions: standard, or packed (blocks of 4 outputs for f32 and of 8 "
        "for f16, ARM_NN_WEIGHT_FORMAT_NT_N_PACKED).",
        allowed=("standard", "packed"),
    )
    float_scratch: str = setting(
        "choice",
        "given",
        "Whether f32 and f16 functions are given the buffer that they ask for. Without one they take other kernels.",
        allowed=("given", "none"),
    )
    float_build: str = setting(
        "choice",
        "default",
        "Build of CMSIS-NN for f32 and f16. no-specialization (NN_DISABLE_SPECIALIZATION) leaves out kernels for "
        "single shapes.",
        allowed=("default", "no-specialization"),
    )
    float_contract: str = setting(
        "choice",
        "off",
        "How f32 and f16 functions multiply and add: off, as with -std=c99 to c17, or fast, in one instruction, as gcc "
        "does with no -std or -std=gnu17 (-ffp-contract). Costs depend on it.",
        allowed=("off", "fast"),
    )
    one_channel: str = setting(
        "choice",
        ONE_CHANNEL[0],
        "What converters make of a convolution with one group over one input channel.",
        allowed=ONE_CHANNEL,
    )
    input_shapes: dict[str, tuple[int | None, ...]] = setting(
        "shapes",
        {},
        "Open sizes of an input: x=1,?,9. A ? leaves one open.",
        option="--input-shape",
        group=JUDGED,
        metavar="NAME=SIZES",
        extends=True,
    )
    select: tuple[str, ...] = setting(
        "codes",
        ["CNN"],
        "Rules to run: codes, with a cause or not (CNN403[broadcast]), prefixes, names. On the command line it sets "
        "`ignore` and `extend-*` of the file aside.",
        option="--select",
        group=FINDINGS,
        metavar="CODES",
        forgets=("ignore", "extend-select", "extend-ignore"),
    )
    ignore: tuple[str, ...] = setting(
        "codes",
        [],
        "Rules not to run; the longer prefix wins.",
        option="--ignore",
        group=FINDINGS,
        metavar="CODES",
    )
    extend_select: tuple[str, ...] = setting(
        "codes",
        [],
        "Rules to run besides those selected.",
        option="--extend-select",
        group=FINDINGS,
        metavar="CODES",
        extends=True,
    )
    extend_ignore: tuple[str, ...] = setting("codes", [], "Rules not to run besides those ignored.", extends=True)
    fixable: tuple[str, ...] = setting(
        "codes",
        ["CNN"],
        "Rules that a fix may act on. On the command line it sets `unfixable` and `extend-fixable` of the file aside.",
        option="--fixable",
        group=FIXING,
        metavar="CODES",
        forgets=("unfixable", "extend-fixable"),
    )
    unfixable: tuple[str, ...] = setting(
        "codes",
        [],
        "Rules that a fix leaves; the longer prefix wins.",
        option="--unfixable",
        group=FIXING,
        metavar="CODES",
        extends=True,
    )
    extend_fixable: tuple[str, ...] = setting(
        "codes", [], "Rules that a fix may act on besides those that are fixable.", extends=True
    )
    per_file_ignores: tuple[tuple[Glob, tuple[str, ...]], ...] = setting(
        "glob-codes", {}, "Rules not to run on the files that match a pattern."
    )
    levels: dict[str, Level] = setting(
        "code-levels", {}, "Levels of rules, in place of the default ones.", extends=True
    )
    fail_on: Level = setting(
        "level",
        "warning",
        "Lowest level that makes the exit code 1.",
        allowed=LEVELS,
        option="--fail-on",
        group=FINDINGS,
        metavar="LEVEL",
    )
    min_level: Level | None = setting(
        "least-level",
        BY_FORMAT,
        "Lowest level that is shown. `by-format` shows warnings, errors and notes that ask for something in text "
        "and GitHub annotations, and everything elsewhere. It changes no exit code.",
        allowed=(*LEVELS, BY_FORMAT),
        option="--min-level",
        group=FINDINGS,
        metavar="LEVEL",
    )
    exclude: tuple[Glob, ...] = setting(
        "globs",
        [],
        "Files and folders to leave out of a search.",
        option="--exclude",
        group=JUDGED,
        metavar="GLOB",
    )
    respect_gitignore: bool = setting("flag", True, "Leave out files that git ignores when folders are searched.")
    suppress: tuple[Suppression, ...] = setting(
        "suppressions", [], "Findings that are known and accepted: rule, and where."
    )
    baseline: str = setting(
        "path",
        "",
        "File of accepted findings, see --write-baseline.",
        option="--baseline",
        group=FINDINGS,
        metavar="FILE",
    )
    output_format: str = setting(
        "choice",
        "full",
        "Form of the report. The configuration of the first file decides.",
        allowed=FORMATS,
        option="--output-format",
        group=OUTPUT,
        metavar="NAME",
    )
    fix_policy: str = setting(
        "choice",
        "faster",
        "How a fix chooses channel counts: faster, route or align. faster takes the fewest predicted "
        "instructions, route meets missed routing conditions only, align takes multiples of `align`. Each steps "
        "around errors and wrong results first.",
        allowed=POLICIES,
        option="--fix-policy",
        group=FIXING,
        metavar="NAME",
    )
    align: int = setting("multiple", 4, "Multiple that the policy align pads channel counts to; 64 at most.")
    min_gain: float = setting(
        "percent",
        0.5,
        "Percent of a model's predicted instructions that the policy faster has to save.",
    )
    fix_budget_bytes: int | None = setting(
        "bytes",
        "unlimited",
        "Bytes by which a fix may make the constants of a model larger, earlier fixes counted in.",
    )
    unsafe_fixes: bool = setting(
        "flag",
        False,
        "Fix also where outputs may change by one step. Constants go into float biases, Softmax gets scale 1/256,"
        " and pools, Concat and Pad get one scale. A Pad node goes behind an input where that steps around an "
        "error or a wrong result.",
        option="--unsafe-fixes",
        group=FIXING,
    )
    weights: bool = setting(
        "flag",
        True,
        "Read weights to find channels that do nothing and sums that overflow; without, nothing is removed.",
    )
    size_checks_limit: int | None = setting(
        "bytes",
        10_000_000,
        "Bytes of a model file up to which more-channels and dead-channels run while linting; --fix and --diff "
        "have no such limit.",
    )
    size_checks_layers: int | None = setting(
        "count",
        300,
        "Layers of a model up to which more-channels and dead-channels run while linting, as each takes some 1.5 "
        "ms on each target; --fix and --diff have no such limit.",
    )
    file: str = ""
    """Configuration file it comes from; empty for none."""
    origins: dict[str, str] = field(default_factory=dict, hash=False, compare=False)
    """Where each key's value comes from: `default`, a file, or the command line."""
    raw: dict[str, object] = field(default_factory=dict, hash=False, compare=False)
    """Each key's value as written, for --show-settings."""

    def shows(self, finding: Finding, output_format: str) -> bool:
        """Whether a report in a format shows a finding."""
        if self.min_level is not None:
            return finding.level >= self.min_level
        told = finding.asks or finding.decides or finding.level > Level.NOTE
        return told or output_format not in READ_BY_PEOPLE

    @property
    def legacy(self) -> bool:
        """Whether models are judged for the functions of q7 and q15."""
        return self.api == LEGACY.api

    @property
    def analysis(self) -> AnalysisSettings:
        """Targets and assumptions of an analysis."""
        from onnxlint_cmsis.analysis.analysis import AnalysisSettings

        limit = self.size_checks_limit if self.weights else 0
        return AnalysisSettings(
            self.targets,
            self.assume,
            self.one_channel,
            self.input_shapes,
            self.runtime,
            limit,
            tuple(map(self.room, self.targets)),
            self.cmsis_nn_build,
            tuple(map(self._clock_of, self.targets)),
            self.memory,
            FloatCall(packed=self.float_weights == "packed", scratch=0 if self.float_scratch == "none" else AS_ASKED),
        )

    def _board_of(self, target: Target) -> KnownBoard | None:
        board = self.board.get(target.cpu, self.board.get(EVERY_TARGET))
        return board if board and target.cpu.startswith(board.cpu) else None

    def _clock_of(self, target: Target) -> int | None:
        """Hertz of a target: its own, or the highest of its board."""
        board = self._board_of(target)
        return self.clock.get(target.cpu, self.clock.get(EVERY_TARGET)) or (board.clock if board else 0) or None

    def room(self, target: Target) -> MemoryRoom:
        """RAM, flash and stack of a target: its own figures, or those of its board."""
        board = self._board_of(target)
        given = (self.ram, self.flash, self.stack)
        ram, flash, stack = (sizes.get(target.cpu, sizes.get(EVERY_TARGET)) for sizes in given)
        if board is None:
            return MemoryRoom(ram, flash, stack=stack)
        taken = board.name if ram is None or flash is None else ""
        return MemoryRoom(board.ram if ram is None else ram, board.flash if flash is None else flash, taken, stack)


def _keys() -> tuple[Key, ...]:
    keys = [(field.name, field.metadata[METADATA]) for field in fields(Settings) if METADATA in field.metadata]
    return tuple(key._replace(name=name.replace("_", "-")) for name, key in keys)


KEYS: tuple[Key, ...] = _keys()
"""Every key of the configuration, in the order of the docs."""


# Checked values as Settings has them: patterns, paths and levels in place of texts.


class Place(NamedTuple):
    """Where a value is written."""

    origin: str
    """The file, `command line`, or `default`."""
    root: str
    """Absolute folder that its patterns and paths are relative to."""


def as_it_is(value: Any, _source: Place) -> object:
    """The value as it was checked."""
    return value


def globs(patterns: tuple[str, ...], source: Place) -> tuple[Glob, ...]:
    """Patterns, relative to where they are written."""
    return tuple(Glob(pattern, source.root) for pattern in patterns)


def by_glob(codes: dict[str, tuple[str, ...]], source: Place) -> tuple[tuple[Glob, tuple[str, ...]], ...]:
    """Rules by pattern."""
    return tuple((Glob(pattern, source.root), rules) for pattern, rules in codes.items())


def level(name: str, _source: Place) -> Level:
    """A level by name."""
    return Level[name.upper()]


def least_level(name: str, _source: Place) -> Level | None:
    """The least level that is shown; None where the format decides."""
    return None if name == BY_FORMAT else Level[name.upper()]


def levels(names: dict[str, str], source: Place) -> dict[str, Level]:
    """Levels by rule."""
    return {code: level(name, source) for code, name in names.items()}


def path(text: str, source: Place) -> str:
    """An absolute path; empty where none is given."""
    return str(Path(source.root, text)) if text else ""


def accepted(entries: tuple[dict[str, str], ...], source: Place) -> tuple[Suppression, ...]:
    """Entries of `suppress`, numbered by their origin."""
    suppressions = []
    for number, entry in enumerate(entries):
        path = Glob(entry["path"], source.root) if "path" in entry else None
        rest = {name: text for name, text in entry.items() if name != "path"}
        suppressions.append(Suppression(path=path, origin=f"{source.origin}: suppress[{number}]", **rest))
    return tuple(suppressions)


def runtime_named(text: str, _source: Place) -> object:
    """The runtime itself."""
    return runtime_of(text)


# JSON Schemas of what settings hold.


SUPPRESSION_KEYS = {
    "rule": "Code, prefix or name of the rule, with a cause or not (`CNN403[broadcast]`); required.",
    "path": "Pattern of the files it covers; every file where it is absent.",
    "node": "Node as messages name it.",
    "tensor": "Tensor the finding is about.",
    "reason": "Why it is accepted.",
}


MAX_MULTIPLE = 64
"""Largest multiple to pad to; no kernel has blocks of more, and every size up to the multiple is looked at."""


TEXT: dict[str, object] = {"type": "string"}
RUNTIME: dict[str, object] = {**TEXT, "pattern": f"^(auto|({'|'.join(NAMES)})(@.+)?)$"}
COMPILER: dict[str, object] = {**TEXT, "pattern": WRITTEN}
RELEASE: dict[str, object] = {**TEXT, "enum": [*REVIEWED]}
TARGET: dict[str, object] = {
    "anyOf": [{"enum": [*CPUS]}, {**TEXT, "pattern": r"^(cortex-?)?m\d+(\+|p|plus)?(\+nodsp|\+nomve)*$"}]
}
TARGET_LIST: dict[str, object] = {"type": "array", "minItems": 1, "items": TARGET}
TEXTS: dict[str, object] = {"type": "array", "items": TEXT}
SIZE: dict[str, object] = {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "?"}]}
SHAPE_SCHEMA: dict[str, object] = {"type": "array", "minItems": 1, "items": SIZE}
BOUND: dict[str, object] = {"anyOf": [{"type": "integer", "minimum": 0}, {"const": UNLIMITED}]}
MEMORY_SIZE: dict[str, object] = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        {"type": "string", "pattern": rf"^\d+(\.\d+)? ?({'|'.join(BYTE_UNITS)})$"},
    ]
}
MEMORY: dict[str, object] = {
    "anyOf": [*MEMORY_SIZE["anyOf"], {"const": ""}, {"type": "object", "additionalProperties": MEMORY_SIZE}]  # type: ignore[misc]
}
FREQUENCY: dict[str, object] = {
    "anyOf": [
        {"type": "integer", "minimum": LEAST, "maximum": MOST_HERTZ},
        {"type": "string", "pattern": rf"^\d+(\.\d+)? ?({'|'.join(CLOCK_UNITS)})$"},
    ]
}
FREQUENCIES: dict[str, object] = {
    "anyOf": [*FREQUENCY["anyOf"], {"const": ""}, {"type": "object", "additionalProperties": FREQUENCY}]  # type: ignore[misc]
}
BOARD: dict[str, object] = {"type": "string", "enum": [board.name for board in KNOWN_BOARDS]}
BOARDS: dict[str, object] = {"anyOf": [BOARD, {"const": ""}, {"type": "object", "additionalProperties": BOARD}]}
SUPPRESSION: dict[str, object] = {
    "type": "object",
    "properties": {name: {"type": "string", "description": doc} for name, doc in SUPPRESSION_KEYS.items()},
    "required": ["rule"],
    "additionalProperties": False,
}

CODE_LEVELS: dict[str, object] = {
    "type": "object",
    "additionalProperties": {"type": "string", "enum": list(LEVELS)},
}
GLOB_CODES: dict[str, object] = {"type": "object", "additionalProperties": TEXTS}
SHAPES: dict[str, object] = {"type": "object", "additionalProperties": SHAPE_SCHEMA}
SUPPRESSIONS: dict[str, object] = {"type": "array", "items": SUPPRESSION}
MULTIPLE: dict[str, object] = {"type": "integer", "minimum": 1, "maximum": MAX_MULTIPLE}
PERCENT: dict[str, object] = {"type": "number", "minimum": 0, "maximum": 100}


# Checks of what settings hold: each gives the value, or raises ValueError with what is wrong with it.


class NotOfKindError(ValueError):
    """A value that is nothing of the key's kind; the only argument is what was found."""


def _is_not(value: object, words: str) -> ValueError:
    return ValueError(f"{value!r} is not {words}")


def text(_key: Key, value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise NotOfKindError(value)
    return value


def choice(key: Key, value: object) -> str:
    """One of the texts that the key allows."""
    if value not in key.allowed or not isinstance(value, str):
        meant = close_to(value, list(key.allowed)) if isinstance(value, str) else []
        hint = f"; did you mean {meant[0]}?" if meant else ""
        raise ValueError(f"{value!r} is not one of {', '.join(key.allowed)}{hint}")
    return value


def texts(_key: Key, value: object) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise NotOfKindError(value)
    return tuple(value)


def nonempty_texts(key: Key, value: object) -> tuple[str, ...]:
    """A list of at least one text."""
    values = texts(key, value)
    if not values:
        raise ValueError("the list is empty; name at least one")
    return values


def codes(key: Key, value: object) -> tuple[str, ...]:
    """Codes of rules, from codes, prefixes and names."""
    return tuple(resolve(text) for text in texts(key, value))


def _table(_key: Key, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise NotOfKindError(value)
    return value


def code_levels(key: Key, value: object) -> dict[str, str]:
    """A level for each rule."""
    return {resolve(code): choice(key._replace(allowed=LEVELS), level) for code, level in _table(key, value).items()}


def glob_codes(key: Key, value: object) -> dict[str, tuple[str, ...]]:
    """Rules for each pattern."""
    return {glob: codes(key, named) for glob, named in _table(key, value).items()}


def shapes(key: Key, value: object) -> dict[str, tuple[int | None, ...]]:
    """Sizes for each input, None for one that stays symbolic."""
    return {name: _shape(name, sizes) for name, sizes in _table(key, value).items()}


def _shape(name: str, sizes: object) -> tuple[int | None, ...]:
    if not isinstance(sizes, list) or not sizes or not all(map(_is_size, sizes)):
        raise ValueError(
            f"shape {sizes!r} of {name!r} is not a list of sizes; each is a whole number from 1 up, or '?'"
        )
    return tuple(None if size == "?" else size for size in sizes)


def _is_size(size: object) -> bool:
    return size == "?" or (isinstance(size, int) and not isinstance(size, bool) and size > 0)


def suppressions(key: Key, value: object) -> tuple[dict[str, str], ...]:
    """Accepted findings as tables of texts."""
    if not isinstance(value, (list, tuple)):
        raise NotOfKindError(value)
    return tuple(_suppression(key, entry) for entry in value)


def _suppression(key: Key, entry: object) -> dict[str, str]:
    table = {name: _entry_text(text) for name, text in _table(key, entry).items()}
    for name in table:
        if name not in SUPPRESSION_KEYS:
            raise ValueError(f"unknown key {name!r} in an entry; allowed are {', '.join(SUPPRESSION_KEYS)}")
    if "rule" not in table:
        raise ValueError(f"entry {table!r} has no rule")
    return table | {"rule": resolve(table["rule"])}


def _entry_text(text: object) -> str:
    if not isinstance(text, str):
        raise _is_not(text, "a text")
    return text


def flag(_key: Key, value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise NotOfKindError(value)
    return value


def multiple(_key: Key, value: object) -> int:
    """A multiple to pad to."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_MULTIPLE:
        raise NotOfKindError(value)
    return value


def percent(_key: Key, value: object) -> float:
    """A share from 0 to 100."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 100:
        raise NotOfKindError(value)
    return float(value)


def bound(_key: Key, value: object) -> int | None:
    """A bound, None for no limit."""
    if value == UNLIMITED:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise NotOfKindError(value)
    return value


def release(key: Key, value: object) -> str:
    """A release by its full name."""
    return normalise_release(text(key, value))


def runtime(key: Key, value: object) -> str:
    """A runtime that is known."""
    name = text(key, value)
    runtime_of(name)
    return name


def compiler(key: Key, value: object) -> str:
    """A compiler that is known, with or without a version."""
    name = text(key, value)
    split_compiler(name)
    return name


def memory(key: Key, value: object) -> dict[str, int]:
    """Bytes of memory for each CPU."""
    return {cpu: byte_size(size) for cpu, size in by_target(key, value).items()}


def frequencies(key: Key, value: object) -> dict[str, int]:
    """Hertz for each CPU."""
    return {cpu: frequency(clock) for cpu, clock in by_target(key, value).items()}


def boards(key: Key, value: object) -> dict[str, object]:
    """Boards for each CPU."""
    return {cpu: known_board(text(key, name)) for cpu, name in by_target(key, value).items()}


def by_target(key: Key, value: object) -> dict[str, object]:
    """A value for every target, or one for each CPU named."""
    if value == "":
        return {}
    if not isinstance(value, dict):
        return {EVERY_TARGET: value}
    return {cpu if cpu == EVERY_TARGET else parse_target(cpu).cpu: number for cpu, number in _table(key, value).items()}


# Kinds of setting values: their syntax, check, conversion and JSON Schema.


class Written(Enum):
    """How the option of a key is written on the command line."""

    WORD = "one value"
    FLAG = "the option alone"
    LIST = "values with commas between them, several times"
    REPEATED = "one value, several times"
    PAIRS = "NAME=VALUE, several times"
    BY_TARGET = "one value, or CPU=VALUE, several times"


SEVERAL = (Written.LIST, Written.REPEATED, Written.PAIRS, Written.BY_TARGET)
"""Ways of writing an option that may be given several times."""


class Kind(NamedTuple):
    """One kind of value."""

    words: str
    """What it is, for messages and docs."""
    check: Callable[[Key, object], object]
    """The checked value; ValueError says what is wrong with it."""
    schema: dict[str, object]
    """JSON Schema of the value; `choice` and `level` add the allowed values."""
    written: Written = Written.WORD
    """How its option is written."""
    make: Callable[[Any, Place], object] = as_it_is
    """The checked value as Settings has it."""


_OR_UNLIMITED = f"from 0 up, or {UNLIMITED!r}"

SETTING_KINDS: dict[str, Kind] = {
    "release": Kind("a text", release, RELEASE),
    "runtime": Kind(
        "a runtime, with @ and a commit or date where it is not the newest",
        runtime,
        RUNTIME,
        make=runtime_named,
    ),
    "compiler": Kind("a compiler, with @ and a version where it matters", compiler, COMPILER),
    "path": Kind("a path, relative to the configuration file", text, TEXT, make=path),
    "choice": Kind("one of the allowed values", choice, TEXT),
    "least-level": Kind("a level", choice, TEXT, make=least_level),
    "level": Kind("a level", choice, TEXT, make=level),
    "targets": Kind("a list of texts", nonempty_texts, TARGET_LIST, Written.LIST),
    "globs": Kind("a list of patterns", texts, TEXTS, Written.REPEATED, globs),
    "codes": Kind("a list of rule codes, prefixes or names", codes, TEXTS, Written.LIST),
    "code-levels": Kind("a table of rule = level", code_levels, CODE_LEVELS, make=levels),
    "glob-codes": Kind("a table of pattern = list of rules", glob_codes, GLOB_CODES, make=by_glob),
    "shapes": Kind("a table of input = list of sizes", shapes, SHAPES, Written.PAIRS),
    "flag": Kind("true or false", flag, {"type": "boolean"}, Written.FLAG),
    "multiple": Kind(f"a whole number from 1 to {MAX_MULTIPLE}", multiple, MULTIPLE),
    "percent": Kind("a number from 0 to 100", percent, PERCENT),
    "bytes": Kind(f"a whole number of bytes {_OR_UNLIMITED}", bound, BOUND),
    "memory": Kind("a size, or a table of CPU = size", memory, MEMORY, Written.BY_TARGET),
    "board": Kind("the name of a board, or a table of CPU = name", boards, BOARDS, Written.BY_TARGET),
    "frequency": Kind("a clock, or a table of CPU = clock", frequencies, FREQUENCIES, Written.BY_TARGET),
    "count": Kind(f"a whole number {_OR_UNLIMITED}", bound, BOUND),
    "suppressions": Kind("a list of tables", suppressions, SUPPRESSIONS, make=accepted),
}
"""Every kind by name."""


def setting_of(key: Key, value: object, source: Place) -> object:
    """Value of a key as Settings holds it; ValueError names the found and the allowed values."""
    kind = SETTING_KINDS[key.kind]
    try:
        return kind.make(kind.check(key, value), source)
    except NotOfKindError as error:
        raise ValueError(f"{error.args[0]!r} is not {kind.words}") from None
