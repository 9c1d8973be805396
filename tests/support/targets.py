"""CPUs with a release and a compiler, for tests that know kernels alone."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.types import Target


def target_of(cpu: str = "cortex-m4", release: str = "7.0.0", compiler: str = "gcc") -> Target:
    """A CPU with a release and a compiler."""
    return parse_target(cpu, release, compiler)
