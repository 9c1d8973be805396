"""The firmware builds that a `.tflite` file is judged for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from onnxlint_cmsis.runtimes.tflm.revisions import reviewed_revision
from onnxlint_cmsis.runtimes.tflm.tflm_build import TflmBuild

if TYPE_CHECKING:
    from onnxlint_cmsis.runtimes.runtime import Runtime
    from onnxlint_cmsis.types import Target


def build_for(
    runtime: Runtime, target: Target, *, checks: bool = True, optimized_for: Literal["SPEED", "SIZE"] = "SPEED"
) -> TflmBuild:
    """The build of TensorFlow Lite Micro for a target; `checks` is False for one with NDEBUG."""
    return TflmBuild(target, reviewed_revision(runtime.commit), optimized_for, checks, own_library=runtime.brings)
