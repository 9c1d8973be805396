"""Repairs applied to the bytes of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.formats.suffixes import is_tflite_path
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.rewrite.graph_edit import GraphEdit

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.repairs.needed import RepairSite
    from onnxlint_cmsis.rewrite.repairs.repair import RepairMade
    from onnxlint_cmsis.rewrite.tflite_graph_edit import TfliteGraphEdit
    from onnxlint_cmsis.types import KernelCall


class RepairedBytes(NamedTuple):
    """A model with some of its layers repaired."""

    data: bytes
    """The model."""
    made: tuple[tuple[RepairSite, RepairMade], ...]
    """What was done to which layer."""
    refused: tuple[tuple[RepairSite, str], ...]
    """Layers that could not be repaired, with the reason as a clause."""


def repaired(
    data: bytes,
    graph: Graph,
    sites: Sequence[RepairSite],
    clean: Callable[[KernelCall], bool],
    records: tuple[LoweredLayer, ...] = (),
) -> RepairedBytes:
    """The model with as many of the layers repaired as can be; see GraphEdit for `graph`, `clean` and `records`."""
    refused: list[tuple[RepairSite, str]] = []
    left = list(sites)
    while True:
        edit, made = _edit(data, graph, clean, records), []
        for site in left:
            try:
                made.append((site, site.row.apply(edit, site.record)))
            except NotAppliedError as reason:
                refused.append((site, str(reason)))
                break
        else:
            edit.drop_unread()
            return RepairedBytes(edit.data() if made else data, tuple(made), tuple(refused))
        left.remove(refused[-1][0])


def _edit(
    data: bytes, graph: Graph, clean: Callable[[KernelCall], bool], records: tuple[LoweredLayer, ...]
) -> GraphEdit | TfliteGraphEdit:
    """An edit of the file's format. Raises NotAppliedError."""
    if not is_tflite_path(graph.path):
        return GraphEdit(data, graph, clean, records)
    from onnxlint_cmsis.rewrite.tflite_graph_edit import TfliteGraphEdit

    return TfliteGraphEdit(data, graph, clean)
