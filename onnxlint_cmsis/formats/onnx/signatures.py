"""Types that no schema tells, since an attribute does, or an input that may be left out."""

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


MORE_TYPES: Mapping[tuple[str, str], TypeRule] = MappingProxyType(
    {("", "LayerNormalization"): _named("stash_type", _of(default="float32"))}
)
"""Type of the results behind the first, where no schema tells it."""


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


@lru_cache(maxsize=1024)
def defaults(domain: str, op_type: str, opset: int) -> Mapping[str, str]:
    """What attributes are where a node does not state them, as Python writes it: -0.0 is not 0.0."""
    from onnx.helper import get_attribute_value

    told = schema(domain, op_type, opset)
    given = {} if told is None else {name: attribute.default_value for name, attribute in told.attributes.items()}
    values = {name: get_attribute_value(default) for name, default in given.items() if default.type}
    plain = {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}
    return {name: repr(tuple(value) if isinstance(value, list) else value) for name, value in plain.items()}


def stated(operator: tuple[str, str], opset: int, attributes: Mapping[str, Attribute]) -> list[tuple[str, Attribute]]:
    """Attributes of a node in order, without those that say what its operator set takes anyway."""
    usual = defaults(*operator, opset)
    return [(name, value) for name, value in sorted(attributes.items()) if usual.get(name) != repr(value)]


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
    if told is None:
        return [""] * count
    first, *more = [_by_schema(told, given, position) for position in range(count)]
    behind = MORE_TYPES.get(operator)
    return [first, *(more if behind is None else [behind(attributes, given)] * len(more))]


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
