"""A model's bytes as protobuf reads them, with all constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.errors import UnreadableError

if TYPE_CHECKING:
    from onnx import ModelProto


def whole_model(data: bytes) -> ModelProto:
    """Parse a model with the lists of values that its analysis does not look into.

    Raises UnreadableError where one of these is damaged.
    """
    from onnx import ModelProto

    try:
        model: ModelProto = ModelProto.FromString(data)
    except Exception as error:  # protobuf's DecodeError, whose module has no types
        raise UnreadableError(f"its constants cannot be read: protobuf says {error}") from None
    return model
