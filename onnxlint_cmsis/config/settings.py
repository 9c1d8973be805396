"""The table of settings: one row for each, and the frozen record that a file is linted with."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.kinds_of_q import KINDS
from onnxlint_cmsis.cmsis_nn.releases import APIS, COMPILERS, DEFAULT_RELEASE
from onnxlint_cmsis.config.globs import Glob
from onnxlint_cmsis.config.keys import (
    BY_FORMAT,
    DEFAULT_TARGETS,
    EVERY_TARGET,
    FORMATS,
    LEVELS,
    METADATA,
    ONE_CHANNEL,
    POLICIES,
    READ_BY_PEOPLE,
    Key,
    setting,
)
from onnxlint_cmsis.config.known_boards import KnownBoard
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.runtime import AUTO, Runtime
from onnxlint_cmsis.types import PLACEMENTS, Level, MemoryRoom, Target

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import AnalysisSettings
    from onnxlint_cmsis.findings import Finding


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
        "CPUs the model will run on, with +nodsp or +nomve where the build switches these off.",
        option="--target",
        metavar="CPU",
    )
    release: str = setting("release", DEFAULT_RELEASE, "CMSIS-NN release.", option="--release", metavar="RELEASE")
    api: str = setting(
        "choice",
        APIS[0],
        "Functions that the application calls: current (wrappers for s8, s16 and s4) or legacy (functions for q7 and "
        "q15, which cmsis5-5.6.0 to cmsis5-5.9.0 have). With legacy, `release` is cmsis5-5.9.0 and `assume` is q7, "
        "unless they are set.",
        allowed=APIS,
        option="--api",
    )
    runtime: Runtime = setting(
        "runtime",
        AUTO,
        "Who calls CMSIS-NN: direct (the application itself), tflm (TensorFlow Lite Micro), executorch or tvm (up to "
        "0.18.0). @ and a commit or date choose another revision than the newest that was reviewed (tflm@2026-06). "
        "auto is tflm for .tflite files and direct for .onnx files. A runtime brings its own CMSIS-NN, which is judged "
        "unless `release` is set.",
        option="--runtime",
        metavar="NAME[@VERSION]",
    )
    cmsis_nn_build: str = setting(
        "choice",
        "SPEED",
        "How TensorFlow Lite Micro's kernels are built: SPEED (KERNELS_OPTIMIZED_FOR_SPEED) keeps sums of weights in "
        "the arena, SIZE (KERNELS_OPTIMIZED_FOR_SIZE) works them out in each run, NONE has reference kernels alone and "
        "no CMSIS-NN.",
        allowed=("SPEED", "SIZE", "NONE"),
        option="--cmsis-nn-build",
    )
    ram: dict[str, int] = setting(
        "memory",
        "",
        "RAM of the device, which arena and scratch have to fit: 65536, 256K, 1M. K and KiB are 1,024 bytes, M and MiB "
        "1,024 of those; kB is 1,000 bytes and MB 1,000,000. A table of CPU = size, or CPU=SIZE on the command line, "
        "gives each target a size. Without it no rule looks at RAM.",
        option="--ram",
        metavar="[CPU=]SIZE",
    )
    flash: dict[str, int] = setting(
        "memory",
        "",
        "Flash of the device, which the model's constants have to fit; written like `ram`. Without it no rule looks at "
        "flash.",
        option="--flash",
        metavar="[CPU=]SIZE",
    )
    stack: dict[str, int] = setting(
        "memory",
        "",
        "Stack that a scratch buffer may take where the application calls CMSIS-NN itself and keeps these buffers "
        "there; written like `ram`. Without it no rule looks at the stack.",
        option="--stack",
        metavar="[CPU=]SIZE",
    )
    board: dict[str, KnownBoard] = setting(
        "board",
        "",
        "Board that gives `ram` and `flash` unless they are set, and its CPU as target unless `targets` is set; "
        "a table of CPU = board, or CPU=BOARD on the command line, for several.",
        option="--board",
        metavar="[CPU=]NAME",
    )
    clock: dict[str, int] = setting(
        "frequency",
        "",
        "Clock of the CPU, for a predicted time in milliseconds: 120MHz, 64000kHz, 120000000. A table of CPU = clock, "
        "or CPU=CLOCK on the command line, gives each target one. The time is a range with its source, for CPUs "
        "with public measurements. Without a clock no time is predicted.",
        option="--clock",
        metavar="[CPU=]CLOCK",
    )
    memory: str = setting(
        "choice",
        PLACEMENTS[0],
        "Where activations and weights lie on a Cortex-M55, which narrows the range of the time: tcm (both in "
        "tightly coupled memory) or sram (activations in SRAM, weights in MRAM).",
        allowed=PLACEMENTS,
        option="--memory",
    )
    compiler: str = setting(
        "compiler",
        COMPILERS[0],
        "Compiler of the firmware: gcc or armclang, between which CMSIS-NN's source differs in places. @ and a version "
        "say which (gcc@12.2): some versions of gcc make wrong code of a right kernel. Without a version the finding "
        "says that yours may.",
        option="--compiler",
        metavar="NAME[@VERSION]",
    )
    assume: str = setting(
        "choice",
        "s8",
        "Data type that an unquantized model is analysed as: s8, s16 (16-bit activations) or s4 (4-bit weights); with "
        "--api legacy q7, q15 or q7q15 (16-bit activations, 8-bit weights in fully connected layers).",
        allowed=("s8", "s16", "s4", *KINDS),
        option="--assume",
    )
    one_channel: str = setting(
        "choice",
        ONE_CHANNEL[0],
        "What a convolution with one group over one input channel becomes: converters make either of the two.",
        allowed=ONE_CHANNEL,
        option="--one-channel",
    )
    input_shapes: dict[str, tuple[int | None, ...]] = setting(
        "shapes",
        {},
        "Sizes of model inputs that are symbolic in the file; ? leaves one symbolic.",
        option="--input-shape",
        metavar="NAME=1,3,96,96",
        extends=True,
    )
    select: tuple[str, ...] = setting(
        "codes",
        ["CNN"],
        "Rules to run: codes, prefixes of codes or names. ignore and extend-* of the file no longer hold.",
        option="--select",
        metavar="CODES",
        forgets=("ignore", "extend-select", "extend-ignore"),
    )
    ignore: tuple[str, ...] = setting(
        "codes", [], "Rules not to run; the longer prefix wins.", option="--ignore", metavar="CODES"
    )
    extend_select: tuple[str, ...] = setting(
        "codes", [], "Rules to run besides those selected.", option="--extend-select", metavar="CODES", extends=True
    )
    extend_ignore: tuple[str, ...] = setting(
        "codes", [], "Rules not to run besides those ignored.", option="--extend-ignore", metavar="CODES", extends=True
    )
    fixable: tuple[str, ...] = setting(
        "codes",
        ["CNN"],
        "Rules whose findings --fix may act on. unfixable and extend-fixable of the file no longer hold.",
        option="--fixable",
        metavar="CODES",
        forgets=("unfixable", "extend-fixable"),
    )
    unfixable: tuple[str, ...] = setting(
        "codes",
        [],
        "Rules whose findings --fix leaves alone; the longer prefix wins.",
        option="--unfixable",
        metavar="CODES",
        extends=True,
    )
    extend_fixable: tuple[str, ...] = setting(
        "codes",
        [],
        "Rules whose findings --fix may act on besides those that are fixable.",
        option="--extend-fixable",
        metavar="CODES",
        extends=True,
    )
    per_file_ignores: tuple[tuple[Glob, tuple[str, ...]], ...] = setting(
        "glob-codes", {}, "Rules not to run on the files that match a pattern."
    )
    levels: dict[str, Level] = setting(
        "code-levels",
        {},
        "Levels of rules, in place of the default ones.",
        option="--level",
        metavar="CODE=LEVEL",
        extends=True,
    )
    fail_on: Level = setting(
        "level", "warning", "Lowest level of finding that makes the exit code 1.", allowed=LEVELS, option="--fail-on"
    )
    min_level: Level | None = setting(
        "least-level",
        BY_FORMAT,
        "Lowest level of finding that is shown. `by-format` shows warnings, errors and notes that ask for something in "
        "text and GitHub annotations, and every finding in the other formats. It changes no exit code.",
        allowed=(*LEVELS, BY_FORMAT),
        option="--min-level",
    )
    exclude: tuple[Glob, ...] = setting(
        "globs",
        [],
        "Patterns of files and folders to leave out when folders are searched.",
        option="--exclude",
        metavar="GLOB",
    )
    respect_gitignore: bool = setting(
        "flag",
        True,
        "Leave out files that git ignores when folders are searched.",
        option="--no-respect-gitignore",
    )
    suppress: tuple[Suppression, ...] = setting(
        "suppressions", [], "Findings that are known and accepted: rule, and where."
    )
    baseline: str = setting(
        "path",
        "",
        "File of findings that are accepted for now, written by --write-baseline.",
        option="--baseline",
        metavar="FILE",
    )
    output_format: str = setting(
        "choice",
        "full",
        "How findings are written; the configuration of the first file decides.",
        allowed=FORMATS,
        option="--output-format",
    )
    fix_policy: str = setting(
        "choice",
        "faster",
        "How --fix chooses channel counts: faster (fewest predicted instructions), route (missed routing conditions "
        "only) or align (multiples of `align`, whatever they cost). Each steps around errors and wrong results first. "
        "It acts on rules that run on the file: CNN3xx, and CNN2xx or, for route, CNN1xx.",
        allowed=POLICIES,
        option="--fix-policy",
    )
    align: int = setting(
        "multiple",
        4,
        "Multiple that the policy align pads channel counts to; 64 at most.",
        option="--align",
        metavar="N",
    )
    min_gain: float = setting(
        "percent",
        0.5,
        "Percent of a model's predicted instructions that the policy faster has to save; otherwise it changes nothing.",
        option="--min-gain",
        metavar="PERCENT",
    )
    fix_budget_bytes: int | None = setting(
        "bytes",
        "unlimited",
        "Bytes by which a fix may make the constants of a model larger; what an earlier fix added counts.",
        option="--fix-budget-bytes",
        metavar="BYTES",
    )
    unsafe_fixes: bool = setting(
        "flag",
        False,
        "Fix also where that is not exact: constants go into float biases, Softmax gets scale 1/256, and pools, Concat "
        "and Pad get one scale, where outputs change by at most one step. Also put a Pad node behind an input where "
        "that steps around an error or a wrong result.",
        option="--unsafe-fixes",
    )
    weights: bool = setting(
        "flag",
        True,
        "Read weights to find channels that do nothing (rule dead-channels) and sums that overflow (rule "
        "sum-overflow); without, nothing is removed.",
        option="--no-weights",
    )
    size_checks_limit: int | None = setting(
        "bytes",
        10_000_000,
        "Size in bytes of a model file up to which the rules more-channels and dead-channels, which search sizes and "
        "read weights, run while linting; --fix and --diff have no such limit.",
        option="--size-checks-limit",
        metavar="BYTES",
    )
    size_checks_layers: int | None = setting(
        "count",
        300,
        "Layers of a model up to which more-channels and dead-channels run while linting, as each takes some 1.5 ms "
        "on each target; --fix and --diff have no such limit.",
        option="--size-checks-layers",
        metavar="LAYERS",
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
        return finding.asks or finding.level > Level.NOTE or output_format not in READ_BY_PEOPLE

    @property
    def analysis(self) -> AnalysisSettings:
        """Targets and assumptions of an analysis."""
        from onnxlint_cmsis.analysis import AnalysisSettings

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
            tuple(self.clock.get(target.cpu, self.clock.get(EVERY_TARGET)) for target in self.targets),
            self.memory,
        )

    def room(self, target: Target) -> MemoryRoom:
        """RAM, flash and stack of a target: its own figures, or those of its board."""
        board = self.board.get(target.cpu, self.board.get(EVERY_TARGET))
        given = (self.ram, self.flash, self.stack)
        ram, flash, stack = (sizes.get(target.cpu, sizes.get(EVERY_TARGET)) for sizes in given)
        if board is None or not target.cpu.startswith(board.cpu):
            return MemoryRoom(ram, flash, stack=stack)
        taken = board.name if ram is None or flash is None else ""
        return MemoryRoom(board.ram if ram is None else ram, board.flash if flash is None else flash, taken, stack)


def _keys() -> tuple[Key, ...]:
    found = [(each.name, each.metadata[METADATA]) for each in fields(Settings) if METADATA in each.metadata]
    return tuple(key._replace(name=name.replace("_", "-")) for name, key in found)


KEYS: tuple[Key, ...] = _keys()
"""Every key of the configuration, in the order of the docs."""
