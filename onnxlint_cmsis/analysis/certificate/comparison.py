"""Whether two model files compute the same for every input, in the integer arithmetic of the device.

The meaning is TensorFlow Lite's specification of quantized operators: a layer sums whole numbers, and one fixed-point
multiplication takes the sum to the result's scale. Both files are read into one table of numbers. A lane (a channel
over its plane, or one element) gets the number of what it computes, written in a form that does not depend on how the
file says it. Lanes with one number are equal on every input, so nothing has to be known about how a file was changed:

* a sum is a set of (lane, tap, weight), without weights of 0; a tap is told by the places of the plane that it reads;
* lanes that are constant go into the bias, or stay as a border where padding meets them;
* a lane is constant where the least and the greatest sum come out as one number, as requantization is monotone;
* what only moves elements gives them other places and no other numbers;
* any other operator gives equal results for equal operands, and nothing more is said about it.

Nothing is imported but what reads a file.
"""

from __future__ import annotations

from onnxlint_cmsis.analysis.certificate.reading import Model
from onnxlint_cmsis.analysis.certificate.table import MOST_NUMBERS, Numbers
from onnxlint_cmsis.analysis.certificate.values import DAMAGED
from onnxlint_cmsis.formats.format import LoadedFile
from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import TFLITE, Graph
from onnxlint_cmsis.operators.integers import OFFSETS


class Verification(NamedTuple):
    """What is known of two files: `faults` has an entry for each output, None where it is equal for every input."""

    old: Model
    """The old file."""
    new: Model
    """The new file."""
    faults: tuple[str | None, ...]
    """Why an output of the new file is not known to be equal, in order."""

    @property
    def equal(self) -> bool:
        """Tell whether all outputs are equal for every input."""
        return not any(self.faults)

    @property
    def rounds(self) -> bool:
        """Tell whether a file takes real numbers to integers, as the device does and other runtimes may not."""
        return bool(self.old.rounded or self.new.rounded)


def compare_lanes(old: LoadedFile, new: LoadedFile, most: int = MOST_NUMBERS, *, plain: bool = False) -> Verification:
    """Hold two files, read by `formats.format`, against each other; `most` numbers bound time and memory.

    `plain`: outputs are equal in every runtime, since layers say the same or move elements.
    """
    was, now = (joined_lines(side.graph) for side in (old, new))
    first = 0 if was else min(now, default=0)  # a file that alone joins them is not told by whole planes
    known = _held(old, new, most, plain=plain, apart=first)
    others = (_held(old, new, most, plain=plain, apart=apart) for apart in sorted({0, *was, *now} - {first}))
    return known if known.equal else next((other for other in others if other.equal), known)


def joined_lines(graph: Graph) -> set[int]:
    """Axes [batch, channels, rows, columns] along which images are joined, whose lines were then computed apart."""
    joined = ((node, len(graph.shape(node.outputs[0]) or ())) for node in graph.nodes if canonical(node) == "Concat")
    return {node.int("axis") % rank + (node.domain == TFLITE) for node, rank in joined if rank > 3} & {2, 3}


def _held(old: LoadedFile, new: LoadedFile, most: int, *, plain: bool, apart: int) -> Verification:
    table, sides = Numbers(most), (old, new)
    mixed = len({any(node.domain == TFLITE for node in side.graph.nodes) for side in sides}) > 1
    before, after = (Model(side, table, mixed=mixed, plain=plain, apart=apart) for side in sides)
    frame = frame_fault(before.graph, after.graph) or left_fault(before, after)
    ends = zip(before.graph.outputs, after.graph.outputs, strict=False)
    faults = [frame or fault(before, after, *names) for names in ends]
    return Verification(before, after, tuple(faults or [frame or "there is no output"]))


def frame_fault(old: Graph, new: Graph) -> str | None:
    """Why inputs or outputs of two files do not correspond; None where they do, be integers signed or not."""
    for what, have, want in (("inputs", new.inputs, old.inputs), ("outputs", new.outputs, old.outputs)):
        if len(have) != len(want):
            return f"the new file has {len(have)} {what}, the old one {len(want)}"
        for name, other in zip(have, want, strict=True):
            if name != other:
                return f"'{name}' is called '{other}' in the old file"
            if _end(new, name) != _end(old, other):
                return f"'{name}' is {_end(new, name)}, in the old file {_end(old, other)}"
    before, after = (
        {(name, c.elem_type, c.shape) for name, c in g.constants.items() if c.overridable and name not in g.producers}
        for g in (old, new)
    )
    if lost := sorted(before - after):
        return f"'{lost[0][0]}', which a caller may replace, is no such input of the new file"
    if old.signatures != new.signatures or not all(signature.main for signature in new.signatures):
        return "the signatures differ, or one of them enters another subgraph, which is not read"
    return None


def left_fault(before: Model, after: Model) -> str | None:
    """What two files, their inputs or outputs say beside their graphs, and differ in; None where they do not."""
    ends = {*after.graph.inputs, *after.graph.outputs}
    sides = [[side.left.file, *(side.left.tensors.get(name, ()) for name in sorted(ends))] for side in (before, after)]
    for have, want in zip(*sides[::-1], strict=True):
        told = [item.what for item in (*have, *want) if item.content is None or item not in have or item not in want]
        if told or have != want:
            return f"the files differ in what nobody reads, or it cannot be read: {', '.join(dict.fromkeys(told))}"
    return None


def _end(graph: Graph, name: str) -> str:
    """An input or output as the device holds it."""
    elem_type, stored = graph.elem_type(name), graph.quantization.get(name)
    offset, shape = OFFSETS.get(elem_type, 0), [*(graph.shape(name) or ("an open shape",))]
    scale = f" in steps of {stored.scales} from {[zero - offset for zero in stored.zero_points]}" if stored else ""
    return f"{elem_type.removeprefix('u') if offset else elem_type or 'of unknown type'} {shape}{scale}"


def fault(before: Model, after: Model, was: str, name: str) -> str | None:
    """Why an output is not known to be equal; None where it is."""
    try:
        if before.exact(was, signed=True) != after.exact(name, signed=True):
            return "it is not known to compute the same"
    except DAMAGED as error:
        return str(error)
    graphs = before.graph, after.graph
    types = {end: [graph.elem_type(end) for graph in graphs] for end in (*graphs[1].inputs, name)}
    other = [f"'{end}' ({have} for {had})" for end, (had, have) in types.items() if had != have]
    return f"it is equal for every input but for the offset of {', '.join(other)}" if other else None
