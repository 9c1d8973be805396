"""Firmware in a run: images as paths, `--firmware` beside models, what is set against what an image tells."""

from __future__ import annotations

import json
import re
import struct
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.images.build import Build, build_from
from support.elf_writer import ElfSection, ElfSymbol, Function, archive, placed
from support.firmware_images import (
    APPLICATION,
    FLASH,
    M4,
    M55,
    MODEL,
    RAM,
    REGISTER_CONV,
    REGISTER_SOFTMAX,
    firmware,
    registering,
    with_library,
    with_tensors,
)
from support.rule_examples import FILES, SLOW
from support.tflite_models import conv_model
from support.tflite_writer import write


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Lint; the exit code and the JSON report."""
    code = main(["--isolated", "--output-format", "json", *words])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, report


def codes(report: Mapping[str, Any]) -> list[str]:
    """Codes of the findings."""
    return [finding["code"] for finding in report["findings"]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with a sound image."""
    monkeypatch.chdir(tmp_path)
    Path("app.elf").write_bytes(firmware())


def test_the_models_of_an_image_are_judged_for_its_build(capsys: pytest.CaptureFixture[str]) -> None:
    _, report = run(capsys, "app.elf")
    assert [file["path"] for file in report["files"]] == ["app.elf::g_model.tflite", "app.elf"]
    assert all(
        "cortex-m4" in verdict["target"] and "gcc@12.2" in verdict["target"]
        for verdict in report["files"][0]["verdicts"]
    )


def test_every_release_that_an_image_can_be_of_is_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    _, report = run(capsys, "app.elf")
    releases = [verdict["target"].split("CMSIS-NN ")[1].split(",")[0] for verdict in report["files"][0]["verdicts"]]
    assert len(releases) > 1
    assert len(run(capsys, "app.elf", "--release", "6.0.0")[1]["files"][0]["verdicts"]) == 1


def test_an_image_without_cmsis_nn_is_judged_for_reference_code(capsys: pytest.CaptureFixture[str]) -> None:
    Path("app.elf").write_bytes(firmware(APPLICATION))
    _, report = run(capsys, "app.elf")
    assert "CNN702" in codes(report)
    assert {verdict["word"] for verdict in report["files"][0]["verdicts"]} == {"RUNS, without CMSIS-NN"}


def test_each_image_stands_behind_its_models_and_counts_as_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("slow.elf").write_bytes(firmware(APPLICATION))
    Path("stops.elf").write_bytes(firmware(registering()))
    assert main(["--isolated", "app.elf", "slow.elf", "stops.elf"]) == 1
    text = capsys.readouterr().out
    heads = [line for line in text.splitlines() if re.fullmatch(r"\w+\.elf(::\w+\.tflite)?", line)]
    behind = [(line, heads[number + 1]) for number, line in enumerate(heads) if "::" in line]
    assert behind[0] == ("stops.elf::g_model.tflite", "stops.elf")
    assert all(image == model.partition("::")[0] for model, image in behind)
    assert " in 3 of 3 files" in text


def test_firmware_beside_a_model_decides_what_is_not_set(capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.tflite").write_bytes(MODEL)
    _, report = run(capsys, "m.tflite", "--firmware", "app.elf")
    assert not [code for code in codes(report) if code.startswith("CNN7")]
    assert all("gcc@12.2" in verdict["target"] for verdict in report["files"][0]["verdicts"])
    assert "CNN709" in codes(run(capsys, "m.tflite", "--firmware", "app.elf", "--target", "m55")[1])


def test_a_pattern_means_the_newest_image(capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.tflite").write_bytes(MODEL)
    Path("new.elf").write_bytes(firmware(registering()))
    assert "CNN704" in codes(run(capsys, "m.tflite", "--firmware", "n*.elf")[1])
    assert main(["--isolated", "m.tflite", "--firmware", "none*.elf"]) == 2
    assert "no file matches it" in capsys.readouterr().err


def test_the_commit_whose_version_is_in_the_image_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    def git(*words: str) -> None:
        name = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *name, *words], check=True, capture_output=True)

    git("init", "-q")
    for content in (MODEL, MODEL + bytes(16)):
        Path("m.tflite").write_bytes(content)
        git("add", "m.tflite")
        git("commit", "-qm", "model")
    findings = run(capsys, "m.tflite", "--firmware", "app.elf")[1]["findings"]
    (finding,) = (row for row in findings if row["code"] == "CNN710")
    assert "1 version ago" in finding["message"]


def test_an_image_that_cannot_be_read_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    Path("app.elf").write_bytes(firmware()[:60])
    code, report = run(capsys, "app.elf")
    assert (code, codes(report)) == (2, ["CNN001"])


def test_a_library_is_linted_as_a_build(capsys: pytest.CaptureFixture[str]) -> None:
    """It holds objects and no model: nothing of it is read as ONNX."""
    slow = firmware(with_library(**SLOW))
    Path("lib.a").write_bytes(archive({"a.o": slow}))
    code, report = run(capsys, "lib.a")
    assert (code, codes(report)) == (1, ["CNN701"])
    Path("lib.a").write_bytes(archive({"a.o": slow})[:90])
    code, report = run(capsys, "lib.a")  # it ends within a header
    assert (code, codes(report)) == (2, ["CNN001"])


def test_bytes_without_a_model_are_no_image(capsys: pytest.CaptureFixture[str]) -> None:
    Path("weights.bin").write_bytes(bytes(range(256)))
    assert codes(run(capsys, "weights.bin")[1]) == ["CNN002"]


def test_what_plain_bytes_do_not_tell_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("app.bin").write_bytes(bytes(64) + MODEL)
    assert main(["--isolated", "--output-format", "concise", "app.bin"]) == 0
    assert "does not tell targets: defaults are taken" in capsys.readouterr().out.replace("\n", " ")


def test_whole_program_optimization_hides_what_is_registered(capsys: pytest.CaptureFixture[str]) -> None:
    content = firmware(registering(), model_at=FLASH + 0x8000)
    assert "CNN704" in codes(_written(capsys, content))
    assert "CNN704" not in codes(_written(capsys, firmware(registering(), local=True)))


def _written(capsys: pytest.CaptureFixture[str], content: bytes) -> dict[str, Any]:
    Path("app.elf").write_bytes(content)
    return run(capsys, "app.elf")[1]


@pytest.mark.parametrize(("parser", "word"), [("ParseSoftmax", "MAY FAIL"), ("ParseConv2D", "RUNS")])
def test_an_operator_that_no_symbol_of_a_whole_program_is_called_by_may_be_missing(
    parser: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"_ZN6tflite{len(parser)}{parser}E", "_ZNK6tflite22MicroMutableOpResolverILj1EE15GetOpDataParserE"]
    functions = {"main": Function(64), **{name: Function(16) for name in names}}
    report = _written(capsys, firmware(functions, local=True))
    assert {row["word"].partition(",")[0] for row in report["files"][0]["verdicts"]} == {word}
    told = [row for row in report["findings"] if row["code"] == "CNN704"]
    assert [row["level"] for row in told] == ["warning"] * (word != "RUNS")
    assert all("The application may not call AddConv2D()" in row["message"] for row in told)


def moved(address: int) -> bytes:
    """MOVW and MOVT of r3 with an address."""

    def halves(first: int, value: int) -> tuple[int, int]:
        return first | (value >> 11 & 1) << 10 | value >> 12, (value >> 8 & 7) << 12 | 3 << 8 | value & 0xFF

    return struct.pack("<4H", *halves(0xF240, address & 0xFFFF), *halves(0xF2C0, address >> 16))


@pytest.mark.parametrize("code", [lambda address: struct.pack("<I", address), moved], ids=["word", "movw and movt"])
@pytest.mark.parametrize(("aside", "expected"), [(1, set()), (3, {"CNN704"})])
def test_a_registration_that_is_called_over_a_long_way_is_registered(
    code: Callable[[int], bytes], aside: int, expected: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    address = placed(registering(), FLASH)[1][REGISTER_CONV]
    far = ElfSection(".itcm", FLASH + 0x6000, code(address + aside), "rx")
    assert {*codes(_written(capsys, firmware(registering(), more=[far])))} & {"CNN704"} == expected


def test_a_number_in_a_model_registers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    address = placed(registering(), FLASH)[1][REGISTER_CONV]
    weights = struct.pack("<I", address + 1) * 8
    model = write(conv_model(buffers=[{}, {"data": [*weights]}, {"data": [*b"1.5.0"]}]))
    assert "CNN704" in codes(_written(capsys, firmware(registering(), model=model)))


def test_a_missing_operator_stops_every_build(capsys: pytest.CaptureFixture[str]) -> None:
    report = _written(capsys, firmware(registering()))
    assert {(verdict["word"], verdict["condition"]) for verdict in report["files"][0]["verdicts"]} == {("STOPS", "")}


def test_what_is_wrong_with_an_image_is_wrong_with_each_model_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    report = _written(capsys, with_tensors(64))
    assert {(row["word"], *row["codes"]) for row in report["files"][0]["verdicts"]} == {("WRONG RESULTS", "CNN706")}
    assert codes(report).count("CNN706") == 1
    Path("m.tflite").write_bytes(MODEL)
    report = run(capsys, "m.tflite", "--firmware", "app.elf")[1]
    assert {(row["word"], *row["codes"]) for row in report["files"][0]["verdicts"]} == {("WRONG RESULTS", "CNN706")}
    assert "RUNS" in {row["word"] for row in _written(capsys, with_tensors(32))["files"][0]["verdicts"]}


def test_a_resolver_without_room_for_the_model_stops_it(capsys: pytest.CaptureFixture[str]) -> None:
    report = _written(capsys, firmware(room=0))
    assert {row["word"] for row in report["files"][0]["verdicts"]} == {"STOPS"}
    (finding,) = (row for row in report["findings"] if row["code"] == "CNN704")
    assert "room for 0 operators, and the model has 1:" in finding["message"]


def test_more_operators_than_room_may_leave_out_one_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    both = registering(REGISTER_CONV, REGISTER_SOFTMAX)
    report = _written(capsys, firmware(both, room=1))
    assert {row["word"] for row in report["files"][0]["verdicts"]} == {"MAY FAIL"}
    more = ElfSymbol("_ZTVN6tflite22MicroMutableOpResolverILj3EEE", FLASH + 4, 16, "object")
    assert "CNN704" not in codes(_written(capsys, firmware(both, room=1, also=[more])))


def test_releases_are_named_where_a_core_has_several(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["--isolated", "--output-format", "concise", "app.elf"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "RUNS on cortex-m4 (main): " in told
    assert "RUNS, without CMSIS-NN on cortex-m4 (cmsis5-5.7.0): " in told
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["--isolated", "--target", "m4,m55", "app.elf"]) == 1
    assert "m4 (main), m55 (main)" in capsys.readouterr().out


def test_commands_on_one_model_take_that_of_an_image(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "--isolated", "app.elf"]) == 0
    assert capsys.readouterr().out.startswith("app.elf::g_model.tflite: RUNS, without CMSIS-NN on cortex-m4 (cmsis5-")
    assert main(["widths", "--isolated", "app.elf"]) == 2
    assert "it is firmware: name a model in it, app.elf::g_model.tflite" in capsys.readouterr().err


def test_an_operator_whose_kernel_calls_no_cmsis_nn_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    report = _written(capsys, firmware(registering(REGISTER_CONV, REGISTER_SOFTMAX)))
    (finding,) = (row for row in report["findings"] if row["code"] == "CNN702")
    assert "no function of it for SOFTMAX:" in finding["message"]
    both = {**registering(REGISTER_CONV, REGISTER_SOFTMAX), "arm_softmax_s8": Function(64)}
    assert "CNN702" not in codes(_written(capsys, firmware(both)))


@pytest.mark.parametrize(("folder", "expected"), [("", ["CNN702"]), ("cmsis_nn/", [])])
def test_texts_of_an_image_without_symbols_may_name_reference_code(
    folder: str, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"tensorflow/lite/micro/kernels/{folder}conv.cc\0".encode()
    Path("app.bin").write_bytes(bytes(64) + text + bytes(-len(text) % 16) + MODEL)
    findings = run(capsys, "app.bin", "--select", "CNN702")[1]["findings"]
    assert [finding["code"] for finding in findings] == expected
    assert all("may have reference code" in finding["message"] for finding in findings)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("app.bin", bytes(64) + MODEL, "app.bin has no symbols: little of what is wrong with its build is seen"),
        ("app.elf", firmware(), "It is built for cortex-m4 or cortex-m7 by gcc@12.2 with CMSIS-NN"),
        ("app.elf", firmware(model=bytes(64)), "is judged with `--firmware app.elf MODEL`"),
        ("lib.a", archive({"a.o": firmware()}), "No findings in 1 file"),
    ],
)
def test_a_file_and_nothing_else_is_told_what_to_do(
    name: str, content: bytes, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_bytes(content)
    assert main(["--isolated", "--select", "CNN7", name]) == 0
    assert expected in " ".join(capsys.readouterr().out.split())


def test_an_elf_without_an_ending_is_told_how_to_name_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("hello_world").write_bytes(firmware())
    assert main(["--isolated", "hello_world"]) == 2
    assert "an ELF; firmware is linted where its name ends in .elf" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("tensor_arena", "tensor_arena"),
        ("_ZN12_GLOBAL__N_112tensor_arenaE", "tensor_arena"),
        ("_ZL12tensor_arena", "tensor_arena"),
        ("_ZZ4mainE12tensor_arena", "tensor_arena"),
        ("_ZZ5setupvE12tensor_arena_0", "tensor_arena"),
        ("_ZZ4mainE99tensor_arena", "_ZZ4mainE99tensor_arena"),
    ],
)
def test_an_arena_goes_by_the_name_that_people_wrote(
    symbol: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = firmware(arena=256)
    old = b"_ZN12_GLOBAL__N_112tensor_arenaE\0"
    Path("app.elf").write_bytes(content.replace(old, symbol.encode().ljust(len(old), b"\0")))
    (finding,) = (row for row in run(capsys, "app.elf")[1]["findings"] if row["code"] == "CNN703")
    assert f"{name} has 256 bytes" in finding["message"]


@pytest.mark.parametrize(
    ("arena", "other", "size", "says"),
    [
        (256, "heap_arena", 3000, "The arena may be too small: tensor_arena has 256 bytes"),
        (3000, "heap_arena", 256, "tensor_arena has 3,000 bytes"),
        (256, "audio_tensor_arena", 300, "The arena may be too small: audio_tensor_arena, the largest of 2, has 300"),
        (256, "audio_tensor_arena", 3000, "audio_tensor_arena, the largest of 2, has 3,000 bytes"),
    ],
)
def test_of_several_arenas_a_finding_says_which_it_is_of(
    arena: int, other: str, size: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("app.elf").write_bytes(firmware(arena=arena, also=(ElfSymbol(other, RAM + 3200, size, "object"),)))
    findings = run(capsys, "app.elf", "--min-level", "note")[1]["findings"]
    (message,) = (row["message"] for row in findings if row["code"] == "CNN703")
    assert message.startswith(says)
    assert " may be " in message


@pytest.mark.parametrize(
    ("other", "size", "said"),
    [
        ("audio_tensor_arena", 300, "audio_tensor_arena, which has 'audio' in its name like the model, has 300 bytes"),
        (
            "audio_tensor_arena",
            8000,
            "audio_tensor_arena, which has 'audio' in its name like the model, has 8,000 bytes",
        ),
        ("radio_tensor_arena", 300, ""),
        ("audio_arena", 300, ""),
    ],
)
def test_an_arena_that_is_not_the_largest_is_that_of_the_model_by_its_name(
    other: str, size: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    image = firmware(arena=1200, also=(ElfSymbol(other, RAM + 1300, size, "object"),))
    Path("app.elf").write_bytes(image.replace(b"g_model\0", b"g_audio\0"))
    findings = run(capsys, "app.elf", "--min-level", "note")[1]["findings"]
    messages = [row["message"] for row in findings if row["code"] == "CNN703"]
    assert [said in message for message in messages] == [True] * bool(said)


@pytest.mark.parametrize(("name", "told"), [("radio_tensor_arena", True), ("audio_tensor_arena", False)])
def test_of_several_arenas_a_note_says_which_is_compared(
    name: str, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    image = firmware(arena=3000, also=(ElfSymbol(name, RAM + 3100, 300, "object"),))
    Path("app.elf").write_bytes(image.replace(b"g_model\0", b"g_audio\0"))
    main(["app.elf", "--output-format", "json"])
    notes = json.loads(capsys.readouterr().out)["files"][0]["notes"]
    said = (
        "app.elf has 2 objects that are called arena and does not tell which is this model's: the largest, "
        "tensor_arena of 3,000 bytes, is compared."
    )
    assert (said in notes) is told


def test_code_that_a_linker_calls_writable_is_not_in_ram(capsys: pytest.CaptureFixture[str]) -> None:
    """LLD and GNU ld do so where the vector table among it is no constant."""
    content = bytearray(firmware())
    (headers,) = struct.unpack_from("<I", content, 32)
    for number, flags in ((1, 7), (2, 7)):  # .text and .rodata: writable, loaded, code
        struct.pack_into("<I", content, headers + 40 * number + 8, flags)
    Path("app.elf").write_bytes(content)
    assert "CNN707" not in codes(run(capsys, "app.elf", "--min-level", "note")[1])
    assert main(["image", "app.elf", "--output-format", "json"]) == 0
    facts = {fact["key"]: fact["value"] for fact in json.loads(capsys.readouterr().out)["facts"]}
    assert (facts["ram"], facts["cmsis_nn"] != []) == (4096, True)


@pytest.mark.parametrize(("stored", "ram"), [(0x0808_0000, 4096 + 96), (0x1000_0000, 4096)])
def test_functions_among_data_that_are_copied_take_ram_wherever_it_is(
    stored: int, ram: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """`.data` with functions for RAM, on devices whose RAM begins at 0x10000000."""
    content = bytearray(firmware(more=[ElfSection(".data", 0x1000_0000, bytes(96), "rwx")]))
    segments = [(1, 0, 0x0800_0000, 0x0800_0000, 0, 2**20, 5, 4), (1, 0, 0x1000_0000, stored, 96, 96, 7, 4)]
    struct.pack_into("<I", content, 28, len(content))
    struct.pack_into("<HH", content, 42, 32, len(segments))
    content += b"".join(struct.pack("<8I", *segment) for segment in segments)
    Path("app.elf").write_bytes(content)
    assert main(["image", "app.elf", "--output-format", "json"]) == 0
    facts = {fact["key"]: fact["value"] for fact in json.loads(capsys.readouterr().out)["facts"]}
    assert facts["ram"] == ram


@pytest.mark.parametrize(("start", "size", "count"), [(2**32 - 1, 32, 65_535), (52, 0, 9), (52, 32, 65_535)])
def test_damaged_segments_are_none(start: int, size: int, count: int) -> None:
    content = bytearray(firmware())
    struct.pack_into("<I", content, 28, start)
    struct.pack_into("<HH", content, 42, size, count)
    built, sound = (build_from("app.elf", memoryview(data)) for data in (content, bytearray(firmware())))
    assert isinstance(built, Build)
    assert isinstance(sound, Build)
    assert built.memory == sound.memory is not None


def sarif(capsys: pytest.CaptureFixture[str], content: bytes, name: str = "app.elf") -> list[dict[str, Any]]:
    """Results of a SARIF log of an image."""
    Path(name).write_bytes(content)
    main(["--isolated", "--output-format", "sarif", "--min-level", "note", name])
    results: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    return results


def test_sarif_names_the_function_and_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    results = sarif(capsys, firmware(with_library(**SLOW), model_at=FLASH + 0x8001))
    logical = {row["ruleId"]: row["locations"][0].get("logicalLocations") for row in results}
    assert logical["CNN701"] == [{"name": "arm_nn_mat_mult_nt_t_s8", "kind": "function"}]
    assert logical["CNN707"] == [{"name": "g_model", "kind": "variable"}]


def test_sarif_has_what_is_said_of_an_image_at_the_model_file_that_is_in_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A repository has the model, and seldom the image."""
    for content, where in ((MODEL, "models/m.tflite"), (MODEL + bytes(16), "app.elf")):
        Path("models").mkdir(exist_ok=True)
        Path("models/m.tflite").write_bytes(content)
        Path("app.elf").write_bytes(firmware(with_library(**SLOW)))
        main(["--isolated", "--output-format", "sarif", "models/m.tflite", "--firmware", "app.elf"])
        results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
        (row,) = (result for result in results if result["ruleId"] == "CNN701")
        (location,) = row["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"] == where
        assert location["logicalLocations"] == [{"name": "arm_nn_mat_mult_nt_t_s8", "kind": "function"}]
        related = [other["physicalLocation"]["artifactLocation"]["uri"] for other in row.get("relatedLocations", [])]
        assert related == (["app.elf"] if where != "app.elf" else [])


def test_fingerprints_of_an_image_stay_where_addresses_move(capsys: pytest.CaptureFixture[str]) -> None:
    """A model without a symbol goes by its number; an arena by its name."""

    def prints(content: bytes, name: str) -> list[str]:
        return [str(row["partialFingerprints"]) for row in sarif(capsys, content, name)]

    stopping = FILES["a .tflite file with one operator: y = POW(a, b)"]()
    first = prints(bytes(64) + stopping, "app.bin")
    assert first
    assert prints(bytes(4096) + stopping, "app.bin") == first
    slow = with_library(**SLOW)
    assert prints(firmware(slow, arena=256), "app.elf") == prints(
        firmware({"z": Function(64), **slow}, arena=256, model_at=FLASH + 0x8010), "app.elf"
    )


def test_whole_program_optimization_may_leave_no_function_of_cmsis_nn(capsys: pytest.CaptureFixture[str]) -> None:
    assert "CNN702" in codes(_written(capsys, firmware(APPLICATION)))
    assert "CNN702" not in codes(_written(capsys, firmware(APPLICATION, local=True)))


def test_a_folder_with_firmware_alone_is_told_to_name_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("app.bin").write_bytes(MODEL)
    main(["--isolated", "."])
    assert "to lint firmware, name its file: app.elf" in " ".join(capsys.readouterr().err.split())


def test_a_core_that_contradicts_the_image_is_told_with_those_of_the_image(capsys: pytest.CaptureFixture[str]) -> None:
    findings = run(capsys, "app.elf", "--target", "m55")[1]["findings"]
    (finding,) = (row for row in findings if row["code"] == "CNN709")
    assert "is cortex-m55 (command line), and the image has code for cortex-m4 or cortex-m7:" in finding["message"]


@pytest.mark.parametrize(
    ("function", "core", "times"),
    [
        (Function(4000, frame=3280, smlad=16, dsp=32), M4, "7 to 15"),
        (Function(4000, frame=3280, mve=16), M55, "3 to 6"),
    ],
)
def test_what_no_optimization_costs_is_told_by_core(
    function: Function, core: Mapping[int, int | str], times: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = _written(capsys, firmware(with_library(arm_nn_mat_mult_nt_t_s8=function), core=core))
    (finding,) = (row for row in report["findings"] if row["code"] == "CNN701")
    assert f"Models take {times} times the predicted instructions." in finding["message"]


@pytest.mark.parametrize(
    ("comment", "times"),
    [
        (b"Debian clang version 19.1.7", "4 to 7"),
        (b"clang version 19.1\0GCC: 12.2.1", "4 to 15"),
        (b"other", "4 to 15"),
    ],
)
def test_what_no_optimization_costs_is_told_by_compiler(
    comment: bytes, times: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gcc = b"GCC: (15:12.2.rel1-1) 12.2.1 20221205\0"
    report = _written(capsys, firmware(with_library(**SLOW)).replace(gcc, comment.ljust(len(gcc), b"\0")))
    (finding,) = (row for row in report["findings"] if row["code"] == "CNN701")
    assert f"Models take {times} times the predicted instructions." in finding["message"]
