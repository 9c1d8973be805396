"""The table of settings: one row for each, and the frozen record that a file is linted with."""

from __future__ import annotations

from dataclasses import field, fields
from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.apis import APIS, INTEGER, LEGACY
from onnxlint_cmsis.cmsis_nn.releases import DEFAULT_RELEASE
from onnxlint_cmsis.cmsis_nn.targets import COMPILERS
from onnxlint_cmsis.config.boards import KnownBoard
from onnxlint_cmsis.config.keys import (
    BY_FORMAT,
    COMMAND_LINE,
    DEFAULT_TARGETS,
    EVERY_TARGET,
    FINDINGS,
    FIXING,
    FORMATS,
    JUDGED,
    LEVELS,
    METADATA,
    ONE_CHANNEL,
    OUTPUT,
    POLICIES,
    READ_BY_PEOPLE,
    TARGETS,
    Key,
    setting,
)
from onnxlint_cmsis.config.path_patterns import Glob
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.records import dataclass
from onnxlint_cmsis.ground.types import AS_ASKED, FloatCall, Level, MemoryRoom, Target
from onnxlint_cmsis.runtimes.runtime import AUTO, Runtime
from onnxlint_cmsis.timing.memories import UNKNOWN

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.timing.calibration import Calibration


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
        INTEGER.name,
        "Functions that are called: current (s8, s16, s4) or legacy (q7, q15). With legacy `release` is "
        "cmsis5-5.9.0 and `assume` is q7, unless they are set.",
        allowed=(INTEGER.name, LEGACY.name),
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
        "Board that stands for its RAM, flash, CPU and clock. `ram`, `flash`, `targets` and `clock` go before it; its "
        "clock is the highest. Text then has what to paste into an application of TensorFlow Lite Micro.",
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
        "Clock, for a predicted time: 120MHz. The time has its error, for CPUs with public figures.",
        option="--clock",
        group=TARGETS,
        metavar="[CPU=]CLOCK",
    )
    weights_in: dict[str, str] = setting(
        "placement",
        "",
        "Memory of the weights, for the time. tcm, sram, flash, mram, xip, or the cycles that a line of 32 bytes "
        "takes. Without it the time covers all that the CPU is usually built with.",
        option="--weights-in",
        group=TARGETS,
        metavar="[CPU=]WHERE",
    )
    arena_in: dict[str, str] = setting(
        "placement",
        "",
        "Memory of the arena, for the time. As `weights-in`.",
        option="--arena-in",
        group=TARGETS,
        metavar="[CPU=]WHERE",
    )
    code_cache: dict[str, int] = setting(
        "memory",
        "",
        "Cache of instructions before the flash that code runs from, for the time on Cortex-M4. As `ram`. Without it "
        "the time covers one of 1K and one that holds the code.",
    )
    firmware: str = setting(
        "path",
        "",
        "Firmware image that models run in. build/*.elf is the newest of them. It decides what is not set: CPU, "
        "release, compiler, runtime, memories of weights and arena; what contradicts it is a finding.",
        option="--firmware",
        group=TARGETS,
        metavar="FILE",
    )
    timing: str = setting(
        "path",
        "",
        "File of `layers --write-timing`, for the time. It is fitted to a measurement on your board, and goes before "
        "`weights-in`, `arena-in` and public figures.",
        option="--timing",
        group=TARGETS,
        metavar="FILE",
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
        allowed=tuple(kind for api in APIS for kind in api.types),
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
        "Rules to run: codes, prefixes, names. A code may have a cause: CNN403[broadcast]. On the command line it sets "
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
        "Aim: faster, route, align, smaller. faster takes the channel counts of fewest predicted "
        "instructions, route meets missed routing conditions only, align takes multiples of `align`, smaller takes "
        "the least arena of a `.tflite` file. Each steps around errors and wrong results first.",
        allowed=POLICIES,
        option="--fix-policy",
        group=FIXING,
        metavar="NAME",
    )
    align: int = setting("multiple", 4, "Multiple that the policy align pads channel counts to; 64 at most.")
    min_gain: float = setting(
        "percent",
        0.5,
        "Percent of a model's predicted instructions that new channel counts have to save with faster or smaller.",
    )
    most_instructions: float = setting(
        "percent",
        "5%",
        "Instructions that smaller may add. In percent of the predicted instructions of layers, on each target.",
        option="--most-instructions",
        group=FIXING,
        metavar="N",
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
        """Tell whether a report in a format shows a finding."""
        if self.min_level is not None:
            return finding.level >= self.min_level
        told = finding.asks or finding.decides or finding.level > Level.NOTE
        return told or output_format not in READ_BY_PEOPLE

    @property
    def legacy(self) -> bool:
        """Tell whether models are judged for the functions of q7 and q15."""
        return self.api == LEGACY.name

    @property
    def analysis(self) -> AnalysisSettings:
        """Targets and assumptions of an analysis."""
        from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings

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
            tuple(map(self._memories_of, self.targets)),
            tuple(map(self._code_cache_of, self.targets)),
            self.calibration,
            FloatCall(packed=self.float_weights == "packed", scratch=0 if self.float_scratch == "none" else AS_ASKED),
        )

    @property
    def calibration(self) -> Calibration | None:
        """That in the file `timing`. Raises UsageError where it is none, or of no target that is named beside it.

        A file may name a calibration of another CPU than the command line asks about.
        """
        from onnxlint_cmsis.config.calibrations import read_calibration

        if not self.timing:
            return None
        calibration, cpus = read_calibration(self.timing), [target.cpu for target in self.targets]
        beside = self.origins.get("timing") in (self.origins.get("targets"), COMMAND_LINE)
        if beside and calibration.cpu not in cpus:
            raise UsageError(
                f"timing: {self.timing}: it is of {calibration.cpu}, which is not among the targets, {', '.join(cpus)}"
            )
        return calibration

    def _board_of(self, target: Target) -> KnownBoard | None:
        board = self.board.get(target.cpu, self.board.get(EVERY_TARGET))
        return board if board and target.cpu.startswith(board.cpu) else None

    def _clock_of(self, target: Target) -> int | None:
        """Hertz of a target: its own, or the highest of its board."""
        board = self._board_of(target)
        return self.clock.get(target.cpu, self.clock.get(EVERY_TARGET)) or (board.clock if board else 0) or None

    def _memories_of(self, target: Target) -> tuple[str, str]:
        """Memories of weights and arena of a target: those given, or those of its board."""
        board = self._board_of(target)
        usual = (board.weights, board.arena) if board else (UNKNOWN, UNKNOWN)
        weights, arena = (
            given.get(target.cpu, given.get(EVERY_TARGET, own))
            for given, own in zip((self.weights_in, self.arena_in), usual, strict=True)
        )
        return weights, arena

    def _code_cache_of(self, target: Target) -> int | None:
        """Bytes of the cache before the flash of a target: those given, or those of its board."""
        board = self._board_of(target)
        own = board.code_cache if board else None
        return self.code_cache.get(target.cpu, self.code_cache.get(EVERY_TARGET, own))

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
