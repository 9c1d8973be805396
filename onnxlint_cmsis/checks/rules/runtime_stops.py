"""The runtime stops at a layer: it refuses the model at the start, or halts.

A check of scales, zero-points, types or sizes fails: the runtime refuses the whole model at the start (TensorFlow
Lite Micro: `AllocateTensors` fails), or stops the firmware in a build with checks. The message names the check by
file and line; the cause stands behind the code: `CNN401[rank]`.

**What to do.** It depends on the cause.
"""

from onnxlint_cmsis.checks.rule import Example, Rule, RuleCause, quantized_layer
from onnxlint_cmsis.checks.runtime_checks import RemarkCheck
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.runtimes.remark import PER_TENSOR

K = "tensorflow/lite/micro/kernels/"
CONVOLUTION = "b = DequantizeLinear(w, s, v)\nc = Conv(a, b)"
FILTER = "int8[4, 4, 1, 1] w = {1}, int8 v = {0}"
DENSE = "b = DequantizeLinear(w, s, v)\nc = MatMul(a, b)"
DEPTHWISE = "b = DequantizeLinear(w, s, v)\nc = Conv<group = 4>(a, b, k)"
PLANES = "int8[4, 1, 1, 1] w = {1}, int8 v = {0}, float[4] k = {1}"
ALONE = "--runtime tflm --ignore CNN5"
"""The runtime, without the rules that know causes in the quantization."""

CAUSES = (
    RuleCause(
        "check",
        "A check of the kernel on types, sizes or options does not hold.",
        "Nothing mends it in this file: build the network without the operator, or with a type, size or option that "
        "the check allows.",
        K,
        Example(quantized_layer("c = Exp(a)", "1, 16"), "--runtime tflm"),
        Example(quantized_layer("c = Sigmoid(a)", "1, 16"), "--runtime tflm"),
    ),
    RuleCause(
        "operator",
        "The runtime has no kernel for the operator. An application can register one for a custom operator.",
        "Build the network without the operator; for a custom one register a kernel with the resolver's AddCustom.",
        "tensorflow/lite/micro/micro_mutable_op_resolver.h",
        Example(None, name="model.tflite", shown="a .tflite file with one operator: y = POW(a, b)"),
        Example(None, name="model.tflite", shown="a .tflite file with one operator: y = MUL(a, b)"),
    ),
    RuleCause(
        "memory-plan",
        "The memory plan that the file brings along (OfflineMemoryAllocation) has another number of offsets than the "
        "file has tensors.",
        "Make the plan anew: --fix --ram BYTES writes one.",
        "tensorflow/lite/micro/micro_allocation_info.cc:361-367",
        Example(None, name="model.tflite", shown="a chain of sums with a memory plan for fewer tensors"),
        Example(None, name="model.tflite", shown="a chain of sums with a memory plan that fits"),
    ),
    RuleCause(
        "dynamic-quantization",
        "Activations are in float, or get their scale at run time, and weights are integers.",
        "Quantize with calibration data (static quantization).",
        f"{K}cmsis_nn/conv.cc:75",
        Example(
            """
g (float[1, 8] x) => (float[N, M] y) <int8[8, 4] w = {1}, int8 wz = {0}, float ws = {0.1}> {
    q, s, z = DynamicQuantizeLinear(x)
    i = MatMulInteger(q, w, z, wz)
    f = Cast<to = 1>(i)
    t = Mul(s, ws)
    y = Mul(f, t)
}
""",
            ALONE,
        ),
        Example("g (float[1, 8] x) => (float[N, M] y) <float[8, 4] w = {1}> {\n    y = MatMul(x, w)\n}", ALONE),
    ),
    RuleCause(
        "unequal-scales",
        "Input and output have different scales or zero-points where the kernel copies integers.",
        "Give both one scale and zero-point.",
        f"{K}pooling_common.cc:73",
        Example(quantized_layer("c = MaxPool<kernel_shape = [1, 1]>(a)", "1, 4, 8, 8", scale=0.3), ALONE),
        Example(quantized_layer("c = MaxPool<kernel_shape = [1, 1]>(a)", "1, 4, 8, 8"), ALONE),
    ),
    RuleCause(
        "softmax-scale",
        "The output of a softmax has another scale or zero-point than the kernel writes.",
        "Give it scale 1/256 and zero-point -128 (int16: 1/32768 and 0).",
        f"{K}softmax_common.cc:104",
        Example(quantized_layer("c = Softmax<axis = 1>(a)", "1, 16", zero=-128, scale=1 / 255), ALONE),
        Example(quantized_layer("c = Softmax<axis = 1>(a)", "1, 16", zero=-128, scale=0.00390625), ALONE),
    ),
    RuleCause(
        "zero-point-s16",
        "int16 activations have a zero-point other than 0.",
        "Quantize int16 activations symmetrically.",
        f"{K}cmsis_nn/conv.cc:158",
        Example(quantized_layer(CONVOLUTION, "1, 4, 8, 8", kind="int16", zero=12, constants=FILTER), ALONE),
        Example(quantized_layer(CONVOLUTION, "1, 4, 8, 8", kind="int16", constants=FILTER), ALONE),
    ),
    RuleCause(
        "weight-zero-point",
        "The weights of a dense layer have a zero-point other than 0.",
        "Quantize the weights symmetrically, as int8 with zero-point 0.",
        f"{K}fully_connected_common.cc:148",
        Example(quantized_layer(DENSE, "1, 8", "1, 2", constants="int8[8, 2] w = {1}, int8 v = {3}"), ALONE),
        Example(quantized_layer(DENSE, "1, 8", "1, 2", constants="int8[8, 2] w = {1}, int8 v = {0}"), ALONE),
    ),
    RuleCause(
        "weight-scales",
        "The weights of a dense layer have a scale for each output, which the runtime does not take for this type.",
        f"{PER_TENSOR}.",
        f"{K}cmsis_nn/fully_connected.cc:116",
        Example(
            quantized_layer(
                "b = DequantizeLinear<axis = 1>(w, ws, v)\nc = MatMul(a, b)",
                "1, 8",
                "1, 2",
                kind="int16",
                constants="int8[8, 2] w = {1}, float[2] ws = {0.1, 0.2}, int8[2] v = {0, 0}",
            ),
            ALONE,
        ),
        Example(
            quantized_layer(DENSE, "1, 8", "1, 2", kind="int16", constants="int8[8, 2] w = {1}, int8 v = {0}"),
            ALONE,
        ),
    ),
    RuleCause(
        "rank",
        "The tensor has more dimensions than the kernel takes.",
        "Reshape it to at most four dimensions: a channel shuffle of one image needs no batch axis.",
        f"{K}transpose_common.cc:33",
        Example(
            quantized_layer("c = Transpose<perm = [0, 2, 1, 3, 4, 5]>(a)", "1, 2, 4, 1, 8, 8", "1, 4, 2, 1, 8, 8"),
            "--runtime tflm",
        ),
        Example(quantized_layer("c = Transpose<perm = [1, 0, 2, 3]>(a)", "2, 4, 8, 8", "4, 2, 8, 8"), "--runtime tflm"),
    ),
    RuleCause(
        "batch",
        "The kernel takes one image at a time.",
        "Run one image at a time, or use a newer revision.",
        f"{K}cmsis_nn/depthwise_conv.cc:150",
        Example(quantized_layer(DEPTHWISE, "2, 4, 8, 8", constants=PLANES), "--runtime tflm@2026-05-21"),
        Example(quantized_layer(DEPTHWISE, "1, 4, 8, 8", constants=PLANES), "--runtime tflm@2026-05-21"),
    ),
    RuleCause(
        "bias",
        "The layer has no bias, and a converter may write it with bias index -1, which Prepare does not take.",
        "Give it a bias of zeros.",
        "tensorflow/lite/micro/micro_allocator.cc:843",
        Example(
            quantized_layer(DEPTHWISE.replace(", k)", ")"), "1, 4, 8, 8", constants=PLANES),
            "--runtime tflm",
        ),
        Example(quantized_layer(DEPTHWISE, "1, 4, 8, 8", constants=PLANES), "--runtime tflm"),
    ),
    RuleCause(
        "activation-type",
        "The kernel does not take the type of the data.",
        "Quantize it as int8, or use a newer revision.",
        f"{K}maximum_minimum.cc",
        Example(quantized_layer("c = Max(a, a)", "1, 4, 8, 8", kind="int16"), "--runtime tflm@2024-06"),
        Example(quantized_layer("c = Max(a, a)", "1, 4, 8, 8"), "--runtime tflm@2024-06"),
    ),
    RuleCause(
        "broadcast",
        "Operands of different shapes have more than four dimensions.",
        "Give both one shape, or four dimensions, or use a newer revision.",
        "tensorflow/lite/kernels/internal/runtime_shape.h:113",
        Example(
            None,
            "--runtime tflm@2026-05-21",
            name="model.tflite",
            shown="a .tflite file with one operator: y = LESS(a, b) of [1, 1, 4, 4, 8] and [1, 1, 4, 4, 1]",
        ),
        Example(
            None,
            "--runtime tflm@2026-05-21",
            name="model.tflite",
            shown="a .tflite file with one operator: y = LESS(a, b) of [1, 1, 4, 4, 8] both",
        ),
    ),
    RuleCause(
        "scratch-order",
        "A dense layer of more than two dimensions runs as a 1x1 convolution, whose check miscounts scratch requests.",
        "Reshape its input to two dimensions, or build with NDEBUG: such a release build computes it rightly.",
        f"{K}cmsis_nn/fully_connected.cc:309",
        Example(
            quantized_layer(DENSE, "1, 3, 8", "1, 3, 4", constants="int8[8, 4] w = {1}, int8 v = {0}"),
            "--runtime tflm",
        ),
        Example(quantized_layer(DENSE, "3, 8", "3, 4", constants="int8[8, 4] w = {1}, int8 v = {0}"), "--runtime tflm"),
    ),
    RuleCause(
        "plan",
        "A program is planned for another core: scratch or sums that this one needs are not in the file. The exporter "
        "of ExecuTorch plans for one instruction set, that of Cortex-M55 unless it is told another, and the program "
        "does not say which.",
        "Export the program again with the target_config of this core.",
        "backends/cortex_m/passes/cortex_m_pass_manager.py:110",
        Example(None, "--target cortex-m4", name="model.pte", shown="one average pool, planned for MVE"),
        Example(None, "--target cortex-m55", name="model.pte", shown="one average pool, planned for MVE"),
    ),
    RuleCause(
        "buffer",
        "A kernel hands no buffer to a function that asks for one on this core: average pools of ExecuTorch 1.1.0 to "
        "1.3.1 on cores with DSP instructions.",
        "Use ExecuTorch 1.4.0 or a newer one, which plans the buffer, and export the model again with it.",
        "backends/cortex_m/ops/op_quantized_avg_pool2d.cpp:48 (v1.3.1)",
        Example(
            quantized_layer("c = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(a)", "1, 4, 8, 8", "1, 4, 4, 4"),
            "--runtime executorch@1.3.1 --target cortex-m4",
        ),
        Example(
            quantized_layer("c = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(a)", "1, 4, 8, 8", "1, 4, 4, 4"),
            "--runtime executorch@1.4.1 --target cortex-m4",
        ),
    ),
    RuleCause(
        "release",
        "A program was exported with another release of the runtime, whose operators have other arguments.",
        "Export the program with the release that the firmware is built with.",
        "codegen/gen.py:249, backends/cortex_m/ops/operators.yaml",
        Example(None, "--runtime executorch@1.4.1", name="model.pte", shown="one convolution of 12 arguments"),
        Example(None, "--runtime executorch@1.4.1", name="model.pte", shown="one convolution of 13 arguments"),
    ),
    RuleCause(
        "sizes",
        "A tensor of a program has sizes without a bound, for which no memory is planned.",
        "Export the program without dynamic_shapes, or with a largest size for each.",
        "runtime/executor/tensor_parser_portable.cpp:56",
        Example(None, name="model.pte", shown="one ReLU of a tensor without largest sizes (DYNAMIC_UNBOUND)"),
        Example(None, name="model.pte", shown="one ReLU of a tensor of 1x8"),
    ),
    RuleCause(
        "unpredictable",
        "The kernel reads sizes that the file has not, or not as it expects, and does not look.",
        "Convert the model again: a file in order has these sizes.",
        K,
        Example(None, name="model.tflite", shown="a .tflite file with one operator: y = MAX_POOL_2D(x), stride_w 0"),
        Example(None, name="model.tflite", shown="a .tflite file with one operator: y = MAX_POOL_2D(x), stride_w 2"),
    ),
)

RULE = Rule(
    code="CNN401",
    name="runtime-stops",
    level=Level.ERROR,
    effect=Effect.STOPS,
    summary="The runtime stops at a layer: it refuses the model at the start, or halts.",
    docs=__doc__,
    bad=CAUSES[0].bad,
    good=CAUSES[0].good,
    kinds=("refused", "no kernel", "halts", "unpredictable"),
    causes=CAUSES,
)

run = RemarkCheck(CAUSES)
