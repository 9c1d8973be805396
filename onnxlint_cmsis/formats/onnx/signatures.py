"""What an operator set says of an operator's results: their element types, and since which version it means what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.tensors import elem_name
from onnxlint_cmsis.operators.pact import DEFAULT, PACT
from onnxlint_cmsis.operators.record import MICROSOFT

if TYPE_CHECKING:
    from onnx.defs import OpSchema

    from onnxlint_cmsis.model.graph import Attribute


# Types that no schema tells, since an attribute does, or an input that may be left out.


Given = Sequence["str | None"]
"""Element types of the inputs: empty for one that is not known, None for an input that is left out."""
TypeRule = Callable[[Mapping[str, "Attribute"], Given], str]
"""Element type of the only result, empty where it is not known."""


def _of(*positions: int, default: str = "") -> TypeRule:
    """The type of the first of some inputs that is not left out."""

    def rule(_attributes: Mapping[str, Attribute], given: Given) -> str:
        types = [given[position] for position in positions if position < len(given)]
        return next((name for name in types if name is not None), default)

    return rule


def _named(attribute: str, otherwise: TypeRule) -> TypeRule:
    """The type that an attribute names by its number; 0 names none."""

    def rule(attributes: Mapping[str, Attribute], given: Given) -> str:
        number = attributes.get(attribute, 0)
        named = elem_name(number) if isinstance(number, int) else ""
        return named if number else otherwise(attributes, given)

    return rule


def _quantized(attributes: Mapping[str, Attribute], given: Given) -> str:
    """The zero-point's type or that of `output_dtype`, which have to agree, else uint8."""
    stated = _named("output_dtype", _of())(attributes, given)
    zero = _of(2)(attributes, given)
    return "" if stated and zero and stated != zero else stated or zero or "uint8"


UNTOLD = _of()
TYPES: Mapping[tuple[str, str], TypeRule] = MappingProxyType(
    {
        ("", "Cast"): _named("to", UNTOLD),
        ("", "BitCast"): _named("to", UNTOLD),
        ("", "EyeLike"): _named("dtype", _of(0)),
        ("", "QuantizeLinear"): _quantized,
        ("", "DequantizeLinear"): _named("output_dtype", _of(1)),
        **{(operator.domain, operator.name): _of(0) for operator in (*DEFAULT, *PACT)},
        (MICROSOFT, "QuantizeLinear"): _of(2, default="uint8"),
        (MICROSOFT, "DequantizeLinear"): _of(1),
        (MICROSOFT, "QLinearConv"): _of(7),
        (MICROSOFT, "QGemm"): _of(8, default="float32"),
        (MICROSOFT, "MatMulInteger16"): lambda _attributes, _given: "int32",
        (MICROSOFT, "MatMulIntegerToFloat"): _of(2),
        (MICROSOFT, "QLinearConcat"): _of(1),
        (MICROSOFT, "QLinearWhere"): _of(1),
        **{
            (MICROSOFT, name): _of(0)
            for name in (
                *("FusedConv", "FusedGemm", "FusedMatMul", "DynamicQuantizeMatMul", "QLinearAdd", "QLinearMul"),
                *("QLinearLeakyRelu", "QLinearSigmoid", "QLinearAveragePool", "QLinearGlobalAveragePool"),
                *("QLinearSoftmax", "QLinearReduceMean", "Gelu", "QuickGelu", "BiasGelu", "FastGelu"),
            )
        },
    }
)
"""Type of the result, by domain and operator.

Sources: onnx/docs/Operators.md; ContribOperators.md of ONNX Runtime; for QGemm without the zero-point of its result
`QGemm::Compute` (contrib_ops/cpu/quantization/quant_gemm.cc).
"""


@lru_cache(maxsize=1024)
def schema(domain: str, op_type: str, opset: int) -> OpSchema | None:
    """What an operator set says of an operator; None for an operator or a set that the installed onnx lacks."""
    from onnx import defs

    _, last = defs.C.schema_version_map().get(domain, (0, 0))
    if not 0 < opset <= last:
        return None
    try:
        return defs.get_schema(op_type, opset, domain)
    except defs.SchemaError:
        return None


def result_types(
    operator: tuple[str, str], opset: int, attributes: Mapping[str, Attribute], given: Given, count: int
) -> list[str]:
    """Element types of `count` results of an operator, by domain and name; an empty one is not known.

    Nothing is known of an operator with an attribute that its operator set does not have.
    """
    rule, told = TYPES.get(operator), schema(*operator, opset)
    if told is not None and not {*attributes} <= {*told.attributes}:
        return [""] * count
    if rule is not None and (told is not None or operator[0] or operator[1] in {row.name for row in DEFAULT}):
        fixed = told.outputs[0].types if told is not None else ()
        return [_only(fixed) or rule(attributes, given), *[""] * (count - 1)]
    return [""] * count if told is None else [_by_schema(told, given, position) for position in range(count)]


def _by_schema(told: OpSchema, given: Given, position: int) -> str:
    """The one type that a schema allows for a result, or that of the inputs that have to have the same."""
    formal = told.outputs[min(position, len(told.outputs) - 1)]
    takes = [parameter.type_str for parameter in told.inputs]
    more = takes[-1:] * (len(given) - len(takes))  # the last one may stand for many
    pairs = zip(given, (*takes, *more), strict=False)
    same = {name for name, wanted in pairs if name is not None and wanted == formal.type_str}
    return _only(formal.types) or (same.pop() if len(same) == 1 else "")


def _only(types: set[str] | Sequence[str]) -> str:
    """The element type of a set of one; empty for another set."""
    if len(types) != 1:
        return ""
    name = next(iter(types)).removeprefix("tensor(").removesuffix(")")
    return {"float": "float32", "double": "float64"}.get(name, name)


# Versions of operators that mean the same.


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
