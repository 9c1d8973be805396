"""The first line says `in builds with checks` only where a build without checks goes on."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.analysis.verdict import WORDS
from onnxlint_cmsis.ground.findings import Effect
from support import paths
from support.linter import linted
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

USERS = paths.SHARED / "cases" / "users"
CHECKS = "in builds with checks"


def softmax(scale):
    tensors = [tensor("x", [1, 8], scale=(scale,)), tensor("y", [1, 8], scale=(1 / 256,))]
    tensors[1]["quantization"]["zero_point"] = [-128]
    return write(one_operator("SOFTMAX", tensors, ("SoftmaxOptions", {"beta": 1.0})))


def dense(rank):
    tensors = [
        tensor("x", [*[1] * (rank - 1), 16]),
        tensor("w", [8, 16], buffer=1),
        tensor("b", [8], buffer=2, type="INT32", scale=(0.25,)),
        tensor("y", [*[1] * (rank - 1), 8]),
    ]
    buffers = [{}, {"data": [1] * 128}, {"data": [0] * 32}]
    return write(one_operator("FULLY_CONNECTED", tensors, ("FullyConnectedOptions", {}), buffers=buffers))


@pytest.mark.parametrize(
    ("model", "condition"), [(softmax(1e-9), ""), (dense(5), CHECKS)], ids=["every build", "a build with checks"]
)
def test_which_builds_stop(model, condition):
    verdicts = linted(model, "m.tflite").verdicts
    assert {(verdict.word, verdict.condition) for verdict in verdicts} == {(WORDS[Effect.STOPS], condition)}


def test_what_every_build_does_is_said_once(told):
    (finding,) = (said for said in linted(softmax(1e-9), "m.tflite").findings if said.code == "CNN401")
    told(finding.message)


@pytest.mark.skipif(not USERS.exists(), reason="the shared cases are not beside the project")
def test_the_reported_softmax():
    verdicts = linted(USERS / "old_zero.tflite").verdicts
    assert {(verdict.word, verdict.condition) for verdict in verdicts} == {(WORDS[Effect.STOPS], "")}
