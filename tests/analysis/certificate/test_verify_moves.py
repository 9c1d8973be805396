"""Elements are followed to other places, along the axes that a node says."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper

from support import models
from support.equal_files import onnx_equal

SWAPPED = {
    "Split and Concat": ("a, b = Split<axis=1>(x) y = Concat<axis=1>(b, a)", True),
    "Gather": ("i = Constant<value_ints=[2, 3, 0, 1]>() y = Gather<axis=1>(x, i)", True),
    "Slices": (
        "z = Constant<value_ints=[0]>() t = Constant<value_ints=[2]>() f = Constant<value_ints=[4]>()"
        " i = Constant<value_ints=[1]>() a = Slice(x, z, t, i) b = Slice(x, t, f, i) y = Concat<axis=1>(b, a)",
        True,
    ),
    "blocks turned": (
        "s = Constant<value_ints=[1, 2, 2, 2, 2]>() t = Constant<value_ints=[1, 4, 2, 2]>() a = Reshape(x, s)"
        " i = Constant<value_ints=[1, 0]>() b = Gather<axis=1>(a, i) y = Reshape(b, t)",
        True,
    ),
    "not swapped": ("a, b = Split<axis=1>(x) y = Concat<axis=1>(a, b)", False),
    "another place": ("i = Constant<value_ints=[2, 3, 1, 0]>() y = Gather<axis=1>(x, i)", False),
    "parts of other sizes": (
        "s = Constant<value_ints=[1, 3]>() a, b = Split<axis=1>(x, s) y = Concat<axis=1>(b, a)", False,
    ),
    "another axis": ("a, b = Split<axis=2>(x) y = Concat<axis=2>(b, a)", False),
}  # fmt: skip


@pytest.mark.parametrize("case_", SWAPPED.values(), ids=SWAPPED)
def test_elements_are_followed_to_other_places(case_: tuple[str, bool]) -> None:
    """By the records of operators, whichever operators move them."""
    head = '<ir_version: 8, opset_import: ["" : 13]> g (int8[1, 4, 2, 2] x) => (int8[1, 4, 2, 2] y) {'
    old, new = (onnx.parser.parse_model(f"{head} {text} }}") for text in (SWAPPED["Gather"][0], case_[0]))
    assert onnx_equal(old, new) == case_[1]


@pytest.mark.parametrize(
    "node",
    ["{0} = Split<axis = 1>(x)", "{0} = LSTM<hidden_size = 2>(x, w, r)", "{0} = MaxPool<kernel_shape = [1]>(x)"],
    ids=["split", "cell", "pool"],
)
def test_an_output_that_is_left_out_is_another_one(node: str) -> None:
    constants = (
        "float[1, 8, 4] w = {" + ", ".join(["0.5"] * 32) + "}, float[1, 8, 2] r = {" + ", ".join(["0.5"] * 16) + "}"
    )
    held, other = (
        models.text(
            f'<ir_version: 8, opset_import: ["" : 17]> g (float[2, 2, 4] x) => (float y) <{constants}> '
            f"{{ {node.format(outputs)} }}"
        )
        for outputs in ("y, t", "t, y")
    )
    for model in (held, other):
        names = model.graph.node[0].output
        names[:] = [name if name == "y" else "" for name in names]
    assert onnx_equal(held, held) and not onnx_equal(held, other)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_a_window_without_padding_ignores_amounts_that_are_stated(op: str) -> None:
    """Of 200 inputs 198 differed in ONNX Runtime, largest pools by up to 241."""
    bare, padded, valid = (
        models.text(
            '<ir_version: 8, opset_import: ["" : 17]> '
            "g (int8[1, 2, 7, 7] x) => (int8[1, 2, 2, 2] y) <float s = {0.05}, int8 z = {0}>"
            f"{{ r = DequantizeLinear(x, s, z) m = {op}<kernel_shape = [3, 3], strides = [3, 3]{more}>(r)"
            "y = QuantizeLinear(m, s, z) }"
        )
        for more in ("", ", pads = [1, 1, 0, 0]", ', pads = [1, 1, 0, 0], auto_pad = "VALID"')
    )
    assert onnx_equal(bare, valid) and not onnx_equal(padded, valid)


@pytest.mark.parametrize("node", ["Add<axis = 1, broadcast = 1>(m, b)", "PRelu(m, b)"])
def test_operands_that_are_broadcast_along_a_channel_are_not_along_the_width(node: str) -> None:
    """Before operator set 7, so that a Reshape changes what is added to what."""
    whole, flat = (
        models.text(
            '<ir_version: 3, opset_import: ["" : 6]> g (float[1, 3, 3, 3] x) => (float[1, 3, 3, 3] y) '
            f"<float[3] b = {{1.0, 2.0, 3.0}}, int64[{rank}] c = {{{sizes}}}, int64[4] d = {{1, 3, 3, 3}}>"
            f"{{ m = Reshape(x, c) r = {node} y = Reshape(r, d) }}"
        )
        for rank, sizes in ((4, "1, 3, 3, 3"), (3, "3, 3, 3"))
    )
    assert onnx_equal(whole, whole) and not onnx_equal(whole, flat)


@pytest.mark.parametrize(
    "axes", ["int64[1] a) => (float[1, 2, 3, 4] y) {", ") => (float[1, 2, 3, 4] y) <int64[1] a = {1}> {"]
)
def test_axes_of_size_1_stand_where_the_node_says(axes: str) -> None:
    """A caller gives the axes, or the file says another result than the node makes."""
    comma = ", " if axes.startswith("int64") else ""
    computed, written = (
        models.text(
            f'<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3, 4] x{comma}{axes}'
            f"{step} y = Transpose<perm = [1, 0, 2, 3]>(m) }}"
        )
        for step in ("m = Unsqueeze(x, a)", "c = Constant<value_ints = [2, 1, 3, 4]>() m = Reshape(x, c)")
    )
    computed.graph.value_info.append(helper.make_tensor_value_info("m", onnx.TensorProto.FLOAT, [2, 1, 3, 4]))
    assert onnx_equal(written, written)
    assert onnx_equal(computed, written) == (not comma)
