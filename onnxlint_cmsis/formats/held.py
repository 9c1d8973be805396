"""Models within other files: arrays of C files and what firmware images hold, by the name of the file and `::`."""

from __future__ import annotations

from onnxlint_cmsis.formats.format import array_in, file_of, is_c, part
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class HeldModel(NamedTuple):
    """A model within another file."""

    path: str
    """The name that it goes by: `model.cc::g_model.tflite`."""
    data: bytes
    """Its bytes."""
    line: int = 1
    """Line of a C file on which it begins."""


def is_held(path: str) -> bool:
    """Tell whether a path is a model within another file, or C, which is a model by an array alone."""
    return is_c(path) or bool(array_in(path))


def held_model(path: str, content: bytes | None = None) -> HeldModel:
    """The model that a path means; `content` is what its file has. Raises ModelError."""
    if is_c(file_of(path)):
        array = part("formats.c_arrays:array_at")(path, content)
        return HeldModel(array.within(file_of(path)), array.read(), array.line)
    model: HeldModel = part("images.held_models:model_at")(path, content)
    return model
