"""Models within an image: their bytes, where they lie on the device, which symbol names them."""

from __future__ import annotations

import hashlib

from onnxlint_cmsis.formats.embedded import models_within
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.image import Image
from onnxlint_cmsis.images.mangled import plain_name

MOST_MODELS = 64
"""Models of an image."""
ALIGNMENT = 16
"""What TensorFlow Lite Micro's examples align a model to; flatbuffers need that of their widest values."""


class InsideModel(NamedTuple):
    """A model in an image."""

    name: str
    """Name of the symbol that it is, else `model_` with its number among those of the image, which each build keeps."""
    suffix: str
    """Ending of files of its format."""
    address: int
    """Where it lies on the device; in a file without addresses its position."""
    data: bytes
    """Its bytes."""
    section: str
    """Name of its section."""
    writable: bool
    """Whether it is in RAM, copied there by the startup code."""
    symbol: str = ""
    """Symbol that it is; empty where none is."""

    @property
    def label(self) -> str:
        """The name that it goes by within the image: `g_model.tflite`."""
        return f"{self.name}{self.suffix}"

    @property
    def sha256(self) -> str:
        """Hash of its bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def aligned(self) -> int:
        """Largest power of two up to 16 that its address is a multiple of."""
        return min(ALIGNMENT, self.address & -self.address or ALIGNMENT)


def models_inside(image: Image) -> tuple[InsideModel, ...]:
    """The models of an image, in the order of the file."""
    inside: list[InsideModel] = []
    objects = [symbol for symbol in image.symbols if symbol.kind != "func" and symbol.size]
    taken: dict[str, int] = {}
    for section in image.sections:
        if not section.loaded or not section.data:
            continue
        for model in models_within(section.data):
            if len(inside) == MOST_MODELS:
                return tuple(inside)
            address = section.address + model.offset
            symbol = next((symbol for symbol in objects if symbol.address == address), None) if image.linked else None
            size = model.size
            if symbol and model.size <= symbol.size < model.size + ALIGNMENT:
                size = symbol.size  # the file's own last bytes, which nothing in it refers to
            data = bytes(section.data[model.offset : model.offset + size])
            name = plain_name(symbol.name) if symbol else f"model_{len(inside) + 1}"
            taken[name] = taken.get(name, 0) + 1
            number = f".{taken[name]}" if taken[name] > 1 else ""
            symbol_name = symbol.name if symbol else ""
            where = (address, data, section.name, section.writable, symbol_name)
            inside.append(InsideModel(name + number, model.format.suffix, *where))
    return tuple(inside)
