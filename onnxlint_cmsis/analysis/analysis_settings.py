"""What a model is analysed for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import FloatCall, MemoryRoom, Size, Target
from onnxlint_cmsis.runtimes.runtime import DIRECT, Runtime

if TYPE_CHECKING:
    from onnxlint_cmsis.timing.calibration import Calibration


class AnalysisSettings(NamedTuple):
    """What a model is analysed for."""

    targets: tuple[Target, ...]
    """CPUs with release and compiler."""
    assume: str = "s8"
    """`s8`, `s16` or `s4`: what a layer that computes in float becomes; `f32` or `f16` where it stays float."""
    one_channel: str = "convolution"
    """`convolution` or `depthwise`: what a convolution with one group over one input channel becomes."""
    input_shapes: Mapping[str, tuple[Size, ...]] = {}
    """Sizes of inputs by name, None for one that stays symbolic."""
    runtime: Runtime = DIRECT
    """Who calls CMSIS-NN."""
    largest_read: int | None = None
    """Bytes of the largest file whose weights checks read, 0 for none; None for no limit."""
    rooms: tuple[MemoryRoom, ...] = ()
    """RAM, flash and stack of each target, in the order of `targets`; none where no memory is given."""
    cmsis_nn_build: str = "SPEED"
    """`SPEED`, `SIZE` or `NONE`: how TensorFlow Lite Micro's kernels are built."""
    clocks: tuple[int | None, ...] = ()
    """Hertz of each target, in the order of `targets`; None where nothing is said about time."""
    memories: tuple[tuple[str, str], ...] = ()
    """Memories of weights and arena of each target, in the order of `targets`; none where nothing is said."""
    code_caches: tuple[int | None, ...] = ()
    """Bytes of the cache before the flash of each target, in the order of `targets`; None where nothing says it."""
    calibration: Calibration | None = None
    """What was fitted to a measurement; None for public figures."""
    floating: FloatCall = FloatCall()
    """What calls of functions for f32 and f16 are given."""

    @property
    def rooms_of_ram(self) -> tuple[int | None, ...]:
        """Bytes of RAM of each target, None where none were named."""
        return tuple(room.ram for room in self.rooms) or (None,) * len(self.targets)
