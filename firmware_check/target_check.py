"""What one model did on one board with one compiler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from firmware_check.verdict import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from firmware_check.boards import Board
    from firmware_check.memory import Memory
    from firmware_check.toolchain import SectionSizes
    from firmware_check.verdict import Differences, LayerVerdict
    from onnxlint_cmsis.types import Target


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
    """Those outputs against the host's of the whole model."""
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
    names: Mapping[str, str] = field(default_factory=dict)
    """Short forms of the labels of layers that have one, as the linter shows them."""

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
        """Instructions of all layers, not cycles."""
        return sum(layer.instructions for layer in self.layers)

    @property
    def predicted(self) -> dict[str, int]:
        """What onnxlint_cmsis predicts of the instructions, where it has a cost."""
        known = [layer for layer in self.layers if layer.predicted_instructions is not None]
        return {
            "layers": len(known),
            "instructions": sum(layer.predicted_instructions or 0 for layer in known),
            "measured": sum(layer.instructions for layer in known),
        }

    @property
    def agrees(self) -> bool:
        """Whether every layer is as predicted."""
        return not any(layer.disagreements for layer in self.layers)

    @property
    def defective(self) -> bool:
        """Whether a defect that was predicted occurred."""
        return any(layer.defects for layer in self.layers)

    @property
    def right(self) -> bool:
        """Whether everything is as predicted, and nothing is defective or flagged and not run."""
        return self.agrees and not self.defective and not self.unseen

    @property
    def verdict(self) -> str:
        """In words."""
        if not self.agrees:
            return "DISAGREES"
        if self.defective:
            return "agrees, and is defective"
        return "agrees, but a flagged layer did not run" if self.unseen else "agrees"


def added_up(check: TargetCheck) -> list[str]:
    """One sentence for each output beyond the tolerance of a layer, where every layer is right."""
    layers = [layer.differences.largest for layer in check.layers if layer.differences]
    if not check.agrees or len(layers) < len(check.layers):
        return []
    return [
        f"output {number} differs from {check.runtime}'s by up to {found.largest} (in {found.count:,} of"
        f" {found.total:,} elements) although no layer, given the device's own input of the first set, differs by more"
        f" than {max(layers)}: differences of rounding in a layer reach the layers behind it and can add up"
        for number, (found, output) in enumerate(zip(check.output_differences, check.outputs, strict=True))
        if found.largest > max(TOLERANCE[8 * output.itemsize], *layers)
    ]
