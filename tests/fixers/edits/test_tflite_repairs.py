"""Repairs of layers of `.tflite` files, proven with LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from onnxlint_cmsis.fixers.planning.repairable import repairs_for
from onnxlint_cmsis.formats.format import ONNX, TFLITE
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.formats.tflite.read import read_tflite
from support import linter
from support.goldens import Told
from support.tflite_chains import Chain

pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")

FILE = "m.tflite"


def fix(data: bytes) -> linter.FixedModel:
    return linter.fixed(data, FILE, runtime="direct", targets=["cortex-m55"], release="7.0.0", min_gain=0)


def proven(fixed: linter.FixedModel, name: str, text: str) -> TfliteModel:
    """The fixed model, after a look at what the report says."""
    assert fixed.model is not None, fixed.result.reason
    assert [(row[1], row[2]) for row in map(tuple, fixed.result.rewrites)] == [(name, text)]
    assert fixed.result.proof is not None
    assert (fixed.result.proof.equal, fixed.result.proof.runtime) == (True, "LiteRT")
    assert not fix(fixed.model).result.changed
    return read_tflite(FILE, fixed.model)


def test_a_wide_depthwise_layer_without_a_bias_gets_zeros() -> None:
    """arm_depthwise_conv_s8_opt adds offsets to the address of the bias, null or not,."""
    chain = Chain(1)
    source = chain.activation([1, 6, 6, 140], 0.05, 0)
    weights = chain.constant(whole(chain, [1, 3, 3, 140]), chain.scales(140), axis=3)
    output = chain.activation([1, 6, 6, 140], 0.05, 0)
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
    last = chain.add("DEPTHWISE_CONV_2D", [source, weights], output, ("DepthwiseConv2DOptions", options))
    new = proven(fix(chain.model([source], [last])), "zero-bias", "gets a bias of zeros")
    main = new.subgraphs[0]
    bias = main.tensors[main.operators[0].inputs[2]]
    assert (bias.elem_type, bias.shape, new.bytes_of(bias.buffer)) == ("INT32", (140,), bytes(560))
    assert bias.quantization is not None
    scales = main.tensors[weights].quantization
    assert scales is not None
    assert bias.quantization.scales == pytest.approx([0.05 * scale for scale in scales.scales])


def whole(chain: Chain, shape: list[int]) -> np.ndarray:
    """Weights without a row or column of zeros."""
    return chain.rng.integers(1, 128, shape).astype(np.int8)


def row(*, layers: int = 1, padding: str = "SAME") -> bytes:
    """1x5 convolutions of a row of 8, every second place, all with the same weights."""
    chain = Chain(1)
    source = chain.activation([1, 1, 8, 4], 0.05, 0)
    scales = chain.scales(8)
    pair = chain.constant(whole(chain, [8, 1, 5, 4]), scales), chain.bias(source, scales)
    options = {"padding": padding, "stride_w": 2, "stride_h": 1}
    width = 4 if padding == "SAME" else 2
    outputs = [chain.activation([1, 1, width, 8], 0.05, 0) for _ in range(layers)]
    for output in outputs:
        chain.add("CONV_2D", [source, *pair], output, ("Conv2DOptions", options))
    if layers == 1:
        return chain.model([source], [outputs[0]])
    return chain.model([source], [chain.add("ADD", outputs, chain.activation([1, 1, width, 8], 0.1, 0))])


def test_a_row_gets_a_wider_window() -> None:
    text = "gets zeros along the width of its weights (2 before, 1 behind)"
    new = proven(fix(row()), "wider-window", text)
    assert new.subgraphs[0].tensors[1].shape == (8, 1, 8, 4)


def test_without_padding_zeros_go_behind_the_weights() -> None:
    new = proven(
        fix(row(padding="VALID")), "wider-window", "gets zeros along the width of its weights (0 before, 1 behind)"
    )
    assert new.subgraphs[0].tensors[1].shape == (8, 1, 6, 4)


def test_weights_that_two_layers_read_are_repaired_for_each() -> None:
    fixed = fix(row(layers=2))
    assert fixed.model is not None, fixed.result.reason
    main = read_tflite(FILE, fixed.model).subgraphs[0]
    assert [operator.inputs[1] for operator in main.operators[:2]] == [1, 1]
    assert main.tensors[1].shape == (8, 1, 8, 4)
    assert not fix(fixed.model).result.changed


def test_repairs_that_need_operators_say_so(told: Told) -> None:
    rows = {row.name: row for row in repairs_for(TFLITE)}
    assert {"zero-bias", "wider-window", "split-groups", "explicit-pad"} <= rows.keys()
    assert rows.keys() <= {row.name for row in repairs_for(ONNX)}
    told(rows[name].refusal(None, None) for name in ("split-groups", "explicit-pad"))  # type: ignore[arg-type]
