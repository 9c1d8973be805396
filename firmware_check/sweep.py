"""Random shapes through a kernel, with guards: which kernel ran, how much scratch it wrote, what it returned."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from firmware_check.build import Bench, build_source
from firmware_check.emit import sweep_source
from firmware_check.ending import say
from firmware_check.errors import FirmwareError
from firmware_check.program import Program, Quantization, Step, Value
from firmware_check.run import run_image
from firmware_check.swept_calls import DEFAULTS, FIELDS, KINDS, MORE_FIELDS, callable_kinds
from onnxlint_cmsis.model.windows import places

Row = dict[str, Any]

_BYTES = 64 << 10
_CHANNELS = 2048
_AIM = 25_000
"""Counts of SysTick that the repeated calls of a row should take: a million instructions."""
_MOST = 50
REFERENCE_LEVELS = ("-O2", "-O3", "-Os")
"""Optimisations that reference code is measured with."""


def grid() -> Iterator[Row]:
    """Shapes around the sizes at which kernels change: one row for each."""
    for in_c, out_c in product((1, 3, 4, 5, 8, 12, 16), (4, 5, 8)):
        yield _row("conv", (8, 8), in_c, out_c, (1, 1))
        yield _row("conv", (8, 8), in_c, out_c, (3, 3), pad=(1, 1))
        yield _row("conv", (1, 32), in_c, out_c, (1, 5), pad=(0, 2))
    for in_c, multiplier in product((1, 3, 4, 7, 8, 12), (1, 2, 3, 4, 8)):
        yield _row("dw", (10, 10), in_c, in_c * multiplier, (3, 3), pad=(1, 1), ch_mult=multiplier)
        yield _row("dw", (10, 10), in_c, in_c * multiplier, (5, 5), pad=(2, 2), ch_mult=multiplier)
    for in_c, out_c in product((4, 13, 16, 33, 64), (1, 4, 10)):
        yield _row("fc", (1, 1), in_c, out_c, (1, 1))
    for kind, in_c in product(("avg", "max"), (1, 3, 4, 8, 17)):
        yield _row(kind, (8, 8), in_c, in_c, (2, 2), stride=(2, 2))
    for kind, size in product(("add", "mul"), (8, 65, 256, 1001)):
        yield _row(kind, (1, 1), size, size, (1, 1))
    for size in (2, 10, 16, 33):
        yield _row("softmax", (1, 1), size, 4, (1, 1))


def _row(kind: str, plane: tuple[int, int], in_c: int, out_c: int, kernel: tuple[int, int], **more: Any) -> Row:
    pad, stride = more.get("pad", (0, 0)), more.get("stride", (1, 1))
    out = [places(size, k, s, p, p) for size, p, k, s in zip(plane, pad, kernel, stride, strict=True)]
    return {
        "kind": kind, "n": 1, "h": plane[0], "w": plane[1], "in_c": in_c, "kh": kernel[0], "kw": kernel[1],
        "out_c": out_c, "stride_h": stride[0], "stride_w": stride[1], "pad_h": pad[0], "pad_w": pad[1], "dil_h": 1,
        "dil_w": 1, "ch_mult": more.get("ch_mult", 0), "out_h": out[0], "out_w": out[1],
    }  # fmt: skip


def measure(rows: list[Row], bench: Bench, folder: Path) -> list[Row]:
    """The rows with the measured instructions; kinds that this copy of the library lacks are left out.

    Instructions are instructions, not cycles, to one count of SysTick over all repetitions: those of the call and of
    the few that give it its arguments. They are None where the call returns an error, which `status` then is.
    """
    kinds = callable_kinds(bench.library)
    chosen = [row for row in rows if row["kind"] in kinds]
    if not chosen:
        raise FirmwareError(f"no row to measure; this copy of CMSIS-NN has functions for {', '.join(kinds) or 'none'}")
    for row in chosen:
        _check_size(row)
    numbers = {"bytes": _BYTES, "channels": _CHANNELS, "aim": _AIM, "most": _MOST}
    image = build_source(sweep_source(kinds, bench.library, numbers), bench, folder, traced=False)
    names = FIELDS[1:] + MORE_FIELDS
    shapes = [[kinds.index(row["kind"]), *(row.get(name, 0) for name in names)] for row in chosen]
    sets = [[np.array(shape, np.int32).view(np.int8)] for shape in shapes]
    outputs = run_image(image, _program(), bench, sets, every_layer=False).outputs
    release = bench.library.release
    version = release if release == "main" else f"v{release}"
    counts = []
    for row, (output,) in zip(chosen, outputs, strict=True):
        status, ticks, reps = np.frombuffer(output.tobytes(), np.int32).tolist()
        measured: Row = {"instructions": bench.board.instructions(ticks) / reps, "reps": reps}
        if status:
            measured = {"instructions": None, "status": status}
        counts.append({**row, **measured, "version": version, "isa": bench.board.isa.value})
    return counts


def _program() -> Program:
    """The harness's program: one layer that reads a shape and writes a measurement."""
    plain = Quantization(1.0, 0)
    given = Value("shape", 0, (4 * len(FIELDS + MORE_FIELDS),), (0,), plain)
    result = Value("found", 1, (12,), (0,), plain)
    return Program((given,), (Step("sweep", "", "", (given,), result),), (result,))


def _check_size(row: Row) -> None:
    missing = [name for name in FIELDS[:-1] if name not in row]
    if missing:
        raise FirmwareError(f"a row has no {', '.join(missing)}")
    deep = row["kind"].startswith(("conv_", "fc", "transpose_conv", "batch_matmul")) or row["kind"] == "conv"
    filters = row["kh"] * row["kw"] * row["out_c"] * (row["in_c"] if deep else 1)
    filters *= max(row.get("second_n", 1), 1) * max(row.get("second_h", 1), 1)
    images = row["n"] * max(row["h"] * row["w"] * row["in_c"], row["out_h"] * row["out_w"] * row["out_c"])
    largest = max(images * KINDS[row["kind"]].bits // 8, filters, _recurrent_bytes(row))
    if largest > _BYTES or row["out_c"] > _CHANNELS:
        raise FirmwareError(f"a row is too large for the sweep ({_BYTES} bytes, {_CHANNELS} channels): {row}")


def _recurrent_bytes(row: Row) -> int:
    """Bytes of the largest buffer of a recurrent layer: results, weights, or states and sums; 0 for other layers."""
    images, units, inputs = (int(row[name]) for name in ("n", "out_c", "in_c"))
    if row["kind"].startswith("lstm"):
        width = KINDS[row["kind"]].bits // 8
        return max(images * int(row["w"]) * units * width, units * max(inputs, units), 6 * (images * units + 2))
    if row["kind"].startswith("svdf"):
        features, memory = int(row["rank"]) * units, int(row["kh"])
        scratch = 4 * (features + images * (features + 2 * units))
        return max(features * inputs, 2 * images * features * memory, scratch)
    return 0


def main(argv: list[str]) -> int:
    """Measure a grid, or the shapes of a file, and print one JSON object a line."""
    from firmware_check.library import open_library
    from firmware_check.options import CheckParser, board_named, count, seconds

    parser = CheckParser(prog="firmware_check sweep", description=__doc__, allow_abbrev=False)
    parser.add_argument("--target", default="cortex-m4", metavar="CPU", help="Default: cortex-m4.")
    parser.add_argument("--cmsis-nn", default="", metavar="DIR", help="Default: the 4.0.0 in bakenn.")
    parser.add_argument("--like", default="", metavar="FILE", help="measure the shapes of these rows, gzipped or not")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only rows of this kind")
    parser.add_argument("--every", type=count, default=1, metavar="N", help="only every Nth row")
    parser.add_argument("--reference", choices=REFERENCE_LEVELS, default="-O2", help="its optimisation. Default: -O2.")
    parser.add_argument("--timeout", type=seconds, default=600.0, metavar="SECONDS", help="Default: 600.")
    args = parser.parse_args(argv)
    rows = _read(args.like) if args.like else list(grid())
    rows = [row for row in rows if not args.kind or row["kind"] in args.kind][:: args.every]
    bench = Bench(board_named(args.target), open_library(args.cmsis_nn), args.timeout, own=args.reference)
    with tempfile.TemporaryDirectory(prefix="firmware_check-") as folder:
        for row in measure(rows, bench, Path(folder)):
            say(json.dumps(row) + "\n")
    return 0


def _read(path: str) -> list[Row]:
    """Rows of a file of JSON lines, defaults filled in; their own measurements are dropped, their repetitions kept."""
    try:
        data = Path(path).read_bytes()
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        rows = [json.loads(line) for line in text.decode("utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise FirmwareError(f"{path}: no rows: {error}") from None
    known = FIELDS + MORE_FIELDS
    return [DEFAULTS | {name: value for name, value in row.items() if name in known} for row in rows]
