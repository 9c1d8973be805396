"""What reference kernels of TensorFlow Lite Micro cost: measured calls lie in their ranges, and rows show them."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest

from measure_tflm_reference import model_of
from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.analysis.layers import layer_reports
from onnxlint_cmsis.cmsis_nn.releases import parse_isa
from onnxlint_cmsis.formats.tflite.file_model import read_tflite
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.runtimes.tflm.reference_cost import COSTS, ReferenceCall, reference_range
from onnxlint_cmsis.runtimes.tflm.revisions import NEWEST, REVISIONS
from support import paths
from support.linter import analysed, target_of
from support.models import text
from support.tflite_chains import Chain

MEAN = ReferenceCall("MEAN", "int8", [[1, 8, 8, 16]], [1, 16])


def recorded() -> list[dict[str, Any]]:
    with gzip.open(paths.DATA / "cost_tflm_reference.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def call_of(row: dict[str, Any]) -> ReferenceCall:
    return ReferenceCall(row["op"], row["type"], row["inputs"], row["output"])


@pytest.mark.parametrize("isa", list(Isa))
def test_every_measured_call_of_a_reference_kernel_lies_in_its_range(isa: Isa) -> None:
    """Builds of -O2, -O3 and -Os, with checks and without, on four patterns of data; a third of the shapes apart."""
    apart = dict.fromkeys(COSTS, 0)
    nearest: dict[tuple[str, str], list[float]] = {kind: [9e9, 0.0] for kind in COSTS}
    for row in recorded():
        call = call_of(row)
        least, most = reference_range(call, parse_isa(isa.value), NEWEST) or (0, 0)
        ends = [instructions for build, instructions in row["instructions"].items() if build.startswith(isa.value)]
        assert len(ends) >= 4
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        assert least <= low, row
        assert high <= most, row
        kind = (call.op, call.elem_type)
        apart[kind] += row["apart"]
        nearest[kind] = [min(nearest[kind][0], low / least), max(nearest[kind][1], high / most)]
    assert min(apart.values()) >= 12
    assert all(low < 1.25 and high > 0.75 for low, high in nearest.values()), nearest


def test_every_measured_call_becomes_a_model_again() -> None:
    """The models that lab/measure_tflm_reference.py runs have the operator and the shapes of the records."""
    for number, row in enumerate(recorded()):
        (graph,) = read_tflite("model.tflite", model_of(call_of(row), number)).subgraphs
        (operator,) = graph.operators
        inputs, output = ([list(graph.tensors[t].shape) for t in ids] for ids in (graph.inputs, graph.outputs))
        assert (operator.op, inputs, output) == (row["op"], row["inputs"], [row["output"]])


def test_what_was_not_measured_has_no_range() -> None:
    target = parse_isa("dsp")
    assert reference_range(MEAN, target, NEWEST) is not None
    assert reference_range(MEAN, parse_isa("dsp", "7.0.0", "armclang"), NEWEST) is None
    assert reference_range(MEAN._replace(elem_type="float32"), target, NEWEST) is None
    assert reference_range(MEAN._replace(op="SUM"), target, NEWEST) is None
    assert all(reference_range(MEAN, target, old.commit) is None for old in REVISIONS if old.commit != NEWEST)
    for cpu in ("cortex-m0", "cortex-m0+", "cortex-m23"):
        assert reference_range(MEAN, target_of(cpu), NEWEST) is None
    assert reference_range(MEAN, target_of("cortex-m3"), NEWEST) is not None
    equal = ReferenceCall("ADD", "int8", [[1, 4], [1, 4]], [1, 4])
    assert reference_range(equal, target, NEWEST) is None


def tflite(op: str) -> ModelAnalysis:
    chain = Chain(1)
    data = chain.activation([1, 8, 8, 16])
    if op == "MEAN":
        axes = chain.constant(np.array([1, 2], np.int32), [])
        result = chain.add(op, [data, axes], chain.activation([1, 16]), ("ReducerOptions", {}))
    else:
        second = chain.constant(np.arange(16, dtype=np.int8), [0.02])
        result = chain.add(op, [data, second], chain.activation([1, 8, 8, 16]), ("AddOptions", {}))
    return analysed(chain.converted(data, result), "m.tflite", targets=["cortex-m4"])


@pytest.mark.parametrize(("op", "sizes"), [("MEAN", [[1, 8, 8, 16]]), ("ADD", [[1, 8, 8, 16], [16]])])
def test_an_operator_of_a_file_has_the_range_of_its_kernel_in_its_row_and_in_the_total(op, sizes) -> None:
    model = tflite(op)
    (target,) = model.settings.targets
    call = ReferenceCall(op, "int8", sizes, [1, 16] if op == "MEAN" else [1, 8, 8, 16])
    expected = reference_range(call, target, NEWEST)
    assert expected is not None
    (layer,) = layer_reports(model)
    assert (layer.instructions, layer.instructions_range) == (None, expected)
    (total,) = summarize(model).targets
    assert total.instructions_range == expected
    assert total.unknown_cost == 0


@pytest.mark.parametrize("revision", ["tflm", "tflm@2026-05", "executorch"])
def test_a_layer_of_an_onnx_model_has_the_range_of_the_operator_that_it_becomes(revision: str) -> None:
    data = text(
        """<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]> g (int8[1, 16, 8, 8] x)
        => (int8[1, 16, 1, 1] y)
        <float s = {0.1}, int8 z = {0}>
        { y = com.microsoft.QLinearGlobalAveragePool<channels_last = 0>(x, s, z, s, z) }"""
    )
    target = target_of("cortex-m4", "main")
    model = analysed(data, targets=["cortex-m4"], release="main", runtime=revision)
    (record,) = model.lowered.records
    span = model.reference_range(record, target)
    if revision != "tflm":
        assert span is None
        return
    either = [reference_range(MEAN._replace(inputs=[size]), target, NEWEST) for size in ([1, 8, 8, 16], [1, 16, 8, 8])]
    ends = [pair for pair in either if pair is not None]
    assert span == (min(low for low, _ in ends), max(high for _, high in ends))


@pytest.mark.parametrize("shuffled", [True, False])
def test_a_part_of_the_instructions_is_claimed_only_where_all_copies_are_known(shuffled: bool) -> None:
    """A converter may keep or remove the copies of a channel shuffle in front of the runtime."""
    shuffle = """r = Reshape(c, s5) t = Transpose<perm = [0, 2, 1, 3, 4]>(r) d = Reshape(t, s4)"""
    data = text(
        f"""<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]> g (int8[1, 16, 8, 8] x)
        => (int8[1, 16, 1, 1] y)
        <float s = {{0.1}}, int8 z = {{0}}, int8[16, 16, 3, 3] w = {{1}}, int64[5] s5 = {{1, 2, 8, 8, 8}},
        int64[4] s4 = {{1, 16, 8, 8}}>
        {{ c = QLinearConv<pads = [1, 1, 1, 1], kernel_shape = [3, 3]>(x, s, z, w, s, z, s, z)
        {shuffle if shuffled else "d = Identity(c)"}
        y = com.microsoft.QLinearGlobalAveragePool<channels_last = 0>(d, s, z, s, z) }}"""
    )
    model = analysed(data, targets=["cortex-m4"], runtime="tflm")
    (total,) = summarize(model).targets
    assert model.unknown_copies == shuffled
    assert total.instructions_range is not None
    assert (total.cmsis_nn_share is None) == shuffled
