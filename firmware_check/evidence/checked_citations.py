"""Citations held against a tree: the file exists, the function is there, the line holds what the row says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.evidence.c_source import CSource, c_source
from firmware_check.evidence.citations import Citation, citations
from firmware_check.evidence.wrapper_kernels import wrapper_functions
from onnxlint_cmsis.cmsis_nn.terms import c_name

if TYPE_CHECKING:
    from pathlib import Path

    from firmware_check.library import Library


_NEAR = 3
"""Lines from the recorded one on in which a kernel's statement stands."""


_ARGUMENTS = re.compile(r"\b\w*(?:input|filter|output)_dims->\w+|\b\w+_params->(?:\w+\.)*\w+")
"""Arguments of a wrapper that a condition may read."""


_NAMED = re.compile(r"\b(?:arm_nn_is_\w+|[A-Z][A-Z0-9_]{6,}|\w+_(?:possible|efficient))\b")
"""Predicates, macros and local truth values, whose bodies a condition is read with."""


_NUMBER = re.compile(r"(?<![\w.])\d+\b")


LOCAL_NAMES: dict[str, tuple[str, ...]] = {
    "input_dims.n": ("input_dims->n", "input_batches", "batch", "i_batch"),
    "input_dims.h": ("input_dims->h", "input_y", "input_h", "in_h"),
    "input_dims.w": ("input_dims->w", "input_x", "input_w", "in_w"),
    "input_dims.c": ("input_dims->c", "input_ch", "in_ch", "ch_im_in", "ch_src", "channel_in"),
    "filter_dims.h": ("filter_dims->h", "kernel_y", "kernel_h"),
    "filter_dims.w": ("filter_dims->w", "kernel_x", "kernel_w"),
    "filter_dims.c": ("filter_dims->c", "kernel_ch", "groups"),
    "output_dims.h": ("output_dims->h", "output_y", "out_h"),
    "output_dims.w": ("output_dims->w", "output_x", "out_w"),
    "output_dims.c": ("output_dims->c", "output_ch", "out_ch"),
    "stride.h": ("stride.h", "stride_y"),
    "stride.w": ("stride.w", "stride_x"),
    "padding.h": ("padding.h", "pad_y"),
    "padding.w": ("padding.w", "pad_x"),
    "ctx.size": ("ctx->buf",),
    "bias": ("bias", "bias_data"),
}
"""Variable of the tables to what kernels call it."""


LEGACY_NAMES: dict[str, tuple[str, ...]] = {
    "input_dims.c": ("ch_im_in",),
    "output_dims.c": ("ch_im_out",),
    "output_dims.w": ("dim_im_out",),
    "filter_dims.h": ("dim_kernel_y",),
    "filter_dims.w": ("dim_kernel_x",),
    "padding.h": ("padding_y",),
    "padding.w": ("padding_x",),
    "stride.h": ("stride_y",),
    "stride.w": ("stride_x",),
}
"""Names of sizes in the checks of the functions for q7 and q15."""


class Drift(NamedTuple):
    """A row that the tree does not bear out."""

    citation: Citation
    """The row and where it was read."""
    problem: str
    """What is there instead."""

    def __str__(self) -> str:
        where = f"{self.citation.file}:{self.citation.line}" if self.citation.line else self.citation.file
        return f"{where} {self.citation.function}: {self.problem}; mend {self.citation.row}"


class Tree:
    """A checkout, file by file."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[str, CSource | None] = {}

    def file(self, path: str) -> CSource | None:
        """A file of the checkout; None where there is none."""
        if path not in self._files:
            full_path = self._root / path
            text = full_path.read_text(encoding="utf-8", errors="replace") if full_path.is_file() else None
            self._files[path] = None if text is None else c_source(text)
        return self._files[path]

    @cached_property
    def everywhere(self) -> dict[str, str]:
        """Function to the file that defines it."""
        paths = sorted((self._root / "Source").rglob("*.c"))
        definitions: dict[str, str] = {}
        for path in paths:
            text = path.read_text(encoding="utf-8", errors="replace")
            for name in re.findall(r"^[A-Za-z_][\w \t\*]*?\b(\w+)\s*\([^;{}]*\)\s*\{", text, re.MULTILINE):
                definitions.setdefault(name, str(path.relative_to(self._root)))
        return definitions

    def expanded(self, source: CSource, text: str) -> str:
        """A condition with the bodies of the predicates, macros and local truth values that it names behind it."""
        done: set[str] = set()
        while words := set(_NAMED.findall(text)) - done:
            done |= words
            text = " ".join([text, *(body for word in sorted(words) for body in self._bodies(source, word))])
        return text

    def _bodies(self, source: CSource, word: str) -> Iterator[str]:
        """Where a predicate, a macro or a local truth value says what it is."""
        for text in (source, *self._shared):
            numbers = text.function(word)
            if numbers:
                yield " ".join(text.lines[line - 1] for line in numbers)
        for number, line in enumerate(source.lines, start=1):
            if re.search(rf"\bbool {word} =", line):
                yield source.statement(number)

    @cached_property
    def _shared(self) -> tuple[CSource, ...]:
        """Headers and support files that define the names in conditions."""
        names = sorted((self._root / "Include").glob("*.h"))
        sources = (self.file(str(path.relative_to(self._root))) for path in names)
        return tuple(source for source in sources if source)

    def elsewhere(self, function: str) -> str:
        """Another file that has the function."""
        return self.everywhere.get(function, "")


def audit(library: Library) -> Iterator[tuple[Citation, Drift | None]]:
    """Every citation of the library's release, and the calls of each wrapper, with what is wrong with it."""
    tree = Tree(library.root)
    for function in wrapper_functions(library.release):
        source = tree.file(function.citation.file)
        new = ", ".join(function.unlisted(source)) if source else ""
        yield function.citation, Drift(function.citation, f"it calls {new}, which no row has") if new else None
    for citation in citations(library.release):
        problem = _problem(tree, citation)
        yield citation, Drift(citation, problem) if problem else None


def _problem(tree: Tree, citation: Citation) -> str:
    """What a tree says against a citation; empty where nothing."""
    if citation.file.endswith("/"):
        return "" if tree.elsewhere(citation.function) else "no file has the function"
    source = tree.file(citation.file)
    if source is None:
        return f"there is no such file{_moved(tree, citation)}"
    lines = source.function(citation.function)
    if not lines:
        return f"the function is not there{_moved(tree, citation)}"
    if not citation.line or (citation.line in lines and _holds(tree, source, citation, citation.line)):
        return ""
    others = [line for line in lines if _holds(tree, source, citation, line)]
    if others:
        nearest = min(others, key=lambda line: abs(line - citation.line))
        return f"the statement moved to line {nearest}"
    what = f"branch to {citation.calls}" if citation.calls else "statement"
    return f"the {what} changed: '{source.statement(citation.line)[:120]}'"


def _moved(tree: Tree, citation: Citation) -> str:
    path = tree.elsewhere(citation.function)
    return f"; {path} has it" if path and path != citation.file else ""


def _holds(tree: Tree, source: CSource, citation: Citation, line: int) -> bool:
    """Tell whether a line has what the row says of it: the condition's names, the call, or the definition."""
    text = source.statement(line) if line != citation.line else source.behind(line, _NEAR) + source.statement(line)
    if citation.calls and not re.search(rf"\b{citation.calls}\b", source.block(line)):
        return False
    if citation.params:
        statement = source.statement(line)
        whole = tree.expanded(source, statement)
        return citation.nested or (_asks_the_same(whole, citation) and _has_its_numbers(statement, whole, citation))
    if citation.whole:
        read = set(re.findall(r"\w+", source.statement(line)))
        return all(read & set(LEGACY_NAMES[name]) for name in citation.asks.names())
    names = {name for asked in citation.asks.names() for name in LOCAL_NAMES.get(asked, (asked,))}
    wanted = {*names, *citation.words, citation.function}
    return any(re.search(rf"\b{re.escape(word)}\b", text) for word in wanted)


def _asks_the_same(text: str, citation: Citation) -> bool:
    """Tell if a wrapper's line reads exactly the arguments that the row asks for; an `else` or a call reads none."""
    asked = {c_name(name, citation.params) for name in citation.asks.names()}
    if not asked:
        return bool(re.match(r"else\b|\}|return\b|\{", text)) or citation.calls in text or citation.function in text
    read = set(_ARGUMENTS.findall(text)) | {name for name in asked if name in text}
    return asked == read


def _has_its_numbers(statement: str, whole: str, citation: Citation) -> bool:
    """Tell whether a line compares with the numbers of the row: macros have theirs elsewhere, `if (a)` has no 0."""
    if not citation.asks.names():
        return True
    wanted = citation.asks.numbers()
    own, all_ = (
        {int(number) for number in _NUMBER.findall(text.replace("& 0x1", "% 2"))} for text in (statement, whole)
    )
    return wanted - all_ <= {0} and own <= wanted
