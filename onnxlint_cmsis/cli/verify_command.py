"""The command `verify`: whether two model files compute the same for every input, and which fact does not hold."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.certificate import Lanes, verify
from onnxlint_cmsis.cli.options import CommandParser, add_form, columns
from onnxlint_cmsis.formats.format import format_of
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.model.graph import ModelError
from onnxlint_cmsis.output.comparison import operand
from onnxlint_cmsis.output.plain import json_text, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.certificate import Key, Model, Verification
    from onnxlint_cmsis.formats.format import LoadedFile
    from onnxlint_cmsis.model.graph import Node


DESCRIPTION = (
    "Tell whether two versions of a model compute the same for every input, in the integer arithmetic of the device "
    "(TensorFlow Lite's specification of quantized operators). Nothing is run, and nothing has to be known about how "
    "the file was changed. Float layers are equal where they and their operands are. A version is a file or a file of "
    "a git commit. Exit codes: 0 where every output is equal for every input, 1 where that is not known of one, 2 "
    "where a version cannot be read."
)


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("verify", DESCRIPTION)
    add = parser.judged.add_argument
    add("old", metavar="OLD", help="The version before: a file, or COMMIT:PATH of git.")
    add("new", metavar="NEW", help="The version after.")
    add("--isolated", action="store_true", help="Read no configuration file; none is read in any case.")
    add_form(parser)
    return parser


def run(argv: list[str]) -> int:
    """Print what is known of each output; 1 where one is not known to be equal."""
    args = make_parser().parse_args(argv)
    known = verify(_loaded(args.old), _loaded(args.new))
    report = verification_json(known)
    sys.stdout.write(json_text(report) if args.form == "json" else _text(report))
    return 0 if known.equal else 1


def _loaded(text: str) -> LoadedFile:
    """A file, or a file of a git commit. Raises UsageError."""
    given = operand(text)
    try:
        return format_of(given.path).load(given.path, given.data)
    except ModelError as error:
        raise UsageError(f"{text}: {error.message}") from None


def _text(report: dict[str, Any]) -> str:
    """The report as lines."""
    lines = []
    for output in report["outputs"]:
        told = "equal for every input" if output["equal"] else f"not known to be equal: {output['reason']}"
        lines.append(f"output '{output['name']}': {told}")
    if report["layers"]:
        went, came = (sum(layer[key] for layer in report["layers"]) for key in ("gone", "new"))
        lines.append(f"{len(report['layers'])} tensors have other lanes: {went} went, {came} came")
    return "".join(f"{wrapped(line, columns(), 4)}\n" for line in lines)


def verification_json(known: Verification) -> dict[str, Any]:
    """The outputs, and what became of the lanes of each tensor that has others than before."""
    outputs = [
        {"name": name, "equal": not fault, "reason": fault and _reason(known, name, fault)}
        for name, fault in zip(known.new.graph.outputs, known.faults, strict=False)
    ]
    return {"equal": known.equal, "outputs": outputs, "layers": [*_relations(known)] if known.equal else []}


# Which lanes stay, and where they went.


def _relations(known: Verification) -> Iterator[dict[str, Any]]:
    for node in known.new.graph.nodes:
        for name in node.outputs:
            old, new = known.old.values.get(name), known.new.values.get(name)
            if isinstance(old, Lanes) and isinstance(new, Lanes) and new.integers and len(old.shape) == len(new.shape):
                axes = [axis for axis, sizes in enumerate(zip(old.shape, new.shape, strict=True)) if len({*sizes}) > 1]
                if len(axes) == 1 and axes[0] not in (*old.plane, *new.plane):
                    yield {"node": node.label, "tensor": name, "axis": axes[0], **_relation(known, old, new, axes[0])}


def _relation(known: Verification, old: Lanes, new: Lanes, axis: int) -> dict[str, Any]:
    table = known.new.table
    before, after = ([*map(bytes, value.ids.swapaxes(0, axis).copy())] for value in (old, new))
    whole = [value.ids.swapaxes(0, axis).reshape(value.ids.shape[axis], -1) for value in (old, new)]
    constants = [
        [int(table.low[row[0]]) if all(table.is_constant(int(lane)) for lane in row) else None for row in rows]
        for rows in whole
    ]
    lanes = [before.index(lane) if lane in before else None for lane in after]
    gone = [lane for lane in range(len(before)) if before[lane] not in after]
    fixed = {str(lane): constants[0][lane] for lane in gone if constants[0][lane] is not None}
    return {
        "before": len(before), "after": len(after), "lanes": lanes, "constants": fixed,
        "gone": len(gone), "new": lanes.count(None),
    }  # fmt: skip


# Why an output is not known to be equal: the first layer that computes something the old file does not.


def _reason(known: Verification, output: str, fault: str) -> str:
    old, new = known.old, known.new
    have = {int(lane) for value in old.values.values() if isinstance(value, Lanes) for lane in value.ids.flat}
    for node in _behind(new, output):
        for name in node.outputs:
            value = new.values.get(name)
            if not isinstance(value, Lanes):
                continue
            other = [int(lane) for lane in value.ids.flat if int(lane) not in have]
            if other and node.index in new.opaque:
                return f"layer '{node.label}' ({node.op_type}) is not covered: {new.opaque[node.index]}"
            if other:
                return f"layer '{node.label}' ({node.op_type}) {_difference(known, name, other[0])}"
    return fault


def _behind(model: Model, output: str) -> Iterator[Node]:
    """Nodes that an output is computed by, in their order."""
    graph, waiting, needed = model.graph, [output], set[int]()
    while waiting:
        node = graph.producers.get(waiting.pop())
        if node is not None and node.index not in needed:
            needed.add(node.index)
            waiting += node.inputs
    return (node for node in graph.nodes if node.index in needed)


WORDS = {
    "sum": (
        "adds another bias", "reads another zero-point", "reads another type",
        "has another window", "has other weights or reads other lanes", "has another border",
    ),
    "scaled": ("", "has other scales"),
    "requantize": ("", "has another multiplier", "has another shift", "has another zero-point", "makes another type",
                   "has other bounds", "has other bounds"),
}  # fmt: skip
"""What it means that a part of a number differs, in the order of its parts."""


def _difference(known: Verification, name: str, lane: int) -> str:
    """What a lane has that no lane of the old tensor of this name has, as little as it can be."""
    table, value = known.new.table, known.old.values.get(name)
    lanes = {int(number) for number in value.ids.flat} if isinstance(value, Lanes) else set[int]()
    told = [_differing(table.key, table.key[lane], table.key[other]) for other in sorted(lanes)]
    close = min((words for words in told if words), key=len, default=[])
    return " and ".join(close) or "computes what no layer of the old file does"


def _differing(keys: list[Key], key: Key, other: Key) -> list[str]:
    """What differs between two lanes; nothing where they are of different kinds."""
    if key[0] != other[0] or len(key) != len(other):
        return []
    words = WORDS.get(key[0], ())
    parts = list(zip(key[1:], other[1:], strict=True))
    inner: list[str] = []
    if key[0] in ("scaled", "requantize") and parts[0][0] != parts[0][1]:
        inner = _differing(keys, keys[parts[0][0]], keys[parts[0][1]])
        if not inner:
            return []
    told = [word for word, (a, b) in zip(words, parts, strict=False) if word and a != b]
    if key[0] == "sum" and key[1] != other[1]:
        told[0] = f"adds {key[1]} to its sum; the old file adds {other[1]}"
    return [*inner, *dict.fromkeys(told)]
