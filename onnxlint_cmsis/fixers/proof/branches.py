"""Whether inputs reach the changed parts of a model: a branch of If runs only under its condition."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.proof_results import IfBranch
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from onnxlint_cmsis.fixers.proof.proven import Array, UnreachedError
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.formats.onnx.walk import subgraphs
from onnxlint_cmsis.operators.control import IF

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto


def changed_branches(old: GraphProto, new: GraphProto) -> list[IfBranch]:
    """Branches in which two models differ. Raises UnreachedError for changes deeper inside, or in a loop."""
    branches = []
    for node, other in _pairs(old, new):
        for (attribute, before), (_, after) in zip(subgraphs(node), subgraphs(other), strict=True):
            if before.SerializeToString(deterministic=True) == after.SerializeToString(deterministic=True):
                continue
            name = node.name or node.output[0]
            if operator_of_proto(node) is not IF:
                raise UnreachedError(f"the change is in the body of {name}")
            deeper = changed_inside(before, after)
            if deeper:
                raise UnreachedError(f"the change is in {deeper}, inside a branch of {name}")
            branches.append(IfBranch(name, node.input[0], attribute == "then_branch"))
    return branches


def changed_inside(old: GraphProto, new: GraphProto) -> str | None:
    """First node of a graph whose own subgraphs differ, None where there is none."""
    for node, other in _pairs(old, new):
        for (_, before), (_, after) in zip(subgraphs(node), subgraphs(other), strict=True):
            if before.SerializeToString(deterministic=True) != after.SerializeToString(deterministic=True):
                return node.name or node.output[0]
    return None


def unreached(
    model: ModelProto, branches: Collection[IfBranch], feeds: Iterable[Mapping[str, Array]]
) -> tuple[IfBranch, ...]:
    """Branches that none of the inputs leads into."""
    if not branches:
        return ()
    open_branches = set(branches)
    conditions = list(dict.fromkeys(branch.condition for branch in branches))
    session = RuntimeSession(with_outputs(model, conditions), Optimization.NONE)
    for feed in feeds:
        values = session.run(feed, conditions)
        seen = {name: bool(np.all(value)) for name, value in zip(conditions, values, strict=True)}
        open_branches -= {branch for branch in open_branches if seen[branch.condition] == branch.wanted}
        if not open_branches:
            return ()
    return tuple(sorted(open_branches))


def _pairs(old: GraphProto, new: GraphProto) -> Iterator[tuple[NodeProto, NodeProto]]:
    """Nodes with subgraphs, paired over the two graphs by the tensor they make."""
    others = {node.output[0]: node for node in new.node if node.output}
    for node in old.node:
        if subgraphs(node) and node.output[0] in others:
            yield node, others[node.output[0]]


def with_outputs(model: ModelProto, names: Sequence[str], data: bytes = b"") -> bytes:
    """The model, serialized, with tensors of the main graph as further outputs; `data` are its bytes, where at hand."""
    present = {value.name for value in model.graph.output}
    more = type(model)()
    for name in names:
        if name not in present:
            more.graph.output.add(name=name)
    serialized: bytes = (data or model.SerializeToString()) + more.SerializeToString()  # the second adds to the first
    return serialized
