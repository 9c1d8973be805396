"""The graph as the page shows it: rows, connections, classes of channels."""

from __future__ import annotations

from onnxlint_cmsis.named_tuples import NamedTuple


class ChannelClass(NamedTuple):
    """Channel counts that move together."""

    id: int
    """Number."""
    size: int
    """Channels now."""
    freedom: str
    """FREE, COUPLED or LOCKED."""
    deciders: tuple[str, ...]
    """Short names of layers whose weights have it along their output channels, the last entry may count the rest."""
    readers: tuple[str, ...]
    """Short names of layers whose weights have it along their input channels, likewise."""
    locks: tuple[str, ...]
    """Why it may not change."""


class GraphEdge(NamedTuple):
    """A tensor from the row that makes it to rows that read it."""

    source: int
    """Row that makes it."""
    readers: tuple[int, ...]
    """Rows that read it, in order, each once."""
    classes: tuple[int, ...]
    """Classes of its channels."""


class GraphRow(NamedTuple):
    """A layer, or an input of the model, in the drawing."""

    name: str
    """Short name."""
    full_name: str
    """Name in the file."""
    op: str
    """Operator; `input` for an input of the model."""
    shape: str
    """Sizes of what it makes, `48x48x8`."""
    verdict: str
    """Who computes it where CMSIS-NN does not; empty for a layer of CMSIS-NN and for an input."""
    reads: tuple[int, ...]
    """Rows whose results it reads."""
    classes: tuple[int, ...]
    """Classes of the channels that it makes."""


class GraphDrawing(NamedTuple):
    """The layers of a model with their connections and channel classes."""

    rows: tuple[GraphRow, ...]
    """Inputs, then layers in file order, at most MOST."""
    edges: tuple[GraphEdge, ...]
    """Connections."""
    classes: tuple[ChannelClass, ...]
    """Classes of channels, at most MOST."""
    left_out: int
    """Layers that are not shown."""
