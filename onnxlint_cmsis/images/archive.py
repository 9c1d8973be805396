"""Reader of `ar` archives: the members of a library, with GNU's and BSD's long names."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.image import ImageError

MAGIC = b"!<arch>\n"
HEADER = 60
MOST_MEMBERS = 20_000


class Member(NamedTuple):
    """A file in an archive."""

    name: str
    """Its name."""
    data: memoryview
    """Its bytes."""


def members(data: memoryview) -> Iterator[Member]:
    """The files of an archive, without its tables. Raises ImageError where it is damaged."""
    if bytes(data[:8]) != MAGIC:
        raise ImageError("it is no archive")
    position, long_names, count = 8, b"", 0
    while position + HEADER <= len(data):
        header = bytes(data[position : position + HEADER])
        size = header[48:58].strip()
        if header[58:] != b"`\n" or not size.isdigit():
            raise ImageError(f"there is no header of a member at byte {position}")
        start, end = position + HEADER, position + HEADER + int(size)
        if end > len(data):
            raise ImageError(f"a member at byte {position} claims {int(size)} bytes, more than the file holds")
        content, name = data[start:end], header[:16].rstrip()
        position = end + end % 2
        if name == b"//":
            long_names = bytes(content)
        elif name not in (b"/", b"/SYM64/") and not name.startswith(b"__.SYMDEF"):
            count += 1
            if count > MOST_MEMBERS:
                raise ImageError(f"it has more than {MOST_MEMBERS:,} members")
            yield _member(name, content, long_names)
    if bytes(data[position:]).strip(b"\0\n"):
        raise ImageError(f"the header of a member at byte {position} is cut off: the file ends within it")


def _member(name: bytes, content: memoryview, long_names: bytes) -> Member:
    if name.startswith(b"#1/") and name[3:].isdigit():
        length = min(int(name[3:]), len(content))
        return Member(_text(bytes(content[:length]).rstrip(b"\0")), content[length:])
    if name.startswith(b"/") and name[1:].isdigit():
        start = int(name[1:])
        name = long_names[start : start + 1024].partition(b"\n")[0]
    return Member(_text(name.rstrip(b"/")), content)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
