"""C sources with models in them, as exporters write them."""

from __future__ import annotations

from collections.abc import Callable

HEX: Callable[[int], str] = "0x{:02x}".format
DECIMAL = str


def array(name: str, data: bytes, number: Callable[[int], str] = HEX, *, columns: int = 12, head: str = "") -> str:
    """The definition of an array, with `head` in front of its type."""
    rows = (", ".join(map(number, data[at : at + columns])) for at in range(0, len(data), columns))
    body = ",\n  ".join(rows)
    return f"{head}const unsigned char {name}[] = {{\n  {body}\n}};\nconst unsigned int {name}_len = {len(data)};\n"
