"""Nothing of a model is kept behind a call, so that a process can lint models for days."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from onnx import ModelProto

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.model.graph import Graph
from support.linter import fixed, layered, linted
from support.models import text
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write


def of_channels(count: int) -> ModelProto:
    """A quantized layer of so many channels, and an operator that nobody knows, named by them."""
    return text(
        f"""<ir_version: 8, opset_import: ["" : 17, "own{count}" : 1]> g
        (int8[1, {count}, 5, 5] x) => (int8[?, ?, ?, ?] y)
        <float s = {{{1 / count}}}, int8 z = {{0}}, int8[1, {count}, 1, 1] w = {{{", ".join(["1"] * count)}}}> {{
            a = DequantizeLinear(x, s, z) b = DequantizeLinear(w, s, z) c = Conv(a, b)
            d = QuantizeLinear(c, s, z) y = own{count}.Odd{count}(d) }}"""
    )


def added(count: int) -> bytes:
    tensors = [tensor(name, [1, 4, 4, count], 0, (1 / count,)) for name in ("a", "b", "y")]
    return write(one_operator("ADD", tensors, ("AddOptions", {})))


def judge(count: int) -> None:
    for model, name in ((of_channels(count), "m.onnx"), (added(count), "m.tflite")):
        linted(model, name)
        layered(model, name)


def caches() -> Iterator[tuple[str, Any]]:
    gc.collect()
    for kept in gc.get_objects():
        if isinstance(kept, functools._lru_cache_wrapper) and kept.__module__.startswith("onnxlint_cmsis"):
            yield f"{kept.__module__}.{kept.__qualname__}", kept.cache_info()


def test_the_analysis_and_the_graph_of_a_model_end_with_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[weakref.ref[object]] = []

    def watched(kind: type[object], name: str) -> None:
        begin = getattr(kind, name)

        def begins(self: object, *given: Any, **named: Any) -> None:
            begun.append(weakref.ref(self))
            begin(self, *given, **named)

        monkeypatch.setattr(kind, name, begins)

    watched(ModelAnalysis, "__init__")
    watched(Graph, "__init__")
    judge(4)
    fixed(of_channels(4))
    gc.collect()
    assert len(begun) > 8
    assert [alive for ref in begun if (alive := ref()) is not None] == []


def test_caches_without_a_bound_hold_nothing_of_models() -> None:
    judge(4)
    before = dict(caches())
    for count in range(5, 15):
        judge(count)
    open_ended = {name: now.currsize for name, now in caches() if now.maxsize is None}
    assert len(open_ended) > 10
    assert [name for name, size in open_ended.items() if name not in before or size > before[name].currsize] == []
