"""The page as text: records and drawings in the template, with a policy that lets nothing in from outside."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import UsageError
from onnxlint_cmsis.html_report.bars_svg import kernel_bar, layer_bar, swatch
from onnxlint_cmsis.html_report.memory_svg import memory_svg
from onnxlint_cmsis.html_report.rails_svg import class_words, rail_svg, rails
from onnxlint_cmsis.reporters.plain import printable
from onnxlint_cmsis.version import __version__

if TYPE_CHECKING:
    import jinja2

    from onnxlint_cmsis.html_report.graph_records import GraphDrawing
    from onnxlint_cmsis.html_report.report_page import ReportPage

TEMPLATES = Path(__file__).parent / "templates"
POLICY = "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'"
"""Content-Security-Policy: the page's own style sheet and nothing else."""


def render_page(page: ReportPage) -> str:
    """The page. Raises UsageError without jinja2."""
    require_jinja2()
    environment = _environment()
    from markupsafe import Markup

    ways = rails(page.graph)
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8") + graph_style(page.graph, ways.width)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template("report.html.j2").render(
        page=page,
        version=__version__,
        style=Markup(style),
        policy=POLICY.format(digest),
        classes={each.id: each for each in page.graph.classes},
        class_words=class_words,
        layer_bar=lambda line: Markup(layer_bar(line)),
        kernel_bar=lambda kernels: Markup(kernel_bar(kernels)),
        swatch=lambda color: Markup(swatch(color)),
        memory_svg=lambda found: Markup(memory_svg(found)),
        rail=lambda row: Markup(rail_svg(ways, page.graph, row)),
    )


def graph_style(drawing: GraphDrawing, width: int) -> str:
    """Room for the connections, and rules that show all members of a channel class at which somebody points."""
    room = f".rows li{{padding-left:{width}px}}\n"
    rules = (
        f".graph:has(.k{n}:hover,.k{n}:focus-visible) .k{n}{{stroke-width:6;box-shadow:0 0 0 3px currentColor}}\n"
        for n in (each.id for each in drawing.classes)
    )
    return room + "".join(rules)


def require_jinja2() -> None:
    """Raise UsageError without jinja2."""
    if find_spec("jinja2") is None:
        raise UsageError("the report needs jinja2: pip install 'onnxlint-cmsis[report]'")


@cache
def _environment() -> jinja2.Environment:
    """Where the template is found, compiled once for all pages of a process."""
    import jinja2

    loader = jinja2.FileSystemLoader(TEMPLATES)
    return jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
