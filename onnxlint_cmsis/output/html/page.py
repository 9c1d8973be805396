"""The page: all of it in the template, with a policy that lets nothing in from outside."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.arena_ways import PLAN
from onnxlint_cmsis.analysis.grouped import brief_text, grouped
from onnxlint_cmsis.analysis.short_names import WIDEST, cut
from onnxlint_cmsis.analysis.verdict_text import cpu_of, lines_of
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.output.comparison import difference
from onnxlint_cmsis.output.concise import STYLES
from onnxlint_cmsis.output.foreign_text import markup
from onnxlint_cmsis.output.full import explanation, what_to_do
from onnxlint_cmsis.output.host_rows import HOSTS, HostTable, host_table
from onnxlint_cmsis.output.html.arena_curve import arena_curves, curve_svg
from onnxlint_cmsis.output.html.bars import bar, kernel_bar
from onnxlint_cmsis.output.html.before_and_after import compared_page
from onnxlint_cmsis.output.html.figures import figures
from onnxlint_cmsis.output.html.graph import graph_rows
from onnxlint_cmsis.output.html.layer_table import kernel_colors, layer_table
from onnxlint_cmsis.output.html.memory_map import memory_svg
from onnxlint_cmsis.output.html.rails import class_words, rail_svg, rail_width, ways
from onnxlint_cmsis.output.html.report_input import MOST, ReportInput
from onnxlint_cmsis.output.layer_words import sizes_text
from onnxlint_cmsis.output.measured import measured_cells, measured_words
from onnxlint_cmsis.output.shown_names import in_short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import jinja2

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.dimensions import DimensionClass
    from onnxlint_cmsis.analysis.measured_layers import MeasuredModel
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.runtimes.memory_report import MemoryReport


TEMPLATES = Path(__file__).parent.parent / "templates"
POLICY = "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'"
"""Content-Security-Policy: the page's own style sheet and script, and nothing else."""


OPTION = re.compile(r"--[a-z][a-z-]*")
"""What a browser may not break, though it has hyphens."""
LIST_BREAK = re.compile(r"(?<=[,=])(?=[^\W\d])")
"""Where a browser breaks a list without spaces; people paste it."""
NAMED = 6
"""Layers that the table of classes names; the drawing shows all."""


def render_page(
    given: ReportInput, against: ReportInput | None = None, *, measured: MeasuredModel | None = None
) -> str:
    """The page of a model with what was measured; `against` is the version before. Raises UsageError without jinja2."""
    require_jinja2()
    environment = _environment()
    from markupsafe import Markup

    result, names, graph = given.version.result, given.names, graph_rows(given)
    versions = [(version, when) for version, when in ((against, "before"), (given, "after")) if version]
    colors = kernel_colors(layer for version, _ in versions for layer in version.version.layers.layers)
    findings, drawn, classes = grouped(result.told), ways(graph), given.model.dimensions.classes[:MOST]
    table = layer_table(given, findings, colors)
    style = _style(len(table.columns), rail_width(drawn), classes)
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    return environment.get_template("report.html.j2").render(
        _functions(names),
        title=Path(given.model.path).name,
        path=given.version.name,
        version=__version__,
        policy=POLICY.format(*hashes),
        style=Markup(style),
        script=Markup(script),
        verdicts=[(line.verdicts[0].word, line.text(names)) for line in lines_of(result.verdicts)],
        styles=STYLES,
        notes=result.notes,
        findings=findings,
        quiet=[
            finding for finding in findings if finding.level is Level.NOTE and not (finding.decides or finding.asks)
        ],
        targets=[target.label for target in given.model.settings.targets],
        boundary=given.version.layers.boundary,
        figures=figures(result.summary),
        layers=table,
        measured=measured,
        measured_cells=measured_cells(measured, names) if measured else [],
        measured_words=measured_words(measured) if measured else [],
        desktop=_desktop(given.model),
        desktop_title=HOSTS,
        maps=[entry for version, when in versions for entry in _maps(version, when if against else "")],
        curves=arena_curves(given.smaller),
        application=_application(given),
        graph=graph,
        undrawn=max(0, len(given.model.lowered.records) - MOST),
        classes=classes,
        compared=compared_page(difference(against.version, given.version), colors) if against else None,
        names=names,
        most=MOST,
        rail=lambda number: Markup(rail_svg(drawn, graph, number, names)),
    )


def _functions(names: Mapping[str, str]) -> dict[str, Callable[..., object]]:
    """Functions that the template calls; `names` are short names of layers."""
    from markupsafe import Markup

    def called(name: str) -> str:
        return names.get(name) or cut(name, WIDEST)

    def advice(finding: Finding, *, brief: bool = False) -> Markup:
        told = markup(in_short(what_to_do(finding, brief=brief), names))
        return Markup(OPTION.sub(r'<span class="option">\g<0></span>', told))

    return {
        "numbered": lambda items: [*enumerate(items)],
        "called": called,
        "first": lambda layers: _first(called(layer.label) for layer in layers),
        "cpus": lambda labels: ", ".join(map(cpu_of, labels)),
        "unbroken": lambda cpus: Markup(
            ", ".join(f'<span class="cpu">{markup(cpu)}</span>' for cpu in cpus.split(", "))
        ),
        "short": lambda text: in_short(text, names),
        "listed": lambda text: Markup(LIST_BREAK.sub("<wbr>", markup(in_short(text, names)))),
        "brief": brief_text,
        "advice": advice,
        "explanation": explanation,
        "class_words": class_words,
        "sizes": sizes_text,
        "bar": lambda *given: Markup(bar(*given)),
        "kernel_bar": lambda column: Markup(kernel_bar(column)),
        "memory_svg": lambda *given: Markup(memory_svg(*given)),
        "curve_svg": lambda points: Markup(curve_svg(points)),
    }


def _desktop(model: ModelAnalysis) -> HostTable | None:
    """What the layers may be off in runtimes of a desktop; None where no layer has a bound, as in a float model."""
    hosts = model.against_hosts
    bounds = [layer.bound.steps for comparison in hosts for layer in comparison.layers]
    return None if all(steps is None for steps in bounds) else host_table(hosts)


def _style(columns: int, rails: int, classes: Iterable[DimensionClass]) -> str:
    """The style sheet, with what depends on the page.

    That is the width below which the columns of layers do not fit side by side, room for connections, and rules that
    show all members of a channel class at which somebody points.
    """
    marks = (f".k{group.id}" for group in classes)
    shown = "{stroke-width:6;box-shadow:0 0 0 3px currentColor}"
    return "\n".join(
        (
            (TEMPLATES / "report.css").read_text(encoding="utf-8").replace("COLUMNS", str(240 + 220 * columns)),
            f".rows li{{padding-left:{rails}px}}",
            *(f".graph:has({mark}:hover,{mark}:focus-visible) {mark}{shown}" for mark in marks),
        )
    )


MemoryMap = tuple[str, "MemoryReport", "Mapping[str, str]", int]
"""Heading, arena, short names in it, and the address at the top of the drawing."""


def _maps(given: ReportInput, when: str) -> list[MemoryMap]:
    """The arenas, of each target first as it is, then as it could be; all of a version on one scale."""
    planned = [way for way in given.smaller[1:2] if way.ways == (PLAN,)]
    ways = [*planned, *(way for way in given.smaller[-1:] if way not in planned)]
    top = max((report.arena.head for report in given.memory if report.arena), default=0)
    maps = [*_groups(given.memory, f"{when} {'as it is' if ways else ''}".strip(), given.names, top)]
    for way in ways:
        maps += _groups([on.memory for on in way.targets], f"{when} {way.text}".strip(), way.names, top)
    order = [report.target for report in given.memory]
    return sorted(maps, key=lambda entry: order.index(entry[1].target))


def _groups(memory: Iterable[MemoryReport], when: str, names: Mapping[str, str], top: int) -> Iterator[MemoryMap]:
    """Equal ones of several targets once, under their targets where they differ."""
    groups: dict[object, list[MemoryReport]] = {}
    for report in memory:
        drawn = report.arena and (report.arena.plan, report.arena.alive, report.arena.head)
        groups.setdefault((drawn, report.reason), []).append(report)
    for reports in groups.values():
        cpus = ", ".join(cpu_of(report.target) for report in reports) if len(groups) > 1 else ""
        yield f"{cpus} {when}".strip(), reports[0], names, top


def _application(given: ReportInput) -> list[str]:
    """The C++ of an application of TensorFlow Lite Micro, line by line."""
    from onnxlint_cmsis.output.tflm_cpp import application_lines

    arenas = {part.target: part.arena.to_write for part in given.memory if part.arena and not part.arena.basis}
    return application_lines(given.model.execution.resolver, arenas)


def _first(layers: Iterable[str]) -> str:
    """Some of the layers, and how many more there are."""
    every = list(dict.fromkeys(layers))
    return ", ".join(every if len(every) <= NAMED + 1 else [*every[:NAMED], f"{len(every) - NAMED} more"])


def require_jinja2() -> None:
    """Raise UsageError without jinja2."""
    if find_spec("jinja2") is None:
        raise UsageError("the report needs jinja2: pip install 'onnxlint-cmsis[report]'")


@cache
def _environment() -> jinja2.Environment:
    """Where the template is found, compiled once for all pages of a process; `markup` escapes all texts in it."""
    import jinja2
    from markupsafe import Markup

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: Markup(markup(value)) if type(value) is str else value,
    )
