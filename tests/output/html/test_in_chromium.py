"""The page in a browser: nothing is blocked, no part is wider than the screen, all text can be read, layers sort."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.expanding_nets import expanding
from support.nightly import one_of
from support.report_models import write_model, written_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium or google-chrome on PATH")
PDFTOTEXT = shutil.which("pdftotext")
HARNESS = """<!DOCTYPE html><pre id="told"></pre><iframe src="report.html" width="WIDE" height="800"></iframe><script>
const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number);
const light = color => {
  const [r, g, b] = color.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
};
const contrast = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + .05) / (low + .05);
};
document.querySelector("iframe").onload = event => {
  const page = event.target.contentDocument, style = event.target.contentWindow.getComputedStyle;
  page.querySelectorAll("details").forEach(each => { each.open = true; });
  const behind = element => {
    for (; element; element = element.parentElement) {
      const color = numbers(style(element).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color.slice(0, 3);
    }
    return [255, 255, 255];
  };
  let least = 99;
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, drawing = element.closest("svg");
    if (!walker.currentNode.textContent.trim() || element.closest("title")) continue;
    const color = numbers(drawing ? style(element).fill : style(element).color).slice(0, 3);
    least = Math.min(least, contrast(color, behind(drawing ? drawing.parentElement : element)));
  }
  const wide = [page.documentElement.scrollWidth, page.documentElement.clientWidth];
  const background = style(page.body).backgroundColor;
  const body = [...page.querySelectorAll("table.layers tbody")].at(-1);
  const button = page.querySelector("table.layers th:nth-child(2) button");
  const costs = () => [...body.rows].map(row => +row.cells[1].dataset.value);
  const orders = [costs()];
  for (let press = 0; press < 3; press++) { button.click(); orders.push(costs()); }
  document.getElementById("told").textContent = JSON.stringify({wide, least, background, orders});
};
</script>"""
"""A page around the page that measures it."""


def seen(folder: Path, wide: int, *options: str) -> tuple[dict[str, object], list[str]]:
    """What the harness measures, and what the console says."""
    (folder / "harness.html").write_text(HARNESS.replace("WIDE", str(wide)), encoding="utf-8")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        "--virtual-time-budget=9000",
    ]
    logs = ["--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    page = (folder / "harness.html").as_uri()
    command = [str(CHROMIUM), *flags, *logs, *options, page]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    told = re.search(r'<pre id="told">(.*?)</pre>', done.stdout)
    assert told is not None
    measured: dict[str, object] = json.loads(html.unescape(told[1]))
    return measured, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = write_model(tmp_path / "net.onnx", root="a" * 300)
    written_report(path, "--against", str(path), "--target", "cortex-m4")
    return tmp_path


@pytest.mark.parametrize(
    ("wide", "scheme", "background"),
    [(360, 1, "rgb(255, 255, 255)"), (360, 0, "rgb(21, 24, 28)"), (1280, 1, "rgb(255, 255, 255)")],
)
def test_a_screen_shows_all_of_it_and_layers_sort(folder: Path, wide: int, scheme: int, background: str) -> None:
    screen, console = seen(folder, wide, f"--blink-settings=preferredColorScheme={scheme}")
    assert console == []
    assert screen["background"] == background
    assert screen["wide"][0] <= screen["wide"][1] <= wide  # type: ignore[index]
    assert screen["least"] >= 4.5  # type: ignore[operator]
    unsorted, falling, rising, again = screen["orders"]  # type: ignore[misc]
    assert falling == sorted(unsorted, reverse=True) != unsorted  # type: ignore[has-type]
    assert rising == sorted(unsorted)  # type: ignore[has-type]
    assert again == unsorted  # type: ignore[has-type]


@pytest.mark.parametrize(("wide", "scheme"), one_of(2, [(390, 0), (390, 1), (1280, 1)]))
def test_a_screen_shows_the_pictures_of_the_arena(tmp_path: Path, wide: int, scheme: int) -> None:
    (tmp_path / "net.tflite").write_bytes(expanding())
    page = written_report(tmp_path / "net.tflite", "--target", "cortex-m4", "--target", "cortex-m55")
    assert page.count('<svg class="curve"') == 2
    screen, console = seen(tmp_path, wide, f"--blink-settings=preferredColorScheme={scheme}")
    assert console == []
    assert screen["wide"][0] <= screen["wide"][1] <= wide  # type: ignore[index]
    assert screen["least"] >= 4.5  # type: ignore[operator]


@pytest.mark.skipif(PDFTOTEXT is None, reason="needs pdftotext on PATH")
def test_what_folds_is_open_on_paper(folder: Path) -> None:
    """Printed, every finding stands with its details."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    page = [f"--print-to-pdf={folder / 'report.pdf'}", (folder / "report.html").as_uri()]
    subprocess.run([str(CHROMIUM), *flags, *page], capture_output=True, timeout=120, check=True)
    told = subprocess.run([str(PDFTOTEXT), folder / "report.pdf", "-"], capture_output=True, text=True, check=True)
    text = "".join(told.stdout.split())
    findings = (folder / "report.html").read_text(encoding="utf-8").partition("</section>")[0]
    details = re.findall(r"<dd>(.*?)</dd>", findings)
    assert details
    assert all("".join(html.unescape(detail).split())[:30] in text for detail in details)


def test_a_style_sheet_that_somebody_changed_is_blocked(folder: Path) -> None:
    page = folder / "report.html"
    page.write_text(page.read_text(encoding="utf-8").replace("<style>", "<style>p{color:red}"), encoding="utf-8")
    _, console = seen(folder, 360)
    assert any("Content Security Policy" in line for line in console)
