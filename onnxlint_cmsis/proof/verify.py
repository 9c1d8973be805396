"""Prove that two models compute the same, and look at values inside one.

The default level of ONNX Runtime decides: there, Q/DQ around a layer become an integer kernel, and integers have to
agree bit for bit, with the optimisers that compute something else than the file says and without. With optimisation
off they have to as well, unless the model quantizes what it computed in float: a sum of floats taken in another order
differs in its last bit, and a value on the border between two steps may then go the other way, which says nothing about
the integers that a device computes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.formats.onnx_graph.inline_external import inlined
from onnxlint_cmsis.formats.onnx_graph.proto_operators import operator_of_proto
from onnxlint_cmsis.formats.onnx_graph.subgraph_walk import all_nodes
from onnxlint_cmsis.proof.branches import UnreachedError, changed_branches, unreached, with_outputs
from onnxlint_cmsis.proof.element_map import QUANTIZING, ElementMap
from onnxlint_cmsis.proof.inner_tensors import compare_inner
from onnxlint_cmsis.proof.inputs import UnfedError
from onnxlint_cmsis.proof.runner import Runner
from onnxlint_cmsis.proof.runtime import Array, Optimization, RuntimeRefusalError
from onnxlint_cmsis.proof.static_checks import static_reason
from onnxlint_cmsis.results.proof_result import Difference, IfBranch, Proof
from onnxlint_cmsis.types import InputShapes

if TYPE_CHECKING:
    from onnx import ModelProto

RANDOM = 4
"""The first input that is random throughout (`feeds.FORMS`)."""
INNER = (3, RANDOM, 5)
"""Inputs with which values inside the models are compared: a mixture of both ends, and two that are random."""


def prove(  # noqa: PLR0913
    before: bytes | Path,
    after: bytes | Path,
    *,
    seed: int = 0,
    inputs: int = 16,
    input_shapes: InputShapes | None = None,
    beside: Path | None = None,
    same: ElementMap | None = None,
    branches: Collection[IfBranch] = (),
) -> Proof:
    """Compare a model with the one that is to replace it.

    onnx.checker and shape inference say of the second what they say of the first; inputs and outputs keep names,
    types, shapes and order; in ONNX Runtime integers are equal bit for bit, floats differ by at most
    `compare.TOLERANCE` of the output's range, and so do the values of `same` inside the models. A model that gives
    other outputs when it is run again is not proven. `beside` is a file in whose folder external data of models given
    as bytes lie; `branches` are those that the change is known to reach into, besides those whose text differs. Raises
    NotAppliedError for external data that cannot be read, OSError for files.
    """
    from onnx import ModelProto

    old, new = inlined(before, beside), inlined(after, beside if isinstance(before, bytes) else before)
    model = ModelProto.FromString(old)
    try:
        runner = Runner(model, old, seed, input_shapes or {})
    except (UnfedError, RuntimeRefusalError) as error:
        return Proof(False, f"ONNX Runtime cannot run the model as it is: {error}", False, (), 0)
    if runner.changes():
        return Proof(False, "it gives other outputs when it is run again on the same input", False, (), 0)
    reason = static_reason(old, new)
    if reason:
        return Proof(False, reason, True, (), 0)
    missed = _unreached(runner, new, inputs, branches)
    if missed is not None:
        return missed
    proof = _outputs(runner, new, inputs)
    return _inside(runner, new, same or {}, proof) if proof.equal else proof


def observe(
    model: bytes | Path,
    names: Sequence[str],
    *,
    seed: int = 0,
    input_shapes: InputShapes | None = None,
    beside: Path | None = None,
) -> dict[str, Array]:
    """Run-time values of named tensors of the main graph for one random input, with optimisation off.

    Empty where the model does not run or external data cannot be read (`beside` as for `prove`); names that are no
    tensors of the main graph are left out.
    """
    from onnx import ModelProto

    try:
        parsed = ModelProto.FromString(inlined(model, beside))
        made = {name for node in parsed.graph.node for name in node.output if name}
        chosen = [name for name in dict.fromkeys(names) if name in made]
        runner = Runner(parsed, with_outputs(parsed, chosen), seed, input_shapes or {}, Optimization.NONE)
        values = runner.session(Optimization.NONE).run(runner.feed(RANDOM), chosen) if chosen else []
    except (UnfedError, RuntimeRefusalError, NotAppliedError):
        return {}
    return dict(zip(chosen, values, strict=True))


def _unreached(runner: Runner, new: bytes, count: int, known: Collection[IfBranch]) -> Proof | None:
    """What of the change no input reaches; None where all is reached."""
    try:
        changed = changed_branches(runner.model.graph, type(runner.model).FromString(new).graph)
        found = unreached(runner.model, {*changed, *known}, runner.feeds(count))
    except (UnreachedError, RuntimeRefusalError) as error:
        return Proof(False, f"{error}; whether it is ever run is not known", True, (), 0)
    if not found:
        return None
    return Proof(False, f"no input leads into the changed branch of {found[0].node}", True, (), 0, unreached=found)


def _outputs(runner: Runner, new: bytes, count: int) -> Proof:
    """Outputs of both models on the same inputs, at every level that says something."""
    tried = 0
    differences: tuple[Difference, ...] = ()
    for level in _levels(runner.model):
        try:
            found = runner.compared(new, count, level)
        except RuntimeRefusalError as error:
            return Proof(False, f"ONNX Runtime ({level.value}): {error}", True, differences, tried)
        differences = differences or found.differences()
        tried, reason = found.runs, found.reason()
        if reason:
            return Proof(False, f"{reason} ({level.value})", True, found.differences(), tried)
    return Proof(True, "", True, differences, tried)


def _levels(model: ModelProto) -> list[Optimization]:
    """Levels that say something: optimisers that change what is computed look for DequantizeLinear."""
    found = [Optimization.DEFAULT] if _quantizes_floats(model) else [Optimization.DEFAULT, Optimization.NONE]
    dequantizes = any(operator_of_proto(node).dequantizes for node in all_nodes(model))
    return [*found, Optimization.SHIPPED] if dequantizes else found


def _inside(runner: Runner, new: bytes, same: ElementMap, proof: Proof) -> Proof:
    """The proof with what is inside the models; fused kernels are kept where floats are quantized."""
    quantizes = _quantizes_floats(runner.model)
    level = Optimization.DEFAULT if quantizes else Optimization.NONE
    other = type(runner.model).FromString(new)
    try:
        found = compare_inner(runner.model, other, same, level, map(runner.feed, INNER), steps=int(quantizes))
    except RuntimeRefusalError as error:
        return proof._replace(equal=False, reason=f"ONNX Runtime ({level.value}): {error}")
    reason = f"{found.reason} ({level.value})" if found.reason else ""
    return proof._replace(equal=not reason, reason=reason, inner=found.tensors)


def _quantizes_floats(model: ModelProto) -> bool:
    return any(node.op_type in QUANTIZING for node in all_nodes(model))
