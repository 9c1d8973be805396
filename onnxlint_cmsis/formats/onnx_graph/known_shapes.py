"""What is known of the values of one graph while shapes are inferred."""

from __future__ import annotations

from onnxlint_cmsis.types import Size

Known = tuple[int, tuple[Size, ...] | None]
"""Element type number and shape."""
Table = dict[str, Known]
"""What is known of the values of one graph, by their names in it."""
