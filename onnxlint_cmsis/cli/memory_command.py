"""`onnxlint-cmsis memory FILE`: the arena that a model takes, part by part."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.analysed_file import analysed, verdict_head
from onnxlint_cmsis.cli.discovery import STDIN, models_of, standard_input
from onnxlint_cmsis.cli.options import CommandParser, add_keys, configuration
from onnxlint_cmsis.cli.output_options import add_form, add_full_names
from onnxlint_cmsis.cli.terminal import columns
from onnxlint_cmsis.formats.format import Format, format_of
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.output.foreign_text import counted, json_text
from onnxlint_cmsis.output.text_table import TableFit, fitted
from onnxlint_cmsis.output.tflm_cpp import application_text, resolver_fields
from onnxlint_cmsis.output.wrapping import wrapped
from onnxlint_cmsis.runtimes.runtime import AUTO, runtime_notes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.runtimes.memory_report import MemoryReport, MethodMemory


DESCRIPTION = (
    "Show how many bytes of arena a model takes. Of a .tflite file it is that of TensorFlow Lite Micro, to the byte: "
    "head (planned activations and scratch), tail (what stays), and the plan with each buffer's life in operator steps "
    "and its offset, for gcc and the ARM EABI, and an arena whose start and size are multiples of 16. Of an ONNX model "
    "it is that of the plan which the firmware check builds, with scratch beside it; for a runtime a lower bound. Of a "
    ".pte file it is what the program plans, and what ExecuTorch's loader takes of its method allocator beside it."
)
VERSION = 1
KEYS = (
    "targets", "release", "api", "runtime", "compiler", "assume", "one-channel", "input-shapes", "cmsis-nn-build",
    "board", "ram", "flash",
)  # fmt: skip


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("memory", DESCRIPTION)
    text = "Model file, - for standard input."
    parser.judged.add_argument("files", nargs="+", metavar="FILE", help=text)
    add_keys(parser, KEYS)
    add_form(parser)
    add_full_names(parser)
    return parser


def run(argv: list[str]) -> int:
    """Print the arena of a model on every target; 1 where a target has none."""
    from onnxlint_cmsis.analysis.layer_names import layer_names

    args = make_parser().parse_args(argv)
    configured, shown, texts, complete = configuration(args), [], [], True
    for file in chain.from_iterable(map(models_of, args.files)):
        name, data = standard_input() if file == STDIN else (file, None)
        settings = configured.settings_for(name)
        _check_runtime(format_of(name), str(settings.raw["runtime"]))
        model = analysed(file, settings, data, name=name)
        reports = [model.execution.memory(target) for target in settings.targets]
        complete = complete and all(report.arena for report in reports)
        head = {"version": VERSION, "path": file, "runtime": settings.runtime.label}
        targets = [memory_fields(report) for report in reports]
        shown.append(
            {
                **head,
                "cmsis_nn_build": settings.cmsis_nn_build,
                "targets": targets,
                **resolver_fields(model.execution.resolver),
            }
        )
        if args.form == "text":
            headline = wrapped(_headline(settings), columns())
            names = {} if args.full_names else layer_names(model).names
            blocks = "\n".join(_text(report, names) for report in reports)
            exact = [(report.target, report.arena) for report in reports if report.arena and not report.arena.basis]
            arenas = {target: arena.to_write for target, arena in exact}
            cpp = application_text(model.execution.resolver, arenas)
            texts.append(
                f"{verdict_head(model, settings, data, full_names=args.full_names)}{headline}\n\n{blocks}{cpp}"
            )
    sys.stdout.write("\n".join(texts) if texts else json_text(shown if len(shown) > 1 else shown[0]))
    return 0 if complete else 1


def _headline(settings: Settings) -> str:
    runtime = settings.runtime
    if not runtime.judges:
        return "Activations as the firmware check lays them out; scratch lies beside them"
    build = f" Its kernels are built for {settings.cmsis_nn_build}." if runtime.reads_tflite else ""
    return f"{runtime_notes(runtime)[0]}{build}"


def _check_runtime(form: Format, text: str) -> None:
    """Raise UsageError where another runtime reads files of the format."""
    if form.interpreter and text.partition("@")[0] not in (AUTO, form.interpreter):
        own = form.interpreter
        raise UsageError(f"--runtime: memory of {form.suffix} files is worked out for {own}, not for {text}")


def memory_fields(report: MemoryReport) -> dict[str, object]:
    """The arena of a target as plain data, or why there is none."""
    plan = {"file_plan": report.plan} if report.plan else {}
    head = {"target": report.target, "status": report.status, "message": report.message, **plan}
    arena = report.arena
    if arena is None:
        return {**head, "reason": report.reason}
    return {
        **head,
        **({"basis": arena.basis} if arena.basis else {}),
        "arena_used": arena.used,
        "head": arena.head,
        "tail": arena.tail,
        "arena_needed": arena.needed,
        "arena_to_write": arena.to_write,
        "persistent": dict(arena.persistent),
        "scratch": [request._asdict() for request in arena.scratch],
        "plan": [buffer._asdict() for buffer in arena.plan],
        "alive": list(arena.alive),
        **({"method_allocator": report.method._asdict()} if report.method else {}),
    }


def _method_line(method: MethodMemory) -> str:
    if method.bytes is None:
        return f"unknown: {method.reason}"
    return f"{method.bytes:,} bytes on top, with a temporary allocator of at least {method.temporary:,}"


PLAN = ("buffer", "layer", "bytes", "first", "last", "offset")
"""Columns of the plan: the layer writes the buffer, which lives from its first step to its last."""


def _text(report: MemoryReport, names: Mapping[str, str]) -> str:
    """Sums and parts of an arena, and its plan in order of offset; `names` are short forms."""
    arena = report.arena
    if arena is None:
        told = filter(None, (f"{report.target}: no arena: {report.reason}", report.plan and f"  plan: {report.plan}"))
        return "".join(f"{wrapped(line, columns())}\n" for line in told)
    more = arena.needed - arena.used
    needed = f" ({counted(more, 'byte')} more while it plans)" if more else ""
    parts = ", ".join(f"{name} {size:,}" for name, size in arena.persistent.items())
    scratch = ", ".join(f"{names.get(request.node, request.node)}: {request.bytes:,}" for request in arena.scratch)
    whole = (
        f"arena_used {arena.used:,} bytes = head {arena.head:,} + tail {arena.tail:,}; arena_needed {arena.needed:,}"
    )
    lines = [
        f"{report.target}: {whole}{needed}; size to write {arena.to_write:,}"
        if parts
        else f"{report.target}: arena at least {arena.used:,} bytes",
        *([f"  tail: {parts}"] if parts else []),
        *([f"  method allocator: {_method_line(report.method)}"] if report.method else []),
        f"  scratch: {scratch or 'none'}",
        *([f"  plan: {report.plan}"] if report.plan else []),
        f"  most alive in step {arena.peak}: {max(arena.alive, default=0):,} bytes",
    ]
    cells = [
        [
            *(names.get(name, name) for name in (buffer.name, buffer.node)),
            *(f"{number:,}" for number in (buffer.bytes, buffer.first, buffer.last, buffer.offset)),
        ]
        for buffer in sorted(arena.plan, key=lambda buffer: (buffer.offset, buffer.first))
    ]
    fit = TableFit(columns(), {"buffer": 16, "layer": 12}, ("layer",))
    return "".join(f"{wrapped(line, columns())}\n" for line in lines) + fitted(PLAN, cells, PLAN[2:], fit)
