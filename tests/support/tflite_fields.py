"""One thing of a `.tflite` file changed: PYTHONPATH=tests python -m support.tflite_fields FOLDER... [--count N].

Any field of any table of the schema, given or left out: sizes, types, quantization, options, operands, metadata,
subgraphs, values; or an edit of `tflite_edits`, or two. Files are those of the folders and random ones. What `verify`
calls equal to the file that it was runs on random inputs beside it, in LiteRT's reference kernels and in PyPI's
`tflite-micro`; a difference is printed, and the exit code is 1. A file that differs from itself in
LiteRT is told apart.
"""

from __future__ import annotations

import argparse
import random
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.flatbuffer import Table, root_of
from onnxlint_cmsis.formats.format import TFLITE
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from onnxlint_cmsis.model.model_error import ModelError
from onnxlint_cmsis.runtimes.host.bounds import misread_bias, unsteady
from onnxlint_cmsis.runtimes.host.hosts import REFERENCE
from onnxlint_cmsis.runtimes.tflm.interpret import wrong_operators
from support.targets import target_of
from support.tflite_edits import edited
from support.tflite_runs import (
    DIFFERS,
    EQUAL,
    NOT_LOADED,
    NOT_READ,
    REFUSED,
    UNSTEADY,
    desktop_runs,
    device_runs,
    outcome,
)
from support.tflite_steps import as_converted, random_chain
from support.tflite_writer import write
from support.tflm_drafts import OPERATORS
from support.tflm_zoo import zoo_file

NUMBERS = (0, 1, 2, -1, 3, 7, 127, 128, 255, -128, 1 << 20, (1 << 31) - 1)
REALS = (0.0, 1.0, 0.5, 0.25, 2.0, -1.0, 1e-3, 1e-9)


class Change(NamedTuple):
    """A file with one field changed."""

    field: str
    """Table and field."""
    data: bytes


def described(table: Table) -> dict[str, Any]:
    """A table as a dict that `tflite_writer.write` takes."""
    told: dict[str, Any] = {}
    for name, field in table.fields.items():
        if not table.has(name):
            continue
        inner = field.type[1:-1]
        if field.type in SCHEMA.unions:
            below = table.table(name)
            told[name] = (table.union(name), {} if below is None else described(below))
        elif field.type in SCHEMA.tables:
            below = table.table(name)
            told[name] = None if below is None else described(below)
        elif field.type.startswith("[") and inner not in SCHEMA.scalars:
            told[name] = [described(below) for below in table.tables(name)]
        elif field.type == "[ubyte]":
            span = table.bytes_of(name)
            told[name] = [*bytes(table.file.data[span.offset : sum(span)])]
        else:
            value = table.value(name)
            told[name] = [*value] if isinstance(value, tuple) else value
    return told


def changed(data: bytes, chance: random.Random) -> Change | None:
    """The file with one thing changed, or two; None where what was drawn cannot be written."""
    model = described(root_of(SCHEMA, data))
    try:
        told = [_field_changed(model, chance) if chance.random() < 0.4 else edited(model, chance)]
        if chance.random() < 0.15:
            told.append(edited(model, chance))
        return Change(" + ".join(told), write(model))
    except (ValueError, LookupError, TypeError, OverflowError, struct.error):
        return None


def _field_changed(model: dict[str, Any], chance: random.Random) -> str:
    """Change one field of a table."""
    kind, table = chance.choice(_tables(model, chance))
    fields = SCHEMA.fields(kind)
    name = chance.choice([*fields])
    table[name] = _other(fields[name].type, table.get(name), fields[name].default, chance)
    return f"{kind}.{name}"


TABLES_OF = {
    "subgraphs": "SubGraph", "tensors": "Tensor", "operators": "Operator", "buffers": "Buffer", "metadata": "Metadata",
    "operator_codes": "OperatorCode", "signature_defs": "SignatureDef", "quantization": "QuantizationParameters",
}  # fmt: skip


def _tables(model: dict[str, Any], chance: random.Random) -> list[tuple[str, dict[str, Any]]]:
    """Tables of one kind, each with its name in the schema."""
    main = model["subgraphs"][0]
    tensors, operators = main.get("tensors", []), main.get("operators", [])
    kinds: list[list[tuple[str, dict[str, Any]]]] = [
        [("Tensor", tensor) for tensor in tensors],
        [("Tensor", tensor) for tensor in tensors],
        [("QuantizationParameters", tensor.setdefault("quantization", {}) or {}) for tensor in tensors],
        [("Operator", operator) for operator in operators],
        [operator["builtin_options"] for operator in operators if operator.get("builtin_options")],
        [operator["builtin_options"] for operator in operators if operator.get("builtin_options")],
        [("Buffer", buffer) for buffer in model.get("buffers", []) if buffer.get("data")],
        [("Model", model), ("SubGraph", main), *(("OperatorCode", code) for code in model.get("operator_codes", []))],
    ]
    kinds = [tables for tables in kinds if tables and any(SCHEMA.fields(kind) for kind, _ in tables)]
    tables = chance.choice(kinds)
    for tensor in tensors:
        if tensor.get("quantization") == {}:
            if tables[0][0] == "QuantizationParameters":
                continue
            del tensor["quantization"]
    return tables


def _other(kind: str, value: Any, default: float, chance: random.Random) -> Any:
    """Another value of a field of a type."""
    if kind.startswith("["):
        of_numbers = kind[1:-1] in SCHEMA.scalars
        return (_list if of_numbers else _tables_list)(kind[1:-1], [*(value or [])], chance)
    if kind in SCHEMA.unions:
        return chance.choice(SCHEMA.unions[kind][1:]), {}
    if kind in SCHEMA.scalars or kind == "string":
        return _scalar(kind, default if value is None and kind != "string" else value, chance)
    return {} if value is None else None


def _scalar(kind: str, value: Any, chance: random.Random) -> Any:
    """Another number, name or text."""
    if kind in SCHEMA.enums:
        return chance.choice(SCHEMA.enums[kind])
    if kind == "bool":
        return not value
    if kind == "string":
        return chance.choice(["", "x", "OfflineMemoryAllocation", f"{value}#1", f"{value}~"])
    if kind == "float":
        return chance.choice([*REALS, *(value * factor for factor in (2, 0.5, 1.000001))])
    return chance.choice([*NUMBERS, *(int(value) + step for step in (1, -1, 2))])


def _list(kind: str, values: list[Any], chance: random.Random) -> list[Any]:
    """A vector with an element changed, exchanged, added or taken off."""
    way = chance.choice(("change", "change", "change", "swap", "more", "less", "all"))
    new = _other(kind, values[0] if values else None, 0, chance)
    if way == "more" or not values:
        return [*values, new]
    spot = chance.randrange(len(values))
    if way == "less":
        return [*values[:spot], *values[spot + 1 :]]
    if way == "swap":
        other = chance.randrange(len(values))
        values[spot], values[other] = values[other], values[spot]
        return values
    if way == "all" and kind != "ubyte":
        return [new] * len(values)
    if kind == "ubyte":
        values[spot] = (values[spot] + chance.choice((1, 255, 128))) % 256
    else:
        values[spot] = _other(kind, values[spot], 0, chance)
    return values


def _tables_list(kind: str, values: list[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """A vector of tables with two exchanged, one twice, one taken off or an empty one."""
    way = chance.choice(("swap", "twice", "less", "empty"))
    if way == "empty" or not values:
        return [*values, {"name": "OfflineMemoryAllocation", "buffer": 1} if kind == "Metadata" else {}]
    spot = chance.randrange(len(values))
    if way == "less":
        return [*values[:spot], *values[spot + 1 :]]
    if way == "twice":
        return [*values, values[spot]]
    other = chance.randrange(len(values))
    values[spot], values[other] = values[other], values[spot]
    return values


def told(old: bytes, change: Change, seed: int) -> str:
    """How a change ends."""
    try:
        files = [TFLITE.load("m.tflite", data) for data in (old, change.data)]
    except ModelError:
        return NOT_READ
    if not verify(*files, 1 << 18).equal:
        return REFUSED
    nodes = [(file.graph, node) for file in files for node in file.graph.nodes]
    desktop = not any(REFERENCE in (*misread_bias(*of), *unsteady(*of)) for of in nodes)
    device = not any(wrong_operators(file.file, target_of()) for file in files)
    ways = [way for way, holds in ((desktop_runs, desktop), (device_runs, device)) if holds]
    ends = {way: outcome(old, change.data, seed, way) for way in ways}
    if ends.get(desktop_runs) == DIFFERS and any(outcome(data, data, seed) == DIFFERS for data in (old, change.data)):
        ends[desktop_runs] = UNSTEADY
    return next((end for end in (DIFFERS, UNSTEADY, EQUAL) if end in ends.values()), NOT_LOADED)


def bases(folders: Sequence[Path], largest: int) -> Iterator[tuple[str, bytes]]:
    """Files of folders that the checker calls equal to themselves beside another description."""
    for path in sorted(path for folder in folders for path in folder.rglob("*.tflite")):
        if path.stat().st_size > largest:
            continue
        data = path.read_bytes()
        try:
            noted = write({**described(root_of(SCHEMA, data)), "description": "noted"})
            files = [TFLITE.load("m.tflite", given) for given in (data, noted)]
            if verify(*files, 1 << 18).equal and outcome(data, noted, 0) == EQUAL:
                yield path.name, data
        except (ModelError, ValueError, KeyError, TypeError, struct.error):
            continue


def drawn(chance: random.Random) -> tuple[str, bytes]:
    """A random file: a chain of layers or one operator."""
    seed = chance.randrange(1 << 31)
    kind = chance.choice(("converted", "chain", "wide", *["operator"] * 4))
    if kind == "converted":
        return f"{kind} {seed}", as_converted(seed)
    if kind in ("chain", "wide"):
        return f"{kind} {seed}", random_chain(seed, chance.randrange(4), wide=kind == "wide")
    op = chance.choice(OPERATORS)
    return f"{op} {seed}", zoo_file(seed, op, "drawn")


def ends(counted: Counter[tuple[str, str]]) -> Counter[str]:
    """How many changes came to each end."""
    summed: Counter[str] = Counter()
    for (_, end), number in counted.items():
        summed[end] += number
    return summed


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="*", metavar="NUMBER", help="draws to repeat")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where both files of each pair are written")
    parser.add_argument("--largest", type=int, default=12000, help="bytes of the largest file")
    args = parser.parse_args(argv)
    import_module("ai_edge_litert.interpreter"), import_module("tflite_micro")  # once, not in each process
    files = [*bases(args.folders, args.largest)]
    print(f"{len(files)} files", flush=True)
    counted: Counter[tuple[str, str]] = Counter()
    for number in args.only or range(args.count):
        chance = random.Random(f"{args.seed} {number}")
        name, data = chance.choice(files) if files and chance.random() < 0.5 else drawn(chance)
        change = changed(data, chance)
        if args.keep and change is not None:
            for side, kept in (("old", data), ("new", change.data)):
                (args.keep / f"{number}_{side}.tflite").write_bytes(kept)
        if change is None or change.data == data:
            counted["-", "not written"] += 1
            continue
        end = told(data, change, number)
        counted[change.field, end] += 1
        if end in (DIFFERS, UNSTEADY):
            print(f"{name} {number} {change.field}: {end}", flush=True)
        if number % 500 == 499:
            print(number + 1, dict(ends(counted)), flush=True)
    print(dict(ends(counted)))
    for field in sorted({field for field, _ in counted}):
        print(field, {end: counted[field, end] for known, end in counted if known == field})
    return int(any(end == DIFFERS for _, end in counted))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
