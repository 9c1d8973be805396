"""LiteRT: reference kernels, one thread, one process for each model, errors as text."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.fixers.proof.proven import Array, RuntimeRefusalError, first_line
from onnxlint_cmsis.formats.flatbuffer import root_of
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from onnxlint_cmsis.ground.apart import Apart, CallError, EndedError

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.proof.litert import LoadedTensor
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel


def runnable(model: TfliteModel) -> bytes:
    """The bytes of a file, with axis 0 for scales that name an axis which their tensor does not have.

    That is for vectors and for single scales, which leave no choice. Older converters wrote axis 3 for biases of
    depthwise convolutions; LiteRT 2.3.0 refuses that, TensorFlow Lite Micro does not look at it.
    """
    data = bytearray(model.data)
    for subgraph in root_of(SCHEMA, model.data).tables("subgraphs"):
        for tensor in subgraph.tables("tensors"):
            quantization = tensor.table("quantization")
            rank = len(tensor.ints("shape"))
            if quantization and (rank == 1 or len(quantization.floats("scale")) == 1):
                position = quantization.position("quantized_dimension")
                if position and quantization.number("quantized_dimension") >= max(rank, 1):
                    struct.pack_into("<i", data, position, 0)
    return bytes(data)


MISSING = "LiteRT, which proves fixes of .tflite files, is not installed: pip install 'onnxlint-cmsis[tflite]'"
"""Why nothing is fixed without the package."""


class Kernels(str, Enum):
    """Sets of kernels that LiteRT computes with."""

    REFERENCE = "reference kernels"
    """One plain loop for each operator, whose integers are those that TensorFlow Lite Micro computes."""


def litert_missing() -> str | None:
    """Why nothing can be proven; None where LiteRT is installed."""
    return None if find_spec("ai_edge_litert") else MISSING


class LiteRtProcess:
    """A model loaded in a process; tensors are named by their index in the main subgraph."""

    def __init__(self, model: bytes, repeats: int = 1) -> None:
        """Each input is run `repeats` times. Raises RuntimeRefusalError."""
        if litert_missing():
            raise RuntimeRefusalError(MISSING)
        self._model = Apart("onnxlint_cmsis.fixers.proof.litert", "LiteRtModel")
        with _refusals():
            self.tensors: dict[int, LoadedTensor] = self._model.call("load", model, repeats)
            """Every tensor with its size."""

    def run(self, feed: Mapping[int, Array], wanted: Sequence[int]) -> list[Any]:
        """Values of tensors on one input. Raises RuntimeRefusalError."""
        with _refusals():
            values: list[Any] = self._model.call("run", dict(feed), tuple(wanted))
        return values

    def close(self) -> None:
        """Let the process end as it would. Raises RuntimeRefusalError where it crashes then: memory was overwritten."""
        with _refusals():
            self._model.close()


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Errors of the process as those of a runtime."""
    try:
        yield
    except EndedError as error:
        raise RuntimeRefusalError(f"it ended its process {error}") from None
    except CallError as error:
        raise RuntimeRefusalError(first_line(error)) from None
