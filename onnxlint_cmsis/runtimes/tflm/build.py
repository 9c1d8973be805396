"""How a firmware was built: what decides besides the model."""

from __future__ import annotations

from typing import Literal

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.runtimes.runtime import Runtime
from onnxlint_cmsis.runtimes.tflm.revisions import TflmRevision, reviewed_revision


class TflmBuild(NamedTuple):
    """One build of TensorFlow Lite Micro."""

    target: Target
    """CPU, CMSIS-NN release and compiler."""
    revision: TflmRevision = reviewed_revision()
    """Revision of TensorFlow Lite Micro."""
    optimized_for: Literal["SPEED", "SIZE"] = "SPEED"
    """KERNELS_OPTIMIZED_FOR_SPEED keeps kernel sums for good, KERNELS_OPTIMIZED_FOR_SIZE works them out each time."""
    checks: bool = True
    """False for a build with NDEBUG (`BUILD_TYPE=release`), whose TFLITE_DCHECK is empty."""
    with_cmsis_nn: bool = True
    """False for reference kernels alone: `make` without OPTIMIZED_KERNEL_DIR=cmsis_nn."""
    own_library: bool = True
    """Whether CMSIS-NN is the commit that the revision downloads; False for the target's release as it is."""

    @property
    def _brings(self) -> bool:
        """Tell whether the library is the one that the revision downloads."""
        return self.own_library and self.target.release == self.revision.release

    @property
    def unreleased(self) -> tuple[str, ...]:
        """Entry points whose kernels are those of no reviewed release."""
        return self.revision.unreleased if self._brings else ()

    def kernels_of(self, entry: str) -> Target:
        """Target whose kernels an entry point has: the library downloaded may be behind the release in some."""
        older = dict(self.revision.older).get(entry)
        return self.target._replace(release=older) if self._brings and older else self.target

    @property
    def speed(self) -> bool:
        """Built with KERNELS_OPTIMIZED_FOR_SPEED."""
        return self.optimized_for == "SPEED"


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
