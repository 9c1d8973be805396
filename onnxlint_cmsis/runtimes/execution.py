"""How a device executes a model, with one face for the ways there are.

The application calls CMSIS-NN's functions itself; a runtime does once the model is converted (both in
`analysis/executions.py`); or a runtime reads the file as it is, a `.tflite` model or a program.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall, Target
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.model.graph import Node

if TYPE_CHECKING:
    from onnxlint_cmsis.cmsis_nn.library import Duty
    from onnxlint_cmsis.runtimes.interpretation import ArenaSize, FileOperator
    from onnxlint_cmsis.runtimes.judged_layers import Judged, JudgedLayer
    from onnxlint_cmsis.runtimes.memory_report import MemoryReport, PlanGain
    from onnxlint_cmsis.runtimes.remark import RuntimeRemark
    from onnxlint_cmsis.runtimes.tflm.resolver import Resolver


class MemoryNeeds(NamedTuple):
    """Bytes that a model takes on one target."""

    constants: int
    """Constants that lie in flash."""
    flash: int
    """All that lies in flash beside code: the constants, or a file that is read on the device."""
    scratch: int | None
    """Scratch of the hungriest layer; None where one's is unknown."""
    arena: ArenaSize | None
    """The arena; None where the runtime lays none out, or it is not known to the byte."""


class Execution(ABC):
    """How a model executes in builds for some targets; what is not said of a way is empty."""

    reads_file = False
    """Whether the runtime reads the file as it is, so that its operators and its arena are known to the byte."""
    by_runtime = True
    """Whether a runtime stands between the model and CMSIS-NN."""
    by_application = False
    """Whether the application lays tensors out and has the reference code."""

    @property
    def plan_gains(self) -> tuple[PlanGain, ...]:
        """What another memory plan gains on each target."""
        return ()

    @property
    def judged(self) -> Judged | None:
        """What a runtime makes of a model that is yet to be converted; None for other ways."""
        return None

    @property
    def judgements(self) -> Mapping[int, JudgedLayer]:
        """What a runtime makes of each layer of such a model, by its node's index."""
        return {}

    @property
    @abstractmethod
    def asked(self) -> Lowered:
        """Layers as the calls that the model asks for, whatever becomes of them."""

    @property
    def lowered(self) -> Lowered:
        """Layers as the calls that are made, and the nodes that are none."""
        return self.asked

    @property
    def remarks(self) -> tuple[RuntimeRemark, ...]:
        """What is to be said of the runtime and the layers."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the build."""
        return ()

    @property
    def resolver(self) -> Resolver | None:
        """Operators that the application registers in TensorFlow Lite Micro; None for another runtime."""
        return None

    @property
    @abstractmethod
    def unfit(self) -> Mapping[int, str]:
        """Why layers do not run as the model says, by index of the node."""

    def operators(self, target: Target) -> tuple[FileOperator, ...]:
        """What becomes of each operator of a file that the device has, in file order."""
        del target
        return ()

    def stop(self, target: Target) -> str | None:
        """What stops the model in every build, as words; None where a build runs it."""
        del target
        return None

    def has_cost(self, node: Node, target: Target) -> bool:
        """Tell whether there can be a cost of a node."""
        del node, target
        return True

    def range_around(self, node: Node, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of what a kernel does besides its function; None where that is unknown."""
        del node, target
        return (0, 0)

    def duty(self, call: KernelCall, target: Target) -> Duty | None:
        """What the application computes before a call; None where a runtime does, or that is nothing."""
        del call, target
        return None

    @abstractmethod
    def reference_range(self, record: LoweredLayer, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of the reference code for a layer; None where nothing is known."""

    @abstractmethod
    def needs(self, target: Target, run: Sequence[LoweredLayer]) -> MemoryNeeds:
        """Bytes of flash, scratch and arena; `run` are the layers that CMSIS-NN computes."""

    @abstractmethod
    def memory(self, target: Target) -> MemoryReport:
        """The arena with the names of all in it, or why there is none."""


class FileExecution(Execution):
    """A runtime that reads the file as it is."""

    reads_file = True
    targets: tuple[Target, ...]
    """CPUs with release and compiler."""

    @property
    @abstractmethod
    def path(self) -> str:
        """File as the user named it."""

    @property
    @abstractmethod
    def constants(self) -> int:
        """Bytes of the constants."""

    @property
    @abstractmethod
    def flash(self) -> int:
        """Bytes of the file, all of which lies in flash."""

    @abstractmethod
    def scratch(self, target: Target) -> int | None:
        """Bytes of scratch of the hungriest operator; None where one's are unknown."""

    @abstractmethod
    def arena(self, target: Target) -> ArenaSize | None:
        """The arena; None where there is none."""

    def needs(self, target: Target, run: Sequence[LoweredLayer]) -> MemoryNeeds:
        """Bytes as the runtime lays them out."""
        del run
        return MemoryNeeds(self.constants, self.flash, self.scratch(target), self.arena(target))

    @property
    def unfit(self) -> Mapping[int, str]:
        """Why operators do not run as the file says, by index of the node."""
        return {
            operator.node.index: f"does not run as the file says ({operator.row.verdict.value}): {operator.row.reason}"
            for target in self.targets
            for operator in self.operators(target)
            if operator.node and operator.row.verdict not in (Outcome.CMSIS_NN, Outcome.REFERENCE)
        }
