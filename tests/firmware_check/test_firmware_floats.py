"""Float models on the device: numbers in generated C, bounds of roundings, calls that show each hazard, runs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import example_models
from firmware_check.arena import plan
from firmware_check.boards import BOARDS
from firmware_check.compilers import CLANG, GCC, CompilerRow
from firmware_check.emit import model_source
from firmware_check.errors import FirmwareError
from firmware_check.evidence.float_calls import TWINS
from firmware_check.evidence.float_layer import float_step
from firmware_check.evidence.seen import float_hazards_on
from firmware_check.float_arithmetic import _least, roundings
from firmware_check.layer_trace import Traced, Way, _by_ways, ways_of
from firmware_check.opening import Options, open_model
from firmware_check.program import FLOAT_NUMBERS
from firmware_check.reading.float_numbers import BLOCK, packed_blocks
from firmware_check.verdict import compare_floats
from onnxlint_cmsis.cmsis_nn.apis import FLOAT
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.cmsis_nn.tables import hazards, hazards_of
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.types import Dims, FloatCall, KernelCall
from support import paths
from support.firmware_runs import MISSING, check, data, lacking
from support.firmware_signatures import EverythingLibrary
from support.goldens import Told

FOLDER = os.environ.get("ONNXLINT_CMSIS_NN", "")
HAS_FLOATS = (Path(FOLDER) / "Include" / "arm_nnfunctions_flt.h").is_file()
needs_tree = pytest.mark.skipif(
    not (FOLDER and HAS_FLOATS) or bool(MISSING),
    reason="ONNXLINT_CMSIS_NN names no checkout with functions for f32, or gcc or QEMU are missing",
)


LONG = 5000
"""Instructions from which on the clock of the firmware makes less than 1 %."""


def network(folder: Path, factor: float = 1.0) -> str:
    """A convolution with a normalization, a depthwise layer, a pool, a dense layer and a softmax."""
    generator = np.random.default_rng(2)

    def constant(name: str, *shape: int) -> onnx.TensorProto:
        values = generator.uniform(0.2, 1, shape) if name == "variance" else generator.uniform(-1, 1, shape) * factor
        return numpy_helper.from_array(values.astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"], "norm"),
        helper.make_node("Relu", ["n"], ["r"], "relu"),
        helper.make_node("Conv", ["r", "d"], ["e"], "depthwise", group=8, kernel_shape=[3, 3]),
        helper.make_node("Sigmoid", ["e"], ["s"], "sigmoid"),
        helper.make_node("GlobalAveragePool", ["s"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flat"),
        helper.make_node("Gemm", ["f", "g", "b"], ["h"], "dense", transB=1),
        helper.make_node("Softmax", ["h"], ["y"], "softmax"),
    ]
    sizes = {"w": (8, 3, 3, 3), "d": (8, 1, 3, 3), "g": (5, 8), "b": (5,)}
    constants = [constant(name, *size) for name, size in sizes.items()]
    constants += [constant(name, 8) for name in ("scale", "shift", "mean", "variance")]
    given_input = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])
    graph = helper.make_graph(nodes, "network", [given_input], [result], constants)
    path = folder / "network.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return str(path)


def opened(folder: Path, options: Options, factor: float = 1.0):
    library = EverythingLibrary("main")
    library.origin = "here"  # type: ignore[attr-defined]
    model = open_model(network(folder, factor), library, options, folder)  # type: ignore[arg-type]
    text = model_source(model.program, plan(model.program), BOARDS[1], library, "network")  # type: ignore[arg-type]
    return model.program, text


@pytest.mark.parametrize("assume", FLOAT.types)
@pytest.mark.parametrize("packed", [False, True])
def test_each_layer_is_the_call_that_the_linter_judges(tmp_path: Path, assume: str, packed: bool) -> None:
    pytest.importorskip("jinja2")
    program, text = opened(tmp_path, Options({}, assume=assume, given=FloatCall(packed=packed)))
    functions = [step.function for step in program.steps]
    assert functions == [
        f"arm_{name}_{assume}"
        for name in (
            "convolve_wrapper", "depthwise_conv_wrapper", "nn_activation", "avg_pool", "fully_connected", "softmax"
        )
    ]  # fmt: skip
    assert program.foreign == ()
    assert text.count("ARM_NN_WEIGHT_FORMAT_NT_N_PACKED") == (2 if packed else 0)
    assert f" float{32 if assume == 'f32' else 16}_t layer_0_weights[{8 * 27}]" in text
    assert ".min = 0" in text  # the Relu behind the convolution


def test_a_call_without_its_buffer_still_asks_for_the_size(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    _, text = opened(tmp_path, Options({}, assume="f32", given=FloatCall(scratch=0)))
    assert "ctx_asked = arm_convolve_wrapper_f32_get_buffer_size(" in text
    assert "ctx_size = 0;" in text


def test_weights_that_the_type_does_not_hold_stay_out_of_the_firmware(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    program, text = opened(tmp_path, Options({}, assume="f16", given=FloatCall()), 1e6)
    assert tuple(label for label, reason in program.foreign if "float16_t" in reason) == ("conv", "depthwise", "dense")
    assert "inf" not in text.partition("static int8_t arena")[2]


def test_a_cast_to_integers_behind_a_layer_is_no_part_of_its_call(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    model = onnx.load(network(tmp_path))
    (first,) = [node for node in model.graph.node if node.name == "norm"]
    first.CopyFrom(helper.make_node("Cast", ["c"], ["n"], "norm", to=TensorProto.INT32))
    (second,) = [node for node in model.graph.node if node.name == "relu"]
    second.CopyFrom(helper.make_node("Cast", ["n"], ["r"], "relu", to=TensorProto.FLOAT))
    onnx.save(model, tmp_path / "cast.onnx")
    library = EverythingLibrary("main")
    program = open_model(str(tmp_path / "cast.onnx"), library, Options({}, assume="f32"), tmp_path).program  # type: ignore[arg-type]
    assert "conv" in [step.label for step in program.steps]
    assert {"x", "r"} <= {value.tensor for value in program.given()}


def test_a_quantized_file_and_other_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(b"")
    with pytest.raises(FirmwareError, match="--assume f32 is for ONNX models"):
        open_model(str(tmp_path / "m.tflite"), EverythingLibrary("main"), Options({}, assume="f32"), tmp_path)


def test_a_library_without_the_functions_is_refused(tmp_path: Path, told: Told) -> None:
    pytest.importorskip("bakenn")
    done = check(network(tmp_path), "--assume", "f32")
    assert done.returncode == 2
    told(done.stderr)


def test_clang_takes_as_few_bytes_for_an_enumeration_as_the_calls_of_gcc() -> None:
    assert all("-fshort-enums" in flags for flags in (CLANG.flags, CLANG.float_flags))


@given(st.integers(1, 20), st.integers(1, 9), st.sampled_from(list(BLOCK.values())))
def test_packed_weights_hold_each_weight_once(out_c: int, depth: int, block: int) -> None:
    weights = np.arange(1.0, 1 + out_c * depth).reshape(out_c, depth)
    blocks = packed_blocks(weights, block)
    assert blocks.shape == (-(-out_c // block), depth, block)
    for channel in range(out_c):
        assert (blocks[channel // block, :, channel % block] == weights[channel]).all()
    assert blocks.sum() == weights.sum()  # the last block is filled up with zeros


@settings(deadline=None)
@given(st.integers(1, 400), st.sampled_from([np.float32, np.float16]), st.integers(0, 99))
def test_no_sum_of_rounded_products_exceeds_its_bound(count: int, kind: type, seed: int) -> None:
    generator = np.random.default_rng(seed)
    x, w = (generator.uniform(-1, 1, count).astype(kind) for _ in range(2))
    total = kind(0)
    for a, b in zip(x, w, strict=True):
        total = kind(total + kind(a * b))
    exact, size = (np.dot(part(x).astype(float), part(w).astype(float)) for part in (np.asarray, np.abs))
    unit = 2.0**-24 if kind is np.float32 else 2.0**-11
    assert abs(float(total) - exact) <= roundings(count + 1, unit) * size + 2.0**-24


@pytest.mark.parametrize("seed", range(5))
def test_a_sum_next_to_0_is_off_by_more_than_one_distance_but_not_more_than_is_allowed(seed: int) -> None:
    """Numbers of f16 below 2^-14 are 2^-24 apart, however small they are."""
    count, half = 1000, FLOAT_NUMBERS["f16"]
    first, second = (np.random.default_rng(seed + 9 * side).uniform(0, 1, count) / 16000 for side in (0, 1))
    total = np.float16(0)
    for product in (first * second).astype(np.float16):
        total = np.float16(total + product)
    off = abs(float(total) - float(first @ second))
    allowed = roundings(count, half.unit) * float(np.abs(first) @ np.abs(second))
    assert allowed + _least(1, half) < off <= allowed + _least(count, half)


def test_a_wrong_number_exceeds_the_bound() -> None:
    step = float_step(
        "conv", TWINS["conv-packed-direct"].beside._replace(floating=FloatCall()), "f32", TWINS["conv-grouped"].data
    )
    exact = step.expected
    assert compare_floats(exact.values.astype(np.float32), exact.values, exact.allowed).strain < 1
    off = exact.values.astype(np.float32)
    off[3] += 1e-4
    assert compare_floats(off, exact.values, exact.allowed).strain > 1
    off[3] = np.nan
    assert compare_floats(off, exact.values, exact.allowed).strain == np.inf


def test_the_way_that_lies_deepest_is_the_one_that_ran() -> None:
    call = KernelCall("convolve_f32", Dims(1, 4, 4, 16), Dims(8, 1, 1, 16), Dims(1, 4, 4, 8), floating=FloatCall())
    target = parse_target("cortex-m4", "main")
    ways = ways_of(call, target)
    assert Way(("arm_convolve_nhwc_f32",)) in ways
    names = "arm_convolve_wrapper_f32", "arm_convolve_nhwc_f32", "arm_convolve_1x1_nhwc_f32", "arm_nn_mat_mult_nt_t_f32"
    tree = tuple(Traced(name, depth, 1, 0) for depth, name in enumerate(names))
    assert _by_ways(tree, ways).chain == route(call, target).chain == names[2:]


@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("kind", FLOAT.types)
def test_the_calls_meet_their_hazard_and_their_neighbours_do_not(cpu: str, kind: str) -> None:
    target = parse_target(cpu, "main")
    rows = [row for row in hazards(FLOAT) if row.id.endswith(f"-{kind}") and row.on(target)]
    assert rows
    for row in rows:
        twins = TWINS[row.id.removesuffix(f"-{kind}")]
        by_data = row.kind == "inexact" and twins.met == twins.beside
        for call, meets in ((twins.met, True), (twins.beside, by_data)):
            entry = f"{call.entry}_{kind}"
            taken = route(call._replace(entry=entry), target)
            rows_met = [other for name in ("", *taken.chain) for other in hazards_of(entry, name, target)]
            names = {other.id for other in rows_met if other.meets(taken.seen)}
            assert (row.id in names) is meets, (row.id, meets)


def test_every_hazard_has_two_calls_and_every_two_calls_a_hazard() -> None:
    ids = {row.id.rpartition("-")[0] for row in hazards(FLOAT)}
    assert set(TWINS) == ids


@needs_tree
@pytest.mark.parametrize("assume", FLOAT.types)
def test_a_float_network_agrees_on_the_device(tmp_path: Path, assume: str) -> None:
    (run,) = data(network(tmp_path), "--assume", assume, "--cmsis-nn", FOLDER, "--target", "cortex-m4")["checks"]
    assert run["agrees"]
    assert len(run["layers"]) == 6
    for layer in run["layers"]:
        assert layer["differences"]["share_of_allowed"] <= 1
        assert layer["differences_from_plain_integers"]["share_of_allowed"] <= 1
        assert layer["observed"]["scratch_written"] <= max(layer["observed"]["scratch"][0], 0)


TRAINED = paths.SHARED / "cases" / "torch"
needs_trained = pytest.mark.skipif(not TRAINED.is_dir(), reason="the models of PyTorch are not beside the project")


@needs_tree
@pytest.mark.parametrize("assume", FLOAT.types)
@pytest.mark.parametrize(("cpu", "compiler"), [("cortex-m4", GCC), ("cortex-m55", CLANG)])
@pytest.mark.parametrize(
    "name",
    [
        "mobilenet",
        pytest.param("dscnn_leg", marks=needs_trained),
        pytest.param("unet_leg", marks=needs_trained),
        pytest.param("cnn1d_leg", marks=needs_trained),
    ],
)
def test_known_networks_agree_and_cost_what_is_predicted(
    tmp_path: Path, name: str, cpu: str, compiler: CompilerRow, assume: str
) -> None:
    if lacking(compiler):
        pytest.skip(lacking(compiler))
    path = example_models.mobilenet(tmp_path) if name == "mobilenet" else str(TRAINED / f"{name}.onnx")
    options = "--assume", assume, "--cmsis-nn", FOLDER, "--target", cpu, "--compiler", compiler.name
    (run,) = data(path, *options)["checks"]
    assert run["verdict"] == "agrees"
    told = [(layer["predicted"]["instructions"], layer["observed"]["instructions"]) for layer in run["layers"]]
    known = [(number, seen) for number, seen in told if number and seen > LONG]
    assert len(known) >= (4 if compiler is GCC else 0)
    for number, seen in known:
        assert number == pytest.approx(seen, rel=0.03)


@needs_tree
def test_packed_weights_and_no_buffer_take_the_predicted_kernels(tmp_path: Path) -> None:
    options = "--assume", "f32", "--cmsis-nn", FOLDER, "--target", "cortex-m4"
    network(tmp_path)
    path = str(tmp_path / "network.onnx")
    (packed,) = data(path, *options, "--float-weights", "packed")["checks"]
    assert packed["layers"][0]["observed"]["effective"] == "arm_nn_mat_mult_nt_n_packed_f32"
    (bare,) = data(path, *options, "--float-scratch", "none")["checks"]
    assert bare["layers"][0]["observed"]["effective"] == "arm_convolve_nhwc_f32"
    assert packed["agrees"]
    assert bare["agrees"]


@needs_tree
@pytest.mark.parametrize("kind", FLOAT.types)
@pytest.mark.parametrize(("cpu", "compiler"), [("cortex-m3", CLANG), ("cortex-m4", GCC), ("cortex-m55", CLANG)])
def test_every_hazard_is_seen(cpu: str, compiler: CompilerRow, kind: str) -> None:
    if lacking(compiler):
        pytest.skip(lacking(compiler))
    options = "--cmsis-nn", FOLDER, "--target", cpu, "--compiler", compiler.name, "--assume", kind
    done = check("hazards", *options)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(": confirmed: ") == len(float_hazards_on(parse_target(cpu, "main"), kind))
