"""A lowered layer: node, call, epilogue, verdict."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from functools import cached_property

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.records import dataclass
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.decision import Cause, Decision
from onnxlint_cmsis.lower.epilogue import Epilogue
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.quantization import AffineQuantization
from onnxlint_cmsis.model.graph import Node


class LoweredLayer(NamedTuple):
    """One node, its verdict, and its quantization."""

    node: Node
    """The node."""
    verdict: Outcome
    """Who computes it, in a release that has the function."""
    cause: Cause | None = None
    """Why it is not CMSIS-NN, for programs; None where it is."""
    reason: str = ""
    """Why, as a clause for people."""
    code: str = ""
    """Kind of reference code that computes it, a key of REFERENCE_TYPES; empty for every other verdict."""
    layer: Layer | None = None
    """The kernel call: that of CMSIS-NN, or for the others the one that the geometry asks for."""
    epilogue: Epilogue | None = None
    """Nodes behind it that its kernel computes too; None where no kernel computes the node."""
    inputs: tuple[AffineQuantization | None, ...] = ()
    """Quantization of its activations; none in a float model."""
    weights: AffineQuantization | None = None
    """Quantization of its weights; None without weights and in a float model."""

    @property
    def call(self) -> KernelCall | None:
        """The call of CMSIS-NN; None for every other verdict."""
        return self.layer.call if self.layer and self.verdict is Outcome.CMSIS_NN else None

    @property
    def output(self) -> AffineQuantization | None:
        """Quantization of its result; None in a float model."""
        return self.epilogue.quantization if self.epilogue else None

    @property
    def folded(self) -> tuple[str, ...]:
        """Labels of Pad nodes whose padding the call includes."""
        return self.layer.folded if self.layer else ()

    @property
    def fused(self) -> tuple[Node, ...]:
        """Nodes behind it that its kernel computes too."""
        return self.epilogue.fused if self.epilogue else ()

    @property
    def assumed(self) -> bool:
        """Tell whether the model computes in float here."""
        return bool(self.layer and self.layer.assumed)

    @property
    def weighted(self) -> bool:
        """Tell whether it multiplies by weights."""
        return bool(self.layer and self.layer.macs is not None and self.layer.channels)


@dataclass(frozen=True, eq=False, repr=False)
class Lowered:
    """All nodes of a model that have something to compute."""

    records: tuple[LoweredLayer, ...]
    """One for each node, in file order."""

    @cached_property
    def by_index(self) -> dict[int, LoweredLayer]:
        """The record of each node, by `Node.index`."""
        return {record.node.index: record for record in self.records}

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Layers that functions of CMSIS-NN compute."""
        return tuple(record.layer for record in self.records if record.layer and record.verdict is Outcome.CMSIS_NN)

    @cached_property
    def undecided(self) -> tuple[Node, ...]:
        """Nodes that cannot be judged for want of a shape."""
        undecided = (record for record in self.records if record.verdict is Outcome.UNDECIDED)
        return tuple(record.node for record in undecided if record.cause is not Cause.RUNTIME)

    @cached_property
    def foreign(self) -> tuple[tuple[Node, str], ...]:
        """Nodes that no function of CMSIS-NN computes, in this form or at all, with the reason."""
        return tuple((record.node, record.reason) for record in self.beside)

    @cached_property
    def beside(self) -> tuple[LoweredLayer, ...]:
        """Records of nodes in reference code and of those without code."""
        return tuple(record for record in self.records if record.verdict in (Outcome.REFERENCE, Outcome.NO_KERNEL))

    @cached_property
    def assumed(self) -> int:
        """How many layers compute in float in the file."""
        return sum(layer.assumed for layer in self.layers)

    def without(self, labels: Container[str]) -> Lowered:
        """What is lowered, without the nodes of these labels."""
        return replace(self, records=tuple(record for record in self.records if record.node.label not in labels))


def decided(record: LoweredLayer, decision: Decision | None) -> LoweredLayer:
    """The record with a decision against CMSIS-NN, where there is one."""
    if decision is None:
        return record
    return record._replace(verdict=decision.verdict, cause=decision.cause, reason=decision.reason, code=decision.code)


def complete(node: Node) -> bool:
    """A node without its inputs or outputs is the file's problem, reported as such."""
    return bool(node.inputs[0] and node.outputs[0])
