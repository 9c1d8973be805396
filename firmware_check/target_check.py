"""What one model did on one board with one compiler, or why it could not run there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.instructions import AGREES, DISAGREES, NOT_JUDGED, Ends
from onnxlint_cmsis.cmsis_nn.releases import DEFAULT_RELEASE
from onnxlint_cmsis.runtimes.host.onnx_runtime import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from firmware_check.boards import Board
    from firmware_check.memory import Memory
    from firmware_check.toolchain import SectionSizes
    from firmware_check.verdict import Differences, LayerVerdict
    from onnxlint_cmsis.ground.types import Target


class Predicted(NamedTuple):
    """Instructions of the layers of a model that are predicted."""

    layers: int
    """How many these are."""
    instructions: Ends
    """Least and most that are predicted for them together."""
    counted: int
    """What they took."""


@dataclass(frozen=True, eq=False)
class TargetCheck:
    """What one model did on one board."""

    path: str
    """Model file."""
    target: Target
    """CPU, release, compiler."""
    board: Board
    """Board it ran on."""
    per_layer: bool
    """Whether each layer ran alone, with inputs recorded from ONNX Runtime."""
    layers: tuple[LayerVerdict, ...]
    """Layers in the order they ran."""
    foreign: tuple[tuple[str, str], ...]
    """Nodes that did not run, with the reason."""
    memory: Memory
    """Flash and RAM, predicted and found."""
    sizes: SectionSizes | None = None
    """Of the untraced image; None where each layer has its own."""
    outputs: tuple[np.ndarray, ...] = ()
    """The model's outputs for all sets of inputs, as integers; empty where each layer ran alone."""
    output_differences: tuple[Differences, ...] = ()
    """The model's outputs on the device against those on the host."""
    runtime: str = "ONNX Runtime"
    """What computed the model on the host."""
    compiler: str = "gcc"
    """What CMSIS-NN was compiled with, with its version."""
    remarks: tuple[str, ...] = ()
    """What a reader should know of the build."""
    unseen: tuple[tuple[str, str], ...] = ()
    """Layers with a predicted hazard that did not run, with the hazard."""
    otherwise: tuple[str, ...] | None = None
    """Layers that take another kernel or have other hazards in the linter's default release; None in that release."""
    default: str = DEFAULT_RELEASE
    """Release that the linter judges where it is told none."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Short forms of the labels of layers that have one, as the linter shows them."""
    floating: str = ""
    """`f32` or `f16` where layers stay float; empty where they are integers."""

    @property
    def label(self) -> str:
        """Short text of what it ran on: `cortex-m55, CMSIS-NN 7.0.0, gcc 12.2.1`."""
        return f"{self.target.cpu}, CMSIS-NN {self.target.release}, {self.compiler}"

    def called(self, label: str) -> str:
        """What people call a layer; what is made in front of a layer has its label before a colon."""
        node, colon, part = (label, "", "") if label in self.names else label.rpartition(":")
        return f"{self.names.get(node, node)}{colon}{part}"

    @property
    def instructions(self) -> int:
        """Instructions that were counted in all layers, not cycles."""
        return sum(layer.instructions.counted for layer in self.layers)

    @property
    def predicted(self) -> Predicted:
        """What onnxlint_cmsis predicts of the instructions, of the layers that it has a number or a range of."""
        known = [layer.instructions for layer in self.layers if layer.instructions.predicted is not None]
        ends = [layer.predicted for layer in known if layer.predicted is not None]
        total = sum(least for least, _ in ends), sum(most for _, most in ends)
        return Predicted(len(known), total, sum(layer.counted for layer in known))

    @property
    def instructions_verdict(self) -> str:
        """`agrees` where each layer does that could be judged, `DISAGREES`, or `not judged` where none could be."""
        verdicts = {layer.instructions.verdict for layer in self.layers}
        return next((verdict for verdict in (DISAGREES, AGREES) if verdict in verdicts), NOT_JUDGED)

    @property
    def unjudged(self) -> dict[str, list[str]]:
        """Why instructions of layers are not held against a prediction, to the labels of the layers."""
        reasons: dict[str, list[str]] = {}
        for layer in self.layers:
            if layer.instructions.unjudged:
                reasons.setdefault(layer.instructions.unjudged, []).append(layer.label)
        return reasons

    @property
    def agrees(self) -> bool:
        """Tell whether every layer is as predicted."""
        return not any(layer.disagreements for layer in self.layers)

    @property
    def defective(self) -> bool:
        """Tell whether a defect that was predicted occurred."""
        return any(layer.defects for layer in self.layers)

    @property
    def right(self) -> bool:
        """Tell whether everything is as predicted, and nothing is defective or flagged and not run."""
        return self.agrees and not self.defective and not self.unseen

    @property
    def verdict(self) -> str:
        """Tell whether prediction and observation agree, in words."""
        if not self.agrees:
            return "DISAGREES"
        if self.defective:
            return "agrees, and is defective"
        return "agrees, but a flagged layer did not run" if self.unseen else "agrees"


def added_up(check: TargetCheck) -> list[str]:
    """One sentence for each output beyond the tolerance of a layer, where every layer is right."""
    layers = [layer.differences.largest for layer in check.layers if layer.differences]
    if check.floating or not check.agrees or len(layers) < len(check.layers):
        return []
    return [
        f"output {number} differs from {check.runtime}'s by up to {differences.largest} (in {differences.count:,} of "
        f"{differences.total:,} elements) although no layer, given the device's own input of the first set, differs by "
        f"more than {max(layers)}: differences of rounding in a layer reach the layers behind it and can add up"
        for number, (differences, output) in enumerate(zip(check.output_differences, check.outputs, strict=True))
        if differences.largest > max(TOLERANCE[8 * output.itemsize], *layers)
    ]


class Failure(NamedTuple):
    """A target that the check could not run on."""

    cpu: str
    """CPU of the board."""
    compiler: str
    """Compiler that it was to run with."""
    reason: str
    """What could not be done."""

    @property
    def where(self) -> str:
        """CPU, and compiler where it is not gcc."""
        return self.cpu if self.compiler == "gcc" else f"{self.cpu}, {self.compiler}"

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"
