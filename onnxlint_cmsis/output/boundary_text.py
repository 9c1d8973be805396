"""Inputs and outputs: keys of JSON, and a C header that converts them and names the calls to make before a run."""

from __future__ import annotations

from itertools import count

from onnxlint_cmsis.analysis.boundary_tensor import BoundaryTensor, Conversion, Ties, shortest
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.lower.layer import product_of
from onnxlint_cmsis.output.foreign_text import name_in_c
from onnxlint_cmsis.output.layers import LayersReport


def boundary_fields(tensor: BoundaryTensor) -> dict[str, object]:
    """An input or output as plain data."""
    numbers = tensor.scale is not None
    return {
        "name": tensor.name,
        "type": tensor.elem_type,
        "shape": None if tensor.shape is None else list(tensor.shape),
        "layout": tensor.layout,
        "file_type": tensor.file_type,
        "file_shape": None if tensor.file_shape is None else list(tensor.file_shape),
        "converted_by": tensor.conversion.value,
        "node": tensor.node,
        "integers": tensor.integers,
        "scale": tensor.scale,
        "zero_point": tensor.zero_point,
        "real_range": list(tensor.real_bounds) if numbers else None,
        "formula": tensor.formula,
        "ties": tensor.ties.value if numbers and tensor.role == "input" else "",
    }


_QUANTIZE = """\
static inline {c_type} {name}_quantize(float x)
{{
    float q = {round}(x / {scale}); /* ties {ties} */
    q = q >= {low}.0f ? q : {low}.0f;
    q = q <= {high}.0f ? q : {high}.0f;
    return ({c_type})((int32_t)q + ({zero}));
}}
"""


_DEQUANTIZE = """\
static inline float {name}_dequantize({c_type} q)
{{
    return {scale} * (float)((int32_t)q - ({zero}));
}}
"""


_ROUND = {Ties.EVEN: "rintf", Ties.AWAY: "roundf"}
"""C's function for each way, in the default rounding mode."""


_EXACT = ("int8", "uint8", "int16", "uint16")
"""Types of which float has every integer and every difference of two."""


def boundary_in_c(report: LayersReport, path: str) -> str:
    """C99 for the application: a size and a conversion of each input and output; names have [A-Za-z0-9_] alone.

    A conversion is there where the application converts. In QuantizeLinear's and Quantize's place it computes the same
    for every number but NaN. A comment names each call that the application makes once before the first run.
    """
    head = f"/* {name_in_c(path)}: written by onnxlint-cmsis {__version__} */\n"
    parts = [f"{head}#include <math.h>\n#include <stdint.h>\n"]
    numbers = {"input": count(), "output": count()}
    for tensor in report.boundary:
        name = f"{tensor.role}_{next(numbers[tensor.role])}_{name_in_c(tensor.name)}"
        sizes = None if tensor.shape is None else product_of(*tensor.shape)
        lines = [f"/* {tensor.text} */\n"]
        if sizes is not None:
            lines.append(f"enum {{ {name}_size = {sizes} }};\n")
        if tensor.conversion is Conversion.APPLICATION and tensor.scale is not None and tensor.integers in _EXACT:
            zero, step = tensor.zero_point or 0, shortest(tensor.scale)
            low, high = (bound - zero for bound in tensor.bounds)
            lines.append(
                (_QUANTIZE if tensor.role == "input" else _DEQUANTIZE).format(
                    c_type=f"{tensor.integers}_t",
                    name=name,
                    round=_ROUND[tensor.ties],
                    scale=f"{step}f",
                    ties=tensor.ties.value,
                    low=low,
                    high=high,
                    zero=zero,
                )
            )
        parts.append("".join(lines))
    calls: dict[str, list[str]] = {}
    for layer in report.layers:
        if layer.before:
            calls.setdefault(f"{layer.target}: {layer.before};", []).append(name_in_c(layer.node))
    parts.extend(f"/* before the first run, for {', '.join(names)} on {call} */\n" for call, names in calls.items())
    return "\n".join(parts)
