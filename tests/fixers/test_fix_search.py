"""Classes by which a proof fails: found from the first tensor that differs, with few proofs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from onnxlint_cmsis.analysis.proof_results import Proof
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization
from onnxlint_cmsis.fixers.proof.prove import ProofOutcome, Prover, Spot
from support import linter
from support.conv_chains import six_wide
from support.dims_graphs import Builder
from support.versions import since

SPOT = Spot(Optimization.DEFAULT, ())


def fixed(model, **settings):
    return linter.fixed(model, **{"fix_policy": "align", "targets": ["cortex-m4"], **settings})


def changed(result):
    """First layer that makes each class that changes."""
    return {group.deciders[0] for group in result.classes}


@pytest.fixture
def proofs(monkeypatch):
    """Every proof that is made."""
    done, real = [], Prover.prove

    def prove(self, new, **options):
        done.append(real(self, new, **options))
        return done[-1]

    monkeypatch.setattr(Prover, "prove", prove)
    return done


@pytest.fixture
def doubted(monkeypatch):
    """Makes proofs fail at the layers named so that got more outputs; counts the proofs."""
    tries, real = [], Prover.prove

    def install(*bad, seen=True):
        def wrong(new):
            graph = onnx.load_model_from_string(new).graph
            arrays = {initializer.name: initializer.dims[0] for initializer in graph.initializer}
            return [node.output[0] for node in graph.node if node.name in bad and arrays[node.input[1]] > 6]

        def prove(self, new, **options):
            tries.append(new)
            if wrong(new):
                return ProofOutcome(Proof(False, "output `y` differs by 1", True, (), 16), SPOT if seen else None)
            return real(self, new, **options)

        monkeypatch.setattr(Prover, "prove", prove)
        monkeypatch.setattr(Prover, "look", lambda _self, new, _same, _spot: next(iter(wrong(new)), ""))
        return tries

    return install


@pytest.mark.parametrize("bad", [{0}, {4}, {1, 6}, {3, 4}, set(range(0, 8, 2))])
def test_the_classes_that_a_proof_fails_by_are_found_with_one_more_proof(doubted, bad):
    names = {f"conv{index}" for index in bad}
    tries = doubted(*names)
    run = fixed(six_wide(8))
    assert changed(run.result) == {f"conv{index}" for index in range(8)} - names
    assert {class_left.layers[0] for class_left in run.result.left} == names
    assert all("output `y` differs by 1" in class_left.reason for class_left in run.result.left)
    assert run.result.proof.equal
    assert len(tries) == 2


def test_the_number_of_proofs_is_bounded_where_they_do_not_say_what_differs(doubted, told):
    tries = doubted("conv6", seen=False)
    result = fixed(six_wide(8)).result
    assert len(tries) <= 4
    assert changed(result) == {f"conv{index}" for index in range(4)}
    told({class_left.reason for class_left in result.left})


def test_a_model_of_which_no_class_can_be_proven_is_left_with_the_reason(doubted, told):
    tries = doubted(*(f"conv{index}" for index in range(3)))
    run = fixed(six_wide(3))
    assert run.model is None
    told(run.result.reason)
    assert not run.result.failed
    assert len(tries) == 1


def some_float_weights(blocks, real):
    """Layers of twelve channels, four of them dead; the layers in `real` have float weights, all others int8.

    ONNX Runtime quantizes float weights by the largest one, which here is where a dead channel is read. All numbers
    are so that sums of floats are exact.
    """
    build = Builder(opset=17)
    step, zero = build.const(0.125, np.float32), build.const(0, np.int8)
    data = build.op("DequantizeLinear", build.input("x", 1, 12, 4, 4, elem_type=TensorProto.INT8), step, zero)
    for block in range(blocks):
        steps = build.random.integers(-50, 51, (12, 12, 1, 1))
        steps[8:] *= block == blocks - 1
        if block in real:
            steps[:8, 8:] = 224
            weights = build.const(steps.astype(np.float32) / 128)
        else:
            weights = build.op("DequantizeLinear", build.const(steps.astype(np.int8)), build.const(1 / 128, np.float32))
        data = build.op("QuantizeLinear", build.op("Conv", data, weights, name=f"conv{block}"), step, zero)
        data = data if block == blocks - 1 else build.op("DequantizeLinear", data, step, zero)
    return build.model(data)


@since("onnxruntime", (1, 23), "this ONNX Runtime quantizes no float weights")
@pytest.mark.parametrize("bad", [{3}, {2, 5}])
def test_float_weights_that_onnx_runtime_quantizes_cost_two_proofs(proofs, bad, told):
    result = fixed(some_float_weights(8, bad), fix_policy="faster").result
    assert [proof.proof.equal for proof in proofs] == [False, True]
    told(proofs[0].proof.reason)
    assert {class_left.layers[0] for class_left in result.left} == {f"conv{index - 1}" for index in bad}
    assert changed(result) == {f"conv{index}" for index in range(7)} - {f"conv{index - 1}" for index in bad}
    assert all((group.have, group.want) == (12, 8) for group in result.classes)
