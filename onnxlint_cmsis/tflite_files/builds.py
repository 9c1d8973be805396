"""The firmware builds that a `.tflite` file is judged for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.runtimes.tflm.revisions import reviewed_revision
from onnxlint_cmsis.runtimes.tflm.tflm_build import TflmBuild

if TYPE_CHECKING:
    from onnxlint_cmsis.runtimes.runtime import Runtime
    from onnxlint_cmsis.types import Target


def build_for(runtime: Runtime, target: Target, cmsis_nn_build: str = "SPEED", *, checks: bool = True) -> TflmBuild:
    """The build of TensorFlow Lite Micro for a target; `checks` is False for one with NDEBUG.

    `cmsis_nn_build` is `SPEED`, `SIZE`, or `NONE` for reference kernels alone.
    """
    return TflmBuild(
        target,
        reviewed_revision(runtime.commit),
        "SIZE" if cmsis_nn_build == "SIZE" else "SPEED",
        checks,
        with_cmsis_nn=cmsis_nn_build != "NONE",
        own_library=runtime.brings,
    )
