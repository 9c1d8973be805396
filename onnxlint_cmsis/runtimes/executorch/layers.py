"""Which layers of ONNX models ExecuTorch's cortex_m backend hands to CMSIS-NN, and what it hands over with them.

Read at cff6f4dd and in releases since 1.0.1, not run. A model comes from PyTorch, not from ONNX: the layout of tensors
(channels last), which also decides, cannot be seen here.
"""

from __future__ import annotations

from onnxlint_cmsis.formats.format import RELEASES
from onnxlint_cmsis.ground.types import Isa, Level
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.condition_row import ConditionRow, always
from onnxlint_cmsis.runtimes.executorch.kernels import SWAPPED
from onnxlint_cmsis.runtimes.layer_facts import LayerFacts
from onnxlint_cmsis.runtimes.remark import NOT_REVIEWED

CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
PAIRS = ("ADD", "MUL")
E = "backends/cortex_m/"
PASS = f"{E}passes/aten_to_cortex_m_pass.py"
PORTABLE, EXECUTORCH_REFUSED = Outcome.REFERENCE, Outcome.REFUSED
LOWERED = (
    *CONVOLUTIONS, *PAIRS, "FULLY_CONNECTED", "TRANSPOSE_CONV", "SOFTMAX", "MAX_POOL_2D", "AVERAGE_POOL_2D",
    "MAXIMUM", "MINIMUM", "TRANSPOSE", "PAD", "BATCH_MATMUL", "MEAN",
)  # fmt: skip
"""Operators that the backend has a function of CMSIS-NN for; MEAN where it is global."""
TABLES = ("LOGISTIC", "TANH", "GELU")
"""Curves that it computes by a table."""
SINCE_1_1, SINCE_1_2, SINCE_1_3, SINCE_1_4, SINCE_CFF6F4DD, SINCE_1_5 = (
    RELEASES[name] for name in ("1.1.0", "1.2.0", "1.3.0", "1.4.0", "cff6f4dd", "1.5.1")
)
NOT_YET = "{op} is not lowered in this release and stays in portable float"
UNCLAMPED = ("MUL", "AVERAGE_POOL_2D", "BATCH_MATMUL")
"""Operators into which no release fuses a Relu or Clip; before 1.3 none is fused into sums and max pools either."""
MORE_TABLES = ("LOG", "SQRT", "RSQRT")
"""Curves that it computes by a table since 1.5."""


def _other_broadcast(facts: LayerFacts) -> bool:
    """A broadcast that is not one value for each channel."""
    if not facts.broadcasts:
        return False
    channels = [shape[1:2] for shape in facts.shapes[:2] if shape and len(shape) == 4 and shape[2:] == (1, 1)]
    return len(channels) != 1


def _refines(facts: LayerFacts) -> bool:
    node = facts.node
    padded, dilated = any(node.ints("output_padding")), any(step != 1 for step in node.ints("dilations"))
    return padded or dilated or node.int("group", 1) != 1


def _counts_its_padding(facts: LayerFacts) -> bool:
    return bool(facts.node.int("count_include_pad")) and any(facts.node.ints("pads"))


NULL_POINTER = "its kernel hands a null pointer over as scratch, and arm_avgpool_s8 returns an error for want of one"

EXECUTORCH_ROWS = (
    ConditionRow(
        "kernel", Outcome.WRONG, ("ADD",), always,
        SWAPPED, f"{E}ops/op_quantized_add.cpp:88-104 (v1.0.1)", until=SINCE_1_1,
    ),
    ConditionRow(
        "no-function", PORTABLE, (), lambda facts: facts.op != "ADD",
        NOT_YET, f"{E}passes/quantized_op_fusion_pass.py", until=SINCE_1_1,
    ),
    ConditionRow(
        "no-function", PORTABLE, ("MAX_POOL_2D", "TRANSPOSE_CONV", "PAD", "BATCH_MATMUL", "MEAN"), always,
        NOT_YET, f"{E}ops/operators.yaml", until=SINCE_1_2,
    ),
    ConditionRow(
        "no-function", PORTABLE, TABLES, always, NOT_YET, f"{E}quantizer/quantizer_support.py", until=SINCE_1_4,
    ),
    ConditionRow(
        "no-function", PORTABLE, ("GELU",), always,
        NOT_YET, f"{E}quantizer/quantizer_support.py", until=SINCE_CFF6F4DD,
    ),
    ConditionRow(
        "rank", PORTABLE, (*CONVOLUTIONS, "TRANSPOSE_CONV"), lambda facts: facts.rank == 3,
        "one-dimensional convolutions are not lowered by default and stay in portable float",
        f"{E}quantizer/quantizer_support.py:61-83",
    ),
    ConditionRow(
        "activation-type", PORTABLE, (*LOWERED, *TABLES), lambda facts: facts.type in ("s16", "s4"),
        "int8 activations with int8 weights alone are lowered",
        "docs/source/backends/arm-cortex-m/arm-cortex-m-overview.md",
    ),
    ConditionRow(
        "kernel", Outcome.WRONG, ("PAD",), lambda facts: facts.rank == 4,
        "sizes and amounts are handed over in PyTorch's order, and an image whose channels lie last is padded along "
        "other axes", f"{E}ops/op_pad.cpp:58-61 (v1.2.0)", SINCE_1_2, SINCE_1_3, sure=False,
    ),
    ConditionRow(
        "no-function", PORTABLE, ("AVERAGE_POOL_2D",), lambda facts: bool(facts.node.int("ceil_mode")),
        "an average pool that rounds up is not lowered in this release", f"{E}passes/aten_to_cortex_m_pass.py",
        until=SINCE_CFF6F4DD,
    ),
    ConditionRow(
        "no-function", PORTABLE, ("AVERAGE_POOL_2D",), _counts_its_padding,
        "an average pool that counts its padding along is not quantized in this release",
        f"{E}quantizer/pattern_checkers.py:294-295 (v1.2.0)", SINCE_1_1, SINCE_1_3,
    ),
    ConditionRow(
        "buffer", EXECUTORCH_REFUSED, ("AVERAGE_POOL_2D",), lambda facts: bool(facts.node.int("count_include_pad")),
        f"{NULL_POINTER} (with PyTorch's count_include_pad=True it stays in float in this release, and runs)",
        f"{E}ops/op_quantized_avg_pool2d.cpp:54 (v1.2.0)", SINCE_1_1, SINCE_1_3, isas=(Isa.DSP,), seen=True,
    ),
    ConditionRow(
        "buffer", EXECUTORCH_REFUSED, ("AVERAGE_POOL_2D", "MEAN"), always,
        NULL_POINTER, f"{E}ops/op_quantized_avg_pool2d.cpp:48 (v1.3.1)", SINCE_1_1, SINCE_1_4, isas=(Isa.DSP,),
        seen=True,
    ),
    ConditionRow(
        "lost-bias", Outcome.WRONG, ("FULLY_CONNECTED",),
        lambda facts: facts.call is not None and facts.call.bias,
        "the exporter adds its bias to the kernel sums alone, which only MVE reads: the result lacks the bias",
        f"{E}passes/convert_to_cortex_m_pass.py:115-135 (v1.3.1)", SINCE_1_1, SINCE_1_4,
        isas=(Isa.SCALAR, Isa.DSP),
    ),
    ConditionRow(
        "", Outcome.CMSIS_NN, ("DEPTHWISE_CONV_2D",), lambda facts: facts.batch > 1,
        "a depthwise convolution of a batch is handed over as a grouped one", f"{PASS}:506-524",
    ),
    ConditionRow(
        "broadcast", PORTABLE, PAIRS, _other_broadcast,
        "equal shapes and one value for each channel alone are lowered", f"{PASS}:27-43",
    ),
    ConditionRow(
        "weight-zero-point", EXECUTORCH_REFUSED, ("FULLY_CONNECTED",), lambda facts: facts.weight_zero_point,
        "its weights have a zero-point; lowering raises NotImplementedError", f"{PASS}:386-390",
    ),
    ConditionRow(
        "weight-scales", PORTABLE, ("FULLY_CONNECTED",), lambda facts: facts.several_weight_scales,
        "its weights have a scale for each output; dense layers are lowered per tensor",
        f"{PASS}:386-425", level=Level.WARNING, sure=False,
    ),
    ConditionRow(
        "attribute", PORTABLE, ("TRANSPOSE_CONV",), _refines,
        "output padding, groups and dilation of a transpose convolution are not lowered",
        f"{E}quantizer/pattern_checkers.py:216-250",
    ),
    ConditionRow(
        "attribute", PORTABLE, ("MAX_POOL_2D",),
        lambda facts: bool(facts.node.int("ceil_mode")) or any(step != 1 for step in facts.node.ints("dilations")),
        "a max pool with dilation or ceil_mode is not lowered", f"{PASS}:1080-1100",
    ),
    ConditionRow(
        "no-function", PORTABLE, ("ADD", *UNCLAMPED), lambda facts: facts.clamped,
        "a Relu or Clip behind it is not fused in this release and stays in portable float",
        f"{E}passes/activation_fusion_pass.py", until=SINCE_1_2, behind=True,
    ),
    ConditionRow(
        "kernel", Outcome.WRONG, ("ADD", "MAX_POOL_2D", *UNCLAMPED), lambda facts: facts.clamped,
        "a Relu or Clip behind it is not fused in this release, and portable code clamps integers as if their "
        "zero-point were 0", f"{E}test/misc/test_portable_int8.py", SINCE_1_2, SINCE_1_3, sure=False, behind=True,
    ),
    ConditionRow(
        "no-function", PORTABLE, UNCLAMPED, lambda facts: facts.clamped,
        "a Relu or Clip behind it is not fused, and portable code clamps its integers",
        f"{E}passes/activation_fusion_pass.py:48-54", SINCE_1_3, behind=True,
    ),
    ConditionRow(
        "", Outcome.CMSIS_NN, PAIRS, lambda facts: facts.broadcasts,
        "one value for each channel is handed over", f"{PASS}:27-43",
    ),
    ConditionRow(
        "rank", EXECUTORCH_REFUSED, ("TRANSPOSE",), lambda facts: facts.rank > 4,
        "it is lowered at any rank, and the kernel refuses more than four dimensions when the program is loaded",
        f"{E}ops/op_transpose.cpp:43",
    ),
    ConditionRow(
        "rank", PORTABLE, ("PAD",), lambda facts: facts.rank > 4,
        "pads of one to four dimensions alone are lowered", f"{PASS}:1184",
    ),
    ConditionRow(
        "rank", PORTABLE, ("BATCH_MATMUL",), lambda facts: facts.rank != 3,
        "products of three dimensions alone are lowered", f"{PASS}:322-336",
    ),
    ConditionRow(
        "no-function", PORTABLE, TABLES, always, "{op} is computed by a table",
        f"{PASS}:304-346", level=Level.NOTE,
    ),
    ConditionRow(
        "no-function", PORTABLE, MORE_TABLES, always, "{op} is computed by a table",
        f"{PASS}:314-350", SINCE_1_5, level=Level.NOTE,
    ),
    ConditionRow(
        NOT_REVIEWED, Outcome.UNDECIDED, ("SUB",), lambda facts: not _other_broadcast(facts),
        "{op} is handed over as an addition, whose cost is not predicted here", f"{PASS}:949-1040", SINCE_1_5,
        level=Level.NOTE,
    ),
    ConditionRow(
        "no-function", PORTABLE, (), lambda facts: facts.op not in LOWERED,
        "{op} is not lowered and stays in portable float",
        "docs/source/backends/arm-cortex-m/arm-cortex-m-overview.md",
    ),
)  # fmt: skip
"""Conditions in the order in which they are asked; the first that holds decides."""
