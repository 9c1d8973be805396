"""Runs a page of the docs as its reader would: writes its files, types its commands, and compares what they print.

* A block with `title="NAME"` is a file, which the reader saves.
* Other `python` and `pycon` blocks are typed into one Python.
* A `console` block has commands behind `$ ` and what they print. A line `...` stands for any lines, `...` in a line
  for any characters. Commands run in a new folder beside `examples` and `scripts` of a clone, in 80 columns.
* `<!-- needs: THINGS -->` above a block names what the machine must have for it: `torch` (a Python module),
  `gcc-12.2` (that version of arm-none-eabi-gcc), `qemu-system-arm` (a program), `models/PATH` (a file beside the
  project, which is copied), `image/app.elf` (firmware of a Cortex-M4 with CMSIS-NN at -O0, which is built).
  `, otherwise PATH` is a file of the project to take instead of running the block.

UPDATE_DOCS=1 writes what the commands print into the page.
"""

from __future__ import annotations

import contextlib
import difflib
import doctest
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from support import built_images, paths
from support.firmware_runs import LEFT_OUT

BLOCK = re.compile(
    r"(?:^<!-- needs: (?P<needs>[^>]*?) -->\n)?"
    r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LINTER = re.compile(r"onnxlint-cmsis (?:[^|<>&;$`*~\n]|\\\n)*")
"""A command of the linter that needs no shell."""
IMAGE = "image/app.elf"
WAIT = 300
"""Seconds that one command may take."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    title: str
    """Name of the file that the block is, or an empty text."""
    needs: tuple[str, ...]
    otherwise: str
    """File of the project that stands for what the block makes where its needs are not met, or an empty text."""
    text: str
    start: int
    """Where the text begins in the page."""

    @property
    def missing(self) -> list[str]:
        """What the block needs and the machine does not have."""
        return [need for need in self.needs if not available(need)]


@dataclass(frozen=True)
class Typed:
    """A command of a console block."""

    command: str
    wanted: str
    """What the page says that it prints."""
    start: int
    """Where the output begins in the page."""


def blocks(page: str) -> list[Block]:
    """All blocks of a page in order."""
    parts = []
    for match in BLOCK.finditer(page):
        needs, _, otherwise = (match["needs"] or "").partition(", otherwise ")
        text = (match["title"] or "", tuple(needs.split()), otherwise, match["text"], match.start("text"))
        parts.append(Block(match["language"], *text))
    return parts


def commands(block: Block) -> Iterator[Typed]:
    """The commands of a console block; a line that ends in a backslash goes on in the next one."""
    for match in re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        yield Typed(match[1], match[2], block.start + match.start(2))


def available(need: str) -> bool:
    """Whether the machine has what a block needs."""
    if need.startswith("models/"):
        return (paths.SHARED / need).exists()
    if need == IMAGE:
        return not built_images.MISSING
    if need.startswith(("gcc-", "qemu-")) and LEFT_OUT:
        return False
    if need.startswith("gcc-"):
        return gcc_version().startswith(need.removeprefix("gcc-"))
    return shutil.which(need) is not None or ("-" not in need and find_spec(need) is not None)


def gcc_version() -> str:
    """Version of the cross compiler, or an empty text."""
    if shutil.which("arm-none-eabi-gcc") is None:
        return ""
    return subprocess.run(["arm-none-eabi-gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout


def matches(wanted: str, got: str) -> bool:
    """Whether a page's output stands for what was printed."""
    lines = [re.escape(line.rstrip()).replace(r"\.\.\.", ".*") for line in wanted.rstrip().splitlines()]
    pattern = "".join("(?:.*\n)*" if line == ".*" else f"{line}\n" for line in lines)
    text = "".join(f"{line.rstrip()}\n" for line in got.rstrip().splitlines())
    return re.fullmatch(pattern, text) is not None


def reader_folder(folder: Path) -> dict[str, str]:
    """The environment of a reader whose work lies in a folder, with the project installed and a clone at hand."""
    tools = folder / ".bin"
    tools.mkdir()
    for name, words in (("python", ""), ("onnxlint-cmsis", "-m onnxlint_cmsis ")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    for name in ("examples", "scripts"):
        (folder / name).symlink_to(paths.ROOT / name)
    return {
        **{key: value for key, value in os.environ.items() if key != "NO_COLOR"},
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(paths.ROOT),
        "COLUMNS": "80",
    }


def printed(command: str, folder: Path, env: dict[str, str]) -> str:
    """What a command prints; an exit code other than 0 and 1 is part of it."""
    text, code = _in_this_process(command) if LINTER.fullmatch(command) else _in_a_shell(command, folder, env)
    return text if code in (0, 1) else f"{text}exit code {code}\n"


def _in_a_shell(command: str, folder: Path, env: dict[str, str]) -> tuple[str, int]:
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=env, check=False, text=True, encoding="utf-8",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT,
    )  # fmt: skip
    return done.stdout, done.returncode


def _in_this_process(command: str) -> tuple[str, int]:
    """A command of the linter without starting Python anew, which takes longer than most commands."""
    _, *words = shlex.split(command.replace("\\\n", " "))
    kept = io.BytesIO()
    out = io.TextIOWrapper(kept, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = main(words)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return kept.getvalue().decode(), code


@contextlib.contextmanager
def reading_in(folder: Path) -> Iterator[None]:
    """This process in a folder and in a terminal of 80 columns."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "80")
            patch.delenv("NO_COLOR", raising=False)
            yield
    finally:
        os.chdir(before)


def prepare(block: Block, folder: Path) -> bool:
    """Whether a block can run; lays down what it needs, or what stands for it."""
    if block.missing:
        if block.otherwise:
            shutil.copy(paths.ROOT / block.otherwise, folder)
        return False
    for need in block.needs:
        if need.startswith("models/"):
            shutil.copy(paths.SHARED / need, folder)
        elif need == IMAGE:
            with tempfile.TemporaryDirectory() as build:
                shutil.copy(built_images.built(Path(build), f"{built_images.M4} -O0"), folder)
    return True


def typed_in(block: Block, name: str, names: dict[str, object]) -> list[str]:
    """What differs where a block is typed into Python; `names` holds what is known there from block to block."""
    told: list[str] = []
    if block.language == "python":
        exec(block.text, names)
    else:
        test = doctest.DocTestParser().get_doctest(block.text, names, name, name, 0)
        doctest.DocTestRunner().run(test, out=told.append, clear_globs=False)
        names.update(test.globs)
    return ["".join(told)] if told else []


def run_page(path: Path, folder: Path) -> list[str]:
    """Do all that a page says; one text for each command that prints something else than the page has."""
    with reading_in(folder):
        differences, updates, page = _run(path, folder)
    if os.environ.get("UPDATE_DOCS"):
        update(path, page, updates)
    return differences


def _run(path: Path, folder: Path) -> tuple[list[str], list[tuple[Typed, str]], str]:
    """What differs, the outputs that do with their commands, and the page."""
    page = path.read_text(encoding="utf-8")
    env = reader_folder(folder)
    names: dict[str, object] = {}
    differences, updates = [], []
    for block in blocks(page):
        if block.title:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text, encoding="utf-8")
        if block.language in ("python", "pycon") and not block.title:
            differences += typed_in(block, path.name, names)
        if block.language != "console" or not prepare(block, folder):
            continue
        for typed in commands(block):
            got = printed(typed.command, folder, env)
            if not matches(typed.wanted, got):
                differences.append(f"$ {typed.command}\n--- {path.name} has\n{typed.wanted}--- it prints\n{got}")
                updates.append((typed, got))
    return differences, updates, page


def update(path: Path, page: str, updates: list[tuple[Typed, str]]) -> None:
    """Write new outputs into a page. Between lines `...` stand the lines that are most like those that stood there."""
    for typed, got in reversed(updates):
        old, new = typed.wanted.splitlines(), [line.rstrip() for line in got.rstrip().splitlines()]
        if "..." in old:
            new = _renewed(old, new)
        if len(old) == len(new):
            new = [before if matches(before, after) else after for before, after in zip(old, new, strict=True)]
        page = page[: typed.start] + "".join(f"{line}\n" for line in new) + page[typed.start + len(typed.wanted) :]
    path.write_text(page, encoding="utf-8")


def _renewed(old: list[str], new: list[str]) -> list[str]:
    """The lines of an output with gaps, as the new output has them."""
    result: list[str] = []
    start = 0
    for gap, run in itertools.groupby(old, "...".__eq__):
        lines = list(run)
        if gap:
            result.append("...")
            continue
        starts = range(start, len(new) - len(lines) + 1)
        best = max(starts, key=lambda first: _likeness(lines, new[first : first + len(lines)]), default=None)
        if best is None:
            return old
        result += new[best : best + len(lines)]
        start = best + len(lines)
    return result


def _likeness(old: list[str], new: list[str]) -> float:
    return sum(difflib.SequenceMatcher(None, *pair).ratio() for pair in zip(old, new, strict=True))
