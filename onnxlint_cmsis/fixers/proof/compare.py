"""Sessions of ONNX Runtime, and how outputs of two models are compared."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from math import isfinite, prod
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.analysis.classes import bias_slot
from onnxlint_cmsis.analysis.fix_results import Difference, IfBranch
from onnxlint_cmsis.fixers.proof.inputs import Input
from onnxlint_cmsis.formats.names import UNKNOWN, derived_values, operator_of
from onnxlint_cmsis.formats.onnx.functions import operator_of_proto
from onnxlint_cmsis.formats.onnx.tensors import elem_name
from onnxlint_cmsis.formats.onnx.wire import all_graphs, all_nodes, attribute_tensors
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import InputShapes
from onnxlint_cmsis.model.axes import leaves, placement
from onnxlint_cmsis.model.roles import Sums
from onnxlint_cmsis.operators.record import Elements

if TYPE_CHECKING:
    from onnx import ModelProto

    from onnxlint_cmsis.fixers.planning.plan import Plan, PlanStep
    from onnxlint_cmsis.model.graph import Graph


# What a proof asks of a model, whatever format it has and whatever runs it.


Array = npt.NDArray[np.generic]


class RuntimeRefusalError(Exception):
    """The runtime does not take or run the model; the text is its first line."""


def first_line(error: Exception) -> str:
    """What an exception of a library says, in one line of at most 200 characters and dots."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]} ..."


class UnreachedError(Exception):
    """A change lies where inputs may not lead; the text names the node."""


class RunLevel(Protocol):
    """A way in which a runtime computes: a level of optimisation, a set of kernels."""

    @property
    def value(self) -> str:
        """Name in messages."""


class Session(Protocol):
    """A model ready to run."""

    outputs: list[tuple[str, str]]
    """Name and type of each output."""

    def run(self, feed: Mapping[str, Array], names: Sequence[str] | None = None) -> list[Any]:
        """Outputs in order, or other tensors by name. Raises RuntimeRefusalError."""


class ProvenModel(Protocol):
    """One of the two models that a proof compares."""

    runtime: str
    """Name of what runs it, in messages."""

    def inputs(self, shapes: InputShapes) -> list[Input]:
        """Inputs. Raises UnfedError."""

    @property
    def plain_level(self) -> RunLevel:
        """A way to compute in which every node computes for itself what the file says."""

    @property
    def shipped_level(self) -> RunLevel:
        """The way in which the runtime computes where nobody says otherwise."""

    def levels(self) -> Sequence[RunLevel]:
        """Ways to compute in which both models have to agree, in order."""

    def inner_level(self) -> tuple[RunLevel, int]:
        """How to look at values inside, and by how much integers may differ there."""

    def session(self, level: RunLevel, inner: Sequence[str] = ()) -> Session:
        """The model ready to run, with tensors inside that can be asked for. Raises RuntimeRefusalError."""

    def computed(self) -> Sequence[str]:
        """Tensors that the main graph computes, in order."""

    def unit_outputs(self) -> frozenset[str]:
        """Outputs that hold nothing but values of operators whose range is 0 to 1."""

    def fault(self, new: Any) -> str:
        """Why another model may not replace this one whatever it computes; empty where it may."""

    def unreached(
        self, new: Any, known: Collection[IfBranch], feeds: Iterable[Mapping[str, Array]]
    ) -> tuple[IfBranch, ...]:
        """Branches that a change reaches into, and `known` ones, that no input leads into.

        Raises UnreachedError, RuntimeRefusalError.
        """


# ONNX Runtime: one thread, the same options for both models, errors as text.


class Optimization(str, Enum):
    """Graph optimisation of ONNX Runtime."""

    DEFAULT = "ORT_ENABLE_ALL"
    """Every optimiser that computes what the file says; Q/DQ around a layer become one integer kernel."""
    NONE = "ORT_DISABLE_ALL"
    """Every node as the file says; a layer between DequantizeLinear and QuantizeLinear computes in float."""
    SHIPPED = "ORT_ENABLE_ALL as it is shipped"
    """Options of the default run, with all optimisers, also those that compute something else than the file says."""


LOSSY = ["WeightBiasQuantization"]
"""Optimisers that compute something else than the file says: this one quantizes float weights between DequantizeLinear
and QuantizeLinear by their largest element, which a lane that does nothing may hold."""
EXACT = {"session.qdq_matmulnbits_accuracy_level": "1"}
"""Options by which kernels compute what the file says: a MatMul of floats and dequantized weights becomes a
MatMulNBits, which at the level it is shipped with, 4, quantizes the floats by their largest element."""


NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Environment variable of ONNX Runtime (its Privacy.md); without, builds with telemetry keep an id and a database of
events in the user's cache folder and send these."""


def onnx_runtime() -> ModuleType:
    """The module `onnxruntime`, with its telemetry off unless the environment says otherwise."""
    os.environ.setdefault(NO_TELEMETRY, "1")  # it is looked at once, when the module is loaded
    import onnxruntime

    module: ModuleType = onnxruntime
    return module


class RuntimeSession:
    """A model ready to run."""

    def __init__(self, model: bytes, level: Optimization) -> None:
        onnxruntime = onnx_runtime()
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level.value.split()[0])
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.use_deterministic_compute = True
        options.enable_mem_pattern = False  # its second run would set up memory anew; most sessions run three times
        options.log_severity_level = 4
        lossy = [] if level is Optimization.SHIPPED else LOSSY
        for key, value in {} if level is Optimization.SHIPPED else EXACT.items():
            options.add_session_config_entry(key, value)
        try:
            self._session = onnxruntime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"], disabled_optimizers=lossy
            )
        except Exception as error:  # onnxruntime's own exceptions have no common base
            raise RuntimeRefusalError(first_line(error)) from None
        self.outputs: list[tuple[str, str]] = [(output.name, output.type) for output in self._session.get_outputs()]

    def run(self, feed: Mapping[str, Array], names: Sequence[str] | None = None) -> list[Any]:
        """Outputs in order. Raises RuntimeRefusalError."""
        try:
            return list(self._session.run(names, dict(feed)))
        except Exception as error:
            raise RuntimeRefusalError(first_line(error)) from None


# Which elements inside a model and inside its fixed form are equal, through a chain of plans.


Order = tuple[int | None, ...]
"""For each index of an axis after a plan the index before, None for a new lane."""
Mask = npt.NDArray[np.bool_]
QUANTIZING = (Elements.MEASURED, Elements.QUANTIZED)
"""Elements of operators that turn real numbers into integers."""


class Held(NamedTuple):
    """Elements of one tensor that two models have in common."""

    orders: tuple[Order | None, ...] = ()
    """One for each axis, None where it stays as it is; empty where all do, whatever the rank."""
    read: Mask | None = None
    """Elements after the plans that count for some output, with length 1 where nothing differs; None for all."""


ElementMap = Mapping[str, Held]
"""Tensors of the main graph that hold the same in both models, but for lanes that one of them does not have."""


def element_map(graph: Graph, steps: Sequence[PlanStep]) -> dict[str, Held]:
    """Inner tensors that all plans preserve; `graph` is the model before the first plan.

    In a quantized model these are integers alone: a fused kernel never computes the floats between them. Left out are:
    sums whose bias is in another node, since that bias absorbed constants; symbolic axes that a plan changes; numbers
    of channels, and what follows from them; tensors that no output depends on, since a plan may remove their inputs.
    """
    same = dict.fromkeys(_computed(graph), Held())
    for step in steps:
        shifted = _shifted(step.graph, step.plan)
        later = {name: _after(step, name, held) for name, held in same.items() if name not in shifted}
        same = {name: held for name, held in later.items() if held is not None}
    return same


def aligned(old: Array, new: Array, held: Held) -> tuple[Array, Array] | None:
    """Common elements that count, in the order of the second; None where shapes do not fit."""
    read = held.read
    for axis, order in enumerate(held.orders):
        if order is None:
            continue
        kept = [after for after, before in enumerate(order) if before is not None]
        before = [index for index in order if index is not None]
        if axis >= new.ndim or new.shape[axis] != len(order) or max(before, default=-1) >= old.shape[axis]:
            return None
        old, new = np.take(old, before, axis), np.take(new, kept, axis)
        read = _taken(read, axis, kept)
    if old.shape != new.shape:
        return None
    if read is None or read.all():
        return old, new
    read = np.broadcast_to(read, old.shape)
    return old[read], new[read]


def _computed(graph: Graph) -> Iterator[str]:
    """Tensors of the main graph that depend on the values of run-time inputs, without its outputs."""
    known = derived_values(graph, sizes=True).union(graph.constants, graph.outputs, ("",))
    integers = any(operator_of(node).elements in QUANTIZING for node in graph.nodes)
    for node in graph.nodes:
        for name in () if node.graph else node.outputs:
            if name not in known and not (integers and graph.elem_type(name).startswith(("float", "bfloat"))):
                yield name


def _shifted(graph: Graph, plan: Plan) -> set[str]:
    """Sums without the constants that the bias in the next node took up."""
    shifted: set[str] = set()
    for index in plan.increments:
        slot = bias_slot(graph, graph.nodes[index])
        if slot is None or slot.node != index:
            shifted.update(graph.nodes[index].outputs)
    return shifted


def _after(step: PlanStep, name: str, held: Held) -> Held | None:
    """Common elements after one more plan; None where there are none or they are unknown."""
    plan = step.plan
    if plan.read is not None and name not in plan.read:
        return None
    read = held.read
    if plan.read is not None:
        read = plan.read[name] if read is None else read & plan.read[name]
    axes = step.dimensions.axes(name) or ()
    changed = [any(leaf in plan.kept for leaf in leaves(axis)) for axis in axes]
    if not any(changed):
        return Held(held.orders, read)
    if any(axis.size is None for axis, change in zip(axes, changed, strict=True) if change):
        return None
    then = [placement(axis, plan.kept) if change else None for axis, change in zip(axes, changed, strict=True)]
    for axis, order in enumerate(then):
        read = read if order is None else _taken(read, axis, [index or 0 for index in order])
    orders = held.orders or (None,) * len(axes)
    return Held(tuple(_joined(before, later) for before, later in zip(orders, then, strict=True)), read)


def _joined(first: Order | None, then: Order | None) -> Order | None:
    """Two orders, the second after the first."""
    if first is None or then is None:
        return then if first is None else first
    return tuple(None if index is None else first[index] for index in then)


def _taken(read: Mask | None, axis: int, places: Sequence[int]) -> Mask | None:
    """A mask with other indices along an axis where it varies."""
    return np.take(read, places, axis) if read is not None and read.shape[axis:] and read.shape[axis] > 1 else read


# How far the outputs of two models are apart.


TOLERANCE = 1e-5
"""Largest difference of float outputs, as a share of their range."""

UNIT = (0.0, 1.0)
"""Bounds that outputs are measured against whatever is seen of them."""


class Spread:
    """One value of two models over many inputs: how far apart, and over which range."""

    def __init__(self, *, unit: bool = False) -> None:
        """`unit` fixes the range to 0 to 1."""
        self.largest = 0.0
        self.apart, self.values = 0, 0
        """Elements that differ, and all elements."""
        self._low, self._high = 0.0, 1.0 if unit else 0.0
        self._floats = True

    @property
    def relative(self) -> float:
        """Largest difference as a share of the range, which includes 0."""
        width = self._high - self._low
        return self.largest / width if width else self.largest and float("inf")

    @property
    def inexcusable(self) -> bool:
        """Whether it differs regardless of its range: integers, NaN on one side, another shape."""
        return self.largest > 0 and (not self._floats or self.largest == float("inf"))

    def add(self, old: Any, new: Any) -> None:
        """Take note of the value in one run of each model: an array, or a sequence or map of such."""
        pairs = _pairs(old, new)
        if pairs is None:
            self.largest = float("inf")
        for before, after in pairs or ():
            largest = _distance(before, after)
            self.largest = max(self.largest, largest)
            self.values += before.size
            self.apart += _count_apart(before, after) if largest else 0
            if before.dtype.kind == "f":
                low, high = _bounds(before)
                self._low, self._high = min(self._low, low), max(self._high, high)
            else:
                self._floats = False

    def fault(self, tolerance: float, steps: int = 0) -> str:
        """The fault, as the rest of a sentence; empty within the tolerance."""
        if self.largest > steps and not self._floats:
            allowed = f"allowed is {steps}" if steps else "it has to be the same bit for bit"
            return f"differs by {self.largest:g}; {allowed}"
        if self._floats and self.relative > tolerance:
            share = f"{self.relative:.2g} of its range; allowed is {tolerance:g}"
            return f"differs by {self.largest:.3g}, {share}"
        return ""


class OutputComparison:
    """Outputs of two models over many inputs."""

    def __init__(self, outputs: Sequence[tuple[str, str]], unit: frozenset[str]) -> None:
        self.runs = 0
        """Runs of each model so far."""
        self._outputs = outputs
        self._spreads = [Spread(unit=name in unit) for name, _ in outputs]

    def add(self, old: Sequence[Any], new: Sequence[Any]) -> bool:
        """Take note of the outputs of one run of each model; True where some output differs more than ever before."""
        self.runs += 1
        before = [spread.largest for spread in self._spreads]
        for spread, was, now in zip(self._spreads, old, new, strict=True):
            spread.add(was, now)
        return any(spread.largest > largest for spread, largest in zip(self._spreads, before, strict=True))

    @property
    def failed(self) -> bool:
        """Whether some output differs so that no further run can excuse it."""
        return any(spread.inexcusable for spread in self._spreads)

    def differences(self) -> tuple[Difference, ...]:
        """How far each output is apart."""
        return tuple(
            Difference(name, kind, spread.largest, spread.relative, spread.apart, spread.values)
            for (name, kind), spread in zip(self._outputs, self._spreads, strict=True)
        )

    @property
    def differs(self) -> str:
        """The first output that differs too much; empty where none does."""
        return next((name for name, _ in self._faults()), "")

    def reason(self) -> str:
        """The first output that differs too much and by how much, as a clause; empty where none does."""
        return next((f"output `{name}` {fault}" for name, fault in self._faults()), "")

    def _faults(self) -> Iterator[tuple[str, str]]:
        """Outputs that differ too much, by name, with the fault."""
        for (name, _), spread in zip(self._outputs, self._spreads, strict=True):
            if fault := spread.fault(TOLERANCE):
                yield name, fault


def unit_outputs(model: ModelProto) -> frozenset[str]:
    """Outputs that hold nothing but values of operators whose range is 0 to 1."""
    producers = {name: node for node in model.graph.node for name in node.output}
    names = set()
    for value in model.graph.output:
        pending, unit = [value.name], True
        while pending and unit:
            node = producers.get(pending.pop())
            operator = UNKNOWN if node is None else operator_of_proto(node)
            if node is not None and operator.moves:
                pending.extend(node.input if operator.elements is Elements.JOINED else node.input[:1])
            else:
                unit = operator.bounds == UNIT
        if unit:
            names.add(value.name)
    return frozenset(names)


def _pairs(old: Any, new: Any) -> list[tuple[Array, Array]] | None:
    """Arrays of two outputs side by side, single values as arrays of one; None where they are not built alike."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return _pairs(list(old.values()), list(new.values())) if list(old) == list(new) else None
    if not isinstance(old, list) or not isinstance(new, list):
        return [(np.asarray(old), np.asarray(new))]
    nested = [_pairs(before, after) for before, after in zip(old, new, strict=False)]
    return [pair for pairs in nested for pair in pairs or ()] if len(old) == len(new) and None not in nested else None


def _bounds(values: Array) -> tuple[float, float]:
    """Lowest and highest finite value, with 0 between them."""
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    if isfinite(low) and isfinite(high):
        return low, high
    finite = values[np.isfinite(values)]
    return float(finite.min(initial=0)), float(finite.max(initial=0))


def _count_apart(old: Array, new: Array) -> int:
    """Elements of two arrays that differ; all of them where the arrays are not of one kind. NaN equals NaN."""
    if old.shape != new.shape or old.dtype != new.dtype:
        return old.size
    differ = old != new
    return int(np.count_nonzero(differ & ~((old != old) & (new != new))))  # noqa: PLR0124 - NaN alone is not itself


def _distance(old: Array, new: Array) -> float:
    """Largest difference of two arrays; NaN equals NaN, infinity itself."""
    if old.shape != new.shape or old.dtype != new.dtype:
        return float("inf")
    if np.array_equal(old, new):
        return 0.0
    if old.dtype.kind not in "biuf":
        return float("inf")
    if old.dtype.kind != "f":
        return float(np.abs(old.astype(np.float64) - new.astype(np.float64)).max()) or 1.0
    equal = (old == new) | (np.isnan(old) & np.isnan(new))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(old.astype(np.float64) - new.astype(np.float64))
    apart = np.where(equal, 0.0, np.where(np.isfinite(apart), apart, np.inf))
    return float(apart.max(initial=0))


# Levels of optimisation in ONNX Runtime at which two models have to agree.


def levels(model: ModelProto) -> list[Optimization]:
    """Levels at which both models are run, in order.

    At the default level, Q/DQ around a layer become an integer kernel, whose integers agree bit for bit. Without
    optimisation they agree as well, unless the model quantizes computed floats: a sum of floats in another order
    differs in its last bit, which may turn a value between two steps the other way and says nothing about a device.
    """
    comparable = [Optimization.DEFAULT] if quantizes_floats(model) else [Optimization.DEFAULT, Optimization.NONE]
    return [*comparable, Optimization.SHIPPED] if _shipped_differs(model) else comparable


def quantizes_floats(model: ModelProto) -> bool:
    """Whether the model quantizes computed floats."""
    return any(operator_of_proto(node).elements in QUANTIZING for node in all_nodes(model))


def _shipped_differs(model: ModelProto) -> bool:
    """Whether `LOSSY` and the options that `EXACT` replaces could change what the model computes.

    They act behind a DequantizeLinear: on stored floats that a layer reads as weights or bias, or that are fused into
    its bias, and on a matrix product of dequantized weights.
    """
    nodes = list(all_nodes(model))
    dequantized = {name for node in nodes if operator_of_proto(node).dequantizes for name in node.output}
    if not dequantized:
        return False
    stored = set(_stored_floats(model))
    for node in nodes:
        record = operator_of_proto(node)
        if record.roles.sums is Sums.FLOAT:
            if record.roles.bias < 0 or any(name and name not in dequantized for name in node.input[1:]):
                return True
        elif not (record.quantizes or record.dequantizes) and stored.intersection(node.input):
            return True
    return bool(model.functions)


def _stored_floats(model: ModelProto) -> Iterator[str]:
    """Names of stored float tensors of more than one element."""
    for graph in all_graphs(model.graph):
        named = [(tensor.name, tensor) for tensor in graph.initializer]
        named += [(sparse.values.name, sparse.values) for sparse in graph.sparse_initializer]
        for node in graph.node:
            if not node.input:
                tensors = (tensor for attribute in node.attribute for tensor in attribute_tensors(attribute))
                named += [(node.output[0], tensor) for tensor in tensors]
        for name, tensor in named:
            if prod(tensor.dims) > 1 and elem_name(tensor.data_type).startswith(("float", "bfloat")):
                yield name
