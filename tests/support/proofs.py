"""A proof of two models, and a look at values inside one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnxlint_cmsis.analysis.proof_results import Proof
from onnxlint_cmsis.fixers.proof.disproved import values_inside
from onnxlint_cmsis.fixers.proof.models import proven_model
from onnxlint_cmsis.fixers.proof.prove import Prover
from onnxlint_cmsis.fixers.proof.proven import Array
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.types import InputShapes


def prove(
    before: bytes,
    after: bytes,
    *,
    seed: int = 0,
    input_shapes: InputShapes | None = None,
    beside: Path | None = None,
    **options: Any,
) -> Proof:
    """Compare a model with the one that is to replace it; external data lie in the folder of `beside`."""
    return Prover(lambda: proven_model(before, beside), beside, input_shapes or {}, seed).prove(after, **options).proof


def observe(data: bytes, names: Sequence[str], *, seed: int = 0, beside: Path | None = None) -> dict[str, Array]:
    """Values of named tensors for one random input; empty where external data cannot be read."""
    try:
        return values_inside(proven_model(data, beside), names, seed=seed)
    except NotAppliedError:
        return {}
