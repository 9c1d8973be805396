"""What shape inference may find of an output after a change that it did not find before."""

from __future__ import annotations

import onnx
import pytest

from onnxlint_cmsis.fixers.proof.onnx_frame import static_reason
from support.models import text


def of_known_size(result: str) -> bytes:
    source = f"""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 4] x) => (float{result} y) <int64[2] sizes = {{1, 4}}> {{
    y = Reshape(x, sizes)
}}
"""
    return text(source).SerializeToString()


def of_open_size(result: str) -> bytes:
    source = f"""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 4] x) => (float{result} y) <int64[2] numbers = {{1, 4}}> {{
    sizes = Cast<to = 7>(numbers)
    y = Reshape(x, sizes)
}}
"""
    return text(source).SerializeToString()


def reason(old: bytes, new: bytes) -> str | None:
    same = onnx.ModelProto.FromString(old)
    return static_reason(old, new, lambda: (same, same))


@pytest.mark.parametrize("result", ["[N, M]", "[N, 4]", "[]", "[1, 4]"])
def test_a_size_may_become_known(result: str) -> None:
    assert reason(of_open_size(result), of_known_size(result)) is None


@pytest.mark.parametrize("result", ["[N, M]", "[]"])
def test_a_known_size_stays_known(result: str) -> None:
    assert "other sizes of output 'y'" in (reason(of_known_size(result), of_open_size(result)) or "")
