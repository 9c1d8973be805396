"""A scale or zero-point cannot be computed with.

A scale is finite and above 0. Of (input scale x weight scale / output scale) TensorFlow Lite's QuantizeMultiplier
makes the largest multiplier from 2^30 on, which is wrong, and 0 below 2^-32, so that the channel gives one number for
every input. Softmax needs an input scale above 2^-26 (QuantizeMultiplierGreaterThanOne).

A quantizer that saw nothing but zeros writes a scale that no data give: TensorFlow's converter 7.84e-09 with
zero-point 0 (int16 3.59e-43), AI Edge Quantizer 3.92e-12 with zero-point -128, 7.87e-12 or 3.05e-14, ONNX Runtime 1
with zero-point 0.

A zero-point is an integer of its tensor's type, in every format: convolutions pad with 8 bits of it
(arm_convolve_s8.c), and kernels with DSP instructions add 16 bits of it (arm_elementwise_mul_s8.c:107). TensorFlow
Lite Micro takes scales without a zero-point as not quantized (micro_allocator.cc:275).

**What to do.** Look at the layer's weights and its calibration data: a scale of 0 or NaN comes from a tensor that is
constant or not finite, a tiny one from a tensor that was always zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite

from onnxlint_cmsis.checks.quantization_checks import QuantizationCheck, described
from onnxlint_cmsis.checks.quantizer_advice import ONNX_RUNTIME
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.formats.format import PTE
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, Level
from onnxlint_cmsis.ground.words import and_more, quoted
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.quantization import INTEGERS
from onnxlint_cmsis.lower.weight_refusals import vanished
from onnxlint_cmsis.model.graph import Graph, Node, StoredQuantization
from onnxlint_cmsis.model.node_location import node_location

_MODEL = """
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y)
<float s = {0.1}, float t = {SCALE}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    y = QuantizeLinear(c, t, z)
}
"""

RULE = Rule(
    code="CNN512",
    name="scale-out-of-range",
    level=Level.ERROR,
    effect=Effect.MAY_FAIL,
    summary="A scale or zero-point cannot be computed with.",
    docs=__doc__,
    bad=Example(_MODEL.replace("SCALE", "0.0")),
    good=Example(_MODEL.replace("SCALE", "0.1")),
    kinds=(Cause.SCALE.value,),
)


QUANTIZE = (
    "Calibrate with data for which the range of what it reads holds 0 (nn.Hardswish needs some below -3), or take "
    "nn.SiLU in place of nn.Hardswish."
)
LOOK = "Look at its weights and at the data of the calibration: a constant or missing tensor gives such a scale."


class ZeroTrace(NamedTuple):
    """What a quantizer writes for a tensor that was always zero while it calibrated."""

    elem_type: str
    """Type of the integers."""
    scale: float
    """Scale, as single precision has it."""
    zero_point: int
    """Zero-point."""
    quantizer: str
    """Tool that writes such numbers."""
    limit: float
    """Largest absolute value that the tensor then holds; infinity where that says nothing."""


ZERO_TRACES = (
    ZeroTrace("int8", 7.84313680668447e-09, 0, "TensorFlow's converter", 1e-06),
    ZeroTrace("uint8", 7.84313680668447e-09, 128, "TensorFlow's converter", 1e-06),
    ZeroTrace("int16", 3.587324068671532e-43, 0, "TensorFlow's converter", 1.2e-38),
    ZeroTrace("int8", 3.921568627450980e-12, -128, "AI Edge Quantizer", 1e-09),
    ZeroTrace("int8", 7.874015748031496e-12, 0, "AI Edge Quantizer", 1e-09),
    ZeroTrace("int16", 3.051850947599719e-14, 0, "AI Edge Quantizer", 1e-09),
)
"""TensorFlow's converter widens a range of less than 1e-06 by 1e-06 on both sides, and in int16 divides the smallest
normal number by 32767 (measured with 2.21.0); AI Edge Quantizer takes a range of 1e-09 (0.10.0,
algorithms/uniform_quantize/uniform_quantize_tensor.py:532).
"""
ONNX_RUNTIME_TRACES = tuple(
    ZeroTrace(elem_type, 1.0, 0, "ONNX Runtime's quantizer", float("inf")) for elem_type in ("int8", "int16")
)
"""compute_scale_zp in onnxruntime/quantization/quant_utils.py (measured with 1.32.0). Other data give it to a signed
result of weights only where they reach from -128 to 127 to the last bit; uint8 images of 0 to 255 have it.
"""
SINGLE = 1e-6
"""Relative difference of scales that are one in single precision."""
MOST_NAMED = 3
"""Tensors that a message names."""
NEGATED = "_offset"
"""What the names of numbers end in that ExecuTorch adds to integers that it reads: zero-points with another sign."""
REGISTER = 1 << 15
"""Offsets from here on lose bits in code for DSP instructions, which adds two of 16 bits at a time (main:
arm_elementwise_mul_s8.c:107, arm_elementwise_add_s8.c:119)."""
OPERAND = "self_zero_point"
"""Attribute of sums and products of two tensors, which are right with other zero-points of 16 bits as well; windows are
padded with 8 bits of one."""


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each node with such a scale, then for each with channels of one output.

    Then one for all tensors that were always zero while the model was calibrated.
    """
    yield from QuantizationCheck(RULE.kinds, _remedy)(subject)
    graph = subject.model.graph
    for record in subject.lowered.records:
        gone, all_ = vanished(record)
        if gone:
            text = f"{gone} of its {all_} channels give out one number whatever goes in"
            said = f"{described(record.node)}: {text}: their multipliers are below 2^-32 and count as 0."
            level = Level.WARNING if gone == all_ else Level.NOTE
            yield Statement(
                said, node_location(graph.path, record.node), level=level, group=f"vanished {level.name}", remedy=LOOK
            )
    yield from _stored(graph)
    yield from _given(subject)
    yield from _always_zero(subject)


def _stored(graph: Graph) -> Iterator[Statement]:
    """What cannot be computed with in the quantization that tensors keep, each tensor at the first node that has it."""
    for tensor, node in _first_users(graph).items():
        stored = graph.quantization.get(tensor)
        if stored is None or graph.elem_type(tensor) not in INTEGERS:
            continue
        fault, level = _fault(stored, graph.elem_type(tensor))
        if fault:
            where = node_location(graph.path, node)._replace(tensor=tensor)
            said = f"{node.op_type} '{node.label}': no kernel computes rightly with '{tensor}': it has {fault}."
            yield Statement(said, where, level=level, group=fault, remedy=LOOK)


def _given(subject: ModelSubject) -> Iterator[Statement]:
    """Zero-points that a program gives a call and that the type of what it reads or writes does not hold."""
    graph = subject.model.graph
    cut = any(target.isa is Isa.DSP for target in subject.model.settings.targets)
    for node in graph.nodes:
        tensors = (*node.inputs, *node.outputs) if node.domain == PTE.domain else ()
        kind = next((graph.elem_type(key) for key in tensors if graph.elem_type(key) in INTEGERS), "")
        for name, value in node.attributes.items() if kind else ():
            if not isinstance(value, int) or not name.endswith(("zero_point", NEGATED)):
                continue
            least, most = INTEGERS[kind]
            if name.endswith(NEGATED) and not name.startswith("output"):
                least, most = -most, -least
            if not least <= value <= most:
                short = -REGISTER <= value < REGISTER
                said = f"{described(node)}: {name} is {value}; {kind} allows {least} to {most}"
                said += "." if short or not cut else ", and kernels with DSP instructions keep 16 bits of it."
                level = Level.WARNING if short and OPERAND in node.attributes else None
                effect = Effect.WRONG if cut and not short else Effect.NOTE if level else None  # right as measured
                where, group = node_location(graph.path, node), f"zero-point {level} {effect}"
                yield Statement(said, where, level=level, effect=effect, group=group, remedy=QUANTIZE)


def _fault(stored: StoredQuantization, elem_type: str) -> tuple[str, Level | None]:
    """What is wrong with a tensor's quantization and how bad it is; nothing where it is sound."""
    wrong = [scale for scale in stored.scales if not (isfinite(scale) and scale > 0)]
    if wrong:
        return f"scale {wrong[0]:g}; scales are finite and above 0", None
    if not stored.zero_points:
        return "a scale and no zero-point; TensorFlow Lite Micro takes it as not quantized", Level.WARNING
    least, most = INTEGERS[elem_type]
    outside = [zero for zero in stored.zero_points if not least <= zero <= most]
    if outside:
        return f"zero-point {outside[0]}; {elem_type} holds {least} to {most}", None
    return "", None


def _first_users(graph: Graph) -> dict[str, Node]:
    """The first node that reads or writes each tensor."""
    users: dict[str, Node] = {}
    for node in graph.nodes:
        for tensor in (*node.inputs, *node.outputs):
            users.setdefault(tensor, node)
    return users


def _always_zero(subject: ModelSubject) -> Iterator[Statement]:
    """One statement for each quantizer whose trace is found, on all tensors that have it."""
    graph = subject.model.graph
    traced: dict[tuple[str, float], dict[str, tuple[Node, ZeroTrace]]] = {}
    for tensor, node, trace in (*_traced(graph), *_traced_results(subject)):
        traced.setdefault((trace.quantizer, trace.limit), {}).setdefault(tensor, (node, trace))
    for (quantizer, limit), tensors in traced.items():
        node, first = next(iter(tensors.values()))
        named = and_more(quoted(tensors), MOST_NAMED) + " tensors" * (len(tensors) > MOST_NAMED)
        whose = f"{'it was' if len(tensors) == 1 else 'they were'} always zero while the model was calibrated"
        marks = f"scale {first.scale:.3g} with zero-point {first.zero_point} is what {quantizer} writes then"
        done = f"cuts off larger values at {limit:g}" if isfinite(limit) else "rounds other values to whole numbers"
        held = f"the device {done} in {named}"
        ends = [tensor for tensor in graph.outputs if tensor in tensors] if isfinite(limit) else []
        ended = f" Nothing but zeros comes out of the model ('{ends[0]}')." if ends else ""
        text = f"{held}: {whose} ({marks}).{ended}"
        where = node_location(graph.path, node)._replace(tensor=next(iter(tensors)))
        level = None if ends else Level.WARNING
        said = Statement(text, where, level=level, group=f"always zero, {quantizer}")
        yield replace(said, remedy="Calibrate with data that the device will see.")


def _traced(graph: Graph) -> Iterator[tuple[str, Node, ZeroTrace]]:
    """Activations of a `.tflite` file that have a trace."""
    for tensor, node in _first_users(graph).items():
        stored = graph.quantization.get(tensor)
        if stored is None or tensor in graph.constants or len(stored.scales) != 1 or len(stored.zero_points) != 1:
            continue
        trace = _trace(ZERO_TRACES, graph.elem_type(tensor), stored.scales[0], stored.zero_points[0])
        if trace:
            yield tensor, node, trace


def _traced_results(subject: ModelSubject) -> Iterator[tuple[str, Node, ZeroTrace]]:
    """Results of an `.onnx` file's weights that have a trace."""
    graph = subject.model.graph
    traces = (*ZERO_TRACES, *ONNX_RUNTIME_TRACES) if graph.producer == ONNX_RUNTIME else ZERO_TRACES
    for record in subject.lowered.records:
        output = record.output
        if output is None or not record.weighted or not output.known:
            continue
        trace = _trace(traces, output.elem_type, output.scale, (output.zero_points or (0,))[0])
        if trace:
            yield record.node.outputs[0], record.node, trace


def _trace(traces: Sequence[ZeroTrace], elem_type: str, scale: float, zero_point: int) -> ZeroTrace | None:
    """The trace that a quantization is; None for any other."""
    return next(
        (
            trace
            for trace in traces
            if (trace.elem_type, trace.zero_point) == (elem_type, zero_point)
            and abs(scale - trace.scale) <= SINGLE * trace.scale
        ),
        None,
    )


def _remedy(_graph: Graph, _records: Sequence[LoweredLayer]) -> str:
    return LOOK
