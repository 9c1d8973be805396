"""`.pte` programs as firmware: their calls with the buffers that the file plans, outputs against plain integers."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from firmware_check.errors import FirmwareError
from firmware_check.executorch import IntegerReference, executorch_program
from firmware_check.library import Library, open_library
from firmware_check.opening import Options, open_model
from onnxlint_cmsis.cmsis_nn.releases import holds
from onnxlint_cmsis.formats.pte.to_graph import load_pte
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.runtimes.executorch.kernels import KERNELS
from support import paths
from support.firmware_runs import check, data, needs_firmware
from support.goldens import Told
from support.pte_programs import random_program
from support.pte_writer import PteWriter, bundle

sys.path.insert(0, str(paths.ROOT / "scripts"))
from model_mutations import mutated

WHOLE = os.environ.get("ONNXLINT_CMSIS_NN", "")
"""A whole checkout of CMSIS-NN; without one the part of 4.0.0 that bakenn carries does."""
LIBRARY = ["--cmsis-nn", WHOLE] if WHOLE else []
FIRST = "7.0.0"
"""Release that brought the last of the functions that programs call."""
needs_whole = pytest.mark.skipif(
    not (WHOLE and holds(FIRST, "", open_library(WHOLE).release)),
    reason=f"ONNXLINT_CMSIS_NN names no whole checkout of CMSIS-NN {FIRST} or later, as programs call its functions",
)
CORES = ("cortex-m55", "cortex-m4", "cortex-m3")
CASES = sorted((paths.SHARED / "cases" / "pte").glob("*.pte"))


def written(writer: PteWriter, folder: Path) -> str:
    path = folder / "model.pte"
    path.write_bytes(writer.data())
    return str(path)


def pointwise(scratch: int) -> PteWriter:
    """A depthwise convolution 1x1 of 64 channels, with so many bytes of scratch."""
    writer = PteWriter()
    source = writer.image(1, 64, 5, 5)
    writer.inputs.append(source)
    writer.outputs.append(writer.depthwise(source, (1, 64, 5, 5), (1, 64, 5, 5), 1, scratch))
    return writer


def test_every_operator_of_the_backend_becomes_a_layer(told: Told) -> None:
    library = open_library(WHOLE)
    loaded = load_pte("p.pte", data=random_program(777, Isa.MVE, 60).data())
    program = executorch_program(loaded, library)
    functions = {kernels[-1].function for kernels in KERNELS.values() if library.has(kernels[-1].function)}
    if not library.since("7.0.0"):
        functions.remove("arm_fully_connected_s8")  # whose kernel sums held no bias
    assert {step.function for step in program.steps} == functions
    told(sorted({reason for label, reason in program.foreign if label.startswith("Ethos")}))
    assert any("computes it in float32" in reason for _, reason in program.foreign)


def test_the_reference_computes_what_was_worked_out_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "has", lambda *_: True)
    writer = PteWriter()
    image, channels = writer.image(1, 2, 1, 2), writer.image(1, 2, 1, 1)
    writer.inputs += [channels, image]
    numbers = [(0, 1 << 30, 0), (0, 1 << 30, 0), (3, 1 << 30, -19)]  # each operand times a half, the sum times 2^-20
    add = [(channels,), *numbers[0], (image,), *numbers[1], *numbers[2], -128, 20]
    writer.outputs.append(writer.call("cortex_m::quantized_add.out", *add, out=writer.image(1, 2, 1, 2)))
    loaded = load_pte("p.pte", data=writer.data())
    program = executorch_program(loaded, open_library(""))
    small, large = (loaded.keys[0, value] for value in (channels, image))
    inputs = {small: np.array([[[[10, -20]]]], np.int8), large: np.array([[[[1, 2], [60, 127]]]], np.int8)}
    reference = IntegerReference(loaded, program)
    (result,) = reference.tensors([program.steps[0].output.tensor], inputs).values()
    assert result.reshape(-1).tolist() == [9, -6, 20, 20]  # 5.5 + 3, -9 + 3, and two that the limits cut


def test_a_padding_is_read_with_its_amounts_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "has", lambda *_: True)
    writer = PteWriter()
    image = writer.image(1, 2, 1, 2)
    writer.inputs.append(image)
    amounts = ([0, 1, 0, 1], [0, 0, 0, 0])  # a row above, a channel in front
    writer.outputs.append(writer.call("cortex_m::pad.out", (image,), *amounts, -7, out=writer.image(1, 3, 2, 2)))
    loaded = load_pte("p.pte", data=writer.data())
    program = executorch_program(loaded, open_library(""))
    inputs = {loaded.keys[0, image]: np.array([[[[1, 2], [3, 4]]]], np.int8)}
    (result,) = IntegerReference(loaded, program).tensors([program.steps[0].output.tensor], inputs).values()
    assert result.reshape(-1).tolist() == [-7] * 6 + [-7, 1, 2, -7, 3, 4]


def floats_around_a_sum() -> PteWriter:
    """A float image, quantized, turned to channels last, added to itself, and back."""
    writer = PteWriter()
    sizes, scale = (1, 2, 1, 2), (0.5, 3, -128, 127, 1)
    given, turned = writer.tensor("float32", sizes), writer.image(*sizes)
    whole, sums, plain = writer.tensor("int8", sizes), writer.image(*sizes), writer.tensor("int8", sizes)
    result = writer.tensor("float32", sizes)
    writer.inputs.append(given)
    writer.call("cortex_m::quantize_per_tensor.out", (given,), *scale, out=whole)
    writer.call("dim_order_ops::_clone_dim_order.out", (whole,), False, [0, 2, 3, 1], out=turned)
    half = (3, 1 << 30, 0)
    add = [(turned,), *half, (turned,), *half, 3, 1 << 30, -19, -128, 127]
    writer.call("cortex_m::quantized_add.out", *add, out=sums)
    writer.call("dim_order_ops::_clone_dim_order.out", (sums,), False, [0, 1, 2, 3], out=plain)
    writer.outputs.append(writer.call("cortex_m::dequantize_per_tensor.out", (plain,), *scale, out=result))
    return writer


GIVEN = np.array([[[[1.0, 2.25]], [[-3.0, 90.0]]]], np.float32)
"""In steps of 0.5: 2, 4.5, -6 and 180, of which int8 holds 124 above the zero-point 3."""
EXPECTED = np.array([[[[1.0, 2.0]], [[-3.0, 62.0]]]], np.float32)


def bundled(writer: PteWriter, folder: Path, *cases: tuple[list, list]) -> str:
    path = folder / "model.bpte"
    path.write_bytes(bundle(writer.data(), *cases))
    return str(path)


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (EXPECTED, "output 0, computed on the host, equals what is expected, 4 elements"),
        (EXPECTED + 0.5, "differs from what is expected in 4 of 4 elements, by up to 0.5"),
    ],
)
def test_expected_outputs_of_a_bundle_are_the_reference(
    expected: np.ndarray, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Library, "has", lambda *_: True)
    path = bundled(floats_around_a_sum(), tmp_path, ([GIVEN], [expected]))
    model = open_model(path, open_library(""), Options({}), tmp_path)
    (remark,) = model.remarks
    assert remark.startswith("the test case of method 'forward' in the bundle (1)")
    assert said in remark
    (inputs,) = model.reference.random_inputs(0, 1, {})
    (turned,) = {tuple(values.reshape(-1).tolist()) for values in inputs.values()}
    assert turned == (5, -3, 7, 127)  # channels last: 2 + 3, -6 + 3, round(4.5) + 3 to even, and the limit


def test_what_the_host_does_not_compute_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "has", lambda *_: True)
    writer = floats_around_a_sum()
    result = writer.tensor("float32", (1, 2, 1, 2))
    writer.outputs = [writer.call("aten::sin.out", (writer.outputs[0],), out=result)]
    path = bundled(writer, tmp_path, ([GIVEN], [EXPECTED]))
    (remark,) = open_model(path, open_library(""), Options({}), tmp_path).remarks
    assert "outputs are not compared: sin#5 is not computed on the host: portable code" in remark


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (([GIVEN, GIVEN], []), "2 inputs for the 1 of method 'forward'"),
        (([GIVEN.astype(np.float64)], []), "float64 of sizes [1, 2, 1, 2] for float32"),
        (([GIVEN], [EXPECTED[0]]), "float32 of sizes [2, 1, 2] for float32 of sizes [1, 2, 1, 2]"),
    ],
)
def test_a_test_case_that_does_not_fit_is_refused(
    case: tuple[list, list], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Library, "has", lambda *_: True)
    path = bundled(floats_around_a_sum(), tmp_path, case)
    with pytest.raises(FirmwareError, match=r"model\.bpte: a test case has .*" + said.replace("[", r"\[")):
        open_model(path, open_library(""), Options({}), tmp_path)


@needs_firmware
def test_a_bundle_runs_on_its_own_inputs(tmp_path: Path) -> None:
    writer = pointwise(496)
    chance = np.random.default_rng(1)
    given = chance.integers(-128, 128, (1, 64, 5, 5)).astype(np.int8)
    path = bundled(writer, tmp_path, ([given], [np.zeros((1, 64, 5, 5), np.int8)]))
    report = data(path, *LIBRARY, "--target", "cortex-m4")
    (checked,) = report["checks"]
    assert checked["verdict"] == "agrees"
    (remark,) = checked["remarks"]
    assert "differs from what is expected in" in remark


def test_damaged_programs_end_in_a_sentence_or_a_program(tmp_path: Path) -> None:
    chance, library = random.Random(5), open_library(WHOLE)
    sound = [random_program(seed, isa, 12).data() for seed in (1, 2, 3) for isa in Isa]
    ends = {True: 0, False: 0}
    for number in range(300):
        path = tmp_path / "model.pte"
        path.write_bytes(mutated(chance.choice(sound), chance, "both"))
        try:
            model = open_model(str(path), library, Options({}), tmp_path)
            inputs = model.reference.random_inputs(number, 1, {})[0]
            outputs = [step.output.tensor for step in model.program.steps]
            assert model.reference.tensors(outputs, inputs).keys() == {*outputs}
        except FirmwareError as error:
            assert str(path) in str(error) or "numbers" in str(error)
            ends[False] += 1
        else:
            ends[True] += 1
    assert min(ends.values()) > 10


@pytest.mark.parametrize(("given", "results"), [(7, 8), (12, 8), (16, 3)])
def test_a_convolution_whose_weights_do_not_have_the_channels_of_its_input(
    given: int, results: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights for 8 channels: no groups of 7, one and a half of 12, two of 16 for three results."""
    monkeypatch.setattr(Library, "has", lambda *_: True)
    writer = PteWriter()
    writer.inputs.append(writer.image(1, given, 5, 5))
    writer.outputs.append(writer.convolution(writer.inputs[0], (1, 8, 5, 5), (1, results, 5, 5), 1, 128))
    told = rf"its input of \[1, 5, 5, {given}\] does not fit its weights of \[{results}, 1, 1, 8\]"
    with pytest.raises(FirmwareError, match=told):
        open_model(written(writer, tmp_path), open_library(WHOLE), Options({}), tmp_path)


def test_damaged_bundles_end_in_a_sentence_or_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "has", lambda *_: True)
    chance, library, path = random.Random(6), open_library(WHOLE), tmp_path / "model.bpte"
    sound = bundle(floats_around_a_sum().data(), ([GIVEN], [EXPECTED]), ([GIVEN], []))
    ends = {True: 0, False: 0}
    for _ in range(300):
        path.write_bytes(mutated(sound, chance, "both"))
        try:
            model = open_model(str(path), library, Options({}), tmp_path)
            assert model.reference.random_inputs(0, 2, {})
        except FirmwareError as error:
            assert str(path) in str(error)
            ends[False] += 1
        else:
            ends[True] += 1
    assert min(ends.values()) > 10


def test_sizes_of_inputs_are_those_of_the_file(tmp_path: Path, told: Told) -> None:
    done = check(written(pointwise(0), tmp_path), "--input-shape", "x=1", "--target", "cortex-m4")
    assert done.returncode == 2
    told(done.stderr)


@needs_firmware
def test_calls_equal_the_reference_bit_for_bit_and_show_what_a_plan_does(tmp_path: Path, told: Told) -> None:
    path = written(pointwise(128), tmp_path)  # as it is planned for DSP
    report = data(path, *LIBRARY, "--target", "cortex-m55", "--target", "cortex-m4", code=1)
    on_mve, on_dsp = report["checks"]
    assert all(check["agrees"] for check in report["checks"])
    assert [check["verdict"] == "agrees" for check in report["checks"]] == [False, True]
    ((defect,),) = [layer["defects"] for layer in on_mve["layers"]]
    assert defect["code"] == "CNN402[overrun]"
    told(defect["text"])
    (layer,) = on_dsp["layers"]
    assert (layer["differences"]["count"], layer["observed"]["scratch"]) == (0, [128, 0])


@needs_whole
@needs_firmware
@pytest.mark.skipif(not CASES, reason="the programs with known truth are not beside the project")
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_is_said_of_a_plan_is_seen_on_each_other_core(path: Path) -> None:
    """Values, status, bytes behind scratch and near address 0: each is as the linter says, or the check disagrees."""
    others = [core for core in CORES if core.replace("cortex-", "") != path.stem.rpartition("_")[2]]
    done = check(str(path), *LIBRARY, *(word for core in others for word in ("--target", core)), "--json", "-")
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert [checked["verdict"].partition(",")[0] for checked in report["checks"]] == ["agrees"] * len(others)


@needs_whole
@needs_firmware
@pytest.mark.parametrize("isa", Isa, ids=lambda isa: isa.value)
def test_every_operator_runs_as_predicted_on_every_core(isa: Isa, tmp_path: Path) -> None:
    path = written(random_program(777, isa, 60), tmp_path)
    cores = [word for core in CORES for word in ("--target", core)]
    report = data(path, *LIBRARY, *cores, code=1)  # a plan fits one core, and main has a defect on MVE
    assert [checked["verdict"].partition(",")[0] for checked in report["checks"]] == ["agrees"] * len(CORES)
    planned = [
        any(defect["code"].endswith("[plan]") for layer in checked["layers"] for defect in layer["defects"])
        for checked in report["checks"]
    ]
    assert planned[(Isa.MVE, Isa.DSP, Isa.SCALAR).index(isa)] is False
    assert any(planned)
