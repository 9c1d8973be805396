"""What a check says of defects: predicted and seen or not, repaired, the compiler's, in a layer that did not run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import example_models as models
from firmware_check import compilers, progress
from firmware_check.blame import blamed
from firmware_check.board_run import Uneven, flagged_layers
from firmware_check.build import Bench
from firmware_check.compilers import CLANG, GCC, compiler_named
from firmware_check.errors import FirmwareError
from firmware_check.groups import groups_of
from firmware_check.instructions import Instructions
from firmware_check.judging import _UNEVEN, _remarks, _values, bits_lost
from firmware_check.layer_trace import Observed, Traced
from firmware_check.library import open_library
from firmware_check.link_map import Bytes
from firmware_check.memory import Memory
from firmware_check.opening import OpenedModel, Options, open_model
from firmware_check.options import board_named
from firmware_check.predicted_hazards import Trouble, known_defects, unseen
from firmware_check.program import Array, Program, Quantization, Step, Value
from firmware_check.quantized_constants import softmax_constants
from firmware_check.reading.constants import refuse_out_of_range, with_zeros
from firmware_check.reading.unreadable import Unsupported
from firmware_check.target_check import TargetCheck
from firmware_check.verdict import Differences, Disagreement, LayerVerdict
from onnxlint_cmsis import lint
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.formats.tflite.to_graph import to_graph
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from support import firmware_models as more
from support.firmware_runs import check, data, needs_firmware
from support.goldens import Told
from support.quantized_models import Qdq
from support.targets import target_of
from support.tflite_models import conv_model
from support.tflite_writer import write

if TYPE_CHECKING:
    from firmware_check.onnx_answers import LayerReference
    from onnxlint_cmsis.model.graph import Graph

M4 = target_of("cortex-m4", "4.0.0")
PADDED = KernelCall(
    "depthwise_s8", Dims(1, 5, 5, 4), Dims(1, 3, 3, 4), Dims(1, 5, 6, 4), padding=Pair(1, 1), pad_after=Pair(1, 2),
    ch_mult=1,
)  # fmt: skip


def step(form: str = "convolve", call: KernelCall | None = PADDED, **more: object) -> Step:
    values = [Value(name, index, (1, 4), (0, 1), Quantization(0.1, 0)) for index, name in enumerate("xy")]
    return Step("layer", "Conv", form, (values[0],), values[1], call, **more)  # type: ignore[arg-type]


def test_a_predicted_defect_that_occurs_has_the_code_of_the_linters_rule(told: Told) -> None:
    predicted = route(PADDED, M4)
    ((code, text),) = known_defects(predicted, Trouble(0, ("5 of 9 values wrong",), ()))
    assert code == "CNN302"
    told(text)
    assert list(unseen(predicted, Trouble(0, ("5 of 9 values wrong",), ()), M4)) == []


def test_a_predicted_defect_that_does_not_occur_is_a_failed_prediction(told: Told) -> None:
    (said,) = unseen(route(PADDED, M4), Trouble(0, (), ()), M4)
    told(said)


def test_a_defect_of_inline_assembly_is_not_missed_where_a_compiler_gets_c_code(told: Told) -> None:
    outside = KernelCall(
        "convolve_s8", Dims(1, 1, 5, 4), Dims(1, 1, 3, 4), Dims(1, 1, 13, 1), Pair(2, 1), Pair(0, 5), Pair(0, 5)
    )
    mve = target_of("cortex-m55", "4.1.0")
    predicted = route(outside, mve)
    assert [hazard.id for hazard in predicted.hazards] == ["conv-1xn-window-outside"]
    assert len(list(unseen(predicted, Trouble(0, (), ()), mve))) == 1
    assert list(unseen(predicted, Trouble(0, (), ()), mve, assembly=False)) == []
    bench = Bench(board_named("cortex-m55"), open_library(""), compiler=CLANG)
    (said,) = _remarks(step(call=outside), bench, predicted, Observed((), (), ""))
    told(said)
    assert _remarks(step(call=outside), replace(bench, compiler=GCC), predicted, Observed((), (), "")) == ()


@pytest.mark.parametrize(
    ("taps", "stride", "before", "hazard"),
    [(5, 2, 1, "conv-1xn-reads-past-input"), (3, 2, 0, "conv-1xn-wrong-values")],
)
def test_values_that_memory_of_no_tensor_decides_are_the_foretold_effect(
    taps: int, stride: int, before: int, hazard: str, told: Told
) -> None:
    """Two builds hold other bytes behind the input; which of them gives right values is chance."""
    after = before + 1 if before else 0
    columns = (32 + before + after - taps) // stride + 1
    line = KernelCall(
        "convolve_s8", Dims(1, 1, 32, 4), Dims(1, 1, taps, 4), Dims(1, 1, columns, 1), Pair(1, stride), Pair(0, before),
        Pair(0, after),
    )  # fmt: skip
    mve = target_of("cortex-m55", "7.0.0")
    predicted = route(line, mve)
    assert [row.id for row in predicted.hazards] == [hazard]
    seen = Trouble(0, (), (), (_UNEVEN,))
    assert list(unseen(predicted, seen, mve)) == []
    ((code, text),) = known_defects(predicted, seen)
    assert code == {"conv-1xn-reads-past-input": "CNN303", "conv-1xn-wrong-values": "CNN302"}[hazard]
    told(text)


@pytest.mark.parametrize(("zero", "cpu", "lost"), [
    (-72790, "cortex-m4", True), (-72790, "cortex-m55", False), (-72790, "cortex-m3", False), (-160, "cortex-m4", False)
])  # fmt: skip
def test_bits_of_a_zero_point_that_dsp_code_drops_are_the_foretold_effect(zero: int, cpu: str, lost: bool) -> None:
    """The values were told to contradict the linter, which says so (CNN512)."""
    image = Dims(1, 2, 2, 4)
    product = step("mul", KernelCall("elementwise_mul_s8", image, image, image))
    product = replace(product, inputs=(replace(product.inputs[0], quantization=Quantization(0.1, zero)),))
    said = bits_lost(product, target_of(cpu, "7.0.0"))
    assert bool(said) is lost
    assert not bits_lost(replace(product, call=PADDED), target_of(cpu, "7.0.0"))


def test_a_difference_of_one_in_most_elements_is_no_rounding(told: Told) -> None:
    assert _values(Differences(9, 1, 100), step()) == []
    (said,) = _values(Differences(60, 1, 100), step())
    told(said)
    assert _values(Differences(25, 1, 100), step("avgpool")) == []  # halves are rounded in another direction
    assert _values(Differences(25, 1, 100), step("transpose_conv")) == []  # a channel of nothing but its bias


def test_short_right_shifts_round_twice() -> None:
    """A shift by 2 bits brings 1 in 8 outputs to the other side of a half; one to the left is rounded once."""
    short = step(arrays=(Array("shifts", "int32_t", np.array([-2, -2, -2, -9])),))
    assert _values(Differences(18, 1, 100), short) == []
    assert _values(Differences(19, 1, 100), short)
    assert _values(Differences(20, 1, 100), step(arrays=(Array("shifts", "int32_t", np.array([1, 0])),)))


def test_builds_differ_in_the_layer_that_first_writes_other_bytes() -> None:
    """A kernel that fails leaves memory as it was; layers behind it get other inputs in each build."""
    first, second = step(), step()
    second = replace(second, inputs=(first.output,), output=replace(first.output, buffer=7))
    zeros, ones = np.zeros(4, np.int8), np.ones(4, np.int8)
    uneven = Uneven()
    assert uneven.made_by(first, zeros, ones)
    assert not uneven.made_by(second, zeros, ones)
    assert not uneven.made_by(first, zeros, zeros)
    assert uneven.made_by(second, zeros, ones)
    assert uneven.made_by(first, zeros, ones, overruns=True)
    assert not uneven.made_by(replace(first, inputs=()), zeros, ones), "its inputs may be overwritten"


def test_a_curve_whose_steps_are_smaller_than_onnx_runtimes_error_may_differ_by_that() -> None:
    """A sigmoid that calibration saw near 0 alone: its polynomial is off by 2^-23."""
    for scale, largest in ((1 / 256, 1), (2.0**-24, 3)):
        curve = step("reference_lookup")
        curve = replace(curve, output=replace(curve.output, quantization=Quantization(scale, -128)))
        assert _values(Differences(50, largest, 100), curve) == []
        assert _values(Differences(50, largest + 1, 100), curve)


def test_a_constant_that_does_not_fit_its_type_is_refused_with_the_number() -> None:
    with pytest.raises(Unsupported, match="its scales give diff_min -8321499136, which int32_t does not hold"):
        refuse_out_of_range(step("softmax", numbers={"constants": softmax_constants(2.0**-29)}))
    with pytest.raises(Unsupported, match="its bias has 4294967296, which int32_t does not hold"):
        refuse_out_of_range(step(arrays=(Array("bias", "int32_t", np.array([1 << 32])),)))
    refuse_out_of_range(step("softmax", numbers={"constants": softmax_constants(0.1)}))


def degenerate(folder: Path, scale: float) -> str:
    """A softmax whose input has a scale, as a calibration on nothing but zeros gives it."""
    model = Qdq((1, 8))
    model.real = model.dequantized("k", scale)
    model.nodes, model.constants = model.nodes[1:], model.constants[2:]  # without the input of scale 0.1
    model.nodes[0].input[0] = "x"
    path = str(folder / "softmax.onnx")
    onnx.save(model.layer("Softmax", axis=-1).rounded(1 / 256, -128).model(), path)
    return path


@pytest.mark.parametrize("power", [-25, -26, -29])
def test_a_softmax_of_a_degenerate_scale_is_refused_with_the_reason(power: int, tmp_path: Path) -> None:
    path, said = degenerate(tmp_path, 2.0**power), "the scale of its input is at most 2^-26"
    findings = lint(path, targets=["cortex-m4"])
    told = [finding.message for finding in findings.findings if finding.code == "CNN512"]
    if power > -26:
        assert told == []
        assert [step.form for step in open_model(path, open_library(""), Options({}), tmp_path).program.steps]
    else:
        assert said in told[0]
        with pytest.raises(FirmwareError, match=said.replace("^", r"\^")):
            open_model(path, open_library(""), Options({}), tmp_path)


def test_a_layer_without_a_bias_gets_zeros_where_that_is_asked_for() -> None:
    bare = step(call=PADDED._replace(bias=False), arrays=(Array("weights", "int8_t", np.zeros(36)),))
    given = with_zeros(bare)
    assert given.call is not None
    assert given.call.bias
    assert given.arrays[-1].values.tolist() == [0, 0, 0, 0]
    assert with_zeros(given) is given


def layer(*disagreements: Disagreement) -> LayerVerdict:
    return LayerVerdict(
        "y",
        "y",
        "Conv",
        "f",
        "",
        None,
        Observed((), (), ""),
        0,
        (0, 0),
        Instructions(1),
        Differences(0, 0, 9),
        disagreements,
    )


def checked(compiler: str, *disagreements: Disagreement) -> TargetCheck:
    none = Memory(Bytes(0, 0), Bytes(0, 0), Bytes(0, 0))
    board = board_named("cortex-m4")
    return TargetCheck("m.onnx", M4, board, False, (layer(*disagreements),), (), none, compiler=compiler)


def test_what_is_wrong_with_one_compiler_and_right_with_another_is_the_compilers(told: Told) -> None:
    wrong = Disagreement("FWC002", "5 of 9 outputs differ")
    gcc, clang = blamed([checked("gcc 12.2.1", wrong), checked("clang 16.0.6")])
    (said,) = gcc.layers[0].disagreements
    told(said.text)
    assert clang.layers[0].disagreements == ()
    both = blamed([checked("gcc 12.2.1", wrong), checked("clang 16.0.6", wrong)])
    assert [check.layers[0].disagreements for check in both] == [(wrong,), (wrong,)]


def opened(path: str, graph: Graph) -> OpenedModel:
    return OpenedModel(path, False, graph, Program((), (), ()), cast("LayerReference", None))


def test_a_flagged_layer_of_a_tflite_model_that_did_not_run_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "m.tflite")
    grouped = conv_model()
    _, weights, output = grouped["subgraphs"][0]["tensors"]
    weights["shape"], output["shape"] = [4, 2, 2, 2], [1, 4, 2, 4]
    Path(path).write_bytes(write(grouped))
    model = opened(path, to_graph(read_tflite(path)))
    assert flagged_layers(model, M4, {"CONV_2D#0"}) == (("CONV_2D#0", "conv-grouped-as-dense"),)
    assert flagged_layers(model, M4, {"another"}) == ()


def test_a_flagged_layer_that_did_not_run_is_told(tmp_path: Path, told: Told) -> None:
    path = models.right_padding(tmp_path)
    model = opened(str(path), load(path))
    label = model.graph.nodes[0].label
    unseen_layers = flagged_layers(model, M4, {label})
    assert unseen_layers == ((label, "dw-3x3-padding-after"),)
    check = replace(checked("gcc 12.2.1"), unseen=unseen_layers)
    assert (check.agrees, check.right) == (True, False)
    told(check.verdict)


def test_layers_that_run_apart_share_a_firmware_as_far_as_flash_goes(told: Told) -> None:
    board = board_named("cortex-m55")
    large = [step(call=None, arrays=(Array("weights", "int8_t", np.zeros(200_000)),)) for _ in range(3)]
    groups, left = groups_of([*large, step(call=None, arrays=(Array("w", "int8_t", np.zeros(600_000)),))], board, M4)
    assert [len(group) for group in groups] == [1, 1, 1]
    told([why for _, why in left])
    small = [step(call=None) for _ in range(70)]
    assert [len(group) for group in groups_of(small, board, M4)[0]] == [64, 6]


def test_a_long_run_says_how_many_layers_ran(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    shown = progress.Progress("m.onnx on cortex-m4", 8)
    for seconds, count in ((1, 1), (32, 4), (33, 5), (50, 8)):
        clock[0] = 100.0 + seconds
        for build in ("traced", "plain"):
            shown.ran(Path(build), count)
    told(capsys.readouterr().err)


@pytest.mark.parametrize(("version", "wrong"), [("12.2.1", True), ("13.2.1", False)])
def test_the_version_of_gcc_decides_what_it_makes_wrong(
    version: str, wrong: bool, monkeypatch: pytest.MonkeyPatch, told: Told
) -> None:
    monkeypatch.setattr(compilers, "version_of", lambda _: f"arm-none-eabi-gcc {version}")
    bench = Bench(board_named("cortex-m55"), replace(open_library(""), release="7.0.0"))
    narrow = KernelCall("depthwise_s4", Dims(1, 6, 6, 8), Dims(1, 3, 3, 8), Dims(1, 4, 4, 8), ch_mult=1)
    assert [hazard.id for hazard in route(narrow, bench.target).hazards] == ["dw-s4-opt-gcc-predicate"] * wrong
    assert route(narrow, replace(bench, compiler=CLANG).target).hazards == ()
    observed = Observed((Traced("arm_nn_softmax_common_s8", 0, 1, 0),), (), "")
    told(_remarks(replace(step(), function="arm_softmax_s8"), bench, None, observed))


def test_a_defect_that_a_version_may_have_is_no_failed_prediction() -> None:
    narrow = KernelCall("depthwise_s4", Dims(1, 6, 6, 8), Dims(1, 3, 3, 8), Dims(1, 4, 4, 8), ch_mult=1)
    for version, expected in (("12.2.1", 1), ("12.3.0", 0)):
        target = target_of("cortex-m55", "7.0.0", f"gcc@{version}")
        assert len(list(unseen(route(narrow, target), Trouble(0, (), ()), target))) == expected


def test_a_compiler_that_is_unknown_is_said() -> None:
    with pytest.raises(FirmwareError, match="compiler 'icc' is not known; allowed: gcc, clang"):
        compiler_named("icc")


def test_a_model_too_large_for_any_board_is_refused_before_it_is_quantized(tmp_path: Path, told: Told) -> None:
    dense = helper.make_node("Gemm", ["x", "w"], ["y"], name="dense")
    model = models.save(tmp_path, "huge", [dense], ([1, 3000], [1, 1600]), {"w": np.zeros((3000, 1600))})
    done = check(model, "--target", "cortex-m4")
    assert done.returncode == 2
    told(done.stderr)


def repaired(folder: Path) -> str:
    """The same layer with its padding in a separate node."""
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["p"], name="pad", mode="constant"),
        models.conv("p", "d", "y", group=4),
    ]
    weights = models.with_biases({"d": models.filters(4, 1, 3, 3)})
    path = models.save(folder, "repaired", nodes, ([1, 4, 6, 6], [1, 4, 6, 7]), weights)
    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 2]), "pads"))
    onnx.save(model, path)
    return path


@needs_firmware
def test_a_defect_that_a_change_repairs_is_told_as_repaired(tmp_path: Path) -> None:
    report = data(models.right_padding(tmp_path), "--against", repaired(tmp_path))
    (comparison,) = report["comparisons"]
    assert comparison["verdict"] == "repaired"
    assert comparison["disagreements"] == []
    assert all(check["agrees"] for check in report["checks"])
    assert [check["verdict"] == "agrees" for check in report["checks"]] == [False, True]


@needs_firmware
def test_a_bias_along_another_axis_is_one_line_or_read_leniently(tmp_path: Path, told: Told) -> None:
    from onnxruntime.quantization import QuantType

    model = models.save(
        tmp_path, "one", [models.conv("x", "w", "y")], ([1, 3, 4, 4], [1, 4, 4, 4]),
        models.with_biases({"w": models.filters(4, 3, 1, 1)}),
    )  # fmt: skip
    path = more.quantized(model, tmp_path, activation_type=QuantType.QInt8)
    file = onnx.load(path)
    ranks = {initializer.name: len(initializer.dims) for initializer in file.graph.initializer}
    for node in file.graph.node:
        if node.op_type == "DequantizeLinear" and ranks.get(node.input[0]) == 1:
            del node.attribute[:]
            node.attribute.append(helper.make_attribute("axis", 3))
    onnx.save(file, path)
    done = check(path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    told(done.stderr)
    assert data(path, "--lenient")["checks"][0]["agrees"]


@needs_firmware
def test_float_weights_between_quantized_activations_come_with_advice(tmp_path: Path, told: Told) -> None:
    from onnxruntime.quantization import QuantType

    path = more.quantized(models.one_dimensional(tmp_path), tmp_path, activation_type=QuantType.QInt8)
    file = onnx.load(path)
    numbers = {initializer.name: numpy_helper.to_array(initializer) for initializer in file.graph.initializer}
    makers = {name: node for node in file.graph.node for name in node.output}
    for node in file.graph.node:
        if node.op_type == "Conv":
            integers = numbers[makers[node.input[1]].input[0]].astype(np.float32)
            file.graph.initializer.append(numpy_helper.from_array(integers * 0.01, f"{node.name}_float"))
            node.input[1] = f"{node.name}_float"
    onnx.save(file, path)
    done = check(path)
    assert done.returncode == 2
    told(done.stderr)
