"""Prove that two models compute the same, and look at values inside one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.formats.onnx_graph.inline_external import inlined
from onnxlint_cmsis.formats.suffixes import is_tflite_path
from onnxlint_cmsis.proof.element_map import ElementMap
from onnxlint_cmsis.proof.inputs import UnfedError
from onnxlint_cmsis.proof.proven_format import proven_model
from onnxlint_cmsis.proof.proven_model import Array, ProvenModel, RuntimeRefusalError
from onnxlint_cmsis.proof.prover import INPUTS, RANDOM, Prover
from onnxlint_cmsis.proof.runner import Runner
from onnxlint_cmsis.results.proof_result import IfBranch, Proof
from onnxlint_cmsis.types import InputShapes


def prove(  # noqa: PLR0913
    before: bytes | Path,
    after: bytes | Path,
    *,
    seed: int = 0,
    inputs: int = INPUTS,
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
    old, place = (before, beside) if isinstance(before, bytes) else (before.read_bytes(), before)
    new = after if isinstance(after, bytes) else _whole(after)
    return Prover(old, place, input_shapes or {}, seed).prove(new, inputs=inputs, same=same, branches=branches).proof


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
    data, place = (model, beside) if isinstance(model, bytes) else (model.read_bytes(), model)
    try:
        return values_inside(proven_model(data, place), names, seed=seed, input_shapes=input_shapes)
    except NotAppliedError:
        return {}


def values_inside(
    model: ProvenModel, names: Sequence[str], *, seed: int = 0, input_shapes: InputShapes | None = None
) -> dict[str, Array]:
    """The same of a model that is at hand."""
    made = {*model.made()}
    chosen = [name for name in dict.fromkeys(names) if name in made]
    if not chosen:
        return {}
    try:
        runner = Runner(model, seed, input_shapes or {}, model.plain_level, chosen, tried=(RANDOM,))
        values = runner.session(model.plain_level).run(runner.feed(RANDOM), chosen)
    except (UnfedError, RuntimeRefusalError):
        return {}
    return dict(zip(chosen, values, strict=True))


def _whole(model: Path) -> bytes:
    """Bytes of a file, with external data inside. Raises NotAppliedError."""
    return model.read_bytes() if is_tflite_path(str(model)) else inlined(model)
