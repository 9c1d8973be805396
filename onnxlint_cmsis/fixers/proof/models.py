"""What runs the models of each format for a proof."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from onnxlint_cmsis.fixers.proof.litert_process import litert_missing
from onnxlint_cmsis.fixers.proof.onnx_model import OnnxModel
from onnxlint_cmsis.fixers.proof.proven import ProvenModel
from onnxlint_cmsis.fixers.proof.tflite_model import TfliteProvenModel
from onnxlint_cmsis.formats.format import ONNX, format_of, part
from onnxlint_cmsis.formats.onnx.inlined import inlined
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class ProofRuntime(NamedTuple):
    """What runs the models of one format for a proof; `Format.prover` names it."""

    model: Callable[[bytes, Path | None], ProvenModel]
    """A model from its bytes; external data lie beside the path. Raises NotAppliedError, ModelError."""
    missing: Callable[[], str | None]
    """Why nothing can be proven here; None where the runtime is installed."""


ONNX_RUNTIME = ProofRuntime(lambda data, beside: OnnxModel(inlined(data, beside)), lambda: None)
LITERT_RUNTIME = ProofRuntime(lambda data, beside: TfliteProvenModel(str(beside), data), litert_missing)


def proven_model(data: bytes, beside: Path | None) -> ProvenModel:
    """A model; `beside` is its file, None for ONNX in memory.

    Raises NotAppliedError where nothing runs the file's format, ModelError.
    """
    form = ONNX if beside is None else format_of(str(beside))
    if not form.prover:
        raise NotAppliedError(f"nothing runs {form.suffix} files for a proof")
    runtime: ProofRuntime = part(form.prover)
    return runtime.model(data, beside)
