"""Where in a PyTorch program a node was written, as PyTorch's exporter notes it in the node's metadata."""

from __future__ import annotations

import re

from onnxlint_cmsis.ground.findings import PythonPlace
from onnxlint_cmsis.model.graph import Graph

SCOPES = "pkg.torch.onnx.name_scopes"
"""Metadata key: names of the modules around a node, outermost first, the node last, as a Python list."""


TRACE = "pkg.torch.onnx.stack_trace"
"""Metadata key: Python's stack where the node was made, outermost call first."""


_NAME = r"'([^']*)'"


_FRAME = r'File "([^"]+)", line (\d+)'


_LIBRARY = r"(^|/)(torch|site-packages)/"


def python_places(graph: Graph) -> dict[int, PythonPlace]:
    """The place of each node that has one, by `Node.index`."""
    written: dict[int, PythonPlace] = {}
    for index, metadata in graph.node_metadata.items():
        scopes, calls = re.findall(_NAME, metadata.get(SCOPES, "")), re.findall(_FRAME, metadata.get(TRACE, ""))
        module = scopes[-2] if len(scopes) > 1 else ""
        # the innermost call of the user's program: the last one in front of those of libraries
        file, line = next(((file, int(line)) for file, line in calls[::-1] if not re.search(_LIBRARY, file)), ("", 0))
        if module or file:
            written[index] = PythonPlace(module, file, line)
    return written
