"""What runtimes make of layers of ONNX models: a model for every row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import helper

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.checks.rule import quantized_layer
from onnxlint_cmsis.checks.run_checks import model_findings
from onnxlint_cmsis.formats.format import ONNX, TFLITE
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.types import Isa, Level
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.judged_layers import JudgedLayer, conditions_of
from onnxlint_cmsis.runtimes.runtime import Runtime, runtime_notes, runtime_of
from onnxlint_cmsis.runtimes.status import STATUS_OF_TFLM, status_text
from onnxlint_cmsis.runtimes.tvm import PARTITIONED
from support.models import one_node, text
from support.quantized_models import CASES, IMAGE, Qdq, constant_operand, convolution, dense
from support.targets import target_of

REFUSED, WRONG, HALTS = Outcome.REFUSED, Outcome.WRONG, Outcome.HALTS
REFERENCE, CMSIS_NN, UNDECIDED = Outcome.REFERENCE, Outcome.CMSIS_NN, Outcome.UNDECIDED
Model = Callable[[], onnx.ModelProto]
DYNAMIC = """<ir_version: 10, opset_import: ["" : 13]>
g (float[1, 8] x) => (float[N, M] y) <int8[8, 4] w = {1}, int8 wz = {0}, float ws = {0.1}> {
    q, s, z = DynamicQuantizeLinear(x)
    i = MatMulInteger(q, w, z, wz)
    f = Cast<to = 1>(i)
    t = Mul(s, ws)
    y = Mul(f, t)
}"""


def case(name: str) -> Model:
    return lambda: CASES[name]().model()


def moved(op_type: str, shape: tuple[int, ...], kind: type[np.generic] = np.int8, **attributes: object) -> Model:
    """One operator on a quantized tensor, its result of the same scale."""
    return lambda: Qdq(shape, kind).layer(op_type, **attributes).rounded(0.1).model()


def turned(kind: type[np.generic]) -> Model:
    """Another order of the axes of an image."""
    return moved("Transpose", IMAGE, kind, perm=[0, 2, 3, 1])


def extremes(scale: float, kind: type[np.generic] = np.int8) -> Model:
    def build() -> onnx.ModelProto:
        model = convolution(Qdq(kind=kind))
        return model.layer("Max", "x_real").rounded(scale).model()

    return build


def deep_pad(shape: tuple[int, ...]) -> Model:
    def build() -> onnx.ModelProto:
        model = Qdq(shape)
        amounts = [0] * len(shape)
        return model.layer("Pad", model.constant("pads", np.array([*amounts[:-1], 1, *amounts]))).rounded(0.1).model()

    return build


def spread(zero: int = 3) -> onnx.ModelProto:
    """A transposed convolution whose weights have a zero-point."""
    model = Qdq()
    return model.layer("ConvTranspose", model.weights("w", (4, 4, 3, 3), zero=zero, axis=1)).rounded(0.2).model()


def alike(shape: tuple[int, ...], kind: type[np.generic] = np.int8) -> Model:
    """The larger of two tensors of one scale."""
    return lambda: Qdq(shape, kind).layer("Max", "x_real").rounded(0.1).model()


def int16_concat(zero: int = 0, scale: float = 0.1) -> Model:
    return lambda: Qdq(IMAGE, np.int16, zero).layer("Concat", "x_real", axis=1).rounded(scale).model()


def pool(**more: object) -> Model:
    return moved("MaxPool", (2, 4, 6, 6), kernel_shape=[2, 2], **more)


def averages(**more: object) -> Model:
    return moved("AveragePool", IMAGE, kernel_shape=[2, 2], **more)


def biased() -> onnx.ModelProto:
    """A dense layer with a bias."""
    model = Qdq((1, 8))
    bias = model.constant("k", np.ones(3, np.float32))
    return model.layer("Gemm", model.weights("w", (8, 3), axis=1), bias).rounded(0.2).model()


def image_pool(**more: object) -> Model:
    return moved("MaxPool", IMAGE, kernel_shape=[2, 2], **more)


def four_bits() -> onnx.ModelProto:
    """A convolution whose weights have 4 bits."""
    model = convolution().model()
    kinds = {"w1": onnx.TensorProto.INT4, "w1_zero": onnx.TensorProto.INT4}
    for tensor in model.graph.initializer:
        if tensor.name in kinds:
            values = np.clip(onnx.numpy_helper.to_array(tensor), -8, 7)
            tensor.CopyFrom(helper.make_tensor(tensor.name, kinds[tensor.name], values.shape, values.reshape(-1)))
    return model


def offset_dense() -> onnx.ModelProto:
    model = Qdq((1, 8), np.int16, zero=5)
    return model.layer("Gemm", model.weights("w", (8, 3), axis=1)).rounded(0.2).model()


def softmax(kind: type[np.generic], scale: float, zero: int, axis: int = 1) -> Model:
    """A softmax on two rows of int8; integers of a kind come out."""
    return lambda: Qdq((2, 5)).layer("Softmax", axis=axis).rounded(scale, zero, kind).model()


def deep_product(rank: int) -> Model:
    def build() -> onnx.ModelProto:
        model = Qdq((1,) * (rank - 2) + (3, 8))
        return model.layer("MatMul", model.weights("w", (8, 3), axis=1)).rounded(0.2).model()

    return build


def depthwise(batch: int = 1) -> Model:
    """A quantized depthwise convolution without a bias."""

    def build() -> onnx.ModelProto:
        model = Qdq((batch, 4, 6, 6))
        return model.layer("Conv", model.weights("w", (4, 1, 3, 3)), group=4).rounded(0.2).model()

    return build


def activations(shape: tuple[int, ...]) -> Model:
    """A product of two activations."""
    return lambda: Qdq(shape).layer("MatMul", "x_real").rounded(0.2).model()


def joined(count: int, shape: tuple[int, ...] = IMAGE) -> Model:
    """A quantized tensor, several times beside itself."""
    return lambda: Qdq(shape).layer("Concat", *["x_real"] * (count - 1), axis=1).rounded(0.1).model()


def stretched(mode: str, kind: type[np.generic]) -> Model:
    """A quantized image of twice the size."""

    def build() -> onnx.ModelProto:
        model = Qdq(IMAGE, kind)
        scales = model.constant("scales", np.array([1, 1, 2, 2], np.float32))
        return model.layer("Resize", "", scales, mode=mode).rounded(0.1).model()

    return build


def mirrored(kind: type[np.generic]) -> Model:
    def build() -> onnx.ModelProto:
        model = Qdq(IMAGE, kind)
        return (
            model.layer("Pad", model.constant("pads", np.array([0, 0, 1, 1] * 2)), mode="reflect").rounded(0.1).model()
        )

    return build


def sliced(shape: tuple[int, ...]) -> Model:
    def build() -> onnx.ModelProto:
        model = Qdq(shape)
        ends = [model.constant(name, np.full(len(shape), at)) for name, at in (("starts", 0), ("ends", 2))]
        return model.layer("Slice", *ends).rounded(0.1).model()

    return build


def slopes(kind: type[np.generic]) -> onnx.ModelProto:
    model = Qdq(IMAGE, kind)
    return model.layer("PRelu", model.weights("w", (4, 1, 1))).rounded(0.1).model()


def plain(
    op_type: str, shape: tuple[int, ...], weights: dict[str, tuple[int, ...]] | None = None, **more: object
) -> Model:
    return lambda: one_node(op_type, list(shape), weights or {}, **more)


def upsampled() -> onnx.ModelProto:
    return one_node("ConvTranspose", [*IMAGE], {"w": (4, 4, 3, 3)}, strides=[2, 2], output_padding=[1, 1])


def lstm() -> onnx.ModelProto:
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], "lstm", hidden_size=4)
    weights = {"w": np.zeros((1, 16, 3), np.float32), "r": np.zeros((1, 16, 4), np.float32)}
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [5, 1, 3])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [5, 1, 1, 4])],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


def layer(line: str) -> Callable[[], onnx.ModelProto]:
    return lambda: text(quantized_layer(line, "1, 4, 8, 8"))


def clamped(op_type: str) -> Model:
    """A sum or product with a Relu behind it."""
    return lambda: Qdq().layer(op_type, "x_real").layer("Relu").rounded(0.2).model()


FOUND: list[tuple[str, str, Model, str, Outcome]] = [
    ("tflm", "scales known at run time", lambda: text(DYNAMIC), "dynamic-quantization", REFUSED),
    ("tflm@2024-06", "scales known at run time", lambda: text(DYNAMIC), "dynamic-quantization", REFUSED),
    ("tflm", "a convolution in float", case("float result"), "float", REFERENCE),
    ("tflm", "a clamp in float", lambda: convolution(Qdq()).layer("Sqrt").layer("Relu").model(), "float", REFERENCE),
    ("tflm", "a zero-point of weights", case("weights with a zero-point"), "weight-zero-point", WRONG),
    ("tflm", "a zero-point of transposed weights", spread, "weight-zero-point", WRONG),
    ("tflm", "a zero-point of dense weights", case("dense weights with a zero-point"), "weight-zero-point", HALTS),
    ("tflm", "int16 with a zero-point", case("int16 with a zero-point"), "zero-point-s16", REFUSED),
    ("tflm", "int16 dense per channel", case("int16 dense of several scales"), "weight-scales", REFUSED),
    ("tflm", "a max pool of unequal scales", case("max pool of unequal scales"), "unequal-scales", REFUSED),
    ("tflm", "a concat of unequal scales", case("concat of unequal scales"), "unequal-scales", REFUSED),
    ("tflm", "a softmax of another scale", case("softmax of another scale"), "softmax-scale", REFUSED),
    ("tflm", "a maximum of unequal scales", extremes(0.3), "unequal-scales", WRONG),
    ("tflm", "a transpose of six dimensions", moved("Transpose", (1, 2, 1, 2, 3, 4)), "rank", REFUSED),
    ("tflm", "a transpose of five dimensions", moved("Transpose", (1, 2, 4, 3, 4)), "rank", WRONG),
    ("tflm", "a pad of five dimensions", deep_pad((2, 1, 2, 3, 4)), "rank", WRONG),
    ("tflm", "an int16 transpose", turned(np.int16), "activation-type", REFERENCE),
    ("tflm@2026-05-21", "a pool of a batch", pool(), "batch", WRONG),
    ("tflm@2026-05-21", "a depthwise layer of a batch", depthwise(2), "batch", HALTS),
    ("tflm", "a concat of int16 with a zero-point", int16_concat(zero=3), "zero-point-s16", REFUSED),
    ("tflm@2024-12-01", "a concat of unequal scales", case("concat of unequal scales"), "unequal-scales", WRONG),
    ("tflm", "an int16 concat of unequal scales", int16_concat(scale=0.3), "unequal-scales", WRONG),
    ("tflm@2025-03", "a max pool of unequal scales", case("max pool of unequal scales"), "unequal-scales", WRONG),
    ("tflm@2024-05-07", "dense per channel", case("dense weights of several scales"), "weight-scales", WRONG),
    ("tflm@2024-06", "dense per channel", case("dense weights of several scales"), "weight-scales", REFUSED),
    ("tflm@2023-10", "a transposed convolution", lambda: spread(0), "no-function", REFERENCE),
    ("tflm@2023-08", "a product of activations", activations((1, 3, 3)), "operator", REFUSED),
    ("tflm@2023-03-29", "a mean", moved("ReduceMean", IMAGE, axes=[2, 3]), "not-reviewed", UNDECIDED),
    ("tflm@2024-03", "a convolution", lambda: convolution(Qdq()).rounded(0.2).model(), "not-reviewed", UNDECIDED),
    ("tflm@2026-05-21", "a pad of two dimensions", deep_pad((2, 3)), "rank", WRONG),
    ("tflm@2026-05-21", "a maximum of one dimension", alike((6,)), "rank", WRONG),
    ("tflm@2024-06", "an int16 maximum", alike(IMAGE, np.int16), "activation-type", REFUSED),
    ("tflm@2025-02", "an int16 transpose", turned(np.int16), "activation-type", REFUSED),
    ("tflm@2024-12", "a maximum", alike(IMAGE), "no-function", REFERENCE),
    ("tflm@2025-02", "a transpose", turned(np.int8), "no-function", REFERENCE),
    ("tflm@2024-06", "a product of activations", activations((1, 3, 3)), "no-function", REFERENCE),
    ("tflm@2024-10", "a product of activations", activations((1, 3, 3)), "kernel", WRONG),
    ("tflm@2026-01-15", "a mean over three axes", moved("ReduceMean", IMAGE, axes=[1, 2, 3]), "kernel", WRONG),
    ("tflm@2025-07", "a minimum over axes", moved("ReduceMin", IMAGE, axes=[2, 3]), "operator", REFUSED),
    ("tflm", "a sum of unequal shapes", case("constant per channel behind a scale"), "broadcast", REFERENCE),
    ("tflm", "a dense layer of five dimensions", deep_product(5), "rank", HALTS),
    ("tflm", "a dense layer of three dimensions", deep_product(3), "scratch-order", HALTS),
    ("tflm", "a depthwise layer without a bias", depthwise(), "bias", HALTS),
    ("tflm", "an LSTM", lstm, "recurrent", UNDECIDED),
    ("tflm", "a global average pool", case("average pool of equal scales"), "mean", REFERENCE),
    ("tflm", "a power", plain("Pow", IMAGE, {"p": (1,)}), "operator", REFUSED),
    ("tflm", "an exponential of int8", moved("Exp", IMAGE), "check", REFUSED),
    ("tflm", "a sigmoid", case("sigmoid"), "no-function", REFERENCE),
    ("tflm", "a concat", case("concat of equal scales"), "no-function", REFERENCE),
    ("executorch", "a one-dimensional convolution", plain("Conv", (1, 4, 9), {"w": (4, 4, 3)}), "rank", REFERENCE),
    ("executorch", "int16", case("int16"), "activation-type", REFERENCE),
    ("executorch", "a depthwise layer of a batch", depthwise(2), "", CMSIS_NN),
    ("executorch", "a sum with one number", case("one number"), "broadcast", REFERENCE),
    ("executorch", "a zero-point of dense weights", case("dense weights with a zero-point"), "weight-zero-point",
     REFUSED),
    ("executorch", "dense per channel", case("dense weights of several scales"), "weight-scales", REFERENCE),
    ("executorch", "output padding", upsampled, "attribute", REFERENCE),
    ("executorch", "a pool that rounds up", pool(ceil_mode=1), "attribute", REFERENCE),
    ("executorch", "a transpose of five dimensions", moved("Transpose", (1, 2, 4, 3, 4)), "rank", REFUSED),
    ("executorch", "a pad of five dimensions", deep_pad((2, 1, 2, 3, 4)), "rank", REFERENCE),
    ("executorch", "a product of four dimensions", activations((1, 2, 3, 3)), "rank", REFERENCE),
    ("executorch", "a sigmoid", case("sigmoid"), "no-function", REFERENCE),
    ("executorch", "an LSTM", lstm, "no-function", REFERENCE),
    ("executorch@1.0.1", "a sum with one number", case("one number"), "kernel", WRONG),
    ("executorch@1.0.1", "a depthwise layer", depthwise(), "no-function", REFERENCE),
    ("executorch@1.3.1", "an average pool", averages(), "buffer", REFUSED),
    ("executorch@1.2.0", "an average pool of PyTorch", averages(count_include_pad=1), "buffer", REFUSED),
    ("executorch@1.2.0", "padding that counts", averages(count_include_pad=1, pads=[1] * 4), "no-function", REFERENCE),
    ("executorch@1.4.1", "an average pool that rounds up", averages(ceil_mode=1), "no-function", REFERENCE),
    ("executorch@1.2.0", "a pad", deep_pad((1, 2, 3, 4)), "kernel", WRONG),
    ("executorch@1.3.1", "a dense layer with a bias", biased, "lost-bias", WRONG),
    ("executorch@1.1.0", "a global average pool", case("average pool of equal scales"), "no-function", REFERENCE),
    ("executorch@1.1.0", "a product of activations", activations((1, 3, 3)), "no-function", REFERENCE),
    ("executorch@1.1.0", "a Relu behind a sum", clamped("Add"), "no-function", CMSIS_NN),
    ("executorch@1.2.0", "a Relu behind a sum", clamped("Add"), "kernel", WRONG),
    ("executorch", "a Relu behind a product", clamped("Mul"), "no-function", CMSIS_NN),
    ("executorch@1.4.1", "a GELU", layer("c = Gelu(a)"), "no-function", REFERENCE),
    ("executorch@1.3.1", "a sigmoid", case("sigmoid"), "no-function", REFERENCE),
    ("executorch@1.5.1", "a root", layer("c = Sqrt(a)"), "no-function", REFERENCE),
    ("executorch@1.5.1", "a difference", layer("c = Sub(a, a)"), "not-reviewed", UNDECIDED),
    ("tvm", "a zero-point of weights", case("weights with a zero-point"), "weight-zero-point", REFERENCE),
    ("tvm", "int16 with a zero-point", case("int16 with a zero-point"), "zero-point-s16", REFERENCE),
    ("tvm", "uint8 activations", case("uint8"), "activation-type", REFERENCE),
    ("tvm", "weights of 4 bits", four_bits, "weight-type", REFERENCE),
    ("tvm", "an int16 dense layer with a zero-point", offset_dense, "zero-point-s16", WRONG),
    ("tvm", "dense per channel", case("dense weights of several scales"), "weight-scales", REFUSED),
    ("tvm", "a depthwise layer without a bias", depthwise(), "bias", REFERENCE),
    ("tvm", "a pool of a batch", pool(), "batch", REFERENCE),
    ("tvm", "a pool of unequal scales", case("max pool of unequal scales"), "unequal-scales", REFUSED),
    ("tvm", "a pool with dilation", image_pool(dilations=[2, 2]), "attribute", WRONG),
    ("tvm", "a softmax from int8 to int16", softmax(np.int16, 1 / 65536, -32768), "activation-type", REFERENCE),
    ("tvm", "a softmax of another scale", case("softmax of another scale"), "softmax-scale", REFERENCE),
    ("tvm", "a softmax of nearly the scale", softmax(np.int8, (1 + 2.0**-22) / 256, -128), "softmax-scale", REFERENCE),
    ("tvm", "a softmax over the first axis", softmax(np.int8, 1 / 256, -128, axis=0), "axis", WRONG),
    ("tvm", "a sum of unequal shapes", case("constant per channel behind a scale"), "broadcast", WRONG),
    ("tvm", "a global average pool", case("average pool of equal scales"), "mean", REFERENCE),
    ("tvm", "a transpose", moved("Transpose", IMAGE), "no-function", REFERENCE),
]  # fmt: skip


def analysed(model: onnx.ModelProto, runtime: Runtime) -> ModelAnalysis:
    targets = (target_of("cortex-m4", runtime.release or "7.0.0"),)
    return ModelAnalysis("-", AnalysisSettings(targets, runtime=runtime), model.SerializeToString())


def judged(model: onnx.ModelProto, runtime: str) -> tuple[JudgedLayer, ...]:
    remarks = analysed(model, runtime_of(runtime)).execution.judged
    assert remarks is not None
    return tuple(layer.on(Isa.DSP) for layer in remarks.layers)


@pytest.mark.parametrize(
    ("runtime", "what", "model", "cause", "verdict"), FOUND, ids=[f"{r} {w}" for r, w, *_ in FOUND]
)
def test_a_layer_is_decided_by_its_row(runtime, what, model, cause, verdict):
    decided = [(layer.row.cause, layer.verdict) for layer in judged(model(), runtime) if layer.row]
    assert (cause, verdict) in decided, what


def test_every_row_is_met_by_a_model():
    """Rows of several kernels that say the same for one reason count as one."""
    layers = [(runtime, layer.row) for runtime, _, model, *_ in FOUND for layer in judged(model(), runtime)]
    met = {(runtime.partition("@")[0], row.verdict, row.reason, row.until) for runtime, row in layers if row}
    rows = [(name, row) for name in ("tflm", "executorch", "tvm") for row in conditions_of(name) if row.cause]
    assert {(name, row.verdict, row.reason, row.until) for name, row in rows} <= met


@pytest.mark.parametrize(
    ("runtime", "model"),
    [
        ("tflm", case("plain convolution")),
        ("tflm", case("dense")),
        ("tflm", case("softmax as the function has it")),
        ("tflm", pool()),
        ("tflm@2026-06-01", pool()),
        ("tflm@2025-03", case("plain convolution")),
        ("tflm@2025-03", case("dense")),
        ("executorch", case("dense")),
        ("executorch", case("constant per channel behind a scale")),
        ("executorch", clamped("Add")),
        ("executorch@1.3.0", clamped("Add")),
        ("executorch@1.2.0", lambda: Qdq().layer("Add", "x_real").rounded(0.2).model()),
        ("tvm", case("plain convolution")),
        ("tvm", lambda: constant_operand("Add", ()).model()),
        ("tvm", softmax(np.int8, 1 / 256, -128)),
        ("tvm", image_pool()),
    ],
)
def test_what_a_runtime_hands_over_is_left_alone(runtime, model):
    layers = judged(model(), runtime)
    assert {layer.verdict for layer in layers} == {CMSIS_NN}
    assert not any(layer.row and layer.row.cause for layer in layers)


LARGEST_16 = moved("ReduceMax", IMAGE, np.int16, axes=[2, 3])
NOT_TAKEN: list[tuple[str, Model, str, str]] = [
    ("an int16 exponential", moved("Exp", IMAGE, np.int16), "EXP", "input is INT16; FLOAT32 alone is taken"),
    ("an int16 logarithm", moved("Log", IMAGE, np.int16), "LOG", "input is INT16; FLOAT32 alone is taken"),
    ("the largest of int16", LARGEST_16, "REDUCE_MAX", "input is INT16; FLOAT32 or INT8 is taken"),
    ("the least of int16", moved("ReduceMin", IMAGE, np.int16, axes=[2]), "REDUCE_MIN", "input is INT16"),
    ("a global max pool of int16", moved("GlobalMaxPool", IMAGE, np.int16), "REDUCE_MAX", "input is INT16"),
    ("an int16 image, stretched", stretched("linear", np.int16), "RESIZE_BILINEAR", "output is INT16"),
    ("an int16 image, mirrored", mirrored(np.int16), "MIRROR_PAD", "output is INT16"),
    ("a place in int64", plain("ArgMax", IMAGE, axis=1), "ARG_MAX", "output is INT64; INT32 alone is taken"),
    ("eleven inputs", joined(11), "CONCATENATION", "it has 11 inputs, where the kernel takes 1 to 10"),
    ("seven dimensions", joined(2, (1,) * 7), "CONCATENATION", "input 0 has 7 dimensions; 0 to 6 are taken"),
    ("a slice of five dimensions", sliced((1, 2, 3, 4, 5)), "STRIDED_SLICE", "has 5 dimensions; 0 to 4 are taken"),
]
TAKEN: list[tuple[str, Model]] = [
    ("an exponential whose result is float", lambda: Qdq().layer("Exp").model()),
    ("an exponential behind which float goes on", lambda: Qdq().layer("Exp").layer("Sqrt").rounded(0.1).model()),
    ("a float exponential", plain("Exp", IMAGE)),
    ("what converters compute in float in between", moved("Neg", IMAGE)),
    ("the same in int16", moved("Sin", IMAGE, np.int16)),
    ("a type of which no converted file tells", moved("Elu", IMAGE, np.int16)),
    ("the largest of int8", moved("ReduceMax", IMAGE, axes=[2, 3])),
    ("an int8 image, stretched", stretched("linear", np.int8)),
    ("an int16 image, stretched by the nearest", stretched("nearest", np.int16)),
    ("an int8 image, mirrored", mirrored(np.int8)),
    ("ten inputs", joined(10)),
    ("a slice of four dimensions", sliced((1, 2, 3, 4))),
    ("an int16 sigmoid", moved("Sigmoid", IMAGE, np.int16)),
    ("slopes", lambda: slopes(np.int8)),
    ("slopes of int16", lambda: slopes(np.int16)),
    ("a constant that is subtracted", lambda: constant_operand("Sub", (4, 1, 1)).model()),
    ("a constant that divides", lambda: constant_operand("Div", (4, 1, 1)).model()),
    ("a choice", lambda: Qdq().layer("Where", "x_real", "x_real").rounded(0.1).model()),
]


@pytest.mark.parametrize(("what", "model", "op", "refusal"), NOT_TAKEN, ids=[what for what, *_ in NOT_TAKEN])
def test_a_reference_kernel_is_asked_about_types_and_ranks(what, model, op, refusal, told):
    """The table of reference kernels answers for the operator that an ONNX operator becomes."""
    (layer,) = judged(model(), "tflm")
    assert layer.verdict is REFUSED, what
    assert f"kernel of {op}," in layer.reason
    assert refusal in layer.reason
    (remark,) = (
        remark for remark in analysed(model(), runtime_of("tflm")).execution.remarks if remark.kind == "refused"
    )
    told(remark.message)
    assert remark.converter


@pytest.mark.parametrize(("what", "model"), TAKEN, ids=[what for what, _ in TAKEN])
def test_what_a_reference_kernel_may_take_is_not_refused(what, model):
    assert REFUSED not in {layer.verdict for layer in judged(model(), "tflm")}, what


def in_operator_format(op_type: str, second: tuple[int, ...] = (1, 4, 6, 6)) -> onnx.ModelProto:
    """A quantized operator of ONNX Runtime on two activations, with scales and zero-points among its inputs."""
    numbers = ["s", "z"]
    operands = ["a", *numbers, "b", *numbers]
    inputs = [*numbers, *operands] if op_type == "QLinearConcat" else [*operands, *numbers]
    attributes = {"axis": 1} if op_type == "QLinearConcat" else {}
    node = helper.make_node(op_type, inputs, ["y"], "pair", domain="com.microsoft", **attributes)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info(name, onnx.TensorProto.INT8, shape) for name, shape in
         (("a", (1, 4, 6, 6)), ("b", second))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.INT8, (1, 8 if op_type == "QLinearConcat" else 4, 6, 6))],
        [helper.make_tensor("s", onnx.TensorProto.FLOAT, [], [0.1]),
         helper.make_tensor("z", onnx.TensorProto.INT8, [], [0])],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize("runtime", ["tflm", "executorch", "tvm"])
@pytest.mark.parametrize("op_type", ["QLinearAdd", "QLinearMul"])
def test_a_scale_is_not_taken_for_an_operand(runtime: str, op_type: str) -> None:
    """Inputs 1 and 2 of these operators are a scale and a zero-point."""
    (equal,) = judged(in_operator_format(op_type), runtime)
    assert equal.verdict is CMSIS_NN
    assert not (equal.row and equal.row.cause)
    for layer in judged(in_operator_format(op_type, (1, 1, 6, 6)), runtime):
        assert layer.verdict is not CMSIS_NN


def test_operands_are_those_of_the_operators_record() -> None:
    from onnxlint_cmsis.runtimes.layer_facts import LayerFacts

    for op_type in ("QLinearAdd", "QLinearMul", "QLinearConcat"):
        analysis = analysed(in_operator_format(op_type), runtime_of("tflm"))
        (record,) = analysis.lowered.records
        facts = LayerFacts(analysis.graph, record)
        assert facts.shapes == [(1, 4, 6, 6)] * 2
        assert (facts.rank, facts.broadcasts) == (4, False)


def test_a_layer_beside_cmsis_nn_has_no_route():
    analysis = analysed(CASES["concat of equal scales"]().model(), runtime_of("tflm"))
    (record,) = [record for record in analysis.lowered.records if record.node.op_type == "Concat"]
    assert record.verdict is Outcome.REFERENCE
    assert record.node.label not in [layer.node.label for layer in analysis.lowered.layers]


@pytest.mark.parametrize(
    ("attributes", "becomes"),
    [
        ({"pads": [1, 1, 1, 1]}, False),
        ({"pads": [0, 0, 0, 0]}, False),
        ({"pads": [2, 2, 0, 0]}, True),
        ({"pads": [0, 1, 1, 1]}, True),
        ({"pads": [0, 0, 1, 1], "strides": [2, 2]}, False),
        ({"pads": [1, 1, 0, 0], "strides": [2, 2]}, True),
        ({"pads": [1, 1, 1, 1], "strides": [2, 2]}, True),
        ({"auto_pad": "SAME_UPPER", "strides": [2, 2]}, False),
        ({"auto_pad": "SAME_LOWER", "strides": [2, 2]}, True),
        ({"pads": [2, 2, 2, 2], "dilations": [2, 2]}, False),
    ],
)
def test_padding_that_is_neither_same_nor_valid_becomes_a_pad(attributes, becomes):
    model = one_node("Conv", [1, 4, 8, 8], {"w": (4, 4, 3, 3), "b": (4,)}, **attributes)
    analysis = analysed(model, runtime_of("tflm"))
    assert analysis.execution.judged is not None
    (layer,) = analysis.execution.judged.layers
    assert layer.padded is becomes
    (direct,) = analysed(model, runtime_of("direct")).lowered.layers
    (call,) = [layer.call for layer in analysis.lowered.layers]
    assert call.output_dims == direct.call.output_dims
    if becomes:
        before, after = direct.call.padding, direct.call.pad_after
        assert (call.padding, call.pad_after) == ((0, 0), (0, 0))
        assert call.input_dims.h == direct.call.input_dims.h + before.h + after.h
        assert "padding" in [remark.kind for remark in analysis.execution.remarks]
    else:
        assert call == direct.call


@pytest.mark.parametrize(
    "source",
    [
        "y = com.microsoft.DynamicQuantizeMatMul(x, w, s, z)",
        "q, a, b = DynamicQuantizeLinear(x) y = com.microsoft.MatMulIntegerToFloat(q, w, a, s, b, z)",
    ],
)
def test_a_product_with_a_measured_scale_becomes_a_hybrid_layer(source):
    head = """<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]>
    g (float[4, 6] x) => (float[4, 5] y) <int8[6, 5] w = {1}, float s = {0.1}, int8 z = {0}>"""
    analysis = analysed(text(f"{head} {{ {source} }}"), runtime_of("tflm"))
    assert [remark.cause for remark in analysis.execution.remarks] == ["dynamic-quantization"]


def test_an_error_says_what_becomes_of_it_in_tensorflow_lite_micro(told):
    assert "Invoke returns kTfLiteOk" in status_text("tflm", "convolve_s8")
    told(status_text("tflm", "fully_connected_s8"))
    assert status_text("executorch", "convolve_s8") == status_text("direct", "convolve_s8") == ""
    functions = [function for row in STATUS_OF_TFLM for function in row.functions]
    assert len(functions) == len(set(functions))


def test_the_check_of_one_image_is_of_int8_alone():
    """An int16 depthwise convolution of a batch was said to halt (K/cmsis_nn/depthwise_conv.cc:143 of d0890bb4)."""
    for kind, verdict in ((np.int8, HALTS), (np.int16, CMSIS_NN)):
        model = Qdq((2, 4, 6, 6), kind)
        weights, bias = model.weights("w", (4, 1, 3, 3)), model.constant("b", np.zeros(4, np.float32))
        (layer,) = judged(model.layer("Conv", weights, bias, group=4).rounded(0.2).model(), "tflm@2026-05-21")
        assert layer.verdict is verdict


def test_dense_layers_of_rank_two_are_left_alone():
    assert not any(layer.row for layer in judged(dense().model(), "tflm"))


def told(model: onnx.ModelProto, runtime: str, *silent: str) -> list[Finding]:
    """Findings above notes, but for those of rules that do not run."""
    analysis = analysed(model, runtime_of(runtime))
    findings = model_findings(analysis, analysis.lowered, lambda code: code not in silent)
    return [finding for finding in findings if finding.level > Level.NOTE and finding.code not in silent]


@pytest.mark.parametrize("name", CASES)
def test_one_cause_is_told_once_whoever_calls_the_function(name):
    findings = told(CASES[name]().model(), "tflm")
    codes = {(finding.location.node, finding.code[:4]) for finding in findings}
    assert not [node for node, family in codes if family == "CNN4" and (node, "CNN5") in codes]


@pytest.mark.parametrize(
    ("name", "cause", "runtime", "says"),
    [
        ("softmax of another scale", "CNN509", "CNN401[softmax-scale]", "TensorFlow Lite Micro refuses it: "),
        ("concat of unequal scales", "CNN510", "CNN401[unequal-scales]", "TensorFlow Lite Micro refuses it: "),
        ("int16 with a zero-point", "CNN505", "CNN401[zero-point-s16]", "TensorFlow Lite Micro refuses it: "),
        ("int16 dense of several scales", "CNN502", "CNN401[weight-scales]", "TensorFlow Lite Micro refuses it: "),
        (
            "weights with a zero-point",
            "CNN501",
            "CNN402[weight-zero-point]",
            "TensorFlow Lite Micro gives wrong values",
        ),
    ],
)
def test_the_rule_of_the_cause_says_what_the_runtime_does(name, cause, runtime, says):
    (finding,) = told(CASES[name]().model(), "tflm")
    assert (finding.code, finding.level) == (cause, Level.ERROR)
    assert says in finding.text
    assert str(finding.properties["runtime"]).startswith("TensorFlow Lite Micro: ")
    (instead,) = told(CASES[name]().model(), "tflm", cause)
    assert (instead.selector, instead.level) == (runtime, Level.ERROR)


BAD = [row for row in FOUND if row[-1] in {REFUSED, WRONG, HALTS}]


@pytest.mark.parametrize(("runtime", "what", "model"), [row[:3] for row in BAD], ids=[f"{r} {w}" for r, w, *_ in BAD])
def test_no_layer_stops_or_is_wrong_in_silence(runtime, what, model):
    """A softmax over another axis than the last was wrong in TVM, and no rule said so."""
    analysis = analysed(model(), runtime_of(runtime))
    assert analysis.execution.judged is not None
    bad = {
        layer.record.node.label
        for layer in analysis.execution.judged.layers
        if layer.verdict in {REFUSED, WRONG, HALTS}
    }
    findings = [finding for finding in model_findings(analysis, analysis.lowered) if finding.decides]
    named = [str(finding.properties.get("nodes", finding.location.node)).split(", ") for finding in findings]
    assert bad <= {label for labels in named for label in labels}, what


def test_no_advice_about_scales_where_the_runtime_takes_another_operator():
    findings = told(CASES["average pool of unequal scales"]().model(), "tflm")
    assert [finding.selector for finding in findings] == ["CNN403[mean]"]


def test_every_condition_of_tvm_is_about_a_pattern_or_says_that_there_is_none():
    cases = [*conditions_of("tvm")]
    assert cases
    for row in cases:
        assert set(row.ops) <= set(PARTITIONED) or "has no pattern" in row.reason


@pytest.mark.parametrize("runtime", ["executorch", "tvm"])
def test_what_was_read_and_not_run_is_said_with_may(runtime):
    """No kernel of these runtimes was run."""
    models = [model() for name, _, model, cause, _ in FOUND if name == runtime and cause]
    remarks = [remark for model in models for remark in analysed(model, runtime_of(runtime)).execution.remarks]
    verdicts = [remark for remark in remarks if remark.verdict is not CMSIS_NN]
    assert verdicts
    assert all(" may " in verdict.message and verdict.source.endswith("not run") for verdict in verdicts)
    everything = [analysed(model, runtime_of(runtime)).execution.judged for model in models]
    consequences = [consequence for answers in everything if answers for consequence in answers.consequences.values()]
    assert all(" may " in consequence.text for consequence in consequences)


@pytest.mark.parametrize(
    ("version", "entry", "release"),
    [
        ("2024-08", "fully_connected_s8", "6.0.0"),
        ("2024-10", "fully_connected_s8", "7.0.0"),
        ("2024-10", "convolve_s8", "6.0.0"),
        ("2024-10", "convolve_s4", "7.0.0"),
        ("2025-03", "convolve_s8", "7.0.0"),
        ("2026-05", "transpose_conv_s8", "7.0.0"),
        ("2026-05", "convolve_s8", "main"),
    ],
)
def test_each_revision_has_the_kernels_of_the_library_that_it_brings(version, entry, release):
    runtime = runtime_of(f"tflm@{version}")
    assert runtime.library(entry, target_of("cortex-m4", runtime.release)).release == release


@pytest.mark.parametrize("day", [day for row in conditions_of("tflm") for day in (row.since, row.until) if day])
def test_a_revision_begins_wherever_a_condition_does(day):
    assert runtime_of(f"tflm@{day}").since == day


@pytest.mark.parametrize(
    ("op", "attributes", "says"),
    [
        ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, ""),
        ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}, "the zeros of a PAD"),
        ("ConvTranspose", {"strides": [2, 2]}, ""),
        ("ConvTranspose", {"strides": [2, 2], "pads": [0, 0, 1, 1]}, ""),
        ("ConvTranspose", {"strides": [2, 2], "pads": [1, 1, 1, 1]}, "a SLICE or STRIDED_SLICE comes behind"),
    ],
)
def test_padding_of_average_pools_and_transposed_convolutions(op, attributes, says):
    weights = {"w": (4, 4, 3, 3)} if op == "ConvTranspose" else {}
    remarks = [
        remark
        for remark in analysed(one_node(op, [1, 4, 8, 8], weights, **attributes), runtime_of("tflm")).execution.remarks
        if remark.kind == "padding"
    ]
    assert [says in remark.message and remark.converter for remark in remarks] == ([True] if says else [])


def test_findings_say_whether_the_converter_decides(told):
    analysis = analysed(one_node("GlobalAveragePool", [1, 4, 8, 8], {}), runtime_of("tflm"))
    assert [(remark.cause, remark.converter) for remark in analysis.execution.remarks] == [("mean", True)]
    (note,) = runtime_notes(runtime_of("tflm"), ONNX, "CNN403[mean]")
    told(note)


@pytest.mark.parametrize("name", ["executorch", "tvm"])
def test_no_note_sends_to_a_format_that_the_runtime_does_not_read(name):
    assert ".tflite" not in "".join(runtime_notes(runtime_of(name), ONNX))
    assert ".tflite" not in "".join(runtime_notes(runtime_of("tflm"), TFLITE))
