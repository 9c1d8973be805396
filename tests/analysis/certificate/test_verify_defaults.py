"""Inputs with a default: initializers that a caller may replace."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxlint_cmsis.formats.format import ONNX
from support.equal_files import onnx_equal
from support.read_models import model, value


def with_defaults(text: str, *, w: float = 2.0, replaced: str = "w") -> onnx.ModelProto:
    """Layers over x; `replaced` names the initializers that are inputs too."""
    given = {
        "w": np.full(4, w, np.float32), "v": np.full(4, 2.0, np.float32), "s": np.array([1, 4]), "i": np.array([1, 0]),
        "a": np.array([0]),
    }  # fmt: skip
    nodes = onnx.parser.parse_graph(f"g (float x) => (float y) {{ {text} }}").node
    tensors = [numpy_helper.from_array(array, name) for name, array in given.items()]
    ends = [value("x", [4]), *(value(t.name, t.dims, t.data_type) for t in tensors if t.name in replaced.split())]
    return model([*nodes], ends, [helper.make_empty_tensor_value_info("y")], tensors, opset=13)


def test_an_input_with_a_default_is_an_input() -> None:
    old = with_defaults("y = Mul (x, w)")
    assert onnx_equal(old, old)
    assert onnx_equal(old, with_defaults("t = Identity (x) y = Mul (w, t)"))


@pytest.mark.parametrize(
    "other",
    [
        with_defaults("y = Mul (x, w)", w=3.0),
        with_defaults("y = Mul (x, w)", replaced=""),
        with_defaults("y = Mul (x, v)", replaced="v"),
        with_defaults("y = Mul (x, v)", replaced="w v"),
        with_defaults("t = Identity (w) y = Mul (x, t)"),
    ],
    ids=["another default", "a constant", "another name", "another input", "folded"],
)
def test_another_default_or_another_name_is_another_input(other: onnx.ModelProto) -> None:
    """What is folded from one is not followed."""
    assert not onnx_equal(with_defaults("y = Mul (x, w)"), other)


@pytest.mark.parametrize("targets", ["s", "c"])
def test_no_size_rests_on_a_default(targets: str) -> None:
    """A caller may make one of two axes, or one of three: then the last is another than the second."""
    head = "c = Concat <axis = 0> (s, a) " if targets == "c" else ""
    last, second = (
        with_defaults(f"{head} r = Reshape (x, {targets}) y = Gather <axis = {axis}> (r, i)", replaced="s")
        for axis in (-1, 1)
    )
    assert ONNX.load("m.onnx", last.SerializeToString()).computed_sizes().get("r") is None
    assert not onnx_equal(last, second)


def test_an_input_with_a_default_that_nobody_reads_stays_one() -> None:
    """A caller that gives it is refused where it is none."""
    old, new = with_defaults("y = Mul (x, w)", replaced="w v"), with_defaults("y = Mul (x, w)")
    assert not onnx_equal(old, new)
    assert onnx_equal(new, old)
