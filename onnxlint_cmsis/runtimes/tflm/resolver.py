"""The operators that an application registers, as methods of MicroMutableOpResolver.

A model whose operator is not registered stops in AllocateTensors: "Didn't find op for builtin opcode".
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from onnxlint_cmsis.ground.named_tuples import NamedTuple

CUSTOM_METHODS = {
    "ethos-u": "AddEthosU",
    "CIRCULAR_BUFFER": "AddCircularBuffer",
    "SignalDelay": "AddDelay",
    "SignalEnergy": "AddEnergy",
    "SignalFftAutoScale": "AddFftAutoScale",
    "SignalFilterBank": "AddFilterBank",
    "SignalFilterBankLog": "AddFilterBankLog",
    "SignalFilterBankSpectralSubtraction": "AddFilterBankSpectralSubtraction",
    "SignalFilterBankSquareRoot": "AddFilterBankSquareRoot",
    "SignalFramer": "AddFramer",
    "SignalIrfft": "AddIrfft",
    "SignalOverlapAdd": "AddOverlapAdd",
    "SignalPCAN": "AddPCAN",
    "SignalRfft": "AddRfft",
    "SignalStacker": "AddStacker",
    "SignalWindow": "AddWindow",
    "TFLM_DECODE": "AddDecode",
    "TFLite_Detection_PostProcess": "AddDetectionPostprocess",
}
"""Methods for custom operators by their name in the file; Vela writes `ethos-u`."""
SPELLED = {
    "BATCH_MATMUL": "AddBatchMatMul",
    "CUMSUM": "AddCumSum",
    "PADV2": "AddPadV2",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "AddUnidirectionalSequenceLSTM",
}
"""Methods that are not spelled as their operator (lite/micro/micro_mutable_op_resolver.h)."""


class Registration(NamedTuple):
    """An operator that a resolver has to know."""

    method: str
    """Method of MicroMutableOpResolver, without arguments; AddCustom where the application has the kernel."""
    custom_code: str = ""
    """Name in the file of an operator whose kernel the application has."""


class Resolver(NamedTuple):
    """The operators that a model needs registered."""

    operators: tuple[Registration, ...]
    """Each once, in the order in which they first come."""
    whole: bool
    """Whether these are all: a converter may add others to a model."""
    missing: tuple[str, ...] = ()
    """Builtin operators of the model that no method registers."""


def resolver_of(operators: Iterable[tuple[str, str]], known: Container[str], *, whole: bool) -> Resolver:
    """Return what registers operators, which are given as name and custom code.

    `known` has the builtin operators that the runtime has.
    """
    rows = [*dict.fromkeys(operators)]
    missing = tuple(op for op, _ in rows if op != "CUSTOM" and op not in known)
    registered = (_registration(op, custom_code) for op, custom_code in rows if op not in missing)
    return Resolver(tuple(dict.fromkeys(registered)), whole, missing)


def more_methods(old: Resolver | None, new: Resolver | None) -> tuple[str, ...]:
    """What the application of the new model registers besides, `AddConcatenation()`; none where a side is not known."""
    if old is None or new is None:
        return ()
    return tuple(dict.fromkeys(f"{row.method}()" for row in new.operators if row not in old.operators))


def method_of(op: str) -> str:
    """The method that registers a builtin operator: `AddConv2D` for `CONV_2D`."""
    words = (word if word[:1].isdigit() else word.capitalize() for word in op.split("_"))
    return SPELLED.get(op) or f"Add{''.join(words)}"


def _registration(op: str, custom_code: str) -> Registration:
    if op != "CUSTOM":
        return Registration(method_of(op))
    if custom_code in CUSTOM_METHODS:
        return Registration(CUSTOM_METHODS[custom_code])
    return Registration("AddCustom", custom_code)
