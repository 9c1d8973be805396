"""Models in C: arrays of bytes in `.h`, `.c`, `.cc` and `.cpp` files, as `xxd -i` and exporters write them.

An array goes by its file and name, with the ending of what it holds: `src/model.cc::g_model.tflite`. So all that asks
a name for its format, and all that opens a file, takes an array for the model that it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from onnxlint_cmsis.formats.format import FORMATS, INSIDE, ONNX, array_in, file_of
from onnxlint_cmsis.formats.onnx.wire import WireError, fields
from onnxlint_cmsis.ground.files import NotReadError, read_regular
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError

LARGEST = 2**28
"""Bytes of the largest C file that is read: about 40 MiB of model."""
START = 2**14
"""Bytes at the beginning of a C file in which a search looks for a model."""
LEAST = 512
"""Bytes of the smallest C file that a search looks into: no model is written in less."""
HEADER = 512
"""Bytes in front of the braces in which the name of an array stands."""
MOST_ARRAYS = 1000
"""Models in one C file."""
LONGEST = 10
"""Characters of the longest number that may be a byte: `0b11111111`."""
ALLOWED = "allowed is an array of bytes that is a .tflite, .onnx or .pte file, each a number from -128 to 255"


class ModelArray(NamedTuple):
    """An array that holds a model."""

    name: str
    """Name of the variable; with a number behind it where the file has several of that name."""
    suffix: str
    """Ending of files of its format."""
    line: int
    """Line on which its braces open, from 1."""
    data: bytes
    """Its bytes; empty where they cannot be read."""
    fault: str
    """Why they cannot be read, as a clause."""

    def within(self, file: str) -> str:
        """The name that the array goes by."""
        return f"{file}{INSIDE}{self.name}{self.suffix}"

    def is_named(self, text: str) -> bool:
        """Tell whether a text names it, with the ending or without; an empty one names every array."""
        return text in ("", self.name, f"{self.name}{self.suffix}")

    def read(self) -> bytes:
        """Its bytes. Raises ModelError where they cannot be read."""
        if self.fault:
            raise ModelError("unreadable", f"line {self.line}: {self.fault}; {ALLOWED}")
        return self.data


def _byte_pattern(*values: int) -> bytes:
    """Regular expression of bytes that follow each other in an array."""
    return rb"\s*,\s*".join(rb"(?:0x0*%x|%d)[uU]?" % (value, value) for value in values)


_ONNX_HEAD = rb"(?:0x)?0?8[uU]?\s*,\s*(?:0x0*[3-9a-f]|0*(?:[3-9]|1[0-5]))[uU]?\s*,\s*(?:0x12|18|0x3a|58)\b"
"""An IR version from 3 to 15, then the producer's name or the graph, as exporters begin a file."""
_HEADS = {
    row.suffix: re.compile(rb"(?:[^,]{1,12},){4}\s*" + _byte_pattern(*row.mark) + rb"\b", re.IGNORECASE)
    for row in FORMATS
    if row.mark
} | {ONNX.suffix: re.compile(rb"\s*" + _ONNX_HEAD, re.IGNORECASE)}
"""How an array of each format begins, behind its brace."""
_SIGN = re.compile(
    b"|".join([*(_byte_pattern(*row.mark) for row in FORMATS if row.mark), rb"\{\s*" + _ONNX_HEAD]), re.IGNORECASE
)
"""What a C file has near its beginning that holds a model."""
_OPEN = re.compile(rb"[=\]]\s*\{[\s{]*")
_NAME = re.compile(rb"([A-Za-z_]\w*)\s*\[")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_TOKEN = re.compile(rb"[+-]?(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)[uUlL]*")
_BREAK = re.compile(rb"//|/\*|[\"']")
_ENDS = {b'"': re.compile(rb'[\\"\n]'), b"'": re.compile(rb"[\\'\n]")}


def has_sign(path: str) -> bool:
    """Tell whether a C file looks as if it held a model: its first bytes have the mark of one."""
    try:
        with Path(path).open("rb") as file:
            return os.fstat(file.fileno()).st_size >= LEAST and shows_sign(file.read(START))
    except OSError:
        return False


def shows_sign(text: bytes) -> bool:
    """Tell whether the beginning of C has the mark of a model."""
    return len(text) >= LEAST and _SIGN.search(text, 0, START) is not None


def names_in(path: str) -> list[str]:
    """The names that the models of a C file go by, or of the one that `path` names; `path` where it cannot be read."""
    try:
        return [array.within(file_of(path)) for array in arrays_of(path) if array.is_named(array_in(path))]
    except ModelError:
        return [path]


def array_at(path: str, text: bytes | None = None) -> ModelArray:
    """The array that `path` names, the only one where it names a C file; `text` is the file's. Raises ModelError."""
    arrays, wanted = arrays_of(path, text), array_in(path)
    named = [array for array in arrays if array.is_named(wanted)]
    if len(named) == 1:
        return named[0]
    if not arrays and not wanted:
        raise ModelError("not-a-model", f"no array in it holds a model; {ALLOWED}")
    listed = ", ".join(array.within(Path(file_of(path)).name) for array in arrays[:10])
    what = f"no array {wanted!r} in it holds a model" if wanted else f"{len(named)} arrays in it hold models"
    raise ModelError("unreadable", f"{what}: name one as {listed}" if listed else what)


def arrays_of(path: str, text: bytes | None = None) -> list[ModelArray]:
    """The models in the C file that `path` is or is in, in order; `text` is what the file has. Raises ModelError."""
    try:
        code = _code(read_regular(file_of(path), LARGEST) if text is None else text)
    except NotReadError as error:
        raise ModelError("unreadable", error.strerror or str(error)) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelError("unreadable", f"cannot be read: {reason}") from None
    arrays: list[ModelArray] = []
    names: dict[str, int] = {}
    close = line = counted = 0
    for brace in _OPEN.finditer(code):
        suffix = next((suffix for suffix, head in _HEADS.items() if head.match(code, brace.end())), "")
        if not suffix or brace.start() < close:
            continue
        close = code.find(b"}", brace.end())
        if close < 0:
            break
        data, fault = _values(code[brace.end() : close])
        if suffix == ONNX.suffix and not _is_onnx(data):
            continue
        if len(arrays) == MOST_ARRAYS:
            raise ModelError("unreadable", f"more than {MOST_ARRAYS} arrays in it hold models")
        line, counted = line + code.count(b"\n", counted, brace.start()), brace.start()
        name = _name(code[max(0, brace.start() - HEADER) : brace.start() + 1])
        names[name] = names.get(name, 0) + 1
        number = f".{names[name]}" if names[name] > 1 else ""
        arrays.append(ModelArray(name + number, suffix, line + 1, data, fault))
    return arrays


def _code(text: bytes) -> bytes:
    """C without comments and texts, each line where it was; one pass from the beginning to the end."""
    pieces, position = [], 0
    while begin := _BREAK.search(text, position):
        pieces.append(text[position : begin.start()])
        if begin[0] == b"//":
            position = text.find(b"\n", begin.end())
        elif begin[0] == b"/*":
            close = text.find(b"*/", begin.end())
            pieces.append(b"\n" * text.count(b"\n", begin.end(), close if close >= 0 else len(text)) or b" ")
            position = close + 2 if close >= 0 else -1
        else:
            position = begin.end()
            while (end := _ENDS[begin[0]].search(text, position)) and end[0] == b"\\":
                position = end.end() + 1
            position = -1 if end is None else end.start() if end[0] == b"\n" else end.end()
        if position < 0:
            return b"".join(pieces)
    pieces.append(text[position:])
    return b"".join(pieces)


def _name(header: bytes) -> str:
    """The variable that stands in front of braces."""
    declared = header[max(header.rfind(b";"), header.rfind(b"}"), header.rfind(b"{"), header.rfind(b"\n#")) + 1 :]
    named = _NAME.search(declared)
    words = [named[1]] if named else _WORD.findall(declared)
    return words[-1].decode() if words else "array"


def _values(body: bytes) -> tuple[bytes, str]:
    """The bytes between braces, or what of it is no byte, as a clause."""
    commas = body.count(b",")
    try:  # two hexadecimal digits each, as all exporters write them: a hundred times as fast
        data = bytes.fromhex(body.replace(b"0x", b"").replace(b",", b" ").decode("ascii"))
        if body.count(b"0x") == len(data) and 0 <= len(data) - commas <= 1:
            return data, ""
    except ValueError:
        pass
    values = bytearray()
    tokens = body.split(b",")
    if not tokens[-1].strip():
        tokens.pop()
    for token in tokens:
        word = token.strip()
        number = _TOKEN.fullmatch(word) if len(word) <= LONGEST else None
        value = _number(word, number[1]) if number else 256
        if not -128 <= value <= 255:
            return b"", f"{word[:40].decode('utf-8', 'replace')!r} is no byte"
        values.append(value & 255)
    return bytes(values), ""


def _number(word: bytes, digits: bytes) -> int:
    """A number of C; one that begins with 0 is octal."""
    octal = digits.isdigit() and digits.startswith(b"0")
    try:
        size = int(digits, 8 if octal else 0)
    except ValueError:  # 08
        return 256
    return -size if word.startswith(b"-") else size


def _is_onnx(data: bytes) -> bool:
    """Tell whether the bytes are a message with a graph, from the first to the last."""
    try:
        return any(tag >> 3 == 7 for tag in [tag for tag, *_ in fields(data, 0, len(data))])
    except (WireError, IndexError):
        return False
