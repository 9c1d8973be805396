"""Custom operators that TensorFlow Lite Micro itself has a kernel for."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.check_rows import checks
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Unpredictable
from onnxlint_cmsis.runtimes.tflm.prepare_requests import WORD
from onnxlint_cmsis.runtimes.tflm.rows import KernelLimit, Objection


def _decodes(view: OperatorView) -> tuple[bytes, ...]:
    """The first bytes of the second tensor of each pair that TFLM_DECODE reads: kind and version of the decoding."""
    pairs = [view.input(position) for position in range(1, len(view.operator.inputs), 2)]
    spans = (view.model.buffers[tensor.buffer] for tensor in pairs if tensor is not None)
    return tuple(bytes(view.model.data[span.offset : span.offset + min(span.length, 2)]) for span in spans)


def paired(view: OperatorView) -> Objection | None:
    """Two inputs for each output."""
    inputs_, outputs_ = len(view.operator.inputs), len(view.operator.outputs)
    text = f"it has {inputs_} inputs and {outputs_} outputs; two inputs for each output are taken"
    return None if outputs_ and inputs_ == 2 * outputs_ else text


def encoded_constants(view: OperatorView) -> Objection | None:
    """The file holds every input."""
    tensors = map(view.input, range(len(view.operator.inputs)))
    return None if all(map(view.constant, tensors)) else "an input is computed; constants alone are taken"


def known_decoding(view: OperatorView) -> Objection | None:
    """Every pair is of version 1 and of a kind that the kernel decodes."""
    heads = _decodes(view)
    if any(len(head) < 2 for head in heads):
        raise Unpredictable("the table of a decoding has less than the 16 bytes that the kernel reads")
    bad = [head for head in heads if head[1] != 1 or head[0] not in DECODE_STATES]
    if not bad:
        return None
    return f"its decoding is of kind {bad[0][0]} and version {bad[0][1]}; kinds 0, 1 and 2 of version 1 are taken"


DECODE_STATES = {0: 36, 1: 28, 2: 40}
"""Bytes of DecodeStateLut, DecodeStateHuffman and DecodeStatePrune by the kind of decoding (K/decode_state.h:78)."""


PRUNE = 2


class CustomOperator(NamedTuple):
    """A custom operator that TensorFlow Lite Micro itself has a kernel for."""

    since: str
    """Day of the commit that brought the resolver's method, ISO 8601."""
    limits: tuple[KernelLimit, ...] = ()
    """What its kernel checks."""


CUSTOM: dict[str, CustomOperator] = {
    "CIRCULAR_BUFFER": CustomOperator("2021-04-09"),
    "SignalDelay": CustomOperator("2023-07-12"),
    "SignalEnergy": CustomOperator("2023-07-13"),
    "SignalFftAutoScale": CustomOperator("2023-07-19"),
    "SignalFilterBank": CustomOperator("2023-07-14"),
    "SignalFilterBankLog": CustomOperator("2023-07-14"),
    "SignalFilterBankSpectralSubtraction": CustomOperator("2023-07-14"),
    "SignalFilterBankSquareRoot": CustomOperator("2023-07-14"),
    "SignalFramer": CustomOperator("2023-07-11"),
    "SignalIrfft": CustomOperator("2023-07-20"),
    "SignalOverlapAdd": CustomOperator("2023-07-11"),
    "SignalPCAN": CustomOperator("2023-08-23"),
    "SignalRfft": CustomOperator("2023-06-21"),
    "SignalStacker": CustomOperator("2023-07-12"),
    "SignalWindow": CustomOperator("2023-06-14"),
    "TFLM_DECODE": CustomOperator(
        "2025-10-17",
        (*checks("decode.cc", {56: paired, 93: encoded_constants, 96: known_decoding}),),
    ),
    "TFLite_Detection_PostProcess": CustomOperator("2021-04-09"),
}
"""By the name in the file. Of all but TFLM_DECODE, checks and memory are not written down."""


def decode(p: Preparation) -> None:
    """K/decode.cc:58-126: pointers, then the state of each output, and for pruned channels their zero-points.

    The memory of the other custom operators is not known.
    """
    p.memory_known = p.view.operator.custom_code == "TFLM_DECODE"
    if not p.memory_known:
        return
    p.persistent.append(WORD * len(p.view.operator.outputs))
    for position, head in enumerate(_decodes(p.view)):
        p.persistent.append(DECODE_STATES[head[0]])
        output = p.view.output(position)
        stored = output.quantization if output is not None else None
        if head[0] == PRUNE and stored is not None and len(stored.scales) > 1 and any(stored.zero_points):
            p.persistent.append(len(stored.scales))
