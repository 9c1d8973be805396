"""Rules on how nodes are connected: every value made once, by something, before it is read."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from onnxlint_cmsis.graph.model import Graph, Node, Problem


def duplicate_outputs(graph: Graph, given: AbstractSet[str]) -> Iterator[Problem]:
    """Two nodes, or a node and an input or initializer, under one name; `given` are inputs and initializers."""
    for node in graph.nodes:
        for key in node.outputs:
            maker = graph.producers.get(key)
            if maker is not None and maker is not node:
                found = f"makes `{key}`, which {maker.label} makes too; a value is made once"
                yield Problem("invalid", found, node.label)
            elif key in given:
                found = f"makes `{key}`, which is an input or initializer too; a value is made once"
                yield Problem("invalid", found, node.label)


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
        more = f" ({len(repeated) - 1} more names are given twice)" if len(repeated) > 1 else ""
        found = f"{len(first)} nodes are named `{first[0].name}`: {which}{more}; a name is given once, or not at all"
        yield Problem("invalid", found)


def unproduced(graph: Graph, given: AbstractSet[str]) -> Iterator[Problem]:
    """Values that are read and that nothing makes, each once."""
    what = "which is no input, initializer or output of a node"
    for key, readers in graph.consumers.items():
        if key not in given and key not in graph.producers:
            yield Problem("invalid", f"reads `{key}`, {what}", readers[0].label)
    for key in graph.outputs:
        if key not in given and key not in graph.producers and key not in graph.consumers:
            yield Problem("invalid", f"the model gives out `{key}`, {what}")


def unsorted(graph: Graph, given: AbstractSet[str]) -> Iterator[Problem]:
    """A value read before it is made: a cycle, or nodes in the wrong order."""
    early = [
        (node, graph.producers[key])
        for node in graph.nodes
        for key in node.inputs
        if key not in given and key in graph.producers and graph.producers[key].index >= node.index
    ]
    if not early:
        return
    cycle = find_cycle(graph)
    if cycle:
        path = " -> ".join(node.label for node in (*cycle[:8], cycle[0]))
        yield Problem("invalid", f"is part of a cycle: {path}; a graph has none", cycle[0].label)
    else:
        node, maker = early[0]
        yield Problem(
            "invalid", f"reads what {maker.label} makes later; nodes come in the order of their data", node.label
        )


def find_cycle(graph: Graph) -> list[Node]:
    """The nodes of one cycle in the order of the data, empty where there is none."""
    sources = {n.index: [graph.producers[k].index for k in n.inputs if k in graph.producers] for n in graph.nodes}
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
