"""Models that would run without end or fill the memory are not run for a proof, and a sentence says why."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.fixers.proof import onnx_runtime
from onnxlint_cmsis.fixers.proof.models import proven_model
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession, run_within
from onnxlint_cmsis.fixers.proof.prove import Prover
from onnxlint_cmsis.fixers.proof.proven import RuntimeRefusalError
from support import fixable_models


def with_nodes(nodes: list[onnx.NodeProto], output: str, **constants: np.ndarray) -> bytes:
    """A model that a fix finds something in, with further nodes."""
    model = onnx.load_model_from_string(fixable_models.gaining())
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()
    )
    model.graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, None))
    return model.SerializeToString()


def endless() -> bytes:
    """A Loop of 2^40 turns."""
    types = {"i": TensorProto.INT64, "more": TensorProto.BOOL, "same": TensorProto.BOOL}
    values = {
        name: helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), [1] if name in "st" else [])
        for name in ("i", "more", "same", "s", "t")
    }
    nodes = [helper.make_node("Identity", ["more"], ["same"]), helper.make_node("Add", ["s", "s"], ["t"])]
    body = helper.make_graph(nodes, "b", [values["i"], values["more"], values["s"]], [values["same"], values["t"]])
    loop = helper.make_node("Loop", ["turns", "", "start"], ["y2"], body=body)
    return with_nodes([loop], "y2", turns=np.int64(2**40), start=np.ones(1, np.float32))


def large(numbers: int) -> bytes:
    nodes = [
        helper.make_node("ConstantOfShape", ["sizes"], ["filled"]),
        helper.make_node("ReduceMean", ["filled"], ["y2"], axes=[0]),
    ]
    return with_nodes(nodes, "y2", sizes=np.array([numbers], np.int64))


def test_a_loop_without_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_runtime, "PATIENCE", 0.3)
    data = endless()
    proof = Prover(lambda: proven_model(data, None), None, {}).prove(data).proof
    assert (proof.equal, proof.reason) == (
        False,
        "ONNX Runtime cannot run the model as it is: a run takes more than 0.3 seconds",
    )


def test_a_run_in_time_has_no_limit_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_runtime, "PATIENCE", 60.0)
    model = onnx.load_model_from_string(fixable_models.gaining())
    feed = {value.name: np.zeros([d.dim_value for d in value.type.tensor_type.shape.dim], np.float32)
            for value in model.graph.input}  # fmt: skip
    session = RuntimeSession(model.SerializeToString(), Optimization.NONE)
    assert len(session.run(feed)) == len(model.graph.output)
    with pytest.raises(RuntimeRefusalError, match="absent"):
        session.run({**feed, "absent": np.zeros(1, np.float32)})


def gathering() -> bytes:
    """A Loop of 2^40 turns that keeps 4 MB of each."""
    types = {"i": TensorProto.INT64, "more": TensorProto.BOOL, "same": TensorProto.BOOL}
    values = {
        name: helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), None if name in "stg" else [])
        for name in ("i", "more", "same", "s", "t", "g")
    }
    nodes = [helper.make_node(op, [given], [result]) for op, given, result in
             (("Identity", "more", "same"), ("Relu", "s", "t"), ("Relu", "s", "g"))]  # fmt: skip
    inputs, outputs = [values["i"], values["more"], values["s"]], [values["same"], values["t"], values["g"]]
    loop = helper.make_node("Loop", ["turns", "", "start"], ["last", "kept"], body=helper.make_graph(
        nodes, "b", inputs, outputs))  # fmt: skip
    mean = helper.make_node("ReduceMean", ["kept"], ["y2"])
    return with_nodes([loop, mean], "y2", turns=np.int64(2**40), start=np.ones(1 << 20, np.float32))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell what a process holds")
def test_a_loop_that_gathers_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 300 bytes took 4.8 GB in 18 seconds."""
    monkeypatch.setattr(onnx_runtime, "ROOM", 100_000_000)
    data = gathering()
    proof = Prover(lambda: proven_model(data, None), None, {}).prove(data).proof
    why = "ONNX Runtime cannot run the model as it is: a run takes more than 100,000,000 bytes"
    assert (proof.equal, proof.reason) == (False, why)


def test_time_that_other_programs_take_is_not_a_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine runs a sound model for long by the clock."""
    monkeypatch.setattr(onnx_runtime, "PATIENCE", 0.3)
    options = []

    class Waiting:
        def run(self, _names: object, _feed: object, given: Any) -> list[int]:
            options.append(given)
            time.sleep(0.6)
            return [1]

    assert run_within(Waiting(), {}) == [1]
    assert not options[0].terminate


@pytest.mark.parametrize("size", [2**31, 2**40, 2**62])
def test_a_size_above_any_tensors_counts_too(size: int) -> None:
    """It was unknown to the reader, and counted as 1."""
    data = large(size)
    proof = Prover(lambda: proven_model(data, None), None, {}).prove(data).proof
    assert not proof.equal
    assert f"`filled` has the size {size}" in proof.reason


@pytest.mark.parametrize("numbers", [2**28, 2**30])
def test_a_model_of_more_values_than_any_memory_holds_is_not_run(numbers: int) -> None:
    """300 bytes more of a file took 4.3 GB."""
    data, sound = large(numbers), fixable_models.gaining()
    proof = Prover(lambda: proven_model(data, None), None, {}).prove(data).proof
    assert not proof.equal
    assert "values; models of up to 134,217,728 are run" in proof.reason
    other = Prover(lambda: proven_model(sound, None), None, {}).outputs(data)
    assert not other.equal
    assert "values; models of up to 134,217,728 are run" in other.reason
