"""Layers that are not described are equal where they and their operands say the same, or not at all."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import ONNX
from onnxlint_cmsis.formats.names import operator_named
from onnxlint_cmsis.operators.answers import Elements
from support import models
from support.equal_files import onnx_equal, tflite_equal
from support.float_layers import model_of
from support.tflite_models import one_operator, tensor
from support.tflite_writer import operator_code, write

UNSTEADY = onnx.defs.OpSchema.NodeDeterminism.NonDeterministic


def test_what_stands_in_no_operand_is_not_covered() -> None:
    def model(domain: str, op_type: str) -> onnx.ModelProto:
        return model_of([helper.make_node(op_type, ["x"], ["y"], "n", domain=domain)])

    assert onnx_equal(model("", "Softmax"), model("", "Softmax"))
    assert not onnx_equal(model("some", "Thing"), model("some", "Thing"))
    assert not onnx_equal(model("", "RandomNormalLike"), model("", "RandomNormalLike"))


BODIES = {
    "If": "y = If(c) <then_branch = t () => (float[4] a) { a = Relu(x) }, else_branch = e () => (float[4] b) "
    "{ b = Neg(x) }>",
    "Loop": "y = Loop(n, c, x) <body = t (int64 i, bool d, float[4] v) => (bool e, float[4] a) "
    "{ e = Identity(d) a = Relu(v) }>",
    "Scan": "y, z = Scan(x, r) <num_scan_inputs = 1, body = t (float[4] v, float[4] w) => (float[4] a, float[4] b) "
    "{ a = Add(v, w) b = Relu(a) }>",
}
"""Operators of ONNX with bodies."""


@pytest.mark.parametrize("op_type", BODIES)
def test_a_layer_with_a_body_is_equal_byte_for_byte_alone(op_type: str) -> None:
    model = models.text(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[4] x, float[3, 4] r, int64 n, bool c) => (float[4] y) '
        f"{{ {BODIES[op_type]} }}"
    )
    data = model.SerializeToString()
    assert verify(ONNX.load("a.onnx", data), ONNX.load("b.onnx", data)).equal
    model.doc_string = "other"
    (fault,) = verify(ONNX.load("a.onnx", data), ONNX.load("b.onnx", model.SerializeToString())).faults
    assert fault == (
        f"{op_type}#0 ({op_type}): it runs other graphs of the file, or stands in one, which are not read: files with "
        "such a layer are equal only byte for byte"
    )


NO_RECORD = {
    "GridSample": ("GridSample(x, g)", "GridSample<align_corners = 1>(x, g)"),
    "ScatterElements": ("ScatterElements(x, i, u)", 'ScatterElements<reduction = "add">(x, i, u)'),
    "GatherElements": ("GatherElements(x, i)", "GatherElements<axis = 1>(x, i)"),
    "Einsum": ('Einsum<equation = "nchw,nchw->nchw">(x, x)', 'Einsum<equation = "nchw,nchw->ncwh">(x, x)'),
    "LayerNormalization": ("LayerNormalization(x, s)", "LayerNormalization<epsilon = 0.1>(x, s)"),
}
"""Operators of ONNX that only their schema tells of, and with another attribute."""


@pytest.mark.parametrize("op_type", NO_RECORD)
def test_an_operator_that_only_its_schema_tells_of_is_a_function_of_its_operands(op_type: str) -> None:
    def file(step: str) -> onnx.ModelProto:
        outputs = "y, m, d" if op_type == "LayerNormalization" else "y"
        return models.text(
            '<ir_version: 9, opset_import: ["" : 20]> g (float[1, 2, 4, 4] x, float[1, 4, 4, 2] g, '
            "int64[1, 2, 4, 4] i, float[1, 2, 4, 4] u, float[4] s) => (float[1, 2, 4, 4] y) "
            f"{{ r = Relu(x) {outputs} = {step.replace('(x', '(r')} }}"
        )

    same, other = NO_RECORD[op_type]
    old, new = file(same), file(same)
    new.graph.doc_string = "other"
    assert onnx_equal(old, new)
    assert not onnx_equal(old, file(other))


def test_every_operator_of_onnx_that_draws_numbers_is_known_to() -> None:
    """So one without a record draws none. Of AffineGrid onnx says that its function hangs on its context."""
    drawn = {
        s.name for s in onnx.defs.get_all_schemas_with_history() if not s.domain and s.node_determinism == UNSTEADY
    }
    records = {name: operator_named("", name).elements for name in drawn - {"AffineGrid", "SequenceMap", "Dropout"}}
    assert {elements in (Elements.RANDOM, Elements.BODIES) for elements in records.values()} == {True}


FLOATS = {
    "bound of another sign": ("Clip(x, c)", "Clip(x, n)"),
    "largest of zeros": ("Max(x, m)", "Max(m, x)"),
    "least of zeros": ("Min(x, m)", "Min(m, x)"),
    "means": ("GlobalAveragePool(x)", "ReduceMean<axes = [2, 3], keepdims = 1>(x)"),
    "bound that is not stated": ("Relu(x)", "Clip(x, c)"),
}


@pytest.mark.parametrize("steps", FLOATS.values(), ids=FLOATS)
def test_floats_are_equal_only_where_the_same_layer_computes_them(steps: tuple[str, str]) -> None:
    before, after = (
        models.text(
            '<ir_version: 8, opset_import: ["" : 17]> '
            "g (float[1, 2, 4, 4] x, float[1, 2, 4, 4] m) => (float[1, 2, h, w] y) "
            f"<float c = {{0.0}}, float n = {{-0.0}}> {{ r = {step} y = Reciprocal(r) }}"
        )
        for step in steps
    )
    assert onnx_equal(before, before) and not onnx_equal(before, after)


def halves(step: str, kind: type[np.floating]) -> onnx.ModelProto:
    """A function of real numbers between integers; only its scales tell the type in which it is computed."""
    model = models.text(
        '<ir_version: 9, opset_import: ["" : 19]> g (int8[256] x) => (int8[256] y) <int8 z = {0}>'
        f"{{ r = DequantizeLinear(x, s, z) m = {step} y = QuantizeLinear(m, t, z) }}"
    )
    scales = {"s": 0.09375, "t": 2048}
    model.graph.initializer.extend(numpy_helper.from_array(np.array(v, kind), name) for name, v in scales.items())
    return model


@pytest.mark.parametrize("step", ["Exp(r)", "Mul(r, r)"])
def test_halves_round_and_overflow_otherwise_than_floats(step: str) -> None:
    single, half = halves(step, np.float32), halves(step, np.float16)
    assert onnx_equal(single, single) and onnx_equal(half, half)
    assert not onnx_equal(single, half)


def test_what_drops_elements_in_every_run_is_not_covered() -> None:
    """Before operator set 7, where its attribute does not say that it is only tested."""
    old, new = (
        models.text(
            f'<ir_version: 3, opset_import: ["" : {opset}]> g (float[4] x) => (float[4] y) {{ y = Dropout(x) }}'
        )
        for opset in (6, 7)
    )
    assert not onnx_equal(old, old) and onnx_equal(new, new)


def test_scales_between_gates_are_not_covered() -> None:
    tensors = [tensor("x", [1, 2, 4]), tensor("y", [1, 2, 4])]
    data = write(one_operator("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, ("UnidirectionalSequenceLSTMOptions", {})))
    assert not tflite_equal(data, data)


@pytest.mark.parametrize(
    ("op", "options", "other"),
    [
        ("RESIZE_BILINEAR", {"align_corners": True}, {"half_pixel_centers": True}),
        ("LEAKY_RELU", {"alpha": 0.1}, {"alpha": 0.2}),
        ("SOFTMAX", {"beta": 1.0}, {"beta": 2.0}),
    ],
)
def test_options_of_operators_that_are_not_described_count(op: str, options: dict, other: dict) -> None:
    kind = f"{op.title().replace('_', '')}Options"
    tensors = [tensor("x", [1, 4, 4, 2]), tensor("y", [1, 4, 4, 2])]
    old, new = (write(one_operator(op, tensors, (kind, given))) for given in (options, other))
    assert not tflite_equal(old, new)
    assert tflite_equal(old, old)


def test_a_kernel_that_would_read_integers_as_real_numbers_is_not_covered() -> None:
    """Nothing but DEQUANTIZE makes real numbers of integers: LiteRT's NEG of int8 writes int8."""

    def model(read: int) -> bytes:
        tensors = [
            tensor("x", [1, 4], scale=(0.05,)),
            tensor("d", [1, 4], type="FLOAT32", scale=()),
            tensor("y", [1, 4], type="FLOAT32", scale=()),
        ]
        steps = [
            {"opcode_index": 0, "inputs": [0], "outputs": [1]},
            {"opcode_index": 1, "inputs": [read], "outputs": [2]},
        ]
        subgraph = {"tensors": tensors, "inputs": [0], "outputs": [2], "operators": steps}
        codes = [operator_code(op) for op in ("DEQUANTIZE", "NEG")]
        return write({"version": 3, "operator_codes": codes, "subgraphs": [subgraph], "buffers": [{}]})

    assert tflite_equal(model(1), model(1))
    assert not tflite_equal(model(1), model(0))
