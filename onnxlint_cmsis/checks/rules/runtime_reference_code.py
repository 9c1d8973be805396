"""The runtime uses its reference code for a layer, not CMSIS-NN.

It is a warning where the layer's types or shapes keep it from a CMSIS-NN kernel that the runtime has, and a note
where there is no such kernel, or the layer does little of the model's work. The cause stands behind the code:
`CNN403[broadcast]`.

**What to do.** What brings the layer to CMSIS-NN, if something does, depends on the cause.
"""

from onnxlint_cmsis.checks.fix_actions import REWRITE
from onnxlint_cmsis.checks.rule import Example, Rule, RuleCause, quantized_layer
from onnxlint_cmsis.checks.runtime_checks import RemarkCheck
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

K = "tensorflow/lite/micro/kernels/"
E = "backends/cortex_m/"
TVM = "python/tvm/relay/op/contrib/cmsisnn.py"
CONVOLUTION = "b = DequantizeLinear(w, s, v)\nc = Conv(a, b)"
DENSE = "b = DequantizeLinear(w, s, v)\nc = MatMul(a, b)"
DEPTHWISE = "b = DequantizeLinear(w, s, v)\nc = Conv<group = 4>(a, b, k)"
PLANES = "int8[4, 1, 1, 1] w = {1}, int8 v = {0}, float[4] k = {1}"
FILTER = "int8[4, 4, 1, 1] w = {1}, int8 v = {0}"
IMAGE = "1, 4, 8, 8"
IN_TFLM, IN_TVM, IN_EXECUTORCH = "--runtime tflm", "--runtime tvm", "--runtime executorch"
ALONE = "--ignore CNN5"
"""Without the rules that know causes in the quantization."""

CAUSES = (
    RuleCause(
        "no-function",
        "The runtime has no CMSIS-NN kernel for the operator.",
        "Nothing: it runs, slower than an operator with a CMSIS-NN kernel.",
        f"{K}cmsis_nn/",
        Example(quantized_layer("c = Concat<axis = 1>(a, a)", IMAGE, "1, 8, 8, 8"), IN_TFLM),
        Example(quantized_layer("c = Add(a, a)", IMAGE), IN_TFLM),
    ),
    RuleCause(
        "broadcast",
        "The shapes of its operands differ, also where one is a single number.",
        "Give both one shape: store a constant as often as the other operand repeats it. Nothing helps where a layer "
        "of Keras stores it, such as MultiHeadAttention.",
        f"{K}cmsis_nn/add.cc:132",
        Example(
            quantized_layer(
                "b = DequantizeLinear(k, s, z)\nc = Mul(a, b)", IMAGE, constants="int8[1, 4, 1, 1] k = {1}"
            ),
            IN_TFLM,
        ),
        Example(
            quantized_layer(
                "b = DequantizeLinear(k, s, z)\nc = Mul(a, b)", IMAGE, constants="int8[1, 4, 8, 8] k = {1}"
            ),
            IN_TFLM,
        ),
    ),
    RuleCause(
        "mean",
        "Converters write an average over a plane as MEAN, which has no CMSIS-NN kernel; AVERAGE_POOL_2D has one.",
        "Train it as an average pool of that window, with one scale for input and output: for a plane of 25 x 5 "
        "nn.AvgPool2d((25, 5)) in PyTorch, AveragePooling2D((25, 5)) in Keras.",
        f"{K}reduce.cc",
        Example(quantized_layer("c = GlobalAveragePool(a)", IMAGE, "1, 4, 1, 1"), IN_TFLM),
        Example(quantized_layer("c = AveragePool<kernel_shape = [8, 8]>(a)", IMAGE, "1, 4, 1, 1"), IN_TFLM),
    ),
    RuleCause(
        "float",
        "The layer computes in float. In an ONNX model mostly a QuantizeLinear behind it is missing.",
        "Quantize it to int8, with calibration data.",
        f"{K}cmsis_nn/conv.cc:432",
        Example(
            """
g (int8[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) <float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    y = Relu(c)
}
""",
            f"{IN_TFLM} {ALONE}",
        ),
        Example(quantized_layer(CONVOLUTION, IMAGE, constants=FILTER), f"{IN_TFLM} {ALONE}"),
    ),
    RuleCause(
        "activation-type",
        "Its kernels of CMSIS-NN take another type of data.",
        "Quantize it as int8, which has the most kernels.",
        f"{K}cmsis_nn/transpose.cc:86",
        Example(quantized_layer("c = Transpose<perm = [0, 2, 3, 1]>(a)", IMAGE, "1, 8, 8, 4", kind="int16"), IN_TFLM),
        Example(quantized_layer("c = Transpose<perm = [0, 2, 3, 1]>(a)", IMAGE, "1, 8, 8, 4"), IN_TFLM),
    ),
    RuleCause(
        "rank",
        "The tensor has another number of dimensions than the layers that are handed over.",
        "Reshape it to the number of dimensions that the message names.",
        f"{E}quantizer/quantizer_support.py:61-83",
        Example(
            "g (float[1, 4, 9] x) => (float[N, C, W] y) <float[4, 4, 3] w = {1}> {\n    y = Conv(x, w)\n}",
            IN_EXECUTORCH,
        ),
        Example(
            "g (float[1, 4, 1, 9] x) => (float[N, C, H, W] y) <float[4, 4, 1, 3] w = {1}> {\n    y = Conv(x, w)\n}",
            IN_EXECUTORCH,
        ),
    ),
    RuleCause(
        "attribute",
        "The operator has an option that the function of CMSIS-NN has no argument for.",
        "Write the layer without the option.",
        f"{E}passes/aten_to_cortex_m_pass.py:1080-1100",
        Example(
            quantized_layer("c = MaxPool<kernel_shape = [2, 2], ceil_mode = 1>(a)", IMAGE, "1, 4, 7, 7"), IN_EXECUTORCH
        ),
        Example(quantized_layer("c = MaxPool<kernel_shape = [2, 2]>(a)", IMAGE, "1, 4, 7, 7"), IN_EXECUTORCH),
    ),
    RuleCause(
        "batch",
        "Layers of one image are handed over alone.",
        "Run one image at a time.",
        f"{TVM}:299, 324",
        Example(quantized_layer("c = MaxPool<kernel_shape = [1, 1]>(a)", "2, 4, 8, 8"), IN_TVM),
        Example(quantized_layer("c = MaxPool<kernel_shape = [1, 1]>(a)", IMAGE), IN_TVM),
    ),
    RuleCause(
        "bias",
        "Depthwise layers with a bias are handed over alone.",
        "Give it a bias of zeros.",
        f"{TVM}:142-150, 190",
        Example(quantized_layer(DEPTHWISE.replace(", k)", ")"), IMAGE, constants=PLANES), IN_TVM),
        Example(quantized_layer(DEPTHWISE, IMAGE, constants=PLANES), IN_TVM),
    ),
    RuleCause(
        "weight-type",
        "Layers with int8 weights are handed over alone.",
        "Quantize the weights as int8.",
        f"{TVM}:162-174, 260-272",
        Example(
            quantized_layer(CONVOLUTION, IMAGE, constants="uint8[4, 4, 1, 1] w = {129}, uint8 v = {128}"),
            f"{IN_TVM} {ALONE}",
        ),
        Example(quantized_layer(CONVOLUTION, IMAGE, constants=FILTER), f"{IN_TVM} {ALONE}"),
    ),
    RuleCause(
        "weight-zero-point",
        "The weights have a zero-point other than 0.",
        "Quantize the weights symmetrically, as int8 with zero-point 0.",
        f"{TVM}:181-190, 274-277",
        Example(
            quantized_layer(CONVOLUTION, IMAGE, constants=FILTER.replace("v = {0}", "v = {3}")), f"{IN_TVM} {ALONE}"
        ),
        Example(quantized_layer(CONVOLUTION, IMAGE, constants=FILTER), f"{IN_TVM} {ALONE}"),
    ),
    RuleCause(
        "weight-scales",
        "The weights of a dense layer have a scale for each output, and dense layers are lowered per tensor.",
        "Quantize dense layers per tensor.",
        f"{E}passes/aten_to_cortex_m_pass.py:386-425",
        Example(
            quantized_layer(
                "b = DequantizeLinear<axis = 1>(w, ws, v)\nc = MatMul(a, b)",
                "1, 8",
                "1, 2",
                constants="int8[8, 2] w = {1}, float[2] ws = {0.1, 0.2}, int8[2] v = {0, 0}",
            ),
            f"{IN_EXECUTORCH} {ALONE}",
        ),
        Example(
            quantized_layer(DENSE, "1, 8", "1, 2", constants="int8[8, 2] w = {1}, int8 v = {0}"),
            f"{IN_EXECUTORCH} {ALONE}",
        ),
    ),
    RuleCause(
        "zero-point-s16",
        "int16 activations have a zero-point other than 0.",
        "Quantize int16 activations symmetrically.",
        f"{TVM}:176-179, 374-381",
        Example(quantized_layer(CONVOLUTION, IMAGE, kind="int16", zero=12, constants=FILTER), f"{IN_TVM} {ALONE}"),
        Example(quantized_layer(CONVOLUTION, IMAGE, kind="int16", constants=FILTER), f"{IN_TVM} {ALONE}"),
    ),
    RuleCause(
        "softmax-scale",
        "The output of a softmax has another scale or zero-point than the kernel writes.",
        "Give it scale 1/256 and zero-point -128 (int16: 1/32768 and 0), to the last bit.",
        f"{TVM}:88-103",
        Example(quantized_layer("c = Softmax<axis = 1>(a)", "1, 16", zero=-128, scale=1 / 255), f"{IN_TVM} {ALONE}"),
        Example(quantized_layer("c = Softmax<axis = 1>(a)", "1, 16", zero=-128, scale=0.00390625), f"{IN_TVM} {ALONE}"),
    ),
    RuleCause(
        "not-reviewed",
        "A program calls a delegate, or an operator or a function of CMSIS-NN that was not read in this revision. What "
        "these do is not judged.",
        "Nothing if you know what it does; otherwise name a revision (--runtime) or release (--release) that was read.",
        "schema/program.fbs",
        Example(None, name="model.pte", shown="a program that hands all to the delegate EthosUBackend"),
        Example(quantized_layer("c = Add(a, a)", IMAGE), IN_EXECUTORCH),
    ),
    RuleCause(
        "recurrent",
        "Converters write a recurrent layer in several ways. TensorFlow's crashed while it quantized one in a loop "
        "(WHILE).",
        "A layer of Keras with unroll=True becomes plain operators, which converters quantize and which run; Conv1D "
        "over time stays in CMSIS-NN. Of an ONNX model lint the converted file.",
        f"{K}cmsis_nn/unidirectional_sequence_lstm.cc",
        Example(
            """
g (float[5, 1, 3] x) => (float[5, 1, 1, 4] y) <float[1, 16, 3] w = {1}, float[1, 16, 4] r = {1}> {
    y = LSTM<hidden_size = 4>(x, w, r)
}
""",
            IN_TFLM,
        ),
        Example("g (float[5, 3] x) => (float[5, 4] y) <float[3, 4] w = {1}> {\n    y = MatMul(x, w)\n}", IN_TFLM),
    ),
)

RULE = Rule(
    code="CNN403",
    name="runtime-reference-code",
    level=Level.WARNING,
    effect=Effect.REFERENCE,
    summary="The runtime uses its reference code for a layer, not CMSIS-NN.",
    docs=__doc__,
    action=REWRITE,
    bad=CAUSES[1].bad,
    good=CAUSES[1].good,
    kinds=("reference code", "not-reviewed", "recurrent"),
    causes=CAUSES,
)

run = RemarkCheck(CAUSES)
