"""What the reader says of a program equals flatc's JSON of it: values, calls, scratch and arena."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from onnxlint_cmsis.formats.pte.fields import ENUMS
from onnxlint_cmsis.formats.pte.program import read_program
from onnxlint_cmsis.formats.pte.program_records import Method, PteTensor, ValueList
from onnxlint_cmsis.ground.types import Isa
from support import paths
from support.pte_programs import random_program

CHECKOUT = Path(os.environ.get("ONNXLINT_EXECUTORCH", "")) / "executorch"
FLATC, SCHEMA = CHECKOUT / "data" / "bin" / "flatc", CHECKOUT / "schema" / "program.fbs"
CASES = sorted((paths.SHARED / "cases" / "pte").glob("*.pte"))
needs_flatc = pytest.mark.skipif(
    not FLATC.is_file(), reason="ONNXLINT_EXECUTORCH names no folder of ExecuTorch's wheel, which has flatc"
)
TYPES = {"BYTE": "uint8", "CHAR": "int8", "SHORT": "int16", "INT": "int32", "LONG": "int64", "HALF": "float16",
         "FLOAT": "float32", "DOUBLE": "float64", "BOOL": "bool"}  # fmt: skip
"""Names of element types in the schema."""
PROGRAMS = 30


def as_json(files: list[Path], folder: Path) -> list[dict[str, Any]]:
    """flatc's JSON of each file."""
    command = [str(FLATC), "--json", "--strict-json", "--raw-binary", "--defaults-json", "-o", str(folder), str(SCHEMA)]
    subprocess.run([*command, "--", *map(str, files)], check=True, capture_output=True)
    return [json.loads((folder / f"{path.stem}.json").read_text(encoding="utf-8", errors="replace")) for path in files]


def tensor_of(value: dict[str, Any]) -> dict[str, Any]:
    """A tensor of the JSON in the words of the reader."""
    planned = value.get("allocation_info") or {}
    return {
        "elem_type": TYPES[value["scalar_type"]],
        "sizes": tuple(value["sizes"]),
        "order": tuple(value["dim_order"]),
        "pool": planned.get("memory_id", 0),
        "offset": planned.get("memory_offset_low", 0) + (planned.get("memory_offset_high", 0) << 32),
        "dynamic": value["shape_dynamism"] != "STATIC",
        "constant": value["data_buffer_idx"] > 0,
    }


def same_value(ours: Any, theirs: dict[str, Any]) -> bool:
    """Whether a value is as flatc has it."""
    kind, value = theirs["val_type"], theirs.get("val", {})
    if kind == "Tensor":
        return isinstance(ours, PteTensor) and all(
            getattr(ours, name) == wanted for name, wanted in tensor_of(value).items()
        )
    if kind in ("IntList", "TensorList", "OptionalTensorList"):
        return isinstance(ours, ValueList) and list(ours.items) == value["items"]
    if kind == "BoolList":
        return ours == tuple(value["items"])
    if kind == "Double":  # the JSON has 12 decimal places
        return isinstance(ours, float) and ours == pytest.approx(value["double_val"], rel=0, abs=1e-12)
    wanted = {"Int": "int_val", "Bool": "bool_val", "String": "string_val"}.get(kind)
    return ours is None if wanted is None else (type(ours), ours) == (type(value[wanted]), value[wanted])


def steps_of(plan: dict[str, Any]) -> list[tuple[str, str, tuple[int, ...]]]:
    """Kind, operator and arguments of each instruction of the JSON."""
    steps = []
    for instruction in plan["chains"][0]["instructions"]:
        kind, call = instruction["instr_args_type"], instruction["instr_args"]
        name = ""
        if kind == "KernelCall":
            operator = plan["operators"][call["op_index"]]
            name = ".".join(filter(None, (operator["name"], operator["overload"])))
        elif kind == "DelegateCall":
            name = plan["delegates"][call["delegate_index"]]["id"]
        steps.append((kind, name, tuple(call.get("args", ()))))
    return steps


def check(methods: tuple[Method, ...], model: dict[str, Any], data: bytes) -> int:
    """Compare all methods; the number of their instructions."""
    assert [method.name for method in methods] == [plan["name"] for plan in model["execution_plan"]]
    for method, plan in zip(methods, model["execution_plan"], strict=True):
        assert (list(method.inputs), list(method.outputs)) == (plan["inputs"], plan["outputs"])
        assert list(method.pools) == plan["non_const_buffer_sizes"]
        assert len(method.values) == len(plan["values"])
        for ours, theirs in zip(method.values, plan["values"], strict=True):
            assert same_value(ours, theirs), (ours, theirs)
        assert [(step.kind, step.name, step.args) for step in method.steps] == steps_of(plan)
        ends = [value.data.offset + value.data.length for value in method.values if tensor_with_data(value)]
        assert max(ends, default=0) <= len(data)
    return sum(len(method.steps) for method in methods)


def tensor_with_data(value: Any) -> bool:
    return isinstance(value, PteTensor) and value.data is not None


def test_element_types_are_those_of_the_schema() -> None:
    assert {*TYPES.values()} < {*ENUMS["ScalarType"]}


@needs_flatc
@pytest.mark.parametrize("isa", Isa, ids=lambda isa: isa.value)
def test_written_programs_equal_flatcs_json(isa: Isa, tmp_path: Path) -> None:
    files = []
    for seed in range(PROGRAMS):
        files.append(tmp_path / f"p{seed}.pte")
        files[-1].write_bytes(random_program(seed, isa).data())
    calls = [
        check(read_program(path).methods, model, path.read_bytes())
        for path, model in zip(files, as_json(files, tmp_path), strict=True)
    ]
    assert min(calls) >= 8


@needs_flatc
@pytest.mark.skipif(not CASES, reason="the programs with known truth are not beside the project")
def test_programs_with_known_truth_equal_flatcs_json(tmp_path: Path) -> None:
    for path, model in zip(CASES, as_json(CASES, tmp_path), strict=True):
        assert check(read_program(path).methods, model, path.read_bytes())
