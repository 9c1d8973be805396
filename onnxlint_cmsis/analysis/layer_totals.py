"""The sums of a model's layers on each target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.timing.predicted_time import PredictedTime


class Total(NamedTuple):
    """What the layers of a model are and need together on one target."""

    target: str
    """Label of the target."""
    measured_on: str
    """CPU that the instructions were measured on, and the release where it is another than the target's."""
    instructions: int
    """Predicted instructions (not cycles) of the layers whose cost is one number, or one for each compiler."""
    layers: int
    """How many layers have a number or a range."""
    unknown_layers: int
    """How many the sum leaves out."""
    macs: int
    """Multiply-accumulates of all layers, as far as these are known."""
    constants: int
    """Bytes of weights, biases, multipliers and shifts; of a `.tflite` file those of the constants in it."""
    flash: int
    """Bytes that lie in flash beside code: the constants, of a `.tflite` or `.pte` file the file."""
    scratch: int | None
    """Bytes of the largest scratch buffer; None where the runtime asks for unknown ones."""
    arena: int | None
    """Bytes of activations, at least; None where a size is unknown, and where `arena_used` says it exactly."""
    arena_used: int | None = None
    """Bytes of the arena of TensorFlow Lite Micro, to the byte; None for an ONNX model."""
    time: PredictedTime | None = None
    """What a run takes at the target's clock; None where no clock is given."""
    instructions_range: tuple[int, int] | None = None
    """Least and most instructions, those of layers and copies with a range among them; None where none has a range."""
    copies: int = 0
    """Copies between memory orders, for which no node stands."""
    arena_needed: int | None = None
    """Bytes to be given to TensorFlow Lite Micro, which its planning may take more of than it keeps."""
    arena_to_write: int | None = None
    """Bytes to declare for it: a multiple of 16."""

    @property
    def cost_known(self) -> bool:
        """Tell whether the cost of a layer is known, or there is no layer."""
        return bool(self.layers) or not self.unknown_layers


def totals(model: ModelAnalysis) -> Iterator[Total]:
    """The sums of each target, as the summary of linting has them."""
    summary, every = model.once(summarize), len(model.repeated)
    for target in summary.targets:
        yield Total(
            target.target,
            target.measured_on,
            target.instructions,
            every - target.unknown_cost,
            target.unknown_cost,
            summary.macs,
            target.constants,
            target.flash,
            target.scratch,
            summary.arena,
            target.arena_used,
            target.time,
            target.instructions_range,
            len(model.copies),
            target.arena_needed,
            target.arena_to_write,
        )
