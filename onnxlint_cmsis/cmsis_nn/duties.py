"""What an application has to compute before it calls a function: sums that lie in its buffer or its parameters.

The functions do not look at these numbers. Runtimes compute them themselves: TensorFlow Lite Micro in every revision
with these functions (cmsis_nn/fully_connected.cc, svdf.cc, unidirectional_sequence_lstm.cc), ExecuTorch's exporter.
arm_batch_matmul_s8 computes its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.cmsis_nn.releases import holds
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, MVE_ONLY, Origin
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall, Target


class Duty(NamedTuple):
    """What the application does once before the first call."""

    id: str
    """Stable name in kebab case."""
    entry: str
    """Entry point."""
    origin: Origin
    """Where the numbers are read, and for which builds."""
    calls: Mapping[str, str]
    """First release of each form of the call to make, oldest first, and the C call."""
    what: str
    """What the function expects, as a clause."""
    otherwise: str
    """What becomes of it without, as a clause."""

    def call(self, release: str) -> str:
        """The C call to make with a release."""
        return next(text for since, text in reversed([*self.calls.items()]) if holds(since, "", release))


_SUMS = "ctx->buf has to hold the sums of the weights of each output, which its size function does not say"
_WRONG = "NULL gives ARM_CMSIS_NN_ARG_ERROR, other numbers give wrong results with status SUCCESS"
_DENSE = "arm_vector_sum_s8(ctx.buf, filter_dims.n, output_dims.c, weights"
_SVDF = "arm_vector_sum_s8(ctx.buf, weights_feature_dims.h, weights_feature_dims.n, weights_feature"
_GATES = "input_effective_bias and hidden_effective_bias of each gate have to hold offset times sum of its weights"
_FROM_6 = ("6.0.0", "7.0.0", "main")


def _gates(bits: int, name: str, tail: str) -> Duty:
    """The sums of an LSTM's gates; the call is for the input, that for the hidden state has no bias."""
    return Duty(
        f"lstm-s{bits}-effective-bias",
        f"lstm_unidirectional_s{bits}",
        Origin(
            f"Source/NNSupportFunctions/arm_nn_lstm_calculate_gate_s{bits if bits == 16 else '8_s16'}.c",
            f"arm_nn_lstm_calculate_gate_s{bits if bits == 16 else '8_s16'}",
            dict.fromkeys(_FROM_6, 0),
            ALL_ISAS,
        ),
        {
            "6.0.0": f"{name}(input_effective_bias, input_size, hidden_size, input_weights, input_offset, {tail})",
            **({"7.0.0": f"{name}(input_effective_bias, input_size, hidden_size, input_weights, input_offset, 0, "
                f"{tail})"} if bits == 8 else {}),
        },
        _GATES,
        "other numbers give wrong results with status SUCCESS",
    )  # fmt: skip


DUTIES = (
    Duty(
        "dense-kernel-sums",
        "fully_connected_s8",
        Origin(
            "Source/FullyConnectedFunctions/arm_fully_connected_s8.c",
            "arm_fully_connected_s8",
            {"5.0.0": 74, "6.0.0": 73, "7.0.0": 73, "main": 73},
            MVE_ONLY,
        ),
        {
            "5.0.0": f"{_DENSE})",
            "6.0.0": f"{_DENSE}, 1, NULL)",
            "7.0.0": f"{_DENSE}, fc_params.input_offset, fc_params.filter_offset, bias)",
        },
        _SUMS,
        _WRONG,
    ),
    Duty(
        "svdf-kernel-sums",
        "svdf_s8",
        Origin(
            "Source/SVDFunctions/arm_svdf_s8.c",
            "arm_svdf_s8",
            {"5.0.0": 110, "6.0.0": 110, "7.0.0": 110, "main": 110},
            MVE_ONLY,
        ),
        {
            "5.0.0": f"{_SVDF})",
            "6.0.0": f"{_SVDF}, 1, NULL)",
            "7.0.0": f"{_SVDF}, -svdf_params.input_offset, 0, NULL)",
        },
        _SUMS,
        _WRONG,
    ),
    _gates(8, "arm_vector_sum_s8", "bias"),
    _gates(16, "arm_vector_sum_s8_s64", "bias"),
)
"""By entry point; no entry point has two.

Run in QEMU: dense layers on Cortex-M55 with 7.0.0 (NULL gives -1, zeros give 12 of 12 values wrong).
"""


def duty_of(call: KernelCall, target: Target) -> Duty | None:
    """What has to be computed before a call on a target; None where nothing has to."""
    return next((row for row in DUTIES if row.entry == call.entry and row.origin.covers(target)), None)
