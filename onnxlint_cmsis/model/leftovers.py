"""What a file says and its graph does not."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Left(NamedTuple):
    """Something that a file says of a node, a tensor or itself, and that the graph does not keep."""

    what: str
    """Name in the file's own words: `attribute 'div'`, `custom_options`."""
    content: bytes | None
    """What it says, or a digest of it; None where nobody can read it."""


class Leftovers(NamedTuple):
    """All that the graph of a file does not keep, but for what has no meaning: names, notes, measured ranges."""

    nodes: Mapping[int, tuple[Left, ...]] = {}
    """Of nodes, by `Node.index`."""
    tensors: Mapping[str, tuple[Left, ...]] = {}
    """Of tensors, by their key."""
    file: tuple[Left, ...] = ()
    """Of the file as a whole."""
