"""The words of a verdict: what decides them, and what does not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onnxlint_cmsis.analysis.verdict import RUNS, WITHOUT, WORDS, TargetVerdict
from onnxlint_cmsis.analysis.verdict_text import lines_of
from onnxlint_cmsis.checks.rule import quantized_layer, stamped
from onnxlint_cmsis.checks.rule_registry import every_rule
from onnxlint_cmsis.cli.api import lint
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.ground.findings import Effect, Location, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.output.formats import render
from support.cli_fakes import a_run
from support.goldens import Told
from support.linter import linted
from support.models import text as model_text
from support.paths import SHARED
from support.tflite_steps import random_chain

ROW = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (int8[1, 4, 1, WIDTH] x) => (int8[N, C, H, W] y)
    <float s = {0.1}, int8 z = {0}, int8[8, 4, 1, 3] w = {1}> {
        a = DequantizeLinear(x, s, z)
        b = DequantizeLinear(w, s, z)
        [row] c = Conv<strides = [1, 2], pads = [0, 1, 0, 2]>(a, b)
        y = QuantizeLinear(c, s, z)
    }
"""
"""A layer whose values are wrong on Cortex-M55 alone."""
CURVE = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) {
        [curve] y = OPERATOR(x)
    }
"""
"""One layer that CMSIS-NN has no function for."""


def model(source: str, **words: object) -> bytes:
    for name, value in words.items():
        source = source.replace(name, str(value))
    data: bytes = model_text(source).SerializeToString()
    return data


def words(data: bytes, **settings: Any) -> list[str]:
    settings = {"targets": ["cortex-m4", "cortex-m55"], **settings}
    return [verdict.word for verdict in lint(data, **settings).verdicts]


def test_each_target_has_its_own_word() -> None:
    assert words(model(ROW, WIDTH=32)) == [RUNS, WORDS[Effect.WRONG]]


@pytest.mark.parametrize("hidden", [{"ignore": ["CNN303"]}, {"min_level": "error"}, {"select": ["CNN1"]}])
def test_no_word_depends_on_what_is_hidden(hidden: dict[str, Any]) -> None:
    assert words(model(ROW, WIDTH=32), **hidden) == [RUNS, WORDS[Effect.WRONG]]


def test_an_accepted_finding_changes_no_word_and_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    path, baseline = tmp_path / "m.onnx", tmp_path / "accepted.json"
    path.write_bytes(model(ROW, WIDTH=32))
    assert main(["--isolated", "--write-baseline", str(baseline), "--target", "cortex-m55", str(path)]) == 0
    capsys.readouterr()
    options = ["--isolated", "--baseline", str(baseline), "--target", "cortex-m55", str(path)]
    assert main(options) == 0
    told(" ".join(capsys.readouterr().out.split()))
    assert main([*options, "--output-format", "json"]) == 0
    (verdict,) = json.loads(capsys.readouterr().out)["files"][0]["verdicts"]
    assert (verdict["word"], verdict["accepted"]) == ("WRONG RESULTS", 1)


def test_a_size_that_is_not_known_leaves_the_word_open() -> None:
    assert words(model(ROW, WIDTH="W2")) == [WORDS[Effect.UNKNOWN]] * 2
    assert words(model(ROW, WIDTH="W2"), input_shapes={"x": [1, 4, 1, 32]}) == [RUNS, WORDS[Effect.WRONG]]


def test_sizes_that_may_make_it_worse_are_told_beside_the_word(told: Told) -> None:
    """A layer that is wrong in any size, and one that returns an error in some."""
    both = ROW.replace("int8[N, C, H, W] y", "int8[N, C, H, W] y, int8[A, B, D] q").replace(
        "int8[1, 4, 1, WIDTH] x", "int8[1, 4, 1, 32] x, int8[1, 8, WIDE] p"
    )
    both = both.replace("int8[8, 4, 1, 3] w = {1}", "int8[8, 4, 1, 3] w = {1}, int8[8, 8, 5] v = {1}")
    both = both.replace(
        "        y = Quantize",
        """        d = DequantizeLinear(p, s, z)
        e = DequantizeLinear(v, s, z)
        [second] f = Conv<pads = [3, 0]>(d, e)
        q = QuantizeLinear(f, s, z)
        y = Quantize""",
    )
    (verdict,) = lint(model(both, WIDE="W2"), targets=["cortex-m55"]).verdicts
    assert verdict.word == WORDS[Effect.WRONG]
    told(verdict.condition)
    (verdict,) = lint(model(both, WIDE=48), targets=["cortex-m55"]).verdicts
    assert verdict.word == WORDS[Effect.STOPS]


@pytest.mark.parametrize(("operator", "word"), [("Sigmoid", WITHOUT), ("Erf", WORDS[Effect.NO_KERNEL])])
def test_code_that_is_not_known_is_no_kernel_and_known_code_runs(operator: str, word: str) -> None:
    (verdict,) = lint(model(CURVE, OPERATOR=operator), targets=["cortex-m4"]).verdicts
    assert (verdict.word, verdict.layers) == (word, ("curve",))


def test_a_word_says_whether_any_layer_is_in_cmsis_nn(told: Told) -> None:
    some = CURVE.replace("OPERATOR(x)", "Sigmoid(x)\n        [pool] y = MaxPool<kernel_shape = [2, 2]>(c)").replace(
        "[curve] y", "[curve] c"
    )
    (partly,) = lint(model(some), targets=["cortex-m4"]).verdicts
    (none,) = lint(model(CURVE, OPERATOR="Sigmoid"), targets=["cortex-m4"]).verdicts
    assert (partly.word, none.word) == (WORDS[Effect.REFERENCE], WITHOUT)
    told(line.text({}) for verdict in (partly, none) for line in lines_of([verdict]))
    assert [line.verdicts for line in lines_of([none, partly])] == [(partly,), (none,)]


def test_what_leaves_the_word_open_is_a_warning_and_makes_the_exit_code_1(tmp_path: Path) -> None:
    """Exit code 0 says that it runs and is right, as far as nobody accepted a finding."""
    path = tmp_path / "m.onnx"
    wide = "c = Conv<pads = [1, 1, 1, 1]>(x, w)\n        [curve] y = Erf(c)"
    small = CURVE.replace("[curve] y = OPERATOR(x)", wide).replace(
        "float[1, 4, 8, 8] y)", "float[1, 4, 8, 8] y) <float[4, 4, 3, 3] w = {1}>"
    )
    for source in (model(small), model(ROW, WIDTH="W2")):
        path.write_bytes(source)
        assert main(["--isolated", "--target", "cortex-m4", "--ignore", "CNN201,CNN202", str(path)]) == 1


def test_what_decides_a_word_is_never_a_note() -> None:
    rules = [*every_rule()]
    assert rules
    for rule in rules:
        statement = Statement(
            "text", Location("m.onnx"), level=Level.NOTE, cause=rule.causes[0].key if rule.causes else ""
        )
        for effect in (None, Effect.UNKNOWN, Effect.STOPS):
            finding = stamped(rule, replace(statement, effect=effect))
            assert finding.level >= Level.WARNING or not finding.decides, rule.code
        assert rule.level >= Level.WARNING or not rule.effect.decides


REQUANTIZED = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {WEIGHTS}> {
        y = Conv(x, w)
    }
"""


@pytest.mark.parametrize(
    ("weights", "condition"),
    [
        (range(-8, 8), "as int8"),
        ([number + 0.5 for number in range(16)], "as int8, once quantized"),
        ([1] * 16, "as int8, once quantized"),
    ],
)
def test_a_model_whose_floats_are_integers_is_quantized_already(weights: Sequence[float], condition: str) -> None:
    given = model(REQUANTIZED, WEIGHTS=", ".join(map(str, weights)))
    assert lint(given, targets=["cortex-m4"]).verdicts[0].condition == condition
    runtime = lint(given, targets=["cortex-m4"], runtime="tflm").verdicts[0].condition
    assert runtime == (f"{condition} and converted" if "once" in condition else f"{condition}, once converted")


@pytest.mark.parametrize("operator", ["Relu", "Sigmoid", "Softmax"])
def test_a_model_in_float_says_what_it_has_to_become(operator: str, told: Told) -> None:
    given = model(CURVE, OPERATOR=operator)
    (direct,) = lint(given, targets=["cortex-m4"]).verdicts
    (runtime,) = lint(given, targets=["cortex-m4"], runtime="tflm").verdicts
    told([direct.condition, runtime.condition])


def test_layers_that_a_finding_below_names_are_counted() -> None:
    (line,) = lines_of([TargetVerdict("cortex-m4, x", WORDS[Effect.WRONG], ("a", "b"), ("CNN302", "CNN303"))])
    assert line.reason({}) == line.reason({}, {"CNN302"}) == "'a', 'b' (CNN302, CNN303)"
    assert line.reason({}, {"CNN302", "CNN303"}) == "2 layers (CNN302, CNN303)"


RESIZE = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (int8[1, 4, 8, 8] x, int64[4] m, float[4] d) => (int8[N, C, H, W] y)
    <float s = {0.1}, int8 z = {0}, float[4] f = {1, 1, 2, 2}, int64[4] n = {1, 4, 16, 16}> {
        a = DequantizeLinear(x, s, z)
        [grow] c = Resize<coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(OPERANDS)
        y = QuantizeLinear(c, s, z)
    }
"""
"""Twice as many rows and columns, where the operands say so."""


@pytest.mark.parametrize("operands", ["a, , f", "a, , , n"], ids=["scales", "sizes"])
def test_a_resize_to_a_known_size_runs(operands: str) -> None:
    assert words(model(RESIZE, OPERANDS=operands)) == [WITHOUT] * 2


@pytest.mark.parametrize("operands", ["a", "a, , ", "a, , d", "a, , , m"], ids=["none", "empty", "scales", "sizes"])
@pytest.mark.parametrize("runtime", ["direct", "tflm"])
def test_a_resize_without_sizes_is_unknown_and_says_what_to_do(operands: str, runtime: str) -> None:
    result = lint(model(RESIZE, OPERANDS=operands), targets=["cortex-m4"], runtime=runtime)
    assert [verdict.word for verdict in result.verdicts] == [WORDS[Effect.UNKNOWN]]
    (finding,) = [finding for finding in result.findings if finding.code == "CNN005"]
    assert "'grow'" in finding.message
    assert finding.remedy.startswith("Export it with constant sizes inside; ")


def test_too_little_memory_is_a_word() -> None:
    given = model(ROW, WIDTH=32)
    assert words(given, targets=["cortex-m4"], ram={"cortex-m4": "64"}) == [WORDS[Effect.DOES_NOT_FIT]]
    assert words(given, targets=["cortex-m4"], ram={"cortex-m4": "64K"}) == [RUNS]


def test_a_file_that_cannot_be_read_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"no model")
    assert main(["--isolated", "--target", "cortex-m4", str(path)]) == 2
    told(capsys.readouterr().out)


def test_equal_verdicts_share_a_line_with_figures_in_their_order(told: Told) -> None:
    figures = {"every": 3, "arena": 760, "arena_to_write": 768, "arena_exact": True, "flash": 1000}
    given = [
        TargetVerdict("cortex-m4, x", RUNS, instructions=(578_409, 578_409), **figures),
        TargetVerdict("cortex-m55, x", RUNS, instructions=(187_342, 212_000), unknown_cost=0, **figures),
        TargetVerdict("cortex-m0, x", WORDS[Effect.WRONG], ("conv",), ("CNN302",), **figures),
    ]
    lines = lines_of(given)
    told(line.text({"conv": "c"}) for line in lines)
    assert lines[1].brief_cost == "578k / <212k"


DEVICE = {"ram": 14_144, "ram_room": 65_536, "flash_room": 262_144, "fits": True}


@pytest.mark.parametrize(
    ("given", "memory"),
    [
        ({}, ", arena 14,144 bytes, flash 23,912 bytes + code"),
        (DEVICE, "; FITS: RAM 14,144 of 65,536, flash 23,912 of 262,144 + code"),
        ({**DEVICE, "fits": None}, ", RAM at least 14,144 of 65,536, flash 23,912 of 262,144 + code"),
        ({**DEVICE, "ram_room": None}, "; FITS: arena 14,144 bytes, flash 23,912 of 262,144 + code"),
        ({**DEVICE, "flash_room": None}, "; FITS: RAM 14,144 of 65,536, flash 23,912 bytes + code"),
        ({**DEVICE, "ram": None, "arena_to_write": None, "fits": None}, ", flash 23,912 of 262,144 + code"),
        (
            {**DEVICE, "word": WORDS[Effect.DOES_NOT_FIT], "fits": False},
            ", arena 14,144 bytes, flash 23,912 bytes + code",
        ),
    ],
)
def test_a_line_says_what_the_model_takes_of_a_device(given: dict[str, Any], memory: str) -> None:
    own = TargetVerdict("cortex-m4, x", RUNS, arena_to_write=14_144, arena_exact=True, flash=23_912)
    assert lines_of([own._replace(**given)])[0].text({}).partition("unknown")[2] == memory


def test_a_lower_bound_never_fits() -> None:
    """What a converter makes of a model takes more than is known before."""
    for runtime, fits in (("direct", True), ("tflm", None)):
        (verdict,) = lint(
            model(ROW, WIDTH=31), targets=["cortex-m4"], ram={"cortex-m4": "64K"}, runtime=runtime
        ).verdicts
        assert verdict.fits is fits


@pytest.mark.skipif(not SHARED.exists(), reason="needs the models in a folder `shared` beside the project")
@pytest.mark.parametrize(
    ("name", "arena", "flash"), [("siam_int8.tflite", 5_344, 12_944), ("gru_u_int8.tflite", 0, 33_968)]
)
def test_a_tflite_file_lies_in_flash_and_its_arena_is_the_size_to_write(name: str, arena: int, flash: int) -> None:
    """siam_int8.tflite does not start in the 5,332 bytes that it uses."""
    path = SHARED / "cases" / "users" / name
    assert flash == path.stat().st_size
    (verdict,) = lint(path, targets=["cortex-m4"], flash={"cortex-m4": str(flash)}).verdicts
    assert verdict.flash == flash
    assert verdict.fits is True
    assert verdict.arena_to_write is not None
    assert verdict.arena_to_write == arena or not arena
    room = {"cortex-m4": str(verdict.arena_to_write - 1)}
    (verdict,) = lint(path, targets=["cortex-m4"], ram=room).verdicts
    assert (verdict.word, verdict.fits) == (WORDS[Effect.DOES_NOT_FIT], False)


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (999, "999"), (1000, "1.00k"), (9_999, "10.0k"), (999_999, "1.00M"), (10**9, "1.00G")],
)
def test_instructions_have_three_digits(number: int, shown: str) -> None:
    verdict = TargetVerdict("cortex-m4, x", RUNS, instructions=(number, number), flash=0)
    assert lines_of([verdict])[0].brief_cost == shown


def test_a_folder_is_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("models").mkdir()
    for name, width in (("clean", 31), ("fails", 32)):
        Path("models", f"{name}.onnx").write_bytes(model(ROW, WIDTH=width))
    main(["--isolated", "--target", "cortex-m4,cortex-m55", "models"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["file", "in", "models", "verdict", "on", "cost", "arena", "flash"]
    assert lines[1][3] == "CNN303"
    assert [line[:3] for line in lines[1:4]] == [
        ["fails.onnx", "WRONG", "RESULTS,"], ["fails.onnx", "RUNS", "m4"], ["clean.onnx", "RUNS", "all"]
    ]  # fmt: skip


def test_a_path_from_the_root_may_stand_beside_one_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        (folder / "m.onnx").write_bytes(model(ROW, WIDTH=32))
    monkeypatch.chdir(here)
    assert main(["--isolated", "--target", "cortex-m4", "m.onnx", str(there / "m.onnx")]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if "RUNS" in line]
    assert names == ["m.onnx", str(there / "m.onnx")]


NEGATED = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
        [conv] c = Conv(x, w)
        [first] d = Neg(c)
        [pool] e = MaxPool<kernel_shape = [2, 2]>(d)
        [second] y = Neg(e)
    }
"""
"""Two of four layers have no kernel; 320 elements, each of which counts as 20 of 1,024 + 20 * 512 in all."""


def test_layers_without_a_kernel_are_counted_with_their_work(told: Told) -> None:
    """A layer that the application has to compute is known to be so: the word was UNKNOWN, which says the opposite."""
    result = lint(model(NEGATED), targets=["cortex-m4"])
    (verdict,) = result.verdicts
    assert (verdict.word, verdict.layers, verdict.every) == (WORDS[Effect.NO_KERNEL], ("first", "second"), 4)
    assert verdict.work is not None
    assert 0 < verdict.work < 1
    told([line.text({}) for line in lines_of(result.verdicts)])
    told([line.text({}, {"CNN190"}) for line in lines_of(result.verdicts)])
    (finding,) = result.findings
    assert finding.effect is Effect.NO_KERNEL


def test_what_a_converter_decides_stays_unknown() -> None:
    """The application writes no kernel behind an interpreter that reads another file."""
    result = lint(model(NEGATED.replace("Neg(", "Erf(")), targets=["cortex-m4"], runtime="tflm")
    assert [verdict.word for verdict in result.verdicts] == [WORDS[Effect.UNKNOWN]]


@pytest.mark.skipif(not SHARED.exists(), reason="needs the models in a folder `shared` beside the project")
def test_what_depends_on_the_compiler_may_fail() -> None:
    """Its sizes and costs are known, and versions of gcc that build it wrongly; which one builds it is not."""
    path = SHARED / "cases" / "tflite" / "d3_s4_c16.tflite"
    given: dict[str, Any] = {"targets": ["cortex-m55"]}
    assert [said.word for said in lint(path, **given).verdicts] == [WORDS[Effect.MAY_FAIL]]
    assert [said.word for said in lint(path, **given, compiler="gcc@12.2").verdicts] == [WORDS[Effect.WRONG]]


def test_a_board_answers_whether_it_runs_and_fits_how_long_it_takes_and_what_to_paste(told: Told) -> None:
    result = linted(random_chain(3), "m.tflite", board="nano-33-ble")
    (verdict,) = result.verdicts
    assert verdict.word.startswith("RUNS") and verdict.fits
    assert verdict.milliseconds is not None and verdict.time.endswith("ms at 64 MHz")
    assert result.application[0] == f"alignas(16) uint8_t tensor_arena[{verdict.arena_to_write}];"
    assert linted(random_chain(3), "m.tflite", targets=["cortex-m4"]).application == ()
    assert linted(random_chain(3), "m.tflite", board="nano-33-ble", clock="32MHz").verdicts[0].time.endswith("32 MHz")
    assert linted(random_chain(3), "m.tflite", board="nucleo-l452re").verdicts[0].time == ""
    told(render("full", a_run(result._replace(path="m.tflite"), width=80)))


def test_a_board_answers_the_same_of_several_models() -> None:
    """The table says what fits, and `-v` what to paste; `-q` neither."""
    files = [linted(random_chain(seed), f"{seed}.tflite", board="nano-33-ble") for seed in (3, 4)]
    large = linted(random_chain(5), "5.tflite", board="nano-33-ble", ram=64)
    rows = render("full", a_run(*files, large, width=80)).partition("\n\n")[0].splitlines()[1:]
    fitting = {row.split()[0]: "FITS" in row for row in rows}
    assert fitting == {"3.tflite": True, "4.tflite": True, "5.tflite": False}
    for more, told in (({}, False), ({"verbose": True}, True), ({"verbose": True, "quiet": True}, False)):
        text = render("full", a_run(*files, **more))
        lines = {line for file in files for line in file.application}
        assert len(lines) > 4
        assert {f"  {line}" in text.splitlines() for line in lines} == {told}


def test_a_board_tells_the_resolver_of_an_onnx_model_too() -> None:
    """Its arena is that of the converted file."""
    given: dict[str, Any] = {"board": "nano-33-ble", "runtime": "tflm"}
    pool = model(quantized_layer("c = MaxPool<kernel_shape = [2, 2]>(a)", "1, 4, 8, 8", "1, 4, 7, 7"))
    assert linted(pool, **given).application == (
        "tflite::MicroMutableOpResolver<1> resolver;",
        "resolver.AddMaxPool2D();",
        "// and what the converter adds: lint the converted file",
    )
    assert linted(pool, board="nano-33-ble").application == ()
