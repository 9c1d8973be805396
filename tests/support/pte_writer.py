"""Write `.pte` and `.bpte` files for tests: values, calls of kernels and constants, planned one behind the other."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from onnxlint_cmsis.formats.pte.bundle import BUNDLE
from onnxlint_cmsis.formats.pte.fields import SCHEMA
from onnxlint_cmsis.formats.pte.program_records import LETTERS
from support.tflite_writer import write

NHWC = (0, 2, 3, 1)
HEADER = 32
"""Bytes of the extended header, with the size of the segments at its end."""


@dataclass
class PteWriter:
    """One method `forward`, its values in the order they are added."""

    values: list[dict[str, Any]] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    delegates: list[str] = field(default_factory=list)
    instructions: list[dict[str, Any]] = field(default_factory=list)
    constants: list[bytes] = field(default_factory=lambda: [b""])
    planned: int = 0

    def add(self, kind: str, **fields: Any) -> int:
        """A value of any kind."""
        self.values.append({"val": (kind, fields)})
        return len(self.values) - 1

    def tensor(self, elem_type: str, sizes: Sequence[int], order: Sequence[int] = (), **fields: Any) -> int:
        """A planned tensor."""
        size = prod(sizes) * struct.calcsize(LETTERS[elem_type])
        allocation = {"memory_id": 1, "memory_offset_low": self.planned}
        self.planned += -(-size // 16) * 16
        return self._tensor(elem_type, sizes, order, **{"allocation_info": allocation, **fields})

    def image(self, *nchw: int) -> int:
        """A planned int8 image with its channels last."""
        return self.tensor("int8", nchw, NHWC)

    def constant(self, values: Any, elem_type: str = "int8") -> int:
        """A constant."""
        array = np.asarray(values, elem_type)
        self.constants.append(array.tobytes())
        return self._tensor(elem_type, array.shape, (), data_buffer_idx=len(self.constants) - 1)

    def _tensor(self, elem_type: str, sizes: Sequence[int], order: Sequence[int], **fields: Any) -> int:
        order = list(order or range(len(sizes)))
        return self.add("Tensor", scalar_type=elem_type, sizes=list(sizes), dim_order=order, **fields)

    def argument(self, value: Any) -> int:
        """A value by its Python type; a tensor is given as its number in a tuple of one."""
        if value is None:
            return self.add("Null")
        if isinstance(value, tuple):
            return int(value[0])
        if isinstance(value, list):
            return self.add("IntList", items=[self.argument(item) for item in value])
        if isinstance(value, bool):
            return self.add("Bool", bool_val=value)
        if isinstance(value, int):
            return self.add("Int", int_val=value)
        return self.add("Double", double_val=value)

    def call(self, name: str, *arguments: Any, out: int) -> int:
        """A call of an operator; `out` is what it writes, and is returned."""
        if name not in self.operators:
            self.operators.append(name)
        places = [*map(self.argument, arguments), out, out]
        call = {"op_index": self.operators.index(name), "args": places}
        self.instructions.append({"instr_args": ("KernelCall", call)})
        return out

    def delegate(self, name: str, reads: int, writes: int) -> int:
        """A call of a delegate."""
        self.delegates.append(name)
        call = {"delegate_index": len(self.delegates) - 1, "args": [reads, writes]}
        self.instructions.append({"instr_args": ("DelegateCall", call)})
        return writes

    # operators of the backend

    def convolution(
        self, source: int, inputs: Sequence[int], result: Sequence[int], kernel: int, scratch: int | None, **more: Any
    ) -> int:
        """cortex_m::quantized_conv2d with a square window and padding that keeps the plane; sizes NCHW."""
        outputs = result[1]
        weights = self.constant(np.ones((outputs, kernel, kernel, inputs[1])))
        return self._window("quantized_conv2d", source, weights, outputs, result, (kernel, scratch), **more)

    def depthwise(
        self, source: int, inputs: Sequence[int], result: Sequence[int], kernel: int, scratch: int | None, **more: Any
    ) -> int:
        """cortex_m::quantized_depthwise_conv2d likewise."""
        outputs = result[1]
        weights = self.constant(np.ones((1, kernel, kernel, outputs)))
        more = {"multiplier": [outputs // inputs[1]], **more}
        return self._window("quantized_depthwise_conv2d", source, weights, outputs, result, (kernel, scratch), **more)

    def _window(
        self, name: str, source: int, weights: int, outputs: int, result: Sequence[int],
        window: tuple[int, int | None], *, multiplier: Sequence[int] = (), order: Sequence[int] = NHWC, end: str = "",
    ) -> int:  # fmt: skip
        kernel, scratch = window
        channels = [self.constant([value] * outputs, "int32") for value in (5, 1 << 30, -7)]
        front = [(source,), (weights,), (channels[0],), [1, 1], [kernel // 2] * 2, [1, 1], *multiplier]
        back = [128, -3, (channels[1],), (channels[2],), -128, 127]
        buffer = [] if scratch is None else [(self.tensor("uint8", (scratch,)),)]
        return self.call(f"cortex_m::{name}{end}.out", *front, *back, *buffer, out=self.tensor("int8", result, order))

    def linear(self, source: int, depth: int, outputs: int, *, bias: Any = None, sums: Any = None) -> int:
        """cortex_m::quantized_linear of one row, weights 1, input offset 128."""
        weights = self.constant(np.ones((outputs, depth)))
        extra = [None if given is None else (self.constant(given, "int32"),) for given in (bias, sums)]
        arguments = [(source,), (weights,), *extra, 128, 0, -3, [1 << 30], [-7], 127, -128]
        return self.call("cortex_m::quantized_linear.out", *arguments, out=self.tensor("int8", (1, outputs)))

    # the file

    def data(self, **changes: Any) -> bytes:
        """The file, its constants in a segment behind it; `changes` of fields of the method."""
        offsets, segment = [], b""
        for constant in self.constants:
            segment += bytes(-len(segment) % 16)
            offsets.append(len(segment))
            segment += constant
        plan = {
            "name": "forward",
            "values": self.values,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "chains": [{"instructions": self.instructions}],
            "operators": [dict(zip(("name", "overload"), name.split("."), strict=True)) for name in self.operators],
            "delegates": [{"id": name} for name in self.delegates],
            "non_const_buffer_sizes": [0, self.planned],
            **changes,
        }
        return program([plan], offsets, segment)


def program(plans: list[dict[str, Any]], offsets: Sequence[int] = (0,), segment: bytes = b"") -> bytes:
    """A file of methods, with the constants of a segment."""
    model = {
        "version": 0,
        "execution_plan": plans,
        "segments": [{"offset": 0, "size": len(segment)}],
        "constant_segment": {"segment_index": 0, "offsets": list(offsets)},
    }
    file = bytearray(write(model, SCHEMA, HEADER))
    base = -(-len(file) // 16) * 16
    file[8 : 8 + HEADER] = b"eh00" + struct.pack("<IQQQ", HEADER, len(file), base, len(segment))
    return bytes(file) + bytes(base - len(file)) + segment


def bundle(inside: bytes, *cases: tuple[Sequence[Any], Sequence[Any]], method: str = "forward") -> bytes:
    """A `.bpte` file of a program; each case has inputs and expected outputs, numbers or arrays in plain order."""

    def value(given: Any) -> dict[str, Any]:
        if isinstance(given, np.ndarray):
            fields = {"sizes": list(given.shape), "dim_order": list(range(given.ndim)), "data": given.tobytes()}
            return {"val": ("Tensor", {"scalar_type": str(given.dtype), **fields})}
        kind, name = {bool: ("Bool", "bool_val"), int: ("Int", "int_val")}.get(type(given), ("Double", "double_val"))
        return {"val": (kind, {name: given})}

    tests = [{"inputs": [*map(value, ins)], "expected_outputs": [*map(value, outs)]} for ins, outs in cases]
    suites = [{"method_name": method, "test_cases": tests}]
    return write({"version": 0, "method_test_suites": suites, "program": inside}, BUNDLE)
