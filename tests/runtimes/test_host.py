"""What `layers --against-host` tells, held against LiteRT and PyPI's TensorFlow Lite Micro."""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from model_mutations import mutated
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.model.fixed_point import Multiplier, quantize_multiplier, requantize
from onnxlint_cmsis.model.model_error import ModelError
from onnxlint_cmsis.output.host_rows import HOSTS, host_table
from onnxlint_cmsis.runtimes.host.hosts import LITERT
from support.goldens import Told, check_golden
from support.host_agreement import Agreement, Seen, agreements
from support.host_layers import LAYERS, random_layer
from support.linter import analysed, layered, linted
from support.models import one_node
from support.nightly import one_of
from support.paths import SHARED
from support.targets import target_of
from support.tflite_chains import Chain
from support.tflite_steps import random_chain
from support.versions import since

pytest.importorskip("ai_edge_litert", reason="the package ai-edge-litert is not installed")
pytest.importorskip("tflite_micro", reason="the package tflite-micro is not installed")

SEEDS = 4
MODELS = 6
REFUSED_WIDE = {
    "SQUARED_DIFFERENCE", "LESS", "EQUAL", "GREATER_EQUAL", "HARD_SWISH", "ELU", "REDUCE_MAX", "REDUCE_MIN",
    "RESIZE_BILINEAR",
}  # fmt: skip
"""Layers of int16 that the device or LiteRT refuses."""


def held(kind: str, folder: Path, *, wide: bool) -> list[Agreement]:
    """Random layers of a kind in every host, where the device takes them."""
    agreed: list[Agreement] = []
    for seed in range(SEEDS):
        layer = random_layer(kind, seed, wide=wide)
        file = folder / f"{seed}.tflite"
        file.write_bytes(layer.data)
        try:
            agreed += agreements(file, layer.feeds)
        except RuntimeError:
            continue
    return [agreement for agreement in agreed if agreement.layers]


@since("ai-edge-litert", (2, 3), "what is told is told of LiteRT 2.3, as `Host` says")
@pytest.mark.parametrize("wide", [False, True], ids=["int8", "int16"])
@pytest.mark.parametrize("kind", LAYERS)
def test_no_layer_is_off_by_more_than_is_told(tmp_path: Path, kind: str, wide: bool) -> None:
    agreements = held(kind, tmp_path, wide=wide)
    assert bool(agreements) != (wide and kind in REFUSED_WIDE)
    assert [agreement.untold for agreement in agreements if agreement.untold] == []


def test_no_tensor_of_a_model_is_off_by_more_than_is_told(tmp_path: Path) -> None:
    layers: list[Seen] = []
    outputs: list[Seen] = []
    for seed in range(MODELS):
        file = tmp_path / f"{seed}.tflite"
        file.write_bytes(random_chain(seed, steps=4, wide=seed % 3 == 0))
        for agreement in agreements(file):
            assert agreement.untold == []
            layers += agreement.layers
            outputs += agreement.outputs
    assert any(seen.off for seen in layers)
    assert any(seen.told for seen in outputs)


def test_sums_of_two_integers_differ_where_it_is_told(tmp_path: Path) -> None:
    """All pairs: XNNPACK's sums are told one by one, so that a layer is told to be equal exactly where it is."""
    shares = []
    for seed in range(SEEDS):
        layer = random_layer("ADD", seed, wide=False)
        file = tmp_path / f"{seed}.tflite"
        file.write_bytes(layer.data)
        for agreement in agreements(file, layer.feeds):
            for seen, told in zip(agreement.layers, analysed(file).against_hosts[0].layers, strict=True):
                if agreement.host is LITERT:
                    assert (seen.told, seen.part) == (told.bound.steps, pytest.approx(told.bound.share or 0.0))
                    shares.append(seen.part)
    assert max(shares) > 0


def test_channels_whose_sums_are_all_clamped_are_equal(tmp_path: Path) -> None:
    """A dense layer whose biases lie beyond what a result holds: both round to the same end."""
    for bias, equal in (([10**6, -(10**6)], True), ([10**6, 0], False)):
        chain = Chain(0)
        source = chain.activation([1, 8], 0.1, 0)
        weights = chain.constant(np.full((2, 8), 3, np.int8), [0.02])
        constant = chain.constant(np.array(bias, np.int32), [0.002])
        result = chain.add(
            "FULLY_CONNECTED",
            [source, weights, constant],
            chain.activation([1, 2], 0.05, 0),
            ("FullyConnectedOptions", {}),
        )
        file = tmp_path / "dense.tflite"
        file.write_bytes(chain.converted(source, result))
        (told,) = analysed(file).against_hosts[0].layers
        assert told.equal is equal
        assert not any(agreement.untold for agreement in agreements(file))


@pytest.mark.parametrize(
    ("biases", "steps"),
    [(np.zeros(5, np.int32), 1), (np.zeros((2, 1), np.int32), 1), (np.zeros(2, np.float32), None)],
)
def test_biases_that_do_not_fit_a_damaged_layer_are_no_error(
    tmp_path: Path, biases: np.ndarray, steps: int | None
) -> None:
    """Floats are read as integers on the device: nothing bounds the difference."""
    chain = Chain(0)
    source, result = chain.activation([1, 8], 0.1, 0), chain.activation([1, 2], 0.05, 0)
    weights, bias = chain.constant(np.full((2, 8), 3, np.int8), [0.02]), chain.constant(biases, [0.002])
    chain.add("FULLY_CONNECTED", [source, weights, bias], result, ("FullyConnectedOptions", {}))
    file = tmp_path / "dense.tflite"
    file.write_bytes(chain.converted(source, result))
    (told,) = analysed(file).against_hosts[0].layers
    assert told.bound.steps == steps


def test_weights_without_outputs_in_a_damaged_layer_are_no_error(tmp_path: Path) -> None:
    chain = Chain(0)
    source, result = chain.activation([1, 2, 2, 8], 0.1, 0), chain.activation([1, 2, 2, 4], 0.05, 0)
    weights = chain.constant(np.zeros((4, 1, 1, 8), np.int8), [0.02])
    chain.tensors[weights]["shape"] = [0, 1, 1, 8]
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
    chain.add("CONV_2D", [source, weights, -1], result, ("Conv2DOptions", options))
    file = tmp_path / "conv.tflite"
    file.write_bytes(chain.converted(source, result))
    assert len(analysed(file).against_hosts[0].layers) == 1


def test_a_relu6_to_another_scale_is_wrong_on_the_device(tmp_path: Path, told: Told) -> None:
    layer = random_layer("RELU6 to another scale", 0, wide=False)
    file = tmp_path / "relu6.tflite"
    file.write_bytes(layer.data)
    for agreement in agreements(file, layer.feeds):
        (seen,) = agreement.layers
        assert seen.told is None
        assert seen.off > 10
    (finding,) = [finding for finding in linted(file).findings if finding.cause == "unequal-scales"]
    assert finding.effect is Effect.WRONG
    told(analysed(file).against_hosts[0].layers[0].why)


def pointwise_model(rng: np.random.Generator, shift: float, folder: Path) -> tuple[Path, np.ndarray, float]:
    """A quantized 1x1 convolution between Q/DQ pairs, its weights, and the factor of its sums."""
    weights, scales = (
        rng.integers(-127, 128, (8, 16, 1, 1)).astype(np.int8),
        (0.04, 0.01, 0.0004 * 2.0 ** (0.5 - shift)),
    )
    numbers = {"w": weights, "zero": np.int8(0)}
    numbers |= {name: np.float32(scale) for name, scale in zip(("sx", "sw", "sy"), scales, strict=True)}
    pairs = [("DequantizeLinear", ["x", "sx", "zero"], "a"), ("DequantizeLinear", ["w", "sw", "zero"], "b")]
    pairs += [("Conv", ["a", "b"], "c"), ("QuantizeLinear", ["c", "sy", "zero"], "y")]
    graph = helper.make_graph(
        [helper.make_node(op, inputs, [output]) for op, inputs, output in pairs],
        "conv",
        [helper.make_tensor_value_info("x", TensorProto.INT8, [1, 16, 12, 12])],
        [helper.make_tensor_value_info("y", TensorProto.INT8, [1, 8, 12, 12])],
        [numpy_helper.from_array(np.asarray(values), name) for name, values in numbers.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    file = folder / "conv.onnx"
    onnx.save(model, file)
    factor = float(np.float32(scales[0])) * float(np.float32(scales[1])) / float(np.float32(scales[2]))
    return file, weights, factor


@pytest.mark.parametrize("shift", [0, -1, -2, -4, -6])
@pytest.mark.parametrize("level", [Optimization.SHIPPED, Optimization.NONE])
def test_a_layer_in_onnx_runtime_is_off_by_what_is_told(tmp_path: Path, shift: int, level: Optimization) -> None:
    rng = np.random.default_rng(0)
    file, weights, factor = pointwise_model(rng, shift, tmp_path)
    (told,) = analysed(file).against_hosts
    (layer,) = told.layers
    data = rng.integers(-20 if shift else -2, 21 if shift else 3, (1, 16, 12, 12)).astype(np.int8)
    sums = np.einsum("oc,nchw->nohw", weights[:, :, 0, 0].astype(np.int64), data.astype(np.int64))
    device = np.clip(requantize(sums, quantize_multiplier(factor)), -128, 127)
    result = RuntimeSession(file.read_bytes(), level).run({"x": data})[0]
    off = np.abs(result.astype(np.int64) - device)
    free = np.abs(device) < 127
    assert layer.bound.steps == 1
    assert layer.bound.share == (2.0 ** (quantize_multiplier(factor).shift - 1) if shift else 0)
    assert off.max() <= 1
    assert (off[free] > 0).mean() <= 1.3 * (layer.bound.share or 0) + 0.01


def test_one_rounding_and_two_differ_as_often_as_is_told() -> None:
    numbers = np.arange(-200_000, 200_000, dtype=np.int64)
    for shift, share in ((0, 0.0), (-1, 0.25), (-2, 0.125), (-4, 0.03125), (-6, 0.0078125)):
        multiplier = quantize_multiplier(0.7071 * 2.0**shift)
        once = (numbers * multiplier.value + (1 << (30 - shift))) >> (31 - shift)
        off = np.abs(once - requantize(numbers, multiplier))
        assert off.max() <= (1 if share else 0)
        assert abs((off > 0).mean() - share) < 0.01


def test_a_multiplier_is_the_nearest_of_31_bits() -> None:
    assert quantize_multiplier(0.5) == Multiplier(1 << 30, 0)
    assert quantize_multiplier(1 - 2.0**-40) == Multiplier(1 << 30, 1)
    assert quantize_multiplier(2.0**-33) == Multiplier(0, 0)


def residual_model(folder: Path) -> str:
    """A file with layers that may differ in one host, in both and in none."""
    file = folder / "model.tflite"
    file.write_bytes(random_chain(1, steps=4))
    return str(file)


def test_layers_that_may_differ_have_a_line_and_the_others_one_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    residual_model(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["layers", "--isolated", "--against-host", "--target", "cortex-m4", "model.tflite"]) == 0
    before, head, block = capsys.readouterr().out.partition(HOSTS)
    assert before
    check_golden("screens/layers-against-host", f"{head}{block}")


def test_the_page_has_the_rows_of_the_screen(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["report", "--isolated", "--target", "cortex-m4", residual_model(tmp_path), "-o", str(page)]) == 0
    section = page.read_text(encoding="utf-8").partition('<section id="desktop">')[2].partition("</section>")[0]
    table = host_table(analysed(tmp_path / "model.tflite").against_hosts)
    assert re.findall(r'<th scope="row">([^<]+)</th>', section) == [label for label, _ in table.rows]
    assert [re.findall(r"<td>([^<]+)</td>", row) for row in section.split("<tr>")[2:]] == [
        [*cells] for _, cells in table.rows
    ]
    assert len(re.findall("<dt>output t19</dt>", section)) == len(table.hosts)


def test_a_page_of_a_float_model_says_nothing_of_the_desktop(tmp_path: Path) -> None:
    file, page = tmp_path / "float.onnx", tmp_path / "page.html"
    file.write_bytes(one_node("Relu", [1, 8], {}).SerializeToString())
    assert main(["report", "--isolated", str(file), "-o", str(page)]) == 0
    assert 'id="desktop"' not in page.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("error")
def test_a_damaged_layer_has_bounds_or_reasons(tmp_path: Path) -> None:
    """Without outputs, sizes or scales that make sense."""
    layers = [random_layer(kind, 0, wide=wide).data for kind in LAYERS for wide in (False, True)]
    told, file = 0, tmp_path / "damaged.tflite"
    for seed in range(400):
        chance = random.Random(seed)
        file.write_bytes(mutated(chance.choice(layers), chance, "parts"))
        try:
            model = analysed(file)
        except ModelError:
            continue
        table = host_table(model.against_hosts)
        assert all(why for _, _, why in table.reasons)
        told += 1
    assert told > 100


def test_scales_and_ranks_of_damaged_files_are_no_internal_error(tmp_path: Path) -> None:
    chain = Chain(0, wide=True)
    data = chain.activation([1, 8])
    chain.add("TANH", [data], chain.activation([1, 8], math.inf))
    products = Chain(0)
    left, right = products.activation([1, 2, 3]), products.activation([1, 3, 2])
    products.add("BATCH_MATMUL", [left, right], products.activation([1, 1, 1, 2, 2]), ("BatchMatMulOptions", {}))
    for number, (network, inputs) in enumerate(((chain, [data]), (products, [left, right]))):
        file = tmp_path / f"{number}.tflite"
        file.write_bytes(network.model(inputs, [len(network.tensors) - 1]))
        assert [row.verdict for row in analysed(file).execution.report(target_of("cortex-m4", "main")).operators]
        assert layered(file).layers


THIRD_PARTY = (
    "ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "hello_world_int8", "micro_speech_quantized",
    "simple_add_model", "model_ToyCar_quant_fullint", "trained_lstm_int8", "leaky_relu0", "conv20", "sub0", "add16",
    "quantize0", "pad0", "strided_slice0", "vww_96_int8", "person_detect", "fomo_face_detection",
)  # fmt: skip
"""Models of int8 and int16, of many operators, that LiteRT and the device run."""


@pytest.mark.skipif(not SHARED.exists(), reason="the folder of third-party models is not there")
@pytest.mark.parametrize("name", one_of(2, THIRD_PARTY))
def test_no_tensor_of_a_third_party_model_is_off_by_more_than_is_told(name: str) -> None:
    cases = [*agreements(SHARED / "models" / "tflite" / f"{name}.tflite")]
    assert cases
    for agreement in cases:
        assert agreement.untold == []
        assert agreement.layers


@pytest.mark.skipif(not SHARED.exists(), reason="the folder of programs is not there")
def test_a_program_that_no_desktop_reads_is_refused(capsys: pytest.CaptureFixture[str], told: Told) -> None:
    program = min((SHARED / "cases" / "pte").glob("*_m55.pte"))
    assert main(["layers", "--isolated", "--against-host", str(program)]) == 2
    told(capsys.readouterr().err)
    assert analysed(program).against_hosts == ()


def test_json_has_every_layer_and_output_of_both_hosts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["layers", "--isolated", "--output-format", "json", residual_model(tmp_path)]
    assert main([*words, "--against-host"]) == 0
    report = json.loads(capsys.readouterr().out)
    shipped, reference = report["hosts"]
    assert (shipped["host"], reference["host"]) == ("litert", "litert-reference")
    operators = {layer["node"] for layer in report["layers"]}
    assert {layer["node"] for layer in shipped["layers"]} == operators
    assert all((layer["steps"] == 0) != ("why" in layer) for layer in (*shipped["layers"], *reference["layers"]))
    assert all(layer["steps"] == 1 for layer in shipped["layers"] if layer["op"] == "CONV_2D")
    assert all(layer["steps"] == 0 for layer in reference["layers"] if layer["op"] == "CONV_2D")
    assert main(words) == 0
    assert "hosts" not in json.loads(capsys.readouterr().out)
