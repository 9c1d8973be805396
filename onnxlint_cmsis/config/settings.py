"""The settings a file is linted with, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.config.globs import Glob
from onnxlint_cmsis.types import Level, Target

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import AnalysisSettings


class Suppression(NamedTuple):
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
    one_channel: str
    """`convolution` or `depthwise`: what a convolution with one group over one input channel becomes."""
    input_shapes: dict[str, tuple[int | None, ...]] = field(hash=False)
    """Sizes given for model inputs; None leaves one symbolic."""
    select: tuple[str, ...]
    """Code prefixes to run."""
    ignore: tuple[str, ...]
    """Code prefixes not to run."""
    fixable: tuple[str, ...]
    """Code prefixes whose findings a fix may act on."""
    unfixable: tuple[str, ...]
    """Code prefixes whose findings a fix leaves alone."""
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
    """One of keys.FORMATS."""
    fix_policy: str
    """One of keys.POLICIES."""
    align: int
    """Multiple of the policy `align`."""
    min_gain: float
    """Percent the policy `faster` has to save."""
    fix_budget_bytes: int | None
    """Bytes constants may grow by; None for no bound."""
    unsafe_fixes: bool
    """Whether fixes that are exact only within rounding, or add nodes, are taken."""
    weights: bool
    """Whether weights may be read."""
    size_checks_limit: int | None
    """Bytes of a file up to which the rules on sizes run while linting; None for no bound."""
    size_checks_layers: int | None
    """Layers of a model up to which they do; None for no bound."""
    file: str = ""
    """Configuration file it comes from; empty for none."""
    origins: dict[str, str] = field(default_factory=dict, hash=False, compare=False)
    """Where each key's value comes from: `default`, a file, or the command line."""
    raw: dict[str, object] = field(default_factory=dict, hash=False, compare=False)
    """Each key's value as written, for --show-settings."""

    @property
    def analysis(self) -> AnalysisSettings:
        """What a model is analysed for."""
        from onnxlint_cmsis.analysis import AnalysisSettings

        return AnalysisSettings(self.targets, self.assume, self.one_channel, self.input_shapes)
