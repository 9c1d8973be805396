"""Bad input: one clear message each, exit code 2. No compiler and no QEMU needed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import example_models as models
from firmware_check.cli import main
from firmware_check.errors import FirmwareError
from support import firmware_models as more
from support.goldens import Told


@pytest.fixture(autouse=True)
def needs_library() -> None:
    from importlib.util import find_spec

    if find_spec("bakenn") is None:
        pytest.skip("bakenn is not installed")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is printed where the check cannot run."""
    assert main(list(arguments)) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert len(output.err.splitlines()) == 1
    assert output.err.startswith("firmware_check: ")
    return output.err


@pytest.mark.parametrize("name", ["none.onnx", "two\nlines.onnx"])
def test_no_such_file(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert name.replace("\n", r"\n") in said(capsys, str(tmp_path / name))


def test_not_a_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "text.onnx"
    path.write_text("not a model", encoding="utf-8")
    assert "text.onnx" in said(capsys, str(path))


def test_open_sizes(capsys: pytest.CaptureFixture[str], tmp_path: Path, told: Told) -> None:
    text = said(capsys, models.open_size(tmp_path))
    told(text)


@pytest.mark.parametrize("operator", ["Erf", "Identity"])
def test_nothing_for_cmsis_nn(operator: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, told: Told) -> None:
    """The file is named that was given, and not that which it was quantized into."""
    from onnx import helper

    model = models.save(tmp_path, "same", [helper.make_node(operator, ["x"], ["y"])], ([1, 4], [1, 4]), {})
    told(said(capsys, model))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers(
    value: float, capfd: pytest.CaptureFixture[str], tmp_path: Path, told: Told
) -> None:
    """In one line: the quantizer's warnings are left out. A float model, and a bias whose stored scale is no number."""
    weights = models.with_biases({"w": models.filters(4, 3, 2, 2)})
    weights["w"][0, 0, 0, 0] = value
    nodes, shapes = [models.conv("x", "w", "y")], ([1, 3, 4, 4], [1, 4, 3, 3])
    model = models.save(tmp_path, "weights", nodes, shapes, weights)
    said_of_it = "constant 'w' holds NaN" if np.isnan(value) else "a scale of its quantization is inf"
    assert said_of_it in said(capfd, model)
    weights["w"][0, 0, 0, 0] = 1.0
    stored = onnx.load(more.quantized(models.save(tmp_path, "bias", nodes, shapes, weights), tmp_path))
    scale = next(node.input[1] for node in stored.graph.node if node.input[0] == "w_b_quantized")
    for tensor in stored.graph.initializer:
        if tensor.name == scale:
            tensor.CopyFrom(numpy_helper.from_array(np.full_like(numpy_helper.to_array(tensor), value), scale))
    onnx.save(stored, tmp_path / "stored.onnx")
    told(said(capfd, str(tmp_path / "stored.onnx")))


def test_no_library_in_the_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path, told: Told) -> None:
    text = said(capsys, models.residual(tmp_path), "--cmsis-nn", str(tmp_path))
    told(text)


@pytest.mark.parametrize("cpu", ["cortex-m85", "z80"])
def test_a_cpu_without_a_board(cpu: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, told: Told) -> None:
    told(said(capsys, models.residual(tmp_path), "--target", cpu))


def test_strict_without_a_second_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "--against" in said(capsys, models.residual(tmp_path), "--strict")


def test_two_models_that_are_not_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = said(capsys, models.residual(tmp_path), "--against", models.one_dimensional(tmp_path))
    assert "have different inputs" in text


def test_calibration_data_that_does_not_fit(capsys: pytest.CaptureFixture[str], tmp_path: Path, told: Told) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    text = said(capsys, models.residual(tmp_path), "--calibration", str(folder))
    told(text)
    np.save(folder / "a.npy", np.zeros(5))
    told(said(capsys, models.residual(tmp_path), "--calibration", str(folder)))


@pytest.mark.parametrize(
    ("name", "package"), [("arm-none-eabi-gcc", "gcc-arm-none-eabi"), ("qemu-system-arm", "qemu-system-arm")]
)
def test_missing_tools(
    name: str,
    package: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    told: Told,
) -> None:
    if package == "qemu-system-arm" and not shutil.which("arm-none-eabi-gcc"):
        pytest.skip("arm-none-eabi-gcc is not on the PATH")
    which = shutil.which
    monkeypatch.setattr("firmware_check.toolchain.shutil.which", lambda tool: None if tool == name else which(tool))
    text = said(capsys, models.residual(tmp_path))
    told(text)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--seed=-1", "--seed: '-1' is not a whole number from 0 on"),
        ("--timeout=0", "--timeout: '0' is not a number of seconds above 0"),
        ("--timeout=nan", "--timeout: 'nan' is not a number of seconds above 0"),
        ("--runs=0", "--runs: '0' is not a whole number from 1 on"),
        ("--runs=-2", "--runs: '-2' is not a whole number from 1 on"),
    ],
)
def test_numbers_that_make_no_sense(option: str, text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert text in said(capsys, models.residual(tmp_path), option)


@pytest.mark.parametrize("option", ["--every=0", "--timeout=nan"])
def test_numbers_of_a_sweep_that_make_no_sense(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not a" in said(capsys, "sweep", option)


def test_standard_input(capsys: pytest.CaptureFixture[str], told: Told) -> None:
    told(said(capsys, "-"))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "a.npy: not an array that NumPy reads"),
        (np.full((1, 3, 8, 8), np.nan), "a.npy: float64 with values that are not finite numbers"),
        (np.array(["a"] * 192), "a.npy: <U1 with values that are not finite numbers"),
    ],
    ids=["empty", "nan", "text"],
)
def test_calibration_data_that_is_none(
    content: bytes | np.ndarray, text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "data" / "a.npy"
    path.parent.mkdir()
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    assert text in said(capsys, models.residual(tmp_path), "--calibration", str(path.parent))


Change = Callable[[onnx.ModelProto], None]


def quantized(folder: Path, change: Change) -> str:
    """A QDQ model of one convolution, changed."""
    from support import firmware_models as more

    weights = models.with_biases({"w": models.filters(4, 3, 2, 2)})
    path = models.save(folder, "one", [models.conv("x", "w", "y")], ([1, 3, 4, 4], [1, 4, 3, 3]), weights)
    target = more.quantized(path, folder)
    model = onnx.load(target)
    change(model)
    onnx.save(model, target)
    return target


def with_value(name: str, value: np.ndarray) -> Change:
    """Another value of a constant."""

    def change(model: onnx.ModelProto) -> None:
        for tensor in model.graph.initializer:
            if tensor.name == name:
                tensor.CopyFrom(numpy_helper.from_array(value, name))

    return change


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("x_scale", np.float32(0), "a scale of its quantization is 0.0; scales are finite and above 0"),
        ("x_scale", np.float32("nan"), "a scale of its quantization is nan"),
        ("x_scale", np.float32(-1), "a scale of its quantization is -1.0"),
        ("w_scale", np.float32([1, 1, 0, 1]), "y: a scale of its quantization is 0.0"),
        ("w_scale", np.float32([1e30] * 4), "y: its scales make a multiplier of 2^30 or more"),
        ("w_zero_point", np.int8([1, 1, 1, 1]), "y: its weights have a zero-point other than 0"),
        ("w_zero_point", np.int8([1, 0, 0, 0]), "y: its weights have a zero-point other than 0"),
        ("x_zero_point", np.array(3, np.uint16), "its activations are uint16; CMSIS-NN takes int8 and int16"),
    ],
)
def test_quantization_that_is_not_supported(
    name: str, value: np.ndarray, text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert text in said(capsys, quantized(tmp_path, with_value(name, np.asarray(value))))


def test_weights_in_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = models.residual(tmp_path)
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    text = said(capsys, path)
    assert text.startswith(f"firmware_check: {path}: ")
    assert "weights.bin" in text


def test_calibration_of_a_model_that_is_quantized_already(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, told: Told
) -> None:
    path = quantized(tmp_path, lambda _model: None)
    text = said(capsys, path, "--calibration", str(tmp_path))
    told(text)


def test_a_plot_on_standard_output(capsys: pytest.CaptureFixture[str], tmp_path: Path, told: Told) -> None:
    told(said(capsys, models.residual(tmp_path), "--plot", "-"))
    assert not Path("-").exists()


@pytest.mark.parametrize(
    ("domains", "text"),
    [
        (["shop"], "does not have Requantize of domain shop (1 node); check the model with ONNX's own "
                   "operators in its place"),
        ([""], "does not have Requantize of domain ai.onnx (1 node);"),
        (["shop", "shop", "store"], "does not have Requantize of domain shop (2 nodes), Requantize of domain store "
                                    "(1 node); check the model with ONNX's own operators in their"),
    ],
    ids=["one", "default", "several"],
)  # fmt: skip
def test_operators_that_onnx_runtime_does_not_have(
    domains: list[str], text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert text in said(capsys, with_operators(tmp_path, domains))


def with_operators(folder: Path, domains: list[str]) -> str:
    """A convolution, then an operator of each of these domains."""
    from onnx import helper

    nodes = [models.conv("x", "w", "y0")]
    nodes += [
        helper.make_node("Requantize", [f"y{n}"], [f"y{n + 1}"], domain=domain) for n, domain in enumerate(domains)
    ]
    nodes[-1].output[0] = "y"
    weights = models.with_biases({"w": models.filters(4, 3, 2, 2)})
    path = models.save(folder, "foreign", nodes, ([1, 3, 4, 4], [1, 4, 3, 3]), weights)
    model = onnx.load(path)
    model.opset_import.extend(helper.make_opsetid(domain, 1) for domain in sorted({*domains} - {""}))
    onnx.save(model, path)
    return path


def test_an_operator_that_the_model_defines_itself_is_not_foreign(tmp_path: Path) -> None:
    from onnx import helper

    from firmware_check.operators import refuse_unknown

    model = onnx.load(with_operators(tmp_path, ["shop"]))
    with pytest.raises(FirmwareError, match="Requantize of domain shop"):
        refuse_unknown(model)
    body = [helper.make_node("Relu", ["a"], ["b"])]
    model.functions.append(helper.make_function("shop", "Requantize", ["a"], ["b"], body, model.opset_import))
    refuse_unknown(model)


@pytest.mark.parametrize("images", ["0", "-3"])
def test_mnist_of_no_images(
    images: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, told: Told
) -> None:
    import mnist_firmware

    monkeypatch.setattr("sys.argv", ["mnist_firmware", "m.onnx", "images", "labels", "--images", images])
    with pytest.raises(SystemExit) as ended:
        mnist_firmware.main()
    assert ended.value.code == 2
    told(capsys.readouterr().err)


def test_mnist_with_a_model_that_is_quantized_already(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Told
) -> None:
    import mnist_firmware

    path = quantized(tmp_path, lambda _model: None)
    for name, shape in (("images", (2, 4, 4)), ("labels", (2,))):
        head = bytes([0, 0, 8, len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape)
        (tmp_path / name).write_bytes(head + bytes(int(np.prod(shape))))
    files = [str(tmp_path / name) for name in ("images", "labels")]
    monkeypatch.setattr("sys.argv", ["mnist_firmware", path, *files, "--images", "1"])
    assert mnist_firmware.main() == 2
    told(capsys.readouterr().err)
