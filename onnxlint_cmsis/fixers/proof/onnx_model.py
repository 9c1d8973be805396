"""An ONNX model: ONNX Runtime runs it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.proof.branches import changed_branches, unreached, with_outputs
from onnxlint_cmsis.fixers.proof.inputs import Input, UnfedError, model_inputs, refuse_large
from onnxlint_cmsis.fixers.proof.onnx_frame import static_reason
from onnxlint_cmsis.fixers.proof.onnx_levels import levels, quantizes_floats, unit_outputs
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from onnxlint_cmsis.formats.format import ONNX
from onnxlint_cmsis.formats.onnx.whole_model import whole_model
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnx import ModelProto

    from onnxlint_cmsis.analysis.proof_results import IfBranch
    from onnxlint_cmsis.fixers.proof.proven import Array, RunLevel
    from onnxlint_cmsis.ground.types import InputShapes


class OnnxModel:
    """A model with its external data inside."""

    runtime = "ONNX Runtime"
    plain_level: RunLevel = Optimization.NONE
    shipped_level: RunLevel = Optimization.SHIPPED

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def proto(self) -> ModelProto:
        """Parse the model. Raises UnreadableError."""
        return whole_model(self.data)

    def inputs(self, shapes: InputShapes) -> list[Input]:
        """Inputs without the constants listed among them. Raises UnfedError."""
        try:
            refuse_large(ONNX.load("model.onnx", self.data, shapes).graph)
        except ModelError as error:
            raise UnfedError(error.message) from None
        return model_inputs(self.proto, shapes)

    def levels(self) -> list[Optimization]:
        """Levels of optimisation at which two models are comparable."""
        return levels(self.proto)

    def inner_level(self) -> tuple[Optimization, int]:
        """Fused kernels are kept where floats are quantized, and integers may then differ by 1."""
        quantizes = quantizes_floats(self.proto)
        return Optimization.DEFAULT if quantizes else Optimization.NONE, int(quantizes)

    def session(self, level: RunLevel, inner: Sequence[str] = ()) -> RuntimeSession:
        """The model ready to run. Raises RuntimeRefusalError."""
        data = with_outputs(self.proto, inner, self.data) if inner else self.data
        return RuntimeSession(data, Optimization(level.value))

    def computed(self) -> list[str]:
        """Tensors that nodes of the main graph make."""
        return list(dict.fromkeys(name for node in self.proto.graph.node for name in node.output if name))

    def unit_outputs(self) -> frozenset[str]:
        """Outputs between 0 and 1."""
        return unit_outputs(self.proto)

    def fault(self, new: OnnxModel) -> str | None:
        """What onnx.checker, shape inference and a look at the interface say against another model."""
        return static_reason(self.data, new.data, lambda: (self.proto, new.proto))

    def unreached(
        self, new: OnnxModel, known: Collection[IfBranch], feeds: Iterable[Mapping[str, Array]]
    ) -> tuple[IfBranch, ...]:
        """Branches of If that no input leads into. Raises UnreachedError, RuntimeRefusalError."""
        changed = changed_branches(self.proto.graph, new.proto.graph)
        return unreached(self.proto, {*changed, *known}, feeds)
