"""The map of the arena and the curve of arena against instructions on the page of a `.tflite` file."""

from __future__ import annotations

import html
import re
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from onnxlint_cmsis.analysis.fix_results import ModelPrice
from onnxlint_cmsis.fixers.memory import arena_curve
from onnxlint_cmsis.runtimes.tflm.interpretation import Interpretation
from support.expanding_nets import expanding, net
from support.goldens import check_golden
from support.html_pages import HtmlPage
from support.linter import analysed, fixed, linted
from support.nightly import one_of
from support.paths import SHARED
from support.planned_models import LEAST, WASTING, chain, with_plan
from support.report_models import written_report
from support.tflite_writer import write

M4 = ("--target", "cortex-m4")
HIGH = 200
"""Pixels of a map."""
NASTY = "</svg><script>alert('x')</script>&\"\u202e"


class Bar(NamedTuple):
    """A rectangle of a map: where it is drawn, and what is said of it."""

    left: float
    right: float
    top: float
    bottom: float
    name: str
    bytes: int
    first: int
    last: int
    offset: int


def page_of(folder: Path, data: bytes, *options: str) -> str:
    (folder / "net.tflite").write_bytes(data)
    page = written_report(folder / "net.tflite", *(options or M4))
    parsed = HtmlPage(page)
    assert parsed.open == []
    assert parsed.drawings == parsed.titles_of_drawings
    return page


def maps_of(page: str) -> dict[str, list[Bar]]:
    """The bars of each map, by its heading."""
    section = page.partition('<section id="memory">')[2].partition("</section>")[0]
    maps = re.findall(
        r"<div(?: class=\"begins\")?>(?:<h3>([^<]*)</h3>)?<p>Peak:.*?(<svg class=\"memory\".*?</svg>)",
        section,
        re.DOTALL,
    )
    return {heading: [*map(_bar, re.findall(r"<rect.*?</rect>", drawing))] for heading, drawing in maps}


def _bar(text: str) -> Bar:
    shape = re.search(r'x="([\d.]+)%" y="([\d.]+)" width="([\d.]+)%" height="([\d.]+)"', text)
    words = re.search(
        r"<title>(.*?)(?:, written by .*?)?: ([\d,]+) bytes, steps (\d+) to (\d+), at ([\d,]+)</title>", text
    )
    assert shape is not None and words is not None
    left, top, wide, high = map(float, shape.groups())
    size, first, last, offset = (int(number.replace(",", "")) for number in words.groups()[1:])
    return Bar(left, left + wide, top, top + high, html.unescape(words[1]), size, first, last, offset)


def curve_of(page: str) -> list[tuple[str, int, str]]:
    """The rows of the table beside the curve: what is done, bytes, instructions."""
    table = page.partition("<h3>Arena against instructions</h3>")[2].partition("</table>")[0]
    rows = re.findall(r'<th scope="row">(.*?)</th><td>([\d,]+) bytes</td><td>(.*?)</td>', table)
    return [(text, int(size.replace(",", "")), cost) for text, size, cost in rows]


def check_map(bars: list[Bar], scale: int) -> None:
    """Each bar is where its offset and life say, and none lies over another while both are alive."""
    steps = max(bar.last for bar in bars) + 1
    assert bars
    for bar in bars:
        assert bar.left == pytest.approx(100 * bar.first / steps, abs=0.01)
        assert bar.right == pytest.approx(100 * (bar.last + 1) / steps, abs=0.01)
        assert bar.top == pytest.approx(HIGH - HIGH * (bar.offset + bar.bytes) / scale, abs=0.11)
        assert bar.bottom - bar.top == pytest.approx(max(HIGH * bar.bytes / scale, 1), abs=0.11)
    for bar, other in combinations(bars, 2):
        apart = bar.last < other.first or other.last < bar.first
        handed_on = (bar.offset, bar.bytes) == (other.offset, other.bytes) and (
            bar.last == other.first or other.last == bar.first
        )
        assert apart or handed_on or bar.offset + bar.bytes <= other.offset or other.offset + other.bytes <= bar.offset


def test_the_pictures_of_a_small_net(tmp_path: Path) -> None:
    page = page_of(tmp_path, expanding())
    section = page.partition('<section id="memory">')[2].partition("</section>")[0]
    check_golden("arena_pictures.html", section.strip() + "\n")


def test_a_bar_lies_where_the_plan_says_and_none_over_another_that_is_alive(tmp_path: Path) -> None:
    data = write(chain(*WASTING))
    execution = analysed(data, "net.tflite", targets=["cortex-m4"]).execution
    assert isinstance(execution, Interpretation) and execution.free_plan
    (now,), (then,) = map(execution.memory, execution.planned_targets), execution.free_plan.arenas
    assert now.arena is not None
    maps = maps_of(page_of(tmp_path, data))
    assert [*maps] == ["as it is", "with a memory plan"]
    offsets = [[buffer.offset for buffer in plan] for plan in (now.arena.plan, then.plan)]
    assert [[bar.offset for bar in bars] for bars in maps.values()] == offsets
    for bars in maps.values():
        check_map(bars, now.arena.head)


@pytest.mark.parametrize(("seed", "maps_drawn"), one_of(2, [(0, 3), (3, 2), (4, 2), (7, 2), (9, 2), (10, 2)]))
def test_maps_of_random_nets_are_on_one_scale_and_the_last_is_the_least(
    seed: int, maps_drawn: int, tmp_path: Path
) -> None:
    data = net(seed)
    page = page_of(tmp_path, data)
    maps = maps_of(page)
    (report,) = analysed_memory(data)
    for bars in maps.values():
        check_map(bars, report.arena.head)
    sizes = [size for _, size, _ in curve_of(page)]
    heads = [max(bar.offset + bar.bytes for bar in bars) for bars in maps.values()]
    assert (len(heads), heads, sizes) == (maps_drawn, sorted(heads, reverse=True), sorted(sizes, reverse=True))


def test_what_the_application_registers_stands_beside_each_way(tmp_path: Path) -> None:
    table = page_of(tmp_path, expanding()).partition("<h3>Arena against instructions</h3>")[2].partition("</table>")[0]
    rows = re.findall(r'<th scope="row">(.*?)</th>.*<td>(?:<code>(.*?)</code> )?</td></tr>', table)
    assert {text: method for text, method in rows if "groups" not in text} == {"as it is": ""}
    assert {method for text, method in rows if "groups" in text} == {"AddConcatenation()"}


def test_more_instructions_allow_more_parts(tmp_path: Path) -> None:
    data = expanding("INT16")
    few = curve_of(page_of(tmp_path, data))
    sizes = [size for _, size, _ in curve_of(page_of(tmp_path, data, *M4, "--most-instructions", "50"))]
    assert len(sizes) > max(3, len(few))
    assert sizes == sorted(sizes, reverse=True)


def analysed_memory(data: bytes) -> list[Any]:
    execution = analysed(data, "net.tflite", targets=["cortex-m4"]).execution
    assert isinstance(execution, Interpretation)
    return [execution.memory(target) for target in execution.targets]


def test_the_curve_ends_where_the_policy_smaller_does(tmp_path: Path) -> None:
    data = expanding()
    (now,) = linted(data, "net.tflite", targets=["cortex-m4"]).summary.targets
    result, _ = fixed(data, "net.tflite", targets=["cortex-m4"], fix_policy="smaller", fixable=["CNN604"])
    (change,), (price,) = result.memory, result.prices
    page = page_of(tmp_path, data)
    points = curve_of(page)
    assert points[0] == ("as it is", now.arena_to_write, f"{now.instructions:,}")
    assert points[-1][1] == change.after < change.before
    assert points[-1][2] == said(price.after)
    sizes = [size for _, size, _ in points]
    assert sizes == sorted(sizes, reverse=True)
    parts = [int(count[1]) for text, _, _ in points if (count := re.match(r"with (\d+) (?:groups|bands)", text))]
    assert parts == sorted(parts) and parts
    dots = re.findall(r'<circle class="way" cx="([\d.]+)%" cy="([\d.]+)"', page)
    assert [float(y) for _, y in dots] == pytest.approx([170 - 152 * size / sizes[0] for size in sizes], abs=0.06)
    assert all(4 <= float(x) <= 96 for x, _ in dots)


def said(price: ModelPrice) -> str:
    least, most = price.instructions
    return f"{least:,}" if least == most else f"between {least:,} and {most:,}"


def test_what_is_not_proven_to_compute_the_same_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena_curve, "certificate_of", lambda *_: None)
    page = page_of(tmp_path, expanding())
    assert all("groups" not in text and "bands" not in text for text, _, _ in curve_of(page))


def test_a_model_that_nothing_makes_smaller_has_one_map_and_no_curve(tmp_path: Path) -> None:
    page = page_of(tmp_path, write(chain(16, 16)))
    assert [*maps_of(page)] == [""]
    assert "Arena against instructions" not in page


def test_nobody_looks_for_a_smaller_arena_but_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.tflite").write_bytes(expanding())
    monkeypatch.setattr(arena_curve, "Search", None)
    written_report(tmp_path / "net.tflite", *M4, "--overlay", "model-explorer")
    assert linted(tmp_path / "net.tflite", targets=["cortex-m4"]).summary.targets
    with pytest.raises(AssertionError):  # the page does look
        written_report(tmp_path / "net.tflite", *M4)


def test_a_comparison_draws_what_makes_the_version_after_smaller(tmp_path: Path) -> None:
    (tmp_path / "old.tflite").write_bytes(write(chain(*WASTING)))
    page = page_of(tmp_path, expanding(), *M4, "--against", str(tmp_path / "old.tflite"))
    before, now, smaller = maps_of(page)
    assert (before, now) == ("before", "after as it is")
    assert smaller.startswith("after with ")


def test_names_in_the_pictures_are_text_and_nothing_else(tmp_path: Path) -> None:
    model = chain(*WASTING)
    for number, given in enumerate(model["subgraphs"][0]["tensors"]):
        given["name"] = f"{NASTY}{number}"
    page = page_of(tmp_path, write(model))
    assert len(maps_of(page)) == 2
    assert "<script>alert" not in page and "\u202e" not in page


def test_each_group_of_targets_has_its_curve(tmp_path: Path) -> None:
    page = page_of(tmp_path, expanding(), *M4, "--target", "cortex-m55")
    assert page.count('<svg class="curve"') == 2
    assert re.findall(r'<h4><span class="cpu">(.*?)</span>', page) == ["cortex-m4", "cortex-m55"]
    headings = [heading.split()[0] for heading in maps_of(page)]
    assert headings == sorted(headings) and {*headings} == {"cortex-m4", "cortex-m55"}
    assert re.findall(r'<div class="begins"><h3>(.*?)</h3>', page) == ["cortex-m4 as it is", "cortex-m55 as it is"]


def test_a_result_on_its_operand_counts_once() -> None:
    (report,) = analysed_memory(write(with_plan(chain(*WASTING), LEAST)))
    assert max(report.arena.alive) <= report.arena.head


@pytest.mark.skipif(not SHARED.exists(), reason="needs models in a folder `shared` beside the project")
def test_the_curve_of_person_detection(tmp_path: Path) -> None:
    points = curve_of(page_of(tmp_path, (SHARED / "models" / "tflite" / "person_detect.tflite").read_bytes()))
    assert [(text, size) for text, size, _ in points] == [
        ("as it is", 82_320),
        ("with 3 bands of rows in CONV_2D#2..DEPTHWISE_CONV_2D#3", 66_112),
        ("with 4 groups of channels in CONV_2D#2..DEPTHWISE_CONV_2D#3", 64_928),
    ]
