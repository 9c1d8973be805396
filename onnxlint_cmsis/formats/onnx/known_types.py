"""Known shapes and types of one graph during shape inference."""

from onnxlint_cmsis.ground.types import Size

Known = tuple[int, tuple[Size, ...] | None]
"""Element type number and shape."""


Table = dict[str, Known]
"""Known shapes and types of one graph, by name."""
