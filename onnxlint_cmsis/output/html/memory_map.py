"""The arena over time: steps to the right, addresses upwards, each buffer a rectangle."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.output.foreign_text import markup
from onnxlint_cmsis.runtimes.memory_report import Arena, BufferLife

HIGH, FOOT = 200, 18
"""Pixels of the map, and of the words below it."""
ROOM = 7.0
"""Pixels of a character, for names that stand in their rectangles."""
NARROW = 300
"""Pixels of the map on the narrowest screen: names that do not fit there are left out."""


def memory_svg(arena: Arena, names: Mapping[str, str], edge: int) -> str:
    """The map as SVG that takes the width of its place; `edge` is the address at its top, at least the head."""
    peak, steps = arena.peak, len(arena.alive)
    at = 100 * (peak + 0.5) / steps
    anchor = "start" if at < 35 else "end" if at > 65 else "middle"
    label = f"peak: step {peak}, {arena.alive[peak]:,} bytes"
    title = f"Arena over time: {arena.alive[peak]:,} bytes alive at the peak, in step {peak}"
    return "".join(
        (
            f'<svg class="memory" width="100%" height="{HIGH + FOOT}" role="img"><title>{title}</title>',
            *(_rectangle(arena, buffer, names, edge) for buffer in arena.plan),
            f'<line class="peak-line" x1="{at:.3f}%" x2="{at:.3f}%" y1="0" y2="{HIGH + 4}"/>',
            f'<text x="{at:.3f}%" y="{HIGH + FOOT - 3}" text-anchor="{anchor}">{label}</text>',
            f'<line class="axis" x1="0" x2="100%" y1="{HIGH}" y2="{HIGH}"/>',
            "</svg>",
        )
    )


def _rectangle(arena: Arena, buffer: BufferLife, names: Mapping[str, str], edge: int) -> str:
    name, layer = (names.get(text, text) for text in (buffer.name, buffer.node))
    left, wide = buffer.first / len(arena.alive), (buffer.last - buffer.first + 1) / len(arena.alive)
    high = HIGH * buffer.bytes / edge
    top = HIGH - HIGH * (buffer.offset + buffer.bytes) / edge
    when = f"steps {buffer.first} to {buffer.last}, at {buffer.offset:,}"
    writer = f", written by {layer}" if layer else ""
    title = markup(f"{name}{writer}: {buffer.bytes:,} bytes, {when}")
    kind = "buffer peak" if buffer.first <= arena.peak <= buffer.last else "buffer"
    shape = f'x="{100 * left:.3f}%" y="{top:.1f}" width="{100 * wide:.3f}%" height="{max(high, 1):.1f}"'
    text = ""
    if high >= 16 and wide * NARROW >= ROOM * len(name) + 8:
        position = f'x="{100 * (left + wide / 2):.3f}%" y="{top + high / 2 + 4:.1f}"'
        text = f'<text class="inside" {position} text-anchor="middle">{markup(name)}</text>'
    return f'<rect class="{kind}" {shape}><title>{title}</title></rect>{text}'
