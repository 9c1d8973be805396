"""The runtime computes a layer wrongly and reports success.

The kernel ignores something that the model says, and returns success. The message says what; the cause stands behind
the code: `CNN402[weight-zero-point]`.

**What to do.** Give the layer what the kernel takes for granted, which depends on the cause.
"""

from onnxlint_cmsis.checks.rule import Example, Rule, RuleCause, quantized_layer
from onnxlint_cmsis.checks.runtime_checks import RemarkCheck
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.runtimes.remark import FIXED_BATCH, PER_TENSOR

K = "tensorflow/lite/micro/kernels/"
TVM = "python/tvm/relay/op/contrib/cmsisnn.py"
BIASED = "b = DequantizeLinear(w, s, v)\nc = Gemm(a, b, k)"
SUMMED = "int8[8, 2] w = {1}, int8 v = {0}, float[2] k = {1}"
DENSE = "b = DequantizeLinear(w, s, v)\nc = MatMul(a, b)"
CONVOLUTION = "b = DequantizeLinear(w, s, v)\nc = Conv(a, b)"
ALONE = "--ignore CNN5"
"""Without the rules that know causes in the quantization."""

CAUSES = (
    RuleCause(
        "kernel",
        "The kernel does something else than the operator says.",
        "Nothing mends it in this file: build the network without the operator, or with a revision that computes it "
        "rightly (--runtime NAME@VERSION judges one).",
        f"{K}cmsis_nn/batch_matmul.cc:124",
        Example(quantized_layer("c = MatMul(a, a)", "1, 3, 3"), "--runtime tflm@2024-10"),
        Example(quantized_layer("c = MatMul(a, a)", "1, 3, 3"), "--runtime tflm@2024-12"),
    ),
    RuleCause(
        "weight-zero-point",
        "The weights have a zero-point other than 0, which the kernel neither checks nor uses.",
        "Quantize the weights symmetrically, as int8 with zero-point 0.",
        f"{K}cmsis_nn/conv.cc:143",
        Example(
            quantized_layer(CONVOLUTION, "1, 4, 8, 8", constants="int8[4, 4, 1, 1] w = {1}, int8 v = {3}"),
            f"--runtime tflm {ALONE}",
        ),
        Example(
            quantized_layer(CONVOLUTION, "1, 4, 8, 8", constants="int8[4, 4, 1, 1] w = {1}, int8 v = {0}"),
            f"--runtime tflm {ALONE}",
        ),
    ),
    RuleCause(
        "weight-scales",
        "The weights of a dense layer have a scale for each output, and the kernel uses one.",
        f"{PER_TENSOR}, or use a newer revision.",
        f"{K}fully_connected_common.cc",
        Example(
            quantized_layer(
                "b = DequantizeLinear<axis = 1>(w, ws, v)\nc = MatMul(a, b)",
                "1, 8",
                "1, 2",
                constants="int8[8, 2] w = {1}, float[2] ws = {0.1, 0.2}, int8[2] v = {0, 0}",
            ),
            f"--runtime tflm@2024-05-07 {ALONE}",
        ),
        Example(
            quantized_layer(DENSE, "1, 8", "1, 2", constants="int8[8, 2] w = {1}, int8 v = {0}"),
            f"--runtime tflm@2024-05-07 {ALONE}",
        ),
    ),
    RuleCause(
        "unequal-scales",
        "Inputs and output have different scales or zero-points, and the kernel copies or compares stored integers.",
        "Give them one scale and zero-point.",
        f"{K}cmsis_nn/maximum_minimum.cc:63",
        Example(quantized_layer("c = Max(a, a)", "1, 4, 8, 8", scale=0.3), f"--runtime tflm {ALONE}"),
        Example(quantized_layer("c = Max(a, a)", "1, 4, 8, 8"), f"--runtime tflm {ALONE}"),
    ),
    RuleCause(
        "rank",
        "The tensor has more or fewer dimensions than the kernel reads.",
        "Reshape it to four dimensions: a channel shuffle of one image needs no batch axis.",
        f"{K}cmsis_nn/transpose.cc:30",
        Example(
            quantized_layer("c = Transpose<perm = [0, 2, 1, 3, 4]>(a)", "1, 2, 4, 8, 8", "1, 4, 2, 8, 8"),
            "--runtime tflm",
        ),
        Example(quantized_layer("c = Transpose<perm = [1, 0, 2, 3]>(a)", "2, 4, 8, 8", "4, 2, 8, 8"), "--runtime tflm"),
    ),
    RuleCause(
        "batch",
        "The kernel computes the first image of a batch alone.",
        "Run one image at a time, or use a newer revision.",
        f"{K}cmsis_nn/pooling.cc",
        Example(quantized_layer("c = MaxPool<kernel_shape = [1, 1]>(a)", "2, 4, 8, 8"), "--runtime tflm@2026-05-21"),
        Example(quantized_layer("c = MaxPool<kernel_shape = [1, 1]>(a)", "1, 4, 8, 8"), "--runtime tflm@2026-05-21"),
    ),
    RuleCause(
        "broadcast",
        "The shapes of its operands differ, and the call reads as many elements of each as the result has.",
        "Give both one shape: store a constant as often as the other operand repeats it. Nothing helps where a layer "
        "of Keras stores it, such as MultiHeadAttention.",
        f"{TVM}:345-383",
        Example(
            quantized_layer(
                "b = DequantizeLinear(k, s, z)\nc = Mul(a, b)", "1, 4, 8, 8", constants="int8[1, 4, 1, 1] k = {1}"
            ),
            "--runtime tvm",
        ),
        Example(
            quantized_layer(
                "b = DequantizeLinear(k, s, z)\nc = Mul(a, b)", "1, 4, 8, 8", constants="int8[1, 4, 8, 8] k = {1}"
            ),
            "--runtime tvm",
        ),
    ),
    RuleCause(
        "axis",
        "The axis of a softmax is not looked at, and the call runs over the last one.",
        "Transpose in front, so that the softmax runs over the last axis.",
        f"{TVM}:82-103",
        Example(
            quantized_layer("c = Softmax<axis = 0>(a)", "2, 5", zero=-128, scale=0.00390625),
            f"--runtime tvm {ALONE}",
        ),
        Example(
            quantized_layer("c = Softmax<axis = 1>(a)", "2, 5", zero=-128, scale=0.00390625),
            f"--runtime tvm {ALONE}",
        ),
    ),
    RuleCause(
        "attribute",
        "An option of the operator is not looked at, such as the dilation of a pool.",
        "Write the layer without the option.",
        f"{TVM}:287-329",
        Example(
            quantized_layer("c = MaxPool<kernel_shape = [2, 2], dilations = [2, 2]>(a)", "1, 4, 8, 8", "1, 4, 6, 6"),
            "--runtime tvm",
        ),
        Example(quantized_layer("c = MaxPool<kernel_shape = [3, 3]>(a)", "1, 4, 8, 8", "1, 4, 6, 6"), "--runtime tvm"),
    ),
    RuleCause(
        "zero-point-s16",
        "int16 activations have a zero-point other than 0, which is not looked at.",
        "Quantize int16 activations symmetrically.",
        f"{TVM}:252-277",
        Example(
            quantized_layer(DENSE, "1, 8", "1, 2", kind="int16", zero=12, constants="int8[8, 2] w = {1}, int8 v = {0}"),
            f"--runtime tvm {ALONE}",
        ),
        Example(
            quantized_layer(DENSE, "1, 8", "1, 2", kind="int16", constants="int8[8, 2] w = {1}, int8 v = {0}"),
            f"--runtime tvm {ALONE}",
        ),
    ),
    RuleCause(
        "sums",
        "An int16 convolution adds in 32 bits, and its weights and bias make sums that leave them for some input. So "
        "it is with an int32 bias, or none; and without MVE in the last of an odd number of output pixels with any.",
        "Give it an int64 bias, which converters write for int16 by default. Without MVE and with an odd number of "
        "output pixels compute it in int8.",
        f"{K}cmsis_nn/conv.cc:465",
        Example(None, name="model.tflite", shown="an int16 convolution of 1,152 weights of 127, with an int32 bias"),
        Example(None, name="model.tflite", shown="the same with an int64 bias, and an even number of output pixels"),
    ),
    RuleCause(
        "plan",
        "A program is planned for another core: a dense layer loses its bias, which lies in sums that MVE alone reads.",
        "Export the program again with the target_config of this core.",
        "backends/cortex_m/passes/aten_to_cortex_m_pass.py:396-425",
        Example(None, "--target cortex-m4", name="model.pte", shown="one dense layer, planned for MVE"),
        Example(None, "--target cortex-m55", name="model.pte", shown="one dense layer, planned for MVE"),
    ),
    RuleCause(
        "lost-bias",
        "The exporter adds the bias of a dense layer to sums that MVE alone reads: ExecuTorch 1.1.0 to 1.3.1.",
        "Use ExecuTorch 1.4.0 or a newer one, whose exporter is told the core, and export the model again with it.",
        "backends/cortex_m/passes/convert_to_cortex_m_pass.py:115-135 (v1.3.1)",
        Example(
            quantized_layer(BIASED, "1, 8", "1, 2", constants=SUMMED), "--runtime executorch@1.3.1 --target cortex-m4"
        ),
        Example(
            quantized_layer(BIASED, "1, 8", "1, 2", constants=SUMMED), "--runtime executorch@1.3.1 --target cortex-m55"
        ),
    ),
    RuleCause(
        "overrun",
        "A program is planned for another core: a kernel writes behind its scratch, or near address 0 where it has "
        "none. Other memory is overwritten, so that results are not all that can be wrong. Builds with "
        "CORTEX_M_ENABLE_RUNTIME_CHECKS return an error where the size of scratch differs at all.",
        "Export the program again with the target_config of this core.",
        "backends/cortex_m/CMakeLists.txt:33",
        Example(None, "--target cortex-m55", name="model.pte", shown="one depthwise layer of 1x1x64, planned for DSP"),
        Example(None, "--target cortex-m4", name="model.pte", shown="one depthwise layer of 1x1x64, planned for DSP"),
    ),
    RuleCause(
        "short-plan",
        "A program is planned for another core: a kernel asks for more scratch than it is given, and does not look. "
        "How much it writes is not known.",
        "Export the program again with the target_config of this core.",
        "backends/cortex_m/CMakeLists.txt:33",
        Example(None, "--target cortex-m3", name="model.pte", shown="one convolution over a row, planned for MVE"),
        Example(None, "--target cortex-m55", name="model.pte", shown="one convolution over a row, planned for MVE"),
    ),
    RuleCause(
        "sizes",
        "The file states another shape for a result than the operator makes of its inputs, and the kernel believes it. "
        "TensorFlow Lite Micro never resizes, and converters write a batch of 1 for one that they do not know: a "
        "dilated Keras convolution then keeps one block of several.",
        FIXED_BATCH,
        "tensorflow/lite/kernels/internal/reference/space_to_batch_nd.h:79",
        Example(None, name="model.tflite", shown="SPACE_TO_BATCH_ND in blocks of [2, 2], [1, 4, 4, 1] to [1, 2, 2, 1]"),
        Example(None, name="model.tflite", shown="SPACE_TO_BATCH_ND in blocks of [2, 2], [1, 4, 4, 1] to [4, 2, 2, 1]"),
    ),
    RuleCause(
        "padding",
        "The kernel pads with a number that it never sets, which stands for 0 in a zeroed arena and at zero-point 0 "
        "alone.",
        f"{FIXED_BATCH} Dilated convolutions then have no SPACE_TO_BATCH_ND. Pad one of your own with tf.pad in front, "
        "and let it pad nothing.",
        "tensorflow/lite/kernels/internal/reference/space_to_batch_nd.h:78",
        Example(None, name="model.tflite", shown="SPACE_TO_BATCH_ND with paddings of 1 and zero-point -128"),
        Example(None, name="model.tflite", shown="SPACE_TO_BATCH_ND with paddings of 1 and zero-point 0"),
    ),
    RuleCause(
        "memory-plan",
        "The file brings a memory plan along (OfflineMemoryAllocation) that puts a tensor over one that is still "
        "needed, or in front of the arena, or ends before its offsets do. The interpreter takes the offsets as they "
        "are.",
        "Make the plan anew, as whoever changes tensors has to: --fix --ram BYTES writes one.",
        "tensorflow/lite/micro/micro_allocation_info.cc:338-373",
        Example(None, name="model.tflite", shown="a chain of sums with a memory plan that puts all of it at 0"),
        Example(None, name="model.tflite", shown="a chain of sums with a memory plan that fits"),
    ),
    RuleCause(
        "operator-version",
        "The file asks for a version of an operator that nobody knew when the runtime was reviewed. TensorFlow Lite "
        "Micro compares no versions: its kernel may leave out what the version added. Known are the versions that "
        "LiteRT 2.3.0 registers, and those that TensorFlow's op_version.cc writes.",
        "Compare results on the device with LiteRT's, or convert with a release that writes an older version.",
        "tensorflow/lite/micro/micro_op_resolver.h",
        Example(None, name="model.tflite", shown="a .tflite file with one operator: y = MUL(a, b), of version 201"),
        Example(None, name="model.tflite", shown="a .tflite file with one operator: y = MUL(a, b), of version 2"),
    ),
)

RULE = Rule(
    code="CNN402",
    name="runtime-wrong",
    level=Level.ERROR,
    effect=Effect.WRONG,
    summary="The runtime computes a layer wrongly and reports success.",
    docs=__doc__,
    bad=CAUSES[0].bad,
    good=CAUSES[0].good,
    kinds=("wrong", "short-plan", "operator-version"),
    causes=CAUSES,
)

run = RemarkCheck(CAUSES)
