"""ExecuTorch's cortex_m backend: which layers it hands to CMSIS-NN.

Read at cff6f4dd, not run. E is backends/cortex_m/. A model comes from PyTorch, not from ONNX: the layout of tensors
(channels last), which also decides, cannot be seen here.
"""

from __future__ import annotations

from onnxlint_cmsis.runtimes.condition_rows import ConditionRow, always
from onnxlint_cmsis.runtimes.layer_facts import LayerFacts
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict
from onnxlint_cmsis.types import Level

E = "backends/cortex_m/"
PASS = f"{E}passes/aten_to_cortex_m_pass.py"
REFERENCE, REFUSED = RuntimeVerdict.REFERENCE, RuntimeVerdict.REFUSED
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
PAIRS = ("ADD", "MUL")
LOWERED = (
    *CONVOLUTIONS, *PAIRS, "FULLY_CONNECTED", "TRANSPOSE_CONV", "SOFTMAX", "MAX_POOL_2D", "AVERAGE_POOL_2D",
    "MAXIMUM", "MINIMUM", "TRANSPOSE", "PAD", "BATCH_MATMUL", "MEAN",
)  # fmt: skip
"""Operators that the backend has a function of CMSIS-NN for; MEAN where it is global."""
TABLES = ("LOGISTIC", "TANH", "GELU")
"""Curves that it computes by a table."""


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


ROWS = (
    ConditionRow(
        "runtime-reference", REFERENCE, (*CONVOLUTIONS, "TRANSPOSE_CONV"), lambda facts: facts.rank == 3,
        "one-dimensional convolutions are not lowered by default and stay in portable float",
        f"{E}quantizer/quantizer_support.py:61-83",
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, (*LOWERED, *TABLES), lambda facts: facts.type in ("s16", "s4"),
        "int8 activations with int8 weights alone are lowered",
        "docs/source/backends/arm-cortex-m/arm-cortex-m-overview.md",
    ),
    ConditionRow(
        "runtime-batch", RuntimeVerdict.CMSIS_NN, ("DEPTHWISE_CONV_2D",), lambda facts: facts.batch > 1,
        "a depthwise convolution of a batch is handed over as a grouped one", f"{PASS}:506-524", level=Level.NOTE,
    ),
    ConditionRow(
        "runtime-broadcast", REFERENCE, PAIRS, _other_broadcast,
        "equal shapes and one value for each channel alone are lowered", f"{PASS}:27-43",
    ),
    ConditionRow(
        "", RuntimeVerdict.CMSIS_NN, PAIRS, lambda facts: facts.broadcasts,
        "one value for each channel is handed over", f"{PASS}:27-43",
    ),
    ConditionRow(
        "runtime-stops", REFUSED, ("FULLY_CONNECTED",), lambda facts: facts.weight_zero_point,
        "its weights have a zero-point; lowering raises NotImplementedError", f"{PASS}:386-390",
    ),
    ConditionRow(
        "runtime-per-channel-dense", REFERENCE, ("FULLY_CONNECTED",), lambda facts: facts.several_weight_scales,
        "its weights have a scale for each output; dense layers are lowered per tensor",
        f"{PASS}:386-425", level=Level.WARNING, sure=False,
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, ("TRANSPOSE_CONV",), _refines,
        "output padding, groups and dilation of a transpose convolution are not lowered",
        f"{E}quantizer/pattern_checkers.py:216-250",
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, ("MAX_POOL_2D",),
        lambda facts: bool(facts.node.int("ceil_mode")) or any(step != 1 for step in facts.node.ints("dilations")),
        "a max pool with dilation or ceil_mode is not lowered", f"{PASS}:1080-1100",
    ),
    ConditionRow(
        "runtime-rank", REFUSED, ("TRANSPOSE",), lambda facts: facts.rank > 4,
        "it is lowered at any rank, and the kernel refuses more than four dimensions when the program is loaded",
        f"{E}ops/op_transpose.cpp:43",
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, ("PAD",), lambda facts: facts.rank > 4,
        "pads of one to four dimensions alone are lowered", f"{PASS}:1184",
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, ("BATCH_MATMUL",), lambda facts: facts.rank != 3,
        "products of three dimensions alone are lowered", f"{PASS}:322-336",
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, TABLES, always, "{op} is computed by a table",
        f"{PASS}:304-346", level=Level.NOTE,
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, (), lambda facts: facts.op not in LOWERED,
        "{op} is not lowered and stays in portable float",
        "docs/source/backends/arm-cortex-m/arm-cortex-m-overview.md",
    ),
)  # fmt: skip
"""Conditions in the order in which they are asked; the first that holds decides."""
