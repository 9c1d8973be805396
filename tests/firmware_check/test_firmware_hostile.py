"""Hostile models: no byte of a name becomes code of the firmware, and no firmware reaches the host."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import example_models as models
from firmware_check.arena import plan
from firmware_check.boards import BOARDS
from firmware_check.build import STACK
from firmware_check.compare import Comparison, LayerPair
from firmware_check.emit import linker_script, model_source
from firmware_check.emulator import SHARED, command_line
from firmware_check.instructions import Instructions
from firmware_check.layer_trace import Observed
from firmware_check.library import Library
from firmware_check.link_map import Bytes
from firmware_check.memory import Memory
from firmware_check.opening import Options, open_model
from firmware_check.program import Program
from firmware_check.reports import pages
from firmware_check.target_check import Failure, TargetCheck
from firmware_check.tflite.program import tflite_program
from firmware_check.verdict import Disagreement, LayerVerdict
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.ground.types import Isa, Target
from onnxlint_cmsis.output import foreign_text
from support import firmware_models as more
from support.draws import draws
from support.firmware_runs import check, needs_firmware
from support.firmware_signatures import EverythingLibrary
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

SYSTEM, OPEN, REMOVE, RENAME = 0x12, 0x01, 0x0E, 0x0F
"""Calls of semihosting (Arm's specification of it, 2.0): run a command, open, remove and rename a file."""
HOSTILE = (
    "*/", "/*", "*\\ /*", "//", "\\", "\\\n", "??/\n", "??/", '"', "'", "%", "%%", "{%", "{{", "}}", "#", "\n#define x",
    "\n", "\r", "\0", "\x1b", "\u202e", "\u2028", ";", "{", "}", "*", "/", "@", "$", "\x7f", "\xa0", "é", "_", "a", " ",
    "*/ int main(void); /*", "*\\ void *memset(void *d, int c, unsigned n); /*", "%:include", "<:", "\f", "\v",
)  # fmt: skip
NAMES = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), min_size=1, max_size=6).map("".join)
"""Names as they may stand in a file, which has UTF-8: no half characters."""
WRITABLE = NAMES.filter(lambda name: not re.search("[\ud800-\udfff]", name))


def tokens(text: str) -> list[str]:
    """The tokens of C behind the phases 1 to 3 of translation: trigraphs, continued lines, comments."""
    for last, stands_for in zip("=/'()!<>-", "#\\^[]|{}~", strict=True):
        text = text.replace(f"??{last}", stands_for)
    text = text.replace("\\\n", "")
    text = re.sub(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*")', lambda match: match[1] or " ", text, flags=re.DOTALL)
    return re.findall(r'"(?:\\.|[^"\\])*"|\w+|\S|\n(?=[ \t]*#)', text)


def test_the_tokens_see_through_comments_lines_and_trigraphs() -> None:
    assert tokens('a /* b */ "/* c */" // d\ne') == ["a", '"/* c */"', "e"]
    assert tokens("a /* *\\\n/ b /* */ c") == tokens("a b c") == tokens("a /* ?*/ b // ??/\n d\nc")
    assert tokens("a /* */ b /* */") != tokens("a /* b */")


def library() -> Library:
    """One that has all functions of main."""
    everything = EverythingLibrary("main")
    everything.origin = "here"  # type: ignore[attr-defined]
    return everything  # type: ignore[return-value]


def c_of(program: Program, title: str) -> str:
    return model_source(program, plan(program), BOARDS[-1], library(), title)


def renamed(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The model with a name in all places that have one; tensors keep a number, which tells them apart."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    tensors = dict.fromkeys(t for node in graph.node for t in (*node.input, *node.output) if t)
    told = {tensor: f"{name}{number}" for number, tensor in enumerate(tensors)}
    for node in graph.node:
        node.input[:] = [told.get(name, name) for name in node.input]
        node.output[:] = [told.get(name, name) for name in node.output]
        node.name = node.doc_string = name
    for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        value.name = told.get(value.name, value.name)
        value.doc_string = name
    graph.name = graph.doc_string = copy.producer_name = copy.doc_string = name
    copy.metadata_props.add(key=name, value=name)
    return copy


@pytest.fixture(scope="module")
def quantized_model(tmp_path_factory: pytest.TempPathFactory) -> onnx.ModelProto:
    folder = tmp_path_factory.mktemp("quantized")
    return onnx.load(more.quantized(models.residual(folder), folder))


@pytest.fixture(scope="module")
def float_model(tmp_path_factory: pytest.TempPathFactory) -> onnx.ModelProto:
    return onnx.load(models.residual(tmp_path_factory.mktemp("floats")))


@pytest.fixture(scope="module")
def c_of_named(
    quantized_model: onnx.ModelProto, float_model: onnx.ModelProto, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], str]:
    """The C of a model of integers, or of floats taken for a type, with a name; that of the harmless name is kept."""
    pytest.importorskip("jinja2")
    folder = tmp_path_factory.mktemp("named")

    @cache
    def harmless(assume: str) -> str:
        return written("harmless", assume)

    def written(name: str, assume: str) -> str:
        path = folder / "model.onnx"
        onnx.save(renamed(float_model if assume else quantized_model, name), path)
        return c_of(open_model(str(path), library(), Options({}, assume=assume), folder).program, f"{name}.onnx")

    return lambda name, assume: harmless(assume) if name == "harmless" else written(name, assume)


@settings(max_examples=draws(60), deadline=None)
@given(name=WRITABLE, assume=st.sampled_from(["", "f32", "f16"]))
@example(name="*\\ int evil; /*", assume="f32")
@example(name="*\\ int evil; /*", assume="")
@example(name="*/ int evil; /*", assume="")
@example(name="\\\n", assume="f16")
def test_names_of_an_onnx_model_leave_the_tokens_of_its_c_alone(
    name: str, assume: str, c_of_named: Callable[[str, str], str]
) -> None:
    texts = [c_of_named(given_name, assume) for given_name in ("harmless", name)]
    assert texts[1].isascii()
    assert tokens(texts[1]) == tokens(texts[0])
    assert [line.count("/*") for line in texts[1].splitlines()] == [line.count("/*") for line in texts[0].splitlines()]


@cache
def c_of_addition(name: str) -> str:
    """The C of a `.tflite` file with a name wherever it has one."""
    model = one_operator(
        "ADD", [tensor(f"{name}{number}", [1, 4, 4, 8]) for number in range(3)],
        ("AddOptions", {"fused_activation_function": "RELU"}), description=name,
    )  # fmt: skip
    model["subgraphs"][0]["name"] = name
    model["operator_codes"][0]["custom_code"] = name
    return c_of(tflite_program(read_tflite("m.tflite", write(model)), library()), f"{name}.tflite")


@settings(max_examples=draws(60), deadline=None)
@given(name=WRITABLE)
@example(name="*\\ int evil; /*")
def test_names_of_a_tflite_model_leave_the_tokens_of_its_c_alone(name: str) -> None:
    pytest.importorskip("jinja2")
    texts = [c_of_addition("harmless"), c_of_addition(name)]
    assert tokens(texts[1]) == tokens(texts[0])


@given(name=NAMES)
def test_a_name_in_c_has_letters_digits_and_underscores_alone(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_]{0,80}", foreign_text.name_in_c(name))


def test_a_folder_of_the_library_leaves_the_tokens_alone(quantized_model: onnx.ModelProto, tmp_path: Path) -> None:
    """The C names where CMSIS-NN comes from."""
    pytest.importorskip("jinja2")
    path = tmp_path / "model.onnx"
    onnx.save(quantized_model, path)
    texts = []
    for origin in ("here", "a*/ int evil; /*\\\n"):
        chosen = library()
        object.__setattr__(chosen, "origin", origin)
        program = open_model(str(path), chosen, Options({}), tmp_path).program
        texts.append(model_source(program, plan(program), BOARDS[-1], chosen, "t"))
    assert tokens(texts[1]) == tokens(texts[0])


def words(text: str, *more: str) -> str:
    """C of a block of arguments that begins with a text."""
    block = ", ".join(("(unsigned)text", *more))
    return f"{text}; const unsigned words[] = {{{{{block}}}}};"


TEXT = "static const char text[] = "
HARMLESS = "harmless"
STRANGE = (
    "[a](javascript:x)",
    "![a](http://b)",
    "<img>",
    "@user",
    "a|b",
    "`",
    "``",
    "www.a.de",
    "https://a.de",
    "#1",
)


def report_of(name: str) -> str:
    """Every part of a report in Markdown, with one name for file, layer, reason and remark."""
    wrong = (Disagreement("FWC002", name),)
    layer = LayerVerdict(
        name,
        name,
        "Conv",
        "",
        name,
        None,
        Observed((), (), ""),
        0,
        (0, 0),
        Instructions(9, unjudged=name),
        None,
        wrong,
        wrong,
        (name,),
    )
    memory = Memory(Bytes(1, 1), Bytes(1, 1), Bytes(1, 1))
    check = TargetCheck(
        name, Target("cortex-m4", Isa.DSP, "4.0.0"), BOARDS[2], True, (layer,), ((name, name),), memory,
        remarks=(name,), unseen=((name, name),), runtime=name, otherwise=(name,),
    )  # fmt: skip
    pair = LayerPair(name, layer, None)
    compared = Comparison(check, check, (pair,), (), False, wrong)
    library = Library(Path(), "4.0.0", (), name)
    parts = (
        pages.library_report(library), pages.check_report(check), pages.comparison_report(compared),
        pages.failure_report(Failure("cortex-m4", "gcc", name)), pages.default_report([check]),
    )  # fmt: skip
    return "".join(parts)


def escaped_anywhere(name: str) -> bool:
    """Whether a name looks the same at the start of a line as inside it, and is neither cut nor made a command."""
    return (
        name == name.strip() and 0 < len(name) <= 12 and "::" not in name
        and foreign_text.markdown(f"'{name}") == f"'{foreign_text.markdown(name)}"
    )  # fmt: skip


@given(name=NAMES.filter(escaped_anywhere) | st.sampled_from(STRANGE))
@example(name="a\nb")
def test_a_name_in_markdown_is_escaped_wherever_it_stands(name: str) -> None:
    escaped = foreign_text.markdown(name)
    assert report_of(name) == report_of(HARMLESS).replace(HARMLESS, escaped)
    assert not escaped or not re.search(r"(?<!\\)[\[\]<`*|]|@(?!&#8203;)", escaped)


CALLS = {
    "a command": (SYSTEM, words(f'{TEXT}"touch {{made}}"', "sizeof text - 1")),
    "a new file": (OPEN, words(f'{TEXT}"{{made}}"', "5", "sizeof text - 1")),
    "a removed file": (REMOVE, words(f'{TEXT}"{{kept}}"', "sizeof text - 1")),
    "a renamed file": (
        RENAME,
        words(f'{TEXT}"{{kept}}", other[] = "{{made}}"', "sizeof text - 1", "(unsigned)other", "sizeof other - 1"),
    ),
}
"""What a firmware asks semihosting for, and its arguments in C."""
PROGRAM = """
extern unsigned __stack_top[];
void start(void)
{
    %s
    register int r0 __asm__("r0") = %d;
    register const void *r1 __asm__("r1") = words;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    *(volatile unsigned *)0xe000ed0c = 0x05fa0004;
    for (;;) {}
}
static void ended(void)
{
    *(volatile unsigned *)0xe000ed0c = 0x05fa0004;
    for (;;) {}
}
__attribute__((section(".vectors"), used)) static const void *const vectors[4] = {__stack_top, start, ended, ended};
"""


@needs_firmware
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.cpu)
def test_a_firmware_that_calls_semihosting_does_nothing_on_the_host(board, tmp_path: Path) -> None:
    """On the command line that the check gives QEMU. With semihosting the same image does all of it."""
    (tmp_path / "link.ld").write_text(linker_script(board, STACK), encoding="utf-8")
    assert CALLS
    for what, (number, arguments) in CALLS.items():
        folder = tmp_path / what.replace(" ", "_")
        folder.mkdir()
        written, kept = folder / "made", folder / "kept"
        source, image = folder / "a.c", folder / "a.elf"
        source.write_text(PROGRAM % (arguments.format(made=written, kept=kept), number), encoding="utf-8")
        subprocess.run(
            ["arm-none-eabi-gcc", *board.flags, "-mthumb", "-O1", "-nostdlib", "-nostartfiles", str(source),
             f"-T{tmp_path / 'link.ld'}", "-o", str(image)],
            check=True,
        )  # fmt: skip
        harmless = command_line(image, board)
        position = harmless.index("-semihosting-config") + 1
        for line in (harmless, [*harmless[:position], "enable=on,target=native", *harmless[position + 1 :]]):
            kept.write_text("kept", encoding="utf-8")
            written.unlink(missing_ok=True)
            (folder / SHARED).write_bytes(b"")
            subprocess.run(line, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
            touched = written.exists() or not kept.exists()
            assert touched is (line is not harmless), (what, line)


EVIL = (
    r"*\ void *memset(void *d, int c, unsigned n) { static const char text[] = "
    '"touch FILE"; const unsigned a[2] = {(unsigned)text, sizeof text - 1}; register int r0 __asm__("r0") = 0x12; '
    'register const void *r1 __asm__("r1") = a; __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory"); '
    "for (unsigned i = 0; i < n; i++) ((volatile char *)d)[i] = c; return d; } /*"
)
"""A name that ended its comment; behind it, memset, which the harness calls, ran a command of the host."""


@needs_firmware
def test_a_name_that_is_code_is_a_name(tmp_path: Path) -> None:
    weights = models.with_biases({"w": models.filters(4, 3, 2, 2)})
    path = models.save(tmp_path, "one", [models.conv("x", "w", "y")], ([1, 3, 4, 4], [1, 4, 3, 3]), weights)
    written = tmp_path / "made"
    model = onnx.load(path)
    model.graph.node[0].name = EVIL.replace("FILE", str(written))
    onnx.save(model, path)
    done = check(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert not written.exists()
