"""What the layers may be off in runtimes of a desktop: a row for each that may be, and the outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.layer_cells import MOST_NAMES
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.output.foreign_text import paint
from onnxlint_cmsis.output.host_rows import HOSTS, host_table
from onnxlint_cmsis.output.text_table import TableFit, fitted
from onnxlint_cmsis.output.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.runtimes.host.comparison import HostComparison


def host_block(hosts: tuple[HostComparison, ...], names: Mapping[str, str], width: int, color: bool) -> Iterator[str]:
    """Lines of that table; then what does not differ, why the rest does, and by how many steps the outputs do."""
    table = host_table(hosts)
    yield paint(HOSTS, "path", color) + "\n"
    if table.rows:
        cells = [[names.get(label, label), *texts] for label, texts in table.rows]
        titles, *body = fitted(["layer", *table.hosts], cells, (), TableFit(width, {"layer": 16})).splitlines()
        yield paint(titles, "faint", color) + "\n"
        yield from (f"{line}\n" for line in body)
    yield f"{table.equal}\n" if table.equal else ""
    for host, labels, why in table.reasons:
        called = and_more([names.get(label, label) for label in labels], MOST_NAMES)
        yield wrapped(f"  {host}, {called}: {why}", width) + "\n"
    for tensor, host, steps in table.outputs:
        yield wrapped(f"output '{names.get(tensor, tensor)}', {host}: {steps}", width) + "\n"
