"""Proofs of `.tflite` files with LiteRT: what is the same, what is not, and what cannot be told."""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxlint_cmsis.analysis.proof_results import Proof
from onnxlint_cmsis.fixers.proof import litert_process
from onnxlint_cmsis.fixers.proof.element_map import Held
from onnxlint_cmsis.fixers.proof.models import proven_model
from onnxlint_cmsis.fixers.proof.prove import Prover
from onnxlint_cmsis.formats.tflite.edit import TfliteEdit
from onnxlint_cmsis.formats.tflite.new_tables import NewTensor
from onnxlint_cmsis.formats.tflite.places import OperatorPlace, TensorPlace
from onnxlint_cmsis.ground import apart
from support.goldens import Told
from support.proofs import observe
from support.tflite_chains import Chain
from support.tflite_models import one_operator, tensor
from support.tflite_writer import operator_code, write

pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")

FILE = Path("m.tflite")


def prove(old: bytes, new: bytes, **more: Any) -> Proof:
    return Prover(lambda: proven_model(old, FILE), FILE, {}).prove(new, **more).proof


def two_layers(weights: int = 2, **more: Any) -> bytes:
    """A convolution, and a maximum that hides most of what it makes."""
    chain = Chain(0)
    source = chain.activation([1, 3, 3, 2], 0.05, 0, name="x", **more)
    pair = (
        chain.constant(np.array([[[[weights, 3]]], [[[0, 0]]]], np.int8), [0.5, 0.25], name="w"),
        chain.constant(np.array([5, 9], np.int32), [0.025, 0.0125], name="b"),
    )
    options = ("Conv2DOptions", {"padding": "VALID", "stride_w": 1, "stride_h": 1})
    first = chain.add("CONV_2D", [source, *pair], chain.activation([1, 3, 3, 2], 0.1, 0, name="c"), options)
    top = chain.constant(np.array([127], np.int8), [0.1], name="top")
    last = chain.add("MAXIMUM", [first, top], chain.activation([1, 3, 3, 2], 0.1, 0, name="y"))
    return chain.converted(source, last)


def test_a_model_equals_itself() -> None:
    data = two_layers()
    proof = prove(data, data, same={"c": Held()})
    assert (proof.equal, proof.ran, proof.runtime, proof.inputs, proof.inner) == (True, True, "LiteRT", 16, 1)
    assert [(difference.output, difference.elem_type, difference.largest) for difference in proof.differences] == [
        ("y", "tensor(int8)", 0.0)
    ]


def test_values_inside_tell_what_outputs_hide(told: Told) -> None:
    proof = prove(two_layers(), two_layers(3), same={"c": Held()})
    assert (proof.equal, proof.ran) == (False, True)
    told(proof.reason)
    told(proof.reason)
    assert prove(two_layers(), two_layers(3)).equal


def edited(old: bytes, work: Any) -> bytes:
    edit = TfliteEdit(str(FILE), old)
    work(edit)
    return edit.data()


def test_a_shape_that_the_kernels_contradict_is_a_fault() -> None:
    old = two_layers()
    new = edited(old, lambda edit: edit.set_shape(TensorPlace(0, 3), (1, 3, 3, 1)))
    reason = "tensor `c` states shape [1, 3, 3, 1], its operator makes [1, 3, 3, 2]"
    assert (prove(old, new).equal, prove(old, new).reason) == (False, reason)


def test_the_interface_stays(told: Told) -> None:
    old = two_layers()
    for new in (
        edited(old, lambda edit: edit.set_shape(TensorPlace(0, 0), (1, 3, 3, 1))),
        two_layers(shape_signature=[-1, 3, 3, 2]),
        old.replace(b"1.14.0", b"1.15.0"),
        old.replace(b"serving_default", b"serving_defaulT"),
    ):
        assert new != old
        told(prove(old, new).reason)


def test_other_subgraphs_stay(told: Told) -> None:
    def model(value: int) -> bytes:
        file = one_operator("RELU", [tensor("x", [1, 4]), tensor("y", [1, 4])])
        file["buffers"].append({"data": [value] * 4})
        other = {**file["subgraphs"][0], "tensors": [*file["subgraphs"][0]["tensors"], tensor("k", [1, 4], buffer=1)]}
        return write({**file, "subgraphs": [file["subgraphs"][0], other]})

    assert prove(model(1), model(1)).equal
    told(prove(model(1), model(2)).reason)


def test_what_litert_does_not_run_is_not_proven(told: Told) -> None:
    model = one_operator("CUSTOM", [tensor("x", [1, 4]), tensor("y", [1, 4])])
    data = write({**model, "operator_codes": [operator_code("CUSTOM", custom_code="Secret")]})
    proof = prove(data, data)
    assert (proof.equal, proof.ran) == (False, False)
    told(proof.reason)


def test_an_axis_that_a_single_scale_does_not_have_is_no_obstacle() -> None:
    model = one_operator("RELU", [tensor("x", [1, 4]), tensor("y", [1, 4])])
    for described in model["subgraphs"][0]["tensors"]:
        described["quantization"]["quantized_dimension"] = 3
    assert prove(write(model), write(model)).equal


def with_variable(step: int) -> bytes:
    """An SVDF, which remembers three inputs; `step` is what the first two count for, in one feature."""
    features, memory, rank = 2, 3, 1
    weights = struct.pack("<4f", 1, 2, 3, 4)
    times = struct.pack("<6f", *([0.0] * 2 + [1.0] + [float(step)] * 2 + [1.0]))

    def floats(name: str, shape: list[int], buffer: int = 0, **more: Any) -> dict[str, Any]:
        return {"name": name, "shape": shape, "type": "FLOAT32", "buffer": buffer, **more}

    graph = {
        "tensors": [
            floats("x", [1, 2]),
            floats("f", [features, 2], 1),
            floats("t", [features, memory], 2),
            floats("state", [1, memory * features], is_variable=True),
            floats("y", [1, features]),
        ],
        "inputs": [0],
        "outputs": [4],
        "operators": [
            {
                "opcode_index": 0,
                "inputs": [0, 1, 2, -1, 3],
                "outputs": [4],
                "builtin_options": ("SVDFOptions", {"rank": rank}),
            }
        ],
    }
    return write(
        {
            "version": 3,
            "operator_codes": [operator_code("SVDF")],
            "subgraphs": [graph],
            "buffers": [{}, {"data": list(weights)}, {"data": list(times)}],
        }
    )


def test_what_a_model_keeps_from_run_to_run_counts() -> None:
    """The two differ in what they make of earlier inputs alone, which are 0 in a first run."""
    assert prove(with_variable(0), with_variable(0)).equal
    proof = prove(with_variable(0), with_variable(1))
    assert (proof.equal, proof.ran) == (False, True)
    assert proof.reason.startswith("output `y` differs by ")


def test_values_inside_can_be_looked_at() -> None:
    values = observe(two_layers(), ["c", "nothing"], beside=FILE)
    assert values.keys() == {"c"}
    assert (values["c"].dtype, values["c"].shape) == (np.dtype("int8"), (1, 3, 3, 2))


@pytest.mark.skipif(not hasattr(__import__("os"), "kill"), reason="needs signals")
def test_a_crash_of_litert_ends_nothing_else(monkeypatch: pytest.MonkeyPatch, told: Told) -> None:
    monkeypatch.setattr(apart, "STARTED", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    proof = prove(two_layers(), two_layers())
    assert (proof.equal, proof.ran) == (False, False)
    told(proof.reason)


def test_overwritten_memory_shows_at_the_end(monkeypatch: pytest.MonkeyPatch, told: Told) -> None:
    monkeypatch.setattr(apart, "STARTED", f"{apart.STARTED}; import os; os.abort()")
    proof = prove(two_layers(), two_layers())
    told(proof.reason)


def test_a_run_without_end_is_ended(monkeypatch: pytest.MonkeyPatch, told: Told) -> None:
    monkeypatch.setattr(apart, "STARTED", "import time; time.sleep(60)")
    monkeypatch.setattr(apart, "LIMIT", 0.2)
    started = time.monotonic()
    told(prove(two_layers(), two_layers()).reason)
    assert time.monotonic() - started < 30


def test_without_litert_nothing_is_proven(monkeypatch: pytest.MonkeyPatch, told: Told) -> None:
    monkeypatch.setattr(litert_process, "find_spec", lambda _name: None)
    proof = prove(two_layers(), two_layers())
    assert (proof.equal, proof.ran) == (False, False)
    told(proof.reason)


def test_a_new_bias_is_proven() -> None:
    """Edits that add a tensor and one that adds an operator leave a file that LiteRT takes."""
    old = two_layers()

    def work(edit: TfliteEdit) -> None:
        bias = NewTensor("b2", "INT32", (2,), struct.pack("<2i", 5, 9), edit.tensor(TensorPlace(0, 2)).quantization)
        edit.set_input(OperatorPlace(0, 0), 2, edit.add_tensor(0, bias))

    assert prove(old, edited(old, work), same={"c": Held()}).equal
