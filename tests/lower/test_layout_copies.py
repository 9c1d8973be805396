"""Copies between memory orders: where they are, what they cost, and that linting, layers and comparing tell them."""

from __future__ import annotations

import gzip
import json
import re
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.cmsis_nn.library import copy_range, reference_range
from onnxlint_cmsis.cmsis_nn.targets import parse_isa
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.layout_copies import memory_layout
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.memory_order import Stored, lies_in, reshaped
from support import linter, paths
from support.models import read, text
from support.targets import target_of

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g (float[1, 3, 6, 8] x) => (float[] y)'
FILTERS = "float[8, 3, 3, 3] w = {0}, float[8, 8, 3, 3] v = {0}"
CONV = "Conv<pads = [1, 1, 1, 1], kernel_shape = [3, 3]>"


def shape(name: str, *sizes: int) -> str:
    return f"int64[{len(sizes)}] {name} = {{{', '.join(map(str, sizes))}}}"


MODELS = {
    # An image between convolutions; NCHW to NHWC and back; the flattened image of a dense layer: nothing moves.
    "plain": (f"<{FILTERS}> {{ a = {CONV}(x, w) y = {CONV}(a, v) }}", []),
    "last axis": (
        f"""<{FILTERS}, float[8, 8] m = {{0}}> {{ a = {CONV}(x, w) b = Transpose<perm = [0, 2, 3, 1]>(a)
        c = MatMul(b, m) d = Transpose<perm = [0, 3, 1, 2]>(c) y = {CONV}(d, v) }}""",
        [],
    ),
    "flattened": (f"<{FILTERS}, float[384, 10] m = {{0}}> {{ a = {CONV}(x, w) b = Flatten(a) y = MatMul(b, m) }}", []),
    "undone": (
        f"""<{FILTERS}, {shape("s", 1, 8, 48)}, {shape("t", 1, 8, 6, 8)}> {{ a = {CONV}(x, w) b = Reshape(a, s)
        c = Reshape(b, t) y = {CONV}(c, v) }}""",
        [],
    ),
    # ONNX counts channels first, memory has them last: a channel shuffle, rows that cross channels, a joined plane.
    "shuffle": (
        f"""<{FILTERS}, {shape("s", 1, 2, 4, 6, 8)}, {shape("t", 1, 8, 6, 8)}> {{ a = {CONV}(x, w) b = Reshape(a, s)
        c = Transpose<perm = [0, 2, 1, 3, 4]>(b) d = Reshape(c, t) y = {CONV}(d, v) }}""",
        ["Transpose", "Conv"],
    ),
    "rows": (
        f"""<{FILTERS}, {shape("s", 12, 32)}, float[32, 10] m = {{0}}> {{ a = {CONV}(x, w) b = Reshape(a, s)
        y = MatMul(b, m) }}""",
        ["MatMul"],
    ),
    "two orders": (
        f"""<{FILTERS}, {shape("s", 1, 48, 8)}> {{ a = {CONV}(x, w) b = Reshape(a, s)
        c = Transpose<perm = [0, 2, 3, 1]>(a) d = Reshape(c, s) y = Concat<axis = 1>(b, d) }}""",
        ["Concat"],
    ),
    "softmax": (f"<{FILTERS}> {{ a = {CONV}(x, w) y = Softmax<axis = 2>(a) }}", ["Softmax"]),
}


def model(name: str) -> bytes:
    return text(f"{HEAD} {MODELS[name][0]}").SerializeToString()


def analysed(name: str, *targets: str, **settings: object) -> ModelAnalysis:
    return linter.analysed(model(name), targets=[*(targets or ("cortex-m4",))], **settings)


@pytest.mark.parametrize("name", MODELS)
def test_copies_are_where_memory_has_another_order_than_a_layer_wants(name: str) -> None:
    graph = read(text(f"{HEAD} {MODELS[name][0]}"))
    assert [copy.node.op_type for copy in memory_layout(graph, lower(graph)).copies] == MODELS[name][1]


def test_a_copy_is_a_row_with_a_range_and_in_every_total() -> None:

    report = linter.layered(model("shuffle"), targets=["cortex-m4"])
    (total,) = report.totals
    rows = [row for row in report.rows if row["cause"] == "layout"]
    assert [row["verdict"] for row in rows] == ["reference code"] * 2
    assert all("onnx2tf may remove" in str(row["reason"]) for row in rows)
    assert [prod(row["output"]) for row in rows] == [384, 384]  # type: ignore[call-overload]
    assert total.copies == 2
    least, most = total.instructions_range or (0, 0)
    ranges = [row["instructions_range"] for row in report.rows if "instructions_range" in row]
    assert least == total.instructions + sum(span[0] for span in ranges)  # type: ignore[index]
    assert most == total.instructions + sum(span[1] for span in ranges)  # type: ignore[index]
    summary = summarize(analysed("shuffle"))
    assert len(summary.copies) == 2
    assert summary.targets[0].instructions_range == (least, most)
    low, high = summary.targets[0].cmsis_nn_share or (0, 0)
    assert 0 < low < high < 1


def test_rows_are_in_file_order() -> None:

    report = linter.layered(model("shuffle"), targets=["cortex-m4", "cortex-m55"])
    assert [row["op"] for row in report.rows[::2]] == ["Conv", "Transpose", "Transpose", "Transpose", "Conv"]
    assert len({row["target"] for row in report.rows}) == 2


def test_a_model_without_copies_has_one_number() -> None:
    summary = summarize(analysed("last axis"))
    assert summary.copies == ()
    assert summary.targets[0].instructions_range is None
    assert summary.targets[0].cmsis_nn_share is None


@pytest.mark.parametrize("settings", [{"runtime": "tvm"}, {"api": "legacy", "assume": "q7"}])
def test_who_lays_tensors_out_itself_has_no_copies_of_the_application(settings: dict[str, str]) -> None:
    assert analysed("shuffle", **settings).copies == ()


def test_the_cost_of_a_copy_is_not_known_for_another_compiler() -> None:
    assert copy_range(parse_isa("dsp", "7.0.0", "armclang"), [(8, 1)]) is None
    assert reference_range(parse_isa("dsp", "7.0.0", "armclang"), "lookup", (8,)) is None
    assert reference_range(parse_isa("dsp"), "softmax", (8,)) is None


def recorded() -> list[dict[str, Any]]:
    with gzip.open(paths.DATA / "cost_plain.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


CODES = {
    "plain_lookup": "lookup", "plain_requantize": "requantize", "plain_add": "elementwise_add",
    "plain_mul": "elementwise_mul",
}  # fmt: skip


@pytest.mark.parametrize(
    ("cpu", "build"),
    [
        ("cortex-m0", "cortex-m0"),
        ("cortex-m0+", "cortex-m0"),
        ("cortex-m23", "cortex-m23"),
        ("cortex-m3", "scalar"),
        ("cortex-m4", "dsp"),
        ("cortex-m55", "mve"),
    ],
)
def test_every_measured_call_of_plain_code_lies_in_its_range(cpu: str, build: str) -> None:
    """No call costs more than the most, and none less than the least; the most is reached to a tenth."""
    target, nearest = target_of(cpu), dict.fromkeys([*CODES.values(), "copy"], 0.0)
    for row in recorded():
        measured = [number for name, number in row["instructions"].items() if name.startswith(f"{build} ")]
        assert len(measured) == 3
        if row["kind"] == "plain_move":
            code = "copy"
            sizes = [row.get(name, 1) for name in ("n", "h", "w", "in_c")][: row["rank"]]
            order = [row.get(f"axis_{index}", 0) for index in range(row["rank"])]
            places = [(sizes[axis], prod(sizes[axis + 1 :])) for axis in order]
            span = copy_range(target, places)
        else:
            code = CODES[row["kind"]]
            span = reference_range(target, code, (row["in_c"],))
        least, most = span or (0, 0)
        assert least <= min(measured), row
        assert max(measured) <= most, row
        nearest[code] = max(nearest[code], max(measured) / most)
    assert min(nearest.values()) > 0.9


@given(st.permutations(range(4)), st.lists(st.integers(1, 5), min_size=4, max_size=4), st.sampled_from((1, 2)))
def test_a_copy_costs_more_than_nothing_and_int16_no_less(order: list[int], sizes: list[int], width: int) -> None:
    places = [(sizes[axis], prod(sizes[axis + 1 :])) for axis in order]
    least, most = copy_range(target_of("cortex-m55"), places, width) or (0, 0)
    narrow = copy_range(target_of("cortex-m55"), places) or (0, 0)
    assert 0 <= least < most
    assert most >= narrow[1]


@given(st.permutations(range(4)), st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_a_reshape_that_is_undone_leaves_the_memory_as_it_was(order: list[int], sizes: list[int]) -> None:
    value = Stored(tuple(sizes), tuple(order))
    assert lies_in(reshaped(reshaped(value, (prod(sizes),)), tuple(sizes)), tuple(order))


def test_comparing_tells_a_copy_that_went_and_the_most_instructions() -> None:
    from onnxlint_cmsis.analysis.results import FileResult
    from onnxlint_cmsis.output.comparison import ModelVersion, difference
    from onnxlint_cmsis.output.comparison_text import cost_text, figure_rows

    versions = [
        ModelVersion(name, FileResult(name, (), Level.WARNING), linter.layered(model(name), targets=["cortex-m4"]))
        for name in ("shuffle", "plain")
    ]
    comparison = difference(*versions)
    figures = {figure.metric: figure for figure in comparison.figures}
    most = figures["most_instructions"]
    assert most.change is not None
    assert most.change < (figures["instructions"].change or 0) <= 0
    [row] = [row for row in figure_rows(comparison, str) if "instructions" in row.what]
    assert {figure.metric for figure in row.figures} == {"instructions", "most_instructions"}
    assert (row.what, row.cpus) == ("predicted instructions (not cycles)", "cortex-m4")
    assert re.fullmatch(r"[\d,]+ to [\d,]+ -> [\d,]+ \(the most -[\d.]+ %\)", row.change), row.change
    gone = [layer for layer in comparison.layers if layer.before and layer.before.cause is Cause.LAYOUT]
    assert len(gone) == 2
    assert " to " in cost_text(gone[0], "->")
    same = difference(versions[1], versions[1])
    assert "most_instructions" not in {figure.metric for figure in same.figures}


DAMAGED = {
    "softmax of fewer axes": ("Softmax", (1, 4), (1, 4, 2, 2), ""),
    "softmax of more axes": ("Softmax", (1, 4, 2, 2), (1, 4), ""),
    "concatenation of two ranks": ("Concat", (1, 2, 2, 2), (1, 4, 2, 2), "<axis = 1>"),
}
"""Operator, the shape of its input, the shape that the file states for its result, attributes."""


@pytest.mark.parametrize("name", DAMAGED)
def test_shapes_that_do_not_fit_have_no_copies(name: str) -> None:
    op, before, after, attributes = DAMAGED[name]
    beside = "float[2, 2] b" if op == "Concat" else ""
    inputs = ", ".join(filter(None, (f"float{[*before]} x", beside)))
    data = text(
        f"""<ir_version: 8, opset_import: ["" : 13]> damaged ({inputs}) => (float[1, 2, 2, 2] z)
        <float[2, 4, 1, 1] w = {{1, 1, 1, 1, 1, 1, 1, 1}}, float{[*after]} y>
        {{ r = Relu(x) y = {op}{attributes}(r{beside and ", b"}) z = Conv(y, w) }}"""
    )
    rows = linter.layered(data, targets=["cortex-m4"]).rows
    assert [row["node"] for row in rows if row["op"] == "Conv"]
