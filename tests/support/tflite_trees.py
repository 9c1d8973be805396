"""Trees of what a `.tflite` file holds, read by LiteRT's own object API."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

schema = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="needs the extra `tflite`")


def tree(data: bytes) -> dict[str, Any]:
    """The whole file as nested dicts and lists."""
    return plain(schema.ModelT.InitFromPackedBuf(bytearray(data), 0))


def plain(value: Any) -> Any:
    """An object of the API as a dict, its vectors as lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    return {name: plain(item) for name, item in vars(value).items()} if hasattr(value, "__dict__") else value
