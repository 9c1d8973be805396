"""The arena of a model in an image, as far as names tell it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.memory_use import Arena

if TYPE_CHECKING:
    from onnxlint_cmsis.images.build import Build
    from onnxlint_cmsis.images.models_inside import InsideModel

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
USUAL = frozenset({
    "g", "k", "s", "the", "my", "model", "models", "tflite", "tfl", "data", "tensor", "arena", "array", "buffer",
    "buf", "mem", "memory", "const", "nn", "ai", "ml", "net", "quant", "quantized", "int", "size", "len", "length",
})  # fmt: skip
"""Words of names that tell nothing of what a model does."""


class ModelArena(NamedTuple):
    """The object that is taken for the arena of a model."""

    arena: Arena
    """It."""
    of: int
    """Objects that are called arena among which it is the largest; 1 where it is the only one, or a name tells it."""
    word: str = ""
    """The word that its name and the model's have in common."""


def arena_of(build: Build, inside: InsideModel | None) -> ModelArena | None:
    """The arena of a model: the only one, the one whose name has a word of the model's, else the largest."""
    every = build.memory.arenas if build.memory else ()
    arenas = [arena for arena in every if "tensor" in arena.name.lower()] or every
    if not arenas:
        return None
    others = [model for model in build.models if model is not inside]
    own = _words(inside.name) - frozenset().union(*(_words(model.name) for model in others)) if inside else frozenset()
    named = [(arena, word) for arena in arenas for word in sorted(own & _words(arena.name))]
    if len(arenas) > 1 and len({arena.symbol for arena, _ in named}) == 1:
        return ModelArena(named[0][0], 1, named[0][1])
    return ModelArena(arenas[0], len(arenas))


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name)) - USUAL
