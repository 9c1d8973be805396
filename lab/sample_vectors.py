"""Draw the samples of vectors that the project keeps for those who have not got all of them.

Every stratum keeps rows at even steps. Strata of dispatch vectors are file, wrapper, kernels, status and whether
scratch was overrun, so that the sample has every way a wrapper can go in every release, instruction set and compiler;
strata of cost vectors are file, kind of layer, kernel called and function that does the work:

    python lab/sample_vectors.py FOLDER tests/data/dispatch_sample.jsonl.gz
    python lab/sample_vectors.py FOLDER tests/data/cost_sample.jsonl.gz --rows 12
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

from onnxlint_cmsis.cmsis_nn.layer_records import call_of
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.cmsis_nn.targets import parse_isa, parse_target

ROWS = 24
"""Rows kept of a stratum, or a few more."""


def main() -> int:
    """Read FOLDER/*.jsonl.gz and write the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of vectors")
    parser.add_argument("sample", type=Path, help="file to write")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of a stratum. Default: {ROWS}.")
    args = parser.parse_args()
    lines = [line for path in sorted(args.folder.glob("*.jsonl.gz")) for line in sampled(path, args.rows)]
    with args.sample.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write("".join(lines).encode())
    print(f"{len(lines)} vectors, {args.sample.stat().st_size} bytes")
    return 0


def sampled(path: Path, rows: int) -> list[str]:
    """The rows of one file that the sample keeps, in file order."""
    strata: dict[tuple[object, ...], list[int]] = {}
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    for number, line in enumerate(lines):
        strata.setdefault(stratum(json.loads(line)), []).append(number)
    kept = {number for numbers in strata.values() for number in numbers[:: max(1, len(numbers) // rows)]}
    return [line for number, line in enumerate(lines) if number in kept]


def stratum(record: dict[str, Any]) -> tuple[object, ...]:
    """What a row has in common with others of its stratum."""
    if "wrapper" in record:
        return (record["wrapper"], *record["chain"], record["status"], record["overrun"] > 0)
    version = record["version"]
    target = parse_target(record["cpu"], version) if "cpu" in record else parse_isa(record["isa"], version)
    taken = route(call_of(record), target)
    return record["kind"], taken.kernel, taken.effective


if __name__ == "__main__":
    raise SystemExit(main())
