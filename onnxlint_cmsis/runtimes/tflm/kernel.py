"""A kernel: what it checks, what its Prepare asks for and its Eval calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.broken_conditions import PREPARE
from onnxlint_cmsis.runtimes.tflm.check_rows import rows
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation
from onnxlint_cmsis.runtimes.tflm.rows import Condition, KernelLimit


def in_file(file: str, *parts: KernelLimit | Mapping[int, Condition]) -> tuple[KernelLimit, ...]:
    """Rows whose place has no file are in this one; checks of Prepare with nothing else to say stand by their lines."""
    limits: list[KernelLimit] = []
    for part in parts:
        limits += [part] if isinstance(part, KernelLimit) else rows(PREPARE, "", part)
    return tuple(
        limit._replace(location=file + limit.location) if limit.location.startswith(":") else limit for limit in limits
    )


class Kernel(NamedTuple):
    """The kernel of an operator in one kind of build."""

    rows: tuple[KernelLimit, ...]
    """What it checks, in the order of its source."""
    then: Callable[[Preparation], None] = lambda _: None
    """What its Prepare asks for and its Eval calls."""
    reference: str = ""
    """Why reference code runs for every operator; empty where CMSIS-NN may run."""
