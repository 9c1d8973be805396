"""Checks: what each finds, at which level, and what it says of the channel count."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from onnxlint_cmsis.analysis.grouped import grouped
from onnxlint_cmsis.checks.near_by import _same_windows
from onnxlint_cmsis.checks.rule import stamped
from onnxlint_cmsis.checks.rule_registry import MODULES, check_of_kind, every_rule, rule
from onnxlint_cmsis.cmsis_nn.library import all_hazards
from onnxlint_cmsis.ground.findings import Effect, Finding, Location, Resize, Statement, targets_text
from onnxlint_cmsis.ground.types import Dims, Freedom, KernelCall, Level, Pair
from onnxlint_cmsis.ground.words import RETRAIN
from support.goldens import Told
from support.linter import linted
from support.models import finished, one_node, qdq, text


def lint(model: onnx.ModelProto, **settings: object) -> list[Finding]:
    """Findings on weights that are all zero, but for those about that."""
    settings = {"targets": ["cortex-m55"], "release": "7.0.0", "ignore": ["CNN201", "CNN202"]} | settings
    return list(linted(model, **settings).findings)


def codes(model: onnx.ModelProto, **settings: object) -> list[str]:
    return [finding.code for finding in lint(model, **settings)]


def chain(*convolutions: tuple[int, int, dict[str, object]], shape: list[int], extra: list[object] | None = None):
    """Make convolutions one after the other: (out_c, in_c per group, attributes with `kernel`)."""
    nodes, weights, value = [], [], "x"
    for index, (out_c, in_c, given) in enumerate(convolutions):
        attributes = dict(given)
        kernel = attributes.pop("kernel")
        weights.append(numpy_helper.from_array(np.zeros((out_c, in_c, *kernel), np.float32), f"w{index}"))
        nodes.append(helper.make_node("Conv", [value, f"w{index}"], [f"v{index}"], f"conv{index}", **attributes))
        value = f"v{index}"
    graph = helper.make_graph(
        [*nodes, *(extra or [])],
        "chain",
        [helper.make_tensor_value_info("x", 1, shape)],
        [helper.make_tensor_value_info(value, 1, None)],
        weights,
    )
    return finished(graph)


def test_every_rule_is_documented() -> None:
    assert sorted(row.name.replace("-", "_") for row in every_rule()) == sorted(sum(MODULES.values(), ()))
    for row in every_rule():
        assert row.explanation.startswith(f"{row.summary}\n"), row.code
        assert "**What to do.**" in row.explanation
    assert [row.code for row in every_rule()] == sorted({row.code for row in every_rule()})


def test_one_channel_taken_as_depthwise_is_told_its_multiplier() -> None:
    model = chain((6, 1, {"kernel": (3, 3)}), (4, 6, {"kernel": (1, 1)}), shape=[1, 1, 9, 9])
    assert codes(model, targets=["cortex-m4"]) == []
    (finding,) = lint(model, targets=["cortex-m4"], one_channel="depthwise")
    assert (finding.code, finding.resize) == ("CNN113", Resize("ch_mult", "w0", 0, 6, 8, Freedom.FREE, ("conv0",)))


def test_nodes_without_a_kernel_are_told_once_for_each_reason_and_remedy() -> None:
    nodes = [helper.make_node("Sigmoid" if i % 2 else "Tanh", [f"t{i}"], [f"t{i + 1}"], f"n{i}") for i in range(9)]
    graph = helper.make_graph(
        [*nodes, helper.make_node("Clip", ["t9"], ["t10"], "clip")],
        "g",
        [helper.make_tensor_value_info("t0", 1, [1, 8])],
        [helper.make_tensor_value_info("t10", 1, None)],
    )
    told = grouped(lint(finished(graph), targets=["cortex-m4", "cortex-m55"]))
    assert [[member.location.node for member in (finding, *finding.others)] for finding in told] == [
        [f"n{i}" for i in range(9)], ["clip"]
    ]  # fmt: skip
    finding = told[0]
    why = "CMSIS-NN has no s8 function for it"
    rest = "The same holds for 'n1', 'n2' and 6 more"
    assert finding.message.endswith(f": {why}. {rest}.")
    assert (finding.code, finding.level, finding.targets) == ("CNN190", Level.WARNING, ())


def test_operators_without_any_function_are_one_finding_that_names_them(told: Told) -> None:
    """What the application has to compute is a warning however small, as it decides the verdict."""
    nodes = [
        helper.make_node(name, [f"t{i}"], [f"t{i + 1}"], f"n{i}") for i, name in enumerate(("Sqrt", "Neg", "Sqrt"))
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("t0", 1, [1, 8])],
        [helper.make_tensor_value_info("t3", 1, None)],
    )
    (finding,) = grouped(lint(finished(graph), targets=["cortex-m4"]))
    assert len(finding.others) == 2
    told([finding.message, finding.others[0].message])
    assert (finding.level, finding.effect) == (Level.WARNING, Effect.NO_KERNEL)


def recurrent_state() -> onnx.ModelProto:
    """Zeros as often as the batch has rows: what PyTorch's older exporter writes for the state of an LSTM."""
    return text("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 8] x) => (float[1, 1, 8] y) <float[1, 1, 8] h = {0, 0, 0, 0, 0, 0, 0, 0}> {
    s = Shape(x)
    y = Expand(h, s)
}
""")


WAYS = {
    "Use that pool": one_node("ReduceMean", [1, 4, 8, 8], {}, axes=[2, 3], opset=13),
    "End the model in front of it": one_node("ReduceMean", [1, 4, 8, 8], {}, axes=[1], opset=13),
    "Write it in the application, or": text("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 4] x) => (float[1, 4] y) <float[4, 4] w = {1}> {
            a = Neg(x)
            y = MatMul(a, w)
        }
    """),
    "several of two operands": one_node("Max", [1, 4], {"a": (1, 4), "b": (1, 4)}),
    "a depthwise layer of equal weights": one_node(
        "AveragePool", [1, 4, 8, 8], {}, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1
    ),
    "group 1 and dilations of 1": one_node("ConvTranspose", [1, 4, 8, 8], {"w": (4, 4, 3, 3)}, dilations=[2, 2]),
    "one or two spatial dimensions": one_node("Conv", [1, 4, 8, 8, 8], {"w": (4, 4, 1, 1, 1)}),
    "Slice instead": one_node("Split", [1, 8], {}),
    "quant_pre_process": recurrent_state(),
    "Pool over time": one_node("ReduceMean", [1, 20, 8], {}, axes=[1], keepdims=0),
    "Pool over time behind": one_node("ReduceMean", [20, 1, 8], {}, axes=[0], keepdims=0),
    "with LeakyRelu, which reference code computes": one_node("PRelu", [1, 4, 8, 8], {"slope": (4, 1, 1)}),
    "convert an LSTM from Keras": one_node("GRU", [5, 1, 3], {"w": (1, 12, 3), "r": (1, 12, 4)}, hidden_size=4),
    "Relu in place of Gelu": one_node("Erf", [1, 8], {}),
    "the largest stays the largest": one_node("LogSoftmax", [1, 8], {}),
    "nn.ConvTranspose2d(channels, outputs, r, stride=r)": one_node("DepthToSpace", [1, 4, 8, 8], {}, blocksize=2),
    "nn.MaxPool2d((8, 8))": one_node("ReduceMax", [1, 4, 8, 8], {}, axes=[2, 3]),
    "as a + b * -1": text("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 8] x) => (float[1, 8] y) { y = Sub(x, x) }
    """),
    "a Linear of one output": one_node("ReduceSum", [1, 8], {}),
    "x[1:2] in place of the index alone": text("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[3, 1, 4, 8] x) => (float[1, 4, 8] y) <int64 i = {1}> { y = Gather<axis = 0>(x, i) }
    """),
    "which writes the sizes of what it reads": text("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 8] x, int64[2] s) => (float[4] y) <int64 i = {1}> {
            a = Reshape(x, s)
            y = Gather<axis = 0>(a, i)
        }
    """),
    "torch.cat([x] * 25, 1)": one_node("Expand", [1, 1, 8], {"sizes": (3,)}),
    "an LSTM that runs forward only": one_node(
        "LSTM", [5, 1, 3], {"w": (2, 16, 3), "r": (2, 16, 4)}, hidden_size=4, direction="bidirectional"
    ),
    "dynamo=True): it is then a constant": text("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 8] x) => (float[1, 8] y) {
            s = Shape(x)
            f = Cast<to = 1>(s)
            r = Sqrt(f)
            y = Identity(x)
        }
    """),
}


@pytest.mark.parametrize("do", WAYS)
def test_a_node_without_a_kernel_is_told_what_to_do(do: str) -> None:
    (finding,) = (said for said in lint(WAYS[do], targets=["cortex-m4"]) if said.code == "CNN190")
    assert do in finding.remedy


@pytest.mark.parametrize("steps", [{"strides": [2, 2]}, {"dilations": [2, 2]}])
def test_no_routing_constraint_is_told_that_no_size_changes(steps: dict[str, list[int]]) -> None:
    for weights, more in (((8, 8, 3, 3), {}), ((8, 1, 3, 3), {"group": 8})):
        for settings in ({"targets": ["cortex-m4"]}, {"assume": "s16"}, {"assume": "s16", "release": "5.0.0"}):
            finding = codes(one_node("Conv", [1, 8, 19, 19], {"w": weights}, **more, **steps), **settings)
            assert not [code for code in finding if code.startswith("CNN1")]


@pytest.mark.parametrize(
    ("op_type", "kernel", "level", "share"),
    [
        ("Sigmoid", 7, Level.NOTE, 3 / (3 + 3 * 49)),
        ("Sigmoid", 3, Level.WARNING, 3 / (3 + 3 * 9)),
        ("Neg", 9, Level.WARNING, 20 / (20 + 3 * 81)),
        ("Neg", 13, Level.WARNING, 20 / (20 + 3 * 169)),
    ],
    ids=["Sigmoid-7", "Sigmoid-3", "Neg-9", "Neg-13"],
)
def test_a_reason_weighs_as_much_as_its_share_of_the_work(
    op_type: str, kernel: int, level: Level, share: float, told: Told
) -> None:
    """A table counts 3 multiply-accumulates an element, what is computed 20; 5 % is the limit of reference code."""
    last = helper.make_node(op_type, ["v0"], ["z"], "s")
    model = chain((64, 3, {"kernel": (kernel, kernel)}), shape=[1, 3, 32, 32], extra=[last])
    (finding,) = (finding for finding in lint(model, targets=["cortex-m4"]) if finding.code == "CNN190")
    assert (finding.level, finding.properties["share"]) == (level, round(share, 4))
    told(finding.text)


def test_a_recurrent_layer_that_nobody_computes_is_an_error(told: Told) -> None:
    shapes = {"w": (1, 48, 8), "r": (1, 48, 16)}
    (finding,) = lint(one_node("GRU", [10, 1, 8], shapes, hidden_size=16), targets=["cortex-m4"])
    assert (finding.code, finding.level, finding.properties["share"]) == ("CNN190", Level.ERROR, 1.0)
    told(finding.text)


def test_a_layer_with_a_problem_of_its_own_is_not_judged_further() -> None:
    model = one_node("Conv", [1, 4, 8, 8], {"w": (8, 5, 1, 1)}, pads=[0, 0, 1, 1])
    assert codes(model) == ["CNN004"]


def test_layers_of_a_repeated_name_are_judged() -> None:
    model = chain((4, 4, {"kernel": (1, 1), "pads": [0, 0, 1, 1]}), (4, 4, {"kernel": (1, 1)}), shape=[1, 4, 8, 8])
    for node in model.graph.node:
        node.name = "c"
    assert sorted(codes(model, targets=["cortex-m4"])) == ["CNN004", "CNN302"]


@pytest.mark.parametrize(("kernel", "group"), [(1, 1), (3, 4)])
def test_the_advice_to_put_a_pad_before_a_layer_can_be_followed(kernel: int, group: int) -> None:
    after = {1: 1, 3: 2}[kernel]
    attributes = {"kernel": (kernel, kernel), "group": group}
    padded = chain((4, 4 // group, {**attributes, "pads": [0, 0, after, after]}), shape=[1, 4, 16, 16])
    (finding,) = lint(padded, targets=["cortex-m4"])
    assert finding.code == "CNN302"
    explicit = chain((4, 4 // group, attributes), shape=[1, 4, 16, 16])
    explicit.graph.node[0].input[0] = "t"
    explicit.graph.node.insert(0, helper.make_node("Pad", ["x", "p"], ["t"], "pad"))
    explicit.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 0, 0, 0, 0, after, after]), "p"))
    del explicit.graph.value_info[:]
    explicit.graph.output[0].type.tensor_type.ClearField("shape")
    assert codes(onnx.shape_inference.infer_shapes(explicit), targets=["cortex-m4"]) == []


def test_multiplier_tile_is_a_warning_with_the_class_behind_it() -> None:
    model = chain(
        (6, 3, {"kernel": (1, 1)}),
        (18, 1, {"kernel": (3, 3), "group": 6, "pads": [1, 1, 1, 1]}),
        (4, 18, {"kernel": (1, 1)}),
        shape=[1, 3, 8, 8],
    )
    for target in ("cortex-m0", "cortex-m4", "cortex-m55"):
        (finding,) = lint(model, targets=[target])
        assert (finding.code, finding.level) == ("CNN113", Level.WARNING)
        assert finding.resize is not None
        assert (finding.resize.variable, finding.resize.have, finding.resize.want) == ("ch_mult", 3, 4)
        assert finding.resize.freedom is Freedom.FREE
        assert finding.resize.layers == ("conv1",)
        assert finding.wanted == "depthwise_conv_s8_mult_4"
        assert "ch_mult % 4 == 0" in finding.text
        assert "arm_depthwise_conv_s8.c:" in finding.complete


def test_what_was_not_measured_is_not_claimed() -> None:
    model = chain(
        (6, 3, {"kernel": (1, 1)}),
        (18, 1, {"kernel": (3, 3), "group": 6, "pads": [1, 1, 1, 1]}),
        (4, 18, {"kernel": (1, 1)}),
        shape=[1, 3, 8, 8],
    )
    for settings in ({"compiler": "armclang"}, {"release": "cmsis5-5.9.0"}):
        (finding,) = [finding for finding in lint(model, targets=["cortex-m4"], **settings) if finding.code == "CNN113"]
        assert finding.level is Level.NOTE
        assert "not been measured" in str(finding.properties["measured.cortex-m4"])


def one_dimensional(in_c: int, **attributes: object) -> onnx.ModelProto:
    return chain(
        (in_c, 3, {"kernel": (1,)}),
        (16, in_c, {"kernel": (5,), **attributes}),
        (4, 16, {"kernel": (1,)}),
        shape=[1, 3, 48],
    )


def test_one_by_n_is_a_warning_on_mve_only() -> None:
    model = one_dimensional(7, pads=[2, 2])
    (finding,) = lint(model)
    assert (finding.code, finding.level) == ("CNN103", Level.WARNING)
    assert finding.resize is not None
    assert (finding.resize.variable, finding.resize.want, finding.resize.freedom) == ("input_dims.c", 8, Freedom.FREE)
    for target in ("cortex-m0", "cortex-m4", "cortex-m55+nomve"):
        assert lint(model, targets=[target]) == []


def test_padding_onto_a_defective_kernel_is_no_remedy() -> None:
    # width 48, filter 5, stride 2, padding 1 before and 2 after: the 1xN kernel of 7.0.0 is wrong there.
    assert lint(one_dimensional(7, pads=[1, 2], strides=[2])) == []


def test_the_defective_kernel_is_an_error_with_the_count_that_repairs() -> None:
    (finding,) = lint(one_dimensional(8, pads=[1, 2], strides=[2]))
    assert (finding.code, finding.level) == ("CNN303", Level.ERROR)
    assert finding.resize is not None
    assert (finding.resize.have, finding.resize.want, finding.resize.freedom) == (8, 9, Freedom.FREE)
    assert "arm_convolve_s8" in finding.wanted
    assert codes(one_dimensional(8, pads=[1, 2], strides=[2]), release="5.0.0") == []


def test_refused_geometry_is_an_error() -> None:
    (finding,) = lint(one_dimensional(8, pads=[3, 0]))
    assert (finding.code, finding.level) == ("CNN301", Level.ERROR)
    assert codes(one_dimensional(8, pads=[3, 0]), targets=["cortex-m4"]) == []


def test_locked_by_the_interface() -> None:
    model = chain((16, 6, {"kernel": (5,), "pads": [2, 2]}), (4, 16, {"kernel": (1,)}), shape=[1, 6, 48])
    (finding,) = lint(model)
    assert (finding.code, finding.level) == ("CNN103", Level.NOTE)
    assert finding.resize is not None
    assert finding.resize.freedom is Freedom.LOCKED
    assert "graph input x" in finding.resize.lock


def test_coupled_by_a_residual_add(told: Told) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], "left"),
        helper.make_node("Conv", ["x", "w1"], ["b"], "right"),
        helper.make_node("Add", ["a", "b"], ["s"], "add"),
        helper.make_node("Conv", ["s", "w2"], ["c"], "after", pads=[2, 2]),
        helper.make_node("Conv", ["c", "w3"], ["y"], "last"),
    ]
    shapes = {"w0": (6, 3, 1), "w1": (6, 3, 1), "w2": (16, 6, 5), "w3": (4, 16, 1)}
    graph = helper.make_graph(
        nodes,
        "residual",
        [helper.make_tensor_value_info("x", 1, [1, 3, 48])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(np.zeros(size, np.float32), name) for name, size in shapes.items()],
    )
    model = finished(graph)
    (finding,) = lint(model)
    assert finding.resize is not None
    assert (finding.resize.freedom, finding.resize.layers) == (Freedom.COUPLED, ("left", "right"))
    told(finding.text)


@pytest.mark.parametrize(
    ("attributes", "weights", "code", "settings"),
    [
        ({"pads": [1, 1, 1, 1]}, (4, 8, 1, 1), "CNN101", {}),
        ({"group": 8, "pads": [2, 2, 0, 0]}, (8, 1, 3, 3), "CNN111", {"targets": ["cortex-m4"]}),
        ({}, (4, 8, 9, 8), "CNN104", {"assume": "s16", "release": "5.0.0", "targets": ["m4"]}),
    ],
)
def test_misses_for_other_reasons_are_notes(
    attributes: dict[str, object], weights: tuple[int, ...], code: str, settings: dict[str, object]
) -> None:
    findings = lint(one_node("Conv", [1, 8, 9, 9], {"w": weights}, **attributes), **settings)
    assert code in [finding.code for finding in findings]
    assert all(finding.level is Level.NOTE for finding in findings if finding.code == code)


def test_even_columns_of_s4() -> None:
    model = chain(
        (3, 4, {"kernel": (1, 1)}), (4, 3, {"kernel": (3, 3)}), (4, 4, {"kernel": (1, 1)}), shape=[1, 4, 8, 8]
    )
    (finding,) = lint(model, assume="s4")
    assert (finding.code, finding.level, finding.resize.want) == ("CNN105", Level.NOTE, 4)
    assert lint(model, assume="s4", targets=["cortex-m4"]) == []


def test_transpose_convolution_of_every_day_is_wrong_and_padding_repairs_it() -> None:
    shapes = {"w0": (8, 3, 1, 1), "w1": (8, 4, 3, 3)}
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], "before"),
        helper.make_node("ConvTranspose", ["a", "w1"], ["y"], "up", strides=[2, 2], pads=[1, 1, 1, 1]),
    ]
    graph = helper.make_graph(
        nodes,
        "up",
        [helper.make_tensor_value_info("x", 1, [1, 3, 6, 6])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(np.zeros(size, np.float32), name) for name, size in shapes.items()],
    )
    model = finished(graph)
    findings = lint(model, targets=["cortex-m4"])
    wrong = [finding for finding in findings if finding.code == "CNN302"]
    assert len(wrong) == 1
    assert (wrong[0].resize.have, wrong[0].resize.want, wrong[0].resize.freedom) == (8, 17, Freedom.FREE)
    assert "CNN302" not in codes(model, targets=["cortex-m4"], release="main")
    assert codes(model, release="4.1.0", targets=["cortex-m4"]) == ["CNN190"]


@pytest.mark.parametrize(("release", "expected"), [("6.0.0", ["CNN131"]), ("7.0.0", ["CNN306"])])
def test_per_channel_fully_connected_needs_a_release(release: str, expected: list[str]) -> None:
    weights = {"w": np.zeros((3, 5), np.int8), "ws": np.ones(5, np.float32), "wz": np.zeros(5, np.int8)}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=1),
        helper.make_node("MatMul", ["xf", "wf"], ["yf"], "dense"),
        helper.make_node("QuantizeLinear", ["yf", "s", "z"], ["y"]),
    ]
    assert codes(qdq(nodes, [1, 3], weights, {"y": [1, 5]}), release=release) == expected


def test_grouped_convolution_before_6_is_wrong() -> None:
    model = one_node("Conv", [1, 8, 9, 9], {"w": (4, 4, 3, 3)}, group=2)
    assert "CNN302" in codes(model, release="5.0.0")
    assert codes(model, release="7.0.0") == []


def test_a_gain_measured_on_s8_is_not_claimed_for_s4() -> None:
    model = chain((3, 4, {"kernel": (1,)}), (8, 3, {"kernel": (3,), "pads": [1, 1]}), shape=[1, 4, 40])
    for release in ("6.0.0", "7.0.0", "main"):
        findings = [finding for finding in lint(model, assume="s4", release=release) if finding.code == "CNN103"]
        assert findings and all(finding.level is Level.NOTE for finding in findings)
        facts = [
            str(fact)
            for finding in findings
            for name, fact in finding.properties.items()
            if name.startswith("measured.")
        ]
        assert len(facts) >= len(findings)
        assert all("not been measured" in fact and "pairs" not in fact for fact in facts)
    assert [finding.level for finding in lint(model) if finding.code == "CNN103"] == [Level.WARNING]


def test_one_channel_taken_as_depthwise_may_become_a_convolution(told: Told) -> None:
    model = chain((5, 1, {"kernel": (3, 3)}), (4, 5, {"kernel": (1, 1)}), shape=[1, 1, 9, 9])
    settings = {"compiler": "armclang", "one_channel": "depthwise"}
    (finding,) = [finding for finding in lint(model, **settings) if finding.code == "CNN114"]
    assert (finding.level, finding.resize) == (Level.NOTE, Resize("ch_mult", "w0", 0, 5, 9, Freedom.FREE, ("conv0",)))
    told(finding.text)
    assert "CNN114" not in codes(model, compiler="armclang")
    assert "CNN114" not in codes(model, one_channel="depthwise"), "with gcc two outputs are enough"


@pytest.mark.parametrize(
    ("attributes", "weights", "shape", "expected"),
    [
        ({"pads": [0, 0, 1, 1]}, (4, 4, 1, 1), [1, 4, "H", "W"], {"CNN302"}),  # stride 1 needs no size
        ({"pads": [0, 0, 1, 0]}, (4, 4, 1, 1), [1, 4, "H", 8], {"CNN302"}),
        ({"pads": [0, 0, 1, 1], "strides": [2, 2]}, (4, 4, 1, 1), [1, 4, "H", "W"], {"CNN005"}),
        ({"pads": [0, 0, 2, 2], "strides": [2, 2]}, (4, 4, 1, 1), [1, 4, "H", "W"], {"CNN302"}),
        ({}, (4, 4, 1, 1), [1, 4, "H", "W"], set()),
        ({"strides": [2, 2]}, (4, 4, 1, 1), [1, 4, "H", "W"], set()),
        ({"group": 4, "pads": [1, 1, 1, 1]}, (4, 1, 3, 3), [1, 4, "H", "W"], set()),
        ({"group": 4, "pads": [1, 1, 1, 3]}, (4, 1, 3, 3), [1, 4, "H", "W"], {"CNN302"}),
        ({"group": 4, "pads": [1, 1, 1, 2], "strides": [2, 2]}, (4, 1, 3, 3), [1, 4, "H", "W"], {"CNN005"}),
        ({"pads": [1, 1, 1, 1]}, (4, 4, 3, 3), [1, 4, "H", "W"], {"CNN005"}),  # above 65535 it is cut off
        ({}, (4, 0, 3, 3), [1, 0, 8, 8], set()),  # no size is unknown where one is 0
    ],
)
def test_a_hazard_that_symbolic_sizes_leave_open_is_told(
    attributes: dict[str, object], weights: tuple[int, ...], shape: list[object], expected: set[str]
) -> None:
    told = codes(one_node("Conv", shape, {"w": weights}, **attributes), targets=["cortex-m4"])
    assert {code for code in told if code in ("CNN005", "CNN302")} == expected


def test_what_symbolic_sizes_leave_open_is_counted_and_can_be_set() -> None:
    model = one_node("Conv", [1, 4, "H", 8], {"w": (4, 4, 3, 3)})
    (finding,) = lint(model, targets=["cortex-m4"])
    assert "1 layer (" in finding.text and "CNN304" in finding.text
    assert "--input-shape: x=1,4,?,8" in finding.text
    two = chain((4, 3, {"kernel": (3, 3)}), (4, 4, {"kernel": (3, 3)}), shape=[1, 3, "H", 9])
    assert "2 layers (" in lint(two, targets=["cortex-m4"])[0].text


def test_no_repair_by_a_multiplier_that_the_layer_does_not_have() -> None:
    model = one_node("Conv", [1, 4, 16, 16], {"w": (4, 1, 3, 3)}, group=4, pads=[0, 0, 2, 2])
    findings = [finding for finding in lint(model, targets=["cortex-m4"]) if finding.code == "CNN302"]
    assert findings and not any("ch_mult" in finding.text for finding in findings)


WORKS = re.compile(r"padding=(\d)(?: before and (\d) after)? on width (\d+)(?: \([^)]*\))? works")


PADDED = re.compile(r"A (?:Slice of the first (\d+) columns and a )?Pad node of (?:the same|(\d+) before and (\d+)) ")


def padded_by_nodes(pads: tuple[int, int], stride: int, cut: int, width: int) -> onnx.ModelProto:
    """A convolution of five taps behind a Slice and a Pad node; 0 for no Slice."""
    ends = ["starts", "ends", "axes"]
    slices = [helper.make_node("Slice", ["x", *ends], ["s"], "slice")] if cut else []
    nodes = [
        *slices,
        helper.make_node("Pad", ["s" if cut else "x", "pads"], ["p"], "pad"),
        helper.make_node("Conv", ["p", "w"], ["y"], "conv", strides=[stride]),
    ]
    values = zip(ends, ([0], [cut], [2]), strict=True)
    constants = [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in values if cut]
    constants += [
        numpy_helper.from_array(np.array([0, 0, pads[0], 0, 0, pads[1]], np.int64), "pads"),
        numpy_helper.from_array(WEIGHTS, "w"),
    ]
    graph = helper.make_graph(
        nodes,
        "padded",
        [helper.make_tensor_value_info("x", 1, [1, 8, width])],
        [helper.make_tensor_value_info("y", 1, None)],
        constants,
    )
    return finished(graph)


WEIGHTS = np.random.default_rng(0).normal(size=(8, 8, 5)).astype(np.float32)


def test_a_hazard_names_a_padding_that_works() -> None:
    """Another padding of the layer, or nodes in front that pad: then the same is computed."""
    cases = [
        (pads, stride, attributes, finding)
        for pads, stride in product([(3, 0), (0, 3), (1, 3), (2, 2), (4, 4)], [1, 2, 3, 4])
        for attributes in [{"kernel": (5,), "pads": pads, "strides": [stride]}]
        for finding in lint(chain((8, 8, attributes), shape=[1, 8, 48]))
    ]
    assert cases
    for pads, stride, attributes, finding in cases:
        assert finding.resize is None or finding.resize.freedom is Freedom.LOCKED
        if works := WORKS.search(finding.text):
            before, after = int(works[1]), int(works[2] or works[1])
            again = chain((8, 8, {**attributes, "pads": [before, after]}), shape=[1, 8, int(works[3])])
        else:
            nodes = PADDED.search(finding.text)
            assert nodes is not None and "computes the same" in finding.text.replace("compute the", "computes the")
            amounts = (int(nodes[2]), int(nodes[3])) if nodes[2] else pads
            again = padded_by_nodes(amounts, stride, int(nodes[1] or 0), 48)
            given = np.random.default_rng(1).normal(size=(1, 8, 48)).astype(np.float32)
            outputs = [
                ReferenceEvaluator(model).run(None, {"x": given})[0]
                for model in (padded_by_nodes(pads, stride, 0, 48), again)
            ]
            np.testing.assert_allclose(*outputs, rtol=1e-5)
        assert not {"CNN301", "CNN302"} & set(codes(again))


def test_advice_that_changes_what_a_layer_computes_says_so(told: Told) -> None:
    """Padding moved from before to after shifts the window; a width or an output more is another layer, too."""
    transposed = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    (up,) = (
        finding
        for finding in lint(one_node("ConvTranspose", [1, 4, 8, 8], {"w": (4, 4, 3, 3)}, **transposed))
        if finding.code == "CNN302"
    )
    told(up.remedy)
    said = "changes what the layer computes: retrain the model."
    assert f"This {said}" in up.remedy
    uneven = chain((8, 8, {"kernel": (2, 2), "pads": [0, 0, 1, 1]}), shape=[1, 8, 8, 8])
    for finding in lint(uneven, targets=["cortex-m4"], release="4.0.0"):
        assert "retrain" in finding.remedy or "Pad node" in finding.remedy


def test_another_padding_after_that_no_window_reaches_changes_nothing() -> None:
    call = KernelCall("convolve_s8", Dims(1, 1, 8, 8), Dims(8, 1, 3, 8), Dims(1, 1, 3, 8), Pair(1, 3), Pair(0, 1))
    assert _same_windows(call, call._replace(pad_after=Pair(0, 1)))
    assert not _same_windows(call, call._replace(padding=Pair(0, 0), pad_after=Pair(0, 1)))
    assert not _same_windows(call, call._replace(output_dims=Dims(1, 1, 4, 8), pad_after=Pair(0, 3)))


def test_every_way_round_with_another_padding_or_stride_says_that_it_changes_the_layer() -> None:
    rows = [*all_hazards()]
    assert rows
    for row in rows:
        words = re.findall(r"[^.]*\b(?:padding|stride)\b[^.]*\.", row.way_round)
        assert not words or RETRAIN in row.way_round or row.caller, row.id


def test_a_hazard_says_since_when_and_until_when(told: Told) -> None:
    padded = chain((8, 8, {"kernel": (5,), "pads": [3, 0]}), shape=[1, 8, 48])
    (finding,) = lint(padded)
    told(finding.text)
    told(finding.message)


GROUPED = {"w": (24, 6, 1, 1), "b": (24,)}
S16_COLUMNS = {"w": (33, 57, 3, 3), "b": (33,)}


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (
            one_node("Conv", [1, 24, 8, 8], GROUPED, group=4),
            {},
            "for want of a buffer: 24 input channels in 4 groups. Present since CMSIS-NN 6.0.0, fixed in main. "
            "Split the layer into one convolution per group.",
        ),
        (
            one_node("MaxPool", [2, 4, 8, 8], {}, kernel_shape=[2, 2]),
            {"release": "5.0.0"},
            "pools the first image only: a batch of 2. Present since CMSIS-NN 4.0.0, fixed in 6.0.0. "
            "A batch of 1 works.",
        ),
        (
            one_node("Conv", [1, 57, 8, 8], S16_COLUMNS),
            {"assume": "s16"},
            "3x3 kernel, 57 input channels, 33 output channels, output 6x6. Present",
        ),
        (
            one_node("ConvTranspose", [1, 4, 8, 8], {"w": (4, 4, 3, 3)}, strides=[2, 2], pads=[1, 1, 1, 1]),
            {},
            "Or by hand: pads=[2, 2, 0, 0] with stride=2 on 8x8 works.",
        ),
    ],
    ids=["groups", "batch", "output channels", "stride"],
)
def test_a_hazard_speaks_in_the_words_of_the_models_author(model, options, words) -> None:
    findings = [
        finding for finding in lint(model, targets=["cortex-m4"], **options) if finding.code in ("CNN301", "CNN302")
    ]
    assert words in " ".join(finding.text for finding in findings)
    assert not any(
        name in finding.text for finding in findings for name in ("_dims", "stride.", "padding.", "total_pad")
    )


def test_no_impossible_way_round_for_a_stride_of_four() -> None:
    model = one_node("Conv", [1, 3, 64], {"w": (8, 3, 5)}, pads=[2, 2], strides=[4])
    (finding,) = [finding for finding in lint(model) if finding.code == "CNN301"]
    assert "% 4 != 0" not in finding.text
    assert finding.resize is None


def test_a_hazard_gives_its_numbers_and_the_tensors(told: Told) -> None:
    model = one_node("Conv", [1, 8, 8, 8], {"w": (8, 8, 1, 1)}, pads=[0, 0, 0, 1])
    (finding,) = [finding for finding in lint(model, targets=["cortex-m4"]) if finding.code == "CNN302"]
    told(str(finding.properties["sizes"]))
    told(finding.remedy)
    told(finding.text)
    told(str(finding.properties["known"]))


def test_a_finding_names_the_tensor_in_front_of_a_folded_pad() -> None:
    sizes = {"p": np.array([0, 0, 1, 0, 0, 1], np.int64), "w": np.ones((8, 4, 3), np.float32)}
    nodes = [
        helper.make_node("Pad", ["x", "p"], ["t"], "pad"),
        helper.make_node("Conv", ["t", "w"], ["y"], "c", strides=[2]),
    ]
    graph = helper.make_graph(
        nodes,
        "padded",
        [helper.make_tensor_value_info("x", 1, [1, 4, 32])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(value, name) for name, value in sizes.items()],
    )
    (finding,) = [finding for finding in lint(finished(graph), targets=["cortex-m55"]) if finding.code == "CNN301"]
    assert "input_dims of 'x'" in str(finding.properties["sizes"])
    assert "'t'" not in finding.complete


def test_no_odd_last_column_in_an_even_output() -> None:
    model = one_node("Conv", [1, 8000, 8, 8], {"w": (4, 8000, 3, 3)}, pads=[1, 1, 1, 1])
    assert "CNN304" not in codes(model, targets=["cortex-m4", "cortex-m0"])


def test_a_missing_kernel_says_where_it_can_be_read() -> None:
    model = one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 3, 3)})
    (finding,) = [finding for finding in lint(model, assume="s4", release="4.1.0") if finding.code == "CNN190"]
    assert [(source.release, source.function) for source in finding.sources] == [("5.0.0", "arm_convolve_wrapper_s4")]


def test_an_lstm_is_right() -> None:
    # Up to 7.0.0 the kernel names the forget gate where the input gate is meant; both lie in one buffer.
    weights = {"W": (1, 32, 4), "R": (1, 32, 8)}
    model = one_node("LSTM", [5, 1, 4], weights, hidden_size=8)
    for release in ("6.0.0", "7.0.0", "main"):
        assert "CNN302" not in codes(model, release=release)


def test_symbolic_sizes_are_told_once() -> None:
    model = chain((4, 3, {"kernel": (3,)}), (4, 4, {"kernel": (3,)}), (4, 4, {"kernel": (3,)}), shape=[1, 3, "width"])
    (finding,) = [finding for finding in lint(model) if finding.code == "CNN005"]
    assert "--input-shape" in finding.text
    assert "x=1,3,?" in finding.text
    assert "CNN005" not in codes(model, input_shapes={"x": [1, 3, 40]})


def test_the_same_finding_on_several_targets_is_one(told: Told) -> None:
    model = one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 1, 1)}, pads=[1, 1, 0, 0])
    (finding,) = lint(model, targets=["cortex-m0", "cortex-m4", "cortex-m55"])
    assert len(finding.targets) == 3
    told(finding.complete)


def test_releases_of_the_same_targets_are_said_together() -> None:
    labels = tuple(f"cortex-m4, CMSIS-NN {release}, gcc@12.2" for release in ("6.0.0", "7.0.0", "main"))
    assert targets_text(labels) == "cortex-m4 (CMSIS-NN 6.0.0, 7.0.0 and main, gcc@12.2)"


def test_targets_are_grouped_by_release(told: Told) -> None:
    labels = ("cortex-m0, CMSIS-NN 7.0.0, gcc", "cortex-m4, CMSIS-NN 7.0.0, gcc", "cortex-m4, CMSIS-NN main, gcc")
    told(targets_text(labels))


def test_a_float_model_says_what_it_was_taken_for(told: Told) -> None:
    model = one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 3, 3)})
    report = linted(model, targets=["cortex-m4"])
    assert len(report.notes) == 1
    told(report.notes[0])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "CNN002"),
        (b"hello world, this is text\n", "CNN002"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", "CNN003"),
    ],
)
def test_files_that_are_no_models(data: bytes, code: str) -> None:
    report = linted(data)
    assert [finding.code for finding in report.findings] == [code]
    assert not report.readable


def test_missing_file(tmp_path) -> None:
    report = linted(tmp_path / "no.onnx")
    assert [finding.code for finding in report.findings] == ["CNN001"]


def test_rule_lookup_knows_only_what_exists() -> None:
    assert rule("CNN113").name == "depthwise-multiplier-tile"
    with pytest.raises(KeyError):
        rule("CNN999")


def test_each_kind_of_problem_belongs_to_one_rule() -> None:
    kinds = [kind for row in every_rule() for kind in row.kinds]
    assert len(kinds) == len(set(kinds))
    assert {hazard.kind for hazard in all_hazards()} <= set(kinds)
    assert check_of_kind("lfs-pointer").rule.name == "git-lfs-pointer"


def test_a_finding_is_never_above_the_level_of_its_rule() -> None:
    said = Statement("text", Location("m.onnx"), level=Level.ERROR)
    assert stamped(rule("CNN103"), said).level is Level.WARNING
    assert stamped(rule("CNN103"), Statement("text", Location("m.onnx"), level=Level.NOTE)).level is Level.NOTE
    assert stamped(rule("CNN103"), Statement("text", Location("m.onnx"))).level is Level.WARNING


@pytest.mark.parametrize("pads", [(2, 2), (0, 1), (3, 0)])
def test_what_works_is_what_the_runtime_makes_of_it(pads: tuple[int, int]) -> None:
    """TensorFlow Lite has SAME and VALID alone: other padding becomes a PAD operator in front, and that is routed."""
    kernel = {"kernel": (5,), "strides": [2]}
    asked = chain((8, 8, {**kernel, "pads": pads}), shape=[1, 8, 128])
    options: dict[str, object] = {"targets": ["cortex-m55"], "release": "main", "runtime": "tflm"}
    hazards = [finding for finding in lint(asked, **options) if finding.code in ("CNN301", "CNN302")]
    for hazard in hazards:
        assert "on width 128" in hazard.message.partition(". ")[0]
        works = WORKS.search(hazard.text)
        assert works is not None, hazard.text
        padded = {**kernel, "pads": [int(works[1]), int(works[2] or works[1])]}
        better = chain((8, 8, padded), shape=[1, 8, int(works[3])])
        assert not {"CNN301", "CNN302"} & {finding.code for finding in lint(better, **options)}
    assert hazards or pads != (2, 2)


def test_a_padding_that_the_runtime_cannot_express_is_not_advised() -> None:
    weights = {"w": (4, 4, 3, 3)}
    model = one_node("ConvTranspose", [1, 4, 8, 8], weights, strides=[2, 2], pads=[1, 1, 1, 1])
    (finding,) = [
        finding
        for finding in lint(model, targets=["cortex-m4"], release="7.0.0", runtime="tflm")
        if finding.code == "CNN302"
    ]
    assert "pads=[2, 2, 0, 0]" not in finding.text
