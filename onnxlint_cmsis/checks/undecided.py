"""Symbolic sizes leave questions about layers open.

A route, an error, a wrong result, an overrun or a size above 16 bits depends on a size that the model leaves symbolic.
The linter does not guess: it says once per model how many layers are open and which inputs lack sizes. A symbolic first
dimension of an input is taken as the batch and is 1.

**What to do.** Give the sizes: `--input-shape input=1,3,96,96`, or `input-shapes` in the configuration.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.cmsis_nn.route import Route
from onnxlint_cmsis.graph.model import Graph
from onnxlint_cmsis.types import Finding, Level, Location

SHOWN = 3
"""How many layers the message names."""


class Undecided:
    """Collects what unknown sizes leave open in one model."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._layers: dict[str, None] = {}
        self._threatened: dict[str, None] = {}
        self._codes: set[str] = set()
        self._sizes: set[str] = set()

    def add(self, label: str, route: Route) -> None:
        """Take in what is open of one layer on one target: its kernel, its status, or a hazard."""
        if route.undecided:
            self._layers[label] = None
            self._sizes |= route.undecided
        elif route.open_hazards:
            self._threatened[label] = None
            self._codes |= {hazard.code for hazard in route.open_hazards}
            self._sizes |= {name for hazard in route.open_hazards for name in hazard.unknown(route.seen)}

    def add_shape(self, label: str) -> None:
        """Take in a layer that has no call, since its operands' ranks or sizes are not known well enough."""
        self._layers[label] = None
        self._sizes.add("the shape of an operand")

    def findings(self) -> Iterator[Finding]:
        """The one finding of the model; none where everything is decided."""
        threatened = [label for label in self._threatened if label not in self._layers]
        parts = [f"the kernel of {_layers(list(self._layers))}"] if self._layers else []
        if threatened:
            parts.append(f"whether {_layers(threatened)} will meet {', '.join(sorted(self._codes))}")
        if parts:
            text = f"Unknown sizes leave open {' and '.join(parts)}. {self._wanting()}."
            yield Finding("CNN005", "undecided", Level.NOTE, text, Location(self._graph.path))

    def _wanting(self) -> str:
        """What a user can set; where the inputs are complete, what is missing inside."""
        inputs = missing_sizes(self._graph)
        if inputs:
            return f"Give the sizes marked ? with --input-shape: {'; '.join(inputs)}"
        return f"All inputs have sizes; {', '.join(sorted(self._sizes))} does not follow from them"


def missing_sizes(graph: Graph) -> list[str]:
    """Inputs that lack sizes, as --input-shape takes them: `x=1,3,?,?`."""
    shapes = {name: graph.shape(name) for name in graph.inputs}
    return [f"{name}={_text(shape)}" for name, shape in shapes.items() if shape is None or None in shape]


def _layers(names: list[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"{len(names)} {'layer' if len(names) == 1 else 'layers'} ({listed})"


def _text(shape: tuple[int | None, ...] | None) -> str:
    return "?" if shape is None else ",".join("?" if size is None else str(size) for size in shape)
