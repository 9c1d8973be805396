"""Inputs that a damaged node lacks; the checker reports it, and everything else may count on the positions."""

from __future__ import annotations

from functools import lru_cache

import onnx

from onnxlint_cmsis.formats.names import operator_named


@lru_cache(maxsize=1024)
def fewest_inputs(domain: str, op_type: str, version: int) -> int:
    """How many inputs an operator takes at least: by its schema, else by its record; 0 where neither is known."""
    try:
        return int(onnx.defs.get_schema(op_type, version, domain).min_input)
    except onnx.defs.SchemaError:
        operator = operator_named(domain, op_type)
    if not operator.known:
        return 0
    roles = operator.roles
    positions = [*roles.data, *roles.weights[:1]]
    positions += [position for triple in roles.quantized for position in (triple.value, triple.scale)]
    return max(positions, default=-1) + 1


def with_missing(inputs: tuple[str, ...], domain: str, op_type: str, version: int) -> tuple[str, ...]:
    """The inputs, followed by empty names for those that the operator cannot do without."""
    return (*inputs, *[""] * (fewest_inputs(domain, op_type, version) - len(inputs)))
