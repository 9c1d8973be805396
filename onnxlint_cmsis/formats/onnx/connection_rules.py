"""Rules on how nodes are connected: every value made once, by something, before it is read."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from onnxlint_cmsis.model.graph import Graph, Node, Problem
from onnxlint_cmsis.model.model_error import ModelError


def duplicate_names(graph: Graph) -> Iterator[Problem]:
    """Nodes of one graph under one name: findings, baselines and suppressions tell nodes apart by it."""
    named: dict[tuple[str, str], list[Node]] = {}
    for node in graph.nodes:
        if node.name:
            named.setdefault((node.graph, node.name), []).append(node)
    repeated = [nodes for nodes in named.values() if len(nodes) > 1]
    if repeated:
        first = repeated[0]
        which = ", ".join(f"{node.op_type}#{node.index}" for node in first[:3]) + (", ..." if len(first) > 3 else "")
        others = len(repeated) - 1
        more = f" ({others} more name{'s are' if others > 1 else ' is'} given twice)" if others else ""
        wrong = f"{len(first)} nodes are named `{first[0].name}`: {which}{more}; a name is given once, or not at all"
        yield Problem("invalid", wrong)


def unproduced(graph: Graph, given: AbstractSet[str]) -> Iterator[Problem]:
    """Values that are read and that nothing makes, each once."""
    what = "which is no input, initializer or output of a node"
    for key, readers in graph.consumers.items():
        if key not in given and key not in graph.producers:
            yield Problem("invalid", f"reads `{key}`, {what}", readers[0].label)
    for key in graph.outputs:
        if key not in given and key not in graph.producers and key not in graph.consumers:
            yield Problem("invalid", f"the model returns `{key}`, {what}")


def unsorted(graph: Graph, given: AbstractSet[str]) -> Iterator[Problem]:
    """A value read before it is made: nodes in the wrong order."""
    for node in graph.nodes:
        for key in node.inputs:
            if key not in given and key in graph.producers and graph.producers[key].index >= node.index:
                late = f"reads what {graph.producers[key].label} makes later; nodes come in the order of their data"
                yield Problem("invalid", late, node.label)
                return


def refuse_loops(graph: Graph, given: AbstractSet[str]) -> None:
    """Raise ModelError for a value that is made twice and for a cycle: whoever follows the data would never end.

    onnx.checker rejects both, and no runtime loads them.
    """
    for node in graph.nodes:
        for key in filter(None, node.outputs):
            maker = graph.producers[key]
            if key in given or maker is not node:
                what = "is an input or initializer" if key in given else f"{maker.label} makes"
                raise ModelError("not-a-model", f"{node.label} makes `{key}`, which {what} too; a value is made once")
    early = (
        node.bodies or any(key in graph.producers and graph.producers[key].index >= node.index for key in node.inputs)
        for node in graph.nodes
    )
    cycle = find_cycle(graph) if any(early) else []
    if cycle:
        path = " -> ".join(node.label for node in (*cycle[:8], cycle[0]))
        raise ModelError("not-a-model", f"its nodes make a cycle: {path}; ONNX allows none")


def find_cycle(graph: Graph) -> list[Node]:
    """The nodes of one cycle in the order of the data, empty where there is none."""
    sources = {
        node.index: [graph.producers[key].index for key in node.reads if key in graph.producers] for node in graph.nodes
    }
    waiting = {index: len(makers) for index, makers in sources.items()}
    readers: dict[int, list[int]] = {}
    for index, makers in sources.items():
        for maker in makers:
            readers.setdefault(maker, []).append(index)
    ready = [index for index, count in waiting.items() if not count]
    while ready:
        for reader in readers.get(ready.pop(), ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    stuck = {index for index, count in waiting.items() if count}
    if not stuck:
        return []
    path: list[int] = []
    index = min(stuck)
    while index not in path:
        path.append(index)
        index = next(maker for maker in sources[index] if maker in stuck)
    return [graph.nodes[i] for i in reversed(path[path.index(index) :])]
