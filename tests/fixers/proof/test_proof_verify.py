"""The proof: that it can fail, on what inputs it looks, and what it says of models that do not run."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.analysis.proof_results import Difference, Proof
from onnxlint_cmsis.fixers.planning.plan import Plan, PlanStep
from onnxlint_cmsis.fixers.planning.unchangeable import refused
from onnxlint_cmsis.fixers.proof import compare, inner
from onnxlint_cmsis.fixers.proof import inputs as feeds
from onnxlint_cmsis.fixers.proof.compare import Spread
from onnxlint_cmsis.fixers.proof.element_map import Held, aligned, element_map
from onnxlint_cmsis.fixers.proof.inputs import PLAIN, model_inputs
from onnxlint_cmsis.fixers.proof.onnx_model import OnnxModel
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization
from onnxlint_cmsis.fixers.proof.runner import Runner
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.types import Freedom
from support import paths
from support.dims_graphs import Builder
from support.draws import draws
from support.fix_graphs import Case, case, input_of
from support.goldens import Told
from support.lanes_checks import analysed
from support.linter import fixed, with_plan
from support.models import text
from support.nightly import one_of
from support.proofs import observe, prove
from support.resizable_models import GROW, branch_model, integer_model, qdq_model, two_convs
from support.versions import needs_lasting_runtime, needs_right_products, since

SHARED = paths.SHARED / "models"
needs_models = pytest.mark.skipif(not SHARED.exists(), reason="the folder of third-party models is not there")


def overwritten(model: onnx.ModelProto, node: str, position: int, change) -> onnx.ModelProto:
    """A copy of a model with one constant changed."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    name = next(candidate for candidate in copy.graph.node if candidate.name == node).input[position]
    tensor = next(initializer for initializer in copy.graph.initializer if initializer.name == name)
    array = numpy_helper.to_array(tensor).copy()
    change(array)
    tensor.CopyFrom(numpy_helper.from_array(array, name))
    return copy


def set_to(index, value):
    def change(array: np.ndarray) -> None:
        array[index] = value

    return change


def prove_as_written(before: Case, kept: dict[str, tuple[int | None, ...]]) -> list[Difference]:
    """Differences without the optimisers that compute something else than the file says."""
    runner = Runner(OnnxModel(before.model.SerializeToString()), 0, {})
    new = OnnxModel(before.applied(kept).SerializeToString())
    return list(runner.compared(new, range(8), Optimization.DEFAULT).comparison.differences())


def swap(axis: int):
    def change(array: np.ndarray) -> None:
        moved = np.moveaxis(array, axis, 0)
        moved[[0, 1]] = moved[[1, 0]]

    return change


def real_model() -> onnx.ModelProto:
    build, output = two_convs()
    return build.model(output)


MODELS = {"float": (real_model, 1, 2), "integer": (integer_model, 3, 8)}


@pytest.fixture(params=sorted(MODELS))
def grown(request) -> tuple[Case, onnx.ModelProto, int, int]:
    """A model, the same with one more lane, and where its layers have weights and bias."""
    build, weights, bias = MODELS[request.param]
    before = case(build())
    after = before.applied({"first_0": GROW})
    assert before.proof(after).equal
    return before, after, weights, bias


def test_a_wrong_fill_is_caught(grown) -> None:
    before, after, weights, bias = grown
    wrong = overwritten(after, "last", weights, set_to((1, 3), 7))
    wrong = overwritten(wrong, "first", bias, set_to(3, 1000))
    assert "differs by" in before.proof(wrong).reason
    assert not before.proof(wrong).equal


def test_a_lost_bias_is_caught(grown) -> None:
    before, after, _, bias = grown
    assert not before.proof(overwritten(after, "first", bias, set_to(0, 0))).equal
    assert not before.proof(overwritten(after, "last", bias, set_to(1, 0))).equal


def test_a_permuted_lane_is_caught(grown) -> None:
    before, after, weights, _ = grown
    assert not before.proof(overwritten(after, "first", weights, swap(0))).equal
    assert not before.proof(overwritten(after, "last", weights, swap(1))).equal


def test_one_step_of_one_weight_is_caught() -> None:
    before = case(integer_model())
    after = before.applied({"first_0": GROW})
    wrong = overwritten(after, "last", 3, lambda array: array.__setitem__((1, 0, 0, 0), array[1, 0, 0, 0] + 1))
    proof = before.proof(wrong)
    assert not proof.equal
    assert "bit for bit" in proof.reason


def test_a_filler_that_is_not_a_number_is_caught() -> None:
    before = case(real_model())
    after = before.applied({"first_0": GROW})
    assert not before.proof(overwritten(after, "first", 2, set_to(3, np.nan))).equal
    proof = before.proof(overwritten(after, "first", 2, set_to(3, np.inf)))
    assert proof.differences[0].largest == np.inf


def test_a_removed_lane_that_lived_is_caught_and_a_forgotten_increment_too() -> None:
    before = case(integer_model())
    assert not before.proof(before.applied({"first_0": (1, 2)})).equal
    dead = before.applied({"first_0": (0, 2)})
    assert not before.proof(dead).equal  # its bias of 200 makes the lane a constant that `last` needs
    steps = observe(before.model.SerializeToString(), ["first_0"])["first_0"][0, 1]
    assert (steps == steps[0, 0]).all()
    column = input_of(before.model, "last", 3)[:, 1, 0, 0].astype(int) - 120
    gain = (int(steps[0, 0]) - 3) * column
    assert before.proof(before.applied({"first_0": (0, 2)}, {"last": gain})).equal


def test_differences_are_told_for_each_output() -> None:
    build, output = two_convs()
    before = case(build.model(output, build.op("ArgMax", output, axis=1)))
    proof = before.proof(before.applied({"first_0": GROW}))
    assert [(difference.output, difference.elem_type) for difference in proof.differences] == [
        (output, "tensor(float)"),
        ("argmax2_0", "tensor(int64)"),
    ]
    assert proof.differences[0].relative <= 1e-5
    assert proof.differences[1].largest == 0


# inside


def hidden(head: str) -> Case:
    """Two layers behind which an output stays the same whatever they compute."""
    build, output = two_convs()
    output = build.op("Add", output, build.const(1e3, np.float32))
    output = build.op("ArgMax", build.op("Abs", output), axis=0) if head == "ArgMax" else build.op(head, output)
    return case(build.model(output))


def planned(before: Case, plan: Plan) -> tuple[onnx.ModelProto, dict[str, Held]]:
    """The model with a plan applied, and the tensors that hold the same in both."""
    same = element_map(before.graph, [PlanStep(before.graph, before.dimensions, plan)])
    return with_plan(before.model, before.graph, before.dimensions, plan), same


@pytest.mark.parametrize("head", ["Sigmoid", "Sign", "ArgMax"])
def test_a_channel_lost_where_the_output_stays_the_same_is_seen_inside(head: str, told: Told) -> None:
    before = hidden(head)
    end, same = planned(before, before.plan({"first_0": GROW}))
    proof = before.proof(end, same=same)
    assert (proof.equal, proof.inner, proof.reason) == (True, len(same), "")
    wrong = overwritten(end, "first", 1, set_to(1, 0))
    assert before.proof(wrong).equal
    proof = before.proof(wrong, same=same)
    assert not proof.equal
    told(proof.reason)


def test_what_rounding_leaves_of_numbers_that_cancel_is_no_loss_inside(told: Told) -> None:
    """A constant taken up by a float bias may shift what is left of large numbers by more than 1e-5 of its range."""
    before = hidden("Sigmoid")
    end, same = planned(before, before.plan({"first_0": GROW}))

    def shifted(amount: float) -> Proof:
        wrong = overwritten(end, "last", 2, lambda array: array.__setitem__(0, array[0] + amount))
        return before.proof(wrong, same=same)

    assert shifted(2e-4).equal
    told(shifted(0.1).reason)


def test_integers_inside_may_be_rounded_the_other_way_but_outputs_may_not(told: Told) -> None:
    spread = Spread()
    spread.add(np.array([4, 5], np.int8), np.array([4, 6], np.int8))
    assert spread.fault(inner.TOLERANCE, steps=1) is None
    told(spread.fault(compare.TOLERANCE))
    spread.add(np.array([4, 5], np.int8), np.array([2, 5], np.int8))
    told(spread.fault(inner.TOLERANCE, steps=1))


def test_values_inside_are_compared_lane_by_lane_over_several_plans() -> None:
    before = hidden("Sigmoid")
    first = before.plan({"first_0": (None, 2, 1, None)})
    grown = case(with_plan(before.model, before.graph, before.dimensions, first))
    then = grown.plan({"first_0": (2, None, 1, 0)})
    steps = [PlanStep(before.graph, before.dimensions, first), PlanStep(grown.graph, grown.dimensions, then)]
    same = element_map(before.graph, steps)
    assert same["first_0"].orders == (None, (1, None, 2, None), None, None)
    assert same["last_0"].orders == ()
    old = np.arange(6).reshape(1, 3, 2, 1)
    new = np.array([[2, 3], [9, 9], [4, 5], [9, 9]]).reshape(1, 4, 2, 1)
    left, other = aligned(old, new, same["first_0"])
    assert np.array_equal(left, other)
    assert left.shape == (1, 2, 2, 1)
    assert aligned(old, old, same["first_0"]) is None


def test_unread_values_may_differ_inside() -> None:
    """A layer's third row is all that reads a channel, and what that row makes is not read."""
    build = Builder()
    data = build.op("Relu", build.conv(build.input("x", 1, 3, 8, 8), 3, 4, name="first"))
    weights = np.ones((3, 4, 1, 1), np.float32)
    weights[:2, 3], weights[2, :3] = 0, 0
    data = build.op("Conv", data, build.const(weights), build.weights(3), name="mid")
    data = build.op("Gather", data, build.ints(0, 1), axis=1)
    model = build.model(build.conv(data, 2, 5, name="last"))
    result = fixed(model, targets=["cortex-m4"], min_gain=0).result
    assert [(change.have, change.want) for change in result.classes] == [(4, 3)]
    assert result.proof.equal
    assert result.proof.inner == 4


def test_sums_whose_bias_elsewhere_took_up_constants_are_not_compared() -> None:
    build = Builder()
    product = build.op("MatMul", build.input("x", 1, 3), build.weights(3, 4), name="first")
    data = build.op("Relu", build.op("Add", product, build.weights(4)))
    product = build.op("MatMul", data, build.weights(4, 2), name="last")
    before = case(build.model(build.op("Sigmoid", build.op("Add", product, build.weights(2), name="sum"))))
    gain = np.ones(2, np.float32)
    _end, same = planned(before, before.plan({"first_0": (0, 1, 2)}, {"last": gain}))
    assert "last_0" not in same
    assert {"first_0", "sum_0"} <= set(same)


@pytest.mark.parametrize("shaped", ["Reshape", "ConstantOfShape"])
def test_numbers_of_channels_that_a_model_asks_for_may_change(shaped: str) -> None:
    build = Builder()
    data = build.op("Relu", build.conv(build.input("x", 1, 3, 4, 4), 3, 6, name="first"))
    asked = build.op("Shape", data)
    if shaped == "Reshape":
        sizes = build.op("Slice", asked, build.ints(0), build.ints(2), build.ints(0))
        data = build.op("Reshape", data, build.op("Concat", sizes, build.ints(4, 4), axis=0))
    else:
        data = build.op("Add", data, build.op("ConstantOfShape", asked))
    before = case(build.model(build.conv(data, 6, 2, name="last")))
    end, same = planned(before, before.plan({"first_0": (*range(6), None, None)}))
    assert "shape2_0" not in same
    assert "first_0" in same
    assert before.proof(end, same=same).equal


def test_a_model_that_quantizes_is_compared_in_integers() -> None:
    before = case(qdq_model(bias=True))
    leaf = next(group for group in before.dimensions.classes if group.freedom is not Freedom.LOCKED)
    end, same = planned(before, Plan({leaf.id: (*range(leaf.size), None)}))
    kinds = {before.graph.elem_type(name) for name in same}
    assert kinds
    assert all(kind.startswith(("int", "uint")) for kind in kinds)
    assert before.proof(end, same=same).equal


def test_sequences_are_compared_element_by_element() -> None:
    def model(value: float) -> bytes:
        build = Builder()
        data = build.input("x", 1, 2)
        build.op("SequenceConstruct", data, build.op("Add", data, build.const(value, np.float32)), out=["s"])
        sequences = build.model("s")
        sequences.graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None))
        return sequences.SerializeToString()

    proof = prove(model(1), model(1))
    assert (proof.equal, proof.differences[0].largest) == (True, 0)
    assert "differs by" in prove(model(1), model(1.5)).reason


def test_a_model_with_random_numbers_is_left_and_not_called_wrong(told: Told) -> None:
    build = Builder()
    data = build.input("x", 1, 2)
    model = build.model(build.op("Add", data, build.op("RandomNormal", shape=[1, 2]))).SerializeToString()
    proof = prove(model, model)
    assert (proof.equal, proof.ran) == (False, False)
    told(proof.reason)


# without running


def test_another_interface_is_no_replacement() -> None:
    before = case(real_model())
    for change in (
        lambda model: setattr(model.graph.output[0], "doc_string", "new"),
        lambda model: model.graph.input[0].type.tensor_type.shape.dim[0].ClearField("dim_value"),
        lambda model: setattr(model.opset_import[0], "version", 18),
        lambda model: setattr(model, "producer_name", "new"),
    ):
        other = onnx.ModelProto()
        other.CopyFrom(before.model)
        change(other)
        assert not before.proof(other).equal


def test_a_model_that_the_checker_rejects_is_no_replacement() -> None:
    before = case(real_model())
    other = onnx.ModelProto()
    other.CopyFrom(before.model)
    other.graph.node[0].attribute.add(name="nonsense", type=onnx.AttributeProto.INT)
    assert "nonsense" in before.proof(other).reason


def test_a_model_that_does_not_run_is_not_proven(told: Told) -> None:
    build = Builder()
    output = build.op("Unheard", build.input("x", 1, 2), domain="nobody")
    model = build.model(output)
    proof = prove(model.SerializeToString(), model.SerializeToString())
    assert (proof.equal, proof.ran, proof.inputs) == (False, False, 0)
    told(proof.reason)
    assert observe(model.SerializeToString(), [output]) == {}


# inputs


def symbolic(*shape: str | int) -> onnx.ModelProto:
    build = Builder()
    data = build.input("x", *shape)
    return build.model(build.op("Reshape", data, build.ints(-1, 12)))


def test_sizes_are_searched_until_the_model_runs() -> None:
    model = symbolic("batch", "n")
    proof = prove(model.SerializeToString(), model.SerializeToString(), inputs=range(3))
    assert proof.ran is False  # no size tried is a multiple of 12
    proof = prove(model.SerializeToString(), model.SerializeToString(), inputs=range(3), input_shapes={"x": (None, 12)})
    assert (proof.equal, proof.inputs) == (True, 6)  # batches of 1 and 2
    assert prove(*[symbolic(3, "n").SerializeToString()] * 2, inputs=range(1)).equal


def test_inputs_lie_in_the_range_that_is_quantized() -> None:
    inputs = model_inputs(qdq_model(bias=True), {})
    low, high = inputs[0].span
    assert (low, high) == (pytest.approx(-12.5), pytest.approx(13.0))
    assert model_inputs(real_model(), {})[0].span == PLAIN
    setting = feeds.Setting(1, 1, (0, 0))
    drawn = [feeds.feed_of(inputs, setting, number, 0)["x"] for number in range(12)]
    assert not drawn[0].any()
    assert (drawn[1] == np.float32(low)).all()
    assert (drawn[2] == np.float32(high)).all()
    assert set(np.unique(drawn[3])) == {np.float32(low), np.float32(high)}
    assert all(low <= feed.min() <= feed.max() <= high and feed.std() > 1 for feed in drawn[4:])
    assert np.array_equal(feeds.feed_of(inputs, setting, 7, 0)["x"], drawn[7])
    assert not np.array_equal(feeds.feed_of(inputs, setting, 7, 1)["x"], drawn[7])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_integer_inputs_take_all_values(dtype: type) -> None:
    build = Builder()
    elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    build.input("x", 1, 64, elem_type=elem_type)
    model = build.model(build.op("Cast", "x", to=TensorProto.FLOAT))
    named_inputs = model_inputs(model, {})
    limits = np.iinfo(dtype)
    drawn = [feeds.feed_of(named_inputs, feeds.Setting(1, 1, (0, 0)), number, 0)["x"] for number in range(6)]
    assert {(array.min(), array.max()) for array in drawn[1:4]} >= {(limits.min,) * 2, (limits.max,) * 2}
    assert all(array.dtype == dtype for array in drawn)


def test_indices_are_kept_inside_what_they_index() -> None:
    build = Builder()
    places = build.input("x", 1, 4, elem_type=TensorProto.INT64)
    model = build.model(build.op("Gather", build.weights(2, 3), places))
    assert prove(model.SerializeToString(), model.SerializeToString()).equal


@since("onnxruntime", (1, 23), "this ONNX Runtime quantizes no float weights")
def test_what_optimisers_make_of_float_weights_has_to_stay_too(told: Told) -> None:
    """ONNX Runtime's WeightBiasQuantization takes its scale from the largest weight, which a dead lane may hold."""
    build = Builder(opset=17)
    step, zero = build.const(0.1, np.float32), build.const(3, np.int8)
    weights = build.const(np.array([20, 0, -30]).reshape(3, 1, 1, 1), np.int8)
    data = build.input("x", 1, 1, 4, 4, elem_type=TensorProto.INT8)
    quantized = build.const(0.01, np.float32), build.const(0, np.int8)
    data = build.op("QLinearConv", data, step, zero, weights, *quantized, step, zero, name="first")
    real = build.const(np.array([[0.123, 7.77, 0.0456]]).reshape(1, 3, 1, 1), np.float32)
    data = build.op("Conv", build.op("DequantizeLinear", data, step, zero), real, name="last")
    before = case(build.model(build.op("QuantizeLinear", data, build.const(0.002, np.float32), zero)))
    proof = before.proof(before.applied({"first_0": (0, 2)}))
    assert not proof.equal
    told(proof.reason)
    assert [difference.largest for difference in prove_as_written(before, {"first_0": (0, 2)})] == [0]


# branches


def test_both_branches_are_reached_and_a_wrong_one_is_caught() -> None:
    before = case(branch_model())
    after = before.applied({"first_0": GROW})
    assert before.proof(after).equal
    for index in (0, 1):
        wrong = onnx.ModelProto()
        wrong.CopyFrom(after)
        node = next(candidate for candidate in wrong.graph.node if candidate.op_type == "If")
        tensor = node.attribute[index].g.initializer[0]
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * 1.01, tensor.name))
        assert not before.proof(wrong).equal


@needs_lasting_runtime
def test_a_branch_that_no_input_leads_into_proves_nothing(told: Told) -> None:
    model = branch_model()
    never = helper.make_node("And", ["yes", "no"], ["never"])
    model.graph.initializer.append(numpy_helper.from_array(np.array(False), "no"))
    model.graph.node.insert(0, never)
    node = next(candidate for candidate in model.graph.node if candidate.op_type == "If")
    node.input[0] = "never"
    before = case(model)
    proof = before.proof(before.applied({"first_0": GROW}))
    assert not proof.equal
    told(proof.reason)


# looking inside


def test_observed_values_are_those_of_the_tensors() -> None:
    model = integer_model()
    seen = observe(model.SerializeToString(), ["first_0", "last_0", "x", "nowhere"], seed=3)
    assert sorted(seen) == ["first_0", "last_0"]
    assert seen["first_0"].dtype == np.uint8
    assert seen["first_0"].shape == (1, 3, 4, 4)
    assert len(np.unique(seen["first_0"][0, 1])) == 1  # the dead lane
    again = observe(model.SerializeToString(), ["first_0"], seed=4)
    assert not np.array_equal(again["first_0"], seen["first_0"])


def test_external_data_are_looked_for_beside_a_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(real_model(), path, save_as_external_data=True, location="m.bin", size_threshold=0)
    data = path.read_bytes()
    assert observe(data, ["first_0"], beside=path)["first_0"].shape == (1, 3, 4, 4)
    assert prove(data, data, beside=path).equal
    assert observe(data, ["first_0"]) == {}
    with pytest.raises(NotAppliedError, match="out of reach"):
        prove(data, data)


# the models of others

NOT_RUN = {
    "deeploy_mlperf_ic_requant.onnx": "RequantShift",
    "deeploy_waveformer_1d.onnx": "PACTOps",
    "person_detect_int8_tflm.onnx": "DequantizeLinear",
}


@needs_models
@pytest.mark.parametrize(
    "name",
    one_of(
        3,
        [
            pytest.param(path.name, marks=[needs_lasting_runtime] if path.stem == "yunet_n_dynamic" else [])
            for path in sorted(SHARED.glob("*.onnx"))
        ],
    ),
)
def test_growing_all_that_may_grow_keeps_the_outputs_of_real_models(name: str) -> None:
    model = onnx.load(SHARED / name, load_external_data=False)
    before = case(model, str(SHARED / name))
    fixed = refused(before.graph, before.dimensions)
    choices = random.Random(name)
    kept = {}
    for group in before.dimensions.classes:
        if group.freedom is not Freedom.LOCKED and group.id not in fixed:
            kept[group.id] = (*range(group.size), *[None] * choices.randint(1, 5))
    after = with_plan(model, before.graph, before.dimensions, Plan(kept))
    if not kept:
        assert after.SerializeToString() == model.SerializeToString()
        return
    path = SHARED / name
    proof = prove(path.read_bytes(), after.SerializeToString(), beside=path, inputs=range(6))
    assert proof.equal is (name not in NOT_RUN), proof.reason
    assert proof.ran is proof.equal
    assert NOT_RUN.get(name, "") in proof.reason


@needs_models
@needs_right_products
def test_vww96_without_its_dead_lanes_is_the_same_bit_for_bit_on_a_thousand_inputs() -> None:
    path = SHARED / "vww96_int8_tf.onnx"
    model = onnx.load(path)
    analysis = analysed(model)
    removed = {leaf: lanes.exact for leaf, lanes in analysis.lanes.classes.items() if lanes.exact}
    kept = {leaf: analysis.lanes.classes[leaf].live for leaf in removed}
    after = with_plan(model, analysis.graph, analysis.dimensions, Plan(kept, analysis.lanes.increments(removed)))
    assert sum(map(len, removed.values())) >= 971
    assert after.ByteSize() < 0.47 * model.ByteSize()
    inputs = draws(1000, 100)
    proof = prove(path.read_bytes(), after.SerializeToString(), beside=path, inputs=range(inputs))
    assert proof.equal, proof.reason
    assert proof.inputs >= inputs
    assert {difference.largest for difference in proof.differences} == {0}


def reshaped(result: str, *, told: bool) -> OnnxModel:
    """A Reshape to sizes that shape inference reads, or does not where a Cast makes them."""
    sizes = ("sizes", "") if told else ("numbers", "sizes = Cast<to = 7>(numbers)")
    source = f"""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 4] x) => (float{result} y) <int64[2] {sizes[0]} = {{1, 4}}> {{
    {sizes[1]}
    y = Reshape(x, sizes)
}}
"""
    return OnnxModel(text(source).SerializeToString())


@pytest.mark.parametrize("result", ["[N, M]", "[N, 4]", "[]", "[1, 4]"])
def test_a_size_of_an_output_may_become_known(result: str) -> None:
    assert reshaped(result, told=False).fault(reshaped(result, told=True)) is None


@pytest.mark.parametrize("result", ["[N, M]", "[]"])
def test_a_known_size_of_an_output_stays_known(result: str) -> None:
    fault = reshaped(result, told=True).fault(reshaped(result, told=False))
    assert fault == "shape inference finds another type or other sizes of output 'y'"


def test_an_open_size_of_an_input_stays_open_in_an_output() -> None:
    """Another batch would be none of the new model's."""
    source = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) <int64[2] numbers = {-1, 4}, int64[2] sizes = {1, 4}> {
    told = Cast<to = 7>(numbers)
    y = Reshape(x, TARGET)
}
"""
    old, new = (OnnxModel(text(source.replace("TARGET", name)).SerializeToString()) for name in ("told", "sizes"))
    assert old.fault(new) == "shape inference finds another type or other sizes of output 'y'"
