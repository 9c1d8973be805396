"""What reference kernels of TensorFlow Lite Micro cost: measured calls lie in their ranges, and rows show them."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest

from fit_tflm_reference import error, percentile
from measure_tflm_reference import call_of, records
from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.analysis.layers import layer_reports
from onnxlint_cmsis.cmsis_nn.library import cost
from onnxlint_cmsis.cmsis_nn.targets import parse_isa
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.reference_cost import (
    INSTRUCTIONS,
    ReferenceCall,
    instruction_table,
    kernel_name,
    operator_call,
    reference_range,
    turns_of,
)
from onnxlint_cmsis.runtimes.tflm.revisions import NEWEST, REVISIONS
from support import paths
from support.linter import analysed, layered
from support.models import text
from support.targets import target_of
from support.tflite_chains import Chain
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write
from tflm_calls import model_of

MEAN = ReferenceCall("MEAN", "int8", [[1, 8, 8, 16]], [1, 16])
MEASURED_CORES = frozenset({"cortex-m0", "scalar", "dsp", "cortex-m7", "cortex-m23", "cortex-m33", "mve"})
TOO_FAR_OFF = {"ARG_MAX float32 int32": {"scalar"}, "SOFTMAX float32": {"cortex-m0", "cortex-m23", "scalar"}}
"""Kernels and the cores on which their calls held apart lie too far outside to have a range."""
MOST_APART = 15.0
"""Percent by which 95 of 100 calls held apart lie outside of the range of their build, at most, in every kernel."""


def test_calls_held_apart_lie_as_near_their_ranges_as_published() -> None:
    table = instruction_table(INSTRUCTIONS)
    apart: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in records():
        if row["part"] == "apart":
            call = call_of(row)
            for build, measured in row["instructions"].items():
                core, _, options = build.rpartition("-")
                costs = table["kernels"].get(kernel_name(call), {}).get(core, {}).get(options)
                if costs is None:
                    continue
                apart[kernel_name(call), build].append(error(turns_of(call) or {}, costs, measured))
    assert len(apart) > 400
    published = table["apart_error_percent"]
    assert set(published) == set(table["kernels"])
    for (kernel, build), errors in apart.items():
        told = [round(100 * percentile(errors), 1), round(100 * max(errors), 1)]
        assert told == published[kernel][build]
        assert told[0] <= MOST_APART, (kernel, build)


def test_each_kernel_was_measured_on_every_core_and_in_both_builds() -> None:
    """Else a range would go over fewer builds than the docs tell."""
    cases = [*instruction_table(INSTRUCTIONS)["kernels"].items()]
    assert cases
    for kernel, cores in cases:
        assert set(cores) == MEASURED_CORES - TOO_FAR_OFF.get(kernel, set()), kernel
        assert all({"O3", "O2c"} <= set(builds) for builds in cores.values()), kernel
        assert all(set(builds) == {"O3", "O2c"} for core, builds in cores.items() if core != "cortex-m7"), kernel


def test_a_kernel_that_computes_with_64_bits_has_both_floating_point_units_of_cortex_m7_in_its_range() -> None:
    """Without a unit for 64 bits software computes: up to ten times the instructions."""
    kernels, cpu = instruction_table(INSTRUCTIONS)["kernels"], target_of("cortex-m7")
    assert {"O3sp", "O2csp"} <= set(kernels["DEQUANTIZE int8 float32"]["cortex-m7"])
    assert set(kernels["CONV_2D float32"]["cortex-m7"]) == {"O3", "O2c"}
    call = ReferenceCall("DEQUANTIZE", "int8", [[1, 64]], [1, 64], "float32")
    least, most = reference_range(call, cpu, NEWEST) or (0, 0)
    assert 5 * least < most


def test_every_measured_call_becomes_the_call_of_its_operator_again() -> None:
    """What the linter reads of the models that lab/measure_tflm_reference.py runs has the turns of the records."""
    for number, row in enumerate(records()):
        model = read_tflite("model.tflite", model_of(call_of(row), number))
        (graph,) = model.subgraphs
        (operator,) = graph.operators
        call = operator_call(OperatorView(model, graph, operator, 0, frozenset()))
        assert call is not None
        assert kernel_name(call) == kernel_name(call_of(row))
        assert turns_of(call) == turns_of(call_of(row)), row


def test_what_was_not_measured_has_no_range() -> None:
    target = parse_isa("dsp")
    assert reference_range(MEAN, target, NEWEST) is not None
    assert reference_range(MEAN, parse_isa("dsp", "7.0.0", "armclang"), NEWEST) is None
    assert reference_range(MEAN._replace(elem_type="float16"), target, NEWEST) is None
    assert reference_range(MEAN._replace(op="CUMSUM"), target, NEWEST) is None
    assert all(reference_range(MEAN, target, old.commit) is None for old in REVISIONS if old.commit != NEWEST)
    for cpu in ("cortex-m33+nodsp", "cortex-m55+nomve"):
        assert reference_range(MEAN, target_of(cpu), NEWEST) is None
        assert reference_range(MEAN._replace(elem_type="float32"), target_of(cpu), NEWEST) is None
    equal = ReferenceCall("ADD", "int8", [[1, 4], [1, 4]], [1, 4])
    assert reference_range(equal, target, NEWEST) is None


@pytest.mark.parametrize("elem_type", ["int8", "float32"])
def test_cortex_m0_plus_has_the_ranges_of_m0_which_are_above_those_of_m3(elem_type: str) -> None:
    call = MEAN._replace(elem_type=elem_type)
    small, smaller, m3 = (
        reference_range(call, target_of(cpu), NEWEST) for cpu in ("cortex-m0", "cortex-m0+", "cortex-m3")
    )
    assert small is not None
    assert m3 is not None
    assert small == smaller
    assert small[0] > m3[0]
    assert small[1] > m3[1]


@pytest.mark.parametrize(("cpu", "build"), [("cortex-m33", "cortex-m33"), ("cortex-m35p", "cortex-m33"),
                                            ("cortex-m23", "cortex-m23")])  # fmt: skip
def test_measured_calls_lie_in_the_ranges_of_their_core(cpu: str, build: str) -> None:
    """To the error that is published, of 400 calls; M35P runs the code of M33."""
    off = []
    for row in records()[::17]:
        measured = [row["instructions"][f"{build}-{options}"] for options in ("O3", "O2c")]
        ends = reference_range(call_of(row), target_of(cpu), NEWEST)
        if ends is not None:
            low, high = min(least for least, _ in measured), max(most for _, most in measured)
            off.append(max(0.0, (ends[0] - low) / max(low, 1000), (high - ends[1]) / max(high, 1000)))
    assert len(off) > 350
    assert percentile(off) < 0.05


def test_a_core_may_stand_for_another_that_takes_the_same() -> None:
    kernels = json.loads(INSTRUCTIONS.read_text())["kernels"]
    names = {(kernel, core): of for kernel, cores in kernels.items() for core, of in cores.items() if type(of) is str}
    assert len(names) > 100
    assert all(isinstance(kernels[kernel][of], dict) for (kernel, _), of in names.items())
    table = instruction_table(INSTRUCTIONS)["kernels"]
    assert all(table[kernel][core] is table[kernel][of] for (kernel, core), of in names.items())


def test_cortex_m7_has_its_own_ranges() -> None:
    """Not those of Cortex-M4, whose code for a transposed convolution of 16 bits takes twice as much."""
    for row in records():
        call, counted = call_of(row), row["instructions"]
        if kernel_name(call) == "TRANSPOSE_CONV int16" and counted["dsp-O3"][0] > 2 * counted["cortex-m7-O3"][0]:
            break
    m4, m7 = (reference_range(call, target_of(cpu), NEWEST) or (0, 0) for cpu in ("cortex-m4", "cortex-m7"))
    assert m7[0] < 0.7 * m4[0]


@pytest.mark.parametrize("op", ["ADD", "MUL", "SUB"])
def test_the_operand_that_repeats_may_stand_first_or_second(op: str) -> None:
    call = ReferenceCall(op, "int8", [[1, 8, 8, 16], [1]], [1, 8, 8, 16])
    for core in ("dsp", "mve"):
        second = reference_range(call, parse_isa(core), NEWEST)
        assert second == reference_range(call._replace(inputs=call.inputs[::-1]), parse_isa(core), NEWEST)
        assert second is not None


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
    (total,) = model.once(summarize).targets
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
    span = model.execution.reference_range(record, target)
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
    (total,) = model.once(summarize).targets
    assert model.unknown_copies == shuffled
    assert total.instructions_range is not None
    assert (total.cmsis_nn_share is None) == shuffled


TOTALS_UNKNOWN = {
    "audio_preprocessor_float.tflite": "SIGNAL",
    "audio_preprocessor_int8.tflite": "SIGNAL",
    "kws_ref_model_float32.tflite": "stops",
    "model_ToyCar_quant.tflite": "stops",
    "person_detect_vela.tflite": "stops",
}
"""Files of the shared models of which no total is known, and why: operators of audio were not measured, or no build of
TensorFlow Lite Micro runs the file."""


@pytest.mark.skipif(not paths.SHARED.is_dir(), reason="the shared models are not there")
@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m4", "cortex-m23", "cortex-m33", "cortex-m55"])
def test_nearly_every_file_has_a_total(cpu: str) -> None:
    files = sorted((paths.SHARED / "models" / "tflite").glob("*.tflite"))
    assert len(files) > 80
    unknown = {}
    for path in files:
        model = analysed(path.read_bytes(), path.name, targets=[cpu])
        (total,) = model.once(summarize).targets
        if total.unknown_cost:
            stops = bool(model.execution.stop(model.settings.targets[0]))
            rows = [row for row in layer_reports(model) if row.computes]
            unmeasured = {row.op for row in rows if row.instructions is None and row.instructions_range is None}
            unknown[path.name] = "stops" if stops else "SIGNAL" if "SignalWindow" in unmeasured else str(unmeasured)
    softmax = {"pretrainedResnet.tflite": "{'SOFTMAX'}"} if cpu in ("cortex-m0", "cortex-m23") else {}
    assert unknown == TOTALS_UNKNOWN | softmax


def test_a_layer_in_float_tells_how_many_times_the_instructions_of_int8_it_takes() -> None:
    shape = [[1, 8, 8, 16], [8, 3, 3, 16]]
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "fused_activation_function": "NONE"}
    call = ReferenceCall("CONV_2D", "float32", shape, [1, 8, 8, 8], "", options)
    cpus = ["cortex-m4", "cortex-m55", "cortex-m33+nodsp"]
    model = analysed(model_of(call, 0), "m.tflite", targets=cpus, release="main")
    (remark,) = {remark.message for remark in model.execution.remarks}
    told = {}
    for target in model.settings.targets[:2]:
        least, most = reference_range(call, target, NEWEST) or (0, 0)
        same = KernelCall(
            "convolve_s8",
            Dims(1, 8, 8, 16),
            Dims(8, 3, 3, 16),
            Dims(1, 8, 8, 8),
            padding=Pair(1, 1),
            pad_after=Pair(1, 1),
        )
        integers = cost(same, target) or 0
        assert 2 < least / integers <= most / integers < 200
        told[target.cpu] = [f"{number / integers:.2g}" for number in (least, most)]
    ends = {cpu: low if low == high else f"{low} to {high}" for cpu, (low, high) in told.items()}
    where = ", ".join(f"{times} times on {cpu}" for cpu, times in ends.items())
    assert remark.endswith(f"Its layers with weights take more instructions than in int8: {where}."), "none without DSP"


def test_a_slice_of_a_scalar_has_no_range_and_no_error() -> None:
    bounds = [tensor(name, [1], index) for index, name in enumerate(("begin", "end", "strides"), 1)]
    for bound in bounds:
        bound["type"] = "INT32"
    tensors = [tensor("x", [], type="FLOAT32"), *bounds, tensor("y", [], type="FLOAT32")]
    buffers = [{}, *({"data": [*number.to_bytes(4, "little")]} for number in (0, 1, 1))]
    options = ("StridedSliceOptions", {"shrink_axis_mask": 1})
    data = write(one_operator("STRIDED_SLICE", tensors, options, buffers=buffers))
    report = layered(data, "m.tflite", targets=["cortex-m4"])
    assert [layer.instructions_range for layer in report.layers] == [None]
