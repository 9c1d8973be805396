"""Sizes that a file states for results and that kernels of TensorFlow Lite Micro believe.

The runtime plans memory with the stated shapes and never resizes. Lines are those of revision 90b983c2.
"""

from __future__ import annotations

from onnxlint_cmsis.formats.tflite.result_sizes import MisfitError, NotComputedError, computed_sizes
from onnxlint_cmsis.runtimes.tflm.preparation import OperatorView, zero_point
from onnxlint_cmsis.runtimes.tflm.rows import KernelLimit, KernelOutcome, condition

WRONG = KernelOutcome.WRONG
REFERENCE = "tensorflow/lite/kernels/internal/reference"
SIZES = "sizes"
"""Cause of the finding on a size that the kernel believes."""


@condition
def as_computed(view: OperatorView, does: str) -> str:
    """Every output has the shape that the operator computes of its inputs; `does` says what the kernel does else."""
    stated = tuple(view.subgraph.tensors[index].shape for index in view.operator.outputs)
    try:
        computed = computed_sizes(view.model, view.subgraph, view.operator)
    except MisfitError as reason:
        return f"{reason}; {does}"
    except NotComputedError:
        return ""
    pair = next((pair for pair in zip(stated, computed, strict=True) if pair[0] != pair[1]), None)
    text = "its output has shape {} in the file, and its inputs make {}; {}"
    return "" if pair is None else text.format(list(pair[0]), list(pair[1]), does)


def padding_point(view: OperatorView) -> str:
    """Nothing is padded, or 0 stands for 0 in what is padded: SpaceToBatchParams.output_offset is never written."""
    data, amounts = view.input(0), view.input(2)
    if data is None or amounts is None or not zero_point(data):
        return ""
    if view.constant(amounts) and not any(view.model.bytes_of(amounts.buffer)):
        return ""
    return f"it pads with what the arena held before, 0 in one that is zeroed, and its zero-point is {zero_point(data)}"


STATED: dict[str, tuple[KernelLimit, ...]] = {
    "SPACE_TO_BATCH_ND": (
        KernelLimit(
            f"{REFERENCE}/space_to_batch_nd.h:79",
            WRONG,
            as_computed("the kernel writes as many images and pixels as the file says"),
            cause=SIZES,
        ),
        KernelLimit(f"{REFERENCE}/space_to_batch_nd.h:78", WRONG, padding_point, cause="padding"),
    ),
    "BATCH_TO_SPACE_ND": (
        KernelLimit(
            f"{REFERENCE}/batch_to_space_nd.h:74",
            WRONG,
            as_computed("the kernel takes the number of images from the file, and leaves pixels as they were"),
            cause=SIZES,
        ),
    ),
}
"""What each kernel does with sizes that the file states otherwise than its operator computes them."""
