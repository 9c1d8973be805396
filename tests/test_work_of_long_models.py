"""Twice the operators are twice the work, in lines of code that run: no clock is read."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from onnx import parser

from onnxlint_cmsis.analysis.arena_plan import ArenaStep, ArenaUses, plan_arena
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.formats.format import ONNX
from onnxlint_cmsis.ground.taken_bytes import CHILDREN
from onnxlint_cmsis.lower.dims import is_image
from onnxlint_cmsis.lower.stored_types import stored_type
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.runtimes.tflm import free_plan
from support.planned_models import with_plan
from support.tflite_models import tensor
from support.tflite_writer import operator_code, write

SHAPE = [1, 4, 4, 4]


def of_operators(
    codes: list[str], operators: list[tuple[int, list[int]]], ends: list[int], offsets: tuple[int, ...] = ()
) -> bytes:
    """A model of operators with one result each, which are the tensors behind the input; `offsets` are its plan."""
    rows = [{"opcode_index": code, "inputs": reads, "outputs": [n]} for n, (code, reads) in enumerate(operators, 1)]
    for row in rows:
        if codes[row["opcode_index"]] == "ADD":
            row["builtin_options"] = ("AddOptions", {})
    tensors = [tensor(f"t{number}", SHAPE) for number in range(len(rows) + 1)]
    graph = {"tensors": tensors, "inputs": [0], "outputs": ends, "operators": rows}
    model = {"version": 3, "operator_codes": [*map(operator_code, codes)], "subgraphs": [graph], "buffers": [{}]}
    return write(with_plan(model, offsets) if offsets else model)


def chain(count: int) -> bytes:
    """Each operator reads the one before."""
    return of_operators(["RELU"], [(0, [number]) for number in range(count)], [count])


def fan(count: int) -> bytes:
    """All operators read the input, and all results are those of the model."""
    return of_operators(["RELU"], [(0, [0])] * count, [*range(1, count + 1)])


def placed(count: int) -> bytes:
    """A fan with a plan, whose tensors lie wall to wall."""
    plan = tuple(range(0, 64 * count + 64, 64))
    return of_operators(["RELU"], [(0, [0])] * count, [*range(1, count + 1)], plan)


def gathered(count: int) -> bytes:
    """A fan whose results are added, one after the other."""
    half = count // 2
    sums = [(1, [number, half + number - 1 if number > 1 else 0]) for number in range(1, half + 1)]
    return of_operators(["RELU", "ADD"], [(0, [0])] * half + sums, [2 * half])


def onnx_model(lines: list[str], result: str) -> bytes:
    """A model of operators in ONNX's own text, of one input `t0`."""
    head = '<ir_version: 8, opset_import: ["" : 13]> g (float[1, 4, 5, 6] t0) => (float[] '
    data: bytes = parser.parse_model(f"{head}{result}) {{ {' '.join(lines)} }}").SerializeToString()
    return data


def turned(count: int) -> bytes:
    """A chain of Transposes, of none of which the type is known."""
    lines = [f"t{number + 1} = Transpose <perm = [0, 2, 3, 1]> (t{number})" for number in range(count)]
    return onnx_model(lines, f"t{count}")


def rectified(count: int) -> bytes:
    """A chain of Relus, which keep the format of what they read."""
    return onnx_model([f"t{number + 1} = Relu (t{number})" for number in range(count)], f"t{count}")


def joined(count: int) -> bytes:
    """Operators that all read the input, and one that reads all of them."""
    names = [f"t{number}" for number in range(1, count + 1)]
    lines = [f"{name} = Relu (t0)" for name in names]
    return onnx_model([*lines, f"y = Concat <axis = 1> ({', '.join(names)})"], "y")


def spread(count: int) -> bytes:
    """Operators that all read the input, and whose results are all the model's."""
    names = [f"t{number}" for number in range(1, count + 1)]
    return onnx_model([f"{name} = Relu (t0)" for name in names], ", float[] ".join(names))


def weighted(count: int) -> bytes:
    """Convolutions that all read the input, with one constant of weights, and whose results are all the model's."""
    names = [f"t{number}" for number in range(1, count + 1)]
    weights = f"w = Constant <value = float[4, 4, 1, 1] {{{', '.join(map(str, range(1, 17)))}}}> ()"
    return onnx_model([weights, *(f"{name} = Conv (t0, w)" for name in names)], ", float[] ".join(names))


def shared_out(count: int) -> bytes:
    """An operator that gives each of many others its part of the input."""
    parts = [f"t{number}" for number in range(1, count + 1)]
    size = f'<ir_version: 8, opset_import: ["" : 13]> g (float[1, {count}, 2, 2] t0) => (float[] '
    lines = [f"y{number} = Relu ({part})" for number, part in enumerate(parts)]
    ends = ", float[] ".join(f"y{number}" for number in range(count))
    text = f"{size}{ends}) {{ {', '.join(parts)} = Split <axis = 1> (t0) {' '.join(lines)} }}"
    data: bytes = parser.parse_model(text).SerializeToString()
    return data


def lines_of(run: Callable[[], Any]) -> Counter[CodeType]:
    """Lines of Python that run, by function."""
    ticks: dict[CodeType, itertools.count[int]] = {}
    counting: dict[CodeType, Callable[..., Any]] = {}

    def counter(code: CodeType) -> Callable[..., Any]:
        tick = ticks[code] = itertools.count()

        def line(_frame: FrameType, event: str, _value: object, step: Callable[[], int] = tick.__next__) -> Any:
            if event == "line":
                step()
            return line

        return line

    def call(frame: FrameType, _event: str, _value: object) -> Callable[..., Any]:
        known = counting.get(frame.f_code)
        if known is None:
            known = counting[frame.f_code] = counter(frame.f_code)
        return known

    before = sys.gettrace()
    sys.settrace(call)
    try:
        run()
    finally:
        sys.settrace(before)
    return Counter({code: next(tick) for code, tick in ticks.items()})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (chain, ("lint", "FILE", "--runtime", "tflm")),
        (fan, ("lint", "FILE", "--runtime", "tflm")),
        (gathered, ("layers", "FILE")),
        (fan, ("memory", "FILE")),
        (placed, ("memory", "FILE")),
        (joined, ("layers", "FILE")),
        (spread, ("compare", "FILE", "COPY")),
        (weighted, ("layers", "FILE")),
        (rectified, ("layers", "FILE", "--api", "legacy")),
        (shared_out, ("verify", "FILE", "COPY")),
        (spread, ("verify", "FILE", "OTHER")),
        (shared_out, ("verify", "FILE", "OTHER")),
    ],
)
def test_work_grows_with_the_operators(
    make: Callable[[int], bytes], words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No function's work grows with the square; the search for a better plan has its own limit.

    COPY says the same in other bytes, and OTHER has Ceil for Relu.
    """
    monkeypatch.setattr(free_plan, "MOST_BUFFERS", 2)
    suffix = ".onnx" if make in (joined, spread, weighted, shared_out, rectified) else ".tflite"
    lines = []
    for count in (40, 80, 160):
        files = {name: tmp_path / f"{name}{count}{suffix}" for name in ("FILE", "COPY", "OTHER")}
        data, doc_string = make(count), b"2\1x"
        for path, held in zip(files.values(), (data, data + doc_string, data.replace(b"Relu", b"Ceil")), strict=True):
            path.write_bytes(held)
        command = [*(str(files.get(word, word)) for word in words), "--isolated"]
        main(command)  # imports, and what is worked out once
        lines.append(lines_of(lambda command=command: main(command)))
    few, twice, most = lines
    assert most.total() - few.total() > 1000
    steep = [code for code in most if most[code] - twice[code] > 2.8 * (twice[code] - few[code]) + 3500]
    assert [f"{code.co_filename}: {code.co_name}" for code in steep] == []


def test_work_of_a_memory_plan_grows_with_the_buffers() -> None:
    """All live at once, and the tree has one level more for eight times as many."""
    work = []
    for count in (CHILDREN**2, CHILDREN**3):
        steps = tuple(ArenaStep((0,), (number,)) for number in range(1, count - 2))
        uses = ArenaUses(dict.fromkeys(range(count - 2), 16), (0,), steps, (*range(1, count - 2),))
        work.append(lines_of(lambda uses=uses: plan_arena(uses)).total())
    assert work[1] < 2.5 * CHILDREN * work[0]


@pytest.mark.parametrize("make", [turned, joined])
def test_work_grows_with_the_nodes(make: Callable[[int], bytes]) -> None:
    """Searches for type and layout end; from 200 nodes on they are as long as they get."""
    lines = []
    for count in (200, 400, 800):
        graph = ONNX.load("m.onnx", make(count)).graph
        nodes = [node for node in graph.nodes if node.op_type != "Concat"]

        def search(graph: Graph = graph, nodes: list[Node] = nodes) -> None:
            for node in nodes:
                stored_type(graph, node.inputs[0])
                is_image(graph, node.outputs[0])

        search()
        lines.append(lines_of(search).total())
    assert lines[2] - lines[1] < 2.1 * (lines[1] - lines[0])
