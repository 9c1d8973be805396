"""Exports small nets as their authors would, and tells how much of what is said of them can be acted on.

    python lab/walk_nets.py export FOLDER    # with PyTorch, TensorFlow or both; then quantize what is float
    python lab/walk_nets.py read FOLDER ...

`read` lints every model, and puts each remedy under what came of it when it was done (TRIED).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

TRIED: tuple[tuple[str, str], ...] = (
    (r"^Nothing", "nothing to do"),
    (r"or leave it to reference code|Nothing helps where a layer of Keras stores it", "done or left"),
    (r"with LeakyRelu, which reference code computes|convert an LSTM (that runs forward only )?from Keras", "done"),
    (r"^Quantize it as a depthwise layer|becomes a depthwise layer|depthwise layer of it|^Concatenate it with", "done"),
    (r"^End the model in front of it|^Use Softmax|weight_type=QuantType\.QInt8|^Quantize it to int8", "done"),
    (r"frames as the batch in place|Leave the activation out of Conv2DTranspose", "done"),
    (r"^Write each nn\.Conv1d as an nn\.Conv2d|as --fix of the float model does", "done"),
    (r"^Use that pool|of x\.transpose\(1, 2\)", "done"),
    (r"--fix (does|repairs) it", "done by --fix"),
    (r"--unsafe-fixes does it where", "tried by --fix"),
    (r"--fix on the float model|--fix of the float model|quant_pre_process", "done"),
    (r"as an average pool|Use that pool|Pool over time|as a max pool", "done"),
    (r"Convert with a fixed batch|Resizing\(|relu or silu|relu, silu or elu", "done"),
    (r"BatchNormalization in place of LayerNormalization|Train with BatchNormalization", "done"),
    (r"Slice instead|Give both one shape|no batch axis|unroll=True", "done"),
    (r"Relu in place of Gelu|Train a Conv over time|leaves \w+ in float", "done"),
    (r"Give (its result|what they read)", "option pasted"),
    (r"nn\.ConvTranspose2d\(|as a max pool|as a \+ b \* -1|Linear of one output|tensor with itself", "done"),
    (r"dynamo=True|makes its bounds constants|nearest neighbours|needs no batch axis", "done"),
    (r"name their operators in op_types_to_quantize|channels_last|x\.reshape\(1, -1\)|Pad each part", "done"),
    (r"\(TensorFlow: converter|\.contiguous\(\)|nn\.SiLU|nn\.Sigmoid|Calibrate with data for which", "done"),
    (r"Calibrate with data", "needs data"),
)
"""What a remedy says, and what came of it; the first that fits counts."""
NOT_TRIED = "not tried"
SEED = 0


def torch_nets() -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """Nets of PyTorch with the shape of their input."""
    nn = import_module("torch.nn")

    def block(inputs: int, outputs: int, step: int = 1, groups: int = 1) -> Any:
        conv = nn.Conv2d(inputs, outputs, 3, step, 1, groups=groups, bias=False)
        return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU())

    def module(forward: Callable[[Any, Any], Any], cell: Any = None) -> Any:
        made_of = type("Function", (nn.Module,), {"forward": forward})()
        made_of.cell = cell
        return made_of

    def last(cell: Any) -> Any:
        return module(lambda self, x: self.cell(x)[0][:, -1], cell)

    mean = module(lambda _, x: x.mean((2, 3)))
    yield "kws", nn.Sequential(block(1, 32, 2), block(32, 32, groups=32), mean, nn.Linear(32, 12)), (1, 1, 49, 10)
    dense = (nn.Linear(40, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10))
    yield "mlp", nn.Sequential(*dense), (1, 40)
    yield "lstm", nn.Sequential(last(nn.LSTM(16, 32, batch_first=True)), nn.Linear(32, 5)), (1, 20, 16)
    yield "gru", nn.Sequential(last(nn.GRU(16, 32, batch_first=True)), nn.Linear(32, 5)), (1, 20, 16)
    yield "gelu", nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4)), (1, 16)
    detector = (block(3, 16, 2), block(16, 32, 2), nn.Conv2d(32, 6, 1), nn.Sigmoid())
    yield "detector", nn.Sequential(*detector), (1, 3, 48, 48)


def keras_nets() -> Iterator[tuple[str, Any]]:
    """Nets of Keras, each with a batch of one."""
    keras = import_module("keras")
    layers = keras.layers

    def block(x: Any, width: int, step: int = 1) -> Any:
        x = layers.Conv2D(width, 3, step, padding="same", use_bias=False)(x)
        return layers.ReLU()(layers.BatchNormalization()(x))

    def net(name: str, shape: tuple[int, ...], build: Callable[[Any], Any]) -> tuple[str, Any]:
        start = keras.Input(shape, batch_size=1)
        return name, keras.Model(start, build(start))

    def unet(x: Any) -> Any:
        wide = block(x, 8)
        up = layers.Conv2DTranspose(8, 2, 2)(block(layers.MaxPooling2D()(wide), 16))
        return layers.Conv2D(1, 1)(block(layers.Concatenate()([wide, up]), 8))

    def gate(x: Any) -> Any:
        x = block(x, 16, 2)
        share = layers.Conv2D(16, 1, activation="sigmoid")(layers.GlobalAveragePooling2D(keepdims=True)(x))
        return layers.Dense(7)(layers.GlobalAveragePooling2D()(layers.Multiply()([x, share])))

    def attention(x: Any) -> Any:
        x = layers.Dense(32)(x)
        y = layers.MultiHeadAttention(2, 16)(*[layers.LayerNormalization()(x)] * 2)
        return layers.Dense(4)(layers.GlobalAveragePooling1D()(layers.Add()([x, y])))

    def dilated(x: Any) -> Any:
        for step in (1, 2, 4):
            x = layers.Conv1D(16, 3, dilation_rate=step, padding="causal", activation="relu")(x)
        return layers.Dense(3)(layers.GlobalAveragePooling1D()(x))

    yield net("unet", (32, 32, 1), unet)
    yield net("upsampled", (16, 16, 4), lambda x: layers.Conv2D(4, 1)(layers.UpSampling2D()(block(x, 4))))
    yield net("gate", (32, 32, 3), gate)
    yield net("attention", (16, 16), attention)
    yield net("dilated", (64, 8), dilated)
    yield net("recurrent", (20, 16), lambda x: layers.Dense(5)(layers.LSTM(24, unroll=True)(x)))
    yield net(
        "dense", (40,), lambda x: layers.Dense(10)(layers.ReLU()(layers.BatchNormalization()(layers.Dense(64)(x))))
    )


def export_torch(folder: Path) -> None:
    """Write each net by both exporters."""
    torch = import_module("torch")
    torch.manual_seed(SEED)
    for name, net, shape in torch_nets():
        for exporter in (False, True):
            path = folder / f"{name}_{'dynamo' if exporter else 'torchscript'}.onnx"
            torch.onnx.export(net.eval(), (torch.randn(*shape),), str(path), dynamo=exporter)


def export_keras(folder: Path) -> None:
    """Write each net in int8: as a model of a fixed batch, and from what `Model.export` leaves open."""
    lite = import_module("tensorflow").lite
    import_module("keras").utils.set_random_seed(SEED)
    for name, net in keras_nets():
        saved = folder / f"{name}.saved"
        net.export(str(saved), verbose=False)
        makers = {
            "fixed": lite.TFLiteConverter.from_keras_model,
            "open": lambda _, path=str(saved): lite.TFLiteConverter.from_saved_model(path),
        }
        for how, converter in makers.items():
            (folder / f"{name}_{how}.tflite").write_bytes(quantized(lite, converter(net), (1, *net.input_shape[1:])))


def quantized(lite: Any, converter: Any, shape: tuple[int, ...]) -> bytes:
    """The model in int8, calibrated with random numbers."""
    generator = np.random.default_rng(SEED)
    converter.optimizations = [lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([generator.normal(size=shape).astype(np.float32)] for _ in range(16))
    converter.target_spec.supported_ops = [lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = import_module("tensorflow").int8
    data: bytes = converter.convert()
    return data


def read(paths: list[str]) -> None:
    """Print the first words, what came of the remedies, and those that nobody tried."""
    command = ["onnxlint-cmsis", "--isolated", "--exit-zero", "--target", "cortex-m4", "--output-format", "json"]
    report = json.loads(subprocess.run([*command, *paths], check=True, capture_output=True, text=True).stdout)
    words = Counter(verdict["word"] for file in report["files"] for verdict in file["verdicts"])
    shown = [finding for finding in report["findings"] if finding["level"] != "note"]
    outcomes = Counter(outcome(finding) for finding in shown)
    print(dict(words))
    print(f"{len(shown)} findings: {dict(outcomes.most_common())}")
    for remedy in sorted({finding["remedy"] for finding in shown if outcome(finding) == NOT_TRIED}):
        print(f"not tried: {remedy}")


def outcome(finding: dict[str, Any]) -> str:
    """What came of a finding's remedy."""
    if finding["properties"].get("fixable"):
        return "done by --fix"
    return next((said for pattern, said in TRIED if re.search(pattern, finding["remedy"])), NOT_TRIED)


def main() -> None:
    """Export or read, as the first argument says."""
    what, *paths = sys.argv[1:]
    if what == "read":
        read(paths)
        return
    folder = Path(paths[0])
    folder.mkdir(parents=True, exist_ok=True)
    for package, export in (("torch", export_torch), ("tensorflow", export_keras)):
        if find_spec(package):
            export(folder)


if __name__ == "__main__":
    main()
