"""firmware_check sources: every citation of the knowledge base read again in a source tree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.legacy.cmsis_5 import open_any
from firmware_check.options import CheckParser, say
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of
from onnxlint_cmsis.cmsis_nn.delegations import DELEGATIONS
from onnxlint_cmsis.cmsis_nn.entry_points import ENTRY_POINTS
from onnxlint_cmsis.cmsis_nn.families import FLOAT, LEGACY, family_of
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.releases import holds, older
from onnxlint_cmsis.cmsis_nn.rows import Branch, Origin, Wrapper
from onnxlint_cmsis.cmsis_nn.tables import ENTRIES, FLOAT_ENTRIES, LEGACY_ENTRIES, all_hazards, wrapper_for
from onnxlint_cmsis.cmsis_nn.terms import c_name
from onnxlint_cmsis.output.plain import printable

if TYPE_CHECKING:
    from pathlib import Path

    from firmware_check.library import Library


# C source as text: without comments, functions, and the statement that begins on a line.


_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_MOST_LINES = 14
"""Lines that a statement may take."""


class CSource(NamedTuple):
    """One file, comments blanked so that lines stay where they are."""

    lines: tuple[str, ...]
    """Text of each line, the first one's index 0."""

    def statement(self, line: int) -> str:
        """What begins on a line, if anything: up to the `;` or `{` that ends it, or to the bracket that closes it."""
        lines: list[str] = []
        depth = 0
        if not self.lines[line - 1].strip():
            return ""
        for text in self.lines[line - 1 : line - 1 + _MOST_LINES]:
            lines.append(text.strip())
            depth += text.count("(") - text.count(")")
            if depth <= 0 and (text.rstrip().endswith((";", "{", ")")) or text.strip() == "else"):
                break
        return " ".join(lines)

    def block(self, line: int) -> str:
        """A statement with the block in braces behind it, up to the brace that closes it."""
        lines: list[str] = []
        depth = 0
        for text in self.lines[line - 1 :]:
            lines.append(text.strip())
            depth += text.count("{") - text.count("}")
            if depth <= 0 and (text.strip().startswith("}") or text.rstrip().endswith(";")):
                break
        return " ".join(lines)

    def behind(self, line: int, count: int) -> str:
        """So many lines from a line on."""
        return " ".join(line.strip() for line in self.lines[line - 1 : line - 1 + count])

    def function(self, name: str) -> list[int]:
        """Lines of a function's definitions, one for each build, or of a macro's; none where the file has neither."""
        numbers: list[int] = []
        for number, text in enumerate(self.lines, start=1):
            if re.match(rf"\s*#\s*define\s+{name}\b", text):
                numbers += range(number, self._macro_end(number) + 1)
            elif re.search(rf"\b{name}\s*\(", text) and text[:1] not in " \t#" and self._defines(number):
                numbers += range(number, self._end(number) + 1)
        return numbers

    def _macro_end(self, line: int) -> int:
        """Last line of a macro, which backslashes continue."""
        while self.lines[line - 1].rstrip().endswith("\\"):
            line += 1
        return line

    def _defines(self, line: int) -> bool:
        """Whether a body follows the brackets that open on a line."""
        text = " ".join(self.lines[line - 1 : line + 29])
        depth = 0
        for index, sign in enumerate(text):
            depth += (sign == "(") - (sign == ")")
            if sign == ")" and depth == 0:
                return text[index + 1 :].lstrip().startswith("{")
        return False

    def _end(self, line: int) -> int:
        """Line of the `}` in the first column that ends a function."""
        return next((n for n in range(line, len(self.lines)) if self.lines[n].startswith("}")), len(self.lines) - 1) + 1


def c_source(text: str) -> CSource:
    """A file's text without its comments."""
    blank = _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)
    return CSource(tuple(blank.split("\n")))


# Every place in CMSIS-NN's source that a row of the tables rests on.


CALLED_AS = {"arm_convolve_wrapper_s8": "arm_depthwise_conv_to_conv_s8"}
"""Kernel of a branch to the static function that calls it there."""
GUARDS = ("ARM_MATH_MVEI", "ARM_MATH_DSP", "ARM_CMSIS_NN_ARG_ERROR", "ARM_CMSIS_NN_FAILURE")
"""Words of a line that stands for a build or an error."""
HAZARD_WORDS: dict[str, tuple[str, ...]] = {
    "arm_convolve_1_x_n_s8": ("ARM_MATH_MVEI", "im2col", "num_elem_right"),
    "arm_maximum_s8": ("input_1_ptr",),
    "arm_minimum_s8": ("input_1_ptr",),
    "arm_transpose_conv_s8": ("skip_rows_top",),
    "arm_transpose_s8_nhcw": ("src_rows", "src_cols"),
    "arm_transpose_s8": ("perm",),
    "arm_lstm_unidirectional_s8": ("hidden_in",),
    "arm_lstm_unidirectional_s16": ("hidden_in",),
    "arm_nn_mat_mult_kernel_s16": ("num_col_a", "num_col_a_fast", "col_count"),
    "arm_convolve_s8": ("bias_data_ptr", "output_ch_per_group"),
    "arm_depthwise_conv_s8_opt": ("col_buffer", "bias"),
    "arm_depthwise_conv_s4_opt": ("lower_nibble_mask",),
    "arm_convolve_wrapper_s8": ("arm_convolve_1x1_s8_fast", "conv_params", "arm_nn_is_convolve_1x1"),
    "arm_convolve_wrapper_s16": ("arm_convolve_s16", "arm_convolve_fast_s16", "conv_params", "ARM_MATH_DSP"),
    "arm_convolve_wrapper_s4": ("conv_params", "arm_nn_is_convolve_1x1"),
    "arm_convolve_1x1_s8": ("arm_nn_mat_mult_nt_t_s8",),
    "dot_nt_t_f16_scalar": ("acc",),
}
"""What the line of a hazard has where it is no condition on a size: the statement that goes wrong, by function."""

FLOAT_WORDS: dict[str, tuple[str, ...]] = {
    "arm_convolve_nhwc": ("w_oc",),
    "arm_convolve_1_x_n_nhwc": ("arm_nn_mat_mult_nt_t_*",),
    "arm_convolve_1_x_n_pack_rows": ("left_pad_cols",),
    "arm_nn_conv1d_k3_nhwc": ("x0",),
    "arm_nn_conv1d_k3_packed": ("block_cols",),
    "arm_transpose_conv_nhwc": ("pad_off_h",),
    "arm_nn_depthwise_conv1d_k3_nhwc": ("x0",),
    "arm_nn_depthwise_conv2x5_nhwc": ("row0",),
    "depthwise_conv3x3_nhwc_valid": ("x0",),
    "arm_batch_matmul": ("inner_rhs_diff",),
    "arm_nn_maxpool1d_k2s2_nhwc_noclip": ("x0",),
    "arm_maximum": ("arm_minmax_*_impl",),
    "arm_minimum": ("arm_minmax_*_impl",),
    "arm_lstm_unidirectional": ("cell_state",),
    "arm_pad": ("pre_pad",),
    "arm_nn_activation": ("arm_nn_apply_activation_type_*",),
    "arm_nn_lstm_activate_gate": ("arm_nn_tanh_scalar_ref_*",),
    "arm_avg_pool": ("v_sum",),
    "arm_softmax": ("arm_nn_softmax_exp_scalar_*",),
}
"""The same for functions for f32 and f16, by the name without the type; * stands for it."""

FAULT_WORDS: dict[str, tuple[str, ...]] = {
    "padding-after": ("i_out_y",),
    "padding-beyond-output": ("padding", "padding_y"),
    "odd-output": ("i_out_x",),
    "in-place": ("memmove", "arm_q7_to_q15_no_shift"),
    "8-bit-index": ("in_row",),
    "16-bit-size": ("uint16_t",),
    "unaligned-store": ("arm_q7_to_q15_no_shift",),
}
"""Words of the statement that goes wrong in functions for q7 and q15, by a part of the row's name."""


class Citation(NamedTuple):
    """One statement of a row about one file of a release."""

    row: str
    """The row, as its reader finds it: `routes/convolve_s8: arm_convolve_1x1_s8_fast`."""
    file: str
    """Path inside the repository; a folder where any file of it may have the function."""
    function: str
    """C function or macro."""
    line: int
    """Line recorded for this release; 0 where none is."""
    asks: Condition
    """What stands on that line; TRUE for an `else`, a call or a definition."""
    calls: str = ""
    """Function that is called on the line or behind it."""
    params: str = ""
    """Name of the parameter struct where the line names arguments as the row does; empty inside kernels."""
    nested: bool = False
    """Whether the row's whole condition stands in outer tests, so that the line only leads to the call."""
    words: tuple[str, ...] = ()
    """Words of which the line has one, where it is no condition."""
    whole: bool = False
    """Whether the line has every variable of the condition, under the names of the functions for q7 and q15."""


def citations(release: str) -> Iterator[Citation]:
    """All of one release, in the order of the tables; of functions for f32 and f16 sizes and hazards alone."""
    for entry in (*ENTRIES, *LEGACY_ENTRIES, *FLOAT_ENTRIES):
        wrapper = wrapper_for(entry)
        if wrapper is not None:
            yield from _of_wrapper(wrapper, release)
    for point in ENTRY_POINTS:
        if holds(point.since, point.until, release) and family_of(point.entry) is not FLOAT:
            for function in _variants(point.function):
                path = point.path.replace(point.function, function)
                yield Citation(f"entry_points: {point.entry}", path, function, 0, TRUE)
    for row in DELEGATIONS:
        if row.origin.spans(release):
            name = f"delegations: {row.kernel} -> {row.callee}"
            yield _cite(name, row.origin, release, row.when)._replace(
                words=(row.callee, *GUARDS, *(["if"] if row.static else []))
            )
    for hazard in all_hazards():
        if hazard.origin.spans(release) and family_of(hazard.entries[0]) is LEGACY:
            yield _of_legacy_hazard(hazard, release)
        elif hazard.origin.spans(release):
            stem, _, kind = hazard.origin.function.rpartition("_")
            named = tuple(word.replace("*", kind) for word in FLOAT_WORDS.get(stem, ()))
            known = named if kind in FLOAT.types else HAZARD_WORDS.get(hazard.origin.function, ())
            words = GUARDS if hazard.kind == "returns-error" else known
            yield _cite(f"hazards: {hazard.id}", hazard.origin, release, hazard.when)._replace(words=words)


def _of_legacy_hazard(hazard: Hazard, release: str) -> Citation:
    """A check with all that it asks, or the statement that goes wrong without one."""
    cited = _cite(f"hazards: {hazard.id}", hazard.origin, release, hazard.when)
    words = next((words for fault, words in FAULT_WORDS.items() if fault in hazard.id), ())
    return cited._replace(whole=not words) if not words else cited._replace(asks=TRUE, words=words)


def _of_wrapper(wrapper: Wrapper, release: str) -> Iterator[Citation]:
    name = f"routes/{wrapper.entry}"
    for branch in wrapper.branches:
        if branch.origin.spans(release) and family_of(wrapper.entry) is not FLOAT:
            yield from _of_branch(f"{name}: {branch.kernel}", branch, wrapper, release)
    for kind, sizes in (("sizes", wrapper.sizes), ("reverse_sizes", wrapper.reverse_sizes)):
        for size in sizes:
            if size.origin.spans(release):
                cited = _cite(f"{name}: {kind}, {size.origin.function}", size.origin, release, TRUE)
                yield cited._replace(words=SIZE_WORDS if family_of(wrapper.entry) is FLOAT else ())


def _of_branch(name: str, branch: Branch, wrapper: Wrapper, release: str) -> Iterator[Citation]:
    """The line with the rest of the condition, and each outer test's."""
    tests = [test for test in branch.tests if test.lines or family_of(wrapper.entry) is not LEGACY]
    outer = [part for test in branch.tests for part in (test.when, *test.when.parts)]
    rest = all_of(*(part for part in (branch.when.parts or (branch.when,)) if part not in outer))
    own = _cite(name, branch.origin, release, rest)
    alone = branch.origin.function == branch.kernel  # no wrapper yet: the kernel itself is called
    called = CALLED_AS.get(branch.kernel, branch.kernel)
    if alone and family_of(wrapper.entry) is LEGACY and rest != TRUE:
        yield own._replace(whole=True)
    elif alone:
        yield own._replace(asks=TRUE, words=(branch.kernel,))
    else:
        yield own._replace(calls=called, params=wrapper.params, nested=bool(branch.tests) and rest == TRUE)
    for test in tests:
        yield own._replace(line=_line(test.lines, release), asks=test.when, params=wrapper.params)


def _cite(row: str, origin: Origin, release: str, asks: Condition) -> Citation:
    return Citation(row, origin.file, origin.function, _line(origin.lines, release), asks)


def _line(lines: Mapping[str, int], release: str) -> int:
    """The line read in this release, or in the nearest older one: rows name only releases in which it moved."""
    return next((lines[name] for name in older(release) if lines.get(name)), 0)


def _variants(function: str) -> tuple[str, ...]:
    """`arm_concatenation_s8_[wxyz]` is four functions."""
    head, bracket, letters = function.partition("[")
    return tuple(head + letter for letter in letters.rstrip("]")) if bracket else (function,)


# Compares the kernels that a wrapper calls in the source with its rows: a new branch is noticed.


_CALL = re.compile(r"\b(arm_(?!nn_|mem)\w+)\s*\(")
"""A call of a kernel. Names with arm_nn_ or arm_mem belong to support functions."""


class WrapperFunction(NamedTuple):
    """A C function whose branches are rows."""

    citation: Citation
    """Citation of the function."""
    kernels: frozenset[str]
    """What its rows call."""

    def unlisted(self, source: CSource) -> list[str]:
        """Kernels that the function calls and no row names, in the order of the source."""
        name = self.citation.function
        body = " ".join(source.lines[line - 1] for line in source.function(name))
        return [call for call in dict.fromkeys(_CALL.findall(body)) if call not in self.kernels and call != name]


def wrapper_functions(release: str) -> Iterator[WrapperFunction]:
    """Each function of a release that chooses between kernels."""
    for entry in ENTRIES:
        wrapper = wrapper_for(entry)
        if wrapper is not None:
            functions: dict[tuple[str, str], set[str]] = {}
            for branch in wrapper.branches:
                if branch.origin.spans(release) and branch.origin.function != branch.kernel:
                    cited = branch.origin.file, branch.origin.function
                    called = CALLED_AS.get(branch.kernel, branch.kernel)
                    functions.setdefault(cited, set()).update((branch.kernel, called))
            for (file, function), kernels in functions.items():
                yield WrapperFunction(Citation(f"routes/{wrapper.entry}", file, function, 0, TRUE), frozenset(kernels))


# Citations held against a tree: the file exists, the function is there, the line holds what the row says.


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

SIZE_WORDS = ("size_t", "return", "stride", "input_dims")
"""What lines have inside the functions that answer sizes for f32 and f16: each of these has several answers."""

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
    """Whether a line has what the row says of it: the condition's names, the call, or the definition."""
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
    """Whether a wrapper's line reads exactly the arguments that the row asks for; an `else` or a call reads none."""
    asked = {c_name(name, citation.params) for name in citation.asks.names()}
    if not asked:
        return bool(re.match(r"else\b|\}|return\b|\{", text)) or citation.calls in text or citation.function in text
    read = set(_ARGUMENTS.findall(text)) | {name for name in asked if name in text}
    return asked == read


def _has_its_numbers(statement: str, whole: str, citation: Citation) -> bool:
    """Whether a line compares with the numbers of the row: macros have theirs elsewhere, `if (a)` has no 0."""
    if not citation.asks.names():
        return True
    wanted = citation.asks.numbers()
    own, all_ = (
        {int(number) for number in _NUMBER.findall(text.replace("& 0x1", "% 2"))} for text in (statement, whole)
    )
    return wanted - all_ <= {0} and own <= wanted


# `python -m firmware_check sources --cmsis-nn DIR`: every cited line held against the tree.


def main(argv: list[str]) -> int:
    """Print each row that drifted; 0 where none did, 1 where some did."""
    parser = CheckParser(prog="firmware_check sources", description=__doc__, allow_abbrev=False)
    parser.add_argument("--cmsis-nn", required=True, metavar="DIR", help="checkout of CMSIS-NN, or of CMSIS 5")
    args = parser.parse_args(argv)
    library = open_any(args.cmsis_nn)
    results = list(audit(library))
    drifts = [drift for _, drift in results if drift]
    lines = [printable(str(drift)) for drift in drifts]
    with_line = sum(1 for citation, _ in results if citation.line)
    rows = len({citation.row for citation, _ in results})
    said = f"{len(results)} citations of {rows} rows, {with_line} with a line; {len(drifts)} drifted"
    say("".join(f"{line}\n" for line in [*lines, f"CMSIS-NN {library.release}: {said}"]))
    return 1 if drifts else 0
