"""Names for people: short forms of the names in a model, and the Python code that layers were exported from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.graph.model import TFLITE
from onnxlint_cmsis.graph.python_places import python_places
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.results.short_names import QUOTED, short_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from onnxlint_cmsis.findings import Finding, PythonPlace
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.results.file_result import FileResult


class LayerNames(NamedTuple):
    """What people call the layers of a model."""

    names: Mapping[str, str]
    """Short forms of names that have one."""
    places: Mapping[str, PythonPlace]
    """Where layers were written, by label."""


def naming(graph: Graph, layers: Iterable[Node], result: FileResult) -> LayerNames:
    """Short names and places of the nodes that compute and of all that findings and fixes name."""
    told = {name for each in result.findings for name in _told(each)}
    told |= {each.tensor for each in result.fix.tensors} if result.fix else set()
    return layer_names(graph, layers, told)


def layer_names(graph: Graph, layers: Iterable[Node], told: Iterable[str] = ()) -> LayerNames:
    """Short names and places of the nodes that compute, and short names of what else is told of.

    Operators of a `.tflite` file have numbers for names; there the tensors that they write are layers, too.
    """
    nodes = list(layers)
    found = python_places(graph) if graph.node_metadata else {}
    places = {node.label: found[node.index] for node in nodes if node.index in found}
    modules = {label: place.module for label, place in places.items() if place.module}
    written = (node.outputs[0] for node in graph.nodes if node.domain == TFLITE and node.outputs)
    return LayerNames(short_names([*(node.label for node in nodes), *written], sorted(told), modules), places)


def _told(finding: Finding) -> Iterator[str]:
    """Names that a finding speaks of."""
    if finding.resize:
        yield finding.resize.tensor
    yield from QUOTED.findall(finding.text)
