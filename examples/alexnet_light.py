"""Trains AlexNet-Light on MNIST and writes a float model: python examples/alexnet_light.py MODEL.onnx MNIST DATA.

A small network for 32 x 32 pixels and 3 colours: Conv 3 to 16 with stride 2, MaxPool, Conv 16 to 32, MaxPool,
Conv 32 to 32, Conv 32 to 64, AveragePool, Gemm to 10. Windows are 3 x 3, pools 2 x 2. No layer has a bias; there
are 35,248 weights.

MNIST is the folder with the published files t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (with .gz or without).
Four fifths of the images are for training, the others are held out. DATA is a new folder. It gets 100 training images
to calibrate a quantizer (calibration/*.npy), and the images held out (images.idx, labels.idx). --prune N removes N
channels from each of the last two convolutions halfway; the file keeps them, with weights of zero.
"""

from __future__ import annotations

import argparse
import gzip
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from small_training import BATCH, Floats, Layer, Network, shifted_batches, train

LAYERS = (Layer(3, 16, stride=2, pooled=True), Layer(16, 32, pooled=True), Layer(32, 32), Layer(32, 64))
PIXELS, CLASSES = 32, 10
DENSE = (2 * 2 * LAYERS[-1].outputs, CLASSES)
CALIBRATION_IMAGES = 100
WHITE = 255

Bytes = NDArray[np.uint8]


class DataError(Exception):
    """The folder has no MNIST."""


def alexnet_light(network: Network) -> onnx.ModelProto:
    """The ONNX model of a network; its input is [1, 3, 32, 32], values from 0 to 255."""
    weights, nodes, value = [], [], "image"
    for number, (layer, filters) in enumerate(zip(LAYERS, network.filters, strict=True), 1):
        name = f"conv{number}"
        scaled = filters / np.float32(WHITE) if number == 1 else filters
        weights.append(_constant(scaled.transpose(3, 2, 0, 1), f"{name}.weight"))
        nodes.append(_conv(value, name, layer.stride))
        nodes.append(helper.make_node("Relu", [f"{name}_sum"], [f"{name}_out"], f"relu{number}"))
        value = f"{name}_out"
        if layer.pooled:
            nodes.append(_pool("MaxPool", value, f"pool{number}"))
            value = f"pool{number}_out"
    dense = network.dense.reshape(2, 2, -1, CLASSES).transpose(2, 0, 1, 3).reshape(DENSE)
    weights.append(_constant(dense, "dense.weight"))
    nodes.append(_pool("AveragePool", value, "average"))
    nodes.append(helper.make_node("Flatten", ["average_out"], ["flat"], "flatten"))
    nodes.append(helper.make_node("Gemm", ["flat", "dense.weight"], ["classes"], "dense"))
    return _checked(nodes, weights)


def _constant(values: Floats, name: str) -> onnx.TensorProto:
    return numpy_helper.from_array(np.ascontiguousarray(values), name)


def _conv(value: str, name: str, stride: int) -> onnx.NodeProto:
    inputs, outputs, strides = [value, f"{name}.weight"], [f"{name}_sum"], [stride] * 2
    return helper.make_node("Conv", inputs, outputs, name, kernel_shape=[3, 3], pads=[1] * 4, strides=strides)


def _pool(op_type: str, value: str, name: str) -> onnx.NodeProto:
    return helper.make_node(op_type, [value], [f"{name}_out"], name, kernel_shape=[2, 2], strides=[2, 2])


def _checked(nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto]) -> onnx.ModelProto:
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, PIXELS, PIXELS])
    classes = helper.make_tensor_value_info("classes", TensorProto.FLOAT, [1, CLASSES])
    graph = helper.make_graph(nodes, "alexnet_light", [image], [classes], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def mnist(folder: Path) -> tuple[Bytes, Bytes]:
    """Images [N, 32, 32, 3], gray in three colours with a rim of black, and labels [N].

    Raises:
        DataError: a file is missing, or is no idx file with the expected shape.

    """
    digits, labels = _idx(folder, "t10k-images-idx3-ubyte", 3), _idx(folder, "t10k-labels-idx1-ubyte", 1)
    count, rows, columns = digits.shape
    if (rows, columns) != (28, 28) or count != len(labels) or count < 2 * CALIBRATION_IMAGES:
        found = f"{count} images of {rows} x {columns}, {len(labels)} labels"
        raise DataError(f"{folder}: {found}; MNIST has 10000 of 28 x 28; nothing was trained")
    framed = np.pad(digits, ((0, 0), (2, 2), (2, 2)))
    return np.repeat(framed[..., None], 3, axis=-1), labels


def _idx(folder: Path, name: str, axes: int) -> Bytes:
    """The bytes of an idx file with `axes` axes."""
    found = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
    if not found:
        raise DataError(f"{folder}: no {name}, nor {name}.gz, which MNIST consists of; nothing was trained")
    try:
        data = found[0].read_bytes()
        data = gzip.decompress(data) if found[0].suffix == ".gz" else data
        shape = struct.unpack(f">{axes}I", data[4 : 4 + 4 * axes])
        return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)
    except (OSError, EOFError, ValueError, struct.error) as error:
        raise DataError(f"{found[0]}: no idx file of bytes with {axes} axes: {error}; nothing was trained") from None


def trained(images: Bytes, labels: Bytes, epochs: int, pruned: int, random: np.random.Generator) -> Network:
    """A trained network; pruning happens after half of the batches."""
    network = Network(LAYERS, DENSE, random)
    batches = shifted_batches(_floats(images), labels, random)
    steps = epochs * (len(images) // BATCH)
    if pruned:
        train(network, batches, steps // 2)
        for number in (-2, -1):
            network.prune(number, pruned)
        steps -= steps // 2
    train(network, batches, steps)
    return network


def _floats(images: Bytes) -> Floats:
    """Images with values from 0 to 1."""
    return np.asarray(images / np.float32(WHITE), np.float32)


def write_data(folder: Path, calibration: Bytes, images: Bytes, labels: Bytes) -> None:
    """The images for a quantizer as .npy files [1, 3, 32, 32], those held out as idx files [N, 3, 32, 32] and [N]."""
    (folder / "calibration").mkdir()
    for number, image in enumerate(calibration):
        np.save(folder / "calibration" / f"{number:04}.npy", image.transpose(2, 0, 1)[None].astype(np.float32))
    for name, array in (("images", images.transpose(0, 3, 1, 2)), ("labels", labels)):
        head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
        (folder / f"{name}.idx").write_bytes(head + array.tobytes())


def main() -> int:
    """Train, write, print the accuracy. Returns 2 without data, or if a file cannot be written."""
    args = _arguments()
    try:
        print(_trained_and_written(args))
    except (DataError, OSError) as error:
        print(f"alexnet_light: {error}", file=sys.stderr)
        return 2
    return 0


def _trained_and_written(args: argparse.Namespace) -> str:
    images, labels = mnist(args.mnist)
    args.data.mkdir(parents=True)
    random = np.random.default_rng(args.seed)
    chosen, held_out = np.split(random.permutation(len(images)), [len(images) * 4 // 5])
    write_data(args.data, images[chosen[:CALIBRATION_IMAGES]], images[held_out], labels[held_out])
    network = trained(images[chosen], labels[chosen], args.epochs, args.prune, random)
    args.model.write_bytes(alexnet_light(network).SerializeToString())
    right = network.accuracy(_floats(images[held_out]), labels[held_out])
    return f"trained on {len(chosen)} images; right: {100 * right:.2f} % of {len(held_out)} held out"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL.onnx", type=Path)
    parser.add_argument("mnist", metavar="MNIST", type=Path)
    parser.add_argument("data", metavar="DATA", type=Path)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--prune", metavar="N", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.epochs < 1 or args.seed < 0 or not 0 <= args.prune < LAYERS[-2].outputs:
        parser.error(f"--epochs is from 1 on, --seed from 0 on, --prune from 0 to {LAYERS[-2].outputs - 1}")
    return args


if __name__ == "__main__":
    sys.exit(main())
