"""Fields that JSON records of different schemas share: texts, whole numbers, the target."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.cmsis_nn.targets import parse_isa, parse_target
from onnxlint_cmsis.ground.types import Target

TARGET_FIELDS = ("release", "version", "isa", "target", "cpu", "compiler", "specialized", "fused")
"""Fields of a record that say for which target it is asked."""
LARGEST = 2**31 - 1
"""Largest size; CMSIS-NN's are 32-bit."""


def target_of(record: Mapping[str, object], default: Target) -> Target:
    """The target of a record, the default's where missing or null.

    Its release is `release` or `version`, its CPU `target` or `cpu`, or there is `isa`; and `compiler`. `specialized`
    is false for functions for f32 and f16 that were built with NN_DISABLE_SPECIALIZATION, `fused` true with
    -ffp-contract=fast.

    Raises:
        ValueError: with the field, what was found and what is allowed.

    """
    release = text(record, _one_of(record, "release", "version"), default.release)
    cpu = _one_of(record, "target", "cpu")
    compiler = text(record, "compiler", default.built_with)
    if record.get("isa") is not None and record.get(cpu) is not None:
        raise ValueError(f"fields 'isa' and '{cpu}' exclude each other; give one of them")
    if record.get("isa") is not None:
        target = parse_isa(text(record, "isa", ""), release, compiler)
    elif record.get(cpu) is not None:
        target = parse_target(text(record, cpu, ""), release, compiler)
    else:
        target = parse_isa(default.isa.value, release, compiler)._replace(cpu=default.cpu)
    return target._replace(
        specialized=flag(record, "specialized", default=default.specialized),
        fused=flag(record, "fused", default=default.fused),
    )


def _one_of(record: Mapping[str, object], name: str, other: str) -> str:
    """Which of two names for one field a record uses; ValueError where it is both."""
    if record.get(name) is not None and record.get(other) is not None:
        raise ValueError(f"fields '{name}' and '{other}' exclude each other; give one of them")
    return other if record.get(other) is not None else name


def text(record: Mapping[str, object], name: str, default: str) -> str:
    """A text field; ValueError where it is something else."""
    value = record.get(name)
    if value is None:
        return default
    if isinstance(value, str):
        return value
    raise ValueError(f"field '{name}' is {value!r}; allowed: a text")


def number(value: object, name: str, low: int, high: int = LARGEST) -> int:
    """A whole number of a field within its bounds; ValueError where it is something else."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"field '{name}' holds {value!r}; allowed: whole numbers from {low} to {high}")
    return value


def flag(record: Mapping[str, object], name: str, *, default: bool) -> bool:
    """A field that is true or false; ValueError where it is something else."""
    value = record.get(name)
    if value is not None and value not in (True, False):
        raise ValueError(f"field '{name}' is {value!r}; allowed: true, false")
    return default if value is None else bool(value)
