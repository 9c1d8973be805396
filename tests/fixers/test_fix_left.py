"""Classes that a fix leaves: each with its reason, while all others are fixed and proven."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.analysis.proof_results import Proof
from onnxlint_cmsis.fixers.proof.prove import ProofOutcome, Prover
from support import linter
from support.conv_chains import six_wide
from support.dims_graphs import Builder
from support.fix_command import run, text
from support.fixable_models import int8_weights
from support.versions import installed, needs_lasting_runtime

M4 = ("--target", "cortex-m4")
LOOP = "a change in the body of repeat cannot be proven: whether that is run is not known"
BRANCH = "it is not proven that the outputs would stay: no input leads into the changed branch of if"


def fixed(model, **settings):
    return linter.fixed(model, **{"fix_policy": "align", "targets": ["cortex-m4"], **settings})


def sizes(result):
    """First layer that makes each class that changes, with its sizes."""
    return {group.deciders[0]: (group.have, group.want) for group in result.classes}


def left(result):
    return {class_left.layers[0]: (class_left.have, class_left.want, class_left.reason) for class_left in result.left}


def value(name, *shape, elem_type=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, elem_type, list(shape))


def pair(build, data, name, inner=6, *, captured=False):
    """Two 1x1 convolutions 4 -> inner -> 4 for a subgraph, and the weights that it stores itself."""
    stored = []
    for index, (columns, rows) in enumerate([(4, inner), (inner, 4)]):
        array = build.random.uniform(-1, 1, (rows, columns, 1, 1)).astype(np.float32)
        stored.append(numpy_helper.from_array(array, f"{name}_w{index}"))
    nodes = [
        helper.make_node("Conv", [data, f"{name}_w0"], [f"{name}_mid"], f"{name}_first"),
        helper.make_node("Conv", [f"{name}_mid", f"{name}_w1"], [f"{name}_out"], f"{name}_last"),
    ]
    if captured:
        build.initializers += stored
    return nodes, [] if captured else stored


def outer(build):
    """Two convolutions 4 -> 6 -> 4 of the main graph."""
    inside = build.op("Relu", build.conv(build.input("x", 1, 4, 8, 8), 4, 6, name="outer"))
    return build.conv(inside, 6, 4, name="after")


def loop(*, captured=False):
    """Two convolutions in the main graph, and two in the body of a Loop."""
    build = Builder()
    data = outer(build)
    nodes, stored = pair(build, "state", "in", captured=captured)
    going = value("go", elem_type=TensorProto.BOOL), value("go_on", elem_type=TensorProto.BOOL)
    body = helper.make_graph(
        [*nodes, helper.make_node("Identity", ["go"], ["go_on"])], "body",
        [value("i", elem_type=TensorProto.INT64), going[0], value("state", 1, 4, 8, 8)],
        [going[1], value("in_out", 1, 4, 8, 8)], stored,
    )  # fmt: skip
    count, true = build.const(2, np.int64), build.const(True, np.bool_)
    return build.model(build.op("Loop", count, true, data, name="repeat", body=body))


def scan(*, captured=False):
    """The same with a Scan over a sequence of one."""
    build = Builder()
    data = build.op("Unsqueeze", outer(build), build.ints(0))
    nodes, stored = pair(build, "element", "in", captured=captured)
    body = helper.make_graph(nodes, "body", [value("element", 1, 4, 8, 8)], [value("in_out", 1, 4, 8, 8)], stored)
    return build.model(build.op("Scan", data, name="repeat", body=body, num_scan_inputs=1))


def branches(condition="never", *, captured=False, nested=False):
    """Two convolutions in the main graph, and two in each branch of an If whose condition may hold never."""
    build = Builder()
    data = outer(build)
    build.input("yes", elem_type=TensorProto.BOOL)
    bodies = []
    for name in ("a", "b"):
        nodes, stored = pair(build, data, name, captured=captured)
        bodies.append(helper.make_graph(nodes, name, [], [value(f"{name}_out", 1, 4, 8, 8)], stored))
    if nested:
        node = helper.make_node("If", ["yes"], ["within"], "inner", then_branch=bodies[0], else_branch=bodies[1])
        other = helper.make_node("Identity", [data], ["same"])
        bodies = [helper.make_graph([node], "deep", [], [value("within", 1, 4, 8, 8)]),
                  helper.make_graph([other], "flat", [], [value("same", 1, 4, 8, 8)])]  # fmt: skip
    chosen = "yes" if condition == "input" else build.op("And", "yes", build.const(False, np.bool_))
    model = build.model(build.op("If", chosen, then_branch=bodies[0], else_branch=bodies[1], name="if"))
    for node in model.graph.node:
        for attribute in (branch for branch in node.attribute if branch.HasField("g")):
            del attribute.g.value_info[:]
    return model


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("build", [loop, scan])
def test_a_class_in_a_loop_is_left_and_all_others_are_fixed(build, captured):
    data = build(captured=captured)
    run = fixed(data)
    assert sizes(run.result) == {"outer": (6, 8)}
    assert left(run.result) == {"in_first": (6, 8, LOOP)}
    assert run.result.proof.equal
    again = fixed(onnx.load_model_from_string(run.model))
    assert not again.result.changed
    assert again.result.reason == LOOP


def test_a_class_of_the_main_graph_that_a_loop_reads_is_left():
    """A body that never runs would hide what new channels do there."""
    build = Builder()
    data = build.conv(build.input("x", 1, 4, 8, 8), 4, 6, name="read")
    weights = numpy_helper.from_array(build.random.uniform(-1, 1, (4, 6, 1, 1)).astype(np.float32), "in_w")
    nodes = [helper.make_node("Conv", [data, "in_w"], ["made"], "in"), helper.make_node("Identity", ["go"], ["go_on"])]
    true = value("go", elem_type=TensorProto.BOOL), value("go_on", elem_type=TensorProto.BOOL)
    inputs = [value("i", elem_type=TensorProto.INT64), true[0], value("state", 1, 4, 8, 8)]
    body = helper.make_graph(nodes, "body", inputs, [true[1], value("made", 1, 4, 8, 8)], [weights])
    count, start = build.const(2, np.int64), build.const(np.zeros((1, 4, 8, 8)), np.float32)
    output = build.op("Loop", count, build.const(True, np.bool_), start, name="repeat", body=body)
    result = fixed(build.model(output)).result
    assert not result.changed
    assert left(result) == {"read": (6, 8, LOOP)}


def test_what_is_in_a_loop_is_told_and_neither_found_nor_fixed(tmp_path):
    onnx.save(loop(), tmp_path / "m.onnx")
    argv = (*M4, "--fix-policy", "align", "m.onnx")
    assert "in_first" not in text(run(tmp_path, *argv, "--select", "CNN2"))
    shown = text(run(tmp_path, "--diff", *argv))
    assert f"{LOOP}: 'in_first', 'in_last'" in shown
    done = run(tmp_path, "--diff", "--output-format", "json", *argv)
    assert json.loads(text(done))["files"][0]["fix"]["left"] == [
        {"have": 6, "want": 8, "layers": ["in_first", "in_last"], "reason": LOOP}
    ]
    assert run(tmp_path, "--fix", "--select", "CNN2", *argv).returncode == 0
    assert run(tmp_path, "--diff", *argv).returncode == 0


@needs_lasting_runtime
def test_a_class_in_a_branch_inside_a_branch_is_left():
    result = fixed(branches(nested=True)).result
    assert sizes(result) == {"outer": (6, 8)}
    reason = "a change in inner, inside a branch of if, cannot be proven"
    assert left(result) == {"a_first": (6, 8, reason), "b_first": (6, 8, reason)}


@needs_lasting_runtime
@pytest.mark.parametrize("captured", [False, True])
def test_a_class_in_a_branch_that_no_input_leads_into_is_left(captured):
    result = fixed(branches(captured=captured)).result
    assert sizes(result) == {"outer": (6, 8), "b_first": (6, 8)}
    assert left(result) == {"a_first": (6, 8, BRANCH)}


def test_a_runtime_that_ends_its_process_leaves_the_file_and_says_so(tmp_path):
    """ONNX Runtime before 1.23 does where the condition of an If is constant."""
    onnx.save(branches(), tmp_path / "m.onnx")
    before = (tmp_path / "m.onnx").read_bytes()
    done = run(tmp_path, "--fix-only", "--fix-policy", "align", *M4, "m.onnx")
    ended = "ended its process" in done.stderr.decode() + text(done)
    assert ended == (installed("onnxruntime") < (1, 23))
    assert ended == ((tmp_path / "m.onnx").read_bytes() == before)
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize("captured", [False, True])
def test_branches_that_inputs_lead_into_are_fixed(captured):
    result = fixed(branches("input", captured=captured)).result
    assert sizes(result) == {"outer": (6, 8), "a_first": (6, 8), "b_first": (6, 8)}
    assert result.left == ()


def test_a_class_that_cannot_be_resized_is_left(told):
    """All scales of the first weights are negative, so that new rows have none to take."""
    build = Builder()
    data = build.input("x", 1, 4, 8, 8)
    for name, columns, rows, sign in (("neg", 4, 6, -1), ("pos", 6, 7, 1), ("last", 7, 2, 1)):
        codes = build.const(build.random.integers(-100, 100, (rows, columns, 1, 1)), np.int8)
        scales, zeros = build.const(np.full(rows, 0.01 * sign), np.float32), build.const(np.zeros(rows), np.int8)
        data = build.op("Conv", data, build.op("DequantizeLinear", codes, scales, zeros, axis=0), name=name)
    result = fixed(build.model(data)).result
    assert sizes(result) == {"pos": (7, 8)}
    ((name, (have, want, reason)),) = left(result).items()
    assert (name, have, want) == ("neg", 6, 8)
    told(reason)


def test_a_pad_that_cannot_be_proven_is_left_and_classes_are_fixed(monkeypatch, told):
    real = Prover.prove

    def proof(self, new, **options):
        if any(node.op_type == "Pad" for node in onnx.load_model_from_string(new).graph.node):
            return ProofOutcome(Proof(False, "output `y` differs by 1", True, (), 16))
        return real(self, new, **options)

    monkeypatch.setattr(Prover, "prove", proof)
    monkeypatch.setattr(
        "onnxlint_cmsis.fixers.rewriting.repairs_for", lambda _format: ()
    )  # an exact repair would come first
    build = Builder()
    shape = {"kernel_shape": [1, 5], "strides": [1, 2], "auto_pad": "SAME_UPPER"}
    data = build.op("Conv", build.input("x", 1, 4, 1, 32), build.weights(6, 4, 1, 5), name="row", **shape)
    model = build.model(build.conv(build.op("Relu", data), 6, 8, name="after"))
    result = fixed(model, targets=["cortex-m55"], unsafe_fixes=True).result
    assert sizes(result) == {"row": (6, 8)}
    assert result.added == ()
    ((name, (have, want, reason)),) = left(result).items()
    assert (name, have, want) == ("row", 4, 5)
    told(reason)


def test_a_pad_behind_an_input_takes_no_name_that_the_model_has(monkeypatch, told):
    monkeypatch.setattr(
        "onnxlint_cmsis.fixers.rewriting.repairs_for", lambda _format: ()
    )  # an exact repair would come first
    build = Builder()
    shape = {"kernel_shape": [1, 5], "strides": [1, 2], "auto_pad": "SAME_UPPER"}
    data = build.input("x", 1, 4, 1, 32, elem_type=TensorProto.INT8)
    step, zero = build.const(0.1, np.float32, "x_more_channels"), build.const(3, np.int8, "x_more_channels_2/pads")
    data = build.op("DequantizeLinear", data, step, zero, name="x_more_channels_2/pad")
    data = build.op("Conv", data, int8_weights(build, 6, 4, 1, 5), name="row", **shape)
    model = build.model(build.op("QuantizeLinear", data, step, zero))
    result = fixed(model, targets=["cortex-m55"], unsafe_fixes=True).result
    told(result.added)
    assert left(result) == {}


def test_a_model_that_does_not_run_is_tried_once(monkeypatch, told):
    tries = []

    def proof(*_, **__):
        tries.append(1)
        return ProofOutcome(Proof(False, "ONNX Runtime cannot run the model as it is: no", False, (), 0))

    monkeypatch.setattr(Prover, "prove", proof)
    told(fixed(six_wide(8)).result.reason)
    assert len(tries) == 1


# the budget


def gain():
    """A depthwise multiplier of 3 on Cortex-M4: 4 costs less."""
    build = Builder()
    data = build.conv(build.input("x", 1, 4, 8, 8), 4, 5, name="conv0")
    data = build.op("Conv", data, build.weights(15, 1, 3, 3), name="depthwise", kernel_shape=[3, 3], group=5)
    return build.model(build.conv(data, 15, 2, name="conv1"))


def wrong():
    """A transposed convolution that is wrong on 7.0.0 below 17 input channels."""
    build = Builder()
    data = build.op("Relu", build.conv(build.input("x", 1, 4, 6, 6), 4, 6, name="conv0"))
    return build.model(build.op("ConvTranspose", data, build.weights(6, 4, 3, 3), strides=[2, 2], pads=[1] * 4))


AIMS = {"faster": gain, "route": gain, "align": gain, "repair": wrong}


@pytest.mark.parametrize("aim", AIMS)
def test_the_budget_is_named_as_the_reason_with_the_bytes_that_are_enough(monkeypatch, aim, told):
    """Of channel counts alone; where a repair by rewriting needs fewer bytes, these are named."""
    monkeypatch.setattr("onnxlint_cmsis.fixers.rewriting.repairs_for", lambda _format: ())
    build = AIMS[aim]
    policy = "faster" if aim == "repair" else aim
    result = fixed(build(), fix_policy=policy, fix_budget_bytes=0).result
    told(result.reason)
    needed = int(result.reason.rpartition(": ")[2].removesuffix(" bytes").replace(",", ""))
    assert result.left
    assert all("fix-budget-bytes 0" in class_left.reason for class_left in result.left)
    enough = fixed(build(), fix_policy=policy, fix_budget_bytes=needed).result
    assert enough.changed
    assert sum(tensor.new_bytes - tensor.old_bytes for tensor in enough.tensors) == needed
    less = fixed(build(), fix_policy=policy, fix_budget_bytes=needed - 1).result
    assert sizes(less) != sizes(enough)


def test_the_budget_names_the_bytes_of_a_repair_by_rewriting_that_needs_fewer(told):
    result = fixed(wrong(), fix_budget_bytes=0).result
    (repair,) = result.unrewritten
    needed = int(repair.reason.removesuffix(" bytes more").rpartition(": ")[2])
    told(result.reason)
    assert f": {needed} bytes" in result.reason
    assert not fixed(wrong(), fix_budget_bytes=needed - 1).result.changed
    enough = fixed(wrong(), fix_budget_bytes=needed).result
    assert [rewrite.repair for rewrite in enough.rewrites] == [repair.repair]


def test_the_budget_is_named_for_classes_beyond_it(told):
    build = Builder()
    small = build.conv(build.input("x", 1, 4, 4, 4), 4, 6, name="small")
    small = build.conv(build.op("Relu", small), 6, 4, name="middle")
    wide = build.conv(build.op("Relu", small), 4, 6, kernel=3, name="wide")
    model = build.model(build.conv(build.op("Relu", wide), 6, 4, kernel=3, name="last"))
    result = fixed(model, fix_budget_bytes=100).result
    assert sizes(result) == {"small": (6, 8)}
    ((name, (have, want, reason)),) = left(result).items()
    assert (name, have, want) == ("wide", 6, 8)
    told(reason)


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("budget", [100, 330, 700])
def test_the_rounds_of_a_fix_have_one_budget_together(budget, weights):
    """Classes that one round has aligned take no part in the next; what they took of the budget stays taken."""
    build = Builder()
    data = build.conv(build.input("x", 1, 3, 6, 6), 3, 6)
    for _ in range(5):
        data = build.conv(build.op("Relu", data), 6, 6)
    result = fixed(build.model(build.conv(data, 6, 3)), fix_budget_bytes=budget, weights=weights).result
    assert result.changed
    assert sum(tensor.new_bytes - tensor.old_bytes for tensor in result.tensors) <= budget


def test_where_no_budget_stands_in_the_way_it_is_not_named():
    build = Builder()
    model = build.model(build.conv(build.conv(build.input("x", 1, 4, 8, 8), 4, 16), 16, 4))
    assert "budget" not in fixed(model, fix_budget_bytes=0).result.reason
    assert "budget" not in fixed(model, fix_policy="faster", fix_budget_bytes=0).result.reason


# symbolic sizes


def test_a_fix_that_lacks_sizes_says_how_to_give_them(told):
    def model(*plane):
        build = Builder()
        data = build.conv(build.input("x", "batch", 4, *plane), 4, 5, name="conv0")
        data = build.op("Conv", data, build.weights(15, 1, 3, 3), name="depthwise", kernel_shape=[3, 3], group=5)
        return build.model(build.conv(data, 15, 2, name="conv1"))

    result = fixed(model("H", "W"), fix_policy="faster").result
    assert not result.changed
    told(result.reason)
    shapes = {"x": [1, 4, 8, 8]}
    assert fixed(model("H", "W"), fix_policy="faster", input_shapes=shapes).result.changed
    assert "--input-shape" not in fixed(model(8, 8), fix_policy="faster", min_gain=99).result.reason


def wrong_row(elem_type=TensorProto.FLOAT):
    """A 1x5 layer of stride 2 behind an input of four channels, wrong on Cortex-M55, and a Constant node after it."""
    build = Builder()
    data = build.input("x", 1, 4, 1, 32, elem_type=elem_type)
    if elem_type != TensorProto.FLOAT:
        zero = numpy_helper.from_array(np.array(3, np.int8))
        build.nodes.append(helper.make_node("Constant", [], ["zero"], value=zero))
        data = build.op("DequantizeLinear", data, build.const(0.1, np.float32), "zero")
    shape = {"kernel_shape": [1, 5], "strides": [1, 2], "auto_pad": "SAME_UPPER"}
    if elem_type == TensorProto.FLOAT:
        data = build.op("Conv", build.op("Sigmoid", data), build.weights(8, 4, 1, 5), name="row", **shape)
    else:
        data = build.op("Conv", data, int8_weights(build, 8, 4, 1, 5), name="row", **shape)
    half = numpy_helper.from_array(np.array(0.5, np.float32))
    build.nodes.append(helper.make_node("Constant", [], ["half"], value=half))
    if elem_type == TensorProto.FLOAT:
        return build.model(build.op("Mul", data, "half"))
    return build.model(build.op("QuantizeLinear", data, "half", "zero"))


PAD_BYTES = 2 * 4 * 8 + 8 * 5 * 4
"""What a Pad of one channel takes: its own padding, and a column of the weights."""
WIDER = "fix-budget-bytes {} does not allow it: 384 bytes more"
"""What is said of zeros around the weights, which would help as well."""


@pytest.mark.parametrize("spare", [-1, 0])
def test_a_pad_behind_an_input_counts_against_the_budget(spare):
    budget = PAD_BYTES + spare
    result = fixed(wrong_row(), targets=["cortex-m55"], unsafe_fixes=True, fix_budget_bytes=budget).result
    reason = f"fix-budget-bytes {budget} does not allow it: {PAD_BYTES} bytes more"
    assert result.changed == (spare == 0)
    assert bool(result.added) == (spare == 0)
    assert left(result) == ({} if spare == 0 else {"row": (4, 5, reason)})
    assert result.reason == ("" if spare == 0 else f"{reason}; {WIDER.format(budget)}")


@pytest.mark.parametrize("elem_type", [TensorProto.FLOAT, TensorProto.INT8])
def test_an_exact_repair_comes_before_a_pad_behind_an_input(elem_type):
    result = fixed(wrong_row(elem_type), targets=["cortex-m55"], unsafe_fixes=True).result
    assert {rewrite.repair for rewrite in result.rewrites} == {"wider-window"}
    assert result.added == ()


@pytest.mark.parametrize("elem_type", [TensorProto.FLOAT, TensorProto.INT8])
def test_a_pad_behind_an_input_leaves_the_order_of_the_nodes(monkeypatch, elem_type):
    monkeypatch.setattr(
        "onnxlint_cmsis.fixers.rewriting.repairs_for", lambda _format: ()
    )  # an exact repair would come first
    model = wrong_row(elem_type)
    new = fixed(model, targets=["cortex-m55"], unsafe_fixes=True).model
    nodes = list(onnx.ModelProto.FromString(new).graph.node)
    pad = next(index for index, node in enumerate(nodes) if node.op_type == "Pad")
    assert nodes[pad].output[0] in nodes[pad + 1].input
    assert [node.name or node.output[0] for node in nodes if node.op_type != "Pad"] == [
        node.name or node.output[0] for node in model.graph.node
    ]
