"""No name of a model, file or folder acts on what reads a report: every command and format with names of every kind."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from unicodedata import category

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.output.foreign_text import (
    annotation,
    annotation_property,
    json_text,
    markdown,
    markdown_code,
    markup,
    printable,
    sarif_text,
    toml_string,
)
from onnxlint_cmsis.output.wrapping import wrapped
from support.draws import draws
from support.models import text
from support.report_models import NET
from support.tflite_models import conv_model, tensor
from support.tflite_writer import operator_code, write

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ACTING = (
    "::warning::x", " ::error file=a::b", "##[error]x", "##vso[task.complete]", "##teamcity[x]", "%0A::warning::x",
    "\n::warning::x", "\r\n::error::x", "\x1b[31mred", "\x1b]8;;http://a\x07", "\x9b2J", "`", "``", "a``b|c", "|",
    "](javascript:alert(1))", "[a](http://b)", "![a](http://b)", "<http://a>", "https://a.b", "www.a.b", "@user",
    "#12", "a#12", "<script>alert(1)</script>", "<!--", "-->", "]]>", "<![CDATA[", "&lt;", '"onload="x', "'", "\x00",
    "\ufffe", "\u202e", "\u2066", "\u200b", "\u2028", "\\", "\\|", "*a*", "_a_", "~~a~~", "$x$", "{0}", "a" * 300,
    "é😀", "\t", " ",
)  # fmt: skip
"""Text that acts somewhere."""
names = st.lists(st.sampled_from(ACTING) | st.text(max_size=8), min_size=1, max_size=4).map("".join)
inside = names.filter(lambda name: not any("\ud800" <= c <= "\udfff" for c in name))
"""Names that a protobuf can hold."""
in_paths = names.map(lambda name: re.sub("[/\\0]", "", name)[:40]).filter(lambda name: name.strip(". "))


class Page(HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [str(value) for name, value in attrs if name in ("href", "src") or name.startswith("on")]


def check_lines(text: str, *, annotations: bool = False) -> None:
    """No control character but line ends, no command to a CI system."""
    spaces = {c for c in text if annotations and category(c) == "Zs"}  # in a path, which has to stay the same
    assert all(c.isprintable() or c in spaces for line in text.split("\n") for c in line)
    lines = [line for line in text.split("\n") if line.lstrip().startswith("::")]
    assert all(re.match("::(error|warning|notice) file=[^:,]*,title=[^:,]*::", line) for line in lines)
    assert annotations or not lines
    assert not re.search(r"##[a-z]*\[", text)


def strings(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from (*strings(key), *strings(value))
    elif isinstance(data, list):
        for item in data:
            yield from strings(item)


def check_json(written: str) -> None:
    """ASCII that a strict reader takes: no half characters."""
    assert written.isascii()
    for value in strings(json.loads(written)):
        value.encode("utf-8")


def check_markdown(text: str) -> None:
    """Outside of code no link, mention, HTML of a name; code ends where it was meant to."""
    check_lines(text)
    prose = re.sub(r"<code>[^<>`|]*</code>", "", text)
    prose = re.sub(r"(?<![\\`])(`)(?!`)[^`|\n]*`", "", prose)
    prose = re.sub(r"</?(details|summary)>", "", re.sub(r"\\[!-/:-@\[-`{-~]", "", prose))
    assert not re.search(r"[<`\[\]]|@(?!&#8203;)|://|www\.", prose)


def hostile_model(drawn: dict[str, str]) -> bytes:
    """A model that has findings, with the names that were drawn in every place that has one."""
    model = text(NET)
    renamed = {"a": f"{drawn['tensor']}a", "b": f"{drawn['tensor']}b", "u": f"{drawn['tensor']}u"}
    for number, node in enumerate(model.graph.node):
        node.name = f"{drawn['node']}{number or ''}"
        for values in (node.input, node.output):
            values[:] = [renamed.get(name, name) for name in values]
    for initializer in model.graph.initializer:
        initializer.name = renamed.get(initializer.name, initializer.name)
    model.graph.node.append(onnx.helper.make_node(drawn["op"] or "Odd", ["x"], ["odd"], drawn["node"], domain="a.b"))
    model.opset_import.append(onnx.helper.make_opsetid("a.b", 1))
    model.graph.name, model.producer_name = drawn["graph"], drawn["graph"]
    model.metadata_props.add(key=drawn["graph"], value=drawn["node"])
    written: bytes = model.SerializeToString()
    return written


MODELS = st.fixed_dictionaries(
    {"node": inside, "tensor": inside, "op": inside, "graph": inside, "file": in_paths, "folder": in_paths}
)
FORMATS = ("full", "concise", "github", "junit", "json", "sarif", "gitlab", "rdjson")
CHECKS = {"json": check_json, "sarif": check_json, "gitlab": check_json, "rdjson": check_json}


def said(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints; standard error has passed the checks of a log."""
    capfd.readouterr()
    assert main([*words]) in (0, 1), capfd.readouterr()
    out, err = capfd.readouterr()
    check_lines(err)
    assert "internal error" not in err, err
    return out


def check_output(form: str, out: str) -> None:
    """What linting prints in a format."""
    CHECKS.get(form, lambda written: check_lines(written, annotations=form == "github"))(out)
    if form == "junit":
        assert {element.tag for element in ET.fromstring(out).iter()} <= {
            "testsuites", "testsuite", "testcase", "failure", "system-out", "error"
        }  # fmt: skip


@settings(max_examples=draws(12, 4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(MODELS, st.sampled_from([40, 57, 80, 200]), st.sampled_from([(), ("--full-names", "--explain")]))
def test_nothing_acts_in_any_command_or_format(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    drawn: dict[str, str],
    columns: int,
    more: tuple[str, ...],
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    with tempfile.TemporaryDirectory() as working, monkeypatch.context() as moved:
        moved.chdir(working)
        folder = Path(os.fsencode(drawn["folder"]).decode("utf-8", "surrogateescape"))
        folder.mkdir()
        path, other = f"{folder}/{drawn['file']}.onnx", f"{folder}/other.onnx"
        Path(path).write_bytes(hostile_model(drawn))
        Path(other).write_bytes(hostile_model({**drawn, "node": "n"}))
        common = ("--isolated", "--target", "cortex-m55")
        for form in FORMATS:
            out = said(capfd, "lint", *common, "--min-level", "note", "--output-format", form, *more, "--", path)
            assert len(out) > 100
            check_output(form, out)
        for command in ("layers", "memory", "widths"):
            check_lines(said(capfd, command, *common, "--", path))
            check_json(said(capfd, command, *common, "--output-format", "json", "--", path))
        check_lines(said(capfd, "compare", *common, "--", path, other))
        check_json(said(capfd, "compare", *common, "--output-format", "json", "--", path, other))
        check_markdown(said(capfd, "compare", *common, "--output-format", "markdown", "--", path, other))
        said(capfd, "report", *common, "-o", "page.html", "--", path)
        page = Page()
        page.feed(Path("page.html").read_text(encoding="utf-8"))
        assert page.tags.count("script") == 1 and not [address for address in page.addresses if "javascript" in address]
        check_lines(said(capfd, "widths", *common, "--plot", "--", path))
        check_lines(said(capfd, "--show-files", "--isolated", "--", working))


def hostile_tflite(drawn: dict[str, str]) -> bytes:
    """A `.tflite` file with the names that were drawn in every place that has one."""
    model = conv_model(description=drawn["graph"])
    (subgraph,) = model["subgraphs"]
    subgraph["name"] = drawn["graph"]
    for stored in subgraph["tensors"]:
        stored["name"] = drawn["tensor"] + stored["name"]
    model["metadata"][0]["name"] = drawn["node"]
    signature = model["signature_defs"][0]
    signature["signature_key"], signature["inputs"][0]["name"] = drawn["op"], drawn["node"]
    model["operator_codes"].append(operator_code("CUSTOM", custom_code=drawn["op"] or "odd"))
    subgraph["tensors"].append(tensor(drawn["node"], [1, 5, 3, 4]))
    subgraph["operators"].append({"opcode_index": 1, "inputs": [2], "outputs": [3]})
    return write(model)


@settings(max_examples=draws(12, 4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(MODELS, st.sampled_from(["--diff", "--fix"]))
def test_nothing_acts_in_fixes_overlays_or_names_of_a_tflite_file(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, drawn: dict[str, str], change: str
) -> None:
    with tempfile.TemporaryDirectory() as working, monkeypatch.context() as moved:
        moved.chdir(working)
        common = ("--isolated", "--target", "cortex-m55")
        path, lite = f"{drawn['file']}.onnx", f"{drawn['file']}.tflite"
        Path(lite).write_bytes(hostile_tflite(drawn))
        for form in FORMATS:
            check_output(form, said(capfd, "lint", *common, "--min-level", "note", "--output-format", form, "--", lite))
            Path(path).write_bytes(hostile_model(drawn))
            check_output(form, said(capfd, "lint", *common, change, "--output-format", form, "--", path))
        for command in ("layers", "memory", "widths"):
            check_lines(said(capfd, command, *common, "--", lite))
            check_json(said(capfd, command, *common, "--output-format", "json", "--", lite))
        for model in (path, lite):
            said(capfd, "report", *common, "-o", "page.html", "--", model)
            page = Page()
            page.feed(Path("page.html").read_text(encoding="utf-8"))
            assert page.tags.count("script") == 1 and not [
                address for address in page.addresses if "javascript" in address
            ]
            said(capfd, "report", *common, "--overlay", "model-explorer", "-o", "overlay.json", "--", model)
            check_json(Path("overlay.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("mark", [">", ">a", "  > a", "-", "- a", "---", "- - -", "+", "+ a", "1. a", "12) a", "0."])
def test_no_name_begins_a_quotation_a_list_or_a_rule(mark: str) -> None:
    """As CommonMark 0.31 has them: 4.1, 5.1, 5.2. A backslash in front of the mark makes it text."""
    escaped = markdown(mark)
    assert escaped.replace("\\", "") == mark
    assert re.match(r" *[0-9]*\\[-+>.)]", escaped)


@pytest.mark.parametrize("words", ["4 -> 8", "-2.1%", "+0.0%", "1.5 a", "--trace"])
def test_marks_inside_a_line_stay_as_they_are(words: str) -> None:
    assert (markdown(words), markdown(f"of {words}")) == (words, f"of {words}")


@pytest.mark.parametrize("width", [40, 41, 63])
def test_a_name_that_is_broken_at_a_percent_sign_keeps_its_space(width: int) -> None:
    name = f"{'x' * (width - 3)}|0 %"
    assert wrapped(name, width).replace("\n    ", "") in (name, name.replace(" ", ""))
    check_lines(wrapped(name, width))


@given(names | st.text())
def test_each_function_leaves_nothing_that_acts(name: str) -> None:
    check_lines(printable(name))
    assert printable(printable(name)) == printable(name)
    for width in (40, 41, 63):
        check_lines(wrapped(f"{'x' * (width - 3)}{name}", width))
    check_lines(f"::error file={annotation_property(name)},title=t::{annotation(name)}", annotations=True)
    check_markdown(f"a {markdown(name)} b {markdown_code(name)} c")
    root = ET.fromstring(f'<a b="{markup(name)}">{markup(name)}</a>')
    assert (root.text or "", root.get("b"), len(root)) == (printable(name), printable(name), 0)
    assert "](" not in sarif_text(name)
    check_json(json_text({name: [name]}))
    whole = not any("\ud800" <= c <= "\udfff" for c in name)
    read = tomllib.loads(f"a = {toml_string(name)}")["a"]
    assert not whole or read == name
