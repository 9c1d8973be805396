"""Nets of many kinds with `--fix-policy smaller`: less arena with the same outputs, or left with the reason."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from support.expanding_nets import CODES, Net
from support.linter import fixed
from support.nightly import one_of
from support.smaller_agreement import disagreements
from support.tflite_models import tensor
from support.tflite_writer import operator_code, write

pytestmark = pytest.mark.skipif(
    not (find_spec("ai_edge_litert") and find_spec("tflite_micro")), reason="needs LiteRT and PyPI's tflite-micro"
)


def expanding(mobile: Net, source: int, *, stride: int = 2, dilation: int = 1, kernel: tuple[int, int] = (3, 3)) -> int:
    """A block that makes six channels of each, filters them and makes few again."""
    wide = mobile.convolution(source, 6 * mobile.shape(source)[-1])
    return mobile.convolution(mobile.depthwise(wide, stride, dilation, "SAME", kernel), 4)


def branches(mobile: Net) -> int:
    first = mobile.convolution(mobile.activation([1, 32, 32, 3]), 4, 3)
    left, right = expanding(mobile, first), mobile.pool(first)
    return mobile.operator("ADD", [left, right], mobile.activation([1, 16, 16, 4]), ("AddOptions", {}))


def residual(mobile: Net) -> int:
    first = mobile.convolution(mobile.activation([1, 32, 32, 3]), 8, 3)
    second = mobile.convolution(first, 8, 3)
    added = mobile.operator("ADD", [first, second], mobile.activation([1, 32, 32, 8]), ("AddOptions", {}))
    return mobile.convolution(added, 4, 3, 2)


def dilation(mobile: Net) -> int:
    first = mobile.convolution(mobile.activation([1, 24, 24, 3]), 4, 3)
    return mobile.convolution(mobile.pool(expanding(mobile, first, stride=1, dilation=2)), 4)


def strides(mobile: Net) -> int:
    return expanding(mobile, mobile.convolution(mobile.activation([1, 40, 40, 3]), 4, 3), stride=3)


def odd_sizes(mobile: Net) -> int:
    return expanding(mobile, mobile.convolution(mobile.activation([1, 23, 37, 3]), 4, 3))


def row(mobile: Net) -> int:
    return expanding(mobile, mobile.convolution(mobile.activation([1, 1, 512, 2]), 4), kernel=(1, 3))


def images(mobile: Net) -> int:
    return expanding(mobile, mobile.convolution(mobile.activation([1, 24, 24, 3]), 4, 3))


def unsigned(mobile: Net) -> int:
    raw = mobile.activation([1, 24, 24, 3], "UINT8")
    signed = mobile.operator("QUANTIZE", [raw], mobile.activation([1, 24, 24, 3]))
    return expanding(mobile, mobile.convolution(signed, 4, 3))


def several_images(mobile: Net) -> int:
    return expanding(mobile, mobile.convolution(mobile.activation([2, 24, 24, 3]), 4, 3))


def with_second_subgraph(mobile: Net, output: int) -> bytes:
    """A net whose first operator runs another subgraph once."""
    model = mobile.model(output)
    model["operator_codes"].append(operator_code("CALL_ONCE"))
    options = ("CallOnceOptions", {"init_subgraph_index": 1})
    model["subgraphs"][0]["operators"].insert(0, {"opcode_index": len(CODES), "builtin_options": options})
    constant = tensor("i", [1, 8], len(model["buffers"]))
    model["buffers"].append({"data": [*range(8)]})
    relu = {"opcode_index": CODES.index("RELU"), "inputs": [0], "outputs": [1]}
    inner = {"tensors": [constant, tensor("o", [1, 8])], "inputs": [], "outputs": [], "operators": [relu]}
    model["subgraphs"].append(inner)
    return write(model)


@pytest.mark.parametrize(
    ("block", "kind", "parts"),
    one_of(
        3,
        [
            (branches, "INT8", "channels"),
            (residual, "INT8", "bands of rows"),
            (dilation, "INT8", "bands of rows"),
            (strides, "INT8", "channels"),
            (odd_sizes, "INT8", "channels"),
            (row, "INT8", "bands of columns"),
            (images, "INT16", "channels"),
            (unsigned, "INT8", "channels"),
            (several_images, "INT8", "channels"),
        ],
    ),
)
def test_it_takes_less_and_computes_the_same(block: Callable[[Net], int], kind: str, parts: str) -> None:
    mobile = Net(3, kind)
    gets_smaller(write(mobile.model(block(mobile))), parts)


def test_a_net_of_two_subgraphs_takes_less_and_computes_the_same() -> None:
    mobile = Net(3)
    gets_smaller(with_second_subgraph(mobile, images(mobile)), "channels")


def gets_smaller(data: bytes, parts: str) -> None:
    result, new = fixed(data, "m.tflite", targets=["cortex-m4"], fix_policy="smaller", most_instructions=50)
    assert new is not None, (result.reason, result.notes)
    assert result.certificate is not None
    assert any(parts in clause for clause in result.added), result.added
    assert all(change.after < change.before for change in result.memory)
    assert not [*disagreements(data, new, 1)]


def in_float(mobile: Net) -> dict[str, Any]:
    return mobile.model(images(mobile))


def wide_as_output(mobile: Net) -> dict[str, Any]:
    model = mobile.model(images(mobile))
    model["subgraphs"][0]["outputs"].append(model["subgraphs"][0]["operators"][1]["outputs"][0])
    return model


def in_bands_alone(mobile: Net) -> dict[str, Any]:
    """Several images, of a net that only bands would make smaller."""
    first = mobile.convolution(mobile.activation([2, 32, 32, 3]), 8, 3)
    return mobile.model(mobile.convolution(mobile.convolution(first, 8, 3), 4, 3, 2))


@pytest.mark.parametrize(
    ("block", "kind", "reason"),
    [
        (in_float, "FLOAT32", "runs in no parts: its result is float32, and only int8 and int16 are computed in parts"),
        (in_bands_alone, "INT8", "runs in no parts: it computes several images"),
        (wide_as_output, "INT8", "would take no less"),
    ],
)
def test_it_is_left_with_the_reason(block: Callable[[Net], dict[str, Any]], kind: str, reason: str) -> None:
    data = write(block(Net(3, kind)))
    for asked in ({"fix_policy": "smaller"}, {"ram": 4096}):
        result, new = fixed(data, "m.tflite", targets=["cortex-m4"], **asked)
        assert (new, result.added) == (None, ())
        assert [note for note in result.notes if "at the peak" in note and note.endswith(reason)], result.notes
