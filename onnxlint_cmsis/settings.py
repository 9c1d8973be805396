"""The settings of a run: the table of keys, written once, and the frozen result that the engine works from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from onnxlint_cmsis.cmsis_nn.releases import COMPILERS, DEFAULT_RELEASE
from onnxlint_cmsis.globs import Glob
from onnxlint_cmsis.types import Level, Target

DEFAULT_TARGET = "cortex-m55"
LEVELS = ("note", "warning", "error")
FORMATS = ("full", "concise", "json", "sarif", "github", "junit")


class Key(NamedTuple):
    """One key of the configuration; validation, schema, docs and command line all read it from here."""

    name: str
    """Name in the file."""
    kind: str
    """Row of `config_kinds.KINDS`, which checks and describes the value."""
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
        [DEFAULT_TARGET],
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
)


@dataclass(frozen=True)
class Suppression:
    """Findings that someone has accepted, in the configuration or inside the model."""

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
    """What one file is linted with: defaults, configuration file and command line resolved."""

    targets: tuple[Target, ...]
    """CPUs with release and compiler; at least one."""
    release: str
    """CMSIS-NN release of every target, normalised."""
    compiler: str
    """`gcc` or `armclang`."""
    assume: str
    """`s8`, `s16` or `s4`: what an unquantized model becomes."""
    input_shapes: dict[str, tuple[int | None, ...]] = field(hash=False)
    """Sizes given for model inputs; None leaves one symbolic."""
    select: tuple[str, ...]
    """Code prefixes to run."""
    ignore: tuple[str, ...]
    """Code prefixes not to run."""
    per_file_ignores: tuple[tuple[Glob, tuple[str, ...]], ...]
    """Code prefixes not to run, by pattern."""
    levels: dict[str, Level] = field(hash=False)
    """Level by code prefix."""
    fail_on: Level
    """Lowest level that makes the exit code 1."""
    min_level: Level
    """Lowest level that is shown."""
    exclude: tuple[Glob, ...]
    """Files and folders left out of a search."""
    suppress: tuple[Suppression, ...]
    """Accepted findings."""
    baseline: str
    """Absolute path of the baseline file; empty for none."""
    output_format: str
    """One of FORMATS."""
    file: str = ""
    """Configuration file it comes from; empty for none."""
    origins: dict[str, str] = field(default_factory=dict, hash=False, compare=False)
    """Where each key's value comes from: `default`, a file, or the command line."""
    raw: dict[str, object] = field(default_factory=dict, hash=False, compare=False)
    """Each key's value as written, for --show-settings."""
