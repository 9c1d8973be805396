"""What a number says of a lane holds in LiteRT; fixes are equal for every input, and lies are refused."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

from onnxlint_cmsis.analysis.certificate.reading import Model
from onnxlint_cmsis.analysis.certificate.table import Numbers
from onnxlint_cmsis.analysis.certificate.values import Lanes
from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.fixers.proof.litert import LiteRtModel
from onnxlint_cmsis.formats.format import ONNX, TFLITE
from onnxlint_cmsis.formats.tflite.read import read_tflite
from support import linter
from support.draws import draws
from support.equal_files import onnx_equal, tflite_equal
from support.fix_random import changed_model
from support.lies import DIFFERS, OUTCOMES, REFUSED, Pair, planned, tell_lies
from support.litert_outputs import feeds
from support.random_graph import Style
from support.random_models import QDQ, QLINEAR, IntegerModel
from support.repairable_models import convolution, operator_format
from support.tflite_plans import case
from support.tflite_steps import as_converted, random_chain
from support.two_convolutions import BIAS, FIRST, SECOND, layers, steady_pair

EXAMPLES = int(os.environ.get("ONNXLINT_EXAMPLES") or draws(60))
"""Lies that are told."""


@pytest.mark.parametrize("seed", range(12))
def test_lanes_with_one_number_hold_one_value(seed: int) -> None:
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    data = planned(seed).new
    table = Numbers()
    model = Model(TFLITE.load("m.tflite", data), table)
    file, process = read_tflite("m.tflite", data).subgraphs[0], LiteRtModel()
    process.load(data, 1)
    index = {tensor.name: number for number, tensor in enumerate(file.tensors)}
    names = [name for name, value in model.values.items() if isinstance(value, Lanes) and value.integers]
    assert len(names) > 2
    for feed in feeds(data, 3):
        held: dict[int, int] = {}
        for name, values_held in zip(names, process.run(feed, tuple(index[name] for name in names)), strict=True):
            value = model.values[name]
            assert isinstance(value, Lanes)
            for lane, number in zip(model.spread(value).ids.flat, values_held.flat, strict=True):
                assert table.low[lane] <= number <= table.high[lane], name
                assert held.setdefault(int(lane), int(number)) == number, name


SAID = 0.95
"""Share of random fixes that are equal for every input."""
CHAINS: dict[str, Callable[[int], bytes]] = {
    "int8": random_chain, "int16": lambda seed: random_chain(seed, wide=True), "converted": as_converted,
}  # fmt: skip


@pytest.mark.parametrize("kind", CHAINS)
def test_plans_are_equal_for_every_input(kind: str) -> None:
    cases = [
        case(CHAINS[kind](seed), {leaf: random.Random(f"{seed} {leaf}").randrange(3) for leaf in range(99)})
        for seed in range(1000, 1020)
    ]
    changed_ = [(resized.data, resized.new) for resized in cases if resized.data != resized.new]
    assert len(changed_) > 15
    assert sum(tflite_equal(*pair) for pair in changed_) >= SAID * len(changed_)


@pytest.mark.parametrize("style", [QDQ, QLINEAR], ids=["QDQ", "QOperator"])
def test_plans_of_onnx_models_are_equal_for_every_input(style: Style) -> None:
    pairs = [changed_model(IntegerModel(style, seed=seed).model(), seed) for seed in range(30)]
    changed_ = [pair for pair in pairs if pair is not None]
    assert len(changed_) > 10
    assert sum(onnx_equal(*pair) for pair in changed_) >= SAID * len(changed_)


def test_one_bias_for_all_lanes_is_broadcast() -> None:
    """A QGemm of one lane, with a bias of one number, gets a second lane."""
    pair = changed_model(IntegerModel(QLINEAR, seed=111).model(), 111)
    assert pair is not None
    assert any(node.op_type == "QGemm" for node in pair[0].graph.node)
    assert onnx_equal(*pair)


VARIED = (5, 8, 11, 14, 15, 25, 29, 33)
"""Random models whose outputs are not the same for every input."""


def test_lies_are_refused() -> None:
    """One thing of the new file is another; what is still called equal gives equal outputs."""
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    quantized = [Pair(f"{order}.onnx", *[layers(FIRST, SECOND, BIAS, order).SerializeToString()] * 2)
                 for order in ("qdq", "qlinear")]  # fmt: skip
    counted = tell_lies([*map(planned, VARIED), *quantized, Pair("steady.onnx", *steady_pair())], EXAMPLES, 1)
    ends = {outcome: sum(counted[lie] for lie in counted if lie[1] == outcome) for outcome in OUTCOMES}
    assert ends[REFUSED] > EXAMPLES / 3
    assert ends[DIFFERS] == 0


def test_repairs_are_equal_for_every_input() -> None:
    """A zero bias; a Pad in front of a QLinearConv that pads on one side alone."""
    for model in (convolution((1, 8, 6, 6), (8, 8, 3, 3), bias=False), operator_format(pads=[0, 0, 1, 1])):
        fixed = linter.fixed(model, targets=["cortex-m55"], release="7.0.0", min_gain=0)
        if fixed.model is not None:
            assert verify(ONNX.load("m.onnx", model.SerializeToString()), ONNX.load("m.onnx", fixed.model)).equal
