"""One file read into the table of numbers: what each node makes, or a number that stands for an unknown function.

The induction runs over the nodes. What is not covered raises NotCoveredError, and ends in an answer that is not
"equal".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from onnxlint_cmsis.analysis.certificate.functions import (
    BROADCASTING,
    FUNCTIONS,
    KEEPING,
    Function,
    dequantized,
    handed_on,
    moved,
    quantized,
)
from onnxlint_cmsis.analysis.certificate.operands import Operands
from onnxlint_cmsis.analysis.certificate.table import Numbers, digest, digest_of
from onnxlint_cmsis.analysis.certificate.values import DAMAGED, Lanes, Value
from onnxlint_cmsis.formats.format import LoadedFile
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx.half_layers import half_layers, in_halves
from onnxlint_cmsis.formats.onnx.same_versions import since
from onnxlint_cmsis.formats.onnx.signatures import result_types, schema, stated
from onnxlint_cmsis.model.graph import TFLITE, Attribute, Node
from onnxlint_cmsis.model.leftovers import Left
from onnxlint_cmsis.operators.answers import Elements
from onnxlint_cmsis.operators.integers import BITS, NotCoveredError
from onnxlint_cmsis.operators.record import MICROSOFT
from onnxlint_cmsis.operators.scaled_numbers import Fixed
from onnxlint_cmsis.operators.tflite_misreads import misread

TOLD_BEFORE = ("num_splits", "num", "values_count", "output_padding", "output_dtype", "depth_multiplier")
"""Attributes that tell nothing but sizes and types of results, which are worked out or held against them before."""
DEFAULTS = (0, "", (), "NONE", "DEFAULT", "FLOAT32")
"""Values of attributes that say nothing: numbers, lists and names of TensorFlow Lite's options that are left out."""
OTHER_REALS = frozenset({"float16", "bfloat16", "float64"})
"""Real numbers in which nothing is described but where elements go."""
DESCRIBED = frozenset({"float32", *BITS})
"""Types of results that are described; of others nothing is but where elements go."""
HOLDS_MORE = ("Constant", "ConstantOfShape", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
"""Operators whose nodes hold more than the graph tells, such as tensors."""
GATED = ("LSTM", "SVDF", "BIDIRECTIONAL_SEQUENCE_LSTM")
"""Operators of TensorFlow Lite with scales between their gates, which the graph does not tell."""
DOMAINS = ("", MICROSOFT, TFLITE)
"""Domains whose operators are described here, or by names and attributes alone."""
ALONE = "files with such a layer are equal only byte for byte"
"""What holds of layers that are not read."""


class Read(dict[str, "Attribute"]):
    """Attributes of a node that remember which of them were read."""

    def __init__(self, attributes: Mapping[str, Attribute]) -> None:
        super().__init__(attributes)
        self.asked = {*TOLD_BEFORE}

    def __getitem__(self, name: str) -> Attribute:
        self.asked.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """One of them."""
        self.asked.add(name)
        return super().get(name, default)

    def items(self) -> Any:
        """All of them."""
        self.asked.update(self)
        return super().items()

    def unread(self) -> list[str]:
        """Those that say something and were not read."""
        return [name for name in self if name not in self.asked and dict.__getitem__(self, name) not in DEFAULTS]


class Model(Operands):
    """One file, read into the table."""

    def __init__(
        self, loaded: LoadedFile, table: Numbers, *, mixed: bool = False, plain: bool = False, apart: int = 0
    ) -> None:
        super().__init__(loaded, table, apart=apart)
        self.loaded, self.mixed = loaded, mixed
        """The file, and whether the other file is of another format, whose runtimes take NaN and infinity otherwise."""
        self.plain = plain
        """Whether layers are the same only where all that they say is, so that they are the same in every runtime."""
        self.opaque: dict[int, str] = {}
        """Why nothing but "equal operands, equal result" is known of a node, by its index."""
        self.left, self.sizes = loaded.leftovers(), loaded.computed_sizes()
        self.halves = digest_of([*half_layers(self.graph)])
        """What stands for all layers between 16-bit floats, whose results hang on one another."""
        for position, name in enumerate(self.graph.inputs):
            try:
                if mixed and self.elem_type(name) not in BITS:
                    raise NotCoveredError(f"runtimes of two formats take NaN and infinity of '{name}' otherwise")
                self.values[name] = self.named(("input", position), name)
            except DAMAGED as error:
                self.missing[name] = str(error)
        for node in self.graph.nodes:
            self._run(node)

    def _run(self, node: Node) -> None:
        """Values of a node's outputs: what its operator makes, else numbers that stand for an unknown function."""
        outputs = [name for name in node.outputs if name]
        if all(name in self.graph.constants for name in outputs):
            return None
        for name in self.graph.variables.intersection(outputs):  # written before, or by an earlier run
            self.values.pop(name, None)
        if wrong := self._result_fault(node):
            return self._lost(node, wrong)
        try:
            self.values.update(self._results(node, outputs))
        except DAMAGED as error:
            self.opaque[node.index] = str(error)
            self.rounded.pop(node.outputs[0], None)
            try:
                key = self._said(node)
                self.values.update({n: self.named(("result", key, at), n) for at, n in enumerate(node.outputs) if n})
            except DAMAGED as nothing:
                self._lost(node, str(nothing))

    def _lost(self, node: Node, why: str) -> None:
        """Keep why nothing is known of a node's outputs: what was lost before it, or why it is."""
        told = [*(self.missing[n] for n in node.inputs if n in self.missing), f"{node.label} ({node.op_type}): {why}"]
        self.missing.update(dict.fromkeys(filter(None, node.outputs), told[0]))

    def _result_fault(self, node: Node) -> str | None:
        """Why nothing is known of a node's outputs: they are not of the type that its operator makes, or the size.

        TensorFlow Lite takes the file's types, and Micro the file's sizes: it leaves elements, or writes past the last.
        Kernels there read operands of other types and sizes as theirs.
        """
        if node.bodies or (node.graph and not self.graph.has_functions):  # functions of ONNX were laid flat
            return f"it runs other graphs of the file, or stands in one, which are not read: {ALONE}"
        if self.graph.variables & {*node.inputs, *node.outputs}:
            return f"it keeps values from one run to the next: {ALONE}"
        if node.domain == TFLITE:
            return misread(node, self.graph, self.roles(node), self.read, self.sizes)
        given = [self.elem_type(name) if name else None for name in node.inputs]
        operator = node.domain, node.op_type
        types = result_types(operator, node.opset, node.attributes, given, len(node.outputs))
        for name, true in zip(node.outputs, types, strict=True):
            stated = self.elem_type(name)
            if name and (not true or true != stated):
                told = f"its operator makes {true}" if true else "the linter does not know what its operator makes"
                return f"its result is {stated or 'of unknown type'}, and {told}"
        return None

    def _results(self, node: Node, outputs: Sequence[str]) -> dict[str, Value]:
        """What the outputs of a described operator hold."""
        self._nothing_left(node)
        operator, read = operator_of(node), Read(node.attributes)
        function = self._function(node)
        if function is None or node.domain not in DOMAINS or "" in node.outputs:
            raise NotCoveredError(f"{node.op_type} is not described, or leaves an output out")
        if in_halves(node, self.graph):
            raise NotCoveredError("runtimes may hold its 16-bit floats as float32 between layers")
        if self.plain and function not in (moved, handed_on):
            raise NotCoveredError("runtimes may compute it otherwise")
        computed = {self.graph.elem_type(n) for n in (*node.inputs, *outputs) if n and n not in self.graph.constants}
        computed |= {self.graph.elem_type(node.inputs[position]) for position in operator.roles.data_of(node)}
        if node.domain == TFLITE and len(computed) > 1 and function not in (quantized, dequantized):
            raise NotCoveredError(f"its kernel takes one type, and it has {', '.join(sorted(computed))}")
        if self.mixed and node.domain == TFLITE and function not in (*KEEPING, dequantized) and "float32" in computed:
            raise NotCoveredError("it computes in float32, which runtimes of two formats may do otherwise")
        if function not in KEEPING and not {self.elem_type(name) for name in outputs} <= DESCRIBED:
            raise NotCoveredError("it computes with other numbers than float32 and integers of up to 16 bits")
        if function not in KEEPING and OTHER_REALS & {self.elem_type(name) for name in node.inputs if name}:
            raise NotCoveredError("its real numbers are not float32, and round otherwise")
        results = function(self, replace(node, attributes=read))
        if operator.elements is not Elements.RENAMED and (unread := read.unread()):  # else it says sizes alone
            raise NotCoveredError(f"it has {', '.join(unread)}, of which nothing is known")
        values = dict(zip(outputs, results if isinstance(results, list) else [results], strict=True))
        for name, value in values.items():
            shape = value.shape if isinstance(value, Lanes) else value.array.shape
            self.table.hold(value.ids if isinstance(value, Lanes) else value.array)
            whole, real = self.graph.elem_type(name) in BITS, isinstance(value, Lanes) and (value.scale or not value[3])
            if (whole and real) or name in self.values or shape != self.shape(name):
                raise NotCoveredError(f"the file says {list(self.shape(name))} of its result, or no scale")
        return values

    def _function(self, node: Node) -> Function | None:
        operator = operator_of(node)
        return moved if operator.movement and not self.triples(node) else FUNCTIONS.get(operator.canonical)

    def keeps(self, node: Node) -> bool:
        """Tell whether a node only takes, joins or pads what is there, and computes no number."""
        return self._function(node) in KEEPING

    def _left(self, node: Node) -> list[Left]:
        """What the file says of a node and its tensors, and the graph does not."""
        told = [
            self.left.nodes.get(node.index, ()),
            *(self.left.tensors.get(n, ()) for n in (*node.inputs, *node.outputs)),
        ]
        return [item for items in told for item in items]

    def _nothing_left(self, node: Node) -> None:
        """Raise NotCoveredError for a node with more to it than attributes and operands of known sizes and scales."""
        if left := self._left(node):
            raise NotCoveredError(f"it has {', '.join(item.what for item in left)}, of which nothing is known")
        bias = self.roles(node).bias
        for position, name in enumerate((*node.inputs, *node.outputs)):
            computed = name in self.graph.producers and name not in self.graph.constants
            if computed and self.sizes.get(name) != self.graph.shape(name):
                raise NotCoveredError(f"the size of '{name}' is what the file states, and not known to be computed")
            scaled = name in self.graph.quantization and self.graph.elem_type(name) not in BITS
            if scaled and not (name in self.graph.constants and position == bias):
                raise NotCoveredError(f"'{name}' ({self.graph.elem_type(name)}) has a scale")

    def _said(self, node: Node) -> bytes:
        """All that a node and its operands say; NotCoveredError for what may not be a function of its operands."""
        record = operator_of(node)
        described = record.canonical or (not node.domain and schema("", node.op_type, node.opset))
        if not described or node.domain not in DOMAINS:
            raise NotCoveredError(f"the linter does not know what it computes: {ALONE}")
        holds_more = record.canonical in (*HOLDS_MORE, *(GATED if node.domain == TFLITE else ()))
        dropped = node.op_type == "Dropout" and (node.has(2) or node.opset < BROADCASTING)
        if record.elements in (Elements.RANDOM, Elements.BODIES) or holds_more or dropped:
            raise NotCoveredError(f"what it computes does not stand in its operands: {ALONE}")
        left = self._left(node)
        if unread := [item.what for item in left if item.content is None]:
            raise NotCoveredError(f"nobody can read its {', '.join(unread)}")
        names = [*node.inputs, *(node.outputs if node.domain == TFLITE else ())]
        stored = [self.graph.quantization.get(name) for name in names]
        shapes = [(self.shape(name), self.graph.elem_type(name)) for name in node.outputs if name]
        operands = [self.exact(name) for name in node.inputs]
        version = 0 if node.domain == TFLITE else since(node.domain, node.op_type, node.opset)
        halves = self.halves if in_halves(node, self.graph) else b""
        attributes = stated((node.domain, node.op_type), node.opset, node.attributes)
        told = (node.domain, node.op_type, version, attributes, stored, shapes, operands, left)
        return digest_of((*told, halves))

    def exact(self, name: str, *, signed: bool = False) -> bytes:
        """What stands for an operand where nothing is known of its reader: a sum of floats is not reordered.

        With `signed`, unsigned integers are the signed ones that the device holds.
        """
        if not name:
            return bytes(32)
        value, elem_type = self.value(name), self.graph.elem_type(name)
        if isinstance(value, Fixed):
            parts = [b"" if part is None else digest(np.asarray(part)) for part in value[:3]]
        elif not value.integers and self.table.unsettled[value.ids].any():
            producer = self.graph.producers[name]
            parts = [self._said(producer), bytes([producer.outputs.index(name)])]
        else:
            parts = [digest(self.over(value, ()).ids), *(str(part).encode() for part in value[3:-1])]
            elem_type = "" if signed and value.integers else elem_type
        return digest_of((parts, elem_type))
