"""`layers --calibration`: what rounding to 8 and 16 bits changes in float layers, over samples of a user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

from onnxlint_cmsis.cli.engine import layers_report
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.ground.errors import CalibrationError
from onnxlint_cmsis.output.layers import LayersReport
from support import paths
from support.goldens import Told, check_golden
from support.models import text
from support.quantizer_runs import NETWORK, WEIGHTS
from support.tflite_models import streaming_model
from support.tflite_writer import write

CORTEX_M4 = ("layers", "--isolated", "--target", "cortex-m4")


def report(model: onnx.ModelProto, samples: Any, folder: Path, assume: str = "s8") -> LayersReport:
    """The layers of a model, with errors over an array of samples, or over files at a path."""
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    if isinstance(samples, np.ndarray):
        np.save(folder / "samples.npy", samples)
        samples = folder / "samples.npy"
    given_settings = make_settings(str(path), targets=["cortex-m4"], assume=assume)
    return layers_report(str(path), given_settings, calibration=str(samples))


def errors(model: onnx.ModelProto, samples: Any, folder: Path, assume: str = "s8") -> dict[str, float | None]:
    return {layer.node: layer.error for layer in report(model, samples, folder, assume).layers}


def network(seed: int = 0) -> onnx.ModelProto:
    model, rng = text(NETWORK.strip()), np.random.default_rng(seed)
    for name, shape in WEIGHTS.items():
        model.graph.initializer.append(numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name))
    return model


POINTWISE = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] y) {
    [conv] c = Conv(x, w)
    [clamp] y = Relu(c)
}
"""


def on_grid(values: np.ndarray, bits: int) -> np.ndarray:
    """An activation of 8 bits with a zero-point, of 16 bits without."""
    values = values.astype(np.float64)
    if bits == 16:
        step = np.abs(values).max() / 32767
        return np.asarray(np.round(values / step) * step)
    low, high = min(values.min(), 0), max(values.max(), 0)
    step = (high - low) / 255
    zero = np.round(-128 - low / step)
    return np.asarray((np.clip(np.round(values / step) + zero, -128, 127) - zero) * step)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**31), st.sampled_from((8, 16)))
def test_a_layer_worked_out_by_hand(tmp_path_factory: pytest.TempPathFactory, seed: int, bits: int) -> None:
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(5, 3, 4, 4)).astype(np.float32), rng.normal(size=(2, 3, 1, 1)).astype(np.float32)
    model = text(POINTWISE.strip())
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    scales = np.abs(w).max(axis=(1, 2, 3), keepdims=True).astype(np.float64) / 127
    weights = np.round(w / scales) * scales
    exact = np.maximum(np.einsum("nchw,oc->nohw", x.astype(np.float64), w[:, :, 0, 0]), 0)
    rounded = np.maximum(np.einsum("nchw,oc->nohw", on_grid(x, bits), weights[:, :, 0, 0]), 0)
    step = exact.max() / (255 if bits == 8 else 32767)
    rounded = np.clip(np.round(rounded / step), 0, 255 if bits == 8 else 32767) * step
    expected = float(np.sqrt(np.square(rounded - exact).sum() / np.square(exact).sum()))
    told = errors(model, x, tmp_path_factory.mktemp("hand"), f"s{bits}")["conv"]
    assert told == pytest.approx(expected, rel=0.02)


class Feeds(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, samples: np.ndarray) -> None:
        self._feeds = iter([{"x": sample[None]} for sample in samples])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._feeds, None)


@pytest.mark.parametrize("seed", range(4))
def test_the_quantizer_of_onnx_runtime_loses_as_much(seed: int, tmp_path: Path) -> None:
    """At the input of Softmax, whose result has few steps; the layers differ in rounding at most."""
    import onnxruntime

    model = network(seed)
    model.graph.output[0].name = "h"
    del model.graph.node[-1]
    samples = np.random.default_rng(seed).normal(size=(16, 3, 8, 8)).astype(np.float32)
    (told,) = report(model, samples, tmp_path).output_errors.values()
    quantize_static(
        str(tmp_path / "m.onnx"),
        str(tmp_path / "q.onnx"),
        Feeds(samples),
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
        per_channel=True,
    )
    before, after = (onnxruntime.InferenceSession(str(tmp_path / name)) for name in ("m.onnx", "q.onnx"))
    exact, rounded = (
        np.concatenate([session.run(None, {"x": sample[None]})[0] for sample in samples]) for session in (before, after)
    )
    measured = float(np.sqrt(np.square(rounded - exact).sum() / np.square(exact).sum()))
    assert measured / 2 < told < measured * 2


def test_what_is_on_the_grid_loses_nothing(tmp_path: Path) -> None:
    model = text("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 1, 16, 16] x) => (float[1, 1, 8, 8] y) {
            [pool] y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)
        }
    """)
    samples = np.arange(256, dtype=np.float32).reshape(1, 16, 16)[None]
    assert errors(model, samples, tmp_path) == {"pool": 0.0}
    assert report(model, samples, tmp_path).output_errors == {"y": 0.0}


def test_weights_of_four_bits_lose_more(tmp_path: Path) -> None:
    model, samples = network(), np.random.default_rng(1).normal(size=(4, 3, 8, 8)).astype(np.float32)
    by_type = {kind: errors(model, samples, tmp_path, kind)["Conv#0"] for kind in ("s4", "s8", "s16")}
    assert by_type["s4"] > 4 * by_type["s8"] > 4 * by_type["s16"] / 2 > 0  # type: ignore[operator]


RECURRENT = """
<ir_version: 8, opset_import: ["" : 14]>
g (float[4, 1, 3] x) => (float[4, 1, 1, 2] y) <float[1, 8, 3] w = {0.5}, float[1, 8, 2] r = {0.25}> {
    [cells] y = LSTM<hidden_size = 2>(x, w, r)
}
"""


def test_a_layer_with_a_state_has_no_error(tmp_path: Path) -> None:
    told = report(text(RECURRENT.strip()), np.ones((2, 4, 1, 3), np.float32), tmp_path)
    assert [layer.error for layer in told.layers] == [None] * len(told.layers)
    assert told.samples == 2


def test_a_layer_of_zeros_has_no_error(tmp_path: Path) -> None:
    model = text(POINTWISE.strip())
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((2, 3, 1, 1), np.float32), "w"))
    assert set(errors(model, np.ones((1, 3, 4, 4), np.float32), tmp_path).values()) == {None}


@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_a_quantized_model_has_nothing_to_measure(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    path = tmp_path / f"m{suffix}"
    if suffix == ".onnx":
        samples = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(np.float32)
        (tmp_path / "float.onnx").write_bytes(network().SerializeToString())
        quantize_static(str(tmp_path / "float.onnx"), str(path), Feeds(samples))
    else:
        path.write_bytes(write(streaming_model()))
    assert main([*CORTEX_M4, "--calibration", str(tmp_path), str(path)]) == 2
    told(capsys.readouterr().err)


def test_a_model_of_whole_numbers_has_nothing_to_measure(tmp_path: Path) -> None:
    model = text(POINTWISE.strip().replace("float[1, 3, 4, 4]", "float[1, 64, 4, 4]"))
    weights = np.arange(-64, 64, dtype=np.float32).reshape(2, 64, 1, 1)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    with pytest.raises(CalibrationError, match="it computes in integers"):
        report(model, np.ones((1, 64, 4, 4), np.float32), tmp_path)


def test_a_folder_is_read_as_all_its_files(tmp_path: Path) -> None:
    model, samples = network(), np.random.default_rng(2).normal(size=(3, 3, 8, 8)).astype(np.float32)
    at_once = report(model, samples, tmp_path)
    (tmp_path / "folder").mkdir()
    for number, sample in enumerate(samples):
        np.save(tmp_path / "folder" / f"{number}.npy", sample[None])
    (tmp_path / "folder" / "notes.txt").write_text("no samples")
    apart = report(model, tmp_path / "folder", tmp_path)
    assert [layer.error for layer in apart.layers] == [layer.error for layer in at_once.layers]
    assert apart.output_errors == at_once.output_errors


def test_a_folder_without_samples_is_named(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match=r"without \.npy and \.npz"):
        report(network(), tmp_path, tmp_path)


def test_an_input_without_axes(tmp_path: Path) -> None:
    model = text("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 4] x, float k) => (float[1, 4] y) { p = Mul(x, x) y = Add(p, k) }
    """)
    np.savez(tmp_path / "two.npz", x=np.ones((2, 1, 4), np.float32), k=np.array([1.0, 2.0], np.float32))
    assert report(model, tmp_path / "two.npz", tmp_path).samples == 2


def test_weights_in_another_file(tmp_path: Path) -> None:
    model, samples = network(), np.random.default_rng(3).normal(size=(3, 3, 8, 8)).astype(np.float32)
    inside = report(model, samples, tmp_path)
    (tmp_path / "beside").mkdir()
    path = str(tmp_path / "beside" / "m.onnx")
    onnx.save_model(model, path, save_as_external_data=True, location="m.bin", size_threshold=0)
    given_settings = make_settings(path, targets=["cortex-m4"])
    beside = layers_report(path, given_settings, calibration=str(tmp_path / "samples.npy"))
    assert beside.output_errors == inside.output_errors


def test_errors_stand_beside_the_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, told: Told
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(network().SerializeToString())
    np.save("x.npy", np.random.default_rng(4).normal(size=(8, 3, 8, 8)).astype(np.float32))
    asked = (*CORTEX_M4, "--calibration", "x.npy", "m.onnx")
    assert main([*asked, "--assume", "s8,s16"]) == 0
    check_golden("screens/layers-calibration", capsys.readouterr().out)
    assert main([*asked, "--assume", "s8,s16", "--output-format", "json"]) == 0
    types = json.loads(capsys.readouterr().out)["types"]
    for answer in types:
        assert answer["samples"] == 8 and 0 < answer["output_errors"]["probabilities"] < 1
        assert all(0 < row["error"] < 0.1 for row in answer["layers"] if row["op"] in ("Conv", "Gemm"))
    assert main(list(asked)) == 0
    told(" ".join(capsys.readouterr().out.split()))


@pytest.mark.skipif(not paths.SHARED.exists(), reason="needs models of others in a folder `shared`")
@pytest.mark.parametrize(
    ("name", "shape", "most"),
    [("mnist_cntk_op8", (1, 1, 28, 28), 0.06), ("deeploy_tinyvit_demo", (1, 3, 32, 32), 0.06)],
)
def test_models_of_others(name: str, shape: tuple[int, ...], most: float, tmp_path: Path) -> None:
    """16 bits lose less in every layer; how much less, the 8 bits of the weights decide."""
    model = onnx.load(str(paths.SHARED / "models" / f"{name}.onnx"))
    samples = np.random.default_rng(5).random((4, *shape)).astype(np.float32)
    narrow, wide = (report(model, samples, tmp_path, kind) for kind in ("s8", "s16"))
    measured = {layer.node: layer.error for layer in narrow.layers if layer.error is not None}
    assert len(measured) >= 5
    for layer in wide.layers:
        if layer.error is not None and layer.node in measured:
            assert layer.error <= measured[layer.node], layer.node
    for (output, told), other in zip(narrow.output_errors.items(), wide.output_errors.values(), strict=True):
        assert 0 < other < told < most, output
