"""Where in a PyTorch program a node was written, as PyTorch's exporter notes it in the node's metadata."""

from __future__ import annotations

import re

from onnxlint_cmsis.findings import PythonPlace
from onnxlint_cmsis.graph.model import Graph

SCOPES = "pkg.torch.onnx.name_scopes"
"""Metadata key: names of the modules around a node, outermost first, the node last, as a Python list."""
TRACE = "pkg.torch.onnx.stack_trace"
"""Metadata key: Python's stack where the node was made, outermost call first."""
_NAME = re.compile(r"'([^']*)'")
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_LIBRARY = re.compile(r"(^|/)(torch|site-packages)/")


def python_places(graph: Graph) -> dict[int, PythonPlace]:
    """The place of each node that has one, by `Node.index`."""
    found = {index: _place(metadata) for index, metadata in graph.node_metadata.items()}
    return {index: place for index, place in found.items() if place.module or place.file}


def _place(metadata: dict[str, str]) -> PythonPlace:
    scopes = _NAME.findall(metadata.get(SCOPES, ""))
    module = scopes[-2] if len(scopes) > 1 else ""
    file, line = _frame(metadata.get(TRACE, ""))
    return PythonPlace(module, file, line)


def _frame(trace: str) -> tuple[str, int]:
    """The innermost call of the user's program: the last one in front of those of libraries."""
    own = [(file, int(line)) for file, line in _FRAME.findall(trace) if not _LIBRARY.search(file)]
    return own[-1] if own else ("", 0)
