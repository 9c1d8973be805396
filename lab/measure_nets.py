"""Makes tests/data/net_instructions.jsonl.gz: python lab/measure_nets.py FOLDER [NAME...] --cmsis-nn DIR [--again].

Runs each .onnx and .tflite model below FOLDER on every board of the firmware check, and keeps what was counted in each
layer of nets that have LEAST_LAYERS layers or more; scripts/make_docs.py holds it against today's predictions. What the
file has already is not run again, so that a run that was ended goes on; --again measures it anew, and names choose
models. Layers run alone where the board does not hold them together.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from firmware_check.board_run import inputs_of, run_on_board
from firmware_check.boards import BOARDS
from firmware_check.build import Bench
from firmware_check.counted_nets import RELEASE, CountedLayer, read_layers, write_layers
from firmware_check.errors import FirmwareError
from firmware_check.instructions import work_of
from firmware_check.library import Library, open_library
from firmware_check.onnx_answers import Arrays
from firmware_check.opening import OpenedModel, Options, open_model
from firmware_check.verdict import LayerVerdict

FILE = Path(__file__).resolve().parent.parent / "tests" / "data" / "net_instructions.jsonl.gz"
LEAST_LAYERS = 3
"""Layers of a net; a file with fewer holds single operators."""
OPEN_SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    "yunet_n_dynamic": {"input": (1, 3, 64, 64)},
    "ppocrv4_det": {"x": (1, 3, 64, 64)},
    "silero_vad_16k_op15": {"input": (1, 576), "state": (2, 1, 128)},
}
"""Sizes of inputs that files leave open."""
SECONDS = 900
"""For one run of QEMU."""


def counted_in(path: Path, library: Library, cpus: list[str], folder: Path) -> list[CountedLayer]:
    """What the layers of a model take on some boards; none where it cannot be firmware."""
    try:
        model = open_model(str(path), library, Options(OPEN_SIZES.get(path.stem, {}), runs=1), folder)
        inputs = inputs_of(model, 0, 1)
    except FirmwareError as error:
        print(error, file=sys.stderr)
        return []
    steps = model.program.steps
    if len(steps) < LEAST_LAYERS:
        return []
    layers = [CountedLayer(path.name, number, step.label, work_of(step), {}, {}) for number, step in enumerate(steps)]
    numbers = {(step.label, step.output.tensor, step.function): number for number, step in enumerate(steps)}
    for cpu in cpus:
        bench = Bench(next(board for board in BOARDS if board.cpu == cpu), library, SECONDS, jobs=1)
        for verdict in verdicts(model, bench, inputs, folder):
            layer = layers[numbers[verdict.label, verdict.tensor, verdict.function]]
            layer.counted[cpu] = verdict.instructions.counted
            if verdict.status:
                layer.status[cpu] = verdict.status
    return layers


def verdicts(model: OpenedModel, bench: Bench, inputs: list[Arrays], folder: Path) -> tuple[LayerVerdict, ...]:
    """The layers of a model on a board, together where it holds them."""
    for per_layer in (False, True):
        images = folder / f"{bench.board.cpu}-{per_layer}"
        images.mkdir()
        try:
            return run_on_board(model, bench, inputs, images, per_layer).layers
        except FirmwareError as error:
            print(f"{model.path}, {bench.board.cpu}: {error}", file=sys.stderr)
    return ()


def merged(before: list[CountedLayer], fresh: list[CountedLayer]) -> list[CountedLayer]:
    """Counts of a net on further boards beside those that are known of the same layers."""
    known = {(layer.number, layer.work): layer for layer in before}
    old = [known.get((layer.number, layer.work), layer) for layer in fresh]
    return [
        layer._replace(counted={**was.counted, **layer.counted}, status={**was.status, **layer.status})
        for was, layer in zip(old, fresh, strict=True)
    ]


def main() -> int:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cmsis-nn", required=True)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    library = open_library(options.cmsis_nn)
    if library.release != RELEASE:
        print(f"{library.label} is not {RELEASE}", file=sys.stderr)
        return 2
    nets: dict[str, list[CountedLayer]] = {}
    for layer in read_layers(FILE):
        nets.setdefault(layer.net, []).append(layer)
    files = [path for end in ("onnx", "tflite") for path in sorted(options.folder.rglob(f"*.{end}"))]
    for path in files:
        if options.names and path.name not in options.names:
            continue
        before = [] if options.again else nets.get(path.name, [])
        cpus = [board.cpu for board in BOARDS if not any(board.cpu in layer.counted for layer in before)]
        if not cpus:
            continue
        with tempfile.TemporaryDirectory() as folder:
            fresh = merged(before, counted_in(path, library, cpus, Path(folder)))
        if any(layer.counted for layer in fresh):
            nets[path.name] = fresh
            write_layers(FILE, [layer for _, layers in sorted(nets.items()) for layer in layers])
            print(path.name, {cpu: sum(cpu in layer.counted for layer in fresh) for cpu in cpus}, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
