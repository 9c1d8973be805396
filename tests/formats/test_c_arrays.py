"""Models as arrays in C: what is one, how numbers are written, and what a hostile file costs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from onnxlint_cmsis.formats.c_arrays import LARGEST, START, array_at, arrays_of, has_sign
from onnxlint_cmsis.formats.format import FORMATS, file_of, format_of
from onnxlint_cmsis.formats.held import held_model
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.model.model_error import ModelError
from support.c_sources import DECIMAL, HEX, array
from support.fixable_models import gaining
from support.goldens import Told
from support.pte_programs import random_program
from support.tflite_models import conv_model
from support.tflite_writer import write

TFLITE = write(conv_model())
ONNX = gaining()


def signed(byte: int) -> str:
    return str(byte - 256 if byte > 127 else byte)


def with_suffix(byte: int) -> str:
    return f"0X{byte:X}u"


@pytest.mark.parametrize("number", [HEX, DECIMAL, signed, with_suffix])
def test_bytes_are_read_however_they_are_written(number: Callable[[int], str]) -> None:
    text = array("g_model", TFLITE, number)
    (only,) = arrays_of("m.cc", text.encode())
    assert (only.name, only.suffix, only.line, only.data, only.fault) == ("g_model", ".tflite", 1, TFLITE, "")


@pytest.mark.parametrize(
    "head",
    [
        "alignas(16) ",
        "__attribute__((aligned(16))) static ",
        '__attribute__((section("network[1]"), aligned(16))) ',
        "[[gnu::aligned(16)]] ",
        "// g_other[] = {0x1c\n",
        '#define TEXT "} = {"\n',
    ],
)
def test_what_stands_in_front_of_an_array_does_not_matter(head: str) -> None:
    (only,) = arrays_of("m.cc", array("g_model", TFLITE, head=head).encode())
    assert (only.name, only.data) == ("g_model", TFLITE)


def test_other_forms_of_definitions() -> None:
    numbers = ", ".join(map(HEX, TFLITE))
    forms = {
        "a": f"constexpr std::array<uint8_t, {len(TFLITE)}> a = {{{{{numbers}}}}};",
        "b": f"const uint8_t b[] PROGMEM = {{{numbers},}};",
        "c": f"const uint8_t c[]{{{numbers}}};",
        "d": f"const uint8_t d[{len(TFLITE)}] DATA_ALIGN_ATTRIBUTE\n=\n{{ /* 0 */ {numbers} // }}\n}};",
    }
    assert forms
    for name, text in forms.items():
        (only,) = arrays_of("m.h", text.encode())
        assert (only.name, only.data) == (name, TFLITE)


def test_each_format_is_told_by_its_mark_and_onnx_by_its_fields() -> None:
    models = {".tflite": TFLITE, ".onnx": ONNX, ".pte": random_program(3, Isa.DSP).data()}
    for suffix, data in models.items():
        assert [(a.suffix, a.data) for a in arrays_of("m.h", array("m", data).encode())] == [(suffix, data)]
    assert {row.suffix for row in FORMATS if row.mark} <= {*models, ".bpte"}
    assert not arrays_of("m.h", array("m", ONNX[:-1]).encode())
    assert not arrays_of("m.h", array("img", bytes(range(256)) * 4).encode())


def test_a_number_that_begins_with_0_is_octal() -> None:
    (only,) = arrays_of("m.h", f"char m[] = {{{', '.join(map(HEX, TFLITE))}, 010, 0b11, 0}};".encode())
    assert only.data == TFLITE + bytes([8, 3, 0])


def test_several_arrays_each_have_a_name_and_a_line() -> None:
    text = "int img[] = {1, 2};\n" + array("a", TFLITE) + array("a", TFLITE) + array("b", ONNX)
    arrays = arrays_of("m.h", text.encode())
    lines = text.splitlines()
    assert [a.name for a in arrays] == ["a", "a.2", "b"]
    assert all("[] = {" in lines[a.line - 1] for a in arrays)
    assert [a.within("x/m.h") for a in arrays] == ["x/m.h::a.tflite", "x/m.h::a.2.tflite", "x/m.h::b.onnx"]


def test_a_name_is_taken_with_the_ending_and_without(tmp_path: Path, told: Told) -> None:
    path = tmp_path / "m.h"
    path.write_text(array("a", TFLITE) + array("b", TFLITE[:-1]))
    assert held_model(f"{path}::b").path == held_model(f"{path}::b.tflite").path == f"{path}::b.tflite"
    assert array_at(f"{path}::a").read() == TFLITE
    for name in (str(path), f"{path}::c"):
        with pytest.raises(ModelError) as error:
            held_model(name)
        told(error.value.message)


def test_paths_with_colons_that_are_no_arrays_stay_files() -> None:
    assert file_of("a::b.tflite") == "a::b.tflite"
    assert file_of("src/m.cc::g.tflite") == "src/m.cc"
    assert format_of("src/m.cc::g.tflite").suffix == ".tflite"


def test_what_is_no_byte_is_told_with_its_line(told: Told) -> None:
    numbers = ", ".join(map(HEX, TFLITE))
    for token in ("256", "SIZE", "0x1c 0x00", "08", "-129", "9" * 5000):
        (only,) = arrays_of("m.h", f"\n\nchar m[] = {{{numbers}, {token}}};".encode())
        assert (only.line, only.data) == (3, b"")
        with pytest.raises(ModelError) as error:
            only.read()
        told(error.value.message)


def test_a_search_looks_at_the_beginning_of_a_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.cc"
    for text, seen in (
        (array("m", TFLITE), True),
        (array("m", ONNX), True),
        (array("m", TFLITE, DECIMAL), True),
        ("//" + "x" * START + "\n" + array("m", TFLITE), False),
        ("int main() { return 0; }\n" * 100, False),
        ("{0x54, 0x46, 0x4c, 0x33}", False),
    ):
        path.write_text(text)
        assert has_sign(str(path)) is seen
    assert not has_sign(str(tmp_path / "none.cc"))


HEAD = "={1,1,1,1,84,70,76,51,"


@pytest.mark.parametrize(
    "piece",
    ["={", "/*", '"\\"', "]", "= ", "{", HEAD, "/", "'", "\\", "[[", "a ", f"{HEAD}}}", "={1,1,1,1,84 ", "//", '="'],
)
def test_the_time_grows_with_the_bytes_of_a_file_whatever_it_repeats(piece: str) -> None:
    """Sixteen times the bytes take less than forty times as long, where the square would take 256 times."""
    seconds = []
    for size in (2**17, 2**21):
        text = (piece * (size // len(piece))).encode()
        start = time.process_time()
        with_error = False
        try:
            arrays_of("m.h", text)
        except ModelError:
            with_error = True
        seconds.append(time.process_time() - start)
        assert with_error is (piece == f"{HEAD}}}")
    assert seconds[1] < 40 * max(seconds[0], 0.01)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "m.h"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(ModelError, match=re.escape(f"has more than {LARGEST} bytes, the most that is read")):
        arrays_of(str(path))
