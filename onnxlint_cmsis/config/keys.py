"""The keys of the configuration, written once: validation, schema, docs and command line all read this table."""

from __future__ import annotations

from typing import NamedTuple

from onnxlint_cmsis.cmsis_nn.releases import COMPILERS, DEFAULT_RELEASE

DEFAULT_TARGETS = ("cortex-m0", "cortex-m4", "cortex-m55")
"""One CPU of each instruction set that CMSIS-NN tells apart, so that nothing is missed; every finding names its own."""
ONE_CHANNEL = ("convolution", "depthwise")
LEVELS = ("note", "warning", "error")
POLICIES = ("faster", "route", "align")
FORMATS = ("full", "concise", "json", "sarif", "github", "junit", "gitlab")
UNLIMITED = "unlimited"
"""Word for no bound."""
ROUTE_TARGET = "cortex-m55"
"""What `route` answers for where neither option nor record names a CPU or instruction set: one shape, one answer."""


class Key(NamedTuple):
    """One key of the configuration; validation, schema, docs and command line all read it from here."""

    name: str
    """Name in the file."""
    kind: str
    """Row of `kinds.KINDS`, which checks and describes the value."""
    default: object
    """Value where nothing is given."""
    doc: str
    """One sentence for --help, the schema and the docs page."""
    allowed: tuple[str, ...] = ()
    """The values a `choice` may take."""
    option: str = ""
    """Command-line option, empty where there is none."""
    metavar: str = ""
    """Its placeholder in --help."""
    extends: bool = False
    """Values from the command line are added to the file's instead of replacing them."""

    @property
    def attribute(self) -> str:
        """Name in Python."""
        return self.name.replace("-", "_")


KEYS: tuple[Key, ...] = (
    Key(
        "targets",
        "texts",
        [*DEFAULT_TARGETS],
        "CPUs the model will run on, with +nodsp or +nomve where the build switches these off.",
        option="--target",
        metavar="CPU",
    ),
    Key("release", "text", DEFAULT_RELEASE, "CMSIS-NN release.", option="--release", metavar="RELEASE"),
    Key(
        "compiler",
        "choice",
        "gcc",
        "Compiler of the firmware, for the places where CMSIS-NN differs by it.",
        allowed=COMPILERS,
        option="--compiler",
    ),
    Key(
        "assume",
        "choice",
        "s8",
        "Data type that an unquantized model is analysed as: s8, s16 (16-bit activations) or s4 (4-bit weights).",
        allowed=("s8", "s16", "s4"),
        option="--assume",
    ),
    Key(
        "one-channel",
        "choice",
        ONE_CHANNEL[0],
        "What a convolution with one group over one input channel becomes: converters make either of it.",
        allowed=ONE_CHANNEL,
        option="--one-channel",
    ),
    Key(
        "input-shapes",
        "shapes",
        {},
        "Sizes of model inputs that are symbolic in the file; ? leaves one symbolic.",
        option="--input-shape",
        metavar="NAME=1,3,96,96",
        extends=True,
    ),
    Key(
        "select",
        "codes",
        ["CNN"],
        "Rules to run: codes, prefixes of codes or names. Starts afresh: ignore and extend-* of the file fall away.",
        option="--select",
        metavar="CODES",
    ),
    Key("ignore", "codes", [], "Rules not to run; the longer prefix wins.", option="--ignore", metavar="CODES"),
    Key(
        "extend-select",
        "codes",
        [],
        "Rules to run besides those selected.",
        option="--extend-select",
        metavar="CODES",
        extends=True,
    ),
    Key(
        "extend-ignore",
        "codes",
        [],
        "Rules not to run besides those ignored.",
        option="--extend-ignore",
        metavar="CODES",
        extends=True,
    ),
    Key(
        "fixable",
        "codes",
        ["CNN"],
        "Rules whose findings --fix may act on. Starts afresh: unfixable and extend-fixable of the file fall away.",
        option="--fixable",
        metavar="CODES",
    ),
    Key(
        "unfixable",
        "codes",
        [],
        "Rules whose findings --fix leaves alone; the longer prefix wins.",
        option="--unfixable",
        metavar="CODES",
        extends=True,
    ),
    Key(
        "extend-fixable",
        "codes",
        [],
        "Rules whose findings --fix may act on besides those that are fixable.",
        option="--extend-fixable",
        metavar="CODES",
        extends=True,
    ),
    Key("per-file-ignores", "glob-codes", {}, "Rules not to run on the files that match a pattern."),
    Key(
        "levels",
        "code-levels",
        {},
        "Levels to give to rules instead of their own.",
        option="--level",
        metavar="CODE=LEVEL",
        extends=True,
    ),
    Key(
        "fail-on",
        "level",
        "warning",
        "Lowest level of finding that makes the exit code 1.",
        allowed=LEVELS,
        option="--fail-on",
    ),
    Key(
        "min-level",
        "level",
        "note",
        "Lowest level of finding that is shown.",
        allowed=LEVELS,
        option="--min-level",
    ),
    Key(
        "exclude",
        "globs",
        [],
        "Patterns of files and folders to leave out when folders are searched.",
        option="--exclude",
        metavar="GLOB",
    ),
    Key("suppress", "suppressions", [], "Findings that are known and accepted: rule, and where."),
    Key(
        "baseline",
        "path",
        "",
        "File of findings that are accepted for now, written by --write-baseline.",
        option="--baseline",
        metavar="FILE",
    ),
    Key(
        "output-format",
        "choice",
        "full",
        "How findings are written; the configuration of the first file decides.",
        allowed=FORMATS,
        option="--output-format",
    ),
    Key(
        "fix-policy",
        "choice",
        "faster",
        "How --fix chooses channel counts: faster (fewest predicted instructions), route (missed routing conditions "
        "only) or align (multiples of `align`, whatever they cost). Each steps around errors and wrong results first. "
        "What it acts on are the rules that run on the file: CNN3xx, and CNN2xx or, for route, CNN1xx.",
        allowed=POLICIES,
        option="--fix-policy",
    ),
    Key(
        "align",
        "multiple",
        4,
        "Multiple that the policy align pads channel counts to; 64 at most.",
        option="--align",
        metavar="N",
    ),
    Key(
        "min-gain",
        "percent",
        0.5,
        "Percent of a model's predicted instructions that the policy faster has to save, or else leaves it alone.",
        option="--min-gain",
        metavar="PERCENT",
    ),
    Key(
        "fix-budget-bytes",
        "bytes",
        "unlimited",
        "Bytes by which a fix may make the constants of a model larger; what an earlier fix added counts.",
        option="--fix-budget-bytes",
        metavar="BYTES",
    ),
    Key(
        "unsafe-fixes",
        "flag",
        False,
        "Fix also where constants have to go into float biases, which is not exact, and where a Pad node behind an "
        "input steps around an error or a wrong result.",
        option="--unsafe-fixes",
    ),
    Key(
        "weights",
        "flag",
        True,
        "Read weights to find channels that do nothing (rule dead-channels); without, nothing is removed.",
        option="--no-weights",
    ),
    Key(
        "size-checks-limit",
        "bytes",
        10_000_000,
        "Size in bytes of a model file up to which the rules more-channels and dead-channels, which search sizes and "
        "read weights, run while linting; --fix and --diff have no such limit.",
        option="--size-checks-limit",
        metavar="BYTES",
    ),
    Key(
        "size-checks-layers",
        "count",
        300,
        "Layers of a model up to which more-channels and dead-channels run while linting, as each takes some 1.5 ms "
        "on each target; --fix and --diff have no such limit.",
        option="--size-checks-layers",
        metavar="LAYERS",
    ),
)
