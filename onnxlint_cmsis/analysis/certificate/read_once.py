"""A file whose parts beside the graph are worked out once, for all readings of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.formats.format import LoadedFile
    from onnxlint_cmsis.model.graph import Graph
    from onnxlint_cmsis.model.leftovers import Leftovers


class ReadOnce:
    """A LoadedFile that another one stands behind."""

    def __init__(self, loaded: LoadedFile) -> None:
        self._loaded = loaded

    @property
    def graph(self) -> Graph:
        """Nodes, tensors and constants."""
        return self._loaded.graph

    def digest(self) -> bytes | None:
        """What stands for the bytes of the file and of those with its values."""
        return self._loaded.digest()

    def reader(self) -> Callable[[str], NDArray[Any] | None]:
        """A way to read constants."""
        return self._loaded.reader()

    @cached_property
    def _leftovers(self) -> Leftovers:
        return self._loaded.leftovers()

    @cached_property
    def _computed_sizes(self) -> Mapping[str, tuple[int, ...]]:
        return self._loaded.computed_sizes()

    def leftovers(self) -> Leftovers:
        """What the file says and the graph does not."""
        return self._leftovers

    def computed_sizes(self) -> Mapping[str, tuple[int, ...]]:
        """Sizes of results as a runtime computes them."""
        return self._computed_sizes
