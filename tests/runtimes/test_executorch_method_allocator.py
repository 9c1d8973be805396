"""What loading a program takes of ExecuTorch's method allocator, against its loaders on an emulated Cortex-M4."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.runtimes.memory_report import MethodMemory
from support.linter import analysed
from support.pte_writer import PteWriter
from support.targets import target_of

CALL = ("KernelCall", {"op_index": 0, "args": [0, 0, 0]})
MOVE = ("MoveCall", {"move_from": 0, "move_to": 0})
FREE = ("FreeCall", {"value_index": 0})


def convolution() -> PteWriter:
    """A layer with its lists of numbers, constants and scratch."""
    writer = PteWriter()
    source = writer.image(1, 4, 8, 8)
    writer.inputs.append(source)
    writer.outputs.append(writer.convolution(source, (1, 4, 8, 8), (1, 4, 8, 8), 3, 288))
    return writer


def of_values(*values: tuple[str, dict[str, Any]]) -> PteWriter:
    """One input and values that no step reads."""
    writer = PteWriter()
    writer.inputs.append(writer.tensor("int8", (1, 2, 3)))
    for kind, fields in values:
        writer.add(kind, **fields)
    return writer


def dynamic() -> PteWriter:
    """A tensor whose sizes and order of axes are kept apart, its three axes leaving a place to align."""
    writer = PteWriter()
    writer.inputs.append(writer.tensor("int8", (1, 2, 3), shape_dynamism="DYNAMIC_BOUND"))
    return writer


def inputs(count: int) -> PteWriter:
    """So many inputs, which take a byte each."""
    writer = PteWriter()
    writer.inputs += [writer.tensor("int8", (2,)) for _ in range(count)]
    return writer


def called(*kinds: tuple[str, dict[str, Any]]) -> PteWriter:
    """Steps of one tensor."""
    writer = inputs(1)
    writer.operators.append("a::b.out")
    writer.instructions += [{"instr_args": kind} for kind in kinds]
    return writer


PROGRAMS = {
    "convolution": (convolution(), {}),
    "no values": (PteWriter(), {}),
    "one input": (inputs(1), {}),
    "five inputs": (inputs(5), {}),
    "dynamic": (dynamic(), {}),
    "numbers": (of_values(("Int", {"int_val": 1}), ("Bool", {"bool_val": True}), ("Double", {"double_val": 0.5})), {}),
    "null": (of_values(("Null", {})), {}),
    "text": (of_values(("String", {"string_val": "text"})), {}),
    "ints": (of_values(("IntList", {"items": [0, 0, 0]})), {}),
    "empty ints": (of_values(("IntList", {"items": []})), {}),
    "doubles": (of_values(("DoubleList", {"items": [0.5, 1.5]})), {}),
    "bools": (of_values(("BoolList", {"items": [True]})), {}),
    "tensors": (of_values(("TensorList", {"items": [0, 0]})), {}),
    "optional tensors": (of_values(("OptionalTensorList", {"items": [0, -1, 0]})), {}),
    "steps": (called(CALL, MOVE, FREE, CALL), {}),
    "chains": (called(), {"chains": [{"instructions": [{"instr_args": CALL}]}, {"instructions": []}]}),
}
"""Programs by name, with changes of their fields."""
MEASURED = {
    "convolution": (936, 824), "no values": (16, 16), "one input": (80, 72), "five inputs": (324, 288),
    "dynamic": (104, 96), "numbers": (160, 128), "null": (112, 96), "text": (112, 104), "ints": (152, 152),
    "empty ints": (112, 112), "doubles": (112, 104), "bools": (112, 104), "tensors": (128, 128),
    "optional tensors": (148, 144), "steps": (152, 144), "chains": (120, 112),
}  # fmt: skip
"""Bytes that Program::load_method took of 1.0.1 and of cff6f4dd (gcc 12.2, QEMU)."""


def taken_of(writer: PteWriter, release: str = "cff6f4dd", **changes: Any) -> MethodMemory:
    method = (
        analysed(writer.data(**changes), "m.pte", runtime=f"executorch@{release}").execution.memory(target_of()).method
    )
    assert method is not None
    return method


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_method_allocator_takes_what_the_loader_took(name: str) -> None:
    writer, changes = PROGRAMS[name]
    taken = tuple(taken_of(writer, release, **changes).bytes for release in ("1.0.1", "cff6f4dd"))
    assert taken == MEASURED[name]


@pytest.mark.parametrize(("release", "since"), [("1.0.1", 0), ("1.1.0", 1), ("1.3.1", 1), ("1.4.1", 1)])
def test_values_shrink_with_1_1_0(release: str, since: int) -> None:
    assert taken_of(convolution(), release).bytes == MEASURED["convolution"][since]


def test_the_temporary_allocator_holds_what_the_largest_call_asks_for() -> None:
    assert taken_of(called(MOVE)).temporary == 0
    assert taken_of(called(CALL, MOVE)).temporary == 3 * (12 + 16)


def test_a_delegate_takes_what_it_wants() -> None:
    writer = inputs(1)
    writer.delegate("XnnpackBackend", 0, 0)
    method = taken_of(writer)
    assert method.bytes is None
    assert "XnnpackBackend" in method.reason


def test_constants_in_another_file_are_not_counted() -> None:
    writer = inputs(1)
    writer.values[0]["val"][1].pop("allocation_info")
    writer.values[0]["val"][1]["extra_tensor_info"] = {"location": "EXTERNAL", "fully_qualified_name": "w"}
    assert taken_of(writer).bytes is None


def test_a_release_whose_loader_was_not_read_has_no_number() -> None:
    assert taken_of(convolution(), "1.5.1").bytes is None


def test_memory_shows_the_method_allocator_in_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.pte"
    path.write_bytes(convolution().data())
    command = ["memory", "--isolated", str(path), "--target", "cortex-m4", "--runtime", "executorch@cff6f4dd"]
    assert main(command) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"method allocator: {MEASURED['convolution'][1]:,} bytes" in text
    main([*command, "--output-format", "json"])
    (target,) = json.loads(capsys.readouterr().out)["targets"]
    assert target["method_allocator"]["bytes"] == MEASURED["convolution"][1]
