"""Searches through a graph that ask each tensor once, however many of them pass it and however far they go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import Graph


class Onward(NamedTuple):
    """The tensor at which a search goes on."""

    tensor: str
    """Its name."""


def along(graph: Graph, search: str, tensor: str, ask: Callable[[str], Any]) -> Any:
    """The answer at the end of a chain of tensors, each of which `ask` answers or sends on; None on a circle."""
    passed: list[tuple[str, str]] = []
    key = search, tensor
    while key not in graph.searched:
        graph.searched[key] = None
        passed.append(key)
        answer = ask(key[1])
        if not isinstance(answer, Onward):
            graph.searched[key] = answer
            break
        key = search, answer.tensor
    answer = graph.searched[key]
    graph.searched.update(dict.fromkeys(passed, answer))
    return answer


def among_all(
    graph: Graph,
    search: str,
    tensor: str,
    behind: Callable[[str], Iterable[str]],
    ask: Callable[[str, list[Any]], Any],
) -> Any:
    """The answer at a tensor from those at the tensors `behind` it, which are asked before; None of one on a circle."""
    waiting, opened = [tensor], set[str]()
    while waiting:
        name = waiting[-1]
        more = () if (search, name) in graph.searched else [*behind(name)]
        if name not in opened and (unasked := [other for other in more if (search, other) not in graph.searched]):
            opened.add(name)
            waiting += [other for other in unasked if other not in opened]
            continue
        waiting.pop()
        if (search, name) not in graph.searched:
            graph.searched[search, name] = ask(name, [graph.searched.get((search, other)) for other in more])
    return graph.searched[search, tensor]
