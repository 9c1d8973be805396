"""Programs whose sizes are decided when they run: judged at the largest ones, refused without any, or settled."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.formats.pte.names import RESIZING
from onnxlint_cmsis.formats.pte.to_graph import load_pte
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.model_error import ModelError
from support.goldens import Told
from support.linter import linted
from support.pte_writer import PteWriter

BOUND, UNBOUND = "DYNAMIC_BOUND", "DYNAMIC_UNBOUND"


def unary(op: str, dynamism: str, *arguments: object) -> bytes:
    """One operator over up to 8 rows."""
    writer = PteWriter()
    source, result = (writer.tensor("int8", (8, 4), shape_dynamism=dynamism) for _ in range(2))
    writer.inputs, writer.outputs = [source], [writer.call(op, (source,), *arguments, out=result)]
    return writer.data()


def linear(dynamism: str) -> bytes:
    """A dense layer of up to 8 rows; its kernel does not resize its result."""
    writer = PteWriter()
    source = writer.tensor("int8", (1, 4), shape_dynamism=dynamism)
    result = writer.linear(source, 4, 3, bias=[1, 2, 3])
    writer.values[result]["val"][1]["shape_dynamism"] = dynamism
    writer.inputs, writer.outputs = [source], [result]
    return writer.data()


def codes(data: bytes, **settings: object) -> set[str]:
    return {finding.code for finding in linted(data, "m.pte", **settings).findings}


def test_bounded_sizes_are_judged_at_the_largest_and_are_open(told: Told) -> None:
    for data in (unary("aten::relu.out", BOUND), linear(BOUND)):
        (problem,) = load_pte("m.pte", data=data).graph.problems
        assert problem.kind == "undecided"
        told(problem.message)
        told(problem.do)
    assert load_pte("m.pte", data=linear("STATIC")).graph.problems == ()
    assert codes(linear(BOUND)) - codes(linear("STATIC")) == {"CNN005"}


@pytest.mark.parametrize("op", RESIZING)
def test_kernels_that_resize_keep_no_old_values(op: str) -> None:
    """quantize_per_tensor, dequantize_per_tensor, minimum and maximum."""
    (problem,) = load_pte("m.pte", data=unary(f"{op}.out", BOUND)).graph.problems
    assert "old values" not in problem.message


def test_the_largest_sizes_given_settle_them() -> None:
    for shape in ((1, 4), (None, 4)):
        loaded = load_pte("m.pte", input_shapes={"input0": shape}, data=linear(BOUND))
        assert loaded.graph.problems == ()
    assert codes(linear(BOUND), input_shapes={"input0": [1, 4]}) == codes(linear("STATIC"))


@pytest.mark.parametrize("given", [{"x": (1, 4)}, {"input0": (2, 4)}, {"input0": (1, 4, 1)}])
@pytest.mark.parametrize("dynamism", ["STATIC", BOUND])
def test_other_sizes_and_names_are_refused(given: dict[str, tuple[Size, ...]], dynamism: str, told: Told) -> None:
    """They were ignored without a word."""
    with pytest.raises(ModelError) as caught:
        load_pte("m.pte", input_shapes=given, data=linear(dynamism))
    assert caught.value.kind == "input-shape"
    told(caught.value.message)


@pytest.mark.parametrize("runtime", ["executorch@1.0.1", "executorch@1.3.1", "executorch"])
def test_sizes_without_a_bound_stop_the_program_in_every_release(runtime: str) -> None:
    result = linted(linear(UNBOUND), "m.pte", runtime=runtime)
    stops = [finding for finding in result.findings if finding.code == "CNN401"]
    assert [finding.cause for finding in stops] == ["sizes"]
    assert "load_method returns NotSupported" in stops[0].message
