"""A small model with everything that the HTML report marks."""

from __future__ import annotations

from pathlib import Path

from onnxlint_cmsis.cli.main import main
from support.models import text

NET = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 16, 16] x) => (float[1, 4, 8, 8] y)
    <float[10, 4, 3, 3] v = {1}, float[10, 10, 3, 3] u = {1}, float[6, 10, 1, 1] w = {1}, float[4, 6, 1, 1] z = {1}> {
        [first] a = Conv<pads = [1, 1, 1, 1]>(x, v)
        [second] b = Conv<pads = [1, 1, 1, 1]>(a, u)
        [sum] c = Add(a, b)
        [root] d = Sqrt(c)
        [strided] f = Conv<strides = [2, 2]>(d, w)
        [last] y = Conv(f, z)
    }
"""
"""A residual block, an operator that CMSIS-NN has not, and a layer that misses a kernel."""


def write_model(path: Path, source: str = NET, **names: str) -> Path:
    """Write a model, nodes renamed."""
    proto = text(source)
    for node in proto.graph.node:
        node.name = names.get(node.name, node.name)
    path.write_bytes(proto.SerializeToString())
    return path


def written_report(path: Path, *options: str) -> str:
    """The page of a model."""
    written = path.parent / "report.html"
    assert main(["report", "--isolated", str(path), "-o", str(written), *options]) == 0
    return written.read_text(encoding="utf-8")
