"""What `onnxlint-cmsis layers` shows of a file: the words for a layer, and each layer as JSON has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.output.layer_json import layer_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.analysis.boundary_tensor import BoundaryTensor
    from onnxlint_cmsis.analysis.layer_totals import Total
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.runtimes.host.comparison import HostComparison
    from onnxlint_cmsis.runtimes.tflm.resolver import Resolver


class LayersReport(NamedTuple):
    """The layers of a model on every target."""

    layers: tuple[LayerReport, ...]
    """One report per layer and target, in file order, layers without a kernel too."""
    totals: list[Total]
    """The sums of each target."""
    names: Mapping[str, str]
    """Short forms of the layers' names, for people."""
    notes: tuple[str, ...] = ()
    """Which runtime and library the model is judged for; empty where the application calls the functions."""
    hosts: tuple[HostComparison, ...] = ()
    """What layers and outputs may be off in runtimes of a desktop; empty where nobody asked."""
    boundary: tuple[BoundaryTensor, ...] = ()
    """Inputs, then outputs of the model, as they lie in the device's memory."""
    output_errors: Mapping[str, float] = {}
    """What rounding of all float layers changes at each output, as a share of it (root mean squares)."""
    samples: int = 0
    """How many inputs of the user these errors were measured with; 0 where nobody asked."""
    packed: bool = False
    """Whether weights of functions for f32 and f16 are packed."""
    resolver: Resolver | None = None
    """Operators that an application of TensorFlow Lite Micro registers; None for another runtime."""

    @property
    def rows(self) -> list[dict[str, object]]:
        """The layers as plain data, with the keys of the JSON report."""
        return [layer_fields(layer) for layer in self.layers]
