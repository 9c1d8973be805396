"""A `.pte` file as plain data: methods, the values that they use and their steps, with every index checked."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cached_property
from math import prod
from os import PathLike

from onnxlint_cmsis.formats.flatbuffer import FlatFile, Span, Table, root_of
from onnxlint_cmsis.formats.flatbuffer_schema import NUMBERS, Schema
from onnxlint_cmsis.formats.onnx.opening import open_buffer
from onnxlint_cmsis.formats.onnx.wire import Buffer
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import MAX_AXES, MAX_DIM
from onnxlint_cmsis.model.graph import MAX_VALUES, Number

# Names and fields of the file. Source: executorch cff6f4dd (1.5.1 is the same), schema/program.fbs and scalar_type.fbs.


UNIONS: dict[str, tuple[str, ...]] = {
    "KernelTypes": (
        "NONE", "Null", "Int", "Bool", "Double", "Tensor", "String", "IntList", "DoubleList", "BoolList", "TensorList",
        "OptionalTensorList",
    ),
    "InstructionArguments": ("NONE", "KernelCall", "DelegateCall", "MoveCall", "JumpFalseCall", "FreeCall"),
}  # fmt: skip
"""Tables that a union may hold, each at its number."""

ENUMS: dict[str, tuple[str, ...]] = {
    "ScalarType": (
        "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
        "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16", "quint4x2", "quint2x4", "bits1x8", "bits2x4",
        "bits4x2", "bits8", "bits16", "float8e5m2", "float8e4m3fn", "float8e5m2fnuz", "float8e4m3fnuz", "uint16",
        "uint32", "uint64",
    ),
    "TensorShapeDynamism": ("STATIC", "DYNAMIC_BOUND", "DYNAMIC_UNBOUND"),
    "TensorDataLocation": ("SEGMENT", "EXTERNAL"),
    "DataLocation": ("INLINE", "SEGMENT"),
}  # fmt: skip
"""Enumerations; a ScalarType by the name of numpy where there is one (BYTE is uint8, CHAR int8)."""

TABLES: dict[str, str] = {
    "AllocationDetails": "memory_id:uint memory_offset_low:uint memory_offset_high:uint",
    "ExtraTensorInfo": """
        mutable_data_segments_idx:ulong fully_qualified_name:string location:TensorDataLocation device_type:byte
        device_index:byte
    """,
    "Null": "",
    "Int": "int_val:long",
    "Bool": "bool_val:bool",
    "Double": "double_val:double",
    "Tensor": """
        scalar_type:ScalarType storage_offset:int sizes:[int] dim_order:[ubyte] requires_grad:bool data_buffer_idx:uint
        allocation_info:AllocationDetails layout:byte shape_dynamism:TensorShapeDynamism
        extra_tensor_info:ExtraTensorInfo
    """,
    "String": "string_val:string",
    "IntList": "items:[long]",
    "DoubleList": "items:[double]",
    "BoolList": "items:[bool]",
    "TensorList": "items:[int]",
    "OptionalTensorList": "items:[int]",
    "EValue": "val:KernelTypes",
    "Operator": "name:string overload:string",
    "KernelCall": "op_index:int args:[int]",
    "DelegateCall": "delegate_index:int args:[int]",
    "MoveCall": "move_from:int move_to:int",
    "JumpFalseCall": "cond_value_index:int destination_instruction:int",
    "FreeCall": "value_index:int",
    "Instruction": "instr_args:InstructionArguments",
    "BackendDelegateDataReference": "location:DataLocation index:uint",
    "CompileSpec": "key:string value:[ubyte]",
    "BackendDelegate": "id:string processed:BackendDelegateDataReference compile_specs:[CompileSpec]",
    "Chain": "inputs:[int] outputs:[int] instructions:[Instruction] stacktrace:[FrameList]",
    "ContainerMetadata": "encoded_inp_str:string encoded_out_str:string",
    "ExecutionPlan": """
        name:string container_meta_type:ContainerMetadata values:[EValue] inputs:[int] outputs:[int] chains:[Chain]
        operators:[Operator] delegates:[BackendDelegate] non_const_buffer_sizes:[long]
    """,
    "Buffer": "storage:[ubyte]",
    "BackendDelegateInlineData": "data:[ubyte]",
    "DataSegment": "offset:ulong size:ulong",
    "SubsegmentOffsets": "segment_index:uint offsets:[ulong]",
    "NamedData": "key:string segment_index:uint",
    "Program": """
        version:uint execution_plan:[ExecutionPlan] constant_buffer:[Buffer]
        backend_delegate_data:[BackendDelegateInlineData] segments:[DataSegment] constant_segment:SubsegmentOffsets
        mutable_data_segments:[SubsegmentOffsets] named_data:[NamedData]
    """,
}
"""Every table that is read."""

SCALARS = {
    **NUMBERS,
    **dict.fromkeys(("ScalarType", "TensorShapeDynamism", "TensorDataLocation", "DataLocation"), ("b", 1)),
}
"""Letter of `struct` and bytes of each type that is a number."""

SCHEMA = Schema("an ExecuTorch program", b"ET12", "Program", TABLES, ENUMS, UNIONS, SCALARS)


# What a program says, with every index checked.


LETTERS = {
    "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float16": "e", "float32": "f",
    "float64": "d", "bool": "?", "uint16": "H", "uint32": "I", "uint64": "Q", "bfloat16": "H",
}  # fmt: skip
"""Letter of `struct` for element types of whole bytes; bfloat16 by its bits."""


class PteTensor(NamedTuple):
    """One tensor among the values of a method."""

    elem_type: str
    """Element type by numpy's name."""
    sizes: tuple[int, ...]
    """Sizes in PyTorch's order: NCHW for an image. The largest ones where `dynamic` is."""
    order: tuple[int, ...]
    """Axes from the slowest to the fastest in memory: (0, 2, 3, 1) for an image with its channels last."""
    data: Span | None
    """Where the values of a constant lie; None for a tensor that is computed, and for values outside the file."""
    external: str
    """Key of constant values in another file; empty where there is none."""
    pool: int
    """Planned buffer that it lies in, from 1; 0 for what is not planned, such as an input that the caller lays."""
    offset: int
    """First byte there."""
    dynamic: bool
    """Whether its sizes are decided when it runs."""

    @property
    def constant(self) -> bool:
        """Whether its values are fixed."""
        return self.data is not None or bool(self.external)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes in the order of memory."""
        return tuple(self.sizes[axis] for axis in self.order)

    @property
    def bytes(self) -> int:
        """Bytes of its values."""
        return prod(self.sizes) * struct.calcsize(LETTERS.get(self.elem_type, "B"))


class ValueList(NamedTuple):
    """A list of numbers or tensors, by their places among the values; -1 for one that is left out."""

    items: tuple[int, ...]
    """Places."""
    kind: str
    """Table that holds it: IntList, TensorList or OptionalTensorList."""


Value = PteTensor | ValueList | int | float | bool | str | tuple[int, ...] | tuple[float, ...] | None
"""One value of a method: an argument of its steps."""


class Step(NamedTuple):
    """One instruction."""

    kind: str
    """Table of the schema: `KernelCall`, `DelegateCall`, `MoveCall`, `JumpFalseCall` or `FreeCall`."""
    name: str
    """Operator with its overload, `cortex_m::quantized_conv2d.out`, or the delegate's id; empty for the others."""
    args: tuple[int, ...]
    """Numbers of the values that it takes and writes, in order."""
    span: Span
    """Bytes of the instruction's table in the file."""


class Method(NamedTuple):
    """One entry point of a program."""

    name: str
    """Name, `forward` in most."""
    values: tuple[Value, ...]
    """All arguments of its steps."""
    inputs: tuple[int, ...]
    """Values that the caller gives."""
    outputs: tuple[int, ...]
    """Values that the caller takes."""
    steps: tuple[Step, ...]
    """Instructions in the order they run."""
    pools: tuple[int, ...]
    """Bytes of each planned buffer; number 0 is reserved."""
    chains: tuple[int, ...]
    """Number of steps of each chain."""
    delegates: tuple[str, ...]
    """Delegates that are loaded, called or not."""


class BundledTensor(NamedTuple):
    """One tensor that a bundle gives or expects."""

    elem_type: str
    """Element type by numpy's name."""
    sizes: tuple[int, ...]
    """Sizes in PyTorch's order."""
    order: tuple[int, ...]
    """Axes from the slowest to the fastest in memory."""
    data: bytes
    """Its values in the order of memory."""


class BundledCase(NamedTuple):
    """Inputs of one run of a method, and what it is expected to give."""

    method: str
    """Name of the method."""
    inputs: tuple[BundledTensor | int | float | bool, ...]
    """Its inputs in order."""
    outputs: tuple[BundledTensor | int | float | bool, ...]
    """The outputs that were computed in PyTorch, in order; none where nothing is expected."""


class Program(NamedTuple):
    """A whole file."""

    path: str
    """File as the user named it."""
    methods: tuple[Method, ...]
    """Entry points."""
    data: Buffer
    """The program, mapped; places in it count from its first byte."""
    start: int = 0
    """First byte of the program in the file: not 0 in a bundle."""
    cases: tuple[BundledCase, ...] = ()
    """What a bundle has to test the program with."""

    def bytes_of(self, tensor: PteTensor) -> bytes:
        """Bytes of a constant's values, read now; none where they are outside the file."""
        return bytes(self.data[tensor.data.offset : tensor.data.offset + tensor.data.length]) if tensor.data else b""

    def numbers_of(self, tensor: PteTensor) -> tuple[Number, ...] | None:
        """Values of a constant in the order of memory; None where they are too many to lint, or not readable."""
        count, letter = prod(tensor.sizes), LETTERS.get(tensor.elem_type)
        if tensor.data is None or letter is None or count > MAX_VALUES or tensor.elem_type == "bfloat16":
            return None
        return struct.unpack(f"<{count}{letter}", self.bytes_of(tensor))


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
    constants = _Constants(root)
    methods = tuple(_method(plan, constants) for plan in plans)
    names = [method.name for method in methods]
    if twice := next((text for text in names if names.count(text) > 1), None):
        raise SCHEMA.damaged(f"it has several methods with the name '{twice}'")
    return Program(name, methods, root.file.data, inner.offset, _cases(bundle) if bundle else ())


# A bundle: a program with inputs and expected outputs (devtools/bundled_program/schema/bundled_program_schema.fbs).


BUNDLE = Schema(
    "a bundled ExecuTorch program",
    b"BP08",
    "BundledProgram",
    {
        **{name: TABLES[name] for name in ("Int", "Bool", "Double")},
        "Tensor": "scalar_type:ScalarType sizes:[int] data:[ubyte] dim_order:[ubyte]",
        "Value": "val:ValueUnion",
        "BundledMethodTestCase": "inputs:[Value] expected_outputs:[Value]",
        "BundledMethodTestSuite": "method_name:string test_cases:[BundledMethodTestCase]",
        "BundledProgram": "version:uint method_test_suites:[BundledMethodTestSuite] program:[ubyte]",
    },
    {"ScalarType": ENUMS["ScalarType"]},
    {"ValueUnion": ("NONE", "Tensor", "Int", "Bool", "Double")},
    SCALARS,
)


def _cases(bundle: Table) -> tuple[BundledCase, ...]:
    """What a bundle gives and expects, case by case."""
    return tuple(
        BundledCase(suite.text("method_name"), *(tuple(map(_bundled, case.tables(end))) for end in ENDS))
        for suite in bundle.tables("method_test_suites")
        for case in suite.tables("test_cases")
    )


ENDS = ("inputs", "expected_outputs")
"""What a case has."""


def _bundled(value: Table) -> BundledTensor | int | float | bool:
    kind, table = value.union("val"), value.table("val")
    if table is None:
        raise BUNDLE.damaged(f"a value of a test case has type {kind}, which is not known")
    if kind != "Tensor":
        number = table.value(SCALAR_VALUES[kind])
        return number if isinstance(number, (bool, int, float)) else 0
    sizes, order, span = table.ints("sizes"), table.ints("dim_order"), table.bytes_of("data")
    _check_sizes("a tensor of a test case", sizes, order)
    elem_type = table.text("scalar_type")
    size = prod(sizes) * struct.calcsize(LETTERS.get(elem_type, "B"))
    if size != span.length:
        raise BUNDLE.damaged(f"a tensor of a test case has {span.length} bytes; its sizes and type take {size}")
    table.file.spend(size)
    return BundledTensor(elem_type, sizes, order, bytes(table.file.data[span.offset : span.offset + span.length]))


# Where the values of constants lie: in the flatbuffer, or behind it in a segment.


HEADER = b"eh00"
HEADER_AT = 8
"""First byte of the extended header, behind the identifier (schema/extended_header.h)."""
HEADER_BYTES = 24
"""Least length of it: magic, length, size of the program, where the segments begin (schema/extended_header.cpp)."""


class _Constants:
    """Places of the values of constants."""

    def __init__(self, root: Table) -> None:
        self._root, self._file = root, root.file
        self._inline = [buffer.bytes_of("storage") for buffer in root.tables("constant_buffer")]
        self._table = root.table("constant_segment")
        self._offsets = self._table.ints("offsets") if self._table else ()

    @cached_property
    def _segment(self) -> Span:
        """The segment of the constants."""
        number, segments = self._table.number("segment_index") if self._table else 0, self._root.tables("segments")
        _within("the constants", "segment", (number,), len(segments))
        size, file = segments[number].number("size"), self._file
        start = segments[number].number("offset") + self._base()
        if start + size > file.size:
            raise SCHEMA.damaged(f"segment {number} has {size} bytes at byte {start}, outside the file's {file.size}")
        return Span(start, size)

    def _base(self) -> int:
        """Where the segments begin."""
        file = self._file
        if bytes(file.data[HEADER_AT : HEADER_AT + 4]) != HEADER:
            raise SCHEMA.damaged("its constants lie in a segment, and it has no extended header that says where")
        if (length := int(file.number("I", 4, HEADER_AT + 4))) < HEADER_BYTES:
            raise SCHEMA.damaged(f"its extended header has {length} bytes; at least {HEADER_BYTES} are allowed")
        return int(file.number("Q", 8, HEADER_AT + 16))

    def place(self, number: int, size: int, where: str) -> Span:
        """Where a constant of `size` bytes lies."""
        stored = self._offsets or self._inline
        _within(where, "constant", (number,), len(stored))
        if not self._offsets:
            span = self._inline[number]
            room = span.length
        else:
            offset = self._offsets[number]
            span, room = Span(self._segment.offset + offset, size), self._segment.length - offset
        if size > room:
            raise SCHEMA.damaged(f"{where} has {size} bytes, and constant {number} has room for {max(room, 0)}")
        return Span(span.offset, size)


# Methods: values and steps.


def _method(plan: Table, constants: _Constants) -> Method:
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
    _check(method, plan.file)
    return method


def _operator_name(operator: Table) -> str:
    name, overload = operator.text("name"), operator.text("overload")
    return f"{name}.{overload}" if overload else name


SCALAR_VALUES = {"Int": "int_val", "Bool": "bool_val", "Double": "double_val", "String": "string_val"}
"""Field of each table of one number or text."""


def _value(value: Table, constants: _Constants, where: str) -> Value:
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


def _tensor(table: Table, constants: _Constants, where: str) -> PteTensor:
    sizes, order = table.ints("sizes"), table.ints("dim_order")
    _check_sizes(where, sizes, order)
    extra, planned = table.table("extra_tensor_info"), table.table("allocation_info")
    external = extra.text("fully_qualified_name") if extra and extra.text("location") == "EXTERNAL" else ""
    offset = planned.number("memory_offset_low") + (planned.number("memory_offset_high") << 32) if planned else 0
    tensor = PteTensor(
        table.text("scalar_type"), sizes, order, None, external, planned.number("memory_id") if planned else 0,
        offset, table.text("shape_dynamism") != "STATIC",
    )  # fmt: skip
    stored = table.number("data_buffer_idx")
    if not stored or planned or external:
        return tensor
    return tensor._replace(data=constants.place(stored, tensor.bytes, where))


def _check_sizes(where: str, sizes: tuple[int, ...], order: tuple[int, ...]) -> None:
    if len(sizes) > MAX_AXES:
        raise SCHEMA.damaged(f"{where} has {len(sizes)} dimensions; at most {MAX_AXES} are allowed")
    if any(not 0 <= size <= MAX_DIM for size in sizes):
        raise SCHEMA.damaged(f"{where} has sizes {list(sizes)}; a size is at least 0")
    if sorted(order) != [*range(len(sizes))]:
        raise SCHEMA.damaged(f"{where} has dim_order {list(order)} for {len(sizes)} dimensions")


def _step(instruction: Table, operators: list[str], delegates: list[str], where: str) -> Step:
    kind, table = instruction.union("instr_args"), instruction.table("instr_args")
    if table is None:
        raise SCHEMA.damaged(f"{where} has type {kind}, which is not known")
    if kind == "KernelCall":
        number = table.number("op_index")
        _within(where, "operator", (number,), len(operators))
        return Step(kind, operators[number], table.ints("args"), table.span)
    if kind == "DelegateCall":
        number = table.number("delegate_index")
        _within(where, "delegate", (number,), len(delegates))
        return Step(kind, delegates[number], table.ints("args"), table.span)
    if kind == "MoveCall":
        return Step(kind, "", (table.number("move_from"), table.number("move_to")), table.span)
    field = "cond_value_index" if kind == "JumpFalseCall" else "value_index"
    return Step(kind, "", (table.number(field),), table.span)


# Every index names something that is there, and every planned tensor lies in its buffer.


def _check(method: Method, file: FlatFile) -> None:
    count = len(method.values)
    where = f"method '{method.name}'"
    _within(where, "value", (*method.inputs, *method.outputs), count)
    for number, size in enumerate(method.pools):
        if size < 0:
            raise SCHEMA.damaged(f"planned buffer {number} of {where} has {size} bytes; at least 0 are allowed")
    for number, step in enumerate(method.steps):
        _within(f"instruction {number} ({step.name or step.kind}) of {where}", "value", step.args, count)
        lists = (value for index in step.args if isinstance(value := method.values[index], ValueList))
        file.spend(sum(len(value.items) for value in lists))
    for number, value in enumerate(method.values):
        if isinstance(value, ValueList):
            _within(f"value {number} of {where}", "value", (item for item in value.items if item != -1), count)
        elif isinstance(value, PteTensor) and value.pool:
            _within(f"value {number} of {where}", "planned buffer", (value.pool,), len(method.pools))
            end, room = value.offset + value.bytes, method.pools[value.pool]
            if end > room:
                text = f"value {number} of {where} ends at byte {end} of planned buffer {value.pool}, which has {room}"
                raise SCHEMA.damaged(text)


def _within(where: str, what: str, indices: Iterable[int], count: int) -> None:
    for index in indices:
        if not 0 <= index < count:
            raise SCHEMA.damaged(f"{where} names {what} {index}; the file has {count}, counted from 0")
