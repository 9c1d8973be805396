"""What a model file tells of its runtime: nothing where it becomes another file first, as an ONNX model does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.types import Target


class RuntimeArena(NamedTuple):
    """Memory that a runtime takes for a model, to the byte."""

    used: int
    """Bytes that it reports once all is allocated."""
    needed: int
    """Bytes that have to be given, which can be more while it plans."""


class RuntimeFacts:
    """Answers for a model that no runtime reads as it is."""

    in_file_order = True
    """Whether nodes lie in the file in their order, so that places of findings sort by their bytes."""
    beside = "plain code"
    """What computes what CMSIS-NN does not."""

    @property
    def remarks_on_build(self) -> tuple[str, ...]:
        """What is to be said of the build of the runtime, as notes."""
        return ()

    def stored_constants(self) -> int | None:
        """Bytes of the constants that the runtime reads in the file; None where firmware has others."""
        return None

    def runtime_scratch(self, _target: Target, /) -> int | None:
        """Bytes that the runtime takes at most for the scratch of one operator; None where the file does not tell."""
        return None

    def runtime_arena(self, _target: Target, /) -> RuntimeArena | None:
        """Memory that the runtime takes; None where the file does not tell."""
        return None
