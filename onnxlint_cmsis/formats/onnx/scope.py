"""Names of values as a subgraph sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import GraphProto


class Scope:
    """Names of one subgraph and of those around it."""

    __slots__ = ("names", "parent", "path")

    def __init__(self, path: str, parent: Scope | None) -> None:
        self.path = path
        self.parent = parent
        self.names: dict[str, str] = {}

    def key(self, name: str) -> str:
        """Key of a value as seen from here; names of the main graph are their own keys."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return name


def defined(graph: GraphProto) -> Iterable[str]:
    """Names a graph defines itself."""
    names = [v.name for v in graph.input] + [t.name for t in graph.initializer]
    names += [s.values.name for s in graph.sparse_initializer] + [o for n in graph.node for o in n.output]
    return dict.fromkeys(name for name in names if name)
