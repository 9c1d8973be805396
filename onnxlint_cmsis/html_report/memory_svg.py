"""The arena over time: steps to the right, addresses upwards, each buffer a rectangle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.plain import markup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.html_report.page_records import DrawnBuffer, MemoryMap

HIGH, FOOT = 200, 18
"""Pixels of the map, and of the words below it."""
ROOM = 7.0
"""Pixels of a character, for names that stand in their rectangles."""
NARROW = 300
"""Pixels of the map on the narrowest screen: names that do not fit there are left out."""


def memory_svg(found: MemoryMap) -> str:
    """The map as SVG that takes the width of its place."""
    title = f"Arena over time: {found.peak_bytes:,} bytes alive at the peak, in step {found.peak_step}"
    return "".join(
        (
            f'<svg class="memory" width="100%" height="{HIGH + FOOT}" role="img"><title>{markup(title)}</title>',
            *(_rectangle(found, buffer) for buffer in found.buffers),
            *_peak(found),
            f'<line class="axis" x1="0" x2="100%" y1="{HIGH}" y2="{HIGH}"/>',
            "</svg>",
        )
    )


def _rectangle(found: MemoryMap, buffer: DrawnBuffer) -> str:
    left, wide = buffer.first / found.steps, (buffer.last - buffer.first + 1) / found.steps
    high = HIGH * buffer.bytes / found.bytes
    top = HIGH - HIGH * (buffer.offset + buffer.bytes) / found.bytes
    when = f"steps {buffer.first} to {buffer.last}, at {buffer.offset:,}"
    writer = f", written by {buffer.layer}" if buffer.layer else ""
    title = markup(f"{buffer.name}{writer}: {buffer.bytes:,} bytes, {when}")
    kind = "buffer peak" if buffer.at_peak else "buffer"
    shape = f'x="{100 * left:.3f}%" y="{top:.1f}" width="{100 * wide:.3f}%" height="{max(high, 1):.1f}"'
    text = ""
    if high >= 16 and wide * NARROW >= ROOM * len(buffer.name) + 8:
        place = f'x="{100 * (left + wide / 2):.3f}%" y="{top + high / 2 + 4:.1f}"'
        text = f'<text class="inside" {place} text-anchor="middle">{markup(buffer.name)}</text>'
    return f'<rect class="{kind}" {shape}><title>{title}</title></rect>{text}'


def _peak(found: MemoryMap) -> Iterator[str]:
    """A line at the peak with a word below, on the side where there is room."""
    at = 100 * (found.peak_step + 0.5) / found.steps
    anchor = "start" if at < 35 else "end" if at > 65 else "middle"
    yield f'<line class="peak-line" x1="{at:.3f}%" x2="{at:.3f}%" y1="0" y2="{HIGH + 4}"/>'
    label = f"peak: step {found.peak_step}, {found.peak_bytes:,} bytes"
    yield f'<text x="{at:.3f}%" y="{HIGH + FOOT - 3}" text-anchor="{anchor}">{label}</text>'
