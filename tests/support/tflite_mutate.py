"""Damage `.tflite` files at random and run them through the whole path: `tflite_mutate.py FOLDER SEED COUNT`.

Each is read, made a Graph, run on paper, linted against a small device, and shown by `layers` and `memory`. Prints one
JSON line: how many files were read whole, how many ended in ModelError, and every other error.
"""

from __future__ import annotations

import json
import random
import resource
import struct
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "scripts")]

from onnxlint_cmsis.cmsis_nn.releases import parse_target
from onnxlint_cmsis.config.files import SettingsLayer
from onnxlint_cmsis.config.resolve import Configuration
from onnxlint_cmsis.engine import lint_file
from onnxlint_cmsis.formats.tflite.read_file import read_tflite
from onnxlint_cmsis.formats.tflite.to_graph import to_graph
from onnxlint_cmsis.graph.model_error import ModelError
from onnxlint_cmsis.layers_report import layers_table
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.tflm_build import TflmBuild
from onnxlint_cmsis.tflite_files.memory_report import memory_reports
from onnxlint_cmsis.tflite_files.memory_text import memory_lines, plan_cells
from sample_tflm import describe
from support.tflite_writer import restore, write

BUILDS = (
    TflmBuild(parse_target("cortex-m55", "main")),
    TflmBuild(parse_target("cortex-m4", "7.0.0"), optimized_for="SIZE", checks=False),
)
NAME = "mutated.tflite"
SETTINGS = Configuration(
    isolated=True, options=SettingsLayer("arguments", "/", {"targets": ["m55"], "ram": "2K", "flash": "1K"})
).settings_for(NAME)
ADDRESS_SPACE = 2_500_000_000
EXTREMES = (0, 1, 4, 127, 255, 2**15, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 8, 2**32 - 1)


def mutate(data: bytes, chance: random.Random) -> bytes:
    """A damaged copy: some bytes, some aligned words, a cut, or a piece copied elsewhere."""
    copy = bytearray(data)
    kind = chance.randrange(4)
    if kind == 0:
        for _ in range(chance.randrange(1, 20)):
            copy[chance.randrange(len(copy))] = chance.randrange(256)
    elif kind == 1:
        for _ in range(chance.randrange(1, 6)):
            position = 4 * chance.randrange(2, len(copy) // 4)
            copy[position : position + 4] = struct.pack("<I", chance.choice((*EXTREMES, chance.randrange(len(copy)))))
    elif kind == 2:
        del copy[chance.randrange(8, len(copy)) :]
    else:
        length = chance.randrange(1, min(64, len(copy)))
        source, target = (chance.randrange(len(copy) - length) for _ in range(2))
        copy[target : target + length] = copy[source : source + length]
    return bytes(copy)


def leaves(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every number and name in a nest of dicts and lists, as its holder and key."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, dict | list):
            leaves(inner, found)
        else:
            found.append((value, key))
    return found


def twist(described: dict[str, Any], chance: random.Random) -> bytes | None:
    """A sound file that says something odd: sizes, indices, options, types; None where it cannot be written."""
    copy = json.loads(json.dumps(described))
    places = leaves(copy["subgraphs"], [])
    for _ in range(chance.randrange(1, 4)):
        holder, key = chance.choice(places)
        if isinstance(holder[key], str):
            holder[key] = chance.choice(("INT8", "INT16", "INT4", "FLOAT32", "INT32", "SAME", "VALID", "RELU"))
        else:
            holder[key] = chance.choice((-1, 0, 1, 2, 3, 5, 8, 127, 2**15, 2**31 - 1, holder[key]))
    if chance.random() < 0.3:
        holder, key = chance.choice(places)
        if isinstance(holder, list):
            del holder[key % max(len(holder), 1) :]
    try:
        return write(restore(copy))
    except (struct.error, ValueError, TypeError, AttributeError, OverflowError, LookupError):
        return None


def outcome(data: bytes) -> str:
    """`read`, `refused`, or the traceback of what should not have happened."""
    try:
        model = read_tflite("mutated.tflite", data)
        for value in to_graph(model).constants.values():
            value.values()
        for build in BUILDS:
            interpret(model, build)
        _wired(data)
    except ModelError as error:
        _lint(data)
        return "refused" if error.message and "\n" not in error.message else f"message: {error.message}"
    except Exception:
        return traceback.format_exc()
    return "read"


def _lint(data: bytes) -> None:
    """Findings of every rule, with too little RAM and flash."""
    lint_file(NAME, SETTINGS, data)


def _wired(data: bytes) -> None:
    """What the commands lint, layers and memory do."""
    _lint(data)
    layers_table(NAME, SETTINGS, data)
    for report in memory_reports(NAME, SETTINGS, data):
        json.dumps(report)
        if "arena_used" in report:
            memory_lines(report, "cortex-m4")
            plan_cells(report)


def main(folder: str, seed: str, count: str) -> None:
    """Mutate the smaller files of a folder in turn."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    models = [path.read_bytes() for path in sorted(Path(folder).glob("*.tflite"))]
    described = [describe(read_tflite("original.tflite", data)) for data in models]
    chance = random.Random(int(seed))
    found = {"read": 0, "refused": 0}
    errors: list[str] = []
    for number in range(int(count)):
        which = number % len(models)
        twisted = twist(described[which], chance) if chance.random() < 0.5 else None
        kind = outcome(twisted or mutate(models[which], chance))
        if kind in found:
            found[kind] += 1
        else:
            errors.append(kind)
    print(json.dumps({**found, "errors": errors[:20], "error_count": len(errors)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
