"""Ten nets with one difficulty each: in less RAM they compute the same, or a note says why not."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from support.branching_nets import BranchingNet
from support.expanding_nets import CODES
from support.linter import fixed, linted
from support.tflite_models import tensor
from support.tflite_writer import operator_code, write
from support.tflm_agreement import REFERENCE
from support.tflm_runs import wheel_run

pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")

M4: dict[str, Any] = {"targets": ["cortex-m4"], "fixable": ["CNN604"]}


def stem(net: BranchingNet, size: tuple[int, int] = (40, 32), front: str = "") -> int:
    """A wide map behind the input."""
    source = net.activation([1, *size, 3], front or net.kind)
    if front:
        source = net.operator("QUANTIZE", [source], net.activation([1, *size, 3]))
    return net.convolution(source, 12, 3 if size[0] > 1 else 1)


def narrowed(net: BranchingNet, source: int) -> int:
    """A small result behind a map."""
    return net.convolution(source, 4, 3, 2) if net.shape(source)[1] > 1 else net.convolution(source, 2)


def branches(net: BranchingNet) -> int:
    wide = stem(net, (96, 40))
    sides = [narrowed(net, wide), net.convolution(wide, 4, 5, 2)]
    return net.operator("ADD", sides, net.activation(net.shape(sides[0])), ("AddOptions", {}))


def residual(net: BranchingNet) -> int:
    wide = stem(net)
    other = net.convolution(wide, 12, 3)
    return narrowed(net, net.operator("ADD", [wide, other], net.activation(net.shape(wide)), ("AddOptions", {})))


def dilation(net: BranchingNet) -> int:
    return narrowed(net, net.depthwise(stem(net), 1, 2, "SAME"))


def strides(net: BranchingNet) -> int:
    return narrowed(net, net.depthwise(stem(net), 3, 1, "SAME", (5, 3)))


def odd_sizes(net: BranchingNet) -> int:
    return narrowed(net, net.padded_pool(net.depthwise(stem(net, (43, 29)), 1, 1, "SAME")))


def a_row(net: BranchingNet) -> int:
    return narrowed(net, net.depthwise(stem(net, (1, 512)), 2, 1, "SAME", (1, 3)))


def a_chain(net: BranchingNet) -> int:
    return narrowed(net, stem(net))


def uint8_in_front(net: BranchingNet) -> int:
    return narrowed(net, stem(net, front="UINT8"))


DIFFICULTIES: dict[str, tuple[Callable[[BranchingNet], int], str, float]] = {
    "branches": (branches, "INT8", 0.85),
    "a residual": (residual, "INT8", 0.6),
    "dilation": (dilation, "INT8", 0.8),
    "strides": (strides, "INT8", 0.8),
    "odd sizes": (odd_sizes, "INT8", 0.8),
    "one dimension": (a_row, "INT8", 0.9),
    "int16": (residual, "INT16", 0.6),
    "float": (a_chain, "FLOAT32", 0.5),
    "uint8 in front": (uint8_in_front, "INT8", 0.9),
    "two subgraphs": (a_chain, "INT8", 0.8),
}
"""What is difficult: the net, its type, and the share of its arena that it has to fit."""
REFUSED = {"float": "its result is float32, and only int8 and int16 are computed in parts"}
"""What is told of a net that stays as it is."""


def drawn(name: str) -> bytes:
    make, kind, _ = DIFFICULTIES[name]
    net = BranchingNet(3, kind)
    model = net.model(make(net))
    if name == "two subgraphs":
        model["operator_codes"].append(operator_code("CALL_ONCE"))
        options = ("CallOnceOptions", {"init_subgraph_index": 1})
        model["subgraphs"][0]["operators"].insert(0, {"opcode_index": len(CODES), "builtin_options": options})
        inner = {"tensors": [tensor("i", [1, 8]), tensor("o", [1, 8])], "inputs": [0], "outputs": [1]}
        inner["operators"] = [{"opcode_index": CODES.index("RELU"), "inputs": [0], "outputs": [1]}]
        model["subgraphs"].append(inner)
    return write(model)


@pytest.mark.parametrize("name", DIFFICULTIES)
def test_less_ram_does_or_a_note_says_why_not(name: str) -> None:
    data = drawn(name)
    (row,) = linted(data, "m.tflite", **M4).summary.targets
    ram = int((row.arena_to_write or 0) * DIFFICULTIES[name][2])
    result, new = fixed(data, "m.tflite", **M4, ram=ram)
    if name in REFUSED:
        assert new is None
        assert any(REFUSED[name] in note for note in result.notes), result.notes
        return
    assert new is not None, (result.reason, result.notes)
    assert result.added
    assert result.certificate is not None
    if name != "two subgraphs":  # LiteRT refuses an inner one with inputs
        assert result.proof is not None
        assert result.proof.equal
    assert result.memory[0].after <= ram
    if find_spec("tflite_micro"):
        before, after = wheel_run(data), wheel_run(new)
        arena = interpret(read_tflite("m.tflite", new), REFERENCE).arena
        assert before.outputs == after.outputs != ()
        assert arena is not None
        assert after.head == arena.head
