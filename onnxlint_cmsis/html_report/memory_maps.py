"""The arena over time: buffers as places over steps, and the step with the most bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from onnxlint_cmsis.formats.suffixes import is_tflite_path
from onnxlint_cmsis.html_report.page_records import MOST, DrawnBuffer, MemoryMap
from onnxlint_cmsis.memory.activations import activations
from onnxlint_cmsis.reporters.called import in_short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnxlint_cmsis.html_report.report_input import ReportInput


def memory_map(given: ReportInput, number: int) -> MemoryMap:
    """The map of a target, by its number."""
    report = given.memory[number]
    if "plan" not in report:
        return MemoryMap((), 0, 0, 0, 0, "", f"There is no plan of the arena: {report.get('reason', 'unknown')}.")
    alive = cast("Sequence[int]", report["alive"])
    if not alive or not report["head"]:
        return MemoryMap((), 0, 0, 0, 0, "", "No activation has to be planned.")
    peak = max(range(len(alive)), key=lambda step: alive[step])
    plan = cast("Sequence[Mapping[str, object]]", report["plan"])
    missing = f"The plan has {len(plan):,} buffers; at most {MOST:,} are drawn." if len(plan) > MOST else ""
    buffers = () if missing else tuple(_buffer(given, entry, peak) for entry in plan)
    size = cast("int", report["head"])
    return MemoryMap(buffers, len(alive), size, peak, alive[peak], _layer(given, peak), missing)


def _buffer(given: ReportInput, entry: Mapping[str, object], peak: int) -> DrawnBuffer:
    name, layer = (given.names.get(str(entry[key]), str(entry[key])) for key in ("name", "node"))
    size, first, last, offset = (cast("int", entry[key]) for key in ("bytes", "first", "last", "offset"))
    return DrawnBuffer(name, layer, size, first, last, offset, first <= peak <= last)


def _layer(given: ReportInput, step: int) -> str:
    """The layer that runs in a step; step 0 is the host."""
    if step == 0:
        return "the host, before the first layer"
    if is_tflite_path(given.model.path):
        rows = given.version.layers.rows[:: max(1, len(given.model.settings.targets))]
        main = [row for row in rows if row["subgraph"] == 0]
        if len(main) < len(rows) or step > len(main):
            return ""
        return f"{main[step - 1]['op']} '{main[step - 1]['node']}'"
    uses = activations(given.model.graph, given.model.lowered)
    if uses is None or step > len(uses.steps):
        return "the host, behind the last layer" if uses else ""
    node = given.model.graph.nodes[uses.steps[step - 1].node]
    return in_short(f"{node.op_type} '{node.label}'", given.names)
