"""What ExecuTorch's own code costs: measured calls lie in their ranges, and programs show them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from measure_executorch import NAMES, range_of, records, spans_of
from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.analysis.layers import layer_reports
from onnxlint_cmsis.cmsis_nn.targets import parse_isa
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH, EXECUTORCH_RELEASES, Runtime
from support.linter import analysed
from support.paths import ROOT
from support.pte_writer import PteWriter
from support.targets import target_of

CLONE: dict[str, Any] = {
    "op": "_clone_dim_order", "types": ["int8", "int8"], "sizes": [1, 16, 8, 8], "axes": [0, 1, 2, 3],
    "orders": [[0, 1, 2, 3], [0, 2, 3, 1]],
}  # fmt: skip
"""An image of 16 channels that is copied into the order with its channels last."""


CORES = {
    "cortex-m0": "cortex-m0", "cortex-m0+": "cortex-m0", "cortex-m3": "scalar", "cortex-m4": "dsp",
    "cortex-m7": "cortex-m7", "cortex-m23": "cortex-m23", "cortex-m33": "cortex-m33", "cortex-m35p": "cortex-m33",
    "cortex-m52": "mve", "cortex-m55": "mve", "cortex-m85": "mve",
}  # fmt: skip
"""CPU to the core that was measured and whose code it runs."""


@pytest.mark.parametrize("cpu", CORES)
def test_every_measured_call_of_own_code_lies_in_its_range(cpu: str) -> None:
    """Builds of -O2, -O3 and -Os with both libraries, on four patterns of data; four in ten calls kept apart."""
    apart: Counter[str] = Counter()
    nearest: dict[str, float] = {}
    for row in records():
        builds = Counter(build.split()[0] for build in row["instructions"])
        assert builds == {**dict.fromkeys(CORES.values(), 6), "cortex-m7": 9}  # three with a unit for 32 bits alone
        low, high = spans_of(row)[CORES[cpu]]
        span = range_of(row, target_of(cpu))
        if span is None:
            assert row["op"] == "_to_dim_order_copy"
            assert row["types"][0] != row["types"][1]
            continue
        assert span[0] <= low, row
        assert high <= span[1], row
        apart[row["op"]] += row["apart"]
        nearest[row["op"]] = min(nearest.get(row["op"], 9e9), max(low / span[0], span[1] / high))
    assert apart.keys() == NAMES.keys()
    assert min(apart.values()) >= 8
    assert max(nearest.values()) < 1.25, nearest


def test_calls_held_apart_lie_outside_of_the_fit_by_less_than_bounds_are_moved() -> None:
    table = json.loads((ROOT / "onnxlint_cmsis/runtimes/executorch/own_instructions.json").read_text())
    errors = table["apart_error_percent"]
    assert all(cores.keys() == set(CORES.values()) for cores in errors.values())
    assert 0 < max(percent for cores in errors.values() for percent in cores.values()) < table["margin_percent"]


def test_a_program_has_the_range_of_each_copy_in_its_row_and_in_the_total() -> None:
    writer = PteWriter()
    source, copy = writer.image(1, 16, 8, 8), writer.tensor("int8", (1, 16, 8, 8))
    writer.inputs.append(source)
    writer.outputs.append(writer.call("dim_order_ops::_clone_dim_order.out", (source,), out=copy))
    model = analysed(writer.data(), "m.pte", targets=["cortex-m4"])
    expected = span_of(orders=CLONE["orders"][::-1])
    assert expected is not None
    (layer,) = layer_reports(model)
    assert (layer.instructions, layer.instructions_range) == (None, expected)
    (total,) = model.once(summarize).targets
    assert (total.instructions_range, total.unknown_cost) == (expected, 0)


def span_of(cpu: str = "cortex-m4", runtime: Runtime = EXECUTORCH, **changes: Any) -> tuple[int, int] | None:
    return range_of({**CLONE, **changes}, target_of(cpu, "main"), runtime)


def test_a_copy_into_the_same_order_of_memory_is_cheaper() -> None:
    reordered, copied = span_of(), span_of(orders=[[0, 1, 2, 3]] * 2)
    assert reordered is not None
    assert copied is not None
    assert reordered[0] > 10 * copied[1]


def test_own_code_that_was_not_measured_has_no_range() -> None:
    assert span_of() is not None
    others = ("cortex-m4+nodsp", "cortex-m7+nodsp", "cortex-m33+nodsp", "cortex-m55+nomve")
    assert all(span_of(cpu) is None for cpu in others)
    assert span_of(op="aten::add") is None
    assert span_of(types=["float64", "float64"]) is None
    assert span_of(types=["int8", "float32"]) is None
    assert range_of(CLONE, parse_isa("dsp", "main", "armclang")) is None


def test_sizes_that_no_device_holds_have_no_range() -> None:
    assert span_of(sizes=[2**31 - 1] * 4) is None
    many = {"sizes": [2**31 - 1] * 60, "axes": [*range(60)], "orders": [[*range(60)], [*range(59, -1, -1)]]}
    assert span_of(**many) is None


@pytest.mark.parametrize(("release", "known"), [("1.0.1", False), ("1.1.0", True), ("1.4.1", True), ("1.5.1", False)])
def test_own_code_has_a_range_in_releases_whose_source_is_the_same(release: str, known: bool) -> None:
    assert (span_of(runtime=EXECUTORCH_RELEASES[release]) is not None) == known


def test_quantizing_without_a_unit_for_floats_was_measured_on_cores_that_have_none() -> None:
    change = {"op": "quantize_per_tensor", "types": ["float32", "int8"], "orders": [[0, 2, 3, 1]] * 2}
    without, with_unit, unused = (span_of(cpu, **change) for cpu in ("cortex-m3", "cortex-m4", "cortex-m4+nodsp"))
    assert without is not None
    assert with_unit is not None
    assert without[1] > 3 * with_unit[1]
    assert unused is None
