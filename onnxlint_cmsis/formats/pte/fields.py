"""Names and fields of a `.pte` file.

Source: executorch cff6f4dd (1.5.1 is the same), schema/program.fbs and scalar_type.fbs.
"""

from __future__ import annotations

from onnxlint_cmsis.formats.flatbuffer_schema import NUMBERS, Schema

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


SCALAR_VALUES = {"Int": "int_val", "Bool": "bool_val", "Double": "double_val", "String": "string_val"}
"""Field of each table of one number or text."""
