"""TensorFlow Lite Micro's traps, each with the smallest model that meets it, and models that just do not."""

from __future__ import annotations

import struct

import pytest

from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.runtimes.runtime import runtime_of
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild, build_for
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator, TflmReport
from support.linter import linted
from support.targets import target_of
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

M4 = TflmBuild(target_of("cortex-m4", "main"))
M55 = TflmBuild(target_of("cortex-m55", "main"))
RELEASE = M4._replace(checks=False)


def report_of(model, build=M4) -> TflmReport:
    return interpret(read_tflite("m.tflite", write(model)), build)


def row_of(model, build=M4) -> TflmOperator:
    (row,) = report_of(model, build).operators
    return row


def constant(shape, kind="INT8", **more):
    return tensor("c", shape, buffer=1, type=kind, **more)


def data(shape, kind="INT8", **more):
    return tensor("d", shape, type=kind, **more)


def with_constants(op, tensors, options=None, size=65536):
    return one_operator(op, tensors, options, buffers=[{}, {"data": [0] * size}])


def conv(channels=8, filter_channels=8, outputs=8, weights="INT8", kind="INT8", bias="INT32"):
    tensors = [
        data([1, 6, 6, channels], kind),
        constant([outputs, 3, 3, filter_channels], weights),
        *([constant([outputs], bias)] if bias else []),
        data([1, 6, 6, outputs], kind),
    ]
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    return with_constants("CONV_2D", tensors, ("Conv2DOptions", options))


def depthwise(channels, bias=True):
    tensors = [
        data([1, 6, 6, channels]),
        constant([1, 3, 3, channels]),
        *([constant([channels], "INT32")] if bias else []),
        data([1, 6, 6, channels]),
    ]
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
    return with_constants("DEPTHWISE_CONV_2D", tensors, ("DepthwiseConv2DOptions", options))


def dense(output, depth=16, kind="INT8", bias="INT32", weights="INT8"):
    tensors = [
        data([*output[:-1], depth], kind),
        constant([output[-1], depth], weights),
        constant([output[-1]], bias, scale=(0.25,)),
        data(output, kind),
    ]
    return with_constants("FULLY_CONNECTED", tensors, ("FullyConnectedOptions", {}))


def test_a_plain_convolution_runs_in_the_library():
    row = row_of(conv())
    assert (row.verdict.value, row.functions) == ("CMSIS-NN", ("arm_convolve_wrapper_s8",))
    assert row.chain[:2] == ("arm_convolve_wrapper_s8", "arm_convolve_s8")
    assert row.scratch != ()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (conv(channels=8, filter_channels=4, bias=None), "bias pointer"),
        (conv(channels=8, filter_channels=4, kind="INT16", bias="INT64"), "No s16 kernel reads filter_dims.c"),
        (conv(channels=8, filter_channels=4, weights="INT4"), "The s4 kernels compute no groups"),
        (conv(kind="INT16", bias=None), "two steps off"),
        (dense([1, 8], kind="INT16", bias="INT32"), "the bias is int32 and the kernel reads it as int64"),
    ],
)
def test_wrong_without_a_status(model, words):
    row = row_of(model)
    assert row.verdict.value == "wrong"
    assert words in row.reason


@pytest.mark.parametrize(
    "model",
    [
        conv(channels=8, filter_channels=4),
        conv(bias=None),
        conv(kind="INT16", bias="INT64"),
        conv(weights="INT4"),
        dense([1, 8], kind="INT16", bias="INT64"),
        depthwise(128),
    ],
)
def test_what_comes_close_to_a_trap_is_right(model):
    assert row_of(model).verdict.value == "CMSIS-NN"


@pytest.mark.parametrize(
    ("channels", "build", "verdict"), [(124, M55, "CMSIS-NN"), (128, M55, "wrong"), (128, M4, "CMSIS-NN")]
)
def test_wide_depthwise_without_a_bias(channels, build, verdict):
    assert row_of(depthwise(channels, bias=False), build).verdict.value == verdict


def test_depthwise_with_an_omitted_bias_never_starts(told):
    model = depthwise(8, bias=False)
    model["subgraphs"][0]["operators"][0]["inputs"] = [0, 1, -1]
    assert row_of(model).verdict.value == "halts"
    report = report_of(model, RELEASE)
    assert report.status == "alloc_error"
    told(report.message)
    told(report.no_arena)


def test_an_early_dense_layer_of_three_dimensions_halts_a_build_with_checks():
    report = report_of(dense([1, 4, 8]))
    assert report.status == "halt"
    assert "fully_connected.cc:309" in report.operators[0].reason
    assert report.arena is not None
    row = row_of(dense([1, 4, 8]), RELEASE)
    assert (row.verdict.value, row.functions) == ("CMSIS-NN", ("arm_convolve_1x1_s8_fast",))


def test_hybrid_models_are_refused_with_the_line_that_does(told):
    model = conv()
    model["subgraphs"][0]["tensors"][0]["type"] = model["subgraphs"][0]["tensors"][3]["type"] = "FLOAT32"
    report = report_of(model)
    assert report.status == "alloc_error"
    told(report.message)
    told(report.operators[0].reason)


def transposed(channels=8, kernel=4):
    tensors = [
        constant([4], "INT32", scale=None),
        constant([8, kernel, kernel, channels]),
        data([1, 6, 6, channels]),
        data([1, 12, 12, 8]),
    ]
    options = {"padding": "SAME", "stride_w": 2, "stride_h": 2}
    model = with_constants("TRANSPOSE_CONV", tensors, ("TransposeConvOptions", options))
    model["buffers"].append({"data": list(struct.pack("<4i", 1, 12, 12, 8))})
    tensors[0]["buffer"] = 2
    return model


def test_the_library_that_comes_along_has_an_older_transposed_convolution():
    assert row_of(transposed()).verdict.value == "wrong"
    assert row_of(transposed(), M4._replace(own_library=False)).verdict.value == "CMSIS-NN"
    assert row_of(transposed(channels=32)).verdict.value == "CMSIS-NN"


def order(rank, shape):
    model = with_constants("TRANSPOSE", [data(shape), constant([rank], "INT32", scale=None), data(shape)])
    model["buffers"][1] = {"data": [byte for axis in range(rank) for byte in (axis, 0, 0, 0)]}
    return model


def test_a_transpose_of_five_dimensions_is_never_written(told):
    row = row_of(order(5, [1, 2, 2, 2, 2]))
    assert (row.verdict.value, row.functions) == ("wrong", ())
    told(row.reason)
    assert row_of(order(4, [1, 2, 2, 2])).functions == ("arm_transpose_s8",)


@pytest.mark.parametrize(("batch", "verdict"), [(1, "CMSIS-NN"), (2, "wrong")])
def test_a_pad_of_five_dimensions_writes_the_first_image_alone(batch, verdict):
    shape = [batch, 2, 2, 2, 2]
    model = with_constants("PAD", [data(shape), constant([5, 2], "INT32", scale=None), data(shape)])
    assert row_of(model).verdict.value == verdict


def test_maximum_compares_stored_values():
    shape = [1, 4, 4, 8]
    equal = one_operator("MAXIMUM", [data(shape), data(shape), data(shape)])
    unequal = one_operator("MAXIMUM", [data(shape), data(shape, scale=(0.25,)), data(shape)])
    assert row_of(equal).verdict.value == "CMSIS-NN"
    assert row_of(unequal).verdict.value == "wrong"


@pytest.mark.parametrize("other", [[1, 1, 1, 8], [1], []])
def test_broadcast_addition_runs_reference_code(other):
    shape = [1, 4, 4, 8]
    row = row_of(one_operator("ADD", [data(shape), data(other), data(shape)], ("AddOptions", {})))
    assert (row.verdict.value, row.functions) == ("reference code", ())
    assert "the shapes differ" in row.reason


@pytest.mark.parametrize(("scale", "words"), [((1 / 256,), ""), ((1 / 255,), "scale 0.00392156886; 1/256 is taken")])
def test_softmax_takes_one_scale(scale, words):
    output = data([1, 10], scale=scale)
    output["quantization"]["zero_point"] = [-128]
    report = report_of(one_operator("SOFTMAX", [data([1, 10]), output], ("SoftmaxOptions", {"beta": 1.0})))
    assert words in report.operators[0].reason
    assert report.status == ("alloc_error" if words else "ok")


def test_a_custom_operator_needs_the_application(told):
    model = one_operator("CUSTOM", [data([1, 8]), data([1, 8])])
    model["operator_codes"][0]["custom_code"] = "ethos-u"
    report = report_of(model)
    told(report.message)
    told(report.operators[0].reason)


def test_a_model_that_vela_compiled_is_told_of_its_processor(told):
    model = one_operator("CUSTOM", [data([1, 8]), data([1, 8])])
    model["operator_codes"][0]["custom_code"] = "ethos-u"
    (finding,) = [
        item for item in linted(write(model), "m.tflite", targets=["cortex-m55"]).findings if item.code == "CNN401"
    ]
    told(finding.message)
    assert "AddEthosU()" in finding.message


def test_an_operator_that_no_resolver_has_is_refused(told):
    report = report_of(one_operator("RANK", [data([1, 8]), data([1])]))
    told(report.operators[0].reason)


def test_operators_behind_one_that_is_refused_have_verdicts_too():
    model = conv()
    subgraph = model["subgraphs"][0]
    subgraph["tensors"][0]["type"] = "FLOAT32"
    subgraph["tensors"].append(data([1, 6, 6, 8]))
    subgraph["operators"].append({"opcode_index": 1, "inputs": [3], "outputs": [4]})
    model["operator_codes"].append({**model["operator_codes"][0], "deprecated_builtin_code": 19, "builtin_code": 19})
    assert [row.verdict.value for row in report_of(model).operators] == ["refused", "reference code"]


def test_shapes_that_a_kernel_reads_without_looking_are_undecided():
    model = depthwise(8)
    model["subgraphs"][0]["tensors"][0]["shape"] = [6, 6, 8]
    report = report_of(model)
    assert report.status == "undecided"
    assert "[6, 6, 8]" in report.operators[0].reason


def test_memory_that_was_never_measured_is_not_guessed(told):
    report = report_of(one_operator("EMBEDDING_LOOKUP", [data([4], "INT32"), data([8, 4]), data([4, 4])]))
    assert report.arena is None
    told(report.no_arena)


def older(date, build=M4):
    return build._replace(revision=build_for(runtime_of(f"tflm@{date}"), build.target).revision)


def pool(batch):
    options = {"padding": "VALID", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    tensors = [data([batch, 4, 4, 8]), data([batch, 2, 2, 8])]
    return one_operator("MAX_POOL_2D", tensors, ("Pool2DOptions", options))


@pytest.mark.parametrize(("date", "verdict"), [("2026-05-31", "wrong"), ("2026-06-01", "CMSIS-NN")])
def test_pools_of_a_batch_by_date(date, verdict):
    assert row_of(pool(2), older(date)).verdict.value == verdict
    assert row_of(pool(1), older(date)).verdict.value == "CMSIS-NN"


@pytest.mark.parametrize(("date", "verdict"), [("2026-05-26", "halts"), ("2026-05-27", "CMSIS-NN")])
def test_depthwise_of_a_batch_by_date(date, verdict):
    model = depthwise(8)
    for index in (0, 3):
        model["subgraphs"][0]["tensors"][index]["shape"][0] = 2
    assert row_of(model, older(date)).verdict.value == verdict
    assert row_of(model, older(date, RELEASE)).verdict.value == "CMSIS-NN"


@pytest.mark.parametrize(("date", "verdict"), [("2026-05-26", "wrong"), ("2026-05-27", "CMSIS-NN")])
def test_ranks_of_pad_and_maximum_by_date(date, verdict):
    padded = with_constants("PAD", [data([4, 8]), constant([2, 2], "INT32", scale=None), data([4, 8])])
    largest = one_operator("MAXIMUM", [data([8]), data([8]), data([8])])
    assert row_of(padded, older(date)).verdict.value == verdict
    assert row_of(largest, older(date)).verdict.value == verdict


def test_a_convolution_without_options_has_no_stride_to_follow(told):
    model = conv()
    model["subgraphs"][0]["operators"][0]["builtin_options"] = None
    row = row_of(model)
    assert (row.verdict.value, row.call) == ("undecided", None)
    told(row.reason)


def test_an_extreme_that_broadcasts_a_column_is_handed_over_and_wrong() -> None:
    """It is for CMSIS-NN to repeat the operand (cmsis_nn/maximum_minimum.cc), whose pointer then steps too far."""
    for op in ("MAXIMUM", "MINIMUM"):
        row = row_of(one_operator(op, [data([1, 3, 1, 1]), data([1, 3, 5, 1]), data([1, 3, 5, 1])]))
        taken = route(row.call, target_of("cortex-m4", "main"))
        assert [hazard.id for hazard in taken.hazards] == [f"{op.lower()}-single-columns"]
        row = row_of(one_operator(op, [data([1, 3, 1, 4]), data([1, 3, 5, 4]), data([1, 3, 5, 4])]))
        assert route(row.call, target_of("cortex-m4", "main")).hazards == ()


def test_what_fails_in_a_run_has_the_memory_that_prepare_asked_for():
    """The requests came to nothing where Eval refuses a type; Prepare had made them by then."""
    tensors = [data([1, 4, 4, 8], "INT16"), constant([2], "INT32", scale=None), data([1, 8], "INT16")]
    report = report_of(with_constants("REDUCE_MAX", tensors, ("ReducerOptions", {}), size=8))
    assert (report.status, report.operators[0].stage) == ("invoke_error", "Invoke")
    assert report.operators[0].scratch == (4 * 4, 4 * 2)


@pytest.mark.parametrize(("kind", "scale", "verdict"), [
    ("INT16", 0.5, "reference code"), ("INT16", 0.25, "wrong"), ("INT8", 0.25, "refused")
])  # fmt: skip
def test_a_concatenation_copies_int16_whatever_its_scale(kind, scale, verdict):
    """It was called reference code, and its values are in the steps of another scale."""
    tensors = [data([1, 4], kind), data([1, 4], kind, scale=(scale,)), data([1, 8], kind)]
    assert (
        row_of(one_operator("CONCATENATION", tensors, ("ConcatenationOptions", {"axis": 1}))).verdict.value == verdict
    )


def test_a_transposed_convolution_ignores_the_zero_point_of_its_filter(told):
    """Layers of ONNX models said so, and operators of files did not."""
    model = transposed(channels=32)
    model["subgraphs"][0]["tensors"][1]["quantization"]["zero_point"] = [3]
    row = row_of(model)
    assert (row.verdict.value, len(row.own)) == ("wrong", 1)
    told(row.reason)


def test_a_value_to_pad_with_may_be_left_out():
    """The kernel asks whether the third input is there (K/pad_common.cc:58); index -1 was refused."""
    shape = [1, 2, 2, 2]
    model = with_constants("PADV2", [data(shape), constant([4, 2], "INT32", scale=None), data(shape)])
    model["subgraphs"][0]["operators"][0]["inputs"] = [0, 1, -1]
    assert row_of(model).verdict.value == "CMSIS-NN"


def test_a_sum_of_integers_has_a_scale_where_it_has_zero_points_too():
    """A scale without a zero-point is no quantization (lite/micro/micro_allocator.cc:275)."""
    for points, verdict in (([], "reference code"), ([0], "refused")):
        left = data([4], "INT32")
        left["quantization"]["zero_point"] = points
        right, total = data([4], "INT32", scale=None), data([4], "INT32", scale=None)
        assert row_of(one_operator("ADD", [left, right, total], ("AddOptions", {}))).verdict.value == verdict


@pytest.mark.parametrize(("date", "says"), [("2026-05-21", "four sizes of a shape"), ("2026-05-27", "of 2 images")])
def test_a_pad_of_five_dimensions_by_date(date, says):
    """The kernel read the first four sizes before, and reads the last four since."""
    shape = [2, 2, 2, 2, 2]
    model = with_constants("PAD", [data(shape), constant([5, 2], "INT32", scale=None), data(shape)])
    row = row_of(model, older(date))
    assert (row.verdict.value, len(row.own)) == ("wrong", 1)
    assert says in row.reason
