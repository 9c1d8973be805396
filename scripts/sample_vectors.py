"""Draw the sample of dispatch vectors that the project keeps for those who have not got all of them.

Every stratum (file, wrapper, kernel, status, whether scratch was overrun) keeps its first rows and then rows at even
steps, so that the sample has every way a wrapper can go in every release, instruction set and compiler:

    python scripts/sample_vectors.py FOLDER tests/data/dispatch_sample.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

PER_STRATUM = 24


def main() -> int:
    """Read FOLDER/*.jsonl.gz and write the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of dispatch vectors")
    parser.add_argument("sample", type=Path, help="file to write")
    args = parser.parse_args()
    lines = [line for path in sorted(args.folder.glob("*.jsonl.gz")) for line in sampled(path)]
    with args.sample.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write("".join(lines).encode())
    print(f"{len(lines)} vectors, {args.sample.stat().st_size} bytes")
    return 0


def sampled(path: Path) -> list[str]:
    """The rows of one file that the sample keeps, in file order."""
    strata: dict[tuple[object, ...], list[int]] = {}
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    for number, line in enumerate(lines):
        record = json.loads(line)
        key = (record["wrapper"], *record["chain"], record["status"], record["overrun"] > 0)
        strata.setdefault(key, []).append(number)
    kept = {number for numbers in strata.values() for number in numbers[:: max(1, len(numbers) // PER_STRATUM)]}
    return [line for number, line in enumerate(lines) if number in kept]


if __name__ == "__main__":
    raise SystemExit(main())
