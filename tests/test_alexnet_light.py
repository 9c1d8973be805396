"""The example that trains a network: its gradients, the model it writes, what it reads, and the model as firmware."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from onnxlint_cmsis import lint
from support.firmware_runs import data, needs_firmware
from support.goldens import Told
from support.paths import ROOT

sys.path.insert(0, str(ROOT / "examples"))

import alexnet_light
from small_training import Layer, Network

EXAMPLE = str(ROOT / "examples" / "alexnet_light.py")
RANDOM = np.random.default_rng(1)
FLASH, RAM = 512 * 1024, 64 * 1024


def idx(path: Path, array: np.ndarray) -> None:
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(head + array.astype(np.uint8).tobytes())


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """250 images in the form of MNIST's test set: a white square, whose place is the label."""
    folder = tmp_path_factory.mktemp("digits")
    labels = np.arange(250) % 10
    images = RANDOM.integers(0, 64, (250, 28, 28))
    for image, label in zip(images, labels, strict=True):
        row, column = divmod(int(label), 4)
        image[9 * row + 1 : 9 * row + 8, 7 * column : 7 * column + 7] = 255
    idx(folder / "t10k-images-idx3-ubyte", images)
    idx(folder / "t10k-labels-idx1-ubyte", labels)
    return folder


@pytest.fixture(scope="module")
def example(digits: Path) -> Path:
    """A folder with what the example writes, of a network whose last convolutions are pruned."""
    arguments = ["model.onnx", str(digits), "data", "--epochs", "8", "--prune", "10"]
    done = subprocess.run(
        [sys.executable, EXAMPLE, *arguments], cwd=digits, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("trained on 200 images")
    assert float(done.stdout.split(" % of 50 held out")[0].split()[-1]) > 80
    return digits


def test_gradients_are_those_of_the_loss() -> None:
    network = Network((Layer(2, 3, stride=2, pooled=True), Layer(3, 4)), (4, 3), RANDOM)
    network.filters = [filter.astype(np.float64) for filter in network.filters]
    network.dense = network.dense.astype(np.float64)
    images, labels = RANDOM.normal(size=(5, 8, 8, 2)), np.array([0, 1, 2, 0, 1])

    def loss() -> float:
        scores = network.scores(images)
        return float(np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(5), labels]))

    def moved(weights: np.ndarray, by: np.ndarray) -> float:
        weights += by
        value = loss()
        weights -= by
        return value

    for weights, by in zip([*network.filters, network.dense], network.gradients(images, labels), strict=True):
        step = 1e-6 * RANDOM.normal(size=weights.shape)
        slope = (moved(weights, step) - moved(weights, -step)) / 2e-6
        assert slope == pytest.approx(float((by * step).sum()) / 1e-6, rel=1e-4, abs=1e-7)


def test_the_model_has_its_weights_and_computes_what_was_trained() -> None:
    network = Network(alexnet_light.LAYERS, alexnet_light.DENSE, RANDOM)
    model = alexnet_light.alexnet_light(network)
    assert sum(numpy_helper.to_array(initializer).size for initializer in model.graph.initializer) == 35_248
    image = RANDOM.integers(0, 256, (1, 32, 32, 3)).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {"image": image.transpose(0, 3, 1, 2)})
    np.testing.assert_allclose(scores, network.scores(image / 255), rtol=1e-4, atol=1e-4)


def test_images_are_gray_in_three_colours_with_a_rim_of_black(digits: Path) -> None:
    images, labels = alexnet_light.mnist(digits)
    assert images.shape == (250, 32, 32, 3)
    assert labels[:11].tolist() == [*range(10), 0]
    assert (images == images[..., :1]).all()
    assert images[:, [0, 1, 30, 31]].max() == 0
    assert images[0, 3:10, 2:9].min() == 255


def test_the_images_held_out_are_not_those_that_calibrate(example: Path) -> None:
    calibration = {np.load(path).tobytes() for path in (example / "data" / "calibration").glob("*.npy")}
    held_out = np.frombuffer((example / "data" / "images.idx").read_bytes(), np.uint8, offset=20).reshape(-1, 3, 32, 32)
    assert (len(calibration), len(held_out)) == (100, 50)
    assert not calibration & {image[None].astype(np.float32).tobytes() for image in held_out}


def test_pruned_channels_are_those_that_the_linter_names(example: Path) -> None:
    findings = lint(example / "model.onnx", targets=["cortex-m4", "cortex-m7"]).findings
    assert [finding.code for finding in findings] == ["CNN202"]
    filters = {
        initializer.name: numpy_helper.to_array(initializer)
        for initializer in onnx.load(example / "model.onnx").graph.initializer
    }
    assert [int(filters[f"conv{n}.weight"].any(axis=(1, 2, 3)).sum()) for n in (3, 4)] == [22, 54]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "t10k-labels-idx1-ubyte").unlink(), "no t10k-labels-idx1-ubyte, nor"),
        (lambda folder: idx(folder / "t10k-labels-idx1-ubyte", np.zeros(3)), "0 images of 28 x 28, 3 labels"),
        (lambda folder: (folder / "t10k-images-idx3-ubyte").write_bytes(b"\0"), "no idx file of bytes with 3 axes"),
    ],
)
def test_without_the_data_nothing_is_trained(
    spoil, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    idx(tmp_path / "t10k-images-idx3-ubyte", np.zeros((0, 28, 28)))
    idx(tmp_path / "t10k-labels-idx1-ubyte", np.zeros(0))
    spoil(tmp_path)
    monkeypatch.setattr("sys.argv", ["alexnet_light", str(tmp_path / "m.onnx"), str(tmp_path), str(tmp_path / "data")])
    assert alexnet_light.main() == 2
    error = capsys.readouterr().err
    assert error.startswith("alexnet_light: ")
    assert said in error
    assert error.endswith("nothing was trained\n")
    assert error.count("\n") == 1
    assert not (tmp_path / "m.onnx").exists()


def test_a_folder_that_is_there_is_left_as_it_is(
    example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    monkeypatch.setattr("sys.argv", ["alexnet_light", str(example / "other.onnx"), str(example), str(example / "data")])
    assert alexnet_light.main() == 2
    told(capsys.readouterr().err.replace(str(example), "FOLDER"))
    assert not (example / "other.onnx").exists()


@needs_firmware
def test_the_firmware_fits_512_kib_of_flash_and_64_kib_of_ram(example: Path) -> None:
    calibration = "--calibration", str(example / "data" / "calibration")
    checks = data(str(example / "model.onnx"), *calibration, "--target", "cortex-m4,cortex-m7")["checks"]
    assert [check["board"] for check in checks] == ["mps2-an386", "mps2-an500"]
    for check in checks:
        assert check["agrees"]
        assert not check["not_run"]
        assert check["flash"] <= FLASH
        assert check["ram"] <= RAM


@needs_firmware
def test_the_device_classifies_the_images_held_out(example: Path) -> None:
    files = [str(example / "data" / name) for name in ("images.idx", "labels.idx", "calibration")]
    script = [sys.executable, str(ROOT / "scripts" / "mnist_firmware.py"), str(example / "model.onnx"), *files[:2]]
    done = subprocess.run(
        [*script, "--calibration", files[2], "--images", "50", "--target", "cortex-m7"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shares = [float(line.split(" %")[0].split()[-1]) for line in done.stdout.splitlines()]
    assert len(shares) == 3
    assert min(shares) > 80
