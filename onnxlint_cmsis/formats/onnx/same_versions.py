"""Versions of operators that mean the same."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.formats.onnx.signatures import schema

SAME_MEANING: Mapping[str, tuple[tuple[int, ...], ...]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("Abs", "Ceil", "Exp", "Floor", "Log", "Neg", "Reciprocal", "Sigmoid", "Sqrt", "Tanh", "Tile"), ((6, 13),)
        ),
        **dict.fromkeys(("Cos", "Sin", "Tan", "Acos", "Asin", "Atan"), ((7, 22),)),
        **dict.fromkeys(("Acosh", "Asinh", "Atanh", "Cosh", "Sinh"), ((9, 22),)),
        **dict.fromkeys(("Elu", "HardSigmoid", "InstanceNormalization", "Selu"), ((6, 22),)),
        **dict.fromkeys(("Softplus", "Softsign", "GlobalAveragePool", "GlobalMaxPool", "LpNormalization"), ((1, 22),)),
        **dict.fromkeys(("Erf", "Sign", "NonZero", "MeanVarianceNormalization"), ((9, 13),)),
        **dict.fromkeys(("Add", "Sub", "Mul", "Div"), ((7, 13, 14),)),
        **dict.fromkeys(("Max", "Min"), ((8, 12, 13),)),
        **dict.fromkeys(("Sum", "Mean"), ((8, 13),)),
        **dict.fromkeys(("Greater", "Less"), ((7, 9, 13),)),
        **dict.fromkeys(("GreaterOrEqual", "LessOrEqual"), ((12, 16),)),
        **dict.fromkeys(("Conv", "ConvTranspose"), ((1, 11, 22),)),
        **dict.fromkeys(("GRU", "LSTM", "RNN"), ((7, 14, 22),)),
        **dict.fromkeys(("Hardmax", "LogSoftmax", "Softmax"), ((1, 11),)),
        **dict.fromkeys(
            ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceProd", "ReduceSumSquare"),
            ((1, 11, 13),),
        ),
        **dict.fromkeys(("ReduceMax", "ReduceMin"), ((1, 11, 12, 13), (18, 20))),
        **dict.fromkeys(("ScatterElements", "ScatterND"), ((11, 13, 16, 18),)),
        **dict.fromkeys(("Squeeze", "Unsqueeze"), ((1, 11), (13, 21, 23, 24, 25))),
        **dict.fromkeys(("ArgMax", "ArgMin"), ((1, 11, 12, 13),)),
        "BatchNormalization": ((9, 14, 15),),
        "Cast": ((6, 9, 13, 19, 21, 23, 24, 25, 28),),
        "Celu": ((12, 28),),
        "Concat": ((4, 11, 13),),
        "CumSum": ((11, 14),),
        "DepthToSpace": ((11, 13, 28),),
        "DequantizeLinear": ((10, 13, 19, 21), (23, 24, 25, 28)),
        "Dropout": ((7, 10), (12, 13, 22)),
        "Equal": ((7, 11, 13, 19),),
        "Expand": ((8, 13),),
        "Flatten": ((1, 9, 11, 13, 21, 23, 24, 25),),
        "Gather": ((1, 11, 13),),
        "GatherElements": ((11, 13),),
        "GatherND": ((11, 12, 13),),
        "Gemm": ((7, 9, 11, 13),),
        "HardSwish": ((14, 22),),
        "Identity": ((1, 13, 14, 16, 19, 21, 23, 24, 25),),
        "IsNaN": ((9, 13, 20),),
        "LRN": ((1, 13),),
        "LpPool": ((2, 11, 18, 22),),
        "LeakyRelu": ((6, 16),),
        "MatMul": ((1, 9, 13),),
        "MaxPool": ((8, 10, 11, 12),),
        "AveragePool": ((7, 10, 11),),
        "Mish": ((18, 22),),
        "Mod": ((10, 13, 28),),
        "OneHot": ((11, 28),),
        "PRelu": ((7, 9, 16),),
        "Pad": ((11, 13, 18, 19, 21, 23, 24, 25),),
        "Pow": ((7, 12, 13, 15),),
        "QLinearMatMul": ((10, 21),),
        "QuantizeLinear": ((10, 13, 19, 21), (23, 24, 25, 28)),
        "ReduceSum": ((1, 11),),
        "Relu": ((6, 13, 14),),
        "Reshape": ((5, 13, 14, 19, 21, 23, 24, 25),),
        "Resize": ((11, 13, 18, 19),),
        "Round": ((11, 22),),
        "Shape": ((1, 13, 15, 19, 21, 23, 24, 25),),
        "Size": ((1, 13, 19, 21, 23, 24, 25),),
        "Slice": ((10, 11, 13),),
        "SpaceToDepth": ((1, 13, 28),),
        "Split": ((2, 11), (13, 18)),
        "ThresholdedRelu": ((10, 22),),
        "TopK": ((11, 24),),
        "Transpose": ((1, 13, 21, 23, 24, 25),),
        "Where": ((9, 16),),
    }
)
"""Versions of ONNX's operators that differ in the types they allow, their words, or further options.

They mean the same where both allow what a node says. Source: onnx/docs/Changelog.md.
"""


def since(domain: str, op_type: str, opset: int) -> int:
    """The version by which an operator means what it does: the first of those that mean the same.

    The number of the operator set itself where the installed onnx does not know it.
    """
    told = schema(domain, op_type, opset)
    if told is None:
        return opset
    version = int(told.since_version)
    alike = SAME_MEANING.get(op_type, ()) if not domain else ()
    return next((versions[0] for versions in alike if version in versions), version)
