"""Layers in bands with their halo, which `--fix` writes where RAM is named and channel tiles do not do."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.analysis.certificate.verifying import verify, why_not_equal
from onnxlint_cmsis.fixers.memory.band_segments import band_segments, not_in_bands
from onnxlint_cmsis.fixers.memory.channel_tiles import group_ends
from onnxlint_cmsis.fixers.memory.drafts import drafted
from onnxlint_cmsis.fixers.memory.tiled_file import tiled
from onnxlint_cmsis.formats.format import TFLITE
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from support.expanding_nets import CODES, Net, net
from support.linter import fixed, linted
from support.nightly import one_of
from support.paths import SHARED
from support.targets import target_of
from support.tflite_models import tensor
from support.tflite_writer import operator_code, write
from support.tflm_agreement import REFERENCE
from support.tflm_runs import wheel_run

pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")

WHEEL = pytest.mark.skipif(find_spec("tflite_micro") is None, reason="needs PyPI's tflite-micro")
SHARED_MODELS = pytest.mark.skipif(not SHARED.exists(), reason="needs models in a folder `shared` beside the project")
M4 = {"targets": ["cortex-m4"]}


def residual(mobile: Net, *, stride: int = 2, size: tuple[int, int] = (48, 40), front: str = "") -> int:
    """A block with a residual between a map of some channels and a smaller one; the number of its result."""
    source = mobile.activation([1, *size, 3], front or mobile.kind)
    if front:
        source = mobile.operator("QUANTIZE", [source], mobile.activation([1, *size, 3]))
    first = mobile.convolution(source, 8, 3)
    second = mobile.convolution(mobile.convolution(first, 8, 3), 8, 3)
    added = mobile.operator("ADD", [first, second], mobile.activation([1, *size, 8]), ("AddOptions", {}))
    return mobile.convolution(mobile.convolution(added, 8, 3, stride), 4, 3, 2)


def needed(data: bytes) -> int:
    (row,) = linted(data, "m.tflite", **M4).summary.targets
    assert row.arena_to_write is not None
    return row.arena_to_write


def operators_of(data: bytes) -> Counter[str]:
    return Counter(operator.op for operator in read_tflite("m.tflite", data).subgraphs[0].operators)


def check(data: bytes, share: float, cut: str = "GATHER", lines: str = "rows") -> bytes:
    """The fixed file fits and is certified; PyPI's TensorFlow Lite Micro computes the same in the head that is told."""
    whole = needed(data)
    result, new = fixed(data, "m.tflite", **M4, ram=int(whole * share), fixable=["CNN604"])
    assert new is not None, (result.reason, result.notes)
    assert result.certificate is not None
    assert any(f"bands of {lines}" in clause for clause in result.added)
    assert operators_of(new)[cut]
    assert any(f"Add{cut.title()}()" in note for note in result.notes)
    (change,) = result.memory
    assert change.after == needed(new) <= whole * share
    assert result.macs.after >= result.macs.before > 0
    if find_spec("tflite_micro"):
        before, after = wheel_run(data), wheel_run(new)
        arena = interpret(read_tflite("m.tflite", new), REFERENCE).arena
        assert before.outputs == after.outputs != ()
        assert arena is not None
        assert after.head == arena.head
    return new


@pytest.mark.parametrize(
    "more", one_of(2, [{"size": (47, 37)}, {}, {"front": "UINT8"}, {"front": "FLOAT32"}, {"stride": 3}])
)
def test_a_residual_goes_along(more: dict[str, Any]) -> None:
    mobile = Net(3)
    check(write(mobile.model(residual(mobile, **more))), 0.9)


@pytest.mark.parametrize(("kind", "share", "cut"), one_of(2, [("INT8", 0.75, "GATHER"), ("INT16", 0.6, "SLICE")]))
def test_a_map_of_one_row_is_cut_along_its_columns(kind: str, share: float, cut: str) -> None:
    mobile = Net(3, kind)
    first = mobile.depthwise(mobile.convolution(mobile.activation([1, 1, 512, 3]), 16), 1, 1, "SAME", (1, 5))
    second = mobile.depthwise(mobile.convolution(first, 16), 1, 1, "SAME", (1, 5))
    options = {"padding": "VALID", "stride_w": 4, "stride_h": 1, "filter_width": 4, "filter_height": 1}
    pooled = mobile.operator(
        "MAX_POOL_2D", [second], mobile.scaled_as(second, [1, 1, 128, 16]), ("Pool2DOptions", options)
    )
    check(write(mobile.model(mobile.convolution(pooled, 8))), share, cut, "columns")


@pytest.mark.parametrize("more", [{}, {"stride": 3}, {"front": "FLOAT32"}])
def test_a_wide_map_is_cut_along_its_columns(more: dict[str, Any]) -> None:
    mobile = Net(3)
    check(write(mobile.model(residual(mobile, size=(6, 160), **more))), 0.8, lines="columns")


def test_the_halo_is_computed_twice_and_counted() -> None:
    mobile = Net(3)
    data = write(mobile.model(residual(mobile)))
    result, _ = fixed(data, "m.tflite", **M4, ram=int(needed(data) * 0.85), fixable=["CNN604"])
    assert result.macs.after > result.macs.before
    assert all(total.new_instructions > total.instructions for total in result.totals)


def test_two_subgraphs() -> None:
    mobile = Net(3)
    model = mobile.model(residual(mobile))
    model["operator_codes"].append(operator_code("CALL_ONCE"))
    options = ("CallOnceOptions", {"init_subgraph_index": 1})
    model["subgraphs"][0]["operators"].insert(0, {"opcode_index": len(CODES), "builtin_options": options})
    inner = {"tensors": [tensor("i", [1, 8]), tensor("o", [1, 8])], "inputs": [0], "outputs": [1]}
    inner["operators"] = [{"opcode_index": CODES.index("RELU"), "inputs": [0], "outputs": [1]}]
    model["subgraphs"].append(inner)
    check(write(model), 0.9)


@pytest.mark.parametrize("more", one_of(3, [{"size": (47, 37)}, {}, {"stride": 3}]))
def test_rows_of_int16_are_taken_by_slice(more: dict[str, Any]) -> None:
    mobile = Net(3, "INT16")
    check(write(mobile.model(residual(mobile, **more))), 0.9, "SLICE")


@pytest.mark.parametrize(
    ("kind", "op", "kernel", "stride"),
    one_of(
        3,
        [
            ("INT8", "AVERAGE_POOL_2D", 3, 2),
            ("INT16", "AVERAGE_POOL_2D", 3, 2),
            ("INT8", "MAX_POOL_2D", 5, 1),
            ("INT16", "MAX_POOL_2D", 5, 1),
        ],
    ),
)
def test_a_pool_that_leaves_its_padding_out_makes_rows_besides(kind: str, op: str, kernel: int, stride: int) -> None:
    mobile = Net(3, kind)
    wide = mobile.convolution(mobile.activation([1, 49, 24, 3]), 8, 3)
    pooled = mobile.activation([1, -(-49 // stride), 24 // stride, 8])
    mobile.tensors[pooled]["quantization"] = mobile.tensors[wide]["quantization"]
    options = {"padding": "SAME", "stride_w": stride, "stride_h": stride, "filter_width": kernel}
    mobile.operator(op, [wide], pooled, ("Pool2DOptions", {**options, "filter_height": kernel}))
    data = write(mobile.model(mobile.convolution(pooled, 3, 3, 2)))
    check(data, 0.9, "GATHER" if kind == "INT8" else "SLICE")
    assert every_way(data, (2, 3)) >= 4


def test_a_band_in_the_padding_alone_is_left_out_of_the_search() -> None:
    mobile = Net(3)
    source = mobile.activation([1, 8, 40, 4])
    amounts = mobile.constant(np.array([[0, 0], [24, 0], [0, 0], [0, 0]], "<i4"), "INT32")
    padded = mobile.activation([1, 32, 40, 4])
    mobile.tensors[padded]["quantization"] = mobile.tensors[source]["quantization"]
    mobile.operator("PAD", [source, amounts], padded, ("PadOptions", {}))
    data = write(mobile.model(mobile.convolution(padded, 4)))
    result, _ = fixed(data, "m.tflite", **M4, ram=needed(data) // 2, fixable=["CNN604"])
    assert not any("cannot be changed" in reason for reason in (result.reason, *result.notes))
    assert any("does not fit" in note for note in result.notes)


def test_float_is_left_and_the_reason_is_told() -> None:
    mobile = Net(3, "FLOAT32")
    data = write(mobile.model(residual(mobile)))
    result, _ = fixed(data, "m.tflite", **M4, ram=needed(data) // 2, fixable=["CNN604"])
    assert not result.added
    (note,) = result.notes
    assert "runs in no parts: its result is float32, and only int8 and int16 are computed in parts" in note


def test_a_map_that_is_an_output_stays_whole() -> None:
    mobile = Net(3)
    model = mobile.model(residual(mobile))
    main = model["subgraphs"][0]
    main["outputs"] += [operator["outputs"][0] for operator in main["operators"][:-1]]
    assert not [*band_segments(read_tflite("m.tflite", write(model)))]


def every_way(data: bytes, counts: tuple[int, ...]) -> int:
    """All segments in all these numbers of bands: written as drafted, certified, computing the same; their number."""
    model, before, ways = read_tflite("m.tflite", data), wheel_run(data, 2).outputs, 0
    for segment in band_segments(model):
        for count in counts:
            tiles = {segment: group_ends(segment.size, count, 1)}
            try:
                new = tiled("m.tflite", data, tiles)
            except NotAppliedError:
                continue
            ways += 1
            written, draft = read_tflite("m.tflite", new).subgraphs[0], drafted(model, tiles).model.subgraphs[0]
            assert [row[:5] for row in written.operators] == [row[:5] for row in draft.operators]
            assert [row.options for row in written.operators] == [row.options for row in draft.operators]
            assert [(row.name, row.shape) for row in written.tensors] == [
                (row.name, row.shape) for row in draft.tensors
            ]
            known = verify(TFLITE.load("m.tflite", data), TFLITE.load("m.tflite", new))
            assert not any(known.faults), (segment, count, known.faults)
            assert segment.operators[0] or wheel_run(new, 2).outputs == before != (), (segment, count)
    return ways


@WHEEL
@pytest.mark.parametrize(("seed", "kind"), one_of(4, [(7, "INT16"), (1, "INT8"), (7, "INT8"), (1, "INT16")]))
def test_every_segment_of_random_nets_computes_the_same(seed: int, kind: str) -> None:
    assert every_way(net(seed, kind), (2, 3))


TYPES = ("INT8", "INT16")
SHAPES_BESIDE = ([], [8], [1, 1, 1, 8], [1, 49, 24, 8], [49, 24, 8], [1, 49, 1, 1])
"""Sizes of a constant beside a map of 49 rows, 24 columns and 8 channels."""


def beside_in_the_middle(op: str, shape: list[int], kind: str, *, swapped: bool = False) -> Net:
    """Two convolutions with a constant beside the map between them."""
    mobile = Net(3, kind)
    wide = mobile.convolution(mobile.activation([1, 49, 24, 3]), 8, 3)
    changed = mobile.beside(op, wide, shape, swapped=swapped)
    mobile.convolution(mobile.convolution(changed, 3, 3, 2), 3, 3)
    return mobile


@WHEEL
@pytest.mark.parametrize(
    ("kind", "shape"),
    one_of(2, [(kind, shape) for number, shape in enumerate(SHAPES_BESIDE) for kind in TYPES[:: 1 - number % 2 * 2]]),
)
def test_a_constant_beside_a_map_is_read_at_its_rows(shape: list[int], kind: str) -> None:
    mobile = beside_in_the_middle("ADD", shape, kind)
    data = write(mobile.model(len(mobile.tensors) - 1))
    check(data, *{"INT8": (0.68, "GATHER"), "INT16": (0.6, "SLICE")}[kind])


@WHEEL
@pytest.mark.parametrize(
    ("op", "swapped"),
    one_of(2, [("MUL", False), ("MUL", True), ("SUB", True), ("SUB", False), ("MAXIMUM", False), ("MAXIMUM", True)]),
)
def test_a_constant_of_any_operator_on_either_side(op: str, *, swapped: bool) -> None:
    mobile = beside_in_the_middle(op, [1, 49, 24, 8], "INT8", swapped=swapped)
    data = write(mobile.model(len(mobile.tensors) - 1))
    check(data, 0.7)
    assert every_way(data, (3,)) == 6


@WHEEL
def test_a_map_of_one_row_is_read_whole_in_each_band() -> None:
    mobile = Net(3)
    data = mobile.activation([1, 49, 24, 3])
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1, "filter_width": 24, "filter_height": 49}
    pooled = mobile.scaled_as(data, [1, 1, 1, 3])
    gates = mobile.convolution(mobile.operator("AVERAGE_POOL_2D", [data], pooled, ("Pool2DOptions", options)), 8)
    wide = mobile.convolution(data, 8, 3)
    gated = mobile.operator("MUL", [wide, gates], mobile.activation([1, 49, 24, 8]), ("MulOptions", {}))
    model = write(mobile.model(mobile.convolution(gated, 3, 3, 2)))
    check(model, 0.75)
    assert every_way(model, (3,))


@WHEEL
@pytest.mark.parametrize("axis", [2, 3, -1])
def test_columns_and_channels_are_joined_in_bands(axis: int) -> None:
    mobile = Net(3)
    data = mobile.activation([1, 49, 24, 3])
    left, right = (mobile.convolution(data, 4, kernel) for kernel in (3, 1))
    mobile.tensors[right]["quantization"] = mobile.tensors[left]["quantization"]
    joined = mobile.scaled_as(left, [1, 49, 48, 4] if axis == 2 else [1, 49, 24, 8])
    mobile.operator("CONCATENATION", [left, right], joined, ("ConcatenationOptions", {"axis": axis}))
    model = write(mobile.model(mobile.convolution(joined, 3, 3, 2)))
    check(model, 0.75)
    assert every_way(model, (3,))


def test_a_constant_that_is_an_output_besides_stays_whole() -> None:
    mobile = beside_in_the_middle("ADD", [1, 49, 24, 8], "INT8")
    beside = next(row for row in mobile.operators if CODES[row["opcode_index"]] == "ADD")["inputs"][1]
    layout = mobile.model(len(mobile.tensors) - 1)
    layout["subgraphs"][0]["outputs"].append(beside)
    data = write(layout)
    segment = next(row for row in band_segments(read_tflite("m.tflite", data)) if 1 in row.operators)
    new = read_tflite("m.tflite", tiled("m.tflite", data, {segment: group_ends(segment.size, 3)}))
    assert new.subgraphs[0].tensors[beside].shape == (1, 49, 24, 8)


@pytest.mark.parametrize("kind", ["INT4", "scales"])
def test_a_constant_that_is_not_cut_is_named(kind: str) -> None:
    mobile = beside_in_the_middle("ADD", [1, 49, 24, 8], "INT8")
    beside = next(row for row in mobile.operators if CODES[row["opcode_index"]] == "ADD")["inputs"][1]
    if kind == "INT4":
        mobile.tensors[beside]["type"] = kind
        mobile.buffers[mobile.tensors[beside]["buffer"]]["data"] = [0] * (49 * 24 * 4)
    else:
        mobile.tensors[beside]["quantization"] = {"scale": [0.1] * 8, "zero_point": [0] * 8, "quantized_dimension": 3}
    model = read_tflite("m.tflite", write(mobile.model(len(mobile.tensors) - 1)))
    reason = "it reads a constant with rows that is stored in a form that is not cut"
    assert not_in_bands(model, model.subgraphs[0].operators[1]) == reason


@SHARED_MODELS
@pytest.mark.parametrize(
    ("name", "share", "used"),
    [("pretrainedResnet_quant", 0.8, 42_340), ("yolo_lc_192", 0.75, 206_608), ("blazeface_front_128", 0.6, 277_120)],
)
def test_models_of_others_fit(name: str, share: float, used: int) -> None:
    data = (SHARED / "models" / "tflite" / f"{name}.tflite").read_bytes()
    new = check(data, share)
    assert abs(needed(new) - used) < 16
    settings = AnalysisSettings((target_of("cortex-m4", "main"),))
    assert why_not_equal(*(ModelAnalysis("m.tflite", settings, version) for version in (data, new))) is None
