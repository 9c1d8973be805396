"""Accuracy of an MNIST model as firmware beside ONNX Runtime's, float and int8.

Usage: python scripts/mnist_firmware.py MODEL.onnx IMAGES LABELS [--images N] [--target CPU]

IMAGES and LABELS are the idx files of MNIST, gzipped or not. The model takes one image [1, 1, 28, 28] of values from 0
to 255 (--divide 255 for models that take 0 to 1) and gives ten scores. Images of other sizes have axes [N, rows,
columns] or [N, channels, rows, columns]. The last 100 images of the file calibrate the quantization, or the .npy files
that --calibration names; the first N are classified. Exit code 1 where the device is more than half a point below
float.
"""

from __future__ import annotations

import argparse
import gzip
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np

from firmware_check.boards import BOARDS
from firmware_check.build import Bench, build
from firmware_check.ending import in_one_line
from firmware_check.errors import FirmwareError
from firmware_check.library import open_library
from firmware_check.opening import OpenedModel, Options, open_model
from firmware_check.options import count, seconds
from firmware_check.program import Elements
from firmware_check.run import run_image
from onnxlint_cmsis.fixers.proof.onnx_runtime import onnx_runtime

CALIBRATION_IMAGES = 100
POINTS = 0.5
"""Points of accuracy that the device may be below float."""


def main() -> int:
    """Print the three accuracies; 2 where a signal ends it."""
    args = _arguments()
    return in_one_line("mnist_firmware", lambda: _main(args))


def _main(args: argparse.Namespace) -> int:
    images = read_idx(args.images_file).astype(np.float32) / args.divide
    images = images[:, None] if images.ndim == 3 else images
    labels = read_idx(args.labels_file)[: args.images]
    with tempfile.TemporaryDirectory(prefix="mnist_firmware-") as name:
        shares = accuracies(args, images, labels, Path(name))
    for what, accuracy in shares.items():
        print(f"{what:24} {100 * accuracy:6.2f} % of {len(labels)} images")
    return int(100 * (shares["ONNX Runtime, float"] - shares[f"{args.target}, int8"]) > POINTS)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("images_file", type=Path)
    parser.add_argument("labels_file", type=Path)
    parser.add_argument("--images", type=count, default=500)
    parser.add_argument("--target", default="cortex-m4", choices=[board.cpu for board in BOARDS])
    parser.add_argument("--divide", type=float, default=1.0)
    parser.add_argument("--calibration", default="", help="folder of .npy files")
    parser.add_argument("--cmsis-nn", default="")
    parser.add_argument("--timeout", type=seconds, default=600.0, help="seconds for the run in QEMU")
    return parser.parse_args()


def read_idx(path: Path) -> Elements:
    """An idx file of bytes, gzipped or not; FirmwareError where it is none."""
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        shape = struct.unpack(f">{data[3]}I", data[4 : 4 + 4 * data[3]])
        return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)
    except (OSError, ValueError, IndexError, struct.error) as error:
        raise FirmwareError(f"{path}: no idx file of bytes: {error}") from None


def accuracies(args: argparse.Namespace, images: Elements, labels: Elements, folder: Path) -> dict[str, float]:
    """Shares of images classified right: float, int8, on the device."""
    model = _quantized(args, images[-CALIBRATION_IMAGES:], folder)
    if not model.quantized_here:
        raise FirmwareError(f"{args.model}: quantized already; a float model is expected")
    chosen = images[: len(labels)]
    scores = {
        "ONNX Runtime, float": _by_onnxruntime(args.model, chosen),
        "ONNX Runtime, int8": _by_onnxruntime(str(folder / "quantized.onnx"), chosen),
        f"{args.target}, int8": _by_firmware(args, model, chosen, folder),
    }
    return {what: float(np.mean(values.argmax(axis=1) == labels)) for what, values in scores.items()}


def _quantized(args: argparse.Namespace, images: Elements, folder: Path) -> OpenedModel:
    calibration = args.calibration
    if not calibration:
        calibration = str(folder / "calibration")
        Path(calibration).mkdir()
        for number, image in enumerate(images):
            np.save(f"{calibration}/{number:04}.npy", image[None])
    return open_model(args.model, open_library(args.cmsis_nn), Options({}, calibration), folder)


def _by_onnxruntime(path: str, images: Elements) -> Elements:
    ort = onnx_runtime()
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.concatenate([np.asarray(session.run(None, {name: image[None]})[0]) for image in images])


def _by_firmware(args: argparse.Namespace, model: OpenedModel, images: Elements, folder: Path) -> Elements:
    board = next(board for board in BOARDS if board.cpu == args.target)
    program, bench = model.program, Bench(board, open_library(args.cmsis_nn), args.timeout)
    if model.program.foreign or len(program.inputs) != 1:
        raise FirmwareError(f"{args.model}: not every layer runs on the device")
    q = program.inputs[0].quantization
    steps = np.rint(images / np.float32(q.scale)) + q.zero_point  # what QuantizeLinear makes of them
    integers = np.clip(steps, q.lowest, q.highest).astype(np.int8)
    image = build(program, bench, folder, args.model, traced=False)
    sets = [[program.inputs[0].to_memory(image[None])] for image in integers]
    outputs = run_image(image.path, program, bench, sets, every_layer=False).outputs
    return np.stack([program.outputs[0].from_memory(output[0]).reshape(-1) for output in outputs])


if __name__ == "__main__":
    sys.exit(main())
