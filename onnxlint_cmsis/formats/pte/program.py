"""A `.pte` file as plain data: its methods, their values and steps, read and checked."""

from __future__ import annotations

from os import PathLike

from onnxlint_cmsis.formats.flatbuffer import Span, Table, root_of
from onnxlint_cmsis.formats.onnx.opening import open_buffer
from onnxlint_cmsis.formats.onnx.wire import Buffer
from onnxlint_cmsis.formats.pte.bundle import BUNDLE, cases_of
from onnxlint_cmsis.formats.pte.constant_bytes import ConstantBytes
from onnxlint_cmsis.formats.pte.fields import SCALAR_VALUES, SCHEMA
from onnxlint_cmsis.formats.pte.index_checks import check_indices, check_sizes
from onnxlint_cmsis.formats.pte.program_records import (
    Method,
    Program,
    PteTensor,
    Step,
    Value,
    ValueList,
)


def _method(plan: Table, constants: ConstantBytes) -> Method:
    name = plan.text("name")
    values = tuple(
        _value(value, constants, f"value {number} of method '{name}'")
        for number, value in enumerate(plan.tables("values"))
    )
    operators = [_operator_name(operator) for operator in plan.tables("operators")]
    delegates = [delegate.text("id") for delegate in plan.tables("delegates")]
    chains = [chain.tables("instructions") for chain in plan.tables("chains")]
    steps = [
        _step(instruction, operators, delegates, f"instruction {number} of method '{name}'")
        for instructions in chains
        for number, instruction in enumerate(instructions)
    ]
    method = Method(
        name, values, plan.ints("inputs"), plan.ints("outputs"), tuple(steps), plan.ints("non_const_buffer_sizes"),
        tuple(map(len, chains)), tuple(delegates),
    )  # fmt: skip
    check_indices(method, plan.file)
    return method


def _operator_name(operator: Table) -> str:
    name, overload = operator.text("name"), operator.text("overload")
    return f"{name}.{overload}" if overload else name


def _value(value: Table, constants: ConstantBytes, where: str) -> Value:
    kind, table = value.union("val"), value.table("val")
    if kind == "Null":
        return None
    if table is None:
        raise SCHEMA.damaged(f"{where} has type {kind}, which is not known")
    if kind == "Tensor":
        return _tensor(table, constants, where)
    if kind in SCALAR_VALUES:
        number = table.value(SCALAR_VALUES[kind])
        return number if isinstance(number, (bool, int, float, str)) else None
    if kind in ("IntList", "TensorList", "OptionalTensorList"):
        return ValueList(table.ints("items"), kind)
    if kind == "DoubleList":
        return table.floats("items")
    return table.ints("items")


def _tensor(table: Table, constants: ConstantBytes, where: str) -> PteTensor:
    sizes, order = table.ints("sizes"), table.ints("dim_order")
    check_sizes(where, sizes, order)
    extra, planned = table.table("extra_tensor_info"), table.table("allocation_info")
    external = extra.text("fully_qualified_name") if extra and extra.text("location") == "EXTERNAL" else ""
    offset = planned.number("memory_offset_low") + (planned.number("memory_offset_high") << 32) if planned else 0
    tensor = PteTensor(
        table.text("scalar_type"), sizes, order, None, external, planned.number("memory_id") if planned else 0,
        offset, table.text("shape_dynamism") != "STATIC", table.text("shape_dynamism") == "DYNAMIC_UNBOUND",
    )  # fmt: skip
    stored = table.number("data_buffer_idx")
    if not stored or planned or external:
        return tensor
    return tensor._replace(data=constants.span(stored, tensor.bytes, where))


def _step(instruction: Table, operators: list[str], delegates: list[str], where: str) -> Step:
    kind, table = instruction.union("instr_args"), instruction.table("instr_args")
    if table is None:
        raise SCHEMA.damaged(f"{where} has type {kind}, which is not known")
    if kind == "KernelCall":
        number = table.number("op_index")
        SCHEMA.check_indices(where, "operator", (number,), len(operators))
        return Step(kind, operators[number], table.ints("args"), table.span)
    if kind == "DelegateCall":
        number = table.number("delegate_index")
        SCHEMA.check_indices(where, "delegate", (number,), len(delegates))
        return Step(kind, delegates[number], table.ints("args"), table.span)
    if kind == "MoveCall":
        return Step(kind, "", (table.number("move_from"), table.number("move_to")), table.span)
    field = "cond_value_index" if kind == "JumpFalseCall" else "value_index"
    return Step(kind, "", (table.number(field),), table.span)


def read_program(path: str | PathLike[str], data: Buffer | None = None) -> Program:
    """Read a file, or `data` in its place (`path` is then its name); weights are not read.

    Raises ModelError with kind `unreadable`, `lfs-pointer` or `not-a-model`.
    """
    name = str(path)
    whole = open_buffer(name) if data is None else data
    bundle = root_of(BUNDLE, whole) if whole[4:8] == BUNDLE.identifier else None
    inner = bundle.bytes_of("program") if bundle else Span(0, 0)
    root = root_of(SCHEMA, bytes(whole[inner.offset : inner.offset + inner.length]) if bundle else whole)
    plans = root.tables("execution_plan")
    if not plans:
        raise SCHEMA.damaged("it has no method")
    constants = ConstantBytes(root)
    methods = tuple(_method(plan, constants) for plan in plans)
    names = [method.name for method in methods]
    if twice := next((text for text in names if names.count(text) > 1), None):
        raise SCHEMA.damaged(f"it has several methods with the name '{twice}'")
    return Program(name, methods, root.file.data, inner.offset, cases_of(bundle) if bundle else ())
