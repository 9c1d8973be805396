"""Layers in groups of channels, which `--fix` writes where RAM is named and a plan alone does not do."""

from __future__ import annotations

import random
import re
from importlib.util import find_spec
from itertools import product
from typing import Any

import pytest

from onnxlint_cmsis.formats.tflite.edit import TfliteEdit
from onnxlint_cmsis.formats.tflite.memory_plan import ONLINE, stated_plan
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.stated_plans import plan_faults
from support.expanding_nets import CODES, Net, expanding, net
from support.linter import fixed, linted
from support.nightly import one_of
from support.paths import SHARED
from support.targets import target_of
from support.tflite_models import tensor
from support.tflite_writer import operator_code, write
from support.tflm_agreement import REFERENCE
from support.tflm_runs import wheel_run

pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")

WHEEL = pytest.mark.skipif(find_spec("tflite_micro") is None, reason="needs PyPI's tflite-micro")
SHARED_MODELS = pytest.mark.skipif(not SHARED.exists(), reason="needs models in a folder `shared` beside the project")
M4 = {"targets": ["cortex-m4"]}
FIT = ("CNN601", "CNN602")


def operators_of(data: bytes) -> list[str]:
    return [operator.op for operator in read_tflite("m.tflite", data).subgraphs[0].operators]


def needed(data: bytes) -> int:
    """Bytes to write for the arena on a Cortex-M4."""
    (row,) = linted(data, "m.tflite", **M4).summary.targets
    assert row.arena_to_write is not None
    return row.arena_to_write


def check(data: bytes, ram: int, *, tiles: bool = True) -> bytes:
    """The fixed file: it fits, TensorFlow Lite Micro of PyPI computes the same with it, in the head that is told."""
    result, new = fixed(data, "m.tflite", **M4, ram=ram, fixable=["CNN604"])
    assert new is not None, result.reason
    assert (result.changed, result.certificate is not None) == (True, True)
    assert ("CONCATENATION" in operators_of(new)) == tiles == bool(result.added)
    (change,) = result.memory
    assert change.after == needed(new) <= ram < needed(data) == change.before
    model = read_tflite("m.tflite", new)
    assert not [*plan_faults(model)]
    if find_spec("tflite_micro"):
        before, after = wheel_run(data), wheel_run(new)
        assert before.outputs
        assert after.outputs == before.outputs
        arena = interpret(model, REFERENCE).arena
        assert arena is not None
        assert after.head == arena.head
    return new


def test_a_plan_alone_is_taken_where_it_does() -> None:
    data = expanding()
    fixed_alone, _ = fixed(data, "m.tflite", **M4, ram=needed(data), fixable=["CNN604"])
    assert not fixed_alone.added


def planned(data: bytes) -> bytes:
    """The model with a memory plan that leaves all tensors to the interpreter."""
    edit = TfliteEdit("m.tflite", data)
    edit.set_plan([ONLINE for graph in edit.model.subgraphs for _ in graph.tensors])
    return edit.data()


def test_a_file_that_brings_a_plan_along_is_cut_too() -> None:
    data = planned(expanding())
    ram = int(needed(data) * 0.8)
    assert needed(check(data, ram)) == needed(check(expanding(), ram))
    check_remedy(data, ram)


def test_weights_of_several_layers_are_cut_for_one() -> None:
    mobile = Net(5)
    source = mobile.activation([1, 24, 24, 4])
    narrow = mobile.convolution(mobile.depthwise(mobile.convolution(source, 24), 2, 1, "SAME"), 4)
    mobile.tensors[narrow]["quantization"] = mobile.tensors[source]["quantization"]
    first = mobile.operators[0]
    wide = mobile.scaled_as(first["outputs"][0], [1, 12, 12, 24])
    mobile.operator("CONV_2D", [narrow, *first["inputs"][1:]], wide, first["builtin_options"])
    data = write(mobile.model(mobile.convolution(mobile.depthwise(wide, 2, 1, "SAME"), 4)))
    check(data, int(needed(data) * 0.8))


@pytest.mark.parametrize("kind", ["INT8", "INT16"])
def test_the_fewest_groups_that_fit_are_written(kind: str) -> None:
    data = expanding(kind)
    whole, joins = needed(data), []
    for share in (0.85, 0.7):
        new = check(data, int(whole * share))
        (join,) = (op for op in read_tflite("m.tflite", new).subgraphs[0].operators if op.op == "CONCATENATION")
        joins.append(len(join.inputs))
    assert joins == sorted(joins)
    assert joins[-1] <= 10


@pytest.mark.parametrize("more", one_of(2, [{"kernel": (5, 1)}, {"kernel": (2, 3)}, {"stride": 3}, {"seed": 11}]))
def test_strides_and_windows(more: dict[str, Any]) -> None:
    data = expanding(**more)
    check(data, int(needed(data) * 0.9))


def test_what_is_joined_to_the_size_that_it_had_goes_in_bands_of_rows() -> None:
    data = expanding(stride=1)
    result, new = fixed(data, "m.tflite", **M4, ram=int(needed(data) * 0.9), fixable=["CNN604"])
    assert new is not None
    (clause,) = result.added
    assert "bands of rows" in clause


def test_dilation() -> None:
    mobile = Net(12)
    wide = mobile.convolution(mobile.convolution(mobile.activation([1, 24, 24, 3]), 4, 3), 24)
    data = write(mobile.model(mobile.convolution(mobile.pool(mobile.depthwise(wide, 1, 2, "SAME")), 4)))
    check(data, int(needed(data) * 0.8))


def blocks(*calls: str, size: tuple[int, int] = (24, 24)) -> bytes:
    """A block between two layers."""
    mobile = Net(3)
    first = mobile.convolution(mobile.activation([1, *size, 3]), 4, 3)
    last = mobile.convolution(first, 24)
    for call in calls:
        last = {
            "pad": mobile.padded, "pool": mobile.pool, "depthwise": lambda x: mobile.depthwise(x, 2, 1, "VALID"),
        }[call](last)  # fmt: skip
    last = mobile.convolution(last, 4)
    return write(mobile.model(last))


@pytest.mark.parametrize(
    "calls", one_of(2, [["pad", "depthwise", "pool"], ["pad", "depthwise"], ["depthwise", "pool"]])
)
def test_a_pad_in_front_and_a_pool_behind_go_along(calls: list[str]) -> None:
    data = blocks(*calls)
    assert calls[0] == "pad" or operators_of(data).count("PAD") == 0
    check(data, int(needed(data) * 0.8))


def test_odd_sizes_and_a_residual() -> None:
    mobile = Net(8)
    first = mobile.convolution(mobile.activation([1, 23, 17, 3]), 6, 3)
    narrow = mobile.convolution(mobile.depthwise(mobile.convolution(first, 30), 1, 1, "SAME"), 6)
    last = mobile.operator("ADD", [narrow, first], mobile.activation([1, 23, 17, 6]), ("AddOptions", {}))
    wide = mobile.convolution(last, 72)
    data = write(mobile.model(mobile.convolution(mobile.depthwise(wide, 2, 1, "SAME"), 6)))
    check(data, int(needed(data) * 0.9))


def test_a_row() -> None:
    mobile = Net(9)
    first = mobile.convolution(mobile.activation([1, 1, 512, 2]), 4)
    wide = mobile.convolution(first, 16)
    data = write(mobile.model(mobile.convolution(mobile.depthwise(wide, 2, 1, "SAME", (1, 3)), 4)))
    check(data, int(needed(data) * 0.9))


def test_uint8_in_front() -> None:
    mobile = Net(4)
    raw = mobile.activation([1, 24, 24, 3], "UINT8")
    data_in = mobile.operator("QUANTIZE", [raw], mobile.activation([1, 24, 24, 3]))
    wide = mobile.convolution(mobile.convolution(data_in, 4, 3), 24)
    data = write(mobile.model(mobile.convolution(mobile.depthwise(wide, 2, 1, "SAME"), 4)))
    check(data, int(needed(data) * 0.8))


def test_two_subgraphs() -> None:
    mobile = Net(2)
    first = mobile.convolution(mobile.activation([1, 24, 24, 3]), 4, 3)
    last = mobile.convolution(mobile.depthwise(mobile.convolution(first, 24), 2, 1, "SAME"), 4)
    model = mobile.model(last)
    model["operator_codes"].append(operator_code("CALL_ONCE"))
    options = ("CallOnceOptions", {"init_subgraph_index": 1})
    model["subgraphs"][0]["operators"].insert(0, {"opcode_index": len(CODES), "builtin_options": options})
    inner = {"tensors": [tensor("i", [1, 8]), tensor("o", [1, 8])], "inputs": [0], "outputs": [1]}
    inner["operators"] = [{"opcode_index": 7, "inputs": [0], "outputs": [1]}]
    model["subgraphs"].append(inner)
    data = write(model)
    check(data, int(needed(data) * 0.8))


@pytest.mark.parametrize("reader", ["twice", "output"])
def test_a_map_that_is_read_elsewhere_stays_whole(reader: str) -> None:
    mobile = Net(6)
    wide = mobile.convolution(mobile.convolution(mobile.activation([1, 24, 24, 3]), 4, 3), 24)
    last = mobile.convolution(mobile.depthwise(wide, 2, 1, "SAME"), 4)
    model = mobile.model(last)
    if reader == "output":
        model["subgraphs"][0]["outputs"] = [last, wide]
    else:
        other = mobile.convolution(wide, 4)
        model["subgraphs"][0]["outputs"] = [last, other]
    data = write(model)
    result, new = fixed(data, "m.tflite", **M4, ram=needed(data) // 2, fixable=["CNN604"])
    assert not result.added
    assert new is None or "CONCATENATION" not in operators_of(new)


def test_the_least_is_told_where_nothing_fits() -> None:
    result, _ = fixed(expanding(), "m.tflite", **M4, ram=1024, fixable=["CNN604"])
    assert not result.added
    (note,) = result.notes
    assert "it does not fit: with" in note
    assert "the least that was found" in note


def test_the_finding_names_what_fits_and_what_to_register() -> None:
    data = expanding()
    ram = int(needed(data) * 0.8)
    (finding,) = (row for row in linted(data, "m.tflite", **M4, ram=ram).findings if row.code == "CNN601")
    result, new = fixed(data, "m.tflite", **M4, ram=ram, fixable=["CNN604"])
    assert new is not None
    assert finding.properties["exact_after"] == result.memory[0].after == needed(new)
    assert "AddConcatenation()" in finding.remedy
    assert any("AddConcatenation()" in note for note in result.notes)


def check_remedy(data: bytes, ram: int) -> None:
    """A fix reaches what the finding says, in the way that it says, and asks for the operators that it names."""
    (finding,) = (row for row in linted(data, "m.tflite", **M4, ram=ram).findings if row.code == "CNN601")
    result, new = fixed(data, "m.tflite", **M4, ram=ram)
    if finding.properties.get("exact_after", ram + 1) <= ram:
        assert new is not None, result.reason
        assert needed(new) == finding.properties["exact_after"]
        assert "--fix writes it after proof" in finding.remedy
        registered = [set(re.findall(r"Add\w+\(\)", text)) for text in (finding.remedy, " ".join(result.notes))]
        assert registered[0] == registered[1]
        assert set(re.findall(r"\S+\.\.\S+", str(finding.properties["exact"]))) == {
            clause.split()[0] for clause in result.added
        }
    else:
        assert "--fix writes" not in finding.remedy
        assert new is None or needed(new) > ram


@pytest.mark.parametrize("seed", one_of(6, range(12)))
def test_the_finding_names_the_size_that_the_fix_reaches(seed: int) -> None:
    data = net(seed)
    check_remedy(data, int(needed(data) * random.Random(seed).choice([0.5, 0.7, 0.85])))


MODELS = (
    "person_detect", "vww_96_int8", "pretrainedResnet_quant", "fomo_face_detection", "yolo_lc_192",
    "blazeface_front_128", "kws_ref_model", "ad01_int8", "micro_speech_quantized", "keyword_scrambled_8bit",
    "hello_world_int8", "trained_lstm_int8",
)  # fmt: skip


@SHARED_MODELS
@pytest.mark.parametrize(("name", "share"), one_of(48, product(MODELS, (0.95, 0.8, 0.65, 0.4))))
def test_the_finding_on_a_model_of_others_names_what_the_fix_does(name: str, share: float) -> None:
    data = (SHARED / "models" / "tflite" / f"{name}.tflite").read_bytes()
    check_remedy(data, int(needed(data) * share))


@pytest.mark.parametrize(("changed", "shape"), [("w", []), ("w", [4]), ("v", []), ("z", [])])
def test_a_shape_without_channels_is_cut_nowhere(changed: str, shape: list[int]) -> None:
    """CONV_2D and DEPTHWISE_CONV_2D, of which weights or a result have lost their axes."""
    shapes = {"x": [1, 8, 8, 4], "w": [4, 1, 1, 4], "y": [1, 8, 8, 4], "v": [1, 1, 1, 4], "z": [1, 8, 8, 4]}
    shapes[changed] = shape
    tensors = [tensor(name, size, buffer=int(name in "wv")) for name, size in shapes.items()]
    options = ({"stride_w": 1, "stride_h": 1}, {"stride_w": 1, "stride_h": 1, "depth_multiplier": 1})
    operators = [
        {"opcode_index": 0, "inputs": [0, 1], "outputs": [2], "builtin_options": ("Conv2DOptions", options[0])},
        {
            "opcode_index": 1,
            "inputs": [2, 3],
            "outputs": [4],
            "builtin_options": ("DepthwiseConv2DOptions", options[1]),
        },
    ]
    graph = {"tensors": tensors, "inputs": [0], "outputs": [4], "operators": operators}
    codes = [operator_code("CONV_2D"), operator_code("DEPTHWISE_CONV_2D")]
    data = write({"version": 3, "operator_codes": codes, "subgraphs": [graph], "buffers": [{}, {"data": [1] * 16}]})
    assert linted(data, "m.tflite", **M4, ram=300).findings
    assert not fixed(data, "m.tflite", **M4, ram=300).result.added


def planned_better() -> bytes:
    """A model of which a build with checks halts; a memory plan takes less, and no tiles are looked for there."""
    tensors = [tensor(f"t{number}", [1, size]) for number, size in enumerate((512, 512, 512, 256))]
    operators = [{"opcode_index": 0, "inputs": [number], "outputs": [number + 1]} for number in range(3)]
    graph = {"tensors": tensors, "inputs": [0], "outputs": [3], "operators": operators}
    return write({"version": 3, "operator_codes": [operator_code("RELU")], "subgraphs": [graph], "buffers": [{}]})


def test_the_finding_names_a_plan_for_a_model_that_a_build_with_checks_halts() -> None:
    (finding,) = (row for row in linted(planned_better(), "m.tflite", **M4, ram=1300).findings if row.code == "CNN601")
    assert finding.properties["exact_after"] == 1280
    assert "With a memory plan it computes the same, needs 1,280 and fits." in finding.message


def test_a_plan_is_written_where_flash_has_no_room_anyway() -> None:
    room = {"ram": 1300, "flash": 64}
    fix = fixed(planned_better(), "m.tflite", **M4, **room)
    assert fix.result.memory
    assert fix.model is not None
    assert len(fix.model) > len(planned_better())
    assert not [note for note in linted(planned_better(), "m.tflite", **M4, **room).notes if "--fix leaves" in note]


@SHARED_MODELS
def test_the_finding_counts_dead_channels_that_go_first() -> None:
    data = (SHARED / "models/tflite/vww_96_int8.tflite").read_bytes()
    findings = linted(data, "m.tflite", **M4, ram=64 << 10, flash=96 << 10).findings
    ways = {row.code: (row.properties["exact_after"], row.remedy) for row in findings if row.code in FIT}
    assert ways["CNN601"] == (60_080, "--fix writes it after proof; register AddConcatenation() in the application.")
    assert ways["CNN602"] == (91_052, "--fix writes it after proof; register AddConcatenation() in the application.")


@SHARED_MODELS
def test_channels_of_a_file_that_brings_a_plan_along_go_and_the_plan_is_made_anew() -> None:
    data = planned((SHARED / "models/tflite/vww_96_int8.tflite").read_bytes())
    result, new = fixed(data, "m.tflite", **M4)
    assert new is not None, result.reason
    assert stated_plan(read_tflite("m.tflite", new)) is not None
    assert (result.memory[0].before, result.memory[0].after) == (100_720, 68_784)


@SHARED_MODELS
def test_no_size_is_told_of_a_smaller_model_that_is_not_known_to_be_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxlint_cmsis.fixers.fit_promise.certificate_of", lambda *_: None)
    data = (SHARED / "models/tflite/vww_96_int8.tflite").read_bytes()
    findings = linted(data, "m.tflite", **M4, ram=64 << 10, flash=96 << 10).findings
    ways = {row.code: row.properties.get("exact_after") for row in findings if row.code in FIT}
    assert ways == dict.fromkeys(FIT)


def test_nothing_is_promised_of_one_target_that_another_has_no_room_for() -> None:
    data, targets = expanding(), ["cortex-m4", "cortex-m55"]
    (note,) = fixed(data, "m.tflite", targets=targets, ram=1024, fixable=["CNN604"]).result.notes
    largest = int(note.split(" bytes, the least")[0].rsplit(" ", 1)[-1].replace(",", ""))
    settings = {"targets": targets, "ram": largest - 16, "fixable": ["CNN604"]}
    findings = [row for row in linted(data, "m.tflite", **settings).findings if row.code == "CNN601"]
    result, new = fixed(data, "m.tflite", **settings)
    assert len(findings) == 2
    assert not result.added
    reached = [row.arena_to_write for row in linted(new or data, "m.tflite", **settings).summary.targets]
    told = [row.properties.get("exact_after", 0) for row in findings if "--fix writes it" in row.remedy]
    assert set(told) <= {*reached}


@WHEEL
@pytest.mark.parametrize("seed", one_of(6, range(3, 15)))
def test_random_nets_compute_the_same(seed: int) -> None:
    data = net(seed)
    share = random.Random(seed).choice([0.5, 0.7, 0.85])
    result, new = fixed(data, "m.tflite", **M4, ram=int(needed(data) * share), fixable=["CNN604"])
    if new is not None:
        assert result.certificate is not None
        assert wheel_run(new).outputs == wheel_run(data).outputs != ()
    else:
        assert result.notes or result.reason


@SHARED_MODELS
@pytest.mark.parametrize(
    ("name", "ram", "used"),
    [("vww_96_int8", 75_000, 73_572), ("person_detect", 65_536, 64_916), ("fomo_face_detection", 98_304, 88_308)],
)
def test_models_of_others_fit(name: str, ram: int, used: int) -> None:
    data = (SHARED / "models" / "tflite" / f"{name}.tflite").read_bytes()
    new = check(data, ram)
    assert stated_plan(read_tflite("m.tflite", new)) is not None or name == "person_detect"
    arena = interpret(
        read_tflite("m.tflite", new), REFERENCE._replace(target=target_of("cortex-m4", "main"), with_cmsis_nn=True)
    ).arena
    assert arena is not None
    assert arena.used == used


@SHARED_MODELS
def test_a_model_that_is_made_smaller_and_cut_fits_half_of_what_it_took() -> None:
    data = (SHARED / "models" / "tflite" / "vww_96_int8.tflite").read_bytes()
    result, new = fixed(data, "m.tflite", **M4, ram=65_536)
    assert new is not None, result.reason
    assert needed(new) == 60_080
    assert wheel_run(new, 2).outputs == wheel_run(data, 2).outputs
