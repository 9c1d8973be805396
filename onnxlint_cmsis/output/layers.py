"""What `onnxlint-cmsis layers` shows of a file: the words for a layer, and each layer as JSON has it."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.boundary_tensor import Conversion, Ties, shortest
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.layer import product_of
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.output.plain import name_in_c

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.analysis.boundary_tensor import BoundaryTensor
    from onnxlint_cmsis.analysis.layer_totals import Total
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.ground.types import Size
    from onnxlint_cmsis.runtimes.host.bounds import Bound
    from onnxlint_cmsis.runtimes.host.comparison import HostComparison
    from onnxlint_cmsis.runtimes.tflm.resolver import Resolver


class LayersReport(NamedTuple):
    """The layers of a model on every target."""

    layers: tuple[LayerReport, ...]
    """One report per layer and target, in file order, layers without a kernel too."""
    totals: list[Total]
    """The sums of each target."""
    names: Mapping[str, str]
    """Short forms of the layers' names, for people."""
    notes: tuple[str, ...] = ()
    """Which runtime and library the model is judged for; empty where the application calls the functions."""
    hosts: tuple[HostComparison, ...] = ()
    """What layers and outputs may be off in runtimes of a desktop; empty where nobody asked."""
    boundary: tuple[BoundaryTensor, ...] = ()
    """Inputs, then outputs of the model, as they lie in the device's memory."""
    output_errors: Mapping[str, float] = {}
    """What rounding of all float layers changes at each output, as a share of it (root mean squares)."""
    samples: int = 0
    """How many inputs of the user these errors were measured with; 0 where nobody asked."""
    packed: bool = False
    """Whether weights of functions for f32 and f16 are packed."""
    resolver: Resolver | None = None
    """Operators that an application of TensorFlow Lite Micro registers; None for another runtime."""

    @property
    def rows(self) -> list[dict[str, object]]:
        """The layers as plain data, with the keys of the JSON report."""
        return [layer_fields(layer) for layer in self.layers]


# Inputs and outputs: keys of JSON, and C that converts.


def boundary_fields(tensor: BoundaryTensor) -> dict[str, object]:
    """An input or output as plain data."""
    numbers = tensor.scale is not None
    return {
        "name": tensor.name,
        "type": tensor.elem_type,
        "shape": None if tensor.shape is None else list(tensor.shape),
        "layout": tensor.layout,
        "file_type": tensor.file_type,
        "file_shape": None if tensor.file_shape is None else list(tensor.file_shape),
        "converted_by": tensor.conversion.value,
        "node": tensor.node,
        "integers": tensor.integers,
        "scale": tensor.scale,
        "zero_point": tensor.zero_point,
        "real_range": list(tensor.real_bounds) if numbers else None,
        "formula": tensor.formula,
        "ties": tensor.ties.value if numbers and tensor.role == "input" else "",
    }


_QUANTIZE = """\
static inline {c_type} {name}_quantize(float x)
{{
    float q = {round}(x / {scale}); /* ties {ties} */
    q = q >= {low}.0f ? q : {low}.0f;
    q = q <= {high}.0f ? q : {high}.0f;
    return ({c_type})((int32_t)q + ({zero}));
}}
"""
_DEQUANTIZE = """\
static inline float {name}_dequantize({c_type} q)
{{
    return {scale} * (float)((int32_t)q - ({zero}));
}}
"""
_ROUND = {Ties.EVEN: "rintf", Ties.AWAY: "roundf"}
"""C's function for each way, in the default rounding mode."""
_EXACT = ("int8", "uint8", "int16", "uint16")
"""Types of which float has every integer and every difference of two."""


def boundary_in_c(report: LayersReport, path: str) -> str:
    """C99 for the application: a size and a conversion of each input and output; names have [A-Za-z0-9_] alone.

    A conversion is there where the application converts. In QuantizeLinear's and Quantize's place it computes the same
    for every number but NaN.
    """
    head = f"/* {name_in_c(path)}: written by onnxlint-cmsis {__version__} */\n"
    parts = [f"{head}#include <math.h>\n#include <stdint.h>\n"]
    numbers = {"input": count(), "output": count()}
    for tensor in report.boundary:
        name = f"{tensor.role}_{next(numbers[tensor.role])}_{name_in_c(tensor.name)}"
        sizes = None if tensor.shape is None else product_of(*tensor.shape)
        lines = [f"/* {tensor.text} */\n"]
        if sizes is not None:
            lines.append(f"enum {{ {name}_size = {sizes} }};\n")
        if tensor.conversion is Conversion.APPLICATION and tensor.scale is not None and tensor.integers in _EXACT:
            zero, step = tensor.zero_point or 0, shortest(tensor.scale)
            low, high = (bound - zero for bound in tensor.bounds)
            lines.append(
                (_QUANTIZE if tensor.role == "input" else _DEQUANTIZE).format(
                    c_type=f"{tensor.integers}_t",
                    name=name,
                    round=_ROUND[tensor.ties],
                    scale=f"{step}f",
                    ties=tensor.ties.value,
                    low=low,
                    high=high,
                    zero=zero,
                )
            )
        parts.append("".join(lines))
    return "\n".join(parts)


# The words for a layer, in the table of `layers` and on the page of `report`.


NO_LAYER = "no layer"
"""Stands for the kernel of an operator that copies bytes at most."""
_MARKS = {
    Outcome.REFERENCE.value: "~",
    Outcome.NO_KERNEL.value: "x",
    Outcome.UNDECIDED.value: "?",
    Outcome.REFUSED.value: "x",
    Outcome.HALTS.value: "x",
    Outcome.WRONG.value: "!",
}


def mark_of(layer: LayerReport) -> str:
    """What stands in front of the layer: what becomes of it, in the runtime where one is judged."""
    if not layer.computes:
        return " "
    verdict = layer.judged.verdict if layer.judged else layer.verdict
    return "!" if layer.hazards else _MARKS.get(verdict.value, " ")


def kernel_of(layer: LayerReport) -> str:
    """The kernel that does the work."""
    if not layer.computes:
        return NO_LAYER
    return layer.verdict.value if layer.operator and mark_of(layer) in ("~", "x") else layer.computed_by


def cost_of(layer: LayerReport) -> str:
    """Predicted instructions; - for what is no layer, `once` for what only the first run computes."""
    if not layer.computes:
        return "-"
    return "once" if layer.once else layer.cost


def error_text(error: float | None) -> str:
    """`0.81 %`, and `0 %` for no error alone."""
    if not error:
        return "" if error is None else "0 %"
    return f"{100 * error:.2g} %" if error < 1 else f"{100 * error:,.0f} %"


def sizes_text(sizes: tuple[Size, ...]) -> str:
    """`48x48x8` without a batch of one; ? for a size that is not known."""
    shown = sizes[1:] if len(sizes) == 4 and sizes[0] == 1 else sizes
    return "x".join("?" if number is None else str(number) for number in shown)


def reason_of(layer: LayerReport) -> str:
    """Why the layer does not simply run in CMSIS-NN; empty where it does."""
    return ((layer.judged and layer.judged.reason) or layer.reason) if mark_of(layer) != " " else ""


# The two sets of keys of JSON: of a layer of an ONNX model, and of an operator of a `.tflite` file.


def layer_fields(layer: LayerReport) -> dict[str, object]:
    """A layer as plain data."""
    ends = layer.instructions_range
    between = {"instructions_range": list(ends)} if ends else {}
    if row := layer.operator:
        return {
            "subgraph": row.subgraph,
            "index": row.index,
            "op": row.op,
            "functions": list(row.functions),
            "chain": list(row.chain),
            "verdict": row.verdict.value,
            "reason": row.reason,
            "message": row.message,
            "stage": row.stage,
            "scratch": list(row.scratch),
            "output": layer.tensor,
            "target": layer.target,
            "kernel": layer.kernel,
            "node": layer.node,
            "input_dims": list(layer.input),
            "output_dims": list(layer.output),
            "layer": layer.computes,
            "once": layer.once,
            "macs": layer.macs,
            "instructions": layer.instructions,
            **between,
            "classes": dict(layer.classes),
            "hazards": list(layer.hazards),
        }
    judged = layer.judged
    return {
        "node": layer.node,
        "op": layer.op,
        "target": layer.target,
        **({"runtime": judged.verdict.value, "runtime_reason": judged.reason} if judged else {}),
        "verdict": layer.verdict.value,
        "cause": layer.cause.value if layer.cause else "",
        "entry": layer.entry,
        "assumed": layer.assumed,
        "input": list(layer.input),
        "filter": list(layer.filter),
        "output": list(layer.output),
        "folded": list(layer.folded),
        "fused": [{"node": node.label, "op": node.op_type} for node in layer.fused],
        "kernel": layer.kernel,
        "effective": layer.effective,
        "reason": layer.reason,
        "macs": layer.macs,
        "instructions": layer.instructions,
        **(between if layer.kernel else {}),
        "scratch": layer.scratch,
        "constants": layer.constants,
        "classes": dict(layer.classes),
        "hazards": list(layer.hazards),
        "undecided": list(layer.undecided),
        **({"before": layer.before} if layer.before else {}),
        **({} if layer.kernel else between),
        **({} if layer.error is None else {"error": layer.error}),
        **({"q_format": layer.q_format._asdict() if layer.q_format else None} if layer.legacy else {}),
    }


# What the layers may be off in runtimes of a desktop: a row for each that may be, the reasons, the outputs.


HOSTS = "Against the desktop, on equal inputs"


class HostTable(NamedTuple):
    """Layers that may be off, and the others in a sentence."""

    hosts: tuple[str, ...]
    """Names of the hosts."""
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    """Label of a layer that may be off in a host, and a cell for each host."""
    equal: str
    """How many are equal; empty where none is."""
    reasons: tuple[tuple[str, tuple[str, ...], str], ...]
    """Host, labels of layers, and what the host does with them."""
    outputs: tuple[tuple[str, str, str], ...]
    """Output, host, and by how many steps they may be apart."""


def host_table(hosts: tuple[HostComparison, ...]) -> HostTable:
    """A comparison with one host or more, in words."""
    layers = [*zip(*(comparison.layers for comparison in hosts), strict=True)]
    off = [differences for differences in layers if not all(layer.equal for layer in differences)]
    equal = len(layers) - len(off)
    which = f"{'the other' if off else 'all'} {equal} {'layer' if equal == 1 else 'layers'}: equal, bit for bit"
    reasons: dict[tuple[str, str], list[str]] = {}
    for comparison in hosts:
        for layer in comparison.layers:
            if not layer.equal:
                reasons.setdefault((comparison.host.key, layer.why), []).append(layer.node.label)
    return HostTable(
        tuple(comparison.host.key for comparison in hosts),
        tuple((differences[0].node.label, tuple(_off_by(layer.bound) for layer in differences)) for differences in off),
        which if equal else "",
        tuple((host, tuple(labels), why) for (host, why), labels in reasons.items()),
        tuple(
            (name, comparison.host.key, _steps(steps) if steps is not None else _added_up(comparison))
            for comparison in hosts
            for name, steps in comparison.outputs
        ),
    )


def _added_up(comparison: HostComparison) -> str:
    """Why an output has no bound."""
    layers = sum(not layer.equal for layer in comparison.layers)
    return f"no bound, as the differences of {layers} layers add up" if layers > 1 else _steps(None)


def _off_by(bound: Bound) -> str:
    """`1 step, up to 0.4 %`, `equal` or `not bounded`."""
    share = f", up to {100 * bound.share:.2g} %" if bound.steps and bound.share else ""
    return f"{_steps(bound.steps)}{share}"


def _steps(steps: int | None) -> str:
    if steps is None:
        return "not bounded"
    return f"{steps} {'step' if steps == 1 else 'steps'}" if steps else "equal"
