"""Makes tests/data/net_instructions.json: python lab/measure_nets.py FOLDER [NAME...] --cmsis-nn DIR [--again].

Runs each .onnx and .tflite model below FOLDER on every board of the firmware check, and keeps what was predicted and
counted of each net, which has LEAST_LAYERS layers or more. What the file has already is not run again, so that a run
that was ended goes on; --again measures it anew, and names choose models. Layers run one by one where the board does
not hold them together.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from firmware_check.boards import BOARDS

FILE = Path(__file__).resolve().parent.parent / "tests" / "data" / "net_instructions.json"
LEAST_LAYERS = 3
"""Layers of a net; a file with fewer holds single operators."""
OPEN_SIZES = {"yunet_n_dynamic": "input=1,3,64,64", "ppocrv4_det": "x=1,3,64,64"}
"""Sizes of inputs that files leave open."""
SECONDS = 900
"""For one run of QEMU."""

Row = dict[str, Any]


def checked(path: Path, library: str, cpus: list[str], *more: str) -> dict[str, Any]:
    """The report of a model on some boards; empty where it cannot be firmware."""
    shape = OPEN_SIZES.get(path.stem)
    command = [
        *(sys.executable, "-m", "firmware_check", str(path), "--cmsis-nn", library, "--target", ",".join(cpus)),
        *("--runs", "1", "--jobs", "1", "--timeout", str(SECONDS), "--json", "-", *more),
        *(("--input-shape", shape) if shape else ()),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    report: dict[str, Any] = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return report


def row_of(path: Path, check: dict[str, Any]) -> Row:
    """What is kept of one check."""
    layers = [layer["instructions"] | {"kernel": _kernel(layer)} for layer in check["layers"]]
    judged = [layer for layer in layers if layer["verdict"] != "not judged"]
    predicted = check["predicted"]
    reasons: dict[str, int] = {}
    for layer in layers:
        if layer["not_judged"]:
            reasons[layer["not_judged"]] = reasons.get(layer["not_judged"], 0) + 1
    worst = max(judged, key=_needed, default=None)
    number = predicted["instructions"]
    return {
        "net": path.name,
        "cpu": check["target"].partition(",")[0],
        "layers": len(layers),
        "predicted": predicted["instructions_range"] or [number, number],
        "counted": predicted["measured"],
        "worst": worst
        and [
            *(worst["kernel"], worst["off"], _base(worst), worst["allowed"]),
            worst["documented"]["instructions"],
        ],
        "disagree": sum(layer["verdict"] == "DISAGREES" for layer in layers),
        "not_judged": reasons,
    }


def _kernel(layer: Row) -> str:
    return str(layer["observed"]["effective"] if layer["function"] else "reference code")


def _base(layer: Row) -> int:
    """The end of the prediction that is nearer to what was counted."""
    ends = layer["instructions_range"] or [layer["instructions"]]
    return int(ends[0] if layer["off"] < 0 else ends[-1])


def _needed(layer: Row) -> float:
    """Percent that a layer is off beside what is left to all."""
    least = int(layer["documented"]["instructions"])
    return max(0, abs(int(layer["off"])) - least) / max(1, _base(layer))


def write(rows: list[Row]) -> None:
    """Write the file, a line for each net and board."""
    order = {board.cpu: number for number, board in enumerate(BOARDS)}
    rows.sort(key=lambda row: (row["net"], order[row["cpu"]]))
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")


def main() -> int:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cmsis-nn", required=True)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    rows: list[Row] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []
    files = [path for end in ("onnx", "tflite") for path in sorted(options.folder.rglob(f"*.{end}"))]
    for path in files:
        if options.names and path.name not in options.names:
            continue
        known = [] if options.again else [row["cpu"] for row in rows if row["net"] == path.name]
        cpus = [board.cpu for board in BOARDS if board.cpu not in known]
        if not cpus:
            continue
        checks = checked(path, options.cmsis_nn, cpus).get("checks", [])
        left = [cpu for cpu in cpus if not any(check["target"].startswith(f"{cpu},") for check in checks)]
        if left:
            checks += checked(path, options.cmsis_nn, left, "--per-layer").get("checks", [])
        fresh = [row_of(path, check) for check in checks if len(check["layers"]) >= LEAST_LAYERS]
        new = {row["cpu"] for row in fresh}
        rows = [row for row in rows if row["net"] != path.name or row["cpu"] not in new] + fresh
        write(rows)
        print(path.name, {row["cpu"]: row["disagree"] for row in fresh}, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
