"""A bias of zeros for a convolution without one, where the kernel adds offsets to the address of a missing bias."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.constants import FLOAT, bias_slot
from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph


def refusal_of_zero_bias(graph: Graph, record: LoweredLayer) -> str | None:
    """Why the layer can take no bias."""
    slot = bias_slot(graph, record.node)
    if slot is None or slot.kind == FLOAT:
        return "the unit of its sums is not known, so that a bias cannot be quantized"
    return "it has a bias" if slot.tensor else None


def _biased(record: LoweredLayer) -> Iterator[KernelCall]:
    if record.layer is not None:
        yield record.layer.call._replace(bias=True)


ZERO_BIAS = RepairRow(
    name="zero-bias",
    what="gives the layer a bias of zeros",
    hazards=frozenset({"conv-grouped-no-bias", "dw-opt-no-bias", "dw-s4-opt-no-bias"}),
    price="4 bytes and an addition for each output channel",
    free=True,
    unfit=refusal_of_zero_bias,
    calls=_biased,
)
