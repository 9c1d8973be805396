"""What was counted in the layers of nets on the boards: a file of JSON lines, each held against today's prediction."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from firmware_check.boards import BOARDS
from firmware_check.instructions import Instructions, LayerWork, judged_work
from onnxlint_cmsis.cmsis_nn.compilers import GCC_12
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair, Target

RELEASE = "7.0.0"
"""CMSIS-NN that was run, compiled by `GCC_12`."""
TARGETS = {board.cpu: Target(board.cpu, board.isa, RELEASE, GCC_12.name, GCC_12.version) for board in BOARDS}
_SHAPES = {
    **dict.fromkeys(("input_dims", "filter_dims", "output_dims", "pad_front"), Dims),
    **dict.fromkeys(("stride", "padding", "pad_after", "dilation"), Pair),
}


class CountedLayer(NamedTuple):
    """A layer of a net, and what it took."""

    net: str
    """File of the net."""
    number: int
    """Place among its layers."""
    label: str
    """ONNX node."""
    work: LayerWork
    """What decides the prediction."""
    counted: dict[str, int]
    """Instructions by CPU."""
    status: dict[str, int]
    """What its call returned by CPU, where that was an error."""

    def on(self, cpu: str) -> Instructions:
        """Prediction and count on one of the CPUs that it was counted on."""
        return judged_work(self.work, TARGETS[cpu], GCC_12.version, self.status.get(cpu, 0), self.counted[cpu])


def write_layers(path: Path, layers: Iterable[CountedLayer]) -> None:
    """Write the file, a line for each layer."""
    lines = "".join(f"{json.dumps(_record(layer), separators=(',', ':'))}\n" for layer in layers)
    path.write_bytes(gzip.compress(lines.encode(), mtime=0))


def read_layers(path: Path) -> list[CountedLayer]:
    """All layers in the order in which they were written; none where there is no file."""
    if not path.exists():
        return []
    return [_layer(json.loads(line)) for line in gzip.decompress(path.read_bytes()).splitlines()]


def _record(layer: CountedLayer) -> dict[str, Any]:
    work = _changed(layer.work)
    if layer.work.call is not None:
        work["call"] = _changed(layer.work.call)
    return {**layer._asdict(), "work": work}


def _changed(fields: LayerWork | KernelCall) -> dict[str, Any]:
    """The fields that are not as usual."""
    usual = fields._field_defaults
    return {name: value for name, value in fields._asdict().items() if name not in usual or value != usual[name]}


def _layer(record: dict[str, Any]) -> CountedLayer:
    work = record["work"]
    call = {name: _value(name, value) for name, value in (work.pop("call", None) or {}).items()}
    places = tuple((size, stride) for size, stride in work.pop("places", ()))
    work = LayerWork(KernelCall(**call) if call else None, places=places, **work)
    return CountedLayer(**{**record, "work": work._replace(shape=tuple(work.shape))})


def _value(name: str, value: Any) -> Any:
    if name in _SHAPES:
        return _SHAPES[name](*value)
    return tuple(value) if isinstance(value, list) else value
