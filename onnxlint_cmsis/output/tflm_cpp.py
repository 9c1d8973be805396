"""C++ to paste into an application of TensorFlow Lite Micro: the arena, and the operators that a model needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onnxlint_cmsis.runtimes.tflm.planner import ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.runtimes.tflm.resolver import Registration, Resolver

PLAIN_NAME = r"[A-Za-z0-9_.:/ -]{1,80}"
"""Names of custom operators that are shown as they are; others are not C++ that anybody should paste."""


def application_lines(resolver: Resolver | None, arenas: Mapping[str, int]) -> list[str]:
    """Return the declarations and a call for each operator, a line each; none for a model of another runtime.

    `arenas` has the bytes to declare by the label of the target, nothing where they are not known exactly.
    """
    if resolver is None or not (resolver.operators or resolver.missing):
        return []
    sizes: dict[int, list[str]] = {}
    for target, size in arenas.items():
        sizes.setdefault(size, []).append(target.partition(",")[0])
    whose = {size: f"  // {', '.join(cpus)}" if len(sizes) > 1 else "" for size, cpus in sizes.items()}
    return [
        *(f"alignas({ALIGNMENT}) uint8_t tensor_arena[{size}];{cpus}" for size, cpus in whose.items()),
        f"tflite::MicroMutableOpResolver<{len(resolver.operators)}> resolver;",
        *(f"resolver.{_call(registration)};" for registration in resolver.operators),
        *(f"// TensorFlow Lite Micro has no operator {op}" for op in resolver.missing),
        *([] if resolver.whole else ["// and what the converter adds: lint the converted file"]),
    ]


def _call(registration: Registration) -> str:
    name = registration.custom_code
    if not name:
        return f"{registration.method}()"
    shown = f'"{name}"' if re.fullmatch(PLAIN_NAME, name) else "/* its name in the file */"
    return f"{registration.method}({shown}, /* its kernel */)"


def application_text(resolver: Resolver | None, arenas: Mapping[str, int]) -> str:
    """Return `application_lines` as a block behind an empty line; empty where there are none."""
    lines = application_lines(resolver, arenas)
    return "".join(f"{line}\n" for line in ["", "C++ of the application:", *(f"  {line}" for line in lines)] if lines)


def resolver_fields(resolver: Resolver | None) -> dict[str, object]:
    """Return the calls as plain data; nothing for a model of another runtime."""
    if resolver is None:
        return {}
    operators = [row._asdict() for row in resolver.operators]
    return {"resolver": {**resolver._asdict(), "operators": operators}}
